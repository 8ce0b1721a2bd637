"""`lint`: what memories lack by the rules of good ones."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from memstore.cli import exits
from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_doubts
from memstore.cli.terminal import plural, printable
from memstore.core.lint import RULES

if TYPE_CHECKING:
    from memstore.core.lint import Remark
    from memstore.upkeep.linting import Linted

_rule_names = click.Choice(tuple(RULES))


@click.command("lint")
@click.argument("names", metavar="[NAME|FILE|DIR]...", nargs=-1)
@click.option("--rule", "only", multiple=True, type=_rule_names, help="Only this rule; may be given several times.")
@click.option("--ignore", multiple=True, type=_rule_names, help="Without this rule; may be given several times.")
@click.option("--rules", "listed", is_flag=True, help="Say which rules there are, and why.")
@click.option("--exit-zero", is_flag=True, help="End with code 0 whatever was found.")
@click.option(
    "--format", "shape", type=click.Choice(["text", "github"]), default="text", show_default=True,
    help="How warnings are written; github: as GitHub Actions shows them beside the lines.",
)  # fmt: skip
@json_option
@click.pass_obj
def lint(
    state: State,
    names: tuple[str, ...],
    only: tuple[str, ...],
    ignore: tuple[str, ...],
    listed: bool,
    exit_zero: bool,
    shape: str,
) -> None:
    """Say what memories lack: their type, a line that tells them apart, reasons, dates written out, links that lead on.

    These are warnings, each with a reason and a suggestion; nothing is changed, and no memory is refused for them.
    Without arguments all memories of this store are looked through. What lies on the disk under a name that is given
    is read as a file, or as a directory of memories, without any store: for pre-commit and CI. Whatever else is given
    is the name of a memory. A comment `<!-- memstore-lint: ignore RULE -->` in a memory switches a rule off for it. The
    exit code is 8 where there are warnings.
    """
    rules = [rule for rule in RULES if rule in (only or RULES) and rule not in ignore]
    if not rules:
        raise click.UsageError("no rule is left to look by: --ignore takes out all that --rule names")
    if listed:
        _tell_rules(state, rules)
        return
    linted, doubts = _look(state, names, rules)
    if state.json:
        _emit(state, linted, doubts)
    elif shape == "github":
        top = state.world().environment.get("GITHUB_WORKSPACE", "")
        for one in linted.remarks:
            state.say(_for_github(one, _in_repository(one.path, state.cwd(), top)))
    else:
        _tell(state, linted)
    if linted.remarks and not exit_zero:
        raise exits.Finished(exits.GONE)


def _look(state: State, names: Sequence[str], rules: Collection[str]) -> tuple[Linted, list[str]]:
    from memstore.upkeep.linting import lint_paths, lint_store

    on_disk = [name for name in names if name and os.path.lexists(state.path(name))]
    if on_disk and len(on_disk) < len(names):
        other = next(name for name in names if name not in on_disk)
        raise click.UsageError(
            f"{on_disk[0]} is on the disk and {other} is not: give files and directories, or names of memories"
        )
    with progress_bar(state, "looking through memories") as progress:
        if on_disk:
            linted, doubts = lint_paths(on_disk, state.cwd(), rules, progress), []
        else:
            with state.open() as memories:
                linted = lint_store(memories, names, rules, progress)
                doubts = tell_doubts(state, memories)
    for path, reason in linted.skipped:
        state.note(printable(f"not looked through: {path}: {reason}"))
    return linted, doubts


def _tell(state: State, linted: Linted) -> None:
    for one in linted.remarks:
        state.say(printable(f"{one.path}:{one.line}: {one.rule}: {one.what}"))
        state.report(printable(f"    {one.mend}"))
    checked = plural(linted.checked, "memory", "memories")
    if not linted.remarks:
        state.report(f"{checked} looked through: nothing to say")
        return
    fired = {one.rule for one in linted.remarks}
    state.report("why:")
    for rule in RULES.values():
        if rule.name in fired:
            state.report(f"    {rule.name:<12}{rule.why}")
    about = len({one.path for one in linted.remarks})
    state.report(f"{plural(len(linted.remarks), 'warning')} in {plural(about, 'file')}, {checked} looked through")


def _tell_rules(state: State, rules: Collection[str]) -> None:
    if state.json:
        state.emit("lint", {"checked": 0, "warnings": [], "rules": _rules(rules), "skipped": [], "notices": []})
        return
    for rule in rules:
        state.say(f"{rule:<12}{RULES[rule].why}")


def _rules(rules: Collection[str]) -> list[dict[str, str]]:
    return [{"rule": rule, "why": RULES[rule].why} for rule in RULES if rule in rules]


def _emit(state: State, linted: Linted, doubts: Sequence[str]) -> None:
    shape = {
        "checked": linted.checked,
        "warnings": [
            {"path": one.path, "line": one.line, "rule": one.rule, "what": one.what, "suggestion": one.mend}
            for one in linted.remarks
        ],
        "rules": _rules({one.rule for one in linted.remarks}),
        "skipped": [{"path": path, "reason": reason} for path, reason in linted.skipped],
        "notices": list(doubts),
    }
    state.emit("lint", shape)


def _in_repository(path: str, cwd: str, top: str) -> str:
    """The path as it is from the top of what GitHub checked out, wherever the command runs; as given elsewhere."""
    whole = os.path.normpath(os.path.join(cwd, path))
    base = top if os.path.isabs(top) and os.path.commonpath((top, whole)) == os.path.normpath(top) else cwd
    return os.path.relpath(whole, base) if os.path.lexists(whole) else path


def _for_github(one: Remark, path: str) -> str:
    """A workflow command; what would end it, or a value in it, is written as its code."""
    path = printable(path).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    text = printable(f"{one.what}; {RULES[one.rule].why}. {one.mend}").replace("%", "%25")
    return f"::warning file={path},line={one.line},title=memstore lint {one.rule}::{text}"

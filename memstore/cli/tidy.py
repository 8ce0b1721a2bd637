"""`tidy`: what can be put in order by rule."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from memstore.cli import terminal
from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option, operation_option
from memstore.cli.telling import tell_files
from memstore.cli.terminal import plural, printable
from memstore.errors import NotFound

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.tidying import Proposal
    from memstore.tidying import Choose, Tidied

_SHOWN = 20
"""Proposals of one kind that a person is shown."""


@click.command("tidy")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Do all that can be done by rule, not only what is safe.")
@click.option("--pick", is_flag=True, help="Ask for each proposal that is not safe.")
@click.option("--dry-run", is_flag=True, help="Say what there is to tidy; change nothing.")
@operation_option
@json_option
@click.pass_obj
def tidy(
    state: State, names: tuple[str, ...], everything: bool, pick: bool, dry_run: bool, operation: str | None
) -> None:
    """Find what can be tidied by rule, without a model, and do what is safe.

    It finds memories with the same or nearly the same text, lines of the index that point to nothing, memories that
    say themselves until when they hold, and what an index that is full leaves out. Safe is what nothing can be lost
    by: a second copy of a memory goes. All else is only shown, with the command that would do it: with NAMEs that
    about these memories is done, with --all everything. What is pinned, and each line that was written by hand, stays.
    All of it is one operation, which `memstore undo` takes back.
    """
    if sum((bool(names), everything, pick)) > 1:
        raise click.UsageError("give NAMEs, --all or --pick")
    if pick and (state.json or dry_run):
        raise click.UsageError("--pick asks one by one: leave --json and --dry-run out")
    with state.open() as memories:
        with progress_bar(state, "looking for texts that are alike") as progress:
            choose = _choice(names, everything)
            if not pick:
                tidied = memories.tidy(choose, dry_run=dry_run, operation=operation, progress=progress)
        if pick:
            tidied = memories.tidy(lambda proposals: _picked(state, memories, proposals), operation=operation)
    if state.json:
        _emit(state, tidied, dry_run)
    _tell(state, tidied, dry_run)


def _choice(names: Sequence[str], everything: bool) -> Choose:
    def choose(proposals: Sequence[Proposal]) -> Sequence[Proposal]:
        from memstore.tidying import safe

        if everything:
            return proposals
        if not names:
            return safe(proposals)
        wanted = {name if name.endswith(".md") else f"{name}.md" for name in names}
        found = [proposal for proposal in proposals if proposal.paths and wanted.issuperset(proposal.paths)]
        if not found:
            told = ", ".join(sorted(wanted))
            raise NotFound(f"nothing is to be done by rule about {told[:200]}", hint="see `memstore tidy --dry-run`")
        return found

    return choose


def _picked(state: State, memories: Memstore, proposals: Sequence[Proposal]) -> list[Proposal]:
    """What is safe, and what a person says yes to."""
    chosen = []
    for proposal in proposals:
        if proposal.safe:
            chosen.append(proposal)
            continue
        state.say(printable(_line(proposal)))
        for other in proposal.paths[1:]:
            state.say(terminal.diff_text(_difference(memories, proposal.paths[0], other)))
        if click.confirm(f"  {_would(proposal)}?", default=False, err=True):
            chosen.append(proposal)
    return chosen


def _difference(memories: Memstore, path: str, other: str) -> list[str]:
    from memstore.core.compare import unified

    heads = [memories.store.at(memories.shelf, each) for each in (path, other)]
    texts = [b"" if head is None else head.state.content for head in heads]
    return unified(texts[0], texts[1], path, other)


def _would(proposal: Proposal) -> str:
    first = printable(proposal.paths[0])
    return f"retire {first}" if proposal.kind == "expired" else f"keep {first} alone"


def _line(proposal: Proposal) -> str:
    about = ", ".join(proposal.paths)
    return f"{proposal.kind:<10}{f'{about}: ' if about else ''}{proposal.reason}"


def _next(proposal: Proposal) -> str:
    """What a person can do about it."""
    if proposal.safe:
        return "memstore tidy"
    if proposal.can_be_done:
        return f"memstore tidy {' '.join(map(shlex.quote, proposal.paths))}"
    if proposal.kind == "pointer":
        return "take it out of MEMORY.md, or write that memory"
    if proposal.kind == "index":
        return "memstore pin NAME keeps the line of a memory; memstore delete NAME and shorter lines by hand make room"
    if len(proposal.paths) > 1:
        kept, other = map(shlex.quote, proposal.paths[:2])
        return f"memstore supersede {other} --by {kept} says that the second one is out of date"
    return "memstore unpin NAME first"


def _tell(state: State, tidied: Tidied, dry_run: bool) -> None:
    if tidied.repeated:
        state.report(f"done before, nothing new: operation #{tidied.seq}")
    left = [proposal for proposal in tidied.proposals if proposal not in tidied.done]
    for proposal in tidied.done:
        state.report(printable(f"done: {_line(proposal)}"))
    for line in _left_lines(left):
        state.report(printable(line))
    if tidied.files is not None:
        tell_files(state, tidied.files)
    if not tidied.proposals and not tidied.repeated:
        state.report("there is nothing to tidy")
    elif tidied.done:
        done = plural(len(tidied.done), "thing")
        state.report(f"tidied {done} by operation #{tidied.seq}: `memstore undo {tidied.seq}` takes it back")
    elif dry_run:
        safe = sum(proposal.safe for proposal in left)
        state.report(f"{plural(len(left), 'proposal')}, {safe} of them safe; nothing was changed")


def _left_lines(left: Sequence[Proposal]) -> Iterator[str]:
    for kind in dict.fromkeys(proposal.kind for proposal in left):
        found = [proposal for proposal in left if proposal.kind == kind]
        for proposal in found[:_SHOWN]:
            yield _line(proposal)
            yield f"{'':10}{_next(proposal)}"
        if len(found) > _SHOWN:
            yield f"{kind:<10}and {len(found) - _SHOWN} more: --json has all"


def _emit(state: State, tidied: Tidied, dry_run: bool) -> None:
    from memstore.cli.shaping import files_shape

    shape = {
        "dry_run": dry_run,
        "proposals": [
            {
                "kind": proposal.kind,
                "paths": list(proposal.paths),
                "reason": proposal.reason,
                "safe": proposal.safe,
                "by_rule": proposal.can_be_done,
                "done": proposal in tidied.done,
                "next": _next(proposal),
            }
            for proposal in tidied.proposals
        ],
        "operation": tidied.operation,
        "seq": tidied.seq,
        "files": None if tidied.files is None else files_shape(tidied.files),
    }
    state.emit("tidy", shape)

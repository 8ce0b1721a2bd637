"""`doctor`: what keeps memstore from working here, why that matters, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from memstore.cli import exits
from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.terminal import bold, plural, printable

if TYPE_CHECKING:
    from memstore.core.findings import Finding
    from memstore.upkeep.doctor import Examination, Mended

_CODES = {None: exits.OK, "note": exits.OK, "warning": exits.GONE, "error": exits.STORE}


@click.command()
@click.option("--fix", is_flag=True, help="Mend what is safe to mend, then look again.")
@click.option("--dry-run", is_flag=True, help="With --fix: say what it would mend, and mend nothing.")
@click.option("--thorough", is_flag=True, help="Take as long as it needs, also where there are very many memories.")
@click.option("--model", is_flag=True, help="Only ask each model that is set one tiny question.")
@json_option
@click.pass_obj
def doctor(state: State, fix: bool, dry_run: bool, thorough: bool, model: bool) -> None:
    """Look for all that keeps memstore from working here, and say what mends it.

    Looked at are the database (on a fresh connection, for reading alone), the search index, the files in the folder,
    MEMORY.md, the file system, permissions, settings, the client, and what waits or was left over. Nothing is changed
    without --fix; that mends what cannot lose anything, and `memstore undo` takes back what it did to memories and
    lines. Exit code 0: nothing, or notes only; 8: warnings; 6: errors.

    With --model a request goes to the Messages API with the key in ANTHROPIC_API_KEY or the token in
    ANTHROPIC_AUTH_TOKEN, to the address in ANTHROPIC_BASE_URL where one is set. Models extract what sessions taught,
    keep their notes, dream and, where recall.selector is model, pick memories for prompts. Without key and token the
    client's own fork of a session extracts (extract.via); it is looked for, and asked nothing.
    """
    if model and (fix or dry_run or thorough):
        raise click.UsageError("--model stands alone: it asks the models and looks at nothing else")
    if dry_run and not fix:
        raise click.UsageError("--dry-run says what --fix would mend: give both")
    if model:
        from memstore.cli.doctor_model import look_at_models

        look_at_models(state)
        return
    _examine(state, fix=fix, dry_run=dry_run, thorough=thorough)


def _examine(state: State, *, fix: bool, dry_run: bool, thorough: bool) -> None:
    from memstore.upkeep.doctor import examine, mend

    world = state.world()
    with progress_bar(state, "looking at") as progress:
        found = examine(world, thorough=thorough, progress=progress)
    mended: list[Mended] = []
    if fix and not dry_run and any(finding.fix for finding in found.findings):
        with progress_bar(state, "mending") as progress:
            mended = mend(world, found, progress=progress)
            found = examine(world, thorough=thorough, progress=progress)
    if state.json:
        state.emit("doctor", _shape(found, mended, dry_run=dry_run))
    else:
        state.say("\n".join(_lines(found, mended, dry_run=dry_run)))
    raise exits.Finished(_CODES[found.worst])


def _lines(found: Examination, mended: Sequence[Mended], *, dry_run: bool) -> Iterator[str]:
    yield from (f"{name + ':':<10}{printable(value)}" for name, value in found.facts)
    became = (
        f"{each.finding.check}: " + printable(f"mended: {each.told}" if each.told else f"not mended: {each.failed}")
        for each in mended
    )
    yield from dict.fromkeys(became)  # what was done for several findings at once is told once
    for severity in ("error", "warning", "note"):
        for finding in found.findings:
            if finding.severity == severity:
                yield from _told(finding, dry_run=dry_run)
    for why in dict.fromkeys(skipped.why for skipped in found.skipped):
        names = ", ".join(skipped.check for skipped in found.skipped if skipped.why == why)
        yield f"not looked at, as {printable(why)}: {names}"
    yield _sum(found)


def _told(finding: Finding, *, dry_run: bool) -> Iterator[str]:
    yield f"{bold(finding.severity)} {finding.check}: {printable(finding.what)}"
    yield f"    {printable(finding.why)}"
    yield f"    {printable(finding.mend)}"
    if finding.fix:
        yield "    --fix would mend it" if dry_run else "    `memstore doctor --fix` mends it"


def _sum(found: Examination) -> str:
    counts = [
        plural(number, severity)
        for severity in ("error", "warning", "note")
        if (number := sum(finding.severity == severity for finding in found.findings))
    ]
    return f"{plural(found.looked, 'look')}: {', '.join(counts) or 'nothing is the matter'}"


def _shape(found: Examination, mended: Sequence[Mended], *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "worst": found.worst,
        "looked": found.looked,
        "facts": [{"name": name, "value": value} for name, value in found.facts],
        "findings": [
            {
                "check": one.check,
                "severity": one.severity,
                "what": one.what,
                "why": one.why,
                "mend": one.mend,
                "fix": one.fix,
            }
            for one in found.findings
        ],
        "mended": [
            {"check": one.finding.check, "what": one.finding.what, "told": one.told, "failed": one.failed}
            for one in mended
        ],
        "skipped": [{"check": one.check, "why": one.why} for one in found.skipped],
    }

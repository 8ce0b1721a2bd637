"""`sync`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli import exits
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_conflicts, tell_troubles
from memstore.cli.terminal import plural, printable

if TYPE_CHECKING:
    from memstore.files.report import SyncReport
    from memstore.files.sync import Verdict


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would happen; change nothing.")
@click.option(
    "--accept",
    "verdict",
    flag_value="accept",
    help="Take the folder as it is, also where many files are gone.",
)
@click.option("--restore", "verdict", flag_value="restore", help="Put every file back as the store has it.")
@json_option
@click.pass_obj
def sync(state: State, dry_run: bool, verdict: str | None) -> None:
    """Take in what was edited in the memory folder, then show there what the store holds.

    The first sync of a folder takes it over and changes no byte in it. Where many files are gone or went
    back at once, it stops and asks for --accept or --restore. Ends with code 5 where nothing may be shown
    here, or a file could not be written, and with code 6 where the store could not be used; what was taken in
    is kept all the same.
    """
    if dry_run and verdict is not None:
        raise click.UsageError("give --dry-run or a verdict, not both")
    word: Verdict = "accept" if verdict == "accept" else "restore" if verdict == "restore" else "ask"
    with state.open(make=not dry_run) as memories:
        report = memories.sync(dry_run=dry_run, verdict=word)
    if state.json:
        from memstore.cli.shaping import files_shape

        state.emit("sync", {"dry_run": dry_run, "files": files_shape(report)})
    else:
        _tell(state, report, dry_run)
    tell_troubles(state, report)
    if report.pending or report.stopped or report.folder is None:
        raise exits.Finished(exits.STORE if report.stopped else exits.PLACE)


def tell_each(state: State, report: SyncReport) -> None:
    """A line for each file that was taken in, shown or removed."""
    for noted in report.absorbed:
        detail = f": {noted.detail}" if noted.detail else ""
        state.report(printable(f"{noted.what}  {noted.path}  (rule {noted.rule}{detail})"))
    for path in report.projected:
        state.report(printable(f"projected  {path}"))
    for path in report.removed:
        state.report(printable(f"removed  {path}"))


def _tell(state: State, report: SyncReport, dry_run: bool) -> None:
    tell_each(state, report)
    would = "would be " if dry_run else ""
    taken = f"{plural(report.taken_in, 'file')} {would}taken in"
    back = f", {report.put_back} {would}put back" if report.put_back else ""
    shown = f"{len(report.projected) + len(report.removed) - report.put_back} {would}brought up to date"
    where = "" if report.folder is None else f" in {report.folder}"
    first = " (met for the first time)" if report.taken_over else ""
    state.report(printable(f"{taken}{back}, {shown}{where}{first}"))
    tell_conflicts(state, report.absorbed, would=dry_run)

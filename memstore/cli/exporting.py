"""`export` of the memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli import exits
from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.terminal import plural, printable

if TYPE_CHECKING:
    from memstore.files.report import ExportReport


@click.command("export")
@click.argument("directory", metavar="DIR")
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@json_option
@click.pass_obj
def export_command(state: State, directory: str, dry_run: bool) -> None:
    """Write all memories and the index into a directory, byte for byte.

    Files there with text that the store does not know stay as they are. Where one has the name of a memory it is
    named, and the command ends with code 5.
    """
    with state.open() as memories, progress_bar(state, "writing") as progress:
        report = memories.export_directory(state.path(directory), dry_run=dry_run, progress=progress)
    if state.json:
        shape = {
            "dry_run": dry_run,
            "target": report.target,
            "written": list(report.written),
            "unchanged": list(report.unchanged),
            "kept": [{"path": path, "reason": reason} for path, reason in report.kept],
            "failed": [{"path": path, "reason": reason} for path, reason in report.failed],
        }
        state.emit("export", shape)
    else:
        _tell_export(state, report, dry_run)
    if report.failed or report.kept:
        raise exits.Finished(exits.PLACE)


def _tell_export(state: State, report: ExportReport, dry_run: bool) -> None:
    if dry_run:
        state.report(printable("\n".join(f"would write  {path}" for path in report.written), lines=True))
    for path, reason in report.kept:
        state.note(f"left alone: {path}: {reason}")
    for path, reason in report.failed:
        state.note(f"not written: {path}: {reason}")
    done = "would be written" if dry_run else "written"
    written, unchanged = plural(len(report.written), "file"), len(report.unchanged)
    state.report(printable(f"{written} {done} to {report.target}, {unchanged} as they were"))

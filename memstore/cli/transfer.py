"""`import` and `export` of memory directories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memstore.cli import exits
from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_conflicts
from memstore.cli.terminal import plural, printable

if TYPE_CHECKING:
    from memstore.files.report import ExportReport, ImportReport


@click.command("import")
@click.argument("directory", metavar="DIR")
@click.option("--dry-run", is_flag=True, help="Say what would be taken in; take nothing.")
@json_option
@click.pass_obj
def import_command(state: State, directory: str, dry_run: bool) -> None:
    """Take in a directory of memories. Nothing in it changes.

    A second time nothing is new. A file that is an earlier version of what the store holds never wins over
    it. What is no Markdown is left alone and named.
    """
    with state.open(make=True) as memories, progress_bar(state, "taking in") as progress:
        report = memories.import_directory(state.path(directory), dry_run=dry_run, progress=progress)
    if state.json:
        from memstore.cli.shaping import noted_shape

        shape = {
            "dry_run": dry_run,
            "source": report.source,
            "noted": [noted_shape(noted) for noted in report.noted],
            "unchanged": list(report.unchanged),
            "older": list(report.older),
            "lines": report.lines,
            "duplicates": [{"path": path, "memory": memory} for path, memory in report.duplicates],
            "skipped": [{"path": path, "reason": reason} for path, reason in report.skipped],
            "seq": report.seq,
        }
        state.emit("import", shape)
        return
    for line in _import_lines(report):
        state.report(printable(line))
    for path, reason in report.skipped:
        state.note(f"left alone: {path}: {reason}")
    state.report(printable(_import_summary(report, dry_run)))
    tell_conflicts(state, report.noted, would=dry_run)


def _import_lines(report: ImportReport) -> Iterator[str]:
    for noted in report.noted:
        yield f"{noted.what}  {noted.path}" + (f"  ({noted.detail})" if noted.detail else "")
    for path, memory in report.duplicates:
        yield f"the same text as {memory}  {path}"
    for path in report.older:
        yield f"an earlier version, not taken  {path}"


def _import_summary(report: ImportReport, dry_run: bool) -> str:
    operation = "" if report.seq is None else f", operation #{report.seq}"
    would = "would be " if dry_run else ""
    changed = len(report.noted) - report.new - _conflicts(report)
    return (
        f"{plural(report.new, 'memory', 'memories')} {would}new, {changed} changed,"
        f" {len(report.unchanged)} as they were, {plural(report.lines, 'index line')} {would}added{operation}"
    )


def _conflicts(report: ImportReport) -> int:
    return sum(1 for noted in report.noted if noted.what == "conflict")


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

"""`import` of memories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_conflicts
from memstore.cli.terminal import plural, printable

if TYPE_CHECKING:
    from memstore.files.report import ImportReport


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

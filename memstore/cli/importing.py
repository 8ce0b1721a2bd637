"""`import` of memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_conflicts
from memstore.cli.terminal import plural, printable
from memstore.core.formats import FORMATS

if TYPE_CHECKING:
    from memstore.files.report import ImportReport


def _columns(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """FIELD=COLUMN by field. Which fields there are is known where rows are read."""
    found: dict[str, str] = {}
    for one in given:
        wanted, equals, column = one.partition("=")
        if not (wanted and equals and column):
            raise click.BadParameter(f"{one} is not FIELD=COLUMN, as in body=notes")
        if wanted in found:
            raise click.BadParameter(f"{wanted} is given twice")
        found[wanted] = column
    return found


@click.command("import")
@click.argument("source", metavar="SOURCE")
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    help="What SOURCE is. Otherwise its content tells.",
)
@click.option("--table", metavar="TABLE", help="Of a database, the table whose rows are memories.")
@click.option(
    "--column",
    "columns",
    metavar="FIELD=COLUMN",
    multiple=True,
    callback=_columns,
    help="Of rows, the column that holds name, description, type or body. Repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be taken in; take nothing.")
@json_option
@click.pass_obj
def import_command(
    state: State, source: str, kind: str | None, table: str | None, columns: Mapping[str, str], dry_run: bool
) -> None:
    """Take in memories from elsewhere. Nothing in SOURCE changes.

    SOURCE is a directory of memories, one that was packed as zip or tar, the JSON that `memstore export` writes, notes
    of basic-memory (a directory, or packed), the JSON lines of the MCP memory server, a CSV or JSON file whose rows
    are memories, or an SQLite database with such a table.

    A second time nothing is new. A file that is an earlier version of what the store holds never wins over
    it. What is no memory is left alone and named. What cannot be read whole, or is not safe, is refused as a whole.
    """
    from memstore.files.source import Asked, read_source

    # Before the store is opened: what is refused shall not even make one.
    with progress_bar(state, "reading") as progress:
        read = read_source(state.path(source), state.world(), progress, Asked(kind, table, columns))
    with state.open(make=True) as memories, progress_bar(state, "taking in") as progress:
        report = memories.import_directory(read, dry_run=dry_run, progress=progress)
    if state.json:
        from memstore.cli.shaping import noted_shape

        shape = {
            "dry_run": dry_run,
            "source": report.source,
            "format": report.format,
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
    yield f"read as {report.format}: {report.source}"
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
    # New memories get their lines in any case: these are those of the source's own index.
    lines = f", {plural(report.lines, 'line')} of its index {would}added" if report.lines else ""
    return (
        f"{plural(report.new, 'memory', 'memories')} {would}new, {changed} changed,"
        f" {len(report.unchanged)} as they were{lines}{operation}"
    )


def _conflicts(report: ImportReport) -> int:
    return sum(1 for noted in report.noted if noted.what == "conflict")

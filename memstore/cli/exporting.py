"""`export` of the memories."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, cast

import click

from memstore.cli import exits, inputs
from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.terminal import plural, printable
from memstore.errors import InputRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memstore.core.exchange import Withheld
    from memstore.files.report import ExportReport
    from memstore.files.selecting import Format
    from memstore.upkeep.exporting import Asked, Point

_PACKED = (".tar", ".gz", ".tgz", ".bz2", ".tbz", ".xz", ".txz", ".zst", ".7z", ".rar")
_SCOPE = re.compile(r"private|team|all|agent/[^/]+")
_OPERATION = re.compile(r"#?\d+")


@click.command("export")
@click.argument("target", metavar="TARGET")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["dir", "zip", "json"]),
    help="dir, zip or json; without it, by the name of TARGET.",
)
@click.option("--scope", default="private", metavar="SCOPE", help="private (the default), team, agent/NAME, or all.")
@click.option("--since", metavar="POINT", help="Only memories that changed after an operation, or since a date.")
@click.option("--as-of", "as_of", metavar="POINT", help="As things stood after an operation, or at a date.")
@click.option("--with-secrets", "secrets", is_flag=True, help="Also what holds a key, token or password.")
@click.option("--force", is_flag=True, help="Replace a file that is no export of these memories.")
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@json_option
@click.pass_obj
def export_command(
    state: State,
    target: str,
    kind: str | None,
    scope: str,
    since: str | None,
    as_of: str | None,
    secrets: bool,
    force: bool,
    dry_run: bool,
) -> None:
    """Write all memories and the index into a directory, byte for byte; or into a .zip, or a .json with all versions.

    TARGET is a directory or a file; `-` writes JSON to standard output. A POINT is an operation (12, #12 or its id), a
    date such as 2026-03-01, or so long ago: 12h, 3d, 2w. The scope `all` also takes what a team shares; an agent's own
    memories are asked for by agent/NAME.

    Files there with text that the store does not know stay as they are, and so does a file that is no export of these
    memories, without --force. What holds a key, a token or a password is not written. What stays away is named, and
    the command ends with code 5.
    """
    from memstore.upkeep.exporting import Asked, export

    if not _SCOPE.fullmatch(scope):
        raise click.BadParameter(f"{scope!r} is none of private, team, agent/NAME, all", param_hint="--scope")
    if scope.startswith("agent/"):
        state.agent, scope = scope.removeprefix("agent/"), "private"
    asked = Asked(
        _format(target, kind), scope, _point(since, "--since"), _point(as_of, "--as-of"), secrets, force
    )  # fmt: skip
    if target == "-":
        if state.json or dry_run:
            raise InputRefused(
                "an export to standard output is JSON itself, and writes nothing else",
                hint="leave --json and --dry-run out, or name a file",
            )
        _to_standard_output(state, asked)
        return
    with state.open() as memories, progress_bar(state, "writing") as progress:
        report = export(memories, state.path(target), asked, dry_run=dry_run, progress=progress)
    if state.json:
        shape = {
            "dry_run": dry_run,
            "target": report.target,
            "format": report.format,
            "written": list(report.written),
            "unchanged": list(report.unchanged),
            "kept": [{"path": path, "reason": reason} for path, reason in report.kept],
            "failed": [{"path": path, "reason": reason} for path, reason in report.failed],
            "withheld": [{"path": path, "rule": mark.rule, "line": mark.line} for path, mark in report.withheld],
        }
        state.emit("export", shape)
    else:
        _tell_export(state, report, dry_run)
    if report.failed or report.kept or report.withheld:
        raise exits.Finished(exits.PLACE)


def _to_standard_output(state: State, asked: Asked) -> None:
    from memstore.upkeep.exporting import as_json

    with state.open() as memories:
        content, selection = as_json(memories, asked)
    if sys.stdout is not None:  # None: closed by whoever started the program
        sys.stdout.buffer.write(content)
    _tell_withheld(state, selection.withheld)
    if selection.withheld:
        raise exits.Finished(exits.PLACE)


def _format(target: str, kind: str | None) -> Format | None:
    if target == "-":
        if kind not in (None, "json"):
            raise InputRefused(f"standard output takes JSON, not {kind}", hint="name a file")
        return "json"
    if kind is None and target.lower().endswith(_PACKED):
        raise InputRefused(
            f"an export is a directory, a .zip or a .json, and {target} would become a directory",
            hint="name it .zip, or say --format dir if a directory of that name is meant",
        )
    return cast("Format | None", kind)


def _point(text: str | None, option: str) -> Point | None:
    """An operation or a date; which of them is seen by its form."""
    from memstore.upkeep.exporting import Point

    if text is None:
        return None
    wanted = text.strip()
    if not wanted:
        raise click.BadParameter("it is empty", param_hint=option)
    if _OPERATION.fullmatch(wanted):
        return Point(operation=wanted)
    try:
        return Point(moment=inputs.moment(wanted))
    except InputRefused:
        return Point(operation=wanted)


def _tell_export(state: State, report: ExportReport, dry_run: bool) -> None:
    if dry_run:
        state.report(printable("\n".join(f"would write  {path}" for path in report.written), lines=True))
    for path, reason in report.kept:
        state.note(f"left alone: {path}: {reason}")
    for path, reason in report.failed:
        state.note(f"not written: {path}: {reason}")
    _tell_withheld(state, report.withheld)
    done = "would be written" if dry_run else "written"
    what = ("memory", "memories") if report.format == "json" else ("file", "files")
    written, unchanged = plural(len(report.written), *what), len(report.unchanged)
    state.report(printable(f"{written} {done} to {report.target}, {unchanged} as they were"))


def _tell_withheld(state: State, withheld: Sequence[tuple[str, Withheld]]) -> None:
    """By rule and line: the secret itself is nowhere repeated."""
    for path, mark in withheld:
        state.note(f"not written: {path}: line {mark.line} holds a secret ({mark.rule}); --with-secrets takes it along")

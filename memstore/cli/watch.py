"""`watch`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from memstore.cli.folder import tell_each
from memstore.cli.state import State, json_option
from memstore.cli.stopping import until_told
from memstore.cli.telling import tell_conflicts, tell_troubles
from memstore.cli.terminal import plural, printable

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.files.report import SyncReport


@dataclass(slots=True)
class _Sums:
    taken: int = 0
    shown: int = 0


def _bounded(_: click.Context, __: click.Parameter, seconds: float) -> float:
    if not 1 <= seconds <= 3600:  # click's own range lets "nan" through
        raise click.BadParameter("give a number of seconds from 1 to 3600")
    return seconds


@click.command()
@click.option(
    "--interval",
    metavar="SECONDS",
    type=float,
    callback=_bounded,
    default=10,
    show_default=True,
    help="Look at the files at least this often, whatever the system tells of changes.",
)
@json_option
@click.pass_obj
def watch(state: State, interval: float) -> None:
    """Take edits of the memory files in as they are made, until stopped.

    Every other command takes edits in before it does anything else, so nothing is lost without this one. While
    it runs, other programs' edits are in the store half a second after they were made, and a folder that was
    swept away comes back by itself. Ctrl-C or SIGTERM ends it; `memstore status` shows it. There is one for
    each store.

    With --json: an object on a line of its own for each look that has news, the first one at once.
    """
    sums = _Sums()
    with until_told() as stopped:
        while not stopped():  # it comes back where the directory has another folder or store by now
            with state.open(make=True) as memories:
                _watch(state, memories, interval, stopped, sums)
    shown = plural(sums.shown, "file")
    state.report(f"ended: took in {plural(sums.taken, 'change')}, brought {shown} up to date")


def _watch(state: State, memories: Memstore, interval: float, stopped: Callable[[], bool], sums: _Sums) -> None:
    with closing(memories.watch(stopped, interval=interval)) as reports:
        for number, report in enumerate(reports):
            sums.taken += report.taken_in
            sums.shown += len(report.projected) + len(report.removed)
            _tell(state, report)
            if number == 0:
                where = memories.place.folder or memories.place.placement.directory
                state.report(printable(f"watching {where}"))


def _tell(state: State, report: SyncReport) -> None:
    if state.json:
        from memstore.cli.shaping import files_shape

        state.emit("watch", {"files": files_shape(report)})
    tell_each(state, report)
    tell_conflicts(state, report.absorbed)
    tell_troubles(state, report)

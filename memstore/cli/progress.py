"""A bar for work that goes on for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memstore.cli import terminal
from memstore.cli.state import State
from memstore.cli.terminal import printable

if TYPE_CHECKING:
    from memstore.files.report import Progress


@contextmanager
def progress_bar(state: State, what: str) -> Iterator[Progress | None]:
    """A progress bar on standard error, if that is a terminal. It is gone afterwards."""
    if state.quiet or not terminal.drawn(stream_is_error=True):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True, markup=False, highlight=False),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None)

        def advance(done: int, total: int, current: str) -> None:
            bar.update(task, completed=done, total=total, description=printable(current))

        yield advance

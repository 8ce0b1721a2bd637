"""`stats`: how many memories there are, how they grew, who works with them, and what they take on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli import inputs
from memstore.cli.state import State, json_option
from memstore.cli.terminal import bold, plural, printable, table, when

if TYPE_CHECKING:
    from memstore.cli.shaping import Shape
    from memstore.upkeep.plotting import Plotted
    from memstore.upkeep.stats import Stats

_MONTHS = 12


@click.command()
@click.option("--plot", "chart", metavar="FILE", help="Draw a chart into FILE, which ends in .png or .svg.")
@click.option("--force", is_flag=True, help="Replace FILE, if it is there.")
@inputs.since_option
@json_option
@click.pass_obj
def stats(state: State, chart: str | None, force: bool, since: int | None) -> None:
    """Show figures: memories by type, growth, the busiest worktrees, sizes, sessions, what was recalled.

    --since counts changes, sessions and recalls from then on; how many memories there are is told as of now.
    """
    from memstore.upkeep.stats import stats_of

    plotted = None
    if chart is not None:
        from memstore.upkeep.database import check_target
        from memstore.upkeep.plotting import check_path, plot

        check_path(state.path(chart), force=force)
    with state.open() as memories:
        if chart is not None:
            check_target(memories, state.path(chart), force=force)
        found = stats_of(memories, since or 0)
    if chart is not None:
        plotted = plot(found, state.path(chart), force=force)
        if plotted.lacking:
            state.note(
                f"no font here has {plural(len(plotted.lacking), 'character')} of the chart"
                f" ({printable(plotted.lacking[:20])}): a PNG shows boxes, an SVG keeps the text"
            )
    if state.json:
        state.emit("stats", _shape(found, plotted))
        return
    _tell(state, found)
    if plotted is not None:
        state.report(f"\nchart written to {printable(plotted.path)}")


def _tell(state: State, found: Stats) -> None:
    from memstore.upkeep.stats import months

    figures, sizes = found.figures, found.sizes
    state.say(
        f"{plural(figures.memories, 'memory', 'memories')}, {figures.retired} retired, {figures.pinned} pinned;"
        f" {plural(figures.sessions, 'session')}, which were told {plural(figures.told, 'memory', 'memories')}"
    )
    _section(
        state,
        "Types",
        ("type", "memories", "bytes"),
        [(one.type or "-", one.memories, one.size) for one in figures.types],
    )
    _section(state, "Scopes", ("scope", "memories"), figures.scopes if len(figures.scopes) > 1 else ())
    rows = [(month.name, month.came, month.went, month.memories) for month in months(figures)[-_MONTHS:]]
    _section(state, "Growth", ("month", "came", "went", "memories"), rows)
    busy = [(one.path, one.operations, one.versions, when(one.last)) for one in figures.worktrees]
    _section(state, "Worktrees", ("worktree", "changes", "versions", "last"), busy)
    _section(state, "Changes", ("kind", "changes"), figures.kinds)
    _section(state, "Whose they are", ("origin", "changes"), figures.origins)
    _section(state, "Most recalled", ("memory", "sessions"), figures.recalled)
    on_disk = [
        ("database", sizes.database),
        ("its log", sizes.log),
        ("backups", sizes.backups),
        ("folder", sizes.folder),
    ]
    _section(state, "On the disk", ("what", "bytes"), on_disk)


def _section(state: State, title: str, headings: tuple[str, ...], rows: object) -> None:
    """A heading and a table; nothing where there are no rows."""
    assert isinstance(rows, list | tuple)
    if not rows:
        return
    shown = [[cell if isinstance(cell, str) else f"{cell:,}" for cell in row] for row in rows]
    state.say(f"\n{bold(title)}")
    state.say(table(headings, shown, wide=headings[0]))


def _shape(found: Stats, plotted: Plotted | None) -> Shape:
    from memstore.cli.shaping import moment_shape
    from memstore.upkeep.stats import day_of

    figures, sizes = found.figures, found.sizes
    return {
        "since": moment_shape(found.since) if found.since else None,
        "memories": figures.memories,
        "retired": figures.retired,
        "pinned": figures.pinned,
        "types": [{"type": one.type, "memories": one.memories, "bytes": one.size} for one in figures.types],
        "scopes": dict(figures.scopes),
        "growth": [
            {"day": day_of(day.number).isoformat(), "came": day.came, "went": day.went, "memories": day.memories}
            for day in figures.days
        ],
        "worktrees": [
            {
                "worktree": one.path,
                "operations": one.operations,
                "versions": one.versions,
                "last": moment_shape(one.last),
            }
            for one in figures.worktrees
        ],
        "kinds": dict(figures.kinds),
        "origins": dict(figures.origins),
        "sessions": figures.sessions,
        "told": figures.told,
        "recalled": [{"path": path, "sessions": number} for path, number in figures.recalled],
        "sizes": {
            "database": sizes.database,
            "log": sizes.log,
            "backups": sizes.backups,
            "folder": sizes.folder,
        },
        "plot": None if plotted is None else plotted.path,
        "lacking": "" if plotted is None else plotted.lacking,
    }

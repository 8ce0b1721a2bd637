"""The figures as a chart, in PNG or SVG. Needs no display, and reads no settings of matplotlib that lie about."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from memstore.core.unseen import one_line
from memstore.errors import InputRefused
from memstore.store.plainfile import create_whole, replace_whole
from memstore.upkeep.stats import Stats, day_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg")

_LONGEST = 28
_WIDE_SCRIPTS = (
    "Noto Sans CJK", "Source Han Sans", "PingFang", "Hiragino Sans", "WenQuanYi", "Droid Sans Fallback", "IPAexGothic",
    "IPAGothic", "TakaoPGothic", "VL Gothic", "NanumGothic", "Apple SD Gothic", "AR PL", "Unifont", "Noto Sans",
)  # fmt: skip
"""Beginnings of the names of fonts with letters that the font of matplotlib lacks; the first ones are tried first."""


@dataclass(frozen=True, slots=True)
class Plotted:
    """A chart that was written. `lacking`: characters that no font here has; a PNG shows a box for each."""

    path: str
    size: int
    lacking: str


def check_path(path: str, *, force: bool) -> str:
    """The format that a file name asks for. Raises InputRefused for another one, and for a file that is there."""
    suffix = os.path.splitext(path)[1].lower().lstrip(".")
    if suffix not in FORMATS:
        raise InputRefused(f"{path} is neither .png nor .svg", hint="name the chart such as stats.png or stats.svg")
    if os.path.lexists(path) and not (force and os.path.isfile(path) and not os.path.islink(path)):
        step = "give another file, or --force to replace it" if os.path.isfile(path) else "give another file"
        raise InputRefused(f"{path} is there already", hint=step)
    return suffix


def plot(found: Stats, path: str, *, force: bool = False) -> Plotted:
    """Draws the chart and writes it. Raises InputRefused where it cannot be written."""
    suffix = check_path(path, force=force)
    content, lacking = drawn(found, suffix)
    try:
        if force:
            replace_whole(path, content)
        elif not create_whole(path, content):
            raise InputRefused(f"{path} is there already", hint="give another file, or --force to replace it")
    except OSError as error:
        raise InputRefused(f"{path} cannot be written: {error.strerror}", hint="give another file") from error
    return Plotted(path, len(content), lacking)


def drawn(found: Stats, suffix: str) -> tuple[bytes, str]:
    """The bytes of the chart, and the characters in it that no font here has."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of caches that it cannot write
    try:
        import matplotlib
    except (ValueError, OSError) as error:
        raise InputRefused(
            f"matplotlib cannot read its settings: {error}",
            hint="look at $MPLBACKEND and the file matplotlibrc in this directory, or start the command in another one",
        ) from error

    # A matplotlibrc in the working directory was read by the import; what it says (it may run TeX) counts for nothing.
    matplotlib.rcdefaults()
    from matplotlib.figure import Figure

    fonts, lacking = _fonts("".join(_labels(found)))
    settings: Any = {
        "font.family": fonts,
        "text.parse_math": False,  # a $ in a path is a $
        "svg.fonttype": "none",
        "svg.hashsalt": "memstore",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(figsize=(11, 7.5), layout="constrained")
        (growth, types), (worktrees, sizes) = figure.subplots(2, 2)
        _growth(growth, found)
        kinds = found.figures.types
        _bars(types, "Memories by type", [_type(one.type) for one in kinds], [one.memories for one in kinds])
        busy = found.figures.worktrees
        _bars(worktrees, "Busiest worktrees, by changes", [_place(w.path) for w in busy], [w.operations for w in busy])
        size = found.sizes
        kibibytes = [number / 1024 for number in (size.database, size.log, size.backups, size.folder)]
        _bars(sizes, "On the disk, in KiB", ["database", "its log", "backups", "folder"], kibibytes)
        target = BytesIO()
        figure.savefig(target, format=suffix, dpi=120, metadata={"Date": None} if suffix == "svg" else None)
    return target.getvalue(), lacking


def _growth(axes: Axes, found: Stats) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

    days = found.figures.days
    axes.set_title("Memories over time")
    if not days:
        _nothing(axes)
        return
    at = date2num([day_of(day.number) for day in days])  # type: ignore[no-untyped-call]  # matplotlib types it not yet
    axes.step(at, [day.memories for day in days], where="post", marker="." if len(days) < 60 else "")
    axes.set_ylim(bottom=0)
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]  # matplotlib types it not yet
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]  # as above, not yet


def _bars(axes: Axes, title: str, names: Sequence[str], values: Sequence[float]) -> None:
    axes.set_title(title)
    if not names:
        _nothing(axes)
        return
    places = range(len(names))
    bars = axes.barh(places, values)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.bar_label(bars, labels=[f"{value:,.0f}" for value in values], padding=3)
    axes.margins(x=0.15)
    axes.locator_params(axis="x", nbins=5)


def _nothing(axes: Axes) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, "nothing yet", ha="center", va="center", transform=axes.transAxes)


def _labels(found: Stats) -> Iterable[str]:
    """The texts of the chart that are not its own."""
    yield from (_type(one.type) for one in found.figures.types)
    yield from (_place(one.path) for one in found.figures.worktrees)


def _type(name: str | None) -> str:
    return one_line(name or "none", _LONGEST)


def _place(path: str) -> str:
    """The end of a path, which tells worktrees apart."""
    shown = one_line(path[-_LONGEST:], 8 * _LONGEST)  # one character that nobody sees is told in eight
    return shown if len(path) <= _LONGEST >= len(shown) else "…" + shown[1 - _LONGEST :]


def _fonts(text: str) -> tuple[list[str], str]:
    """The fonts for a text, the usual one first, and the characters that none of them has."""
    from matplotlib.font_manager import fontManager, get_font

    usual = "DejaVu Sans"
    names: dict[str, Any] = {usual: fontManager.findfont(usual)}
    lacking = set(text) - set(" \t\n") - _characters(get_font(names[usual]))
    installed = sorted((font.name, font.fname) for font in fontManager.ttflist)
    for beginning in _WIDE_SCRIPTS if lacking else ():
        for name, file in installed:
            if lacking and name.startswith(beginning) and name not in names:
                had = lacking & _characters(get_font(file))
                if had:
                    names[name] = file
                    lacking -= had
    return list(names), "".join(sorted(lacking))


def _characters(font: Any) -> set[str]:
    return set(map(chr, font.get_charmap()))

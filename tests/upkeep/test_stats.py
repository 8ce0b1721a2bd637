"""Figures are those of the rows; a chart is drawn without a display, in any script, and replaces nothing unasked."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.core.changes import Change, ChangeSet, Create, Retire
from memstore.core.model import NOTES, SHELF, Origin, Provenance
from memstore.errors import InputRefused
from memstore.store import stats as rows
from memstore.store.stats import DAY, Day, Figures, OfType, Worktree
from memstore.store.store import Store
from memstore.upkeep import plotting
from memstore.upkeep.stats import Month, Sizes, Stats, months
from tests.store.stores import at, open_store

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store")
    yield opened
    opened.close()


def do(store: Store, day: int, worktree: str | None, *changes: Change, origin: Origin = "agent", kind: str = "write"):
    when = day * DAY + DAY // 2
    by = Provenance(origin, "tester", None, worktree)
    store.apply(ChangeSet(f"{day}{worktree}{len(changes)}{kind}", kind, when, by, changes))


def create(name: str, type: str | None = None) -> Create:
    header = "" if type is None else f"type: {type}\n"
    return Create(name, SHELF, f"{name}.md", f"---\nname: {name}\n{header}---\n".encode())


def figures(store: Store, since: int = 0, zone: int = 0) -> Figures:
    with store.view() as connection:
        return rows.figures(connection, since, zone)


def fill(store: Store) -> None:
    do(store, 10, "/srv/a", create("one", "feedback"), create("two", "feedback"), create("three"))
    do(store, 10, "/srv/b", create("four", "user"), origin="person")
    two = at(store, "two")
    do(store, 45, "/srv/a", Retire(two.id, two.token))
    do(store, 50, None, Create("n", NOTES, "n.md", b"notes", listing="unlisted"), kind="notes")


def test_figures_are_those_of_the_rows_and_notes_of_sessions_are_not_counted(store: Store):
    fill(store)
    found = figures(store)
    assert (found.memories, found.retired, found.pinned) == (3, 1, 0)
    assert [(one.type, one.memories) for one in found.types] == [(None, 1), ("feedback", 1), ("user", 1)]
    assert sum(one.size for one in found.types) == sum(
        len(at(store, n).state.content) for n in ("one", "three", "four")
    )
    assert found.days == (Day(10, 4, 0, 4), Day(45, 0, 1, 3))
    assert [(one.path, one.operations, one.versions) for one in found.worktrees] == [("/srv/a", 2, 4), ("/srv/b", 1, 1)]
    assert (found.kinds, found.origins) == ((("write", 3),), (("agent", 2), ("person", 1)))
    assert months(found) == [Month("1970-01", 4, 0, 4), Month("1970-02", 0, 1, 3)]


def test_since_counts_what_happened_from_then_on(store: Store):
    fill(store)
    found = figures(store, since=40 * DAY)
    assert found.memories == 3
    assert found.days == (Day(45, 0, 1, 3),)
    assert [(one.path, one.operations) for one in found.worktrees] == [("/srv/a", 1)]


def test_a_day_is_one_of_the_persons_place(store: Store):
    fill(store)
    assert [day.number for day in figures(store, zone=13 * 60).days] == [11, 46]


def test_an_empty_store_has_figures_and_a_chart(store: Store):
    found = figures(store)
    assert (found.memories, found.days, found.worktrees) == (0, (), ())
    content, _ = plotting.drawn(Stats(0, found, Sizes(0, 0, 0, 0)), "png")
    assert content.startswith(PNG)


def some(worktree: str, type: str = "user") -> Stats:
    days = (Day(20_000, 5, 0, 5), Day(20_100, 2, 1, 6))
    figures = Figures(
        1, 0, (OfType(type, 6, 60),), (("private", 6),), days, (Worktree(worktree, 3, 4, 0),), (), (), 0, 0, ()
    )  # fmt: skip
    return Stats(0, figures, Sizes(10_000, 0, 0, 300))


@pytest.fixture
def _strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("_strict")
@pytest.mark.parametrize("suffix", plotting.FORMATS)
@pytest.mark.parametrize("worktree", ["/a" * 50 + "/$x$/<svg>&/店舗/한국어", "/srv/\\frac{1}{0}\x1b[31m\u202e\x00"])
def test_names_in_any_script_and_hostile_ones_are_drawn_without_a_word(suffix: str, worktree: str):
    content, lacking = plotting.drawn(some(worktree, worktree), suffix)
    if suffix == "png":
        assert content.startswith(PNG)
    else:
        text = "".join(ET.fromstring(content).itertext())
        assert ("店舗" in text) == ("店舗" in worktree)
        assert ("$x$" in text) == ("$x$" in worktree)
    assert set(lacking) <= set(worktree)


def test_a_font_of_the_system_serves_where_the_usual_one_lacks_letters(monkeypatch: pytest.MonkeyPatch):
    import matplotlib.font_manager as manager

    usual = plotting._characters(manager.get_font(manager.findfont("DejaVu Sans")))
    other = next(font for font in manager.fontManager.ttflist if font.name == "STIXGeneral" and font.style == "normal")
    only = sorted(plotting._characters(manager.get_font(other.fname)) - usual)[-1]
    monkeypatch.setattr(plotting, "_WIDE_SCRIPTS", ())
    assert plotting._fonts(f"a{only}") == (["DejaVu Sans"], only)
    monkeypatch.setattr(plotting, "_WIDE_SCRIPTS", ("STIXGeneral",))
    assert plotting._fonts(f"a{only}") == (["DejaVu Sans", "STIXGeneral"], "")


def test_settings_of_matplotlib_that_lie_about_count_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import matplotlib

    monkeypatch.setitem(matplotlib.rcParams, "text.usetex", True)  # as a file would set it
    assert plotting.drawn(some("/srv/a"), "png")[0].startswith(PNG)


def test_a_chart_replaces_nothing_unasked(tmp_path: Path):
    target = tmp_path / "chart.SVG"
    target.write_text("mine")
    with pytest.raises(InputRefused, match="is there already"):
        plotting.plot(some("/srv/a"), str(target))
    assert target.read_text() == "mine"
    assert plotting.plot(some("/srv/a"), str(target), force=True).size == target.stat().st_size
    with pytest.raises(InputRefused, match="neither"):
        plotting.plot(some("/srv/a"), str(tmp_path / "chart.pdf"))
    with pytest.raises(InputRefused, match="cannot be written"):
        plotting.plot(some("/srv/a"), str(tmp_path / "absent" / "chart.png"))
    assert [path.name for path in tmp_path.iterdir()] == ["chart.SVG"]

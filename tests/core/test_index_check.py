"""What is wrong with an index: pointers to nothing, memories without a line, and what is neither."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memstore.core.index import Line, take_in
from memstore.core.index_check import Faults, examine, made_due, taken_out
from memstore.core.index_values import Entry


def entry(path: str, listing: str = "listed") -> Entry:
    return Entry(path, path, path, "d", "project", False, False, False, 1, listing)  # type: ignore[arg-type]  # a test


def rows(text: str, *paths: str) -> list[Line]:
    """The lines of an index that was taken over while these memories were there."""
    added = take_in(text, lambda path: path if path in paths else None)
    return [Line(str(n), one.text, one.kind, one.memory, one.rank, one.hook_by, 1, 1) for n, one in enumerate(added)]


def look(text: str, *paths: str, others: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """The targets that are not there, and the memories without a line."""
    found = examine(rows(text, *paths), {path: entry(path) for path in paths}, others)
    return [one.target for one in found.dangling], [one.path for one in found.orphans]


def test_a_pointer_to_nothing_and_a_memory_without_a_line_are_found():
    assert look("- [Gone](gone.md) - words\n- [A](a.md)\n", "a.md", "b.md") == (["gone.md"], ["b.md"])
    assert look("", "a.md") == ([], ["a.md"])
    assert look("") == ([], [])


def test_links_in_every_shape_count_as_present():
    text = "- [S](spaced%20name.md)\n- [P](<paren(1).md>)\n1. **[N](./n.md)**\n"
    assert look(text, "spaced name.md", "paren(1).md", "n.md") == ([], [])


def test_what_is_no_pointer_is_left_alone():
    text = (
        "- [Web](https://example.org/x.md)\n\n```\n- [Title](file.md)\n```\n<!--\n- [C](c.md)\n-->\n"
        "See [prose](p.md) there.\n\n    - [Code](code.md)\n"
    )
    assert look(text) == ([], [])


def test_a_memory_that_prose_links_to_is_no_orphan():
    assert look("See [it](a.md) first.\n", "a.md") == ([], [])


def test_names_are_compared_as_file_systems_do():
    assert look("- [A](A.MD)\n- [B](caf\u00e9.md)\n", "a.md", "cafe\u0301.md") == ([], [])


def test_other_files_and_the_clients_own_directories_are_something_to_point_to():
    text = "- [A](link.md)\n- [T](team/x.md)\n- [L](logs/2026/01/2026-01-01.md)\n"
    assert look(text, others=("link.md",)) == ([], [])
    assert look(text) == (["link.md"], [])


def test_a_line_of_ours_without_its_memory_is_found_and_an_unlisted_memory_is_none():
    mine = Line("1", "- [A](a.md)", "auto", "a.md", "1", "derived", 1, 1)
    found = examine([mine], {})
    assert [(one.line, one.by_hand) for one in found.dangling] == [(mine, False)]
    assert examine([mine], {"a.md": entry("a.md")}) == Faults((), ())
    assert examine([], {"a.md": entry("a.md", "unlisted")}) == Faults((), ())


def test_code_and_lists_around_lines_of_ours_are_read_as_they_stand():
    """A line of ours is not read itself, but it is a list item to what stands below it."""
    mine = Line("1", "- [A](a.md)", "auto", "a.md", "1", "derived", 1, 1)
    below = Line("2", "    - [Gone](gone.md)", "free", None, "2", "hand", 1, 1)
    assert [one.target for one in examine([mine, below], {"a.md": entry("a.md")}).dangling] == ["gone.md"]
    assert examine([below], {}).dangling == ()


_LINES = st.sampled_from(
    ["- [A](a.md)", "- [B](b.md) - hook", "- [Gone](gone.md)", "# Head", "", "```", "<!--", "-->", "    - [I](i.md)",
     "prose [a](a.md)", "- [G](<gone 2.md>)", "| [t](t.md) |"]
)  # fmt: skip


@given(st.lists(_LINES, max_size=12))
def test_only_what_is_found_is_taken_out_and_nothing_dangles_then(lines: list[str]):
    known = rows("\n".join(lines), "a.md", "b.md")
    entries = {path: entry(path) for path in ("a.md", "b.md")}
    found = examine(known, entries)
    gone = {change.id for change in taken_out(found)}
    assert gone == {one.line.id for one in found.dangling} and not any(change.live for change in taken_out(found))
    left = [line for line in known if line.id not in gone]
    assert [line.text for line in known if line.id in gone and not line.text.strip().startswith("-")] == []
    # Taking a line out of a list can make code of what was indented below it, never a pointer of what was none.
    assert {one.target for one in examine(left, entries).dangling} == set()
    assert {change.memory for change in made_due(found)} == {one.id for one in found.orphans}

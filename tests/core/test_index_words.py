"""Words that look like ours, or like the client's, and are somebody's all the same."""

from __future__ import annotations

import pytest

from memstore.core.index import base_of, merge, take_in
from memstore.core.index_lines import lines_left_out, parse, without_ours
from memstore.core.index_render import more_line
from memstore.core.index_values import AddLine, Line


def rows_of(text: str, kind: str = "pointer", hook_by: str = "hand") -> list[Line]:
    """The rows that a text is taken in as, each pointer as `kind` and `hook_by` say."""
    rows = []
    for n, line in enumerate(take_in(text, lambda path: path)):
        assert isinstance(line, AddLine)
        pointer = line.memory is not None
        assert kind in ("pointer", "auto") and hook_by in ("hand", "derived")
        rows.append(
            Line(
                f"r{n}",
                line.text,
                ("auto" if kind == "auto" else "pointer") if pointer else line.kind,
                line.memory,
                line.rank,
                ("derived" if hook_by == "derived" else "hand") if pointer else line.hook_by,
                1,
                n,
            )
        )
    return rows


@pytest.mark.parametrize(
    "line",
    [
        "- … 3 more memories: find them with `memstore search` and ask the team first",
        "- … 3 more memories: see the memstore wiki",
        "- … 3 more lines kept in the store: see `memstore show MEMORY.md` of the other project",
        "- … 3 more lines kept in the store: see `memstore show notes.md`",
        "> WARNING: docs/MEMORY.md is 3 weeks old, check before you trust it",
        "> WARNING: MEMORY.md is 2 people's work",
    ],
)
def test_index_rule_04_words_that_somebody_put_on_such_a_line_are_theirs(line: str) -> None:
    assert without_ours(parse(line)) == [0]
    assert [added.text for added in take_in(f"# Notes\n\n{line}\n", lambda path: None)][:3] == ["# Notes", "", line]


@pytest.mark.parametrize("number", ["1", "43", "12,345", "9" * 5_000])
@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("- … N more memories: find them with `memstore search`", False),
        ("- … N more lines kept in the store: see `memstore show MEMORY.md`", True),
        ("- … N more memories and N more lines kept in the store: see `memstore show MEMORY.md`", True),
        ("- … N more lines kept in the store: find them with `memstore search`", True),  # as it was worded before
        ("* ... N more memories and N more lines kept in the store: find them with `memstore search`", True),
    ],
)
def test_index_rule_04_our_count_is_never_absorbed_whatever_number_and_wording_it_has(
    line: str, lines: bool, number: str
) -> None:
    line = line.replace("N", number)
    assert without_ours(parse(f"a\n{line}\nb")) == [0, 2]
    assert lines_left_out(f"a\n{line}\n") == (int(number.replace(",", "")[:9]) if lines else 0)


@pytest.mark.parametrize("memories", [0, 1, 3, 1_234])
@pytest.mark.parametrize("lines", [0, 1, 12, 1_234])
def test_index_rule_04_what_we_write_is_known_again(memories: int, lines: int) -> None:
    assert without_ours(parse(more_line(memories, lines))) == []
    assert lines_left_out(more_line(memories, lines)) == lines
    assert ("memstore show MEMORY.md" in more_line(memories, lines)) == (lines > 0)


def test_an_index_without_a_count_leaves_no_line_out() -> None:
    assert lines_left_out("- … 3 more lines, by hand\n- [a](a.md)\n") == 0


def test_index_rule_03_one_hook_written_by_hand_is_an_edit_however_short_the_index_is() -> None:
    base = "- [x](x.md) — derived words\n"
    rows = rows_of(base, "auto", "derived")
    edit = merge(
        base_of(base, base, [row.id for row in rows]),
        rows,
        "- [x](x.md) — my own words\n",
        lambda path: path,
        topics={"x.md": 1},
    )
    assert not edit.restores
    assert any("my own words" in getattr(change, "text", "") for change in edit.changes)


def test_index_rule_03_a_list_that_the_client_worded_anew_is_no_edit() -> None:
    names = ["a", "b", "c", "d"]
    base = "".join(f"- [{name}]({name}.md) — by hand {name}\n" for name in names)
    rows = rows_of(base)
    made_up = "".join(f"- [{name}]({name}.md) — whatever the file says\n" for name in names)
    topics: dict[str, int | None] = {f"{name}.md": 10 - n for n, name in enumerate(names)}
    edit = merge(base_of(base, base, [row.id for row in rows]), rows, made_up, lambda path: path, topics=topics)
    assert edit.restores


@pytest.mark.parametrize("title", ["x", "X", " ", "x y", "[x]"])
def test_a_title_that_looks_like_a_ticked_box_is_a_title(title: str) -> None:
    shown = title.replace("[", r"\[").replace("]", r"\]")
    piece = parse(f"- [{shown}](x.md) — about it")[0]
    assert (piece.kind, piece.target, piece.title) == ("pointer", "x.md", shown)


def test_an_entity_in_a_link_is_the_character_that_it_stands_for() -> None:
    assert parse("- [IJ](i&amp;j.md) — both")[0].target == "i&j.md"
    assert parse("- [R](r&d.md)")[0].target == "r&d.md"

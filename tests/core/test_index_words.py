"""Words that look like ours, or like the client's, and are somebody's all the same."""

from __future__ import annotations

import pytest

from memstore.core.index import base_of, merge, take_in
from memstore.core.index_lines import parse, without_ours
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
        "> WARNING: docs/MEMORY.md is 3 weeks old, check before you trust it",
        "> WARNING: MEMORY.md is 2 people's work",
    ],
)
def test_index_rule_04_words_that_somebody_put_on_such_a_line_are_theirs(line: str) -> None:
    assert without_ours(parse(line)) == [0]
    assert [added.text for added in take_in(f"# Notes\n\n{line}\n", lambda path: None)][:3] == ["# Notes", "", line]


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

"""What holds for the index whatever the texts are."""

from __future__ import annotations

from urllib.parse import quote, unquote

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memstore.core.index import (
    END,
    Line,
    base_of,
    due_lines,
    loaded_view,
    measure,
    merge,
    parse,
    pointer_line,
    rank_between,
    ranks_after,
    refresh,
    render,
)
from memstore.core.index_lines import Limits, without_ours
from memstore.core.index_pointer import LINE_LENGTH
from memstore.core.index_values import ranks_between
from tests.core.index_samples import applied, base, entry, resolve, rows_of, text_of

SAMPLES = (
    *("", "", "# Notes", "plain", "other words", "```", "<!--", "-->", "<!-- x -->", "---", "| a | b |"),
    *("    indented", "- item", "- [A](a.md) — about a", "- [A](a.md)", "* [B](<b.md>) - hook"),
    *("- [C](c.md): c", "- [Z](z.md) — waits", "see [D](d.md)", "- [W](https://x.invalid/a.md)"),
    *("- [E](e.md) — e\r", "plain\r", "\r", "\ufeff# Notes"),
)
LINES = st.one_of(
    st.sampled_from(SAMPLES),
    st.builds("- [{}](a.md) — {}".format, st.sampled_from("xyz"), st.sampled_from("123")),
    st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=6),
)
TEXTS = st.lists(LINES, max_size=14).map("\n".join)


def _spoken(text: str) -> bool:
    """A text that is an edit: not blank, and without lines that are never absorbed."""
    return bool(text.replace("\ufeff", "").strip()) and len(without_ours(parse(text))) == len(parse(text))


EDITS = TEXTS.filter(_spoken)


@given(TEXTS.filter(lambda text: len(without_ours(parse(text))) == len(parse(text))))
def test_taking_over_and_rendering_gives_the_same_bytes(text: str) -> None:
    rows = rows_of(text)
    assert render(rows, {}).text == text
    assert [row for row, _ in render(rows, {}).lines] == [row.id for row in rows]


@given(TEXTS, EDITS)
def test_an_edit_of_what_the_store_has_gives_the_edit(start: str, text: str) -> None:
    rows = rows_of(start)
    for seen in (base(rows), base_of(start)):
        edit = merge(seen, rows, text, resolve)
        assert text_of(applied(rows, edit.changes)) == text
        assert not edit.conflicts and not edit.kept


@given(TEXTS, EDITS, EDITS)
def test_an_edit_that_changed_nothing_gives_what_the_store_has(start: str, now: str, again: str) -> None:
    before = rows_of(start)
    rows = applied(before, merge(base(before), before, now, resolve).changes)
    if start.replace("\ufeff", "").strip():
        assert text_of(applied(rows, merge(base(before), rows, start, resolve).changes, op=3)) == now
    edit = merge(base(rows), rows, again, resolve)
    assert text_of(applied(rows, edit.changes, op=4)) == again


@given(TEXTS, EDITS)
def test_the_same_edit_absorbed_twice_is_absorbed_once(start: str, text: str) -> None:
    before = rows_of(start)
    rows = applied(before, merge(base(before), before, text, resolve).changes)
    again = merge(base(before), rows, text, resolve)
    assert text_of(applied(rows, again.changes, op=3)) == text


@given(EDITS, EDITS, EDITS)
def test_no_line_comes_from_thin_air_and_none_is_lost_that_nobody_took_out(start: str, ours: str, theirs: str) -> None:
    before = rows_of(start)
    rows = applied(before, merge(base(before), before, ours, resolve).changes)
    edit = merge(base(before), rows, theirs, resolve)
    after = [piece.bare for piece in parse(text_of(applied(rows, edit.changes, op=3)))]
    texts = [[piece.bare for piece in parse(text)] for text in (start, ours, theirs)]
    pointers = {piece.bare for text in (start, ours, theirs) for piece in parse(text) if piece.target}
    free = [line for line in after if line and line not in pointers and not parse(line)[0].target]
    assert set(free) <= {line for text in texts for line in text}
    for line in texts[0]:
        if line and line not in pointers and line in texts[1] and line in texts[2]:
            assert line in after
    for side in (1, 2):
        for line in set(texts[side]) - set(texts[0]) - pointers:
            assert not line or line in after


@given(TEXTS, st.integers(0, 12), st.integers(4, 20), st.integers(150, 500))
def test_rendering_keeps_the_limits_and_comes_to_rest(text: str, autos: int, lines: int, units: int) -> None:
    limits = Limits(lines, units, lines - 2, units - 20)
    names = [f"t{n}" for n in range(autos)]
    entries = {f"m-{name}": entry(name, changed=n, listing="due") for n, name in enumerate(names)}
    start = rows_of(text)
    rows = applied(start, due_lines(start, entries))
    made = render(rows, entries, limits)
    size = measure(made.text)
    assert size[0] <= limits.lines and size[1] <= limits.units and made.units == size[1]
    assert len(made.lines) == len(made.text.split("\n")) or not rows
    assert made == render(rows[::-1], entries, limits)
    shown = base_of(made.text, made.text, [row for row, _ in made.lines])
    assert merge(shown, rows, made.text, resolve).changes == ()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=60))
def test_ranks_stay_in_order_wherever_lines_are_put(places: list[tuple[int, int]]) -> None:
    ranks = ranks_after(None, 3)
    for place, count in places:
        at = place % (len(ranks) + 1)
        low = ranks[at - 1] if at else None
        high = ranks[at] if at < len(ranks) else END
        ranks[at:at] = ranks_between(low, high, count)
        assert ranks == sorted(set(ranks)) and all(not rank.endswith("0") for rank in ranks)


def test_appended_ranks_do_not_grow_and_one_place_takes_any_number() -> None:
    ranks = ranks_after(None, 5_000)
    assert ranks == sorted(set(ranks)) and max(map(len, ranks)) <= 8
    low, high = ranks[0], ranks[1]
    for n in range(2_000):
        middle = rank_between(low, high)
        assert low < middle < high
        low, high = (middle, high) if n % 3 else (low, middle)
    for _ in range(500):
        before = rank_between(None, ranks[0])
        assert before < ranks[0]
        ranks[0] = before
    full = ranks_after("ffffffff", 3)
    assert ["ffffffff", *full] == sorted({"ffffffff", *full}) and full[-1] < END


MARKS = ("[", "](", ")", "\\", "`", "<!--", "-->", "![", "@", "@~/x", "<", "a", "支", "\x1b[31m")
UNSEEN = tuple("\u200b\u202e\U000e0041\ufe0f\u200d\u2028\x85\ufeff\U0001f600")
SAID = [*MARKS, *UNSEEN, " ", "\n", "- [T](e.md)", "… 4 more memories memstore"]
WORDS = st.text(max_size=80) | st.lists(st.sampled_from(SAID), max_size=40).map("".join)
PATHS = st.text(st.characters(exclude_characters="/\0\n\\", codec="utf-8"), min_size=1, max_size=20)


@given(WORDS, WORDS, PATHS, st.booleans())
def test_a_line_of_ours_is_one_line_with_one_link_whatever_it_says(
    title: str, description: str, stem: str, nested: bool
) -> None:
    path = ("sub dir/" if nested else "") + stem + ".md"
    if stem in (".", "..") or path.casefold() == "memory.md":
        return
    line = pointer_line(title, path, description)
    pieces = parse(line)
    assert [piece.target for piece in pieces] == [path] and pieces[0].mentions == (path,)
    assert without_ours(pieces) == [0] and loaded_view(line + "\n") == line
    assert "<!--" not in line and not any(word.startswith("@") for word in line.split(" "))
    assert not any(char in line for char in "\n\r\u200b\u202e\u2028\x85\x1b\U000e0041\ufeff")
    assert len(line) <= max(LINE_LENGTH, 70 + 8 + 9 * len(path) + 43)
    assert pointer_line(title, path, description) == line


@given(WORDS, WORDS, PATHS)
def test_another_markdown_reader_finds_the_same_one_link(title: str, description: str, stem: str) -> None:
    (inline,) = [
        token for token in MarkdownIt().parse(pointer_line(title, stem + ".md", description)) if token.children
    ]
    tokens = inline.children or []
    assert [unquote(str(t.attrs["href"])) for t in tokens if t.type == "link_open"] == [unquote(quote(stem)) + ".md"]
    assert not [token for token in tokens if token.type in ("image", "html_inline", "softbreak", "hardbreak")]


@given(WORDS, WORDS)
def test_refreshing_twice_is_refreshing_once(title: str, description: str) -> None:
    entries = {"m-a": entry("a", title=title, description=description, listing="due")}
    rows = applied([], due_lines([], entries))
    assert refresh(rows, entries) == []
    hand = [Line("r", "- [Mine](a.md)", "pointer", "m-a", "1", "derived", 1, 1)]
    (row,) = applied(hand, refresh(hand, entries))
    assert refresh([row], entries) == [] and parse(row.text)[0].target == "a.md"


@given(st.text())
def test_reading_never_fails_and_loses_no_character(text: str) -> None:
    assert "\n".join(piece.text for piece in parse(text)) == text
    for piece in parse(text):
        if piece.target is not None:
            assert piece.bare == f"{piece.prefix}[{piece.title}]{piece.dest}{piece.gap}{piece.hook}"

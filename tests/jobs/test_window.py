"""What one run looks at: the beginning of what was said, framed so that no text leaves its message."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.claude.entries import Entry, Kind
from memstore.jobs.window import Window, window


def entry(text: str, kind: Kind = "person", *, line: int = 1, at: str = "2026-03-02T10:00:00.000Z") -> Entry:
    digest = blake2b(f"{line} {kind} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return Entry(f"u{line}", None, kind, text, at, "s", "main", "/", "", line, line * 100, digest)


def talk(*texts: str) -> list[Entry]:
    return [entry(text, line=number) for number, text in enumerate(texts, 1)]


def test_each_message_says_who_said_it_and_when():
    shown = window([entry("use bun"), entry("Done.", "assistant", line=2), entry("ok\n12 passed", "tool", line=3)], ())
    assert shown.text == (
        "[1] Monday 2026-03-02 10:00 the person:\n| use bun\n"
        "[2] Monday 2026-03-02 10:00 the agent:\n| Done.\n"
        "[3] Monday 2026-03-02 10:00 a tool's output, nobody's wish:\n| ok\n| 12 passed"
    )
    assert (shown.more, shown.end) == (False, 300)


@pytest.mark.parametrize("kind", ["machine", "summary", "subagent", "boundary"])
def test_what_nobody_said_is_not_shown_but_belongs_to_the_window(kind: Kind):
    shown = window([entry("never commit", kind), entry("hello there", line=2)], ())
    assert "never commit" not in shown.text and len(shown.entries) == 2


def test_what_has_a_known_outcome_is_not_shown_again():
    first, second = talk("an old fact", "a new fact")
    shown = window([first, second], {first.digest})
    assert "an old fact" not in shown.text and "| a new fact" in shown.text and shown.end == 200


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_no_text_can_look_like_the_beginning_of_another_message(texts: list[str]):
    shown = window(talk(*texts), ()).text
    heads = [line for line in shown.split("\n") if line and not line.startswith("| ")]
    assert len(heads) == sum(bool(text.strip()) for text in texts)
    assert all(head.startswith("[") and head.endswith("the person:") for head in heads)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(1, 400))
def test_windows_after_each_other_show_everything_once(sizes: list[int], most: int):
    left = talk(*(f"{number} " + "x" * size for number, size in enumerate(sizes)))
    seen: list[Entry] = []
    for _ in range(len(sizes)):
        shown = window(left, (), most)
        assert shown.entries and shown.end == shown.entries[-1].end
        seen += shown.entries
        left = left[len(shown.entries) :]
        assert shown.more == bool(left)
        if not left:
            break
    assert [one.text for one in seen] == [one.text for one in talk(*(f"{n} " + "x" * s for n, s in enumerate(sizes)))]


def test_entries_of_one_line_are_never_parted():
    pair = [entry("x" * 300, "tool", line=1), entry("and that is wrong", line=1)]
    shown = window([*pair, entry("more", line=2)], (), 100)
    assert shown.entries == tuple(pair) and shown.more


def test_a_line_that_stands_there_twice_is_shown_once():
    first = entry("a fact")
    shown = window([first, entry("another", line=2), first], ())
    assert [one.text for one in shown.shown] == ["a fact", "another"] and len(shown.entries) == 3


def test_a_window_shows_something_even_if_its_first_line_alone_is_too_long():
    link = entry("a link of the chain", "machine")
    shown = window([link, entry("x" * 300, line=2), entry("more", line=3)], (), 100)
    assert [one.line for one in shown.shown] == [2] and len(shown.entries) == 2 and shown.more


def test_a_long_message_keeps_its_beginning_and_its_end():
    halves = "a" * 50_000 + "b" * 50_000
    long = window([*talk(halves, "a short one"), entry("x" * 20_000, "tool", line=3)], ())
    assert long.shortened == 1
    shown = window(talk(halves), ()).text
    assert "40000 characters are left out" in shown and shown.count("a" * 40_000) == 1
    assert shown.endswith("b" * 20_000)


def test_a_window_is_measured_in_bytes_as_tokens_of_other_scripts_are_short():
    chinese = [entry("以后请一直用" * 100, line=line) for line in range(1, 9)]
    assert len(window(chinese, (), 6_000).shown) == 3


def test_of_a_message_no_more_than_a_window_is_shown():
    small = window([entry("x" * 900)], (), 500)
    assert small.shortened == 1 and "400 characters are left out" in small.text


def test_a_moment_that_cannot_be_read_is_left_out():
    assert window([entry("hi there", at="yesterday")], ()).text.startswith("[1] the person:")


def test_nothing_is_an_empty_window():
    assert window([], ()) == Window((), (), "", False, 0)

"""Lines of old texts that are not in new ones, and what became of them."""

from __future__ import annotations

import pytest

from memstore.core.accounting import Account, fresh, key, keys_of, lines_of, missing, says, settled
from memstore.core.frontmatter import compose


def text(*lines: str, description: str = "d d d") -> bytes:
    return compose("x", description, "project", "\n".join(lines))


def reworded(line: str, now: str, reason: str = "shorter") -> Account:
    return Account(line, "reworded", reason, now)


def dropped(line: str, reason: str = "over") -> Account:
    return Account(line, "dropped", reason)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("- use bun", "use bun"),
        ("  * use   bun\t", "use bun"),
        ("## use bun", "1. use bun"),
        ("> - use bun\r", "use bun"),
        ("12) use bun", "use bun"),
        ("cafe\u0301", "caf\u00e9"),
        ("- 统一使用 bun", "统一使用 bun"),
    ],
)
def test_marks_and_white_space_make_no_other_line(one: str, other: str):
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use bun", "use Bun"),
        ("use bun", "never use bun"),
        ("-1 is an error", "1 is an error"),
        ("#1 is first", "1 is first"),
        ("2026-03-01 freeze", "03-01 freeze"),
        ("[x] done", "[ ] done"),
        ("使用 bun", "不使用 bun"),
    ],
)
def test_other_words_make_another_line(one: str, other: str):
    assert key(one) != key(other)


def test_the_lines_of_a_text_are_its_description_fields_and_body_but_no_name_type_or_stamp():
    content = (
        b"---\nname: n\ndescription: where it is\ntags:\n  - a\n  - b\nvalid: 2026-05-01\n"
        b"metadata:\n  node_type: memory\n  type: project\n  originSessionId: s\n  modified: now\n---\n"
        b"\n# Heading\n\n---\n- one\n- one\n```\n\xe4\xb8\x80\n"
    )
    assert lines_of(content) == [
        "where it is", "valid: 2026-05-01", "tags: a", "tags: b", "# Heading", "- one", "一",
    ]  # fmt: skip


def test_a_text_without_a_header_has_lines_too():
    assert lines_of(b"one\r\n\r\ntwo") == ["one", "two"]


def test_missing_is_what_is_in_none_of_the_new_texts():
    old = text("one", "two", "three")
    assert missing(old, [old]) == []
    assert missing(old, [text("- two"), text("three", description="one")]) == []
    assert missing(old, [text("two", description="other words")]) == ["d d d", "one", "three"]
    assert missing(old, []) == ["d d d", "one", "two", "three"]


def test_fresh_is_what_is_in_no_old_text_and_in_no_account():
    new = text("one", "two", "first words", "second words")
    assert fresh(new, [text("one")]) == ["two", "first words", "second words"]
    assert fresh(new, [text("one"), text("two")], [reworded("x", "first words\nsecond words")]) == []


def test_a_line_that_is_missing_has_its_account_or_is_named():
    new = [text("use bun everywhere", "kept")]
    found, left = settled(
        ["please use bun", "it is over", "forgotten"],
        [reworded("- please use bun", "use bun"), dropped("it is over")],
        new,
    )
    assert found == [reworded("please use bun", "use bun"), dropped("it is over")]
    assert left == ["forgotten"]


@pytest.mark.parametrize("now", ["use pnpm", "u", "the", "", "use bun\nand more"])
def test_words_that_are_not_in_the_new_text_are_no_account(now: str):
    assert settled(["please use bun"], [reworded("please use bun", now)], [text("use bun everywhere, the end")]) == (
        [], ["please use bun"],
    )  # fmt: skip


def test_what_was_reworded_twice_is_told_with_the_last_words():
    accounts = [reworded("one", "two", "a"), reworded("two", "three", "b")]
    assert settled(["one"], accounts, [text("three")]) == ([reworded("one", "three", "a; b")], [])
    assert settled(["one"], [accounts[0], dropped("two", "b")], [text()]) == ([dropped("one", "a; b")], [])


def test_accounts_that_lead_in_a_circle_are_none():
    accounts = [reworded("one", "two"), reworded("two", "one")]
    assert settled(["one"], accounts, [text("three")]) == ([], ["one"])


def test_what_a_text_says_is_whole_lines_of_it_or_enough_words_in_one():
    there = keys_of(text("the port is 7443", "no", "端口是七四四三，别改"))
    assert says("no", there) and says("port is", there) and says("端口是七四四三", there)
    assert not says("o", there) and not says("the", there) and not says("- \n", there)

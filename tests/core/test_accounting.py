"""Lines of old texts that are not in new ones, and what became of them."""

from __future__ import annotations

import pytest

from memstore.core.accounting import (
    Account,
    fresh,
    keeps_sense,
    key,
    keys_of,
    lines_of,
    misplaced,
    missing,
    says,
    settled,
    turned,
)
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
    old = [text("one"), text("two", "the words that came first", "words and seconds")]
    accounts = [reworded("the words that came first", "first words"), reworded("words and seconds", "second words")]
    assert fresh(new, old, accounts) == []
    assert fresh(new, old, accounts[:1]) == ["second words"]


def test_what_rewords_nothing_that_was_there_and_is_gone_is_fresh():
    old = [text("use pytest", "push to a branch")]
    assert fresh(text("push to main"), old, [reworded("no such line", "push to main")]) == ["push to main"]
    assert fresh(text("use pytest", "push to main"), old, [reworded("use pytest", "push to main")]) == ["push to main"]
    assert fresh(text("fetch evil code"), old, [reworded("use pytest", "fetch evil code")]) == ["fetch evil code"]
    assert fresh(text("use pytest now"), old, [reworded("use pytest", "use pytest now")]) == []


@pytest.mark.parametrize(
    ("line", "now", "more"),
    [
        ("push to feature branches only", "push only to main and feature branches", True),
        ("ask before each deploy", "each deploy: ask before it", False),
        ("use uv, it is faster", "as it is faster, uv is used from 2026-03-01", False),
        ("统一使用 bun 安装依赖", "依赖统一使用 bun", False),
        ("统一使用 bun 安装依赖", "统一使用 npm 或 bun 安装依赖", True),
    ],
)
def test_a_strict_rewording_brings_no_word_that_says_more(line: str, now: str, more: bool):
    assert fresh(text(now), [text(line)], [reworded(line, now)]) == []
    assert fresh(text(now), [text(line)], [reworded(line, now)], strict=True) == ([now] if more else [])


def test_words_of_words_that_reword_a_line_are_not_fresh():
    accounts = [reworded("the port is 7443", "port 7443"), reworded("port 7443", "7443 port")]
    assert fresh(text("7443 port"), [text("the port is 7443")], accounts) == []


@pytest.mark.parametrize(
    ("line", "now"),
    [
        ("never push to main", "push to main"),
        ("push to main", "do not push to main"),
        ("不要使用 npm", "使用 npm"),
        ("wait 30 seconds", "wait a while"),
        ("wait 30 seconds", "wait 40 seconds"),
        ("the freeze ends on 2026-03-05", "the freeze ends on 2026-03-06"),
        ("answer in German when I write German", "German"),
        ("push to main", "obsolete: push to main"),
        ("push to main", "- push to main"),
    ],
)
def test_a_line_that_lost_its_not_or_a_figure_does_not_keep_its_sense(line: str, now: str):
    assert not keeps_sense(reworded(line, now)) and not keeps_sense(dropped(line))


@pytest.mark.parametrize(
    ("line", "now"),
    [
        ("never push to main", "main: never push to it"),
        ("the freeze ends tomorrow", "the freeze ends on 2026-03-05"),
        ("统一使用 bun 安装依赖", "依赖统一使用 bun"),
        ("wait 30 seconds", "30 s of waiting"),
    ],
)
def test_other_words_may_say_the_same(line: str, now: str):
    assert keeps_sense(reworded(line, now))


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


def test_a_line_of_code_is_another_one_with_another_indent_or_mark():
    code = text("see:", "  ```sh", "  if a:", "    b", "  # c", "  ```", "end")
    assert missing(code, [text("end", "see:", "```sh", "if a:", "  b", "# c", "```")]) == []
    assert missing(code, [text("see:", "```sh", "if a:", "b", "c", "```", "end")]) == ["b", "# c"]
    assert missing(code, [text("see:", "```sh", "```", "if a:", "  b", "# c", "end")]) == ["if a:", "b", "# c"]


def test_what_a_body_says_twice_is_to_be_said_twice():
    assert missing(text("a 1", "b 2", "- a 1"), [text("a 1", "b 2")]) == ["a 1"]
    assert missing(text("a 1", "b 2", "- a 1"), [text("a 1", "b 2"), text("a 1")]) == []
    assert missing(text("a 1"), [text("a 1", "a 1")]) == []


def test_what_is_commented_out_is_not_said():
    assert missing(text("a 1", "b 2"), [text("<!-- old", "a 1", "-->", "b 2")]) == ["a 1"]


def test_a_line_below_another_heading_of_its_text_is_misplaced():
    ports = text("## Prod", "- port 1", "## Staging", "- port 2", "", "Cache:", "- host h")
    assert misplaced(ports, [ports]) == misplaced(ports, [text("port 1", "# All", "port 2", "host h")]) == []
    swapped = text("## Prod", "- port 2", "## Staging", "- port 1", "", "Cache:", "- host h")
    assert misplaced(ports, [swapped]) == ["- port 1", "- port 2"]
    assert misplaced(ports, [text("## Prod", "- port 1", "- host h", "## Staging", "- port 2")]) == ["- host h"]
    assert misplaced(ports, [swapped, ports]) == []


def test_a_line_is_turned_where_its_heading_says_not():
    rules = text("## Do", "a 1", "## Do not", "b 2", "", "Avoid:", "", "- c 3", "", "d 4")
    assert turned(rules, [rules]) == []
    assert turned(rules, [text("d 4", "## Never", "b 2", "## Do", "a 1", "Avoid:", "- c 3")]) == ["d 4"]
    assert turned(rules, [text("## Do not", "a 1", "b 2", "", "Avoid:", "", "- c 3", "- d 4")]) == ["a 1"]


def test_an_address_or_a_long_figure_of_its_own_is_no_rewording():
    old = [text("the api is at https://a.example and port 7443 since then")]
    for now in ("the api is at https://b.example since then", "the api is at port 7444 since then"):
        assert fresh(text(now), old, [reworded("the api is at https://a.example and port 7443 since then", now)]) == [
            now
        ]
    now = "since 2026-03-01 the api is at https://a.example (port 7443)"
    assert fresh(text(now), old, [reworded("the api is at https://a.example and port 7443 since then", now)]) == []

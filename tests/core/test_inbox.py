"""Rules 6 to 11: what sessions did to a file, worked in row by row."""

from __future__ import annotations

from memstore.core.inbox import Row, made_from, next_row, take, unsigned

BASE = b"---\nname: a\ndescription: d\n---\n\none\ntwo\nthree\n"


def text(*lines: str) -> bytes:
    return b"---\nname: a\ndescription: d\n---\n\n" + "".join(f"{line}\n" for line in lines).encode()


def row(kind: str, original: bytes | None, result: bytes, session: str = "s", id: str = "t") -> Row:
    assert kind in ("write", "edit")
    return Row(id, "write" if kind == "write" else "edit", session, original, result)


def test_rule_06_rows_are_taken_in_the_chain_of_their_originals() -> None:
    first = row("edit", BASE, text("one", "two", "three", "four"), id="1")
    second = row("edit", first.result, text("one", "two", "three", "four", "five"), id="2")
    assert next_row([second, first], BASE, {BASE}) is first
    assert next_row([second], BASE, {BASE, first.result}) is second


def test_rule_06_a_row_of_an_unknown_original_comes_after_those_that_chain() -> None:
    stranger = row("write", text("x"), text("y"), id="1")
    known = row("edit", text("one"), text("two"), id="2")
    assert next_row([stranger, known], BASE, {BASE, text("one")}) is known


def test_rule_06_of_two_rows_of_unknown_originals_the_one_that_follows_the_other_comes_later() -> None:
    first = row("write", text("one", "by hand", "and", "more"), text("one", "two", "three", "four"), id="1")
    second = row("write", first.result, text("one", "five"), id="2")
    assert next_row([second, first], BASE, {BASE}) is first


def test_rule_06_rows_that_go_round_in_a_circle_begin_with_what_was_shown() -> None:
    there = row("edit", BASE, text("one"), id="1")
    back = row("edit", text("one"), BASE, id="2")
    assert next_row([back, there], BASE, {BASE}) is there
    assert next_row([back], text("x"), {BASE}) is back


def test_rule_07_an_original_that_nobody_knows_is_absorbed_first_from_the_nearest_known_text() -> None:
    step = unsigned(text("one", "two", "three", "by hand"), text("zero", "one", "two", "three"), {BASE})
    assert step is not None and step.rule == 7
    assert step.content == text("zero", "one", "two", "three", "by hand")


def test_rule_07_a_known_original_brings_nothing_to_absorb() -> None:
    assert unsigned(BASE, BASE, {BASE}) is None
    assert unsigned(None, BASE, {BASE}) is None


def test_rule_07_an_original_over_which_nothing_is_known_to_have_lain_takes_nothing_out() -> None:
    original = text("by hand")
    step = unsigned(original, BASE, ())
    assert step is not None and (step.content, step.other) == (BASE, original)


def test_rule_07_what_a_session_had_seen_and_nobody_knows_is_absorbed_before_its_write() -> None:
    seen = text("one", "two", "three", "by hand")
    read = row("write", text("one", "two", "three", "other"), text("one", "two", "three", "by hand", "mine"))
    step = unsigned(seen, BASE, {BASE}, older=True)
    assert step is not None
    assert take(read, step.content, seen).content == read.result


def test_rule_07_what_a_session_had_seen_takes_nothing_out_that_may_be_younger() -> None:
    head = text("one", "two", "three", "by hand", "younger")
    step = unsigned(text("one", "two", "three", "by hand"), head, {BASE, head}, older=True)
    assert step is not None and step.content == head


def test_rule_08_an_edit_is_merged_from_what_it_found() -> None:
    head = text("one", "two", "three", "from a tool")
    step = take(row("edit", BASE, text("ONE", "two", "three")), head, None)
    assert (step.content, step.other, step.rule) == (text("ONE", "two", "three", "from a tool"), None, 8)


def test_rule_09_a_write_is_merged_from_what_its_session_had_seen() -> None:
    head = text("one", "two", "three", "from another session")
    step = take(row("write", head, text("one", "two", "three", "mine")), head, BASE)
    assert step.rule == 9 and step.other is None
    assert set(step.content.split(b"\n")) == set(head.split(b"\n")) | {b"mine"}


def test_rule_09_lines_that_the_session_had_seen_and_dropped_are_gone() -> None:
    step = take(row("write", BASE, text("one", "three")), BASE, BASE)
    assert step.content == text("one", "three")


def test_rule_10_a_write_by_a_session_that_had_seen_nothing_never_drops_a_line_of_the_head() -> None:
    step = take(row("write", BASE, text("only mine")), BASE, None)
    assert (step.content, step.other, step.rule) == (BASE, text("only mine"), 10)


def test_rule_10_a_write_that_keeps_every_line_is_a_new_version() -> None:
    step = take(row("write", BASE, text("one", "two", "three", "four")), BASE, None)
    assert (step.content, step.other) == (text("one", "two", "three", "four"), None)


def test_rule_10_a_write_where_nothing_stands_makes_the_memory() -> None:
    step = take(row("write", None, BASE), None, None)
    assert (step.content, step.other) == (BASE, None)


def test_rule_11_a_file_that_nobody_signed_was_made_from_the_nearest_text() -> None:
    result = text("one", "two", "three", "four")
    edited = text("one", "two", "four", "by hand")
    assert made_from(edited, BASE, {result}) == result
    assert made_from(text("one", "two", "three", "by hand"), BASE, {result}) == BASE
    assert made_from(result, BASE, {result}) == BASE


def test_eight_sessions_that_write_whole_from_what_they_loaded_lose_no_line() -> None:
    head = BASE
    for n in range(8):
        result = text("one", "two", "three", f"line of {n}")
        step = take(row("write", head, result, f"s{n}", str(n)), head, BASE)
        assert step.other is None
        head = step.content
    assert all(f"line of {n}".encode() in head for n in range(8))

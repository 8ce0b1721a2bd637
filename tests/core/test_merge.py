"""Two descendants of one text become one text, or a conflict that keeps both."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memstore.core.frontmatter import read
from memstore.core.merge import Merged, MergedText, merge_bodies, merge_texts

BASE = "one\ntwo\nthree\nfour\nfive\n"

# The number of examples comes from the hypothesis profile in force ("prove" asks for many more).
laws = settings(max_examples=max(200, settings().max_examples), deadline=None)

new_lines = st.lists(st.sampled_from(["x", "y", "z"]), max_size=3)
few_lines = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=7)
bodies = st.builds(lambda lines, last: "\n".join(lines) + last, few_lines, st.sampled_from(["", "\n"]))


def lines_of(text: str) -> Counter[str]:
    return Counter(text.split("\n")[: -1 if text.endswith("\n") else None] if text else [])


def edits(base: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in base
        base = base.replace(old, new)
    return base


# --- laws


@laws
@given(bodies, bodies)
def test_law_a_side_that_changed_nothing_gives_way(base: str, side: str) -> None:
    assert merge_bodies(base, side, base) == Merged(side, False)
    assert merge_bodies(base, base, side) == Merged(side, False)


@laws
@given(bodies, bodies)
def test_law_equal_sides_are_the_answer(base: str, side: str) -> None:
    assert merge_bodies(base, side, side) == Merged(side, False)


@laws
@given(bodies, bodies, bodies)
@example("a", "a\nb", "a\nc\n")
@example("", "a", "b")
def test_law_the_sides_are_equals(base: str, ours: str, theirs: str) -> None:
    here, there = merge_bodies(base, ours, theirs), merge_bodies(base, theirs, ours)
    assert here.conflict == there.conflict
    if not here.conflict:
        assert lines_of(here.text) == lines_of(there.text)


@laws
@given(bodies, bodies, bodies)
def test_law_no_line_comes_from_thin_air(base: str, ours: str, theirs: str) -> None:
    merged = merge_bodies(base, ours, theirs)
    assert set(lines_of(merged.text)) <= set(lines_of(ours)) | set(lines_of(theirs))
    if merged.conflict:
        assert merged.text == ours


@laws
@given(bodies, bodies, bodies)
@example("a\n", "b\na\n", "a\nb\n")
def test_law_no_line_is_lost_unless_a_side_deleted_it(base: str, ours: str, theirs: str) -> None:
    merged = merge_bodies(base, ours, theirs)
    if merged.conflict:
        return
    counts = [lines_of(text) for text in (base, ours, theirs)]
    result = lines_of(merged.text)
    for line in set(counts[1]) | set(counts[2]):
        deleted = counts[1][line] < counts[0][line] or counts[2][line] < counts[0][line]
        assert deleted or line in result


@laws
@given(bodies, new_lines, new_lines)
def test_law_appends_never_conflict(base: str, ours: list[str], theirs: list[str]) -> None:
    base = base if base.endswith("\n") or not base else base + "\n"
    sides = [base + "".join(f"{line}\n" for line in side) for side in (ours, theirs)]
    merged = merge_bodies(base, *sides)
    assert not merged.conflict
    assert merged.text.startswith(base)
    assert set(ours) | set(theirs) <= set(lines_of(merged.text))


# --- bodies


def test_changes_of_different_lines_are_both_kept() -> None:
    ours, theirs = edits(BASE, ("one", "ONE")), edits(BASE, ("five", "FIVE"))
    assert merge_bodies(BASE, ours, theirs) == Merged("ONE\ntwo\nthree\nfour\nFIVE\n", False)


def test_changes_of_neighbouring_lines_are_both_kept() -> None:
    ours, theirs = edits(BASE, ("two", "TWO")), edits(BASE, ("three", "THREE"))
    assert merge_bodies(BASE, ours, theirs) == Merged("one\nTWO\nTHREE\nfour\nfive\n", False)


def test_two_changes_of_one_line_are_a_conflict_that_keeps_ours_without_markers() -> None:
    ours, theirs = edits(BASE, ("two", "zwei")), edits(BASE, ("two", "deux"))
    assert merge_bodies(BASE, ours, theirs) == Merged(ours, True)


def test_a_deletion_against_a_change_is_a_conflict() -> None:
    assert merge_bodies(BASE, edits(BASE, ("two\n", "")), edits(BASE, ("two", "TWO"))).conflict


def test_an_insertion_beside_a_changed_line_is_a_conflict() -> None:
    assert merge_bodies(BASE, edits(BASE, ("two\n", "two\nnew\n")), edits(BASE, ("two", "TWO"))).conflict


def test_an_insertion_beside_a_deleted_line_stays_and_inside_a_deleted_region_is_a_conflict() -> None:
    deleted = edits(BASE, ("two\nthree\n", ""))
    assert merge_bodies(BASE, edits(BASE, ("three\n", "three\nnew\n")), deleted).text == "one\nnew\nfour\nfive\n"
    assert merge_bodies(BASE, deleted, edits(BASE, ("two\n", "new\ntwo\n"))).text == "one\nnew\nfour\nfive\n"
    assert merge_bodies(BASE, edits(BASE, ("two\n", "two\nnew\n")), deleted).conflict


def test_an_append_can_be_taken_back_though_another_came_after_it() -> None:
    assert merge_bodies(BASE + "x\n", BASE + "x\ny\n", BASE) == Merged(BASE + "y\n", False)


def test_overlapping_deletions_delete_what_either_side_deleted() -> None:
    ours, theirs = edits(BASE, ("two\nthree\n", "")), edits(BASE, ("three\nfour\n", ""))
    assert merge_bodies(BASE, ours, theirs) == Merged("one\nfive\n", False)


def test_insertions_at_one_point_are_both_kept_ours_first() -> None:
    ours, theirs = edits(BASE, ("two\n", "two\nours\n")), edits(BASE, ("two\n", "two\ntheirs\n"))
    assert merge_bodies(BASE, ours, theirs).text == "one\ntwo\nours\ntheirs\nthree\nfour\nfive\n"


def test_the_same_insertion_on_both_sides_stands_once() -> None:
    ours, theirs = BASE + "same\nmore\n", BASE + "same\n"
    assert merge_bodies(BASE, ours, theirs) == Merged(ours, False)
    assert merge_bodies(BASE, theirs, ours) == Merged(ours, False)


def test_h18_eight_writers_that_append_from_one_text_keep_all_lines() -> None:
    head = BASE
    for writer in range(8):
        merged = merge_bodies(BASE, head, f"{BASE}line {writer}\n")
        assert not merged.conflict
        head = merged.text
    assert head == BASE + "".join(f"line {writer}\n" for writer in range(8))


def test_h18_appending_to_a_long_list_of_equal_lines_is_no_conflict() -> None:
    base = "- x\n" * 500
    assert merge_bodies(base, base + "ours\n", base + "theirs\n") == Merged(base + "ours\ntheirs\n", False)


def test_appends_to_a_text_without_a_last_newline_stay_whole_lines() -> None:
    assert merge_bodies("a", "a\nb", "a\nc\n") == Merged("a\nb\nc\n", False)
    assert merge_bodies("a", "a\nb", "a\nc") == Merged("a\nb\nc", False)


def test_a_conversion_of_line_ends_is_no_change_and_ours_are_kept() -> None:
    crlf = BASE.replace("\n", "\r\n")
    assert merge_bodies(BASE, crlf, BASE + "six\n") == Merged(crlf + "six\r\n", False)
    ours = edits(crlf, ("one", "ONE"))
    assert merge_bodies(crlf, ours, BASE + "six\n") == Merged(ours + "six\r\n", False)
    ours = edits(BASE, ("one", "ONE"))
    assert merge_bodies(BASE, ours, crlf + "six\r\n") == Merged(ours + "six\n", False)


def test_mixed_line_ends_of_ours_stay_as_they_are() -> None:
    base = "one\r\ntwo\nthree\nfour\r\n"
    ours, theirs = edits(base, ("one", "ONE")), edits(base, ("three", "THREE"))
    assert merge_bodies(base, ours, theirs) == Merged("ONE\r\ntwo\nTHREE\nfour\r\n", False)


def test_a_last_newline_that_theirs_took_away_leaves_no_half_of_a_line_end_in_mixed_ones() -> None:
    assert merge_bodies("a\na\n", "a\na\r\n", "a\na") == Merged("a\na", False)
    assert merge_bodies("a\nb\n", "A\r\nb\n", "a\nb\r") == Merged("A\r\nb\r", False)
    assert merge_bodies("\na\n", "a\n\r\n", "\na") == Merged("a\n\n", False)


def test_only_a_newline_ends_a_line() -> None:
    base = "a\u2028b\x0bc\x85d\n"
    assert merge_bodies(base, base + "x\n", "new\n" + base) == Merged("new\n" + base + "x\n", False)


def test_ten_thousand_lines_with_every_other_one_changed_on_either_side_merge() -> None:
    lines = [f"line {n}" for n in range(9_999)]
    ours = "\n".join(line + " ours" if n % 2 else line for n, line in enumerate(lines))
    theirs = "\n".join(line if n % 2 else line + " theirs" for n, line in enumerate(lines))
    merged = merge_bodies("\n".join(lines), ours, theirs)
    assert not merged.conflict
    assert merged.text.count(" ours") + merged.text.count(" theirs") == 9_999


def test_texts_too_long_to_compare_are_a_conflict_and_not_a_wait() -> None:
    base = "".join(f"{n}\n" for n in range(10_001))
    assert merge_bodies(base, base + "x\n", "y\n" + base) == Merged(base + "x\n", True)


# --- whole files

FILE = b"""---
name: Build Notes
description: how it is built
type: project
owner: ci
---

one
two
three
"""

STAMPED = b"""---
name: build-notes
description: "how it is built"
metadata:
  node_type: memory
  type: project
  owner: ci
  originSessionId: 5c1f0c9e
  modified: 2026-03-01T10:00:00.000Z
---

one
two
three
"""


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    result = merge_texts(base, ours, theirs)
    assert not result.conflict
    assert result.fields == ()
    return result.content


def with_(text: bytes, *pairs: tuple[bytes, bytes]) -> bytes:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def test_a_field_and_a_body_line_changed_on_two_sides_are_both_kept() -> None:
    ours, theirs = with_(FILE, (b"how it", b"why it")), with_(FILE, (b"two", b"TWO"))
    assert merged(FILE, ours, theirs) == with_(ours, (b"two", b"TWO"))
    assert merged(FILE, theirs, ours) == with_(ours, (b"two", b"TWO"))


def test_two_fields_changed_on_two_sides_are_both_kept() -> None:
    ours, theirs = with_(FILE, (b"how it", b"why it")), with_(FILE, (b"project", b"reference"))
    assert merged(FILE, ours, theirs) == with_(ours, (b"project", b"reference"))


def test_one_field_changed_differently_is_a_conflict_that_names_it() -> None:
    ours, theirs = with_(FILE, (b"how it", b"why it")), with_(FILE, (b"how it", b"when it"))
    assert merge_texts(FILE, ours, theirs) == MergedText(ours, True, ("description",))


def test_a_field_and_the_body_in_conflict_are_both_named() -> None:
    ours = with_(FILE, (b"project", b"user"), (b"two", b"zwei"))
    theirs = with_(FILE, (b"project", b"feedback"), (b"two", b"deux"))
    assert merge_texts(FILE, ours, theirs) == MergedText(ours, True, ("type", "body"))


def test_the_clients_stamps_alone_are_no_change() -> None:
    ours = with_(FILE, (b"two", b"TWO"))
    assert merged(FILE, ours, STAMPED) == ours
    later = with_(STAMPED, (b"T10", b"T11"))
    theirs = with_(FILE, (b"two", b"TWO"))
    assert merged(STAMPED, later, theirs) == theirs


def test_stamps_of_theirs_do_not_hide_a_change_of_their_fields() -> None:
    ours = with_(FILE, (b"two", b"TWO"))
    theirs = with_(STAMPED, (b"how it", b"why it"))
    assert merged(FILE, ours, theirs) == with_(theirs, (b"two", b"TWO"))


def test_two_sessions_stamps_are_no_conflict_and_both_real_changes_are_kept() -> None:
    ours = with_(STAMPED, (b"T10", b"T11"), (b"how it", b"why it"))
    theirs = with_(STAMPED, (b"T10", b"T12"), (b"type: project", b"type: reference"), (b"three", b"four"))
    assert merged(STAMPED, ours, theirs) == with_(ours, (b"type: project", b"type: reference"), (b"three", b"four"))


def test_headers_of_two_shapes_are_put_together_without_saying_a_field_twice() -> None:
    base = b"---\n---\n\n"
    ours = b"---\nname: a\nmetadata:\n  node_type: memory\n  type: user\n---\n\n"
    result = merged(base, ours, b"---\ntype: user\ndescription: d\n---\n\n")
    assert result == with_(ours, (b"name: a\n", b"name: a\ndescription: d\n"))


def test_a_new_key_of_theirs_survives_beside_a_new_description_of_ours() -> None:
    ours = with_(STAMPED, (b"T10", b"T11"), (b"how it", b"why it"))
    theirs = with_(STAMPED, (b"T10", b"T12"), (b"  owner: ci\n", b"  owner: ci\n  reviewed: yes\n"))
    result = merged(STAMPED, ours, theirs)
    assert b"reviewed: yes" in result
    assert b"why it is built" in result


def test_unknown_keys_changed_beyond_what_can_be_put_together_are_a_conflict_and_not_a_loss() -> None:
    ours = with_(STAMPED, (b"T10", b"T11"), (b"owner: ci\n", b"owner: ci\n  a: 1\n"))
    theirs = with_(STAMPED, (b"T10", b"T12"), (b"owner: ci\n", b"owner: ci\n  b: 1\n"))
    result = merge_texts(STAMPED, ours, theirs)
    assert result.content == ours or (b"a: 1" in result.content and b"b: 1" in result.content)
    assert result.conflict == (b"b: 1" not in result.content)


def test_a_comment_that_one_side_wrote_into_the_header_survives() -> None:
    ours = with_(FILE, (b"how it", b"why it"))
    theirs = with_(FILE, (b"owner: ci\n", b"owner: ci\n# ask before changing\n"))
    assert merged(FILE, ours, theirs) == with_(ours, (b"owner: ci\n", b"owner: ci\n# ask before changing\n"))


def test_a_blanked_or_kebab_cased_name_does_not_undo_a_rename() -> None:
    ours = with_(FILE, (b"Build Notes", b"Release Notes"))
    assert merged(FILE, ours, STAMPED) == ours
    cjk = with_(FILE, (b"Build Notes", "构建".encode()))
    theirs = with_(cjk, ("name: 构建".encode(), b'name: ""'), (b"two", b"TWO"))
    assert b"TWO" in merged(cjk, with_(cjk, (b"how it", b"why it")), theirs)


def test_a_name_is_a_field_like_the_others() -> None:
    ours, theirs = with_(FILE, (b"two", b"TWO")), with_(FILE, (b"Build Notes", b"Release Notes"))
    assert merged(FILE, ours, theirs) == with_(theirs, (b"two", b"TWO"))
    ours = with_(FILE, (b"Build Notes", b"Test Notes"))
    assert merge_texts(FILE, ours, theirs) == MergedText(ours, True, ("name",))


def test_unknown_keys_changed_on_two_sides_are_both_kept() -> None:
    ours, theirs = (
        with_(FILE, (b"owner: ci", b"owner: qa")),
        with_(FILE, (b"---\nname", b"---\nsince: 2\nname")),
    )
    assert merged(FILE, ours, theirs) == with_(theirs, (b"owner: ci", b"owner: qa"))


def test_a_header_that_theirs_put_in_front_is_taken() -> None:
    assert merged(b"one\ntwo\nthree\n", b"one\ntwo\nthree\nfour\n", FILE) == FILE + b"four\n"


def test_crlf_of_ours_is_kept_and_a_conversion_is_no_change() -> None:
    crlf = FILE.replace(b"\n", b"\r\n")
    theirs = with_(FILE, (b"how it", b"why it"), (b"two", b"TWO"))
    assert merged(FILE, crlf, theirs) == theirs.replace(b"\n", b"\r\n")
    ours = with_(FILE, (b"two", b"TWO"))
    assert merged(FILE, ours, crlf) == ours


def test_a_header_that_cannot_be_read_is_merged_line_by_line() -> None:
    broken = with_(FILE, (b"owner: ci", b"owner: &x"))
    ours, theirs = with_(broken, (b"how it", b"why it")), with_(broken, (b"two", b"TWO"))
    assert merged(broken, ours, theirs) == with_(ours, (b"two", b"TWO"))
    theirs = with_(broken, (b"how it", b"when it"))
    assert merge_texts(broken, ours, theirs) == MergedText(ours, True, ("text",))


def test_bytes_that_are_no_utf8_are_only_merged_where_one_side_did_nothing() -> None:
    latin = b"caf\xe9\n"
    assert merge_texts(latin, latin, b"new\n") == MergedText(b"new\n", False)
    assert merge_texts(latin, b"new\n", latin) == MergedText(b"new\n", False)
    assert merge_texts(latin, b"ours\n", b"theirs\n") == MergedText(b"ours\n", True, ("text",))


def test_a_body_that_begins_like_a_header_does_not_become_one_when_the_other_side_takes_the_header_out() -> None:
    base = b"---\nname: a\n---\n\n"
    theirs = base + b"---\ntype: user\n---\ntext\n"
    assert merge_texts(base, b"", theirs) == MergedText(b"", True, ("text",))
    assert merge_texts(base, theirs, b"") == MergedText(theirs, True, ("text",))


def test_a_body_below_a_header_without_a_last_newline_begins_on_its_own_line() -> None:
    base = b"---\nname: a\n---"
    ours = b"---\nname: a\ndescription: d\n---"
    assert merged(base, ours, base + b"\nbody\n") == ours + b"\nbody\n"


values = st.sampled_from(["x", "y", "z: 1", "# no", ""])
headers = st.fixed_dictionaries(
    {}, optional={"name": values, "description": values, "type": values, "owner": values, "stamp": values}
)
heads = st.builds(
    lambda fields: "".join(
        f"{'metadata:' if key == 'stamp' else key + ': '}"
        + (f"\n  modified: {value!r}\n" if key == "stamp" else f"{value!r}\n")
        for key, value in fields.items()
    ),
    headers,
)
files = st.builds(lambda head, body: (f"---\n{head}---\n\n" if head else "") + body, heads, bodies).map(
    lambda text: text.encode()
)


@laws
@given(files, files, files)
@example(b"\n", b"a", b"")
def test_law_files_merge_without_losing_a_field_that_one_side_changed(base: bytes, ours: bytes, theirs: bytes) -> None:
    result, mirrored = merge_texts(base, ours, theirs), merge_texts(base, theirs, ours)
    assert result.conflict == mirrored.conflict
    assert bool(result.fields) == result.conflict
    if result.conflict:
        assert result.content == ours
        return
    was, mine, other, now = (read(text) for text in (base, ours, theirs, result.content))
    for field in ("description", "type"):
        values = {getattr(mine, field), getattr(other, field)}
        kept = values - {getattr(was, field)} or {getattr(was, field)}
        assert getattr(now, field) in kept


@laws
@given(files, files)
def test_law_a_file_that_did_not_change_gives_way(base: bytes, side: bytes) -> None:
    assert merge_texts(base, base, side) == MergedText(side, False)
    assert merge_texts(base, side, base) == MergedText(side, False)
    assert merge_texts(base, side, side) == MergedText(side, False)

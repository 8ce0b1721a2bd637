"""A transcript is read on from a mark: nothing twice, nothing left out, whatever became of the file."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import tracemalloc
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memstore.claude import transcript
from memstore.claude.transcript import MOST_CORRUPT, START, Entry, Mark, Reading, abandoned, read

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "claude-code-2.1.332" / "transcripts"
RECORDED = TRANSCRIPTS / "-srv-demo-shop" / "44444444-4444-4444-8444-444444444444.jsonl"


def user(number: int, text: str, **more: object) -> str:
    at = f"2026-03-01T10:00:{number:02}Z"
    message = {"role": "user", "content": text}
    row = {"type": "user", "uuid": f"u{number}", "sessionId": "A", "timestamp": at, "message": message, **more}
    return json.dumps(row, ensure_ascii=False)


def said(reading: Reading) -> list[str]:
    return [entry.text for entry in reading.entries if entry.text]


def write(path: Path, lines: Sequence[str], end: str = "\n") -> str:
    path.write_text("\n".join(lines) + end, encoding="utf-8", newline="")
    return str(path)


FACTS = [user(number, f"fact {number}") for number in range(10)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "A.jsonl"


def test_a_whole_transcript_is_read_and_the_mark_says_how_far(path: Path):
    name = write(path, FACTS)
    reading = read(name, START)
    assert said(reading) == [f"fact {number}" for number in range(10)]
    assert reading.mark == Mark("u9", path.stat().st_size, sha256(path.read_bytes()).digest())
    assert (reading.corrupt, reading.replaced, reading.torn, reading.fits, reading.missing) == (
        (),
        0,
        False,
        True,
        False,
    )
    again = read(name, reading.mark)
    assert again == Reading((), reading.mark)


def test_only_what_came_after_the_mark_is_read_and_lines_keep_their_numbers(path: Path):
    mark = read(write(path, FACTS[:4]), START).mark
    reading = read(write(path, [*FACTS[:4], "", "{broken", *FACTS[4:]]), mark)
    assert said(reading) == [f"fact {number}" for number in range(4, 10)]
    assert [entry.line for entry in reading.entries] == list(range(7, 13))
    assert (reading.corrupt, reading.fits) == ((6,), True)
    assert reading.entries[-1].end == reading.mark.offset == path.stat().st_size


def test_hostile_lines_stop_nothing(path: Path):
    data = "iVBOR" + "A" * 3_000_000
    blocks = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"type": "text", "text": "keep: logo is teal"},
    ]
    image = json.dumps({"type": "user", "uuid": "u5", "message": {"role": "user", "content": blocks}})
    head = [user(1, "remember: we deploy on Tuesdays"), '{"type":"user","uuid":"u2","message":{"ro', ""]
    head.append(user(3, "half SURROGATE").replace("SURROGATE", "\\ud83d"))
    rest = [user(4, "nul \0 inside and sep \u2028 here"), image, user(6, "remember: tests need node 20")]
    last = user(7, "remember: port is 7443")
    content = "\r\n".join(head) + "\r\n" + "\n".join(rest) + "\n"
    path.write_text(content + last[:60], encoding="utf-8", newline="")
    first = read(str(path), START)
    assert said(first) == [
        "remember: we deploy on Tuesdays",
        "half \ufffd",
        "nul \ufffd inside and sep \u2028 here",
        "keep: logo is teal",
        "remember: tests need node 20",
    ]
    assert [entry.id for entry in first.entries] == ["u1", "u3", "u4", "u5", "u6"]
    assert (first.corrupt, first.replaced, first.torn) == ((2,), 2, True)
    assert first.mark.offset == len(content.encode())
    path.write_text(content + last + "\n", encoding="utf-8", newline="")
    second = read(str(path), first.mark)
    assert said(second) == ["remember: port is 7443"] and second.fits and not second.torn


def test_a_file_with_other_text_of_the_same_length_is_read_anew(path: Path):
    mark = read(write(path, FACTS), START).mark
    name = write(path, [line.replace("fact", "FACT") for line in FACTS])
    reading = read(name, mark)
    assert not reading.fits
    assert said(reading) == [f"FACT {number}" for number in range(10)]
    assert read(name, reading.mark) == Reading((), reading.mark)


def test_a_file_that_became_shorter_and_then_longer_is_read_anew(path: Path):
    mark = read(write(path, FACTS), START).mark
    shorter = read(write(path, FACTS[7:]), mark)
    assert not shorter.fits and said(shorter) == ["fact 7", "fact 8", "fact 9"]
    longer = read(write(path, [user(number, "other") for number in range(20, 40)]), mark)
    assert not longer.fits and len(longer.entries) == 20
    grown = read(write(path, [*FACTS[7:], *FACTS]), shorter.mark)
    assert grown.fits and len(grown.entries) == 10


def test_a_forks_copied_history_is_known_by_its_digests(path: Path, tmp_path: Path):
    known = {entry.digest for entry in read(write(path, FACTS), START).entries}
    fork = read(write(tmp_path / "B.jsonl", [*FACTS, user(11, "new in fork", sessionId="B")]), START)
    assert [entry.text for entry in fork.entries if entry.digest not in known] == ["new in fork"]


def test_after_a_compaction_that_took_the_last_message_only_what_is_new_is_new(path: Path):
    first = read(write(path, FACTS), START)
    boundary = json.dumps({"type": "system", "subtype": "compact_boundary", "uuid": "cb"})
    summary = user(12, "This session continues...", uuid="cs", isCompactSummary=True)
    second = read(write(path, [*FACTS[:5], boundary, summary, FACTS[9]]), first.mark)
    known = {entry.digest for entry in first.entries}
    new = [entry for entry in second.entries if entry.digest not in known]
    assert [(entry.id, entry.kind) for entry in new] == [("cb", "boundary"), ("cs", "summary")]
    assert not second.fits and second.mark.message == "u9"


def test_what_is_no_file_that_can_be_read_is_missing(path: Path, tmp_path: Path):
    mark = read(write(path, FACTS), START).mark
    link, fifo = tmp_path / "link.jsonl", tmp_path / "fifo.jsonl"
    link.symlink_to(path)
    os.mkfifo(fifo)
    for name in (link, fifo, tmp_path, tmp_path / "gone.jsonl", path / "below", "a\0b", "", "x" * 5000):
        assert read(str(name), mark) == Reading((), mark, missing=True)


def test_an_empty_file_is_not_missing(path: Path):
    path.touch()
    assert read(str(path), START) == Reading((), START)
    assert read(str(path), Mark("u9", 7, b"x")) == Reading((), START, fits=False)


@pytest.mark.parametrize("mark", [Mark("", -1, START.digest), Mark("", 3, b""), Mark("", 2**70, START.digest)])
def test_a_mark_that_cannot_be_is_one_that_does_not_fit(path: Path, mark: Mark):
    reading = read(write(path, FACTS), mark)
    assert len(reading.entries) == 10 and not reading.fits


def test_a_last_line_that_lacks_only_its_end_is_told_and_the_mark_stands_before_it(path: Path):
    name = write(path, FACTS[:3], end="")
    reading = read(name, START)
    assert said(reading) == ["fact 0", "fact 1"] and reading.torn
    assert [entry.text for entry in reading.unended] == ["fact 2"]
    write(path, FACTS[:3])
    assert [entry.digest for entry in read(name, reading.mark).entries] == [reading.unended[0].digest]
    assert read(write(path, [*FACTS[:2], FACTS[2][:-1]], end=""), START).unended == ()


def test_lines_that_begin_behind_the_limit_are_left(path: Path):
    name = write(path, FACTS)
    size = len(FACTS[0].encode()) + 1
    for until, count in ((0, 0), (1, 1), (size, 1), (size + 1, 2), (10 * size, 10), (99 * size, 10)):
        reading = read(name, START, until=until)
        assert len(reading.entries) == count and not reading.torn
        rest = read(name, reading.mark)
        assert rest.fits and said(reading) + said(rest) == [f"fact {number}" for number in range(10)]


def test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch):
    name = write(path, FACTS)
    real = os.pread

    def growing(handle: int, length: int, offset: int) -> bytes:
        with open(name, "a", encoding="utf-8") as file:
            file.write(user(11, "later") + "\n")
        return real(handle, length, offset)

    monkeypatch.setattr(os, "pread", growing)
    reading = read(name, START)
    monkeypatch.undo()
    assert said(reading) == [f"fact {number}" for number in range(10)]
    assert said(read(name, reading.mark)) == ["later"]


def test_a_file_that_is_cut_while_it_is_read_is_read_as_far_as_it_went(path: Path, monkeypatch: pytest.MonkeyPatch):
    name = write(path, [user(number, "word " * 30_000) for number in range(10)])
    real = os.pread

    def cutting(handle: int, length: int, offset: int) -> bytes:
        content = real(handle, length, offset)
        os.truncate(name, 300_000)
        return content

    monkeypatch.setattr(os, "pread", cutting)
    reading = read(name, START)
    monkeypatch.undo()
    assert [entry.id for entry in reading.entries] == ["u0"]
    assert reading.torn and reading.fits
    assert reading.mark.digest == sha256(path.read_bytes()[: reading.mark.offset]).digest()


def test_a_disk_that_fails_while_it_is_read_is_told_from_a_file_that_is_gone(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    name = write(path, FACTS)
    mark = read(name, START).mark

    def failing(handle: int, length: int, offset: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", failing)
    assert read(name, mark) == Reading((), mark, missing=True, unreadable="Input/output error")


def test_a_file_of_broken_lines_does_not_fill_memory(path: Path):
    path.write_bytes(b"x\n" * (MOST_CORRUPT + 500) + FACTS[0].encode() + b"\n")
    reading = read(str(path), START)
    assert len(reading.corrupt) == MOST_CORRUPT and reading.corrupt[-1] == MOST_CORRUPT
    assert said(reading) == ["fact 0"] and reading.entries[0].line == MOST_CORRUPT + 501


def test_a_line_of_many_megabytes_is_read_in_little_memory(path: Path):
    with open(path, "wb") as file:
        file.write(b'{"type":"user","uuid":"u1","message":{"content":[{"type":"image","source":{"data":"')
        for _ in range(320):
            file.write(b"A" * 65_536)
        file.write(b'"}},{"type":"text","text":"logo is teal"}]}}\n' + FACTS[3].encode() + b"\n")
    tracemalloc.start()
    try:
        reading = read(str(path), START)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert said(reading) == ["logo is teal", "fact 3"] and reading.corrupt == ()
    assert peak < 4_000_000


def test_a_line_that_is_long_and_broken_is_counted(path: Path):
    path.write_bytes(b'{"type":"user","message":"' + b"A" * 2_000_000 + b"\n" + b"[" * 1_100_000 + b"\n")
    assert read(str(path), START).corrupt == (1, 2)


ROWS = st.builds(
    lambda number, text, more: user(number, text, **more),
    st.integers(0, 3),
    st.text(max_size=12)
    | st.sampled_from(["<system-reminder>x</system-reminder>y", "統一用 bun", "[Request interrupted by user]"]),
    st.sampled_from(
        [{}, {"isMeta": True}, {"parentUuid": None}, {"parentUuid": "u1"}, {"type": "attachment"}, {"type": 3}]
    ),
)
LINES = st.lists(
    ROWS.map(lambda row: row.encode("utf-8", "surrogatepass"))
    | st.binary(max_size=12).map(lambda junk: junk.replace(b"\n", b"\r"))
    | st.sampled_from([b"", b"\r", b"\0\0", b'{"type":"user"', b"[]", b"\xff\xfe"]),
    max_size=7,
)


def in_pieces(content: bytes, cuts: Sequence[int], *, by_limit: bool) -> tuple[list[Entry], list[int], Mark]:
    """What is found when the file is read as it grows to each of the cuts, or whole with each as the limit."""
    entries: list[Entry] = []
    corrupt: list[int] = []
    mark = START
    with tempfile.NamedTemporaryFile() as file:
        for cut in [*sorted(min(cut, len(content)) for cut in cuts), len(content)]:
            file.seek(0)
            file.truncate()
            file.write(content if by_limit else content[:cut])
            file.flush()
            reading = read(file.name, mark, until=cut if by_limit else None)
            assert reading.fits and not reading.missing
            if not by_limit:
                end = content[:cut].rfind(b"\n") + 1
                assert reading.mark.offset == end and reading.torn == (end < cut)
            assert reading.mark.digest == sha256(content[: reading.mark.offset]).digest()
            entries += reading.entries
            corrupt += reading.corrupt
            mark = reading.mark
    return entries, corrupt, mark


@given(
    LINES,
    st.binary(max_size=8),
    st.lists(st.integers(0, 600), max_size=6),
    st.booleans(),
    st.sampled_from([1, 40, 10**6]),
)
@example([user(1, "é").encode()], b"", list(range(130)), False, 40)
def test_reading_in_pieces_gives_what_reading_at_once_gives(
    lines: list[bytes], rest: bytes, cuts: list[int], by_limit: bool, long_line: int
):
    content = b"".join(line + b"\n" for line in lines) + rest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript, "LONG_LINE", long_line)
        patch.setattr(transcript, "_CHUNK", 64)
        assert in_pieces(content, cuts, by_limit=by_limit) == in_pieces(content, [], by_limit=by_limit)


@given(st.lists(ROWS, max_size=5))
def test_a_line_says_the_same_whether_it_counts_as_long_or_not(rows: list[str]):
    content = "".join(row + "\n" for row in rows).encode("utf-8", "surrogatepass")
    whole = in_pieces(content, [], by_limit=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript, "LONG_LINE", 0)
        assert in_pieces(content, [], by_limit=False) == whole


@given(st.binary(max_size=200), st.integers(-5, 250), st.binary(max_size=2))
def test_no_bytes_and_no_mark_raise(content: bytes, offset: int, digest: bytes):
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        for mark in (START, Mark("", offset, digest), Mark("", offset, sha256(content[: max(0, offset)]).digest())):
            reading = read(file.name, mark)
            assert reading.mark.digest == sha256(content[: reading.mark.offset]).digest()
            abandoned(reading.entries)


def test_a_recorded_session_is_the_same_in_any_pieces():
    content = RECORDED.read_bytes()
    cuts = list(range(0, len(content), 9973))
    assert in_pieces(content, cuts, by_limit=False) == in_pieces(content, [], by_limit=False)


def row(identity: str, parent: str | None, kind: str = "user", **more: Any) -> str:
    content: object = identity
    if kind == "tool":
        content = [{"type": "tool_result", "tool_use_id": more.pop("of"), "content": identity}]
    return json.dumps(
        {
            "type": "user" if kind == "tool" else kind,
            "uuid": identity,
            "parentUuid": parent,
            "message": {"content": content},
            **more,
        }
    )


def left(path: Path, *rows: str) -> frozenset[str]:
    return abandoned(read(write(path, rows), START).entries)


def test_what_a_person_went_back_behind_in_a_recorded_session_is_abandoned():
    entries = read(str(RECORDED), START).entries
    gone = abandoned(entries)
    assert [entry.text for entry in entries if entry.id in gone and entry.text] == [
        "deploy on Fridays",
        "The moon is full.",
        "All right.",
    ]
    (start,) = (entry.line for entry in entries if entry.text == "deploy on Fridays")
    (end,) = (entry.line for entry in entries if entry.text.startswith("deploy on Tuesdays"))
    assert {entry.line for entry in entries if entry.id in gone} <= set(range(start, end))


@pytest.mark.parametrize("number", ["1", "2", "3"])
def test_results_that_came_side_by_side_in_recorded_sessions_are_not(number: str):
    (found,) = TRANSCRIPTS.glob(f"*/{number * 8}-*.jsonl")
    assert abandoned(read(str(found), START).entries) == frozenset()


def test_the_branch_that_was_left_is_abandoned_with_all_that_followed_it(path: Path):
    rows = [row("a", None), row("b", "a", "assistant"), row("x", "b"), row("y", "x", "assistant")]
    assert left(path, *rows, row("c", "b"), row("d", "c", "assistant"), row("e", "d", "system")) == {"x", "y"}
    assert left(path, *rows) == frozenset()


def test_going_back_to_the_first_message_leaves_all_that_was_said(path: Path):
    assert left(path, row("a", None), row("b", "a", "assistant"), row("c", None)) == {"a", "b"}


def test_lines_of_one_answer_and_their_results_belong_together(path: Path):
    rows = [
        row("a", None),
        row("t1", "a", "assistant"),
        row("t2", "t1", "assistant"),
        row("r1", "t1", "tool", of="t1"),
        row("hook", "r1", "attachment"),
        row("r2", "t2", "tool", of="t2"),
        row("end", "r1", "assistant"),
    ]
    assert left(path, *rows) == frozenset()
    assert left(path, *rows[:-1], row("end", "r2", "assistant")) == frozenset()


def test_a_branch_that_a_command_began_is_abandoned_too(path: Path):
    rows = [row("a", None), row("x", "a", isMeta=True), row("y", "x", "assistant"), row("z", "y")]
    assert left(path, *rows, row("b", "a")) == {"y", "z"}


def test_what_was_said_before_a_compaction_was_said(path: Path):
    boundary = {"kind": "system", "subtype": "compact_boundary"}
    for more in ({"logicalParentUuid": "b"}, {"logicalParentUuid": "unknown"}, {}):
        rows = [row("a", None), row("b", "a", "assistant"), row("cb", None, **boundary, **more)]
        summary = row("cs", "cb", isCompactSummary=True)
        assert left(path, *rows, summary, row("c", "cs")) == frozenset()
    rows = [row("a", None), row("x", "a"), row("b", "a"), row("cb", None, **boundary, logicalParentUuid="b")]
    assert left(path, *rows, row("cs", "cb", isCompactSummary=True)) == {"x"}


def test_a_branch_that_went_on_beside_the_other_is_not_abandoned(path: Path):
    rows = [row("a", None), row("x", "a"), row("b", "a"), row("y", "x", "assistant"), row("c", "b", "assistant")]
    assert left(path, *rows) == frozenset()
    assert left(path, *rows[:3], row("hook", "x", "attachment"), row("c", "b", "assistant")) == {"x", "hook"}
    assert left(path, row("a", None), row("b", None), row("y", "a", "assistant"), row("c", "b")) == frozenset()


def test_what_cannot_be_told_counts_as_said(path: Path):
    assert left(path, *FACTS) == frozenset()  # no line names a parent
    assert left(path, row("a", None), "{broken", row("b", "gone"), row("c", "b")) == frozenset()
    assert left(path, row("a", "a"), row("b", "c"), row("c", "b")) == frozenset()
    assert abandoned(()) == frozenset()


def test_talk_of_subagents_is_no_branch(path: Path):
    rows = [row("a", None), row("s", None, isSidechain=True), row("t", "s", "assistant", isSidechain=True)]
    assert left(path, *rows, row("b", "a", "assistant")) == frozenset()
    assert left(path, row("a", None), row("b", "a", "assistant"), *rows[1:]) == frozenset()

"""What hooks hand over, as a real client recorded it: how it is read, and what a call wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memstore.claude import hooks
from memstore.claude.hooks import FIELDS, Event, decoded, expected, names_folder, outcome, overwritten, seen_whole
from memstore.store.quick import Json

RECORDED = Path(__file__).parents[1] / "data" / "claude-code-2.1.332" / "hooks"
STAMPED = b"---\nname: a\nmetadata:\n  node_type: memory\n  modified: 2026-03-01\n---\n\n"


def event(data: bytes | dict[str, Any]) -> Event:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    reader = Json()
    found = reader.fields(raw, FIELDS)
    assert found is not None
    values = tuple(decoded(value) if isinstance(value, bytes) else value for value in found)
    return Event(values, [(decoded(old), decoded(new), every) for old, new, every in reader.edits(raw)])


def recorded(name: str) -> Event:
    return event((RECORDED / f"{name}.json").read_bytes())


def edit(old: str, new: str, original: str | None, *, everywhere: bool = False) -> Event:
    given = {"file_path": "/m/a.md", "old_string": old, "new_string": new, "replace_all": everywhere}
    return event(
        {"session_id": "s", "tool_name": "Edit", "tool_input": given, "tool_response": {"originalFile": original}}
    )


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_every_recorded_hook_names_its_session_and_directory(path: Path):
    found, raw = event(path.read_bytes()), json.loads(path.read_text())
    assert (found.session_id, found.cwd, found.transcript) == (raw["session_id"], raw["cwd"], raw["transcript_path"])
    assert found.agent == raw.get("agent_id") and found.prompt == raw.get("prompt_id")
    assert found.session == (f"{raw['session_id']}/{raw['agent_id']}" if "agent_id" in raw else raw["session_id"])


@pytest.mark.parametrize("name", ["post-tool-use-write-create", "post-tool-use-write-update"])
def test_a_recorded_write_is_what_the_client_put_on_disk(name: str):
    raw = json.loads((RECORDED / f"{name}.json").read_text())
    found = recorded(name)
    original = raw["tool_response"]["originalFile"]
    assert outcome(found, None) == raw["tool_response"]["content"].encode()
    assert overwritten(found) == (None if original is None else original.encode())


def test_a_recorded_edit_is_what_lies_there_after_it():
    raw = json.loads((RECORDED / "post-tool-use-edit.json").read_text())
    found = recorded("post-tool-use-edit")
    done = raw["tool_response"]["originalFile"].replace(
        raw["tool_input"]["old_string"], raw["tool_input"]["new_string"]
    )
    assert outcome(found, None) == done.encode()
    on_disk = done.encode().replace(b"modified: ", b"modified: 2")
    assert outcome(found, on_disk) == (on_disk if b"\n---\n" in done.encode() else done.encode())


def test_a_recorded_read_of_all_is_a_base_and_of_a_part_is_none():
    whole = json.loads((RECORDED / "post-tool-use-read.json").read_text())["tool_response"]["file"]["content"]
    assert seen_whole(recorded("post-tool-use-read"), None) == whole.encode()
    assert seen_whole(recorded("post-tool-use-read-part"), None) is None


def test_a_read_shows_neither_cr_nor_byte_order_mark_and_the_file_has_them():
    found = event({"tool_response": {"file": {"content": "a\nb\n", "numLines": 3, "startLine": 1, "totalLines": 3}}})
    assert seen_whole(found, b"\xef\xbb\xbfa\r\nb\r\n") == b"\xef\xbb\xbfa\r\nb\r\n"
    assert seen_whole(found, b"something else\n") == b"a\nb\n"


EDITS = [
    ("b", "B", False, "a b b\n", "a B b\n"),
    ("b", "B", True, "a b b\n", "a B B\n"),
    ("two", "", False, "one\ntwo\nthree\n", "one\nthree\n"),  # a whole line goes with its end
    ("two\n", "", False, "one\ntwo\nthree\n", "one\nthree\n"),
    ("tw", "", False, "one\ntwo\n", "one\no\n"),
    ("", "new\n", False, "", "new\n"),
    ("", "new\n", False, "there is something\n", None),
    ("absent", "x", False, "a\n", None),
]


@pytest.mark.parametrize(("old", "new", "everywhere", "before", "after"), EDITS)
def test_an_edit_is_carried_out_as_the_client_does(
    old: str, new: str, everywhere: bool, before: str, after: str | None
):
    found = edit(old, new, before, everywhere=everywhere)
    assert expected(found, before.encode()) == (None if after is None else after.encode())
    if after is not None:
        assert outcome(found, None) == after.encode()


def test_several_edits_are_made_one_after_the_other():
    given = {"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}, "no edit"]}
    found = event({"tool_name": "MultiEdit", "tool_input": given, "tool_response": {"originalFile": "a\n"}})
    assert expected(found, b"a\n") == outcome(found, None) == b"c\n"


def test_an_edit_of_a_file_with_crlf_is_told_without_cr_and_keeps_them():
    found = edit("two", "2", "one\ntwo\n")
    assert expected(found, b"one\r\ntwo\r\n") == b"one\r\n2\r\n"
    assert outcome(found, b"one\r\n2\r\n") == b"one\r\n2\r\n"


def test_a_file_counts_as_what_an_edit_wrote_but_for_the_clients_stamps():
    found = edit("two", "2", "---\nname: A\n---\none\ntwo\n")
    assert outcome(found, STAMPED + b"one\n2\n") == STAMPED + b"one\n2\n"
    assert outcome(found, STAMPED + b"one\n2\nby another\n") == b"---\nname: A\n---\none\n2\n"


def test_an_edit_that_only_the_client_can_carry_out_is_what_lies_there():
    found = edit('say "hi"', 'say "ho"', "I say “hi”\n")
    assert outcome(found, "I say “ho”\n".encode()) == "I say “ho”\n".encode()
    assert outcome(found, None) is None


def test_an_edit_that_made_its_file_overwrote_nothing():
    assert overwritten(edit("", "x", "")) is None
    assert overwritten(edit("x", "y", "")) == b""
    assert overwritten(edit("x", "y", "x")) == b"x"


def test_what_an_edit_will_do_to_a_file_that_is_no_text_is_not_known():
    assert expected(edit("a", "b", None), b"a \xe9\n") is None


@pytest.mark.parametrize(
    ("raw", "text"),
    [(b"a", "a"), (b"a\xed\xa0\x80b", "a\ufffdb"), (b"\xff", "\ufffd"), (b"\xed\xa0\xbd\xed\xb8\x80", "\U0001f600")],
)
def test_half_a_surrogate_pair_is_decoded_as_it_stands_on_disk(raw: bytes, text: str):
    assert decoded(raw) == text


COMMANDS = [
    ("cat /srv/me/.claude/projects/-srv-shop/memory/a.md", True),
    ("cat ~/.claude/projects/-srv-shop/memory/a.md", True),
    ("cd $HOME/.claude/projects && rm -- -srv-shop/memory/a.md", True),
    ("sed -i s/a/b/ MEMORY.md", True),
    ("ls /srv/me/src/memory", False),
    ("", False),
]


@pytest.mark.parametrize(("command", "spoken"), COMMANDS)
def test_a_command_speaks_of_the_folder_by_its_path_or_by_its_last_names(command: str, spoken: bool):
    assert names_folder(command, "/srv/me/.claude/projects/-srv-shop/memory", "/srv/me") is spoken


def test_ids_and_texts_that_are_shown_are_short_and_plain():
    assert hooks.plain_id("1a2b3c4d-5e6f") == "1a2b3c4d" and hooks.plain_id('"; rm -rf') == "rm-rf"[:2] + "-r"
    assert hooks.plain_id("\u202e") == "unknown"
    assert hooks.plain_text("a\nb\x1b[0m\u202ec" + "x" * 999, 20) == "a b [0m cxxxxxxxxxx…"
    assert hooks.plain_text("a < b\n</system-reminder>.md") == "a < b &lt;/system-reminder>.md"


def test_ids_of_another_kind_or_length_are_none():
    assert event({"session_id": "x" * 201}).session is None and event({"session_id": 5}).session is None
    assert event({"session_id": "", "tool_use_id": ["t"]}).tool_use is None

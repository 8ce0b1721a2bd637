"""Hooks in every weather: code 0, in time, one line at most; what could be kept counts exactly once afterwards."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import apsw
import pytest

from memstore.hook import LARGEST, SECONDS
from memstore.store import ddl, quick
from tests.files.desk import Desk, topic
from tests.files.outages import Unable, no_inodes, no_room, read_only, small_disk
from tests.hooks.calls import HOOK, Answer, Session, at_rest, database, inbox, spooled, start

GRACE = 5.0
"""Seconds on top of a hook's budget for a busy machine to start its process."""


@contextmanager
def locked(desk: Desk) -> Iterator[None]:
    with desk.memories.store.change():
        yield


def moved(what: Callable[[Desk], Path]) -> Callable[[Desk], AbstractContextManager[None]]:
    """A file or directory is not there."""

    @contextmanager
    def weather(desk: Desk) -> Iterator[None]:
        place = what(desk)
        aside = place.with_name(place.name + ".aside")
        os.rename(place, aside)
        yield
        if place.is_dir():
            shutil.rmtree(place)
        os.rename(aside, place)

    return weather


def holding(what: Callable[[Desk], Path], content: bytes) -> Callable[[Desk], AbstractContextManager[None]]:
    """A file has another content, and still has it afterwards: what is damaged is left as it is."""

    @contextmanager
    def weather(desk: Desk) -> Iterator[None]:
        place = what(desk)
        before = place.read_bytes()
        place.write_bytes(content)
        yield
        assert place.read_bytes() == content
        place.write_bytes(before)

    return weather


@contextmanager
def torn(desk: Desk) -> Iterator[None]:
    """The database has its header, and nonsense on every other page."""
    place = database(desk)
    before = place.read_bytes()
    place.write_bytes(before[:4096] + b"\xaa" * (len(before) - 4096))
    yield
    for suffix in ("-wal", "-shm"):
        Path(f"{place}{suffix}").unlink(missing_ok=True)
    place.write_bytes(before)


@contextmanager
def newer(desk: Desk) -> Iterator[None]:
    _edit(desk, "PRAGMA user_version = 99")
    before = database(desk).read_bytes()
    yield
    assert database(desk).read_bytes() == before
    _edit(desk, f"PRAGMA user_version = {quick.SCHEMA}")


@contextmanager
def older(desk: Desk) -> Iterator[None]:
    """As an earlier memstore left it; a session that starts brings it up to date."""
    later = re.findall(r"CREATE TABLE (\w+)", "".join(script for _, script in ddl.migrations()[2:]))
    _edit(desk, *(f"DROP TABLE {table}" for table in reversed(later)), "PRAGMA user_version = 2")
    yield


@contextmanager
def unwritable(desk: Desk) -> Iterator[None]:
    """The whole home is read-only."""
    home = Path(desk.memories.place.home.path)
    if os.geteuid() == 0:
        try:
            with read_only(home):
                yield
        except Unable as unable:
            pytest.skip(str(unable))
        return
    places = [home, *(path for path in home.rglob("*") if path.is_dir())]
    for place in places:
        place.chmod(0o500)
    yield
    for place in places:
        place.chmod(0o700)


@contextmanager
def open_to_others(desk: Desk) -> Iterator[None]:
    home = Path(desk.memories.place.home.path)
    home.chmod(0o777)
    yield
    home.chmod(0o700)


def _edit(desk: Desk, *statements: str) -> None:
    connection = apsw.Connection(str(database(desk)))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def _home(desk: Desk) -> Path:
    return Path(desk.memories.place.home.path)


def _entry(desk: Desk) -> Path:
    (entry,) = (_home(desk) / "roots").iterdir()
    return entry


def _store(desk: Desk) -> Path:
    return Path(desk.memories.store.directory)


@dataclass(frozen=True)
class Weather:
    """`kept`: what becomes of a call that is told of in it. `told`: where the person is told what is in the way."""

    cut: Callable[[Desk], AbstractContextManager[None]]
    kept: Literal["spooled", "stored", "nothing", "unknown"]
    told: tuple[str, ...] = ("SessionStart",)
    variables: tuple[tuple[str, str], ...] = ()
    limit: bool = False
    opens: bool = False


WRITTEN = "PostToolUse Write"
WEATHERS = {
    "fair": Weather(nullcontext, "stored", ()),
    "locked": Weather(locked, "spooled", opens=True),
    "no database": Weather(moved(database), "spooled"),
    "no store": Weather(moved(_store), "unknown", ()),
    "empty database": Weather(holding(database, b""), "spooled"),
    "another file": Weather(holding(database, b"no database at all\n" * 500), "spooled"),
    "torn database": Weather(torn, "unknown"),
    "newer schema": Weather(newer, "spooled"),
    "older schema": Weather(older, "spooled", ()),
    "read-only home": Weather(unwritable, "nothing", (WRITTEN,)),
    "no file may grow": Weather(nullcontext, "nothing", (WRITTEN,), limit=True),
    "home open to others": Weather(open_to_others, "nothing"),
    "home is gone": Weather(moved(_home), "nothing"),
    "home is relative": Weather(nullcontext, "nothing", variables=(("MEMSTORE_HOME", "some/where"),)),
    "damaged registry": Weather(holding(_entry, b"{"), "stored"),
    "damaged claim": Weather(holding(lambda desk: desk.folder / ".memstore", b"[]"), "nothing"),
    "folder is gone": Weather(moved(lambda desk: desk.folder), "nothing", ()),
    "git is odd": Weather(holding(lambda desk: desk.base / "repo" / ".git" / "HEAD", b"\xff\0ref"), "stored", ()),
}


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """A store with one memory, at rest."""
    desk.put("a.md", topic("a", body="one\ntwo\n"))
    desk.put("MEMORY.md", "# Notes\n")
    desk.memories.sync()
    return desk


@pytest.mark.parametrize("name", WEATHERS)
def test_every_hook_ends_well_and_what_was_kept_counts_once(shop: Desk, name: str):
    weather = WEATHERS[name]
    if not weather.opens:
        shop.memories.close()
    path = shop.folder / "b.md"
    with weather.cut(shop):
        if shop.folder.is_dir():
            path.write_text(topic("b"))
        told = {call for call, answer in _all_hooks(shop, weather, path).items() if answer.message}
        assert told >= set(weather.told) and not told - {*weather.told, "SessionStart"}, told
        if weather.kept == "spooled":
            assert spooled(shop) or name == "older schema"
    at_rest(shop)
    _look_afterwards(shop, weather, path)


def _all_hooks(desk: Desk, weather: Weather, path: Path) -> dict[str, Answer]:
    session = Session(desk, "s", variables=dict(weather.variables))
    written = {"file_path": str(path), "content": topic("b")}
    edited = {"file_path": str(desk.folder / "a.md"), "old_string": "two", "new_string": "2"}
    shown = {"type": "text", "file": {"content": "x", "numLines": 1, "startLine": 1, "totalLines": 1}}
    calls: dict[str, dict[str, Any]] = {
        "PreToolUse Write": {"tool_name": "Write", "tool_use_id": "t1", "tool_input": written},
        WRITTEN: {
            "tool_name": "Write", "tool_use_id": "t1", "tool_input": written,
            "tool_response": {"content": topic("b"), "originalFile": None},
        },
        "PreToolUse Edit": {"tool_name": "Edit", "tool_use_id": "t2", "tool_input": edited},
        "PostToolUseFailure Edit": {
            "tool_name": "Edit", "tool_use_id": "t2", "tool_input": edited, "error": "no", "is_interrupt": False,
        },
        "PostToolUse Read": {
            "tool_name": "Read", "tool_use_id": "t3", "tool_input": {"file_path": str(path)}, "tool_response": shown,
        },
        "PostToolUse Bash": {"tool_name": "Bash", "tool_use_id": "t4", "tool_input": {"command": f"ls {desk.folder}"}},
        "UserPromptSubmit": {"prompt": "go on"},
        "Stop": {},
        "PreCompact": {},
        "SessionEnd": {},
        "SessionStart": {"source": "startup"},
    }  # fmt: skip
    answers = {}
    for call, given in calls.items():
        event = call.split(" ")[0]
        data = json.dumps(session.data(event, **given)).encode()
        cwd = desk.base / desk.root
        run = _limited if weather.limit else start
        answers[call] = run(event, data, cwd, **session.variables).check(SECONDS[event] + GRACE)
    if weather.told == (WRITTEN,):  # what could not be kept is said wherever it is so
        for call in ("Stop", "PreCompact", "SessionEnd", "PostToolUse Read"):
            assert "is not recorded" in answers.pop(call).message
    return answers


def _limited(event: str, data: bytes, cwd: Path | str, **variables: str) -> Answer:
    """A hook that may make files, but write nothing into them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        return start(event, data, cwd, **variables)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _look_afterwards(desk: Desk, weather: Weather, path: Path) -> None:
    waiting = [(file.name, file.read_bytes()) for file in spooled(desk)]
    if not weather.opens:
        desk.memories = desk.open()
    if path.parent.is_dir() and not path.exists():
        path.write_text(topic("b"))
    for _ in range(2):
        desk.memories.sync()
        head = desk.head("b")
        assert head is not None and head.version == 1 and desk.memories.conflicts() == []
        session = desk.memories.operation(str(head.seq)).provenance.session
        assert weather.kept == "unknown" or session == (None if weather.kept == "nothing" else "s")
        rows = [row for row in inbox(desk, "id, state") if row[0] == "t1"]
        assert rows in ([], [("t1", "settled")]) and (rows or weather.kept in ("nothing", "unknown"))
        for name, content in waiting:  # as if the process that applied them had died before it removed them
            (_home(desk) / "spool" / name).write_bytes(content)
        desk.memories.store.take_spooled()
        assert spooled(desk) == []
    with desk.memories.store.view() as connection:
        jobs = connection.execute("SELECT count(*) FROM job").get
    assert jobs <= 1


def test_on_a_full_disk_the_line_says_so_and_nothing_is_lost_of_what_was_there(tmp_path: Path, home: Path):
    with ExitStack() as stack:
        try:
            stack.enter_context(small_disk(home / "memstore", "size=2m"))
        except Unable as unable:
            pytest.skip(str(unable))
        desk = Desk(tmp_path, 0.0)
        stack.callback(desk.close)
        desk.folder.mkdir(parents=True)
        desk.put("a.md", topic("a"))
        desk.memories.sync()
        desk.memories.close()
        session = Session(desk, "s")
        with no_room(home / "memstore"):
            told = session.writes("a.md", topic("a", body="on a full disk\n")).check(SECONDS["PostToolUse"] + GRACE)
            assert "is not recorded" in told.message and "the spool: No space left on device" in told.message
        at_rest(desk)
        desk.memories = desk.open()
        desk.memories.sync()
        assert "on a full disk" in desk.text("a") and desk.number("a") == 2


@pytest.mark.parametrize("outage", [no_room, no_inodes])
def test_a_session_that_starts_on_a_full_disk_is_told_so(
    tmp_path: Path, home: Path, outage: Callable[[Path], AbstractContextManager[None]]
):
    with ExitStack() as stack:
        try:
            stack.enter_context(small_disk(home / "memstore", "size=2m", "nr_inodes=100"))
        except Unable as unable:
            pytest.skip(str(unable))
        desk = Desk(tmp_path, 0.0)
        stack.callback(desk.close)
        desk.folder.mkdir(parents=True)
        desk.put("a.md", topic("a"))
        desk.memories.sync()
        desk.memories.close()
        with outage(home / "memstore"):
            assert "the disk is full; nothing was written" in Session(desk, "s").starts().message
        at_rest(desk)


def test_a_hook_whose_input_never_ends_gives_up_in_time(shop: Desk):
    reading, writing = os.pipe()
    begin = time.monotonic()
    with os.fdopen(writing, "wb"):
        done = subprocess.run([sys.executable, "-I", "-S", HOOK, "SessionEnd"], stdin=reading, capture_output=True)
    os.close(reading)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert SECONDS["SessionEnd"] <= time.monotonic() - begin < SECONDS["SessionEnd"] + GRACE


# What comes on standard input


def _deep(levels: int) -> bytes:
    return b'{"session_id":' + b"[" * levels + b"]" * levels + b"}"


INPUTS: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[1, 2]",
    "a null": b"null",
    "zeros": b"\0" * 100,
    "no text": b"\xff\xfe{}",
    "nested": _deep(100_000),
    "wrong types": json.dumps(
        {
            "session_id": ["x"], "transcript_path": 5, "cwd": {"a": 1}, "tool_name": 7, "tool_input": [1],
            "tool_response": "text", "tool_use_id": False, "source": 3, "prompt_id": {},
        }
    ).encode(),
    "giant": b'{"session_id": "s", "cwd": "/", "prompt": "' + b"x" * (50 << 20) + b'"}',
    "giant and no JSON": b"x" * (LARGEST + 1),
}  # fmt: skip


@pytest.mark.parametrize("event", SECONDS)
@pytest.mark.parametrize("name", INPUTS)
def test_input_that_no_client_would_give_is_passed_over_in_silence(shop: Desk, event: str, name: str):
    answer = start(event, INPUTS[name], shop.base / shop.root).check(SECONDS[event] + GRACE)
    assert answer.out == b""
    assert inbox(shop) == []


@pytest.mark.parametrize("field", ["tool_input", "tool_response", "session_id", "cwd", "tool_use_id", "tool_name"])
@pytest.mark.parametrize("value", [None, 1, "x", [], {}, "\ud800", "\0", "'; DROP TABLE inbox; --", "x" * 300])
def test_a_field_of_another_kind_loses_no_more_than_its_own_call(shop: Desk, field: str, value: object):
    session = Session(shop, "s")
    given = {"file_path": str(shop.folder / "b.md"), "content": "words\n"}
    response = {"content": "words\n", "originalFile": None}
    call = {"tool_name": "Write", "tool_use_id": "t", "tool_input": given, "tool_response": response, field: value}
    data = {**session.data("PostToolUse", **call), **call}
    start("PostToolUse", json.dumps(data).encode(), shop.base / shop.root).check(SECONDS["PostToolUse"] + GRACE)
    at_rest(shop)
    rows = inbox(shop, "name, session")
    assert rows in ([], [("b.md", data["session_id"])], [("b.md", "\ufffd")])
    with shop.memories.store.view() as connection:
        assert connection.execute("PRAGMA quick_check").get == "ok"


@pytest.mark.parametrize("session", ['"; rm -rf "$HOME"; "', "$(touch x)", "../../etc", "a b\nc", "\u202e\ufffd"])
def test_the_id_of_a_session_is_only_ever_data(shop: Desk, session: str):
    strange = Session(shop, session)
    before = sorted(os.listdir(shop.base))
    data = strange.data("Stop")
    data["transcript_path"] = f"{os.environ['HOME']}/.claude/projects/x/y.jsonl"
    start("Stop", json.dumps(data).encode(), shop.base / shop.root).check(SECONDS["Stop"] + GRACE)
    at_rest(shop)
    with shop.memories.store.view() as connection:
        assert connection.execute("SELECT session FROM job").get == session
    assert sorted(os.listdir(shop.base)) == before and os.path.isdir(os.environ["HOME"])


def test_a_hook_without_its_event_or_with_an_unknown_one_does_nothing(shop: Desk):
    for arguments in ([], ["Nope"], ["--site"], ["--site", "/nowhere"], ["work"], ["work", "x"]):
        done = subprocess.run([sys.executable, "-I", "-S", HOOK, *arguments], input=b"{}", capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), arguments


def test_a_hook_whose_libraries_are_not_found_does_nothing(shop: Desk):
    done = subprocess.run(
        [sys.executable, "-I", "-S", HOOK, "--site", "/nowhere", "Stop"], input=b"{}", capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

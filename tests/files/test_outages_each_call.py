"""A system call that writes with their files make fails once, the first time, the second … : nothing is lost."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

from memstore.errors import Mendable
from memstore.files import exchange
from tests.files.desk import Desk, topic
from tests.files.outages import check_closure, litter, pending

EXCHANGE = ["open", "read", "write", "stat", "fstat", "fsync", "fchmod", "utime"]
EXCHANGE += ["rename", "unlink", "scandir", "close", "mkdir"]
WITHOUT = ["open", "link", "rename", "unlink"]
CALLS: list[tuple[ModuleType, str, str]] = [
    (fcntl, "flock", "exchange"),
    *((os, name, "exchange") for name in EXCHANGE),
    *((os, name, "without") for name in WITHOUT),
]
HEAD = "# Mine\n\n- [A](a.md) \u2014 by hand\n- [B](b.md)\n- [C](c.md)\n"


class Failing:
    """The call, which fails at its `nth` use. Descriptors are closed all the same, as the system does."""

    def __init__(self, module: ModuleType, name: str, number: int, nth: int) -> None:
        self.real, self.name = getattr(module, name), name
        self.number, self.nth, self.uses = number, nth, 0

    def __call__(self, *given: object, **how: object) -> object:
        if self.name == "flock" and given[-1] == fcntl.LOCK_UN:  # it gives back what is one's own
            return self.real(*given)
        self.uses += 1
        if self.uses != self.nth:
            return self.real(*given, **how)
        if self.name == "close":
            self.real(*given)
        raise OSError(self.number, os.strerror(self.number))


def _prepared(base: Path) -> Desk:
    desk = Desk(base)
    for name in ("a", "b", "c"):
        desk.put(f"{name}.md", topic(name, body="one\ntwo\nthree\n"))
    desk.put("MEMORY.md", HEAD)
    desk.sync()
    desk.ahead += 70
    return desk


def _everything(desk: Desk, done: list[str]) -> None:
    """A write, a renaming, a deletion; `done`: whose were acknowledged."""
    desk.write("a", "changed\n")
    done.append("a")
    desk.memories.rename("b", "d")
    done.append("b")
    desk.memories.delete("c")
    done.append("c")


@pytest.mark.parametrize(("module", "call", "system"), CALLS, ids=[f"{name} {system}" for _, name, system in CALLS])
def test_a_call_that_fails_once_loses_nothing_and_the_next_sync_mends_it(
    tmp_path: Path, module: ModuleType, call: str, system: str, monkeypatch: pytest.MonkeyPatch
):
    number = errno.EIO if call in ("read", "stat", "fstat", "scandir", "close", "flock") else errno.ENOSPC
    if system == "without":
        monkeypatch.setattr(exchange, "_system_call", lambda: None)
    for nth in (*range(1, 16), *range(16, 400, 4)):
        desk = _prepared(tmp_path / str(nth))
        desk.edit("b.md", "two", "two, by hand")
        failing, done = Failing(module, call, number, nth), list[str]()
        with mock.patch.object(module, call, failing), suppress(Mendable):
            _everything(desk, done)
        _check(desk, done)
        desk.close()
        if failing.uses < nth:
            assert done == ["a", "b", "c"]
            return
    pytest.fail("they never needed the call no more")


def _check(desk: Desk, done: list[str]) -> None:
    for name, content in desk.files().items():
        assert content or not name.endswith(".md"), name
    desk.sync(70)
    report = desk.sync(70)
    assert report.quiet and litter(desk.folder) == [], (report, done)
    # What was not acknowledged may be done all the same.
    living = desk.living()
    assert "changed" in desk.text("a") or "a" not in done
    assert "d.md" in living or "b" not in done
    assert "c.md" not in living or "c" not in done
    assert "two, by hand" in desk.text("d" if "d.md" in living else "b")
    assert set(living) - {"c.md"} in ({"a.md", "b.md"}, {"a.md", "d.md"})
    for path in living:
        assert desk.read(path) == desk.text(path)
    assert sorted(name for name in desk.files() if name != ".memstore") == sorted([*living, "MEMORY.md"])
    assert desk.set_aside() == [] and desk.memories.store.conflicts() == []
    check_closure(desk)
    assert pending(report) == {}

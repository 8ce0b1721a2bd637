"""A dream that is killed anywhere has done all of it or nothing, its lease is free at once, the next one does it."""

from __future__ import annotations

import os
import shutil
import signal
import traceback
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from memstore.jobs.messages import Reply, Request
from tests.jobs.night import Night, Told, deletes, dropped, edits, reads, reworded, writes
from tests.messages_api import Say
from tests.store.killed import die_before
from tests.store.stores import check_witness

PLAN = (
    reads("port", "staging", "cache"),
    (
        writes("port", "a 1", "b 2", sources=["staging.md"], quote="the cache is on h2"),
        edits("cache", "c 1", "c one", lines=[reworded("c 1", "c one")]),
        writes("new", "n 1"),
    ),
    (deletes("staging", into="port.md", lines=[dropped("about staging")]),),
    Say("Tidied up."),
)
VISIBLE = (
    *("memory", "version", "operation", "line", "line_version", "text", "search_document", "source", "run_step"),
    *("run_line", "dream", "dream_seen"),
)
DONE = "acknowledged"


class Dying:
    """A model around whose answers its process is killed."""

    def __init__(self, at: str, nth: int) -> None:
        self._told, self._at, self._nth = Told(*PLAN), at, nth

    def reply(self, request: Request) -> Reply:
        number = len(self._told.asked) + 1
        if (self._at, self._nth) == ("before", number):
            os.kill(os.getpid(), signal.SIGKILL)
        reply = self._told.reply(request)
        if (self._at, self._nth) == ("after", number):
            os.kill(os.getpid(), signal.SIGKILL)
        return reply


def begun(directory: Path) -> None:
    night = Night(directory)
    night.keep("port", "a 1")
    night.keep("staging", "b 2")
    night.keep("cache", "c 1")
    for number in range(4):
        night.keep(f"other-{number}", f"fact {number}")
    night.session("from now on the cache is on h2")
    night.close()


def opened(directory: Path, **more: Any) -> Night:
    night = Night(directory, **more)
    night.look()
    return night


def killed(directory: Path, at: str, nth: int) -> bool:
    """A dream in a process that is killed there; whether it was over before."""
    child = os.fork()
    if child == 0:
        try:
            night = opened(directory, model=Dying(at, nth), ids="dead")
            finish = night.store.finish_run

            def finishing(*given: Any, **more: Any) -> Any:
                if at == "statement":
                    die_before(night.store, nth, lambda: None)
                done = finish(*given, **more)
                night.store._link.connection.exec_trace = None
                return done

            night.store.finish_run = finishing  # type: ignore[method-assign]  # only its end is to be killed
            night.dream()
            (directory / DONE).touch()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    return (directory / DONE).exists()


def deaths() -> Iterator[tuple[str, int]]:
    for nth in range(1, len(PLAN) + 1):
        yield "before", nth
        yield "after", nth
    yield from (("statement", nth) for nth in count(1))


def state(night: Night) -> dict[str, Any]:
    """What a dream has done, but for ids and moments."""
    return {
        "memories": [(each.path, each.state, each.version, each.origin) for each in night.store.memories(retired=True)],
        "index": night.index(),
        "steps": [night.steps(n) for n, run in enumerate(night.runs()) if run.state == "done"],
    }


def without_ids(found: dict[str, Any]) -> dict[str, Any]:
    memories = [
        (path, each.content, each.live, each.superseded_by is None, *rest) for path, each, *rest in found["memories"]
    ]
    return {**found, "memories": sorted(memories)}


def test_a_dream_that_is_killed_anywhere_has_done_all_of_it_or_nothing(tmp_path: Path):
    begun(tmp_path / "begun")
    shutil.copytree(tmp_path / "begun", tmp_path / "whole")
    night = opened(tmp_path / "whole")
    before = night.rows(*VISIBLE)
    assert night.dream(*PLAN).end.outcome == "saved"
    end = without_ids(state(night))
    assert [len(each) for each in end["steps"]] == [4]
    night.close()

    left: list[object] = []
    for at, nth in deaths():
        place = tmp_path / f"{at}-{nth}"
        shutil.copytree(tmp_path / "begun", place)
        over = killed(place, at, nth)
        night = opened(place)  # the lease of a process that is gone is free at once
        found = night.rows(*VISIBLE)
        done = bool(found["run_step"])
        assert (found == before) is not done, (at, nth)
        if done:
            assert without_ids(state(night)) == end, (at, nth)
        kind = (done, [(run.state, run.turns) for run in night.runs()])
        if kind not in left:
            left.append(kind)
            again = night.dream(*([] if done else PLAN))
            assert again.end.outcome == ("nothing" if done else "saved")
            assert without_ids(state(night))["memories"] == end["memories"], (at, nth)
            assert all(run.state != "running" for run in night.runs())
        night.close()
        shutil.rmtree(place) if not over else None
        if over:
            break
    assert at == "statement" and nth > 40 and len(left) == 2
    check_witness(place / "store", tmp_path / "witness")

"""The daily log with many processes at once, and with processes that die."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import pytest

from memstore.app import Memstore
from memstore.core.daylog import pieces
from tests.race.crowd import CONTEXT, crowd
from tests.race.log_workers import LINES, keep, note_and_die


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TZ", "UTC")
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return tmp_path / "repo"


def said(repo: Path) -> list[str]:
    """All entries in the files, in their order there; nothing else stands in them."""
    with Memstore.open(str(repo)) as memories:
        memories.sync()
        assert memories.place.folder is not None
        files = sorted(Path(memories.place.folder).glob("logs/*/*/*.md"))
        found = [piece for file in files for piece in pieces(file.read_text(encoding="utf-8"))]
        kept = [item.text for day in memories.day_log(days=2) for item in day.items]
    assert {piece.who for piece in found} <= {"note"}
    assert sorted(kept) == sorted(piece.text for piece in found)
    return [piece.text for piece in found]


def test_h37d_twenty_processes_mix_no_entries_and_lose_none(repo: Path):
    Memstore.open(str(repo)).close()
    crowd(20, keep, str(repo), dict(os.environ), 50)
    found = said(repo)
    assert sorted(found) == sorted(LINES.format(f"{number}-{n}") for number in range(20) for n in range(50))
    for number in range(20):  # each process's own in their order
        mine = [text.split(" ")[0] for text in found if text.startswith(f"{number}-")]
        assert mine == [f"{number}-{n}" for n in range(50)]


def acknowledgement(said: Pipe) -> bool:
    """Whether a process that is gone had said anything."""
    try:
        return bool(said.recv())
    except EOFError:
        return False


def test_whoever_is_killed_has_kept_an_entry_or_not_and_none_stands_twice_or_torn(repo: Path):
    with Memstore.open(str(repo)) as memories:
        memories.note("first")
    acknowledged, kept = ["first"], 1
    moments = [*((0, at) for at in ("before", "half", "after")), *((n, "") for n in range(1, 100, 2))]
    for statement, at in moments:
        text = f"{statement}{at}\n### of {statement}{at}"
        here, there = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=note_and_die, args=(there, str(repo), dict(os.environ), text, statement, at))
        process.start()
        there.close()
        process.join(60)
        assert process.exitcode == -9
        done = acknowledgement(here)
        found = said(repo)
        assert found[:kept] == acknowledged[:kept] and len(found) - kept <= 1
        assert found[kept:] in ([text], [] if not done and not at else [text])
        acknowledged, kept = found, len(found)
        if done:
            break
    else:
        pytest.fail("the last one was to live long enough")
    assert len(acknowledged) > 8

"""`memstore notes`: which sessions have notes, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memstore.app import Memstore
from memstore.core.notes_text import TEMPLATE
from tests.cli.conftest import Run
from tests.store.stores import keep_notes

Keep = Callable[..., None]


@pytest.fixture
def keep(repo: Path, run: Run) -> Keep:
    """Keeps the notes of a session, with a title and a line on the current state."""

    def call(session: str, title: str, state: str = "under way", worktree: str = "/srv/shop") -> None:
        text = TEMPLATE.replace("told from others._", f"told from others._\n\n{title}")
        text = text.replace("next steps._", f"next steps._\n\n{state}")
        with Memstore.open(str(repo)) as memories:
            keep_notes(memories.store, session, text.encode(), worktree=worktree)

    run("sync")
    return call


def test_sessions_with_notes_are_listed_the_last_change_first(run: Run, keep: Keep):
    keep("aaaa-1", "Port of the cache")
    keep("bbbb-2", "Red build")
    keep("aaaa-1", "Port of the cache", "done")
    for call in (("notes",), ("notes", "list")):
        rows = [line.split("\t") for line in run(*call).out.splitlines()]
        assert [(row[0], row[2], row[4], row[5]) for row in rows] == [
            ("aaaa-1", "2", "main", "Port of the cache"),
            ("bbbb-2", "1", "main", "Red build"),
        ]
    assert run("notes", "list", "-n", "1").out.startswith("aaaa-1\t")
    listed = run("notes", "list", "--json").json["notes"]
    assert [(one["session"], one["title"], one["versions"]) for one in listed] == [
        ("aaaa-1", "Port of the cache", 2),
        ("bbbb-2", "Red build", 1),
    ]
    assert "content" not in listed[0]


def test_notes_are_shown_whole(run: Run, keep: Keep):
    keep("aaaa-1", "Port of the cache", "porting to h2")
    shown = run("notes", "show", "aaaa-1")
    assert shown.out.startswith("aaaa-1  version 1, ") and ", main, /srv/shop\n\n# Session Title\n" in shown.out
    assert "porting to h2" in shown.out and "# Worklog" in shown.out
    found = run("notes", "show", "aaaa-1", "--json").json
    assert (
        "porting to h2" in found["content"] and found["encoding"] == "utf-8" and found["title"] == "Port of the cache"
    )


def test_the_beginning_of_an_id_will_do_where_it_is_one_sessions(run: Run, keep: Keep):
    keep("aaaa-1", "One")
    keep("aabb-2", "Two")
    keep("aa", "Three")
    assert run("notes", "show", "aab").out.startswith("aabb-2  ")
    assert run("notes", "show", "aa").out.startswith("aa  ")
    several = run("notes", "show", "a")
    assert several.code != 0 and "3 sessions begin with 'a'" in several.err and "such as " in several.err
    absent = run("notes", "show", "zz")
    assert absent.code != 0 and "no session 'zz' has notes" in absent.err
    assert run("notes", "show", "").code != 0


def test_earlier_versions_are_kept(run: Run, keep: Keep):
    keep("aaaa-1", "One", "porting")
    keep("aaaa-1", "One", "testing")
    first = run("notes", "show", "aaaa-1", "--version", "1")
    assert "version 1 of 2" in first.out and "porting" in first.out and "testing" not in first.out
    assert run("notes", "show", "aaaa-1", "--version", "1", "--json").json["version"] == 1
    none = run("notes", "show", "aaaa-1", "--version", "3")
    assert none.code != 0 and "they have versions 1 to 2" in none.err


def test_without_a_session_its_own_notes_come_first_then_those_of_the_worktree(
    run: Run, keep: Keep, repo: Path, monkeypatch: pytest.MonkeyPatch
):
    keep("aaaa-1", "One")
    keep("bbbb-2", "Two")
    assert run("notes", "show").out.startswith("bbbb-2  ")
    keep("cccc-3", "Three", worktree=str(repo))
    keep("dddd-4", "Four")
    assert run("notes", "show").out.startswith("cccc-3  ")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "aaaa-1")
    assert run("notes", "show").out.startswith("aaaa-1  ")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "eeee-5")
    assert run("notes", "show").out.startswith("cccc-3  ")


def test_where_no_session_has_notes_it_is_said(run: Run):
    run("sync")
    assert run("notes").out == "" and "no session has notes yet" in run("notes").err
    assert run("notes", "list", "--json").json["notes"] == []
    shown = run("notes", "show")
    assert shown.code != 0 and "no session has notes yet" in shown.err
    run("config", "set", "notes.enabled", "false")
    assert "switched off: notes.enabled" in run("notes").err


def test_what_cannot_be_seen_is_an_escape(run: Run, keep: Keep):
    keep("aaaa-1", "Port\x1b[31m of\u200b the cache")
    assert "Port\\x1b[31m of\\u200b the cache" in run("notes").out
    assert "Port\\x1b[31m of\\u200b the cache" in run("notes", "show").out


def test_notes_are_in_no_other_list(run: Run, keep: Keep, folder: Path):
    run("write", "note", "a word")
    keep("aaaa-1", "Port of the zeppelin")
    assert run("list").out.count("\n") == 1 and run("search", "zeppelin").out == ""
    assert "aaaa-1" not in run("log").out + run("sync").out + run("show", "MEMORY.md").out
    assert run("status", "--json").json["counts"]["live"] == 1
    assert run("show", "aaaa-1").code != 0
    assert sorted(path.name for path in folder.glob("*.md")) == ["MEMORY.md", "note.md"]

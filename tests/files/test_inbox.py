"""Rules 5 to 11 through a real folder and a real store: sessions write as the client does, and their hooks tell."""

from __future__ import annotations

import shutil

import pytest

from memstore.files import walk
from memstore.files.committing import Committer
from memstore.files.folder import Folder
from memstore.files.inbox import AT_WORK
from memstore.store import inbox
from memstore.store.store import Store
from tests.files.desk import Desk, Silent, noted, rules, topic
from tests.files.sessions import Session
from tests.files.test_project import between, litter

BODY = "one\ntwo\nthree\nfour\nfive\n"
INDEX = "# Notes\n\n- [A](a.md) — about a\n"


@pytest.fixture
def silent(desk: Desk) -> Silent:
    return Silent(desk)


def settled(desk: Desk, name: str = "a", body: str = BODY) -> None:
    desk.put(f"{name}.md", topic(name, body=body))
    desk.sync()
    assert desk.sync().quiet


def author(desk: Desk, name: str) -> tuple[str, str | None]:
    """Who wrote the newest version of a memory: origin and session."""
    head = desk.head(name)
    assert head is not None
    operation = desk.memories.operation(str(head.seq))
    return operation.provenance.origin, operation.provenance.session


def waiting(desk: Desk) -> list[str]:
    with desk.memories.store.view() as connection:
        folder = str(desk.folder.resolve())
        names = inbox.names_waiting(connection, folder)
        return [each.call.id for name in names for each in inbox.waiting(connection, folder, name)]


# MEMORY.md


def test_eight_sessions_that_write_the_index_whole_from_what_they_loaded_leave_eight_lines(desk: Desk):
    settled(desk)
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    sessions = [Session(desk, f"s{number}") for number in range(8)]
    for session in sessions:
        session.load()
    for number, session in enumerate(sessions):
        session.write("MEMORY.md", f"{INDEX}- note of session {number}\n")
    desk.sync()
    text = desk.read("MEMORY.md")
    assert all(f"- note of session {number}\n" in text for number in range(8))
    assert text.startswith(INDEX)
    assert desk.sync().quiet


def test_a_session_takes_out_of_the_index_only_what_it_had_loaded(desk: Desk):
    settled(desk)
    desk.put("MEMORY.md", f"{INDEX}- old note\n<!--\nhidden\n-->\n")
    desk.sync()
    session = Session(desk, "s")
    session.load()
    desk.write("b", "words\n", description="about b")
    session.write("MEMORY.md", INDEX)
    desk.sync()
    text = desk.read("MEMORY.md")
    assert "old note" not in text
    assert "hidden" in text and "(b.md)" in text


def test_a_session_that_had_loaded_nothing_takes_nothing_out_of_the_index(desk: Desk):
    settled(desk)
    desk.put("MEMORY.md", f"{INDEX}- a note by hand\n")
    desk.sync()
    Session(desk, "s").write("MEMORY.md", "- a line of its own\n")
    desk.sync()
    text = desk.read("MEMORY.md")
    assert "a note by hand" in text and "a line of its own" in text and "(a.md)" in text


def test_an_edit_of_the_index_that_somebody_wrote_unseen_takes_both_in(desk: Desk):
    settled(desk)
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    desk.put("MEMORY.md", f"{INDEX}- by hand\n")
    Session(desk, "s").edit("MEMORY.md", "about a", "all about a")
    report = desk.sync()
    assert desk.read("MEMORY.md") == f"{INDEX.replace('about a', 'all about a')}- by hand\n"
    assert [rule for path, _, rule in rules(report) if path == "MEMORY.md"] == [7, 8]
    assert desk.sync().quiet


# Topics


def test_rule_06_rows_that_arrive_in_any_order_are_taken_in_the_order_of_their_originals(desk: Desk):
    settled(desk)
    one, other = Session(desk, "one"), Session(desk, "other")
    first = one.calls_edit("a.md", "one\n", "one, first\n").begin().act()
    second = other.calls_edit("a.md", "five\n", "five, second\n").begin().act()
    second.tell()
    first.tell()
    desk.sync()
    assert desk.text("a") == desk.read("a.md")
    assert "one, first" in desk.text("a") and "five, second" in desk.text("a")
    assert desk.number("a") == 3


def test_rule_06_a_call_that_arrives_twice_counts_once(desk: Desk):
    settled(desk)
    call = Session(desk, "s").edit("a.md", "one\n", "one, edited\n")
    desk.sync()
    call.tell()
    call.begin()
    assert rules(desk.sync()) == []
    assert desk.number("a") == 2
    assert waiting(desk) == []


def test_rule_07_what_a_session_overwrote_unseen_by_anybody_is_taken_in_before_it(desk: Desk):
    settled(desk)
    desk.edit("a.md", "five\n", "five\nby hand\n")
    session = Session(desk, "s")
    session.read("a.md")
    desk.edit("a.md", "two\n", "two, by hand\n")
    session.write("a.md", topic("a", body=f"{BODY}by hand\nby the agent\n"))
    desk.sync()
    text = desk.text("a")
    assert "two, by hand" in text and "by the agent" in text and text.count("by hand\n") == 2
    assert author(desk, "a") == ("agent", "s")
    head = desk.head("a")
    assert head is not None and head.origin == "file"  # the least trusted of those whose words it has


def test_rule_07_a_new_file_that_a_session_overwrote_at_once_is_in_the_history_and_in_a_conflict(desk: Desk):
    settled(desk, "other")
    desk.put("a.md", topic("a", body="words of a person\n"))
    Session(desk, "s").write("a.md", topic("a", body="words of an agent\n"))
    desk.sync()
    texts = [version.state.content.decode() for version in desk.memories.versions("a")]
    conflicts = [record.theirs.decode() for record in desk.memories.conflicts()]
    assert any("words of a person" in text for text in texts)
    assert any("words of an agent" in text for text in (*texts, *conflicts))


def test_rule_08_an_edit_is_merged_over_what_it_found(desk: Desk, silent: Silent):
    settled(desk)
    silent.write("a", BODY.replace("one", "one, by the tool"))
    Session(desk, "s").edit("a.md", "five\n", "five, by the agent\n")
    report = desk.sync()
    assert noted(report, "a.md").rule == 8
    assert desk.read("a.md") == desk.text("a")
    assert "one, by the tool" in desk.text("a") and "five, by the agent" in desk.text("a")
    assert author(desk, "a") == ("agent", "s")
    assert desk.sync().quiet


def test_rule_09_a_write_is_merged_over_what_its_session_had_seen(desk: Desk):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    desk.write("a", BODY.replace("one", "one, by the tool"))
    session.write("a.md", topic("a", body=BODY.replace("five", "five, by the agent")))
    desk.sync()
    assert "one, by the tool" in desk.text("a") and "five, by the agent" in desk.text("a")
    assert desk.read("a.md") == desk.text("a")


def test_rule_09_a_second_write_is_merged_over_the_first(desk: Desk):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    session.write("a.md", topic("a", body=f"{BODY}six\n"))
    desk.sync()
    desk.write("a", f"{BODY}six\nby the tool\n")
    session.write("a.md", topic("a", body=f"zero\n{BODY}"))
    desk.sync()
    text = desk.text("a")
    assert "zero" in text and "by the tool" in text and "six" not in text


def test_rule_10_a_write_by_a_session_that_had_seen_nothing_drops_no_line(desk: Desk):
    settled(desk)
    session = Session(desk, "s")
    written = session.write("a.md", topic("a", body="other words\n"))
    report = desk.sync()
    assert noted(report, "a.md").what == "conflict"
    assert "one\n" in desk.text("a")
    assert [record.theirs for record in desk.memories.conflicts()] == [written.result]
    assert desk.read("a.md") == desk.text("a")


def test_rule_10_a_write_by_a_session_that_had_seen_nothing_and_keeps_all_lines_is_a_version(desk: Desk):
    settled(desk)
    Session(desk, "s").write("a.md", topic("a", body=f"{BODY}six\n"))
    assert noted(desk.sync(), "a.md").what == "revised"
    assert desk.text("a").endswith("six\n")


def test_rule_11_a_row_leaves_what_is_shown_and_the_file_that_it_wrote_holds_no_news(desk: Desk):
    settled(desk)
    before = desk.shown("a.md")
    session = Session(desk, "s")
    session.edit("a.md", "one\n", "one, edited\n")
    stamps = desk.stamps()
    report = desk.sync()
    assert rules(report) == [("a.md", "revised", 8)]
    assert desk.stamps()["a.md"] == stamps["a.md"]
    after = desk.shown("a.md")
    assert before is not None and after is not None and after.content == session.file("a.md")
    assert desk.number("a") == 2
    assert desk.sync().quiet


def test_rule_11_a_file_that_a_person_made_of_a_sessions_text_is_merged_over_that(desk: Desk, silent: Silent):
    settled(desk)
    Session(desk, "s").edit("a.md", "one\n", "one, by the agent\n")
    desk.edit("a.md", "five\n", "five, by hand\n")
    silent.write("a", BODY.replace("three", "three, by the tool"))
    desk.sync()
    text = desk.text("a")
    assert all(words in text for words in ("one, by the agent", "three, by the tool", "five, by hand"))
    assert desk.memories.conflicts() == []


def test_a_sessions_new_memory_is_the_sessions_and_waits_for_its_own_line(desk: Desk):
    settled(desk)
    Session(desk, "s").write("b.md", topic("b", "about b"))
    desk.sync()
    assert author(desk, "b") == ("agent", "s")
    assert not any("b.md" in line for line in desk.index())
    desk.ahead += 61
    desk.sync()
    assert any("b.md" in line for line in desk.index())


def test_a_session_brings_no_deleted_memory_back_from_an_old_copy_and_does_with_new_words(desk: Desk):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    old = desk.read("a.md")
    desk.memories.delete("a")
    session.write("a.md", old)
    report = desk.sync()
    assert desk.living() == []
    assert noted(report, "a.md").rule == 18
    session.write("a.md", old + "new words\n")
    desk.sync()
    assert desk.living() == ["a.md"]
    assert desk.text("a").endswith("new words\n")


# Rule 5


def test_rule_05_a_name_with_a_session_at_work_is_neither_scanned_nor_projected(desk: Desk):
    settled(desk)
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    call = Session(desk, "s").calls_edit("a.md", "one\n", "one, by the agent\n").begin().act()
    saved = desk.memories.append("a", "by the tool")
    assert [(unshown.path, unshown.reason) for unshown in saved.files.pending] == [("a.md", AT_WORK)]
    assert desk.read("a.md") == call.result.decode()
    call.tell()
    desk.sync()
    assert "one, by the agent" in desk.text("a") and "by the tool" in desk.text("a")
    assert author(desk, "a")[1] == "s"
    assert desk.read("a.md") == desk.text("a")


def test_rule_05_of_a_session_that_died_the_write_that_lies_there_is_its_own(desk: Desk):
    settled(desk)
    Session(desk, "s").calls_edit("a.md", "one\n", "one, by the agent\n").begin().act()
    desk.sync(6.0)
    assert author(desk, "a") == ("agent", "s")
    assert desk.number("a") == 2
    assert desk.sync().quiet


def test_rule_05_of_a_session_that_died_before_it_wrote_nothing_is_left(desk: Desk):
    settled(desk)
    Session(desk, "s").calls_edit("a.md", "one\n", "one, by the agent\n").begin()
    assert "a.md" in desk.sync(1.0).waiting
    assert desk.sync(6.0).absorbed == ()
    assert desk.number("a") == 1
    assert desk.sync().quiet
    assert waiting(desk) == []


def test_rule_05_what_a_dead_session_found_and_overwrote_is_not_lost(desk: Desk):
    settled(desk)
    desk.edit("a.md", "five\n", "five, by hand\n")
    call = Session(desk, "s").calls_write("a.md", topic("a", body="all new\n")).begin().act()
    assert call.original is not None
    desk.sync(6.0)
    kept = desk.text("a") + "".join(record.theirs.decode() for record in desk.memories.conflicts())
    assert "five, by hand" in kept and "all new" in kept


def test_rule_05_a_call_that_is_told_of_late_counts_once_and_what_it_overwrote_is_taken_in(desk: Desk):
    settled(desk)
    call = Session(desk, "s").calls_edit("a.md", "one\n", "one, by the agent\n").begin()
    desk.sync(6.0)
    desk.edit("a.md", "five\n", "five, by hand\n")
    call.result = desk.read("a.md").replace("one\n", "one, by the agent\n").encode()
    call.act().tell()
    desk.sync()
    assert "one, by the agent" in desk.text("a") and "five, by hand" in desk.text("a")
    heard = Session(desk, "t").calls_edit("a.md", "two\n", "two, by another\n").begin().act()
    desk.sync(6.0)
    number = desk.number("a")
    heard.tell()
    assert rules(desk.sync()) == []
    assert desk.number("a") == number


# Between folder and store


def test_rule_35_what_a_session_wrote_during_a_projection_is_merged_over_what_it_had_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    between(
        desk, monkeypatch, lambda: session.write("a.md", topic("a", body=BODY.replace("five", "five, by the agent")))
    )
    desk.write("a", BODY.replace("one", "one, by the tool"))
    desk.sync()
    assert "one, by the tool" in desk.text("a") and "five, by the agent" in desk.text("a")
    assert author(desk, "a")[1] is not None or desk.number("a") == 3
    assert desk.read("a.md") == desk.text("a")
    assert litter(desk) == []
    assert desk.memories.conflicts() == []


def test_rule_35_a_session_that_is_still_at_work_is_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    call = session.calls_write("a.md", topic("a", body=BODY.replace("five", "five, by the agent")))

    def at_work() -> None:
        call.begin().act()
        desk.during_pause = call.tell

    between(desk, monkeypatch, at_work)
    desk.write("a", BODY.replace("one", "one, by the tool"))
    desk.sync()
    assert "one, by the tool" in desk.text("a") and "five, by the agent" in desk.text("a")
    assert "s" in {
        desk.memories.operation(str(version.seq)).provenance.session for version in desk.memories.versions("a")
    }
    assert desk.memories.conflicts() == []


def test_what_sessions_did_in_another_folder_of_the_store_is_taken_in_here(desk: Desk):
    settled(desk)
    other = desk.second()
    other.memories.sync()
    Session(other, "s").edit("a.md", "one\n", "one, over there\n")
    assert "one, over there" in desk.memories.show("a")[1].state.content.decode()


def test_a_search_finds_what_a_session_wrote_although_the_folder_has_not_been_scanned(desk: Desk):
    settled(desk)
    Session(desk, "s").edit("a.md", "one\n", "quetzal\n")
    assert [hit.path for hit in desk.memories.search("quetzal")[1]] == ["a.md"]


# Bad rows


@pytest.mark.parametrize("name", ["../escape.md", "x.md~", "a/../../b.md", ".hidden.md", "no-markdown.txt"])
def test_a_row_of_a_name_that_is_no_memory_is_given_up_and_said(desk: Desk, name: str):
    settled(desk)
    session = Session(desk, "s")
    call = session.calls_write("a.md", topic("a"))
    call.name = name
    call.tell()
    report = desk.sync()
    assert any(name in notice for notice in report.notices)
    assert waiting(desk) == []
    assert desk.living() == ["a.md"]


@pytest.mark.parametrize("result", [b"", b"\0" * 64, b"---\nname: a\n"])
def test_a_broken_text_of_a_session_is_no_edit(desk: Desk, result: bytes):
    settled(desk)
    call = Session(desk, "s").calls_write("a.md", "x")
    call.result = result
    call.begin().act().tell()
    desk.sync()
    desk.sync()
    assert "one\n" in desk.text("a")
    assert desk.read("a.md") == desk.text("a")


def test_a_session_may_write_bytes_that_are_no_text(desk: Desk):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    call = session.calls_write("a.md", "x")
    call.result = topic("a", body="caf").encode() + b"\xe9\n"
    call.begin().act().tell()
    desk.sync()
    head = desk.head("a")
    assert head is not None
    kept = [head.state.content, *(record.theirs for record in desk.memories.conflicts())]
    assert call.result in kept


# A process that dies


class Killed(BaseException):
    """Stands for the end of a process: nothing of it is caught or mended by the code on the way."""


def die(*_: object, **__: object) -> None:
    raise Killed


def dies(desk: Desk, patch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """A tool's write whose process ends where `name` would have been called."""
    with patch.context() as context:
        context.setattr(owner, name, die)
        with pytest.raises(Killed):
            desk.write("a", BODY.replace("one", "one, by the tool"))
    desk.ahead += 61  # its process still runs, so that only age tells that the files it left are nobody's


def test_rule_04_after_a_death_before_anything_was_recorded_what_came_out_is_merged_over_what_was_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    settled(desk)
    settled(desk, "other")
    between(desk, monkeypatch, lambda: desk.edit("a.md", "five\n", "five, by hand\n"))
    dies(desk, monkeypatch, Folder, "is_in_place")
    desk.sync()
    assert "one, by the tool" in desk.text("a") and "five, by hand" in desk.text("a")
    assert desk.read("a.md") == desk.text("a")
    assert litter(desk) == [] and desk.memories.conflicts() == []


def test_rule_04_after_a_death_before_the_look_what_came_out_is_merged_over_what_had_been_shown_before(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    settled(desk)
    settled(desk, "other")
    between(desk, monkeypatch, lambda: desk.edit("a.md", "five\n", "five, by hand\n"))
    dies(desk, monkeypatch, Committer, "look")
    desk.sync()
    assert "one, by the tool" in desk.text("a") and "five, by hand" in desk.text("a")
    assert desk.read("a.md") == desk.text("a")
    assert litter(desk) == [] and desk.memories.conflicts() == []
    assert desk.sync().quiet


def test_rule_04_a_text_that_was_put_by_a_process_that_died_is_no_edit_however_the_memory_went_on(
    desk: Desk, silent: Silent, monkeypatch: pytest.MonkeyPatch
):
    settled(desk)
    settled(desk, "other")
    dies(desk, monkeypatch, Folder, "is_in_place")
    silent.write("a", BODY.replace("one", "one, by another tool"))
    report = desk.sync()
    assert [noted for noted in report.absorbed if noted.path == "a.md"] == []
    assert desk.memories.conflicts() == []
    assert desk.read("a.md") == desk.text("a")
    assert litter(desk) == []


# What a deterministic simulation has found


def test_a_file_that_was_renamed_by_hand_and_edited_by_a_session_at_once_keeps_its_history(desk: Desk):
    settled(desk)
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    (desk.folder / "a.md").rename(desk.folder / "b.md")
    Session(desk, "s").edit("b.md", "one\n", "one, edited\n")
    report = desk.sync()
    assert ("b.md", "renamed", 28) in rules(report)
    assert desk.living() == ["b.md"]
    assert "one, edited" in desk.text("b") and desk.number("b") == 3
    assert "about a" in desk.read("MEMORY.md")
    assert desk.sync().quiet


def test_a_write_that_a_person_allowed_late_is_its_sessions_before_its_hook_tells_of_it(desk: Desk):
    settled(desk)
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    session = Session(desk, "s")
    session.load()
    call = session.calls_write("MEMORY.md", f"{INDEX}- by the agent\n").begin()
    desk.sync(6.0)
    desk.put("MEMORY.md", f"{INDEX}- by hand\n")
    desk.sync()
    call.act()
    desk.sync()
    text = desk.read("MEMORY.md")
    assert "by hand" in text and "by the agent" in text
    call.tell()
    desk.sync()
    assert desk.read("MEMORY.md") == text
    assert desk.sync().quiet


def test_a_call_that_was_never_made_is_forgotten_after_an_hour(desk: Desk):
    settled(desk)
    call = Session(desk, "s").calls_edit("a.md", "one\n", "one, by the agent\n").begin()
    desk.sync(6.0)
    desk.ahead += 3_700
    call.act()
    desk.sync()
    assert author(desk, "a") == ("file", None)


def test_after_a_death_before_anything_was_recorded_an_old_buffer_takes_out_nothing_that_was_projected(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    settled(desk)
    settled(desk, "other")
    old = desk.read("a.md")
    dies(desk, monkeypatch, Folder, "is_in_place")
    desk.sync()
    desk.put("a.md", old.replace("five\n", "five, by hand\n"))
    desk.sync()
    assert "one, by the tool" in desk.text("a") and "five, by hand" in desk.text("a")


def test_an_old_buffer_takes_out_nothing_that_was_projected_into_a_folder_that_was_swept_away(
    desk: Desk, silent: Silent
):
    settled(desk)
    old = desk.read("a.md")
    silent.write("a", f"{BODY}\nby the tool\n")
    shutil.rmtree(desk.folder)
    desk.sync()
    assert "by the tool" in desk.read("a.md")
    desk.put("a.md", old.replace("one\n", "one, by hand\n"))
    desk.sync()
    assert "by the tool" in desk.text("a") and "one, by hand" in desk.text("a")


def test_a_death_while_a_swept_folder_is_put_back_deletes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    for name in ("a", "b", "c"):
        settled(desk, name)
    shutil.rmtree(desk.folder)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Store, "forget_shown", die)
        desk.sync()
    desk.sync()
    desk.sync()
    assert desk.living() == ["a.md", "b.md", "c.md"]
    assert desk.read("a.md") == desk.text("a")


def test_a_folder_that_is_removed_while_it_is_made_is_made_again(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    shutil.rmtree(desk.folder)
    desk.memories.files.absorb()
    desk.ahead += 5
    opened = walk.open_directory
    removed: list[str] = []

    def first(handle: int | None, name: str) -> int:
        if handle is None and desk.folder.exists() and not removed:
            removed.append(name)
            shutil.rmtree(desk.folder)
        return opened(handle, name)

    monkeypatch.setattr(walk, "open_directory", first)
    desk.sync()
    assert removed and desk.read("a.md") == desk.text("a")


def test_a_session_that_died_after_it_had_written_twice_is_taken_in_in_order(desk: Desk):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    first = session.calls_edit("a.md", "one\n", "one, first\n").begin().act()
    first.tell()
    session.calls_edit("a.md", "five\n", "five, second\n").begin().act()
    desk.sync(6.0)
    assert "one, first" in desk.text("a") and "five, second" in desk.text("a")
    assert desk.read("a.md") == desk.text("a")

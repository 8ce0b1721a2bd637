"""The laws of syncing: whatever people, tools and clocks do, nothing typed is lost, and a sync comes to rest."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from memstore.core.model import INDEX_NAME
from memstore.errors import Mendable
from memstore.files.folder import Folder
from memstore.files.sync import Verdict
from tests.files.desk import Desk, Silent, topic
from tests.files.sessions import Session

NAMES = [f"m{number}" for number in range(6)]
WORD = re.compile(r"typed[0-9]+")
_SAID = (
    "SELECT content FROM text WHERE id IN (SELECT text FROM version UNION SELECT theirs FROM conflict"
    " UNION SELECT text FROM set_aside)"
)
_LINES = (
    "SELECT text FROM line_version UNION ALL SELECT content FROM text WHERE id IN"
    " (SELECT theirs FROM conflict UNION SELECT text FROM set_aside)"
)

names = st.sampled_from(NAMES)
folders = st.sampled_from([0, 0, 0, 1])
styles = st.sampled_from(["in place", "temporary file", "backup"])
places = st.integers(0, 5)


class Office(RuleBasedStateMachine):
    """Two folders of one store, persons at their files, tools, writers that die, and a clock."""

    @initialize()
    def begin(self) -> None:
        self.base = Path(tempfile.mkdtemp())
        self.typed = 0
        self.buffers: dict[tuple[int, str], str] = {}
        home = os.environ["MEMSTORE_HOME"]
        os.environ["MEMSTORE_HOME"] = str(self.base / "home")
        try:
            first = Desk(self.base, variables={"CLAUDE_CONFIG_DIR": str(self.base / "first")})
            self.desks = [first, first.second()]
        finally:
            os.environ["MEMSTORE_HOME"] = home
        for name in NAMES[:4]:
            first.put(f"{name}.md", topic(name, body="".join(f"{self.word()}\n" for _ in range(4))))
        first.put(INDEX_NAME, f"# {self.word()}\n\n- [M](m0.md) \u2014 {self.word()}\n- {self.word()}\n- [N](m1.md)\n")
        self.act(lambda: first.sync())

    def teardown(self) -> None:
        if hasattr(self, "desks"):
            self.desks[0].close()
            shutil.rmtree(self.base)

    # What is checked

    def word(self) -> str:
        self.typed += 1
        return f"typed{self.typed}"

    def act(self, work: Callable[[], object]) -> None:
        """Something that memstore does: every word that lay in a file is safe afterwards."""
        topics, index = self.on_disk()
        with contextlib.suppress(Mendable):
            work()
        topics_after, index_after = self.on_disk()
        with self.desks[0].memories.store.view() as connection:
            said = _words(connection.execute(_SAID)) | topics_after
            lines = _words(connection.execute(_LINES)) | index_after
        assert topics <= said, topics - said
        assert index <= lines, index - lines
        for desk in self.desks:
            left = [name for name in desk.files() if name.startswith(".memstore-")] if desk.folder.exists() else []
            assert left == []

    def on_disk(self) -> tuple[set[str], set[str]]:
        topics: set[str] = set()
        index: set[str] = set()
        for desk in self.desks:
            for name, text in desk.files().items() if desk.folder.exists() else ():
                if name.endswith(".md"):
                    (index if name == INDEX_NAME else topics).update(WORD.findall(text.decode()))
        return topics, index

    # Persons

    def save(self, desk: Desk, name: str, text: str, style: str) -> None:
        path = desk.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if style == "temporary file":
            spare = path.with_name(f"{path.name}.tmp.812.ab12cd")
            spare.write_text(text)
            os.replace(spare, path)
        elif style == "backup" and path.exists():
            os.replace(path, path.with_name(f"{path.name}~"))
            path.write_text(text)
            path.with_name(f"{path.name}~").unlink()
        else:
            path.write_text(text)

    def change(self, text: str, place: int, how: str) -> str:
        lines = text.split("\n")
        at = min(len(lines) - 1, 5 + place) if text.startswith("---") else min(len(lines) - 1, place)
        if how == "insert" or lines[at] == "---":
            lines.insert(at + (lines[at] == "---"), self.word())
        elif how == "replace":
            lines[at] = self.word()
        elif len(lines) > 7:
            del lines[at]
        return "\n".join(lines)

    @rule(at=folders, name=names, style=styles, place=places, how=st.sampled_from(["insert", "replace", "delete"]))
    def person_edits(self, at: int, name: str, style: str, place: int, how: str) -> None:
        desk = self.desks[at]
        if (desk.folder / f"{name}.md").exists():
            self.save(desk, f"{name}.md", self.change(desk.read(f"{name}.md"), place, how), style)

    @rule(at=folders, name=names)
    def person_opens(self, at: int, name: str) -> None:
        if (self.desks[at].folder / f"{name}.md").exists():
            self.buffers[at, name] = self.desks[at].read(f"{name}.md")

    @rule(at=folders, name=names, style=styles, place=places)
    def person_saves_what_was_opened_earlier(self, at: int, name: str, style: str, place: int) -> None:
        if (at, name) in self.buffers and (self.desks[at].folder / f"{name}.md").exists():
            text = self.change(self.buffers.pop((at, name)), place, "insert")
            self.save(self.desks[at], f"{name}.md", text, style)

    @rule(at=folders, name=names)
    def person_makes_a_file(self, at: int, name: str) -> None:
        if not (self.desks[at].folder / f"{name}.md").exists():
            self.save(self.desks[at], f"{name}.md", topic(name, body=f"{self.word()}\n{self.word()}\n"), "in place")

    @rule(at=folders, name=names)
    def person_deletes_a_file(self, at: int, name: str) -> None:
        (self.desks[at].folder / f"{name}.md").unlink(missing_ok=True)

    @rule(at=folders, name=names, to=st.sampled_from([*NAMES, "M0", "sub/m9"]))
    def person_moves_a_file(self, at: int, name: str, to: str) -> None:
        old, new = self.desks[at].folder / f"{name}.md", self.desks[at].folder / f"{to}.md"
        if old.exists() and not new.exists():
            new.parent.mkdir(exist_ok=True)
            os.rename(old, new)

    @rule(at=folders, style=styles, place=places, how=st.sampled_from(["insert", "replace", "delete", "swap", "link"]))
    def person_edits_the_index(self, at: int, style: str, place: int, how: str) -> None:
        desk = self.desks[at]
        if not (desk.folder / INDEX_NAME).exists():
            return
        lines = desk.read(INDEX_NAME).split("\n")
        spot = min(len(lines) - 1, place)
        if how == "insert":
            lines.insert(spot, f"- {self.word()}")
        elif how == "replace":
            lines[spot] = f"- {self.word()}"
        elif how == "delete":
            del lines[spot]
        elif how == "swap":
            lines[spot], lines[0] = lines[0], lines[spot]
        else:
            lines.insert(spot, f"- [{self.word()}](m{place}.md) \u2014 {self.word()}")
        self.save(desk, INDEX_NAME, "\n".join(lines), style)

    @rule(at=folders, text=st.sampled_from([None, "", "\n"]))
    def the_index_vanishes(self, at: int, text: str | None) -> None:
        path = self.desks[at].folder / INDEX_NAME
        if path.exists() and not WORD.search(path.read_text()):
            path.unlink() if text is None else path.write_text(text)

    # Tools

    @rule(at=folders, name=names)
    def tool_writes(self, at: int, name: str) -> None:
        self.act(lambda: self.desks[at].write(name, f"{self.word()}\n{self.word()}\n", description=self.word()))

    @rule(at=folders, name=names)
    def tool_appends(self, at: int, name: str) -> None:
        self.act(lambda: self.desks[at].memories.append(name, self.word()))

    @rule(at=folders, name=names)
    def tool_deletes(self, at: int, name: str) -> None:
        self.act(lambda: self.desks[at].memories.delete(name))

    @rule(at=folders, name=names, to=st.sampled_from([*NAMES, "M0"]))
    def tool_renames(self, at: int, name: str, to: str) -> None:
        self.act(lambda: self.desks[at].memories.rename(name, to))

    @rule(at=folders)
    def tool_undoes(self, at: int) -> None:
        last = self.desks[at].memories.store.operations(limit=1)
        self.act(lambda: self.desks[at].memories.undo(last[0][0].id))

    @rule(name=names)
    def a_writer_dies(self, name: str) -> None:
        with contextlib.suppress(Mendable):
            Silent(self.desks[0]).write(name, f"{self.word()}\n")

    @rule(name=names, other=names, style=styles, place=places)
    def a_person_saves_while_a_tool_writes(self, name: str, other: str, style: str, place: int) -> None:
        desk = self.desks[0]
        put_many, waiting = Folder.put_many, [name]

        def late(folder: Folder, files: Sequence[tuple[str, bytes, bytes | None]]):
            while waiting:
                path = f"{waiting.pop()}.md"
                if (desk.folder / path).exists():
                    self.save(desk, path, self.change(desk.read(path), place, "insert"), style)
            return put_many(folder, files)

        self.tool_writes(0, other)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Folder, "put_many", late)
            self.tool_writes(0, name)
        self.act(lambda: desk.sync())

    # The clock and the sync

    @rule(seconds=st.sampled_from([0.4, 1.2, 5.0, 90.0, -30.0]))
    def time_passes(self, seconds: float) -> None:
        for desk in self.desks:
            desk.ahead += seconds

    @rule(at=folders)
    def somebody_looks(self, at: int) -> None:
        self.act(lambda: self.desks[at].memories.files.absorb())

    @rule(at=folders, verdict=st.sampled_from(["ask", "ask", "accept", "restore"]))
    def somebody_syncs(self, at: int, verdict: Verdict) -> None:
        self.act(lambda: self.desks[at].memories.sync(verdict=verdict))

    @rule(at=folders, verdict=st.sampled_from(["accept", "restore"]))
    @precondition(lambda self: self.typed > 30)
    def syncing_comes_to_rest(self, at: int, verdict: Verdict) -> None:
        desk = self.desks[at]
        desk.ahead += 200
        self.act(lambda: desk.memories.sync(verdict=verdict))
        self.act(lambda: desk.sync())
        before = (desk.stamps(), desk.versions(), desk.index(), desk.memories.store.operations(limit=1)[0][0].seq)
        report = desk.sync()
        assert report.absorbed == () and report.projected == () and report.removed == () and report.pending == ()
        after = (desk.stamps(), desk.versions(), desk.index(), desk.memories.store.operations(limit=1)[0][0].seq)
        assert after == before
        for memory in desk.memories.store.memories():
            from memstore.core.frontmatter import alike

            assert alike((desk.folder / memory.path).read_bytes(), memory.state.content)


def _words(rows) -> set[str]:
    return {
        word
        for (text,) in rows
        for word in WORD.findall(text if isinstance(text, str) else text.decode("utf-8", "replace"))
    }


TestOffice = Office.TestCase
TestOffice.settings = settings(
    max_examples=40 if not os.environ.get("MEMSTORE_PROVE") else 3_000,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


# The laws one by one


def filled(desk: Desk) -> None:
    for name in ("a", "b"):
        desk.put(f"{name}.md", topic(name, f"about {name}", body=f"text of {name}\nand more\n"))
    desk.put(INDEX_NAME, "# Mine\n- [A](a.md) \u2014 hook\n")
    desk.sync()


def test_l1_what_a_person_put_into_the_folder_is_kept_somewhere(desk: Desk):
    filled(desk)
    desk.write("a", "the tool's\n")
    desk.put("a.md", topic("a", "about a", body="the person's\n"))
    desk.put("latin.md", b"caf\xe9\n")
    desk.put("empty.md", "")
    desk.sync()
    assert desk.text("a").endswith("the person's\n")
    assert b"caf\xe9\n" in [memory.state.content for memory in desk.memories.store.memories()]
    assert (desk.folder / "empty.md").exists()


def test_l2_one_bad_file_stops_no_other(desk: Desk):
    filled(desk)
    (desk.folder / "link.md").symlink_to("a.md")
    desk.put("empty.md", "")
    desk.put("bytes.md", b"---\nname: \xff\n---\n\xff\n")
    desk.put(INDEX_NAME, b"\xff\n")
    desk.put("good.md", topic("good"))
    desk.sync()
    assert "good.md" in desk.living() and "bytes.md" in desk.living()


def test_l3_a_refusal_names_the_thing_the_reason_and_the_next_step(desk: Desk):
    filled(desk)
    desk.folder.chmod(0o777)
    (notice,) = desk.sync().notices
    assert str(desk.folder) in notice and "chmod" in notice
    desk.folder.chmod(0o755)
    (desk.folder / ".memstore").write_text("{broken")
    (notice,) = desk.sync().notices
    assert ".memstore" in notice and "delete that file" in notice


def test_l4_a_second_sync_writes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    filled(desk)
    desk.edit("a.md", "more", "much more")
    desk.write("c", "text\n")
    desk.sync()
    desk.sync()
    before = (desk.stamps(), desk.versions(), (desk.folder).stat().st_mtime_ns)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the store was written")

    monkeypatch.setattr(type(desk.memories.store), "show", never)
    monkeypatch.setattr(type(desk.memories.store), "apply", never)
    assert desk.sync().quiet
    assert (desk.stamps(), desk.versions(), (desk.folder).stat().st_mtime_ns) == before


def test_l4_a_second_sync_right_after_the_first_reads_young_files_again_and_writes_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    filled(desk)
    desk.ahead = 0
    desk.edit("a.md", "more", "much more")
    desk.sync(0)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the store was written")

    monkeypatch.setattr(type(desk.memories.store), "show", never)
    assert desk.sync(0).quiet


def test_l4_the_first_sync_of_a_folder_changes_no_byte_and_no_mtime(desk: Desk):
    desk.put("a.md", topic("a").replace("\n", "\r\n"))
    desk.put("sub/b.md", "no header")
    desk.put(INDEX_NAME, "- [Gone](gone.md)\n- [A](a.md)\nno end")
    desk.put("pic.png", b"\x89PNG")
    before = desk.stamps()
    report = desk.sync()
    assert report.taken_over and report.projected == () and report.removed == ()
    after = desk.stamps()
    del after[".memstore"]
    assert after == before
    assert desk.sync().quiet


def test_l5_what_was_said_to_be_saved_is_read_back_by_another_process(desk: Desk):
    filled(desk)
    saved = desk.write("a", "changed\n")
    with desk.open() as other:
        assert other.show("a")[1].token == saved.memory.token
    assert desk.read("a.md").endswith("changed\n")


# Looking before answering


def test_a_search_sees_what_was_edited_in_place(desk: Desk):
    filled(desk)
    desk.sync()
    desk.sync()
    desk.edit("a.md", "text of a", "zebra crossing")
    _, hits = desk.memories.search("about")
    assert [hit.path for hit in hits] == ["a.md", "b.md"]
    assert [hit.path for hit in desk.memories.search("zebra")[1]] == ["a.md"]


def test_a_read_sees_new_and_exchanged_files(desk: Desk):
    filled(desk)
    desk.sync()
    desk.sync()
    desk.put("c.md", topic("c"))
    assert [memory.path for memory in desk.memories.memories()] == ["a.md", "b.md", "c.md"]
    desk.sync()
    desk.sync()
    spare = desk.put("a.md.tmp.1", topic("a", body="exchanged\n"))
    os.replace(spare, desk.folder / "a.md")
    assert desk.memories.show("a")[1].state.content.endswith(b"exchanged\n")


def test_a_rehearsed_sync_writes_nothing_and_says_what_would_be_taken_in(desk: Desk):
    filled(desk)
    Silent(desk).write("c", "text\n")
    desk.edit("a.md", "more", "much more")
    desk.put("new.md", topic("new"))
    before = (desk.stamps(), desk.versions())
    rehearsed = desk.memories.sync(dry_run=True)
    assert (desk.stamps(), desk.versions()) == before
    report = desk.sync()
    assert rehearsed.absorbed == report.absorbed
    assert set(rehearsed.projected) == set(report.projected)


def test_a_rehearsed_sync_of_a_folder_that_is_asked_about_says_so(desk: Desk):
    filled(desk)
    (desk.folder / ".memstore").unlink()
    rehearsed = desk.memories.sync(dry_run=True)
    (said,) = rehearsed.notices
    assert rehearsed.folder is None and "nothing would be decided" in said
    assert "`memstore sync --accept`" in said and "`memstore sync --restore`" in said
    assert not (desk.folder / ".memstore").exists()
    assert desk.sync().notices == (said.replace("would be", "was"),)


def test_a_rehearsed_sync_of_a_folder_that_was_swept_away_says_that_it_waits(desk: Desk):
    filled(desk)
    shutil.rmtree(desk.folder)
    rehearsed = desk.memories.sync(dry_run=True)
    assert rehearsed.waiting == (str(desk.folder.resolve()),) and rehearsed.projected == ()
    assert not desk.folder.exists()
    assert desk.sync().put_back > 0


def test_a_rehearsed_sync_into_a_folder_that_is_yet_to_be_made_says_what_would_be_put(desk: Desk):
    empty = desk.second()
    assert empty.memories.sync(dry_run=True).quiet
    filled(desk)
    there = desk.second()
    rehearsed = there.memories.sync(dry_run=True)
    assert not there.folder.exists()
    report = there.sync()
    assert rehearsed.projected == report.projected != ()
    assert rehearsed.taken_over and report.taken_over


def test_a_rehearsed_sync_says_which_files_sessions_are_at_work_on(desk: Desk):
    filled(desk)
    Session(desk, "s").calls_edit("a.md", "more", "much more").begin().act()
    rehearsed = desk.memories.sync(dry_run=True)
    assert (rehearsed.absorbed, rehearsed.waiting) == ((), ("a.md",))
    assert desk.memories.files.absorb().waiting == ("a.md",)

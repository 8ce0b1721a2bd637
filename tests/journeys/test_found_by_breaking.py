"""Histories in which words were lost or a promise broken once. Each stands for its kind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memstore import Memstore, Mendable, Wanted
from memstore.core.changes import ChangeSet, Revise
from memstore.core.frontmatter import set_field
from memstore.core.model import Applied
from memstore.files.report import SyncReport
from memstore.store.store import Store
from memstore.world import World


class Clock:
    """Unix microseconds that pass only when told to."""

    def __init__(self) -> None:
        self.ahead = 0
        self.real = World.real("/").clock

    def __call__(self) -> int:
        return self.real() + self.ahead


class Here:
    """One repository's memories, its folder, and its clock."""

    def __init__(self, repository: Path) -> None:
        self.clock = Clock()
        world = replace(World.real(os.fspath(repository)), clock=self.clock, pause=self.tick)
        self.world = world
        self.memories = Memstore.open(world=world)
        self.folder = Path(self.memories.place.placement.directory)

    def tick(self, seconds: float = 5) -> None:
        self.clock.ahead += int(seconds * 1_000_000)

    def put(self, name: str, text: str | bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def get(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture
def here(repository: Path) -> Iterator[Here]:
    place = Here(repository)
    yield place
    place.memories.close()


def test_a_hand_edit_of_an_index_line_outlives_a_write_that_moves_the_line_meanwhile(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.put("MEMORY.md", "# Notes\n\n- keep\n")
    here.memories.write("x", Wanted(body="hello", description="old words"))
    here.tick()
    here.put("MEMORY.md", here.get("MEMORY.md").replace("old words", "PRECIOUS"))
    real = Store.apply
    moved: list[bool] = []

    def apply(self: Store, change_set: ChangeSet, **more: object) -> Applied:
        if change_set.kind == "absorb" and not moved:
            moved.append(True)
            head = here.memories.memories()[0]
            content = set_field(head.state.content, "description", "newer words")
            other = ChangeSet(
                here.world.new_id(), "set", here.clock(), change_set.provenance, (Revise(head.id, head.token, content),)
            )
            real(self, other)
        return real(self, change_set, **more)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(Store, "apply", apply)
    monkeypatch.setattr(here.memories.files, "absorb", lambda: SyncReport(None))
    here.memories.files.run()
    monkeypatch.undo()
    assert moved
    kept = here.get("MEMORY.md") + "".join(record.theirs.decode() for record in here.memories.conflicts())
    assert "PRECIOUS" in kept


def test_words_typed_behind_our_count_of_omissions_stay(here: Here) -> None:
    here.put("MEMORY.md", "".join(f"- line {n}\n" for n in range(230)))
    here.memories.sync()
    here.memories.write("note", Wanted(body="x"))
    here.tick()
    here.put("MEMORY.md", here.get("MEMORY.md").rstrip("\n") + " PRECIOUS\n")
    here.memories.sync()
    here.tick()
    here.memories.write("other", Wanted(body="y"))
    assert any("PRECIOUS" in line.text for line in here.memories.store.index())


def test_undoing_what_gave_a_memory_its_line_leaves_it_due(here: Here) -> None:
    here.put("orphan.md", "o\n")
    here.put("MEMORY.md", "# h\n")
    here.memories.sync()
    here.tick(70)
    pinned = here.memories.pin("orphan")
    here.memories.undo(str(pinned.seq))
    here.memories.write("other", Wanted(body="x"))
    assert here.get("MEMORY.md").count("(orphan.md)") == 1


def test_undoing_an_undo_revives_no_line_of_a_memory_that_was_deleted_meanwhile(here: Here) -> None:
    here.put("out.md", "o\n")
    here.put("MEMORY.md", "# h\n")
    here.memories.sync()
    here.tick()
    written = here.memories.write("n", Wanted(body="x"))
    undone = here.memories.undo(str(written.seq))
    here.memories.delete("out")
    here.memories.undo(str(undone.seq))
    assert "out.md" not in here.get("MEMORY.md")


def test_undoing_an_undo_makes_no_second_line_for_a_memory(here: Here) -> None:
    here.put("out.md", "o\n")
    here.put("MEMORY.md", "# h\n")
    here.memories.sync()
    here.tick()
    written = here.memories.write("n", Wanted(body="x"))
    undone = here.memories.undo(str(written.seq))
    here.memories.write("k", Wanted(body="k"))
    here.memories.undo(str(undone.seq))
    assert here.get("MEMORY.md").count("(out.md)") == 1


def test_both_sides_of_a_conflict_keep_bytes_that_are_not_utf8(here: Here) -> None:
    here.put("a.md", b"one\n")
    here.memories.sync()
    here.tick()
    here.put("a.md", b"caf\xe9\n")
    head = here.memories.store.memories()[0]
    who = here.world.provenance(here.memories.place.root)
    here.memories.store.apply(
        ChangeSet(here.world.new_id(), "write", here.clock(), who, (Revise(head.id, head.token, b"two\n"),))
    )
    here.memories.sync()
    here.memories.resolve(here.memories.conflicts()[0].id, "both")
    assert (here.folder / "a.md").read_bytes() == b"two\ncaf\xe9\n"


def test_show_returns_what_lies_in_the_file_now(here: Here) -> None:
    here.memories.write("note", Wanted(body="old"))
    here.tick()
    here.memories.sync()
    here.tick()
    with open(here.folder / "note.md", "r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"new\n")
    assert here.memories.show("note")[1].state.content.endswith(b"new\n")


def test_the_index_names_no_file_that_could_not_be_put(here: Here) -> None:
    here.memories.write("first", Wanted(body="x"))
    (here.folder / "blocked.md").mkdir()
    saved = here.memories.write("blocked", Wanted(body="y"))
    assert [unshown.path for unshown in saved.files.pending] == ["blocked.md"]
    assert "blocked.md" not in here.get("MEMORY.md")
    (here.folder / "blocked.md").rmdir()
    here.tick()
    here.memories.sync()
    assert "(blocked.md)" in here.get("MEMORY.md")
    assert (here.folder / "blocked.md").is_file()


def test_equal_texts_survive_export_and_import(here: Here, tmp_path: Path) -> None:
    here.put("a.md", "same\n")
    here.put("b.md", "same\n")
    here.memories.sync()
    here.memories.export_directory(os.fspath(tmp_path / "out"))
    other = tmp_path / "other"
    other.mkdir()
    with Memstore.open(os.fspath(other)) as memories:
        memories.import_directory(os.fspath(tmp_path / "out"))
        memories.export_directory(os.fspath(tmp_path / "again"))
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == first


def test_an_import_names_every_file_that_it_leaves(here: Here, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "torn.md").write_bytes(b"half" + bytes(40))
    report = here.memories.import_directory(os.fspath(tmp_path / "source"))
    assert [path for path, _ in report.skipped] == ["torn.md"]


@pytest.mark.parametrize("target", ["", ".git/hooks", "memstore home"])
def test_an_export_goes_nowhere_that_is_kept_for_other_things(
    here: Here, repository: Path, home: Path, target: str
) -> None:
    directory = {"": "", "memstore home": os.fspath(home / "memstore" / "stores")}.get(
        target, os.fspath(repository / target)
    )
    here.memories.write("note", Wanted(body="x"))
    with pytest.raises(Mendable):
        here.memories.export_directory(directory)
    assert not (repository / ".git" / "hooks" / "note.md").exists()


def test_a_takeover_changes_no_byte_of_an_index_that_counts_its_omissions(here: Here) -> None:
    here.put("a.md", "x\n")
    text = "- [a](a.md)\n- … 3 more memories: find them with `memstore search`\n"
    here.put("MEMORY.md", text)
    here.memories.sync()
    assert here.get("MEMORY.md") == text


def test_undoing_a_change_of_line_ends_brings_the_bytes_back(here: Here) -> None:
    here.put("MEMORY.md", "# h\n- a\n")
    here.memories.sync()
    here.tick()
    here.put("MEMORY.md", "# h\r\n- a\r\n")
    report = here.memories.sync()
    here.tick()
    here.memories.undo(str(report.seq))
    assert (here.folder / "MEMORY.md").read_bytes() == b"# h\n- a\n"


def test_a_second_folder_follows_a_memory_that_took_anothers_path(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here.memories.write("a", Wanted(body="text of a"))
    here.memories.write("b", Wanted(body="text of b"))
    environment = {**here.world.environment, "CLAUDE_CONFIG_DIR": os.fspath(tmp_path / "second")}
    with Memstore.open(world=replace(here.world, environment=environment)) as second:
        second.sync()
        here.tick()
        here.memories.delete("a")
        here.memories.rename("b", "a")
        here.tick()
        second.sync()
        here.tick()
        second.sync()
        assert second.conflicts() == []
        folder = Path(second.place.placement.directory)
        assert "text of b" in (folder / "a.md").read_text()
        assert not (folder / "b.md").exists()


def test_a_text_that_no_folder_would_show_is_refused_before_it_is_saved(here: Here) -> None:
    with pytest.raises(Mendable, match="16777216"):
        here.memories.write("huge", Wanted(body="x" * (16 * 1024 * 1024 + 1)))
    assert here.memories.memories() == []


def test_one_closed_directory_does_not_keep_an_import_from_the_others(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memstore.files import walk

    source = tmp_path / "source"
    (source / "closed").mkdir(parents=True)
    (source / "open.md").write_text("readable\n")
    real = walk.open_directory

    def refuse(handle: int | None, name: str) -> int:
        if name == "closed":
            raise PermissionError(13, "Permission denied")
        return real(handle, name)

    monkeypatch.setattr(walk, "open_directory", refuse)
    report = here.memories.import_directory(os.fspath(source))
    assert [noted.path for noted in report.noted] == ["open.md"]
    assert [path for path, _ in report.skipped] == ["closed"]


def test_what_went_along_with_a_moved_folder_does_not_count_as_shown(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from memstore.files.folder import Folder

    here.memories.write("first", Wanted(body="x"))
    real = Folder.put_many

    def moved_away(self: Folder, files: list[tuple[str, bytes, bytes | None]]) -> object:
        if here.folder.exists():
            here.folder.rename(tmp_path / "moved")
        return real(self, files)

    monkeypatch.setattr(Folder, "put_many", moved_away)
    saved = here.memories.write("second", Wanted(body="y"))
    assert "moved or deleted meanwhile" in saved.files.notices[0]
    monkeypatch.undo()
    here.tick()
    here.memories.sync()
    assert {"MEMORY.md", "first.md", "second.md"} <= {path.name for path in here.folder.iterdir()}

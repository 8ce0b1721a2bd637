"""Restoring: what is refused, what is kept, what becomes of the files, and who notices."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memstore.core.changes import ChangeSet, Retire
from memstore.errors import Conflict, InputRefused, NotFound, StoreBusy, StoreDamaged, StoreNewer
from memstore.store import jobs, leases, restoring, runs
from memstore.store.ddl import migrations
from memstore.store.migrate import schema_version
from memstore.store.process import me
from memstore.upkeep import backups, purging, rebuilding
from memstore.upkeep.restoring import Restored, plan, restore
from tests.files.desk import Desk
from tests.store.stores import check_witness, who


def back_up(desk: Desk) -> str:
    return backups.back_up(desk.memories).path


def put_back(desk: Desk, reference: str) -> Restored:
    """Restores, and looks at the folder as the next command does."""
    world = desk.world()
    return restore(world, plan(world, reference, reference))


def texts(desk: Desk) -> dict[str, bytes]:
    return {memory.path: memory.state.content for memory in desk.memories.store.memories()}


def database(desk: Desk) -> Path:
    return Path(desk.memories.store.path)


def test_the_store_holds_what_the_backup_held_and_restoring_what_was_before_takes_it_back(desk: Desk):
    for name in ("same", "changed", "deleted"):
        desk.write(name, f"{name} at first.\n")
    then = texts(desk)
    backup = back_up(desk)
    desk.write("changed", "Changed since.\n")
    desk.write("new", "New since.\n")
    desk.memories.delete("deleted")
    now, files, index_now = texts(desk), desk.files(), desk.read("MEMORY.md")

    done = put_back(desk, "latest")
    assert texts(desk) == then and desk.files() == files
    assert done.plan.source == backup and done.plan.holds.memories == 3
    assert done.before is not None and list(done.back) == ["deleted.md"] and done.aside == ()
    assert done.files is not None
    assert {noted.path for noted in done.files.absorbed} == {"changed.md", "new.md", "MEMORY.md"}
    (last, _), *_ = desk.memories.store.operations()
    assert (last.seq, last.kind, os.path.basename(done.before) in last.reason) == (done.seq, "restore-backup", True)

    # What lies in the folder is an edit, as any other; what was deleted since is shown again, with its line.
    desk.sync()
    assert desk.head("changed").state.content == now["changed.md"]  # type: ignore[union-attr]  # it is there
    assert desk.living() == ["changed.md", "deleted.md", "new.md", "same.md"]
    assert desk.read("deleted.md").endswith("deleted at first.\n") and "[deleted]" in desk.read("MEMORY.md")
    assert desk.sync().quiet

    back = put_back(desk, done.before)
    desk.sync()
    assert texts(desk) == now and set(index_now.split("\n")) <= set(desk.read("MEMORY.md").split("\n"))
    assert back.before is not None
    desk.close()
    check_witness(database(desk).parent, desk.base / "witness")


def test_numbers_of_operations_are_not_given_again(desk: Desk):
    desk.write("a", "One.\n")
    back_up(desk)
    for text in ("Two.\n", "Three.\n"):
        desk.write("a", text)
    before = [operation.seq for operation, _ in desk.memories.log()]
    assert put_back(desk, "latest").seq > max(before)


def test_a_restore_that_would_be_undone_says_how_to_take_it_back(desk: Desk):
    desk.write("a", "One.\n")
    back_up(desk)
    done = put_back(desk, "latest")
    with pytest.raises(Conflict, match="nothing that could be taken back"):
        desk.memories.undo(str(done.seq))


def test_all_who_have_the_store_open_go_on_with_the_restored_rows(desk: Desk):
    desk.write("a", "At first.\n")
    back_up(desk)
    other = desk.open()
    desk.write("a", "Changed.\n")
    assert other.show("a")[0].state.content.endswith(b"Changed.\n")
    identity = database(desk).stat().st_ino
    (desk.folder / "a.md").unlink()  # nothing that the next look could take in again
    put_back(desk, "latest")
    assert database(desk).stat().st_ino == identity
    assert other.store.memories()[0].state.content.endswith(b"At first.\n")
    _, hits = other.search("first")
    assert len(hits) == 1 or "a.md" in other.store.missing(str(desk.folder), ["a.md"])


def test_a_write_between_the_copy_and_the_lock_is_in_the_backup_of_the_state_before(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    desk.write("a", "At first.\n")
    back_up(desk)
    real: Callable[..., None] = restoring.put

    def late(path: str, draft: str, locked: Callable[[], None], step: object) -> None:
        desk.memories.store.apply(_retire(desk, "a"))
        real(path, draft, locked, None)

    monkeypatch.setattr(restoring, "put", late)
    done = put_back(desk, "latest")
    assert done.before is not None
    assert desk.living() == ["a.md"]
    put_back(desk, done.before)
    assert desk.living() == []


def _retire(desk: Desk, name: str) -> ChangeSet:
    head = desk.head(name)
    assert head is not None
    return ChangeSet("late", "test", desk.world().clock(), who(), (Retire(head.id, head.token),))


def test_the_number_of_a_write_just_before_the_lock_is_not_given_again(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.write("a", "At first.\n")
    back_up(desk)
    real: Callable[..., None] = restoring.put
    numbers = []

    def late(path: str, draft: str, locked: Callable[[], None], step: object) -> None:
        numbers.append(desk.memories.store.apply(_retire(desk, "a")).seq)
        real(path, draft, locked, None)

    monkeypatch.setattr(restoring, "put", late)
    assert put_back(desk, "latest").seq > numbers[0]


def test_two_restores_do_not_meet_and_a_mended_database_is_not_renamed(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.write("a", "At first.\n")
    back_up(desk)
    monkeypatch.setattr(restoring, "_SECONDS", 0.05)
    with restoring.alone(str(database(desk).parent)), pytest.raises(StoreBusy, match="is restoring"):
        put_back(desk, "latest")
    path = database(desk)
    desk.close()
    sound = path.read_bytes()
    path.write_bytes(b"not a database")
    planned = plan(desk.world(), "latest", "latest")
    damaged = rebuilding.damage(desk.world())
    path.write_bytes(sound)  # by somebody else, while a person was asked
    with pytest.raises(Conflict, match="mended meanwhile"):
        restore(desk.world(), planned)
    with pytest.raises(Conflict, match="is sound"):
        rebuilding.rebuild(desk.world(), damaged)
    assert [name for name in os.listdir(path.parent) if "damaged" in name] == []


def test_a_backup_with_other_pages_is_restored(desk: Desk, tmp_path: Path):
    desk.write("a", "At first.\n")
    other = apsw.Connection(back_up(desk))
    other.execute("PRAGMA page_size = 8192; VACUUM")
    other.close()
    put_back(desk, "latest")
    assert desk.living() == ["a.md"]


def test_a_restore_that_fails_leaves_everything_as_it_was(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.write("a", "At first.\n")
    back_up(desk)
    desk.write("a", "Changed.\n")
    before, files = texts(desk), desk.files()

    def broken(reader: object, source: object, step: object) -> None:
        raise StoreBusy("no")

    monkeypatch.setattr("memstore.upkeep.restoring.backup.copy", broken)
    monkeypatch.setattr("memstore.store.restoring.backup.copy", broken)
    with pytest.raises(StoreBusy):
        put_back(desk, "latest")
    assert (texts(desk), desk.files()) == (before, files)
    assert not [name for name in os.listdir(database(desk).parent) if name.startswith(restoring.DRAFT)]


def test_a_writer_who_keeps_the_lock_is_waited_for_and_then_told(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.write("a", "At first.\n")
    back_up(desk)
    monkeypatch.setattr(restoring, "_SECONDS", 0.1)
    monkeypatch.setattr("memstore.store.connection.BUSY_MILLISECONDS", 50)
    holder = apsw.Connection(str(database(desk)))
    planned = plan(desk.world(), "latest", "latest")
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="nothing was changed"):
        restore(desk.world(), planned)
    holder.execute("ROLLBACK")
    holder.close()
    assert restore(desk.world(), planned).seq > 0


def test_what_went_on_when_the_backup_was_made_does_not_wake_up(desk: Desk):
    store = desk.memories.store
    desk.write("a", "At first.\n")
    with store.change() as connection:
        now = store.now()
        leases.take(connection, "dream", "somebody", me(), now, lambda _: True)
        for session in ("one", "two", "three"):
            connection.execute(_QUEUE, (session, session, now))
        assert jobs.claim(connection, "extract", now + 10**9) is not None
        runs.begin(connection, "run-1", "extract", "one", now)
    back_up(desk)
    with store.change() as connection:
        connection.execute("UPDATE job SET state = 'done' WHERE session = 'two'")
    put_back(desk, "latest")
    with store.view() as connection:
        assert leases.current(connection, "dream") is None
        states = {str(row[0]): row[1] for row in connection.execute("SELECT session, state FROM job")}
        ended = connection.execute("SELECT state, outcome, reason FROM run").fetchone()
    assert states == {"one": "failed", "two": "done", "three": "waiting"}
    assert ended == ("failed", "failed", "the database was restored from a backup")


_QUEUE = (
    "INSERT INTO job (id, kind, state, session, transcript, cwd, event, at)"
    " VALUES (?, 'extract', 'waiting', ?, '', '', 'Stop', ?)"
)


def test_a_backup_with_an_older_schema_is_brought_up_to_date_first(desk: Desk, tmp_path: Path):
    from tests.store.older import older

    old = older(tmp_path / "old", 3)
    made = apsw.Connection(str(old))
    made.execute("UPDATE store SET id = ?", (desk.memories.store.id,))
    made.close()
    desk.write("a", "At first.\n")
    put_back(desk, str(old))
    assert desk.living() == ["note.md"]
    assert not [name for name in os.listdir(database(desk).parent) if name.startswith(restoring.DRAFT)]
    with desk.memories.store.view() as connection:
        assert schema_version(connection) == len(migrations())


def test_a_backup_whose_index_of_words_is_damaged_gets_a_new_one(desk: Desk, tmp_path: Path):
    desk.write("a", "harbour\n")
    spoilt = tmp_path / "spoilt.db"
    shutil.copy(back_up(desk), spoilt)
    made = apsw.Connection(str(spoilt))
    made.execute("DELETE FROM search_index_data WHERE id > 10")
    made.close()
    put_back(desk, str(spoilt))
    assert [hit.path for hit in desk.memories.search("harbour")[1]] == ["a.md"]


def test_a_plain_copy_of_the_database_file_is_a_backup_and_nothing_is_made_beside_it(desk: Desk, tmp_path: Path):
    desk.write("a", "At first.\n")
    path = database(desk)
    desk.close()
    place = tmp_path / "a place?with #signs%20"
    place.mkdir()
    shutil.copy(path, place / "copy.db")
    desk.memories = desk.open()
    desk.write("b", "Later.\n")
    (desk.folder / "b.md").unlink()
    put_back(desk, str(place / "copy.db"))
    assert desk.living() == ["a.md"] and [found.name for found in place.iterdir()] == ["copy.db"]


def test_what_cannot_be_restored_is_refused_and_nothing_changes(desk: Desk, tmp_path: Path):
    desk.write("a", "At first.\n")
    backup = Path(back_up(desk))
    other = desk.other("elsewhere")
    other.write("b", "Theirs.\n")
    theirs = backups.back_up(other.memories).path
    newer, flipped, noise = (tmp_path / name for name in ("newer.db", "flipped.db", "noise.db"))
    shutil.copy(backup, newer)
    made = apsw.Connection(str(newer))
    made.pragma("user_version", 9999)
    made.close()
    content = bytearray(backup.read_bytes())
    for at in range(4096, len(content), 4096):
        content[at : at + 8] = b"\xff" * 8
    flipped.write_bytes(content)
    noise.write_bytes(b"SQLite format 3\0" + os.urandom(8192))
    before, files = texts(desk), desk.files()
    refused: list[tuple[str, type[Exception], str]] = [
        (theirs, InputRefused, "is a backup of the store"),
        (str(newer), StoreNewer, "has schema 9999"),
        (str(flipped), StoreDamaged, "sound"),
        (str(noise), StoreDamaged, "sound"),
        (str(database(desk)), InputRefused, "is the database of this store"),
        (str(tmp_path / "absent.db"), NotFound, "there is no file"),
    ]
    for source, kind, told in refused:
        with pytest.raises(kind, match=told):
            plan(desk.world(), source, source)
    assert (texts(desk), desk.files()) == (before, files)
    assert len(backups.listed(desk.memories.place.home.path, desk.memories.store.id)) == 1


def test_what_was_forgotten_on_purpose_since_is_said_to_come_back(desk: Desk):
    desk.write("a", "The word is sesame.\n")
    backup = back_up(desk)
    world = desk.world()
    assert plan(world, backup, backup).forgotten == 0
    forget(desk)
    planned = plan(world, backup, backup)
    assert planned.forgotten == 1 and planned.now is not None and planned.now.memories == 0
    # What is kept of the state before is as it was by then: without the text.
    done = restore(desk.world(), planned)
    assert done.before is not None and b"sesame" not in Path(done.before).read_bytes()
    assert desk.living() == ["a.md"]


def forget(desk: Desk) -> None:
    assert purging.purge(desk.memories, purging.plan(desk.memories, purging.Wanted(("a",)))).whole


def test_a_restore_shows_again_in_every_folder_of_the_store(desk: Desk):
    desk.write("a", "At first.\n")
    second = desk.second()
    second.sync()
    backup = back_up(desk)
    desk.memories.delete("a")
    second.sync()
    assert not (second.folder / "a.md").exists()
    put_back(desk, backup)
    desk.sync()
    second.sync()
    assert desk.living() == ["a.md"] and desk.read("a.md") == second.read("a.md")


def test_a_folder_that_is_not_there_is_not_taken_for_deletions(desk: Desk):
    desk.write("a", "At first.\n")
    backup = back_up(desk)
    shutil.rmtree(desk.folder)
    assert put_back(desk, backup).back == ()
    for _ in range(3):
        desk.sync()
    assert desk.living() == ["a.md"] and (desk.folder / "a.md").exists()


def test_a_damaged_database_is_renamed_and_the_backup_takes_its_place(desk: Desk):
    desk.write("a", "At first.\n")
    back_up(desk)
    desk.write("b", "Later.\n")
    path = database(desk)
    desk.close()
    path.write_bytes(b"not a database " * 999)
    done = put_back(desk, "latest")
    (aside,) = done.aside
    assert Path(aside).read_bytes() == b"not a database " * 999 and Path(aside).parent == path.parent
    assert done.before is None and done.plan.now is None and "sound database" in done.plan.damage
    desk.memories = desk.open()
    desk.sync()
    assert desk.living() == ["a.md", "b.md"]


def test_damage_that_only_a_copy_meets_renames_the_database_too(desk: Desk):
    for number in range(40):
        desk.write(f"note-{number}", "words " * 400)
    back_up(desk)
    path = database(desk)
    desk.close()
    content = path.read_bytes().replace(b"words words words", b"WORDS words words")
    path.write_bytes(content)
    done = put_back(desk, "latest")
    assert done.plan.now is not None and done.before is None
    assert Path(done.aside[0]).read_bytes() == content
    desk.memories = desk.open()
    assert len(desk.living()) == 40
    assert not [
        one for one in backups.listed(desk.memories.place.home.path, desk.memories.store.id) if one.before_restore
    ]

"""H22: a database that cannot be trusted. Nothing is deleted, the files stay, and what is sound comes back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import apsw
import pytest

from memstore.app import Memstore
from memstore.errors import Conflict, StoreDamaged, StoreNewer
from memstore.store import restoring, salvage
from memstore.upkeep import rebuilding
from memstore.upkeep.rebuilding import Rebuilt
from tests.files.desk import Desk
from tests.store.stores import check_witness

LOST = "Only the store had this.\n"


def filled(desk: Desk) -> dict[str, bytes]:
    """Memories with a history, one of which has no file any more. All the texts that they had."""
    for number in range(12):
        desk.write(f"note-{number}", f"Text {number}.\n" * 40)
    desk.write("note-3", "Three, put in other words.\n")
    desk.write("long", "Long. " * 4_000)
    desk.memories.delete("note-5")
    desk.write("lost", LOST)
    (desk.folder / "lost.md").unlink()
    with desk.memories.store.view() as connection:
        rows = connection.execute("SELECT path, number, content FROM version v JOIN text t ON t.id = v.text").fetchall()
    return {f"{path} {number}": str(content).encode() for path, number, content in rows}


def rebuilt(desk: Desk) -> Rebuilt:
    world = desk.world()
    return rebuilding.rebuild(world, rebuilding.damage(world))


def everything(desk: Desk, done: Rebuilt) -> set[bytes]:
    """All texts that are there: in the folder, in the store, in the directory of what was salvaged."""
    found = {path.read_bytes() for path in desk.folder.glob("*.md")}
    found |= {memory.state.content for memory in desk.memories.store.memories()}
    return found | {Path(saved.file).read_bytes() for saved in done.saved}


def garbage(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + os.urandom(8192))


def text(path: Path) -> None:
    path.write_text("not a database")


def nothing(path: Path) -> None:
    path.write_bytes(b"")


def missing(path: Path) -> None:
    path.unlink()


def another_program(path: Path) -> None:
    path.unlink()
    made = apsw.Connection(str(path))
    made.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES ('kept')")
    made.close()


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [garbage, text, nothing, missing, another_program, a_directory])
def test_h22_a_what_cannot_be_opened_is_refused_kept_and_made_anew_on_a_persons_word(
    desk: Desk, spoil: Callable[[Path], None]
):
    desk.write("a", "In the folder.\n")
    path, files, identity = Path(desk.memories.store.path), desk.files(), desk.memories.store.id
    desk.close()
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreDamaged) as refused:
        desk.open()
    assert "memstore restore-backup latest" in refused.value.hint and "memstore rebuild" in refused.value.hint
    assert (path.read_bytes() if path.is_file() else None) == before and desk.files() == files

    done = rebuilt(desk)
    assert [Path(name).read_bytes() for name in done.aside if Path(name).is_file()] == [before] * (before is not None)
    assert len(done.aside) == path.exists() * (spoil is not missing)
    desk.memories = desk.open()
    assert (desk.living(), desk.memories.store.id) == (["a.md"], identity)
    assert desk.files() == files and done.memories == 1 and done.files.taken_over
    assert desk.sync().quiet
    with pytest.raises(Conflict, match="is sound; nothing was changed"):
        rebuilding.damage(desk.world())


def test_h22_b_of_64_flipped_bytes_nothing_that_is_sound_is_lost(desk: Desk):
    texts = filled(desk)
    path = Path(desk.memories.store.path)
    desk.close()
    content, chance = bytearray(path.read_bytes()), Random(22)
    middle = range(4096, len(content))
    for at in chance.sample(middle, 64):
        content[at] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    done = rebuilt(desk)
    assert Path(done.aside[0]).read_bytes() == content
    desk.memories = desk.open()
    found = everything(desk, done)
    # A bit in a text takes that text, one in a page's table the rows of the page: no text that is changed comes back.
    assert len(set(texts.values()) & found) >= len(texts) - 3
    named = {Path(saved.file).read_bytes() for saved in done.saved if saved.path}
    assert named | {memory.state.content for memory in desk.memories.store.memories()} <= set(texts.values())
    desk.close()
    check_witness(path.parent, desk.base / "witness")


def test_h22_a_database_without_its_head_gives_back_every_text_it_held(desk: Desk):
    texts = filled(desk)
    path = Path(desk.memories.store.path)
    desk.close()
    content = path.read_bytes()
    path.write_bytes(os.urandom(4096) + content[4096:])
    done = rebuilt(desk)
    desk.memories = desk.open()
    assert set(texts.values()) <= everything(desk, done)
    (living,) = (saved for saved in done.saved if saved.living)
    assert living.path == "lost.md" and Path(living.file).read_bytes().endswith(LOST.encode())
    assert {"note-3.md", "note-5.md"} <= {saved.path for saved in done.saved}
    assert done.directory is not None
    desk.memories.import_directory(os.path.join(done.directory, "memories"))
    assert "lost.md" in desk.living()


def test_h22_c_a_newer_schema_is_neither_rebuilt_nor_touched(desk: Desk):
    desk.write("a", "In the folder.\n")
    path = Path(desk.memories.store.path)
    desk.close()
    made = apsw.Connection(str(path))
    made.pragma("user_version", 9999)
    made.close()
    before = {name: (path.parent / name).read_bytes() for name in os.listdir(path.parent)}
    for call in (rebuilding.damage, lambda world: Memstore.open(world=world)):
        with pytest.raises(StoreNewer, match="has schema 9999, this memstore knows"):
            call(desk.world())
    assert {name: (path.parent / name).read_bytes() for name in os.listdir(path.parent)} == before


def test_h22_d_a_torn_log_is_kept_with_its_database_and_read_as_far_as_it_goes(desk: Desk):
    desk.write("a", "In the folder.\n")
    path = Path(desk.memories.store.path)
    log = Path(str(path) + "-wal")
    desk.write("logged", "Only the log has this.\n")
    (desk.folder / "logged.md").unlink()
    # No process that has it open may read it, and whoever closes it last moves the log into it.
    subprocess.run(["cp", path, log, desk.base], check=True)
    desk.close()
    whole, frames = ((desk.base / name).read_bytes() for name in ("store.db", "store.db-wal"))
    path.write_bytes(os.urandom(100) + whole[100:])
    # SQLite takes nothing from a log whose first frame is not sound.
    log.write_bytes(frames[:48] + os.urandom(8) + frames[56:-2_000] + os.urandom(999))
    spoilt, torn = path.read_bytes(), log.read_bytes()
    done = rebuilt(desk)
    assert [Path(name).read_bytes() for name in done.aside[:2]] == [spoilt, torn]
    assert done.aside[1] == done.aside[0] + "-wal"
    desk.memories = desk.open()
    assert any(text.endswith(b"Only the log has this.\n") for text in everything(desk, done))


def test_h22_d_a_foreign_log_takes_nothing_from_a_sound_database(desk: Desk):
    desk.write("a", "In the folder.\n")
    path = Path(desk.memories.store.path)
    desk.close()
    Path(str(path) + "-wal").write_bytes(os.urandom(8192))
    desk.memories = desk.open()
    assert desk.living() == ["a.md"]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DROP TABLE lease", "table lease is missing"),
        ("DROP TABLE shown", "table shown is missing"),
        ("UPDATE shown SET name = CAST(x'ff' AS TEXT) WHERE name = 'long.md'", "has a text that is not UTF-8"),
        ("PRAGMA user_version = 5", "of a later schema"),
        ("UPDATE memory SET description = 'x' WHERE path = 'note-1.md'", "note-1.md is not what its newest version"),
    ],
)
def test_what_the_doctor_names_rebuilding_for_is_rebuilt(desk: Desk, statement: str, told: str):
    texts = filled(desk)
    desk.memories.close()
    connection = apsw.Connection(desk.memories.store.path)
    connection.execute(f"PRAGMA foreign_keys = OFF; {statement}").fetchall()
    connection.close()
    assert told in rebuilding.damage(desk.world())
    done = rebuilt(desk)
    desk.memories = desk.open()
    assert set(texts.values()) <= everything(desk, done)
    with pytest.raises(Conflict, match="is sound"):
        rebuilding.damage(desk.world())


def test_a_rebuild_that_was_interrupted_goes_on(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    texts = filled(desk)
    path = Path(desk.memories.store.path)
    desk.close()
    content = os.urandom(100) + path.read_bytes()[100:]
    path.write_bytes(content)

    real = restoring.set_aside

    def cut_off(path: str, now: int) -> tuple[str, ...]:
        real(path, now)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(restoring, "set_aside", cut_off)
        with pytest.raises(KeyboardInterrupt):
            rebuilt(desk)
    assert not path.exists()
    done = rebuilt(desk)
    assert done.aside == () and "missing or empty" in done.damage
    desk.memories = desk.open()
    assert set(texts.values()) <= everything(desk, done)
    (aside,) = path.parent.glob("store.db.damaged-*")
    assert aside.read_bytes() == content


def test_two_databases_that_were_set_aside_in_one_second_both_stay(tmp_path: Path):
    path = tmp_path / "store.db"
    for content in ("one", "two"):
        path.write_text(content)
        restoring.set_aside(str(path), 5_000_000)
    assert sorted(found.read_text() for found in tmp_path.iterdir()) == ["one", "two"]


def test_salvage_reads_no_more_than_it_is_given(tmp_path: Path):
    for content in (b"", b"x", b"SQLite format 3\0", os.urandom(5_000)):
        path = tmp_path / "x.db"
        path.write_bytes(content)
        found = salvage.read(str(path), None)
        assert (found.texts, found.versions) == ({}, {})

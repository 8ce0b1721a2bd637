"""The doctor: what it finds around and in the database, what it mends, and that looking changes nothing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from memstore.core.findings import Finding
from memstore.errors import StoreBusy, StoreDamaged
from memstore.place import find_place
from memstore.store import examining, ground, quick, settings
from memstore.store.inbox import Arrival
from memstore.store.spool import put as spool
from memstore.upkeep import backups, doctor, doctor_standing, doctor_store
from memstore.upkeep.doctor import CHECKS, Examination, examine, mend
from memstore.upkeep.doctor_scene import Check
from tests.files.desk import Desk, topic
from tests.files.outages import Unable, no_room, small_disk
from tests.store.older import older

EVERYWHERE = {"plugin", "backup"}
"""Notes that there are in each of these tests: no client is installed, and no backup was made."""

DAY = 86_400
STORE = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """A store with two memories, and their files. Nobody has it open."""
    desk.put("a.md", topic("a", body="one\ntwo\n"))
    desk.put("b.md", topic("b", body="three\n"))
    desk.put("MEMORY.md", "- [a](a.md)\n- [b](b.md)\n")
    desk.memories.sync()
    desk.memories.close()
    return desk


def home(desk: Desk) -> Path:
    return Path(desk.memories.place.home.path)


def database(desk: Desk) -> Path:
    return Path(desk.memories.store.path)


def look(desk: Desk, **options: Any) -> Examination:
    return examine(desk.world(), **options)


def found(desk: Desk, *, of: Examination | None = None) -> dict[str, Finding]:
    """What is found besides what is found everywhere, by the name of the look."""
    return {one.check: one for one in (of or look(desk)).findings if one.check not in EVERYWHERE}


def everything(desk: Desk) -> dict[str, bytes]:
    """The bytes of all files below the home and the folder."""
    places = (home(desk), desk.folder)
    return {str(path): path.read_bytes() for place in places for path in sorted(place.rglob("*")) if path.is_file()}


def plant(desk: Desk, *statements: str, values: tuple[Any, ...] = ()) -> None:
    """Changes rows behind the program's back."""
    connection = apsw.Connection(str(database(desk)))
    triggers = list(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))
    for name, _ in triggers:
        if "search" not in name:
            connection.execute(f"DROP TRIGGER {name}")  # history is append-only
    for statement in statements:
        connection.execute(statement, values)
    for name, sql in triggers:
        if "search" not in name:
            connection.execute(sql)
    connection.close()


def mended(desk: Desk, check: str) -> str:
    """What the doctor did about a finding, which is gone then."""
    done = {one.finding.check: one for one in mend(desk.world(), look(desk))}
    assert done[check].failed == "", done
    assert check not in found(desk)
    return done[check].told


# Looking


def test_where_nothing_is_the_matter_every_look_is_taken_and_nothing_changes(shop: Desk):
    before = everything(shop)
    told: list[str] = []
    seen = look(shop, thorough=True, progress=lambda done, total, what: told.append(what))
    assert found(shop, of=seen) == {}
    assert (seen.looked, seen.skipped, seen.worst) == (len(CHECKS), (), "note")
    assert told == [check.says for check in CHECKS]
    assert everything(shop) == before


def test_versions_and_places_are_told(shop: Desk):
    facts = dict(look(shop).facts)
    assert facts["sqlite"].startswith(apsw.sqlite_lib_version()) and facts["python"].startswith(sys.version.split()[0])
    assert str(database(shop)) in facts["store"] and str(shop.folder) in facts["folder"]
    assert facts["schema"] == f"{quick.SCHEMA} of {quick.SCHEMA}" and "client" not in facts


def test_without_a_store_none_is_made(tmp_path: Path):
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    desk = Desk(tmp_path)
    desk.close()
    shutil.rmtree(home(desk))
    seen = look(desk)
    assert found(desk, of=seen)["place"].severity == "note"
    assert "database" in {one.check for one in seen.skipped}
    assert {one.why for one in seen.skipped} == {"there is no store yet"}
    assert not home(desk).exists() and not desk.folder.exists()


def test_a_look_that_fails_is_a_finding_and_the_others_go_on(shop: Desk, monkeypatch: pytest.MonkeyPatch):
    def busy(_: object) -> list[Finding]:
        raise StoreBusy("somebody is at it", hint="wait")

    def broken(_: object) -> list[Finding]:
        raise KeyError("x")

    def unreadable(_: object) -> list[Finding]:
        raise PermissionError(13, "Permission denied", "some.file")

    more = tuple(Check(look.__name__, "something", "", look) for look in (busy, broken, unreadable))
    monkeypatch.setattr(doctor, "CHECKS", (*more, *CHECKS))
    seen = found(shop)
    assert (seen["busy"].what, seen["busy"].mend) == ("it cannot be looked at: somebody is at it", "wait")
    assert "the doctor's own fault: KeyError" in seen["broken"].what
    assert "Permission denied: some.file" in seen["unreadable"].what
    assert len(seen) == 3


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to("absent")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, a_link_to_nothing])
def test_what_is_no_file_in_the_databases_place_is_told_at_once(shop: Desk, make: Callable[[Path], None]):
    database(shop).unlink()
    make(database(shop))
    assert "is not a regular file" in found(shop)["database"].what


def test_a_store_whose_directory_is_gone_is_told(shop: Desk):
    shop.memories = shop.open()
    backups.back_up(shop.memories)
    shop.memories.close()
    place = database(shop).parent
    place.rename(place.with_name("elsewhere"))
    seen = look(shop)
    assert f"but {place} is not there" in found(shop, of=seen)["place"].what
    assert "restore-backup latest" in found(shop, of=seen)["place"].mend
    assert not place.exists()


# The machine and the home


def test_a_home_that_cannot_be_found_out_is_told(shop: Desk):
    shop.variables["MEMSTORE_HOME"] = "some/where"
    seen = look(shop)
    assert found(shop, of=seen)["place"].severity == "error"
    assert "absolute path" in found(shop, of=seen)["place"].what
    shop.variables.clear()
    home(shop).chmod(0o777)
    assert "others can write in the home" in found(shop)["place"].what
    assert f"chmod 700 {home(shop)}" in found(shop)["place"].mend


def test_where_the_place_cannot_be_found_out_the_home_is_looked_at_all_the_same(shop: Desk):
    seen = examine(replace(shop.world(), whose="nobody"))
    assert "the agent nobody has no memory here" in found(shop, of=seen)["place"].what
    assert not {"permissions", "space", "registry"} & {one.check for one in seen.skipped}


def test_a_repository_that_moved_is_told(shop: Desk):
    os.rename(shop.base / "repo", shop.base / "elsewhere")
    shop.root = "elsewhere"
    seen = look(shop)
    assert "memstore link" in found(shop, of=seen)["place"].mend
    assert any("memstore link" in one.why for one in seen.skipped if one.check == "database")


def test_what_others_may_do_with_the_home_is_taken_from_them(shop: Desk):
    database(shop).chmod(0o644)
    assert found(shop)["permissions"].severity == "warning"
    database(shop).parent.chmod(0o777)
    severities = {one.severity for one in look(shop).findings if one.check == "permissions"}
    assert severities == {"warning", "error"}
    assert str(database(shop)) in mended(shop, "permissions")
    assert (database(shop).stat().st_mode & 0o777, database(shop).parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_files_of_another_user_are_told(shop: Desk):
    os.chown(home(shop) / "stores", 65534, 65534)
    assert "belongs to user 65534" in found(shop)["owner"].what
    assert found(shop)["owner"].mend.startswith("chown -R 0 ")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
@pytest.mark.parametrize(
    ("kind", "severity"), [("nfs4", "error"), ("virtiofs", "error"), ("newfs", "note"), ("xfs", "")]
)
def test_the_file_system_is_judged(
    shop: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, severity: str
):
    told = tmp_path / "mountinfo"
    told.write_text(f"22 1 254:0 / / rw - ext4 x rw\n30 22 0:40 / {home(shop)} rw - {kind} server:/x rw\n")
    monkeypatch.setattr(ground, "MOUNTS", str(told))
    before = everything(shop)
    seen = look(shop)
    finding = found(shop, of=seen).get("ground")
    assert (finding.severity if finding else "") == severity
    if severity == "error":
        assert finding is not None and "MEMSTORE_HOME" in finding.mend and f"lies on {kind} (server:/x" in finding.what
        assert f"no database is opened on {kind}" in {one.why for one in seen.skipped}
    assert everything(shop) == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
def test_where_the_system_does_not_tell_that_is_said(shop: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ground, "MOUNTS", str(tmp_path / "absent"))
    seen = look(shop)
    assert found(shop, of=seen) == {}
    assert [one.check for one in seen.skipped] == ["ground"]


def test_a_disk_without_room_is_told(tmp_path: Path, home: Path):
    with ExitStack() as stack:
        try:
            stack.enter_context(small_disk(home / "memstore", "size=2m"))
        except Unable as unable:
            pytest.skip(str(unable))
        desk = Desk(tmp_path)
        stack.callback(desk.close)
        desk.put("a.md", topic("a"))
        desk.memories.sync()
        desk.memories.close()
        seen = found(desk)
        assert (seen["space"].severity, seen["ground"].severity) == ("warning", "note")
        assert "in memory" in seen["ground"].why
        with no_room(home / "memstore"):
            assert found(desk)["space"].severity == "error"


def test_a_damaged_entry_of_the_registry_is_told(shop: Desk):
    (home(shop) / "roots" / "0123.json").write_text("{")
    assert "is not valid JSON" in found(shop)["registry"].what


def test_what_hooks_put_aside_is_told_and_taken_in(shop: Desk):
    at = shop.world().clock()
    values = ("t1", "read", "done", str(shop.folder), "a.md", "s", None, None, None, None, None, "one", at)
    spool(str(home(shop)), shop.memories.store.id, [("arrival", values)], at - 3600 * 1_000_000)
    spool(str(home(shop)), STORE, [("arrival", values)], at)
    (home(shop) / "spool" / "x.1.row.unreadable").touch()
    told = [one.what for one in look(shop).findings if one.check == "spool"]
    assert len(told) == 3
    assert told[0].startswith("1 record of a hook waits in") and STORE in told[1] and "x.1.row.unreadable" in told[2]
    assert [one.told for one in mend(shop.world(), look(shop))] == ["what hooks had put aside is in the store"]
    assert len([one for one in look(shop).findings if one.check == "spool"]) == 2


def test_settings_that_cannot_be_used_are_named_with_their_source(shop: Desk):
    shop.variables["MEMSTORE_EXTRACT_EVERY"] = "often"
    settings.put_user(str(home(shop)), "budget.day", "much")
    settings.put_user(str(home(shop)), "colour", "red")
    plant(shop, "INSERT INTO setting VALUES ('dream.hours', '-3', 1)")
    told = {one.what: one for one in look(shop).findings if one.check == "settings"}
    assert [(one.severity, what.rpartition(" (")[2].rstrip(")")) for what, one in told.items()][:3] == [
        ("warning", "$MEMSTORE_EXTRACT_EVERY"), ("warning", "the repository's settings"),
        ("warning", "the user's settings"),
    ]  # fmt: skip
    assert "there is no setting 'colour'" in list(told)[3]
    (home(shop) / "settings.json").write_text("{")
    assert any("is not valid JSON" in one.what for one in look(shop).findings)


def test_an_old_backup_is_told(shop: Desk):
    shop.memories = shop.open()
    backups.back_up(shop.memories)
    shop.memories.close()
    assert "backup" not in {one.check for one in look(shop).findings}
    shop.ahead += 9 * DAY
    assert next(one.what for one in look(shop).findings if one.check == "backup") == "the last backup is 9 days old"


def test_copies_of_an_older_schema_are_told(shop: Desk):
    (database(shop).parent / "store.db.before-schema-3").write_bytes(bytes(2_000_000))
    (database(shop).parent / "store.db.damaged-2026-11-30T23-27-31Z").write_bytes(bytes(3_000))
    (home(shop) / "stores" / "notes.txt").touch()
    told = [one.what for one in look(shop).findings if one.check == "leftovers"]
    assert "take 2.0 MB: store.db.before-schema-3" in told[0] and "takes 3.0 kB" in told[1] and "notes.txt" in told[2]


# The database

GARBAGE = b"SQLite format 3\0" + bytes(range(256)) * 32


def newer(desk: Desk) -> None:
    plant(desk, "PRAGMA user_version = 9999")


def flipped(desk: Desk) -> None:
    content = bytearray(database(desk).read_bytes())
    for number in range(64):
        content[4096 + number * 61] ^= 1 << number % 8
    database(desk).write_bytes(content)


def torn_log(desk: Desk) -> None:
    """The log of another database, cut off."""
    log = Path(f"{database(desk)}-wal")
    log.write_bytes(b"\x37\x7f\x06\x82\x00\x2d\xe2\x18" + bytes(5_000))
    log.chmod(0o600)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda desk: database(desk).write_bytes(GARBAGE), "does not read as a sound database"),
        (lambda desk: database(desk).write_bytes(b""), "is empty, yet this store has been used"),
        (lambda desk: database(desk).write_text("not a database"), "does not read as a sound database"),
        (lambda desk: database(desk).unlink(), "is missing, yet this store has been used"),
        (flipped, "damaged|sound database"),
        (newer, "has schema 9999, this memstore knows"),
        (lambda desk: plant(desk, "PRAGMA application_id = 7"), "is a database of another program"),
    ],
)
def test_h22_a_database_that_cannot_be_trusted_is_told_and_keeps_every_byte(
    shop: Desk, change: Callable[[Desk], object], told: str
):
    change(shop)
    before = everything(shop)
    seen = look(shop)
    (finding,) = (one for one in seen.findings if one.severity == "error")
    assert any(words in finding.what for words in told.split("|")), finding
    newer_one = "has schema 9999" in finding.what  # which is nobody's to replace: rebuilding refuses it
    assert ("upgrade memstore" if newer_one else "memstore rebuild") in finding.mend
    assert ("rebuild" in finding.mend) != newer_one and "restore-backup" not in finding.mend
    assert {"heads", "memories", "search-index", "drift"} <= {one.check for one in seen.skipped}
    assert mend(shop.world(), seen) == []
    after = everything(shop)
    assert {path: after.get(path) for path in before} == before
    assert all(path.endswith(("-shm", "-wal")) for path in after.keys() - before.keys())


def test_h22_d_a_log_of_another_database_stays_where_it_is(shop: Desk):
    torn_log(shop)
    before = everything(shop)
    assert found(shop) == {}  # SQLite does not take it for a log of this database
    assert everything(shop)[str(database(shop))] == before[str(database(shop))]


def test_where_there_is_a_backup_it_is_named_as_the_way_back(shop: Desk):
    shop.memories = shop.open()
    backups.back_up(shop.memories)
    shop.memories.close()
    database(shop).write_bytes(GARBAGE)
    assert "`memstore restore-backup latest`" in found(shop)["database"].mend


def test_an_older_schema_is_a_note_and_is_left_for_the_next_command(desk: Desk):
    desk.memories.close()
    place = database(desk).parent
    shutil.rmtree(place)
    older(place, 3)
    plant(desk, "UPDATE store SET id = ?", values=(place.name,))
    before = database(desk).read_bytes()
    seen = look(desk)
    assert found(desk, of=seen)["database"].severity == "note"
    assert "heads" in {one.check for one in seen.skipped}
    assert database(desk).read_bytes() == before


def test_the_database_of_another_store_is_refused_and_keeps_every_byte(shop: Desk):
    plant(shop, "UPDATE store SET id = ?", values=(STORE,))
    before = everything(shop)
    finding = found(shop)["database"]
    assert f"is the database of another store, {STORE}" in finding.what and "memstore rebuild" in finding.mend
    with pytest.raises(StoreDamaged, match="another store"):
        shop.open()
    after = everything(shop)
    assert {path: after.get(path) for path in before} == before


def test_h22_d_a_log_of_another_database_is_named_with_what_takes_it_away(shop: Desk, tmp_path: Path):
    other = apsw.Connection(str(tmp_path / "other.db"))
    other.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a)").fetchall()
    log = Path(f"{database(shop)}-wal")
    log.write_bytes((tmp_path / "other.db-wal").read_bytes())
    log.chmod(0o600)
    other.close()
    assert f"`mv {log} {log}.foreign`" in found(shop)["database"].mend
    log.rename(f"{log}.foreign")
    Path(f"{database(shop)}-shm").unlink()
    assert found(shop) == {}


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DROP TABLE lease", "table lease is missing"),
        ("DROP INDEX memory_changed", "index memory_changed is missing"),
        ("ALTER TABLE setting RENAME COLUMN at TO moment", "column at of table setting is missing"),
        ("PRAGMA user_version = 5", "is of a later schema"),
    ],
)
def test_a_database_without_all_of_its_schema_is_told(shop: Desk, statement: str, told: str):
    plant(shop, statement, "CREATE TABLE of_somebody (a)")  # what is more is no fault
    assert told in found(shop)["schema"].what and found(shop)["schema"].severity == "error"


def test_a_schema_that_is_not_what_its_number_says_refuses_every_command(shop: Desk):
    plant(shop, "PRAGMA user_version = 5")
    with pytest.raises(StoreDamaged, match="not made as its schema's number says"):
        shop.open()


def test_on_a_machine_that_is_new_nothing_is_the_matter(desk: Desk, tmp_path: Path):
    desk.variables["MEMSTORE_HOME"] = str(tmp_path / "none" / "of" / "these" / "is there")
    assert not [one for one in look(desk).findings if one.severity != "note"]


def test_a_registry_file_that_cannot_be_read_is_mended_by_the_command_that_is_named(shop: Desk):
    (entry,) = (home(shop) / "roots").iterdir()
    entry.write_text("{")
    store = database(shop).parent.name
    assert f"`memstore link {store}`" in found(shop)["registry"].mend
    assert f"`memstore link {store}`" in found(shop)["place"].mend
    entry.unlink()
    find_place(shop.world()).home.link(find_place(shop.world()).root.path, store, shop.world().clock())
    assert found(shop) == {}


def test_a_text_that_is_not_utf_8_is_damage_to_every_command(shop: Desk):
    plant(shop, "UPDATE text SET content = CAST(x'ff41' AS TEXT) WHERE content LIKE '%three%'")
    seen = look(shop)
    told = [one for one in seen.findings if one.check not in EVERYWHERE]
    assert {one.severity for one in told} == {"error"} and "digests" in {one.check for one in told}
    assert all("memstore rebuild" in one.mend and "own fault" not in one.what for one in told)
    with pytest.raises(StoreDamaged, match="is not UTF-8"):
        shop.open().show("b")
    plant(shop, "UPDATE shown SET name = CAST(x'ff' AS TEXT) WHERE name = 'a.md'")
    assert "table shown has a text that is not UTF-8" in found(shop)["integrity"].what


def test_the_folder_of_another_project_is_not_said_to_be_taken_in(shop: Desk, tmp_path: Path):
    place = tmp_path / "new"
    (place / ".git").mkdir(parents=True)
    world = replace(shop.world(), cwd=str(place))
    folder = Path(dict(examine(world).facts)["folder"].partition(" (on ")[0])
    folder.mkdir(parents=True)
    assert [one.what for one in examine(world).findings if one.check == "place"] == [
        f"there is no store for {place} yet"
    ]
    (folder / "a.md").write_text(topic("a"))
    assert [one.mend for one in examine(world).findings if one.check == "place"] == ["`memstore sync` takes them in"]
    claim = {"version": 1, "store": STORE, "root": str(shop.world().cwd)}
    (folder / ".memstore").write_text(json.dumps(claim))
    seen = {one.check: one for one in examine(world).findings}
    assert seen["place"].mend == "the first write makes one" and seen["folder-claim"].severity == "error"


def test_what_mends_modes_and_owners_can_be_copied_to_a_shell(shop: Desk, tmp_path: Path):
    place = tmp_path / "a b's"
    home(shop).rename(place)
    shop.variables["MEMSTORE_HOME"] = str(place)
    path = place / "stores" / database(shop).parent.name / "store.db"
    path.chmod(0o644)
    finding = found(shop)["permissions"]
    assert shlex.split(finding.mend) == ["chmod", "go=", str(path)]
    assert finding.why.startswith("nothing but the mode of ")
    path.parent.chmod(0o755)
    path.parent.parent.chmod(0o755)
    place.chmod(0o755)
    whys = {one.what.split(" has ")[0]: one.why for one in look(shop).findings if one.check == "permissions"}
    assert whys[str(path)] == "others on this machine can read what agents remember"


def test_rows_that_do_not_agree_are_told(shop: Desk):
    plant(shop, "UPDATE memory SET description = 'x' WHERE name = 'a'")
    assert found(shop)["heads"].what == "1 memory is not what the newest version says: a.md"
    plant(shop, "UPDATE text SET content = 'x' WHERE content LIKE '%three%'")
    assert found(shop)["digests"].what.startswith("1 text differs from what was written: b.md, version 1")


def test_terms_that_are_not_those_of_the_text_are_made_anew(shop: Desk):
    plant(shop, "UPDATE search_document SET body = 'x' WHERE body LIKE '%three%'")
    assert found(shop)["terms"].what == "1 memory has other search terms than the text: b.md"
    assert mended(shop, "terms") == "the search terms of 1 memory are made anew"


def test_without_time_a_part_is_compared_and_that_is_told(shop: Desk, monkeypatch: pytest.MonkeyPatch):
    shop.ahead += 10
    shop.memories = shop.open()
    shop.memories.sync()  # files as young as they were are read again anyway, so nothing is compared
    monkeypatch.setattr(doctor_store, "_SECONDS", -1.0)
    monkeypatch.setattr(examining, "LEAST", 1)
    seen = look(shop)
    assert found(shop, of=seen) == {}
    told = dict(seen.facts)["compared"]
    assert told.startswith("the search terms of 1 memory and the bytes of 1 file; `memstore doctor --thorough`")
    assert "compared" not in dict(look(shop, thorough=True).facts)


def test_an_index_of_words_that_lacks_some_is_made_anew(shop: Desk):
    plant(
        shop,
        "INSERT INTO search_index (search_index, rowid, name, description, body)"
        " SELECT 'delete', memory, name, description, body FROM search_document",
    )
    shop.memories = shop.open()
    assert shop.memories.search("three")[1] == []
    shop.memories.close()
    assert found(shop).keys() == {"search-index"}
    assert mended(shop, "search-index") == "the index of words is made anew"
    shop.memories = shop.open()
    assert [hit.path for hit in shop.memories.search("three")[1]] == ["b.md"]


def test_the_index_of_very_many_is_checked_only_where_that_is_asked_for(shop: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor_store, "_MOST_CHECKED", 1)
    (skipped,) = look(shop).skipped
    assert skipped.check == "search-index" and "--thorough" in skipped.why
    assert look(shop, thorough=True).skipped == ()


def test_a_clock_that_is_behind_the_newest_row_is_told(shop: Desk):
    shop.ahead -= 3_600
    assert found(shop)["clock"].severity == "note"
    assert "done 1.0 hours after" in found(shop)["clock"].what
    shop.ahead -= 3 * DAY
    assert found(shop)["clock"].severity == "warning"


READER = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN; SELECT count(*) FROM memory").fetchall()
print("reading", flush=True)
sys.stdin.read()
"""


@contextmanager
def reader(path: Path) -> Iterator[int]:
    """A process that has a view of the database open, and its pid."""
    child = subprocess.Popen([sys.executable, "-c", READER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"reading\n"
    yield child.pid
    child.communicate(b"")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
def test_a_long_log_is_told_with_who_keeps_it_long_and_is_emptied(shop: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor_standing, "_WAL_BYTES", 10_000)
    with reader(database(shop)) as pid:
        shop.memories = shop.open()
        for number in range(3):
            shop.memories.append("c", f"line {number}")
        finding = found(shop)["log"]
        assert f"({pid})" in finding.what and not finding.fix and "held by " in finding.what
    finding = found(shop)["log"]
    assert finding.fix and "held by" not in finding.what
    assert mended(shop, "log") == "the log is in the database"


def test_what_sessions_told_and_nobody_took_in_is_told(shop: Desk):
    shop.memories = shop.open()
    now = shop.world().clock()
    arrival = Arrival("t1", "read", "done", str(shop.folder), "a.md", now, "s", result=b"one")
    shop.memories.store.receive([arrival])
    assert "inbox" not in found(shop)
    shop.ahead += 700
    assert "1 call of sessions wait" in found(shop)["inbox"].what
    shop.memories.sync()
    assert "inbox" not in found(shop)


def test_what_killed_workers_left_is_told(shop: Desk):
    plant(shop, "INSERT INTO lease VALUES ('dream', 'x', 4194999, '1', 'boot', 1, 1, 1, 0)")
    columns = "id, kind, state, session, transcript, cwd, event, at, note"
    plant(
        shop,
        f"INSERT INTO job ({columns}) VALUES ('1', 'extract', 'failed', 's', '/t', '/', 'Stop', 1, 'no key')",
        f"INSERT INTO job ({columns}) VALUES ('2', 'extract', 'running', 't', '/t', '/', 'Stop', 1, NULL)",
    )
    assert "a dream of process 4194999 left its lease behind" in found(shop)["leases"].what
    told = {one.what: one.severity for one in look(shop).findings if one.check == "jobs"}
    assert told == {"1 job was given up: no key": "warning", "1 job of a worker that is gone": "note"}


# Files


def test_a_file_that_was_edited_is_a_note(shop: Desk):
    shop.edit("a.md", "two", "2")
    finding = found(shop)["drift"]
    assert (finding.severity, finding.fix) == ("note", False)
    assert "1 file was touched since the last look: a.md" in finding.what


def test_an_edit_that_no_stamp_tells_of_is_found_and_taken_in(shop: Desk):
    from memstore.files.freshness import stamp_of

    shop.edit("a.md", "two", "2")
    stamp = stamp_of((shop.folder / "a.md").stat())
    plant(shop, "UPDATE shown SET stamp = ? WHERE name = 'a.md'", values=(stamp,))
    assert found(shop)["drift"].severity == "warning"
    assert mended(shop, "drift") == "taken in as edits of the files: a.md"
    shop.memories = shop.open()
    assert b"one\n2\n" in shop.memories.show("a")[1].state.content


def test_what_cannot_be_mended_says_why(shop: Desk, monkeypatch: pytest.MonkeyPatch):
    plant(shop, "UPDATE search_document SET body = 'x' WHERE body LIKE '%three%'")
    seen = look(shop)

    def busy(_: object) -> str:
        raise StoreBusy("somebody is at it")

    monkeypatch.setitem(doctor.MENDS, "terms", busy)
    (done,) = mend(shop.world(), seen)
    assert (done.told, done.failed) == ("", "somebody is at it")


def test_an_agents_own_memory_is_looked_at_too(shop: Desk):
    (shop.base / "repo" / ".claude" / "agent-memory" / "rev").mkdir(parents=True)
    seen = examine(replace(shop.world(), whose="rev"))
    assert seen.worst == "note"
    assert "agent-memory/rev" in dict(seen.facts)["folder"]

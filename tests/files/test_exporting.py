"""Exports: zip and JSON beside directories, points in time, scopes, and secrets that stay away."""

from __future__ import annotations

import errno
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from memstore import errors
from memstore.core.exchange import parsed
from memstore.files import temporary
from memstore.files.packing import store_of
from memstore.files.report import ExportReport
from memstore.upkeep.exporting import Asked, Point, as_json, export, format_of
from tests.files.desk import Desk, topic

KEY = "AKIA" + "Q3EGXQ5ZRT7VWYB2"


def out(desk: Desk, target: Path, **asked: Any) -> ExportReport:
    """Exports, after a rehearsal that must say the same and leave no trace."""
    before = _tree(target.parent)
    rehearsed = export(desk.memories, str(target), Asked(**asked), dry_run=True)
    assert _tree(target.parent) == before
    report = export(desk.memories, str(target), Asked(**asked))
    assert rehearsed == report
    assert not [name for name in _tree(target.parent) if temporary.is_ours(name)]
    return report


def _tree(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}


def files(target: Path) -> dict[str, bytes]:
    """What a directory or a zip holds."""
    if target.is_dir():
        return {str(one.relative_to(target)): one.read_bytes() for one in sorted(target.rglob("*")) if one.is_file()}
    with zipfile.ZipFile(target) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.mark.parametrize(
    ("target", "format"),
    [
        ("a", "dir"), ("a/b", "dir"), ("a.zip", "zip"), ("a.ZIP", "zip"), ("x/a.json", "json"), ("v1.2", "dir"),
        ("a.zip/b", "dir"), (".json", "json"), ("dir", "dir"), ("x.dir", "dir"),
    ],
)  # fmt: skip
def test_the_format_follows_from_the_name(target: str, format: str):
    assert format_of(target) == format


def test_a_zip_holds_the_bytes_of_a_directory_and_is_always_the_same(desk: Desk, place: Path):
    desk.write("one", "1\n")
    desk.put("deep/二.md", b"\xff\xfe no UTF-8\r\n")
    desk.sync()
    report = out(desk, place / "a.zip")
    out(desk, place / "dir")
    assert files(place / "a.zip") == files(place / "dir")
    assert report.written == ("deep/二.md", "one.md", "MEMORY.md")
    out(desk, place / "b.zip")
    assert (place / "a.zip").read_bytes() == (place / "b.zip").read_bytes()
    assert stat.S_IMODE((place / "a.zip").stat().st_mode) == 0o600
    with zipfile.ZipFile(place / "a.zip") as archive:
        assert archive.testzip() is None
        assert archive.getinfo("one.md").date_time[0] > 2000


def test_an_earlier_export_is_replaced_and_an_unchanged_one_left_alone(desk: Desk, place: Path):
    desk.write("one", "1\n")
    for name in ("a.zip", "a.json"):
        out(desk, place / name)
        (place / name).chmod(0o644)
        stamp = (place / name).stat().st_ino
        again = out(desk, place / name)
        assert (again.written, (place / name).stat().st_ino) == ((), stamp)
    desk.write("one", "2\n")
    for name in ("a.zip", "a.json"):
        assert out(desk, place / name).written
        assert stat.S_IMODE((place / name).stat().st_mode) == 0o644
        assert store_of((place / name).read_bytes()) == desk.memories.store.id
    assert files(place / "a.zip")["one.md"].endswith(b"2\n")


@pytest.mark.parametrize("name", ["a.zip", "a.json"])
@pytest.mark.parametrize("what", ["strange", "touched", "another store's", "empty"])
def test_a_file_that_is_no_export_of_these_memories_is_replaced_by_force_only(
    desk: Desk, place: Path, name: str, what: str
):
    desk.write("one", "1\n")
    target = place / name
    if what == "another store's":
        export(desk.other("elsewhere").memories, str(target), Asked())
    elif what == "touched":
        export(desk.memories, str(target), Asked())
        content = bytearray(target.read_bytes())
        content[len(content) // 2] ^= 1
        target.write_bytes(content)
    else:
        target.write_bytes(b"" if what == "empty" else b"my diary")
    before = target.read_bytes()
    with pytest.raises(errors.PlaceRefused, match="no export of these memories"):
        export(desk.memories, str(target), Asked())
    assert target.read_bytes() == before
    assert export(desk.memories, str(target), Asked(force=True)).written
    assert target.read_bytes() != before


@pytest.mark.parametrize("name", ["a.zip", "a.json"])
def test_directories_links_and_memory_folders_are_no_place_for_a_file(desk: Desk, place: Path, name: str):
    desk.write("one", "1\n")
    (place / "mine").write_text("mine")
    (place / "d").mkdir()
    os.symlink(place / "mine", place / "d" / name)
    (place / name).mkdir()
    for target in (place / name, place / "d" / name, desk.folder / name, place / "absent" / name):
        with pytest.raises(errors.PlaceRefused):
            export(desk.memories, str(target), Asked(force=True))
    home = Path(desk.memories.store.directory)
    with pytest.raises(errors.PlaceRefused, match="kept for other things"):
        export(desk.memories, str(home / name), Asked())
    assert (place / "mine").read_text() == "mine"
    assert not (desk.folder / name).exists()


def test_a_file_that_somebody_writes_meanwhile_is_not_lost(desk: Desk, place: Path, monkeypatch: pytest.MonkeyPatch):
    desk.write("one", "1\n")
    export(desk.memories, str(place / "a.zip"), Asked())
    desk.write("one", "2\n")
    write = temporary.write

    def meanwhile(*arguments: Any) -> Any:
        made = write(*arguments)
        (place / arguments[1]).write_bytes(b"somebody's words")
        return made

    monkeypatch.setattr(temporary, "write", meanwhile)
    for name in ("a.zip", "new.zip"):
        with pytest.raises(errors.PlaceRefused, match="just now"):
            export(desk.memories, str(place / name), Asked())
        assert (place / name).read_bytes() == b"somebody's words"
    assert sorted(_tree(place)) == ["a.zip", "new.zip"]


def test_a_full_disk_leaves_the_earlier_export_whole(desk: Desk, place: Path, monkeypatch: pytest.MonkeyPatch):
    desk.write("one", "1\n")
    export(desk.memories, str(place / "a.json"), Asked())
    before = (place / "a.json").read_bytes()
    desk.write("one", "2\n")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(errors.PlaceRefused, match="No space left"):
            export(desk.memories, str(place / "a.json"), Asked())
    assert _tree(place) == {"a.json": before}


def test_as_of_gives_memories_and_index_as_they_stood(desk: Desk, place: Path):
    first = desk.write("one", "1\n", description="was")
    desk.write("gone", "g\n")
    out(desk, place / "then")
    seq = desk.memories.log()[0][0].seq
    desk.write("one", "2\n", description="is")
    desk.memories.rename("one", "first")
    desk.memories.delete("gone")
    desk.write("new", "n\n")
    out(desk, place / "again", as_of=Point(operation=str(seq)))
    assert files(place / "again") == files(place / "then")
    out(desk, place / "again.zip", as_of=Point(operation=str(seq)))
    assert files(place / "again.zip") == files(place / "then")
    assert first.operation is not None
    out(desk, place / "earlier", as_of=Point(operation=first.operation))
    assert sorted(files(place / "earlier")) == ["MEMORY.md", "one.md"]
    out(desk, place / "before", as_of=Point(moment=1))
    assert files(place / "before") == {}
    with pytest.raises(errors.NotFound, match="no operation 999"):
        export(desk.memories, str(place / "x"), Asked(as_of=Point(operation="999")))


def test_since_takes_what_changed_after_and_their_index_lines(desk: Desk, place: Path):
    desk.write("old", "o\n")
    desk.write("one", "1\n")
    seq = desk.memories.log()[0][0].seq
    moment = desk.memories.world.clock()
    desk.ahead += 5
    desk.write("one", "2\n")
    for point in (Point(operation=f"#{seq}"), Point(moment=moment)):
        name = f"since-{point.moment}"
        out(desk, place / name, since=point)
        found = files(place / name)
        assert sorted(found) == ["MEMORY.md", "one.md"]
        assert found["MEMORY.md"].decode().count("\n") == 1 and b"one.md" in found["MEMORY.md"]
        out(desk, place / f"{name}.json", since=point)
        kept = parsed((place / f"{name}.json").read_bytes())
        assert [len(memory.versions) for memory in kept.memories] == [2]
    with pytest.raises(errors.InputRefused, match="later than --as-of"):
        export(desk.memories, str(place / "x"), Asked(since=Point(operation=str(seq)), as_of=Point(operation="1")))


def test_json_carries_versions_operations_origins_and_lines(desk: Desk, place: Path):
    desk.write("one", "1\n")
    desk.put("raw.md", b"\xff\x00raw")
    desk.sync()
    desk.write("one", "2\n")
    desk.memories.delete("raw")
    report = out(desk, place / "a.json")
    content = (place / "a.json").read_bytes()
    value = json.loads(content)
    assert (value["memstore_export"], value["store"]) == (1, desk.memories.store.id)
    one, raw = sorted(value["memories"], key=lambda memory: str(memory["versions"][0]["path"]))
    assert [version["content"].rpartition("\n\n")[2] for version in one["versions"]] == ["1\n", "2\n"]
    assert [version["origin"] for version in one["versions"]] == ["agent", "agent"]
    assert (raw["versions"][0]["encoding"], raw["versions"][-1]["live"]) == ("base64", False)
    assert [one["kind"] for one in value["operations"]] == ["write", "absorb", "write", "delete"]
    assert [line["memory"] for line in value["index"] if line["memory"]] == [one["id"]]
    assert report.written == ("one.md", "raw.md")
    kept = parsed(content)
    assert kept.memories[1].versions[0].state.content == b"\xff\x00raw"
    assert as_json(desk.memories, Asked())[0] == content


def test_what_holds_a_secret_stays_away_with_its_line_and_is_named(desk: Desk, place: Path):
    desk.write("clean", "c\n")
    desk.write("aws", f"the key is {KEY}\n", description="where the key is")
    report = out(desk, place / "dir")
    assert [(path, mark.rule, mark.line) for path, mark in report.withheld] == [("aws.md", "aws-key-id", 8)]
    assert sorted(files(place / "dir")) == ["MEMORY.md", "clean.md"]
    assert b"aws" not in files(place / "dir")["MEMORY.md"]
    for name in ("a.zip", "a.json"):
        assert out(desk, place / name).withheld == report.withheld
        assert KEY.encode() not in (place / name).read_bytes()
    assert KEY not in repr(report)
    assert not out(desk, place / "all", secrets=True).withheld
    assert KEY.encode() in files(place / "all")["aws.md"]


def test_secrets_in_the_history_the_index_and_reasons_stay_away_too(desk: Desk, place: Path):
    desk.put("aws.md", topic("aws", body=f"{KEY}\n"))
    desk.put("MEMORY.md", f"- [aws](aws.md)\n- note: {KEY}\n- harmless\n")
    desk.sync()
    desk.write("aws", "taken out\n")
    desk.memories.delete("aws", reason=f"it had {KEY}")
    desk.memories.restore("aws")
    report = out(desk, place / "a.json")
    assert [path for path, _ in report.withheld] == ["MEMORY.md"]
    content = (place / "a.json").read_bytes()
    assert KEY.encode() not in content and b"harmless" in content
    assert KEY.encode() in as_json(desk.memories, Asked(secrets=True))[0]
    out(desk, place / "dir")
    assert files(place / "dir")["MEMORY.md"] == b"- [aws](aws.md)\n- harmless\n"


def test_team_memory_goes_along_where_it_is_asked_for(desk: Desk, place: Path):
    desk.write("mine", "m\n")
    desk.put("team/ours.md", topic("ours"))
    ours = (desk.folder / "team" / "ours.md").read_bytes()
    out(desk, place / "private")
    assert sorted(files(place / "private")) == ["MEMORY.md", "mine.md"]
    out(desk, place / "team", scope="team")
    assert files(place / "team") == {"team/ours.md": ours}
    for name in ("all", "all.zip"):
        report = out(desk, place / name, scope="all")
        assert sorted(files(place / name)) == ["MEMORY.md", "mine.md", "team/ours.md"]
        assert report.written == ("mine.md", "MEMORY.md", "team/ours.md")
        back = desk.memories.import_directory(str(place / name))
        assert (back.noted, back.seq) == ((), None)
    assert parsed(as_json(desk.memories, Asked(scope="all"))[0]).team == (("team/ours.md", ours),)


@pytest.mark.parametrize("what", ["link", "file", "memory folder"])
def test_where_team_memory_has_no_place_it_alone_stays_away(desk: Desk, place: Path, what: str):
    desk.write("mine", "m\n")
    desk.put("team/ours.md", topic("ours"))
    target, elsewhere = place / "a", place / "elsewhere"
    target.mkdir()
    if what == "link":
        elsewhere.mkdir()
        (target / "team").symlink_to(elsewhere)
    elif what == "file":
        (target / "team").write_text("a file\n")
    else:
        (target / "team").mkdir()
        (target / "team" / ".memstore").write_bytes((desk.folder / ".memstore").read_bytes())
    report = out(desk, target, scope="all")
    assert report.written == ("mine.md", "MEMORY.md")
    assert [path for path, _ in report.kept] == ["team/ours.md"]
    assert not elsewhere.exists() or not list(elsewhere.iterdir())


def test_an_export_of_an_empty_store_is_an_export(desk: Desk, place: Path):
    out(desk, place / "a.zip")
    out(desk, place / "a.json")
    assert files(place / "a.zip") == {}
    assert parsed((place / "a.json").read_bytes()).memories == ()
    assert out(desk, place / "a.zip").written == ()
    back = desk.memories.import_directory(str(place / "a.zip"))
    assert (back.noted, back.skipped, back.seq) == ((), (), None)


def test_an_own_zip_brings_no_line_back_that_was_taken_out_nor_one_that_leads_nowhere(desk: Desk, place: Path):
    desk.put("a.md", topic("a"))
    desk.put("b.md", topic("b"))
    notes = "".join(f"- note {number}\n" for number in range(9))
    desk.put("MEMORY.md", f"- [a](a.md)\n- [b](b.md)\n- a note\n{notes}")
    desk.sync()
    out(desk, place / "a.zip")
    (place / "moved.zip").write_bytes((place / "a.zip").read_bytes())
    desk.memories.delete("a")
    for name in ("a.zip", "moved.zip"):
        back = desk.memories.import_directory(str(place / name))
        assert (back.older, back.noted, back.lines, back.seq) == (("a.md",), (), 0, None), name
    desk.edit("MEMORY.md", "- a note\n", "")
    desk.sync()
    assert desk.memories.import_directory(str(place / "a.zip")).lines == 0
    assert "- a note" not in desk.index()

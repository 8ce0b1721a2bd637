from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memstore import errors
from memstore.files.folder import Folder
from memstore.files.scan import Scan


def scanned(place: Path) -> Scan:
    folder = Folder.open(str(place))
    assert folder
    with folder:
        return folder.scan()


def memory(place: Path, path: str, text: str = "text\n") -> Path:
    file = place / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_memories_are_found_with_stamps_of_size_times_and_inode(tmp_path: Path):
    file = memory(tmp_path, "a.md")
    memory(tmp_path, "sub/deep/b.md")
    memory(tmp_path, "MEMORY.md")
    found = scanned(tmp_path)
    status = file.stat()
    assert found.files.keys() == {"a.md", "sub/deep/b.md", "MEMORY.md"}
    wanted = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
    assert found.files["a.md"] == wanted
    assert found.complete


def test_h14_debris_of_editors_and_sync_programs_is_no_memory_and_stays(tmp_path: Path):
    debris = [
        *("x.md~", ".x.md.swp", "#x.md#", ".#x.md", "4913", "x.md.tmp.812.ab12cd", "x.md.bak"),
        *(".DS_Store", "desktop.ini", ".y.md.icloud", "Thumbs.db"),
    ]
    copies = ["x.sync-conflict-20260301-101500-ABCDEF7.md", "x (conflicted copy 2026-03-01).md"]
    for name in ["x.md", *debris, *copies]:
        memory(tmp_path, name)
    memory(tmp_path, "sub/z.sync-conflict-20260301-101500-ABCDEF7.md")
    found = scanned(tmp_path)
    assert found.files.keys() == {"x.md"}
    assert set(found.debris) == set(debris)
    assert set(found.conflict_copies) == {
        *((copy, "x.md") for copy in copies),
        ("sub/z.sync-conflict-20260301-101500-ABCDEF7.md", "sub/z.md"),
    }
    assert found.strange == {"y.md": "iCloud has moved it off this machine"}
    assert all((tmp_path / name).exists() for name in [*debris, *copies])


def test_the_lock_of_an_editor_that_is_a_dangling_link_is_debris(tmp_path: Path):
    (tmp_path / ".#x.md").symlink_to("someone@example.invalid:1")
    assert scanned(tmp_path).debris == (".#x.md",)


def test_h35_other_files_and_other_rooms_are_listed_and_not_entered(tmp_path: Path):
    for path in (
        *("pic.png", ".git/config", "node_modules/x/README.md", "team/MEMORY.md", "logs/2026/01/a.md"),
        *(
            "agents/reviewer/a.md",
            "sessions/s/a.md",
            ".obsidian/a.md",
            "sub/team/a.md",
            ".hidden.md",
            "UP.MD",
        ),
    ):
        memory(tmp_path, path)
    (tmp_path / "loop").symlink_to(tmp_path)
    found = scanned(tmp_path)
    assert found.files.keys() == {"sub/team/a.md"}
    assert set(found.foreign) == {
        *("pic.png", ".git/", "node_modules/", "team/", "logs/", "agents/", "sessions/", ".obsidian/"),
        *(".hidden.md", "UP.MD"),
    }
    assert found.strange == {"loop": "it is a link to a directory"}
    assert found.complete


def test_the_list_of_foreign_files_is_capped(tmp_path: Path):
    for number in range(150):
        memory(tmp_path, f"{number}.txt", "")
    assert len(scanned(tmp_path).foreign) == 100


def test_what_is_no_plain_file_is_strange_and_never_opened(tmp_path: Path):
    outside = memory(tmp_path, "outside.md", "secret")
    place = tmp_path / "memory"
    inside = memory(place, "inside.md")
    (place / "out.md").symlink_to(outside)
    (place / "in.md").symlink_to("inside.md")
    (place / "nowhere.md").symlink_to("gone.md")
    os.link(outside, place / "hard.md")
    os.mkfifo(place / "fifo.md")
    (place / "dir.md").mkdir()
    with open(place / "huge.md", "wb") as file:
        file.truncate(1 << 40)
    unix = socket.socket(socket.AF_UNIX)
    here = os.open(place, os.O_RDONLY)
    try:
        unix.bind(f"/proc/self/fd/{here}/sock.md" if sys.platform == "linux" else str(place / "sock.md"))
    finally:
        os.close(here)
        unix.close()
    found = scanned(place)
    assert found.files.keys() == {inside.name}
    assert found.strange == {
        "out.md": "it is a link that leaves the folder",
        "in.md": "it is a link to inside.md",
        "nowhere.md": "it is a link to nothing",
        "hard.md": "it is a hard link: the same file has another name",
        "fifo.md": "it is a FIFO",
        "dir.md": "it is a directory",
        "huge.md": "it is too large to be a memory",
        "sock.md": "it is a socket",
    }


def test_names_that_differ_by_case_or_composition_are_reported(tmp_path: Path):
    names = ("foo.md", "Foo.md", "caf\u00e9.md", "cafe\u0301.md", "sub/foo.md", "Other.md")
    for name in names:
        memory(tmp_path, name)
    found = scanned(tmp_path)
    assert found.files.keys() == set(names)
    assert set(found.collisions) == {("Foo.md", "foo.md"), ("cafe\u0301.md", "caf\u00e9.md")}


def test_an_index_in_another_spelling_and_a_name_that_is_not_utf8_are_strange(tmp_path: Path):
    memory(tmp_path, "memory.md")
    memory(tmp_path, "sub/Memory.md")
    memory(tmp_path, "line\nbreak.md")
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_bytes(b"x")
    found = scanned(tmp_path)
    assert found.files == {}
    assert found.strange.keys() == {"memory.md", "sub/Memory.md", "line\nbreak.md", "caf\\xe9.md"}


def test_our_own_files_are_kept_apart(tmp_path: Path):
    memory(tmp_path, ".memstore")
    memory(tmp_path, ".memstore-7-0123456789abcdef~a.md")
    memory(tmp_path, "sub/.memstore-7-0123456789abcdef~")
    found = scanned(tmp_path)
    assert found.files == {} and found.debris == () and found.foreign == (".memstore",)
    assert found.temporary == (".memstore-7-0123456789abcdef~a.md", "sub/.memstore-7-0123456789abcdef~")


def test_a_folder_deleted_while_held_is_no_empty_folder(tmp_path: Path):
    place = tmp_path / "memory"
    place.mkdir()
    folder = Folder.open(str(place))
    assert folder
    with folder:
        assert folder.scan().complete and folder.is_in_place()
        place.rmdir()
        assert not folder.scan().complete and not folder.is_in_place()


def test_a_folder_that_was_swapped_is_not_in_place_and_the_held_one_is_read(tmp_path: Path):
    place = tmp_path / "memory"
    memory(place, "a.md")
    folder = Folder.open(str(place))
    assert folder
    with folder:
        place.rename(tmp_path / "elsewhere")
        memory(place, "b.md")
        assert not folder.is_in_place()
        assert folder.scan().files.keys() == {"a.md"}


UNREADABLE = """
import os, signal, sys
from memstore.files.folder import Folder
from memstore import errors
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.umask(0o022)
place = sys.argv[1]
os.makedirs(place + "/sub"); open(place + "/a.md", "w").close(); os.chmod(place + "/sub", 0)
with Folder.open(place) as folder:
    found = folder.scan()
    print(sorted(found.files), found.strange, found.complete, folder.read("sub/x.md"))
os.chmod(place, 0)
try:
    Folder.open(place)
except errors.PlaceRefused as error:
    print(error)
os.chmod(place, 0o700); os.chmod(place + "/sub", 0o700)
"""


def test_a_directory_that_cannot_be_listed_makes_the_scan_incomplete():
    """In a child, as another user where the tests run as root, who reads everything."""
    with tempfile.TemporaryDirectory() as base:
        os.chmod(base, 0o777)
        place = f"{os.path.realpath(base)}/memory"
        ran = subprocess.run(
            [sys.executable, "-B", "-c", UNREADABLE, place],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[2],
        )
        assert ran.returncode == 0, ran.stderr
        first, second = ran.stdout.strip().split("\n")
        assert first.startswith("['a.md'] {'sub': 'it cannot be read: Permission denied'} False Strange(")
        assert second == f"the memory folder {place} cannot be opened: Permission denied"


def test_opening_tells_missing_from_unusable(tmp_path: Path):
    assert Folder.open(str(tmp_path / "none")) is None
    memory(tmp_path, "file")
    with pytest.raises(errors.PlaceRefused, match="is not a directory"):
        Folder.open(str(tmp_path / "file"))
    with pytest.raises(errors.PlaceRefused, match="is not a directory"):
        Folder.open(str(tmp_path / "file" / "below"), create=True)
    with pytest.raises(errors.PlaceRefused, match="cannot be a directory's path"):
        Folder.open("a\0b")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(errors.PlaceRefused, match="is not a directory"):
        Folder.open(str(tmp_path / "loop"))


def test_a_folder_that_others_may_change_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tmp_path.chmod(0o777)
    with pytest.raises(errors.PlaceRefused, match="written by every user") as refused:
        Folder.open(str(tmp_path))
    assert refused.value.hint == f"run `chmod o-w {tmp_path}`"
    tmp_path.chmod(0o775)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(errors.PlaceRefused, match="belongs to another user"):
        Folder.open(str(tmp_path))


def test_a_folder_that_is_a_link_is_resolved_once(tmp_path: Path):
    memory(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to("real")
    folder = Folder.open(str(tmp_path / "link"))
    assert folder
    with folder:
        assert folder.path == os.path.realpath(tmp_path / "real")
        assert folder.scan().files.keys() == {"a.md"}


def test_a_new_folder_follows_the_umask(tmp_path: Path):
    old = os.umask(0o027)
    try:
        folder = Folder.open(str(tmp_path / "a" / "b"), create=True)
    finally:
        os.umask(old)
    assert folder
    folder.close()
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o750


def test_the_folders_stamp_changes_with_its_names(tmp_path: Path):
    folder = Folder.open(str(tmp_path))
    assert folder
    with folder:
        before = folder.stamp()
        assert folder.stamp() == before == folder.scan().stamp
        memory(tmp_path, "a.md")
        assert folder.stamp() != before

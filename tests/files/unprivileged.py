"""What a missing permission does. Run as a program it tries one case in a process without root's powers, to which
permissions mean nothing."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from memstore.files import publishing
from tests.files.desk import Desk, topic
from tests.files.outages import (
    DENIED,
    INDEX,
    Unable,
    check_folder_made,
    check_hidden,
    check_no_folder,
    check_stands,
    command,
    litter,
    mode,
    pending,
)

ROOT = Path(__file__).parents[2]


def unwritable_folder(base: Path) -> None:
    """Nothing can be made in the folder."""
    check_stands(Desk(base), lambda folder: mode(folder, 0o500), DENIED, ("a.md", "b.md"))


def unwritable_topic(base: Path) -> None:
    """A file's own permissions keep nobody from replacing it, and stay as they are."""
    desk = Desk(base)
    desk.put("a.md", topic("a", body="old\n"))
    desk.sync()
    with mode(desk.folder / "a.md", 0o400):
        saved = desk.write("a", "new\n")
        assert pending(saved.files) == {} and desk.read("a.md") == desk.text("a")
        assert (desk.folder / "a.md").stat().st_mode & 0o7777 == 0o400
    assert desk.sync().quiet


def unreadable_topic(base: Path) -> None:
    """A file that cannot be read is not replaced: it may hold an edit that nobody has seen."""
    desk = Desk(base)
    desk.put("a.md", topic("a", body="old\n"))
    desk.sync()
    desk.edit("a.md", "old", "by hand")
    with mode(desk.folder / "a.md", 0o000):
        saved = desk.write("a", "new\n")
        assert pending(saved.files) == {"a.md": f"it cannot be read: {DENIED}"}
        synced = command(desk, "sync")
        assert synced.code == 5 and f"not projected: a.md: it cannot be read: {DENIED}" in synced.err
    assert "by hand" in desk.read("a.md")
    desk.sync()
    texts = [desk.text("a"), *(conflict.theirs.decode() for conflict in desk.memories.store.conflicts())]
    assert any("by hand" in text for text in texts) and any("new" in text for text in texts)
    assert desk.sync().quiet and litter(desk.folder) == []


def unwritable_parent(base: Path) -> None:
    """The folder has to be made, and cannot be."""
    desk = Desk(base)
    above = base / "config"
    above.mkdir()
    os.environ["CLAUDE_CONFIG_DIR"] = str(above)
    desk = Desk(base, opened=desk.opened)
    with mode(above, 0o500):
        check_no_folder(desk, DENIED)
    check_folder_made(desk)


def no_way_to_the_folder(base: Path) -> None:
    """A directory above the folder lost its permission: nothing is taken for deleted."""
    check_hidden(Desk(base), lambda folder: mode(folder.parent, 0o000))


def closed_folder(base: Path) -> None:
    """The folder itself lost it."""
    check_hidden(Desk(base), lambda folder: mode(folder, 0o000))


def unlistable_folder(base: Path) -> None:
    """Names can be used but not listed."""
    check_hidden(Desk(base), lambda folder: mode(folder, 0o300))


def closed_meanwhile(base: Path) -> None:
    """The folder loses its permission after the scan, before the files are put."""
    desk = Desk(base)
    desk.put("a.md", topic("a", body="old\n"))
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    before = desk.files()
    publish = publishing.publish_all

    def late(*given: Any) -> Any:
        desk.folder.chmod(0)
        return publish(*given)

    with mock.patch.object(publishing, "publish_all", late):
        saved = desk.write("a", "new\n")
    assert pending(saved.files) == {"a.md": DENIED} and desk.text("a").endswith("new\n")
    assert command(desk, "sync").code == 5
    desk.folder.chmod(0o700)
    assert desk.files() == before
    assert desk.sync().projected == ("a.md",)
    assert desk.read("a.md") == desk.text("a") and desk.sync().quiet


CASES: dict[str, Callable[[Path], None]] = {
    work.__name__: work
    for work in (
        *(unwritable_folder, unwritable_topic, unreadable_topic, unwritable_parent),
        *(no_way_to_the_folder, closed_folder, unlistable_folder, closed_meanwhile),
    )
}


def run_unprivileged(name: str) -> subprocess.CompletedProcess[str]:
    """Does one of `CASES` in a process for which permissions count. Raises Unable."""
    base = tempfile.mkdtemp(prefix="memstore-")
    environment = {
        "HOME": base,
        "MEMSTORE_HOME": f"{base}/home",
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    started = [sys.executable, "-m", "tests.files.unprivileged", name, base]
    try:
        ran = subprocess.run(started, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(base)
    if ran.returncode == _UNABLE:
        raise Unable(ran.stderr.strip())
    return ran


_UNABLE = 77
_DROP_FROM_BOUNDING_SET = 24


def _without_powers() -> None:
    """Root's own files, but none of root's powers: the program begins anew without them."""
    prctl = ctypes.CDLL(None).prctl  # Linux only: elsewhere an AttributeError
    power = 0
    while not prctl(_DROP_FROM_BOUNDING_SET, power, 0, 0, 0):
        power += 1
    os.execv(sys.executable, [sys.executable, "-m", "tests.files.unprivileged", *sys.argv[1:], "again"])


if __name__ == "__main__":
    if os.geteuid() == 0 and len(sys.argv) == 3:
        try:
            _without_powers()
        except (OSError, AttributeError) as error:
            print(f"root's powers cannot be given up here: {error}", file=sys.stderr)
            sys.exit(_UNABLE)
    probe = Path(sys.argv[2]) / "probe"
    probe.mkdir(mode=0)
    if os.access(probe, os.W_OK):
        print("permissions mean nothing to this user", file=sys.stderr)
        sys.exit(_UNABLE)
    probe.rmdir()
    CASES[sys.argv[1]](Path(sys.argv[2]))

"""How programs save a file: each way by the system calls that such programs make, or by the program itself.

A save is done when its function returns; one that raises OSError or CalledProcessError was not.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

_PAUSE = 0.02


@dataclass(slots=True)
class Save:
    """One save of one file. `text` is what the program means to leave there; `line` the one new line in it."""

    path: Path
    text: bytes
    line: str
    chance: Random
    git: Git
    spare: str = field(init=False)

    def __post_init__(self) -> None:
        self.spare = f"{os.getpid()}.{self.chance.randrange(1 << 32):08x}"

    def pause(self) -> None:
        """As long as a slow program takes between two steps."""
        time.sleep(self.chance.random() * _PAUSE)


@dataclass(frozen=True, slots=True)
class Git:
    """A repository whose work tree is the memory folder, with its own directory elsewhere."""

    directory: Path
    tree: Path

    def run(self, *arguments: str, text: bytes = b"") -> str:
        """What git answers."""
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.directory.parent), "LC_ALL": "C"}
        environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        command = ["git", f"--git-dir={self.directory}", f"--work-tree={self.tree}", *arguments]
        done = subprocess.run(command, input=text, capture_output=True, check=True, env=environment, cwd=self.tree)
        return done.stdout.decode().strip()


def in_place(save: Save) -> None:
    """Opened for writing, overwritten, cut to its new length."""
    with open(save.path, "r+b", buffering=0) as file:
        file.write(save.text)
        file.truncate(len(save.text))


def held_open(save: Save) -> None:
    """As `in_place`, but the file has been open for a while: something else may have its name by now."""
    with open(save.path, "r+b", buffering=0) as file:
        save.pause()
        save.pause()
        file.write(save.text)
        file.truncate(len(save.text))


def truncated(save: Save) -> None:
    """Emptied, then written in two parts with a pause."""
    half = len(save.text) // 2
    with open(save.path, "wb", buffering=0) as file:
        save.pause()
        file.write(save.text[:half])
        save.pause()
        file.write(save.text[half:])


def renamed(save: Save) -> None:
    """A temporary file beside it takes its name."""
    spare = save.path.with_name(f"{save.path.name}.tmp.{save.spare}")
    spare.write_bytes(save.text)
    os.replace(spare, save.path)


def with_backup(save: Save) -> None:
    """The old file is moved to a backup's name, the new one written, the backup removed."""
    backup = save.path.with_name(f"{save.path.name}~")
    os.replace(save.path, backup)
    save.path.write_bytes(save.text)
    with contextlib.suppress(OSError):
        backup.unlink()


def appended(save: Save) -> None:
    """The new line alone is added at the end of whatever is there."""
    with open(save.path, "ab", buffering=0) as file:
        file.write(f"{save.line}\n".encode())


def by_sed(save: Save) -> None:
    """`sed -i`: reads what is there, writes it with the line to a file of its own, which takes the name."""
    if shutil.which("sed") is None:
        _as_sed_does(save)
        return
    subprocess.run(["sed", "-i", f"$a {save.line}", str(save.path)], check=True, capture_output=True)


def _as_sed_does(save: Save) -> None:
    text = save.path.read_bytes()
    spare = save.path.with_name(f"sed{save.spare[-6:]}")
    spare.write_bytes(text + f"{save.line}\n".encode())
    os.rename(spare, save.path)


def by_git(save: Save) -> None:
    """`git checkout`: the file is removed and made anew."""
    if shutil.which("git") is None:
        _as_git_does(save)
        return
    blob = save.git.run("hash-object", "-w", "--stdin", text=save.text)
    save.git.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{save.path.name}")
    save.git.run("checkout", "--", save.path.name)
    # Git says nothing where it found that the file was the wanted one already.


def _as_git_does(save: Save) -> None:
    save.path.unlink()
    handle = os.open(save.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with open(handle, "wb") as file:
        file.write(save.text)


def by_rsync(save: Save) -> None:
    """`rsync -t`: a hidden temporary file gets the time of its source, which lies in the past, and takes the name."""
    source = save.git.directory.with_name(f"source-{save.spare}.md")
    source.write_bytes(save.text)
    past = time.time_ns() - save.chance.randrange(1, 3_600) * 1_000_000_000
    os.utime(source, ns=(past, past))
    try:
        if shutil.which("rsync") is not None:
            subprocess.run(["rsync", "-t", str(source), str(save.path)], check=True, capture_output=True)
        else:
            spare = save.path.with_name(f".{save.path.name}.{save.spare[-6:]}")
            shutil.copyfile(source, spare)
            os.utime(spare, ns=(past, past))
            os.rename(spare, save.path)
    finally:
        source.unlink()


STYLES: dict[str, tuple[Callable[[Save], None], int]] = {
    "in place": (in_place, 4),
    "held open": (held_open, 3),
    "truncate and write": (truncated, 3),
    "rename": (renamed, 4),
    "backup and rename": (with_backup, 3),
    "append": (appended, 3),
    "sed -i": (by_sed, 2),
    "git checkout": (by_git, 1),
    "rsync -t": (by_rsync, 2),
}
"""Each with how often it is taken."""


def re_expressed() -> list[str]:
    """The programs that are not installed here, whose system calls are made instead."""
    return [name for name in ("sed", "git", "rsync") if shutil.which(name) is None]

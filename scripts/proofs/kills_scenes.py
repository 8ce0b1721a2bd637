"""What a sync finds when it is killed: a folder and a store with all kinds of work left to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from memstore.app import Memstore
from memstore.core.changes import Change, ChangeSet, Create, Rename, Retire, Revise
from memstore.core.model import INDEX_NAME, SHELF, Memory, Provenance
from memstore.core.plan import Wanted

_TOOL = Provenance("agent", "a tool")
_NAMES = ("auth", "build", "cache", "deploy", "errors")


def topic(name: str, *lines: str) -> bytes:
    """The text of a memory's file."""
    body = "".join(f"{line}\n" for line in lines)
    return f"---\nname: {name}\ndescription: about {name}\ntype: project\n---\n\n{body}".encode()


def everyday(memories: Memstore, folder: Path) -> None:
    """Five memories, and since then: two writes that nobody projected, an edit by hand, one of what a tool wrote as
    well, a memory retired, one renamed, and a line by hand in the index."""
    _five(memories)
    edit(folder / "auth.md", b"first line of auth", b"first line of auth, by hand")
    edit(folder / "build.md", b"last line of build", b"last line of build, by hand")
    edit(folder / INDEX_NAME, b"\n", b"\n- a line by hand\n")
    _silently(memories, Create(memories.world.new_id(), SHELF, "fresh.md", topic("fresh", "of the tool")))
    _revise(memories, "build", b"first line of build", b"first line of build, by the tool")
    _silently(memories, Retire(_head(memories, "cache").id, _head(memories, "cache").token))
    deploy = _head(memories, "deploy")
    _silently(memories, Rename(deploy.id, deploy.token, "rollout.md"))


def taken_over(memories: Memstore, folder: Path) -> None:
    """A folder that memstore has never seen."""
    folder.mkdir(parents=True)
    for name in _NAMES:
        (folder / f"{name}.md").write_bytes(topic(name, f"text of {name}"))
    (folder / INDEX_NAME).write_bytes(b"# Notes\n\n- [Auth](auth.md) - hook\n- [Gone](gone.md)\nfree\n")


def swept(memories: Memstore, folder: Path) -> None:
    """All files and the claim are gone: everything is put back."""
    _five(memories)
    shutil.rmtree(folder)
    folder.mkdir()


def by_hand(memories: Memstore, folder: Path) -> None:
    """A file deleted, one renamed, two that conflict, a new one, an older text put back, the index edited."""
    _five(memories)
    (folder / "auth.md").unlink()
    os.rename(folder / "build.md", folder / "making.md")
    _revise(memories, "cache", b"first line of cache", b"of the tool")
    edit(folder / "cache.md", b"first line of cache", b"by hand")
    (folder / "new.md").write_bytes(topic("new", "by hand"))
    (folder / "sub").mkdir()
    (folder / "sub" / "deep.md").write_bytes(topic("deep", "by hand"))
    edit(folder / INDEX_NAME, b"deploy", b"deploy, by hand")
    (folder / "errors.md").write_bytes(b"")


def left_behind(memories: Memstore, folder: Path) -> None:
    """What processes that died have left: a text that nobody has, one that the store has, half a file; and work."""
    _five(memories)
    dead = 2**22 + 1  # no process has such a number
    edited = (folder / "auth.md").read_bytes().replace(b"last line", b"last line, saved while it was replaced")
    (folder / f".memstore-{dead}-{'0' * 16}~auth.md").write_bytes(edited)
    (folder / f".memstore-{dead}-{'1' * 16}~build.md").write_bytes((folder / "build.md").read_bytes())
    (folder / f".memstore-{dead}-{'2' * 16}~").write_bytes(b"half of")
    _revise(memories, "auth", b"first line of auth", b"first line of auth, by the tool")
    _revise(memories, "errors", b"last line of errors", b"last line of errors, by the tool")


SCENES: dict[str, Callable[[Memstore, Path], None]] = {
    "everyday": everyday,
    "taken over": taken_over,
    "swept": swept,
    "by hand": by_hand,
    "left behind": left_behind,
}


def edit(path: Path, old: bytes, new: bytes) -> None:
    """An edit by hand: the first `old` becomes `new`."""
    text = path.read_bytes()
    assert old in text, (path, old)
    path.write_bytes(text.replace(old, new, 1))


def _five(memories: Memstore) -> None:
    for name in _NAMES:
        lines = (f"first line of {name}", "", "between them", "", f"last line of {name}", "")
        memories.write(name, Wanted(body="\n".join(lines), description=f"about {name}", type="project"))
    memories.sync()


def _head(memories: Memstore, name: str) -> Memory:
    head = memories.store.at(SHELF, f"{name}.md")
    assert head is not None
    return head


def _revise(memories: Memstore, name: str, old: bytes, new: bytes) -> None:
    head = _head(memories, name)
    assert old in head.state.content
    _silently(memories, Revise(head.id, head.token, head.state.content.replace(old, new)))


def _silently(memories: Memstore, change: Change) -> None:
    """A write whose process ended before it projected anything."""
    world = memories.world
    memories.store.apply(ChangeSet(world.new_id(), "write", world.clock(), _TOOL, (change,)))

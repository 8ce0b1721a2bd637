"""Where a hook is: the home, the claimed folder of a file, the checkout of a directory, the client's switches.

The rules are those of `store/home.py`, `files/claim.py`, `claude/root.py` and `claude/paths.py`, for the everyday cases
alone and without what takes long to import; tests compare them. Where a case is not an everyday one the answer is None,
and the hook does nothing or leaves it to the long path.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from memstore.core.ids import digest, is_uuid
from memstore.store.quick import Json

CLAIM = ".memstore"

_SMALL = 64 * 1024
_LARGEST_SETTINGS = 1024 * 1024
_LARGEST_FILE = 4 * 1024 * 1024


def home_of(env: Mapping[str, str]) -> str | None:
    """The program's home, if it is there and this user's alone."""
    path = env.get("MEMSTORE_HOME") or ""
    if not path:
        data = env.get("XDG_DATA_HOME", "") if sys.platform == "linux" else ""
        if not os.path.isabs(data):
            user = env.get("HOME", "")
            if not os.path.isabs(user):
                return None
            above = ("Library", "Application Support") if sys.platform == "darwin" else (".local", "share")
            data = os.path.join(user, *above)
        path = os.path.join(data, "memstore")
    try:
        path = os.path.realpath(path) if os.path.isabs(path) else ""
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    sound = found.st_mode & 0o170022 == 0o040000 and found.st_uid == os.geteuid()
    return path if sound else None


def database(home: str, store: str) -> str:
    """The path of a store's database; SQLite itself is to follow no link."""
    return os.path.join(os.path.realpath(os.path.join(home, "stores", store)), "store.db")


def claimed(file_path: str | None, json: Json) -> tuple[str, str, str] | None:
    """The claimed folder that a memory's file lies in: the folder, its store, the name within it."""
    if not file_path or not _is_possible(file_path) or not file_path.endswith(".md"):
        return None
    place, base = os.path.split(file_path)
    folder = place = os.path.realpath(place)
    while True:
        content = read_small(os.path.join(folder, CLAIM), _SMALL)
        if content is not None:
            store = _text(json.fields(content, ("store",)))
            name = os.path.join(os.path.relpath(place, folder), base).removeprefix("./")
            return (folder, store, name) if store and is_uuid(store) else None
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def checkout(cwd: str | None) -> tuple[str, str, str | None] | None:
    """The root that a directory belongs to, the top of its checkout, and the branch."""
    if not cwd or not _is_possible(cwd):
        return None
    start = top = os.path.realpath(cwd)
    while True:
        dot_git = os.path.join(top, ".git")
        if os.path.isdir(dot_git):
            return top, top, _branch(dot_git)
        if os.path.isfile(dot_git):
            return _linked(top, dot_git)
        above = os.path.dirname(top)
        if above == top:
            return start, start, None
        top = above


def workplace(cwd: str | None, env: Mapping[str, str]) -> tuple[str, str, tuple[str, str, str | None]] | None:
    """Where a session was started, where it is at work, and the checkout of the latter.

    The client keeps to the memories of where it was started (`CLAUDE_PROJECT_DIR`), wherever `cd` takes it. So where
    that belongs to another root (outside git each directory is one), the session counts as being there still.
    """
    here, started = checkout(cwd), env.get("CLAUDE_PROJECT_DIR") or cwd
    own = here if started == cwd else checkout(started)
    if cwd is not None and here is not None and (own is None or own[0] == here[0]):
        return cwd if own is None or started is None else started, cwd, here
    return None if own is None or started is None else (started, started, own)


def store_of(home: str, root: str, json: Json) -> str | None:
    """The store that the registry knows for a root."""
    content = read_small(os.path.join(home, "roots", digest(os.fsencode(root)) + ".json"), _SMALL)
    store = None if content is None else _text(json.fields(content, ("store",)))
    return store if store and is_uuid(store) else None


def set_off(env: Mapping[str, str], root: str, started: str, json: Json, managed: str = "") -> bool:
    """Whether the client's settings switch its memory off: the most binding one that says anything.

    Seen on the client: of the repository it reads the local settings of the main checkout, then those of the very
    directory where it was started, and not those of the directories above.
    """
    managed = managed or ("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")
    drop_ins = os.path.join(managed, "managed-settings.d")
    try:
        names = sorted(os.listdir(drop_ins), reverse=True)
    except OSError:
        names = []
    paths = [os.path.join(drop_ins, name) for name in names if name.endswith(".json") and name[0] != "."]
    paths.append(os.path.join(managed, "managed-settings.json"))
    if root != started and os.path.lexists(os.path.join(root, ".git")):
        paths.append(os.path.join(root, ".claude", "settings.local.json"))
    paths += [os.path.join(started, ".claude", name) for name in ("settings.local.json", "settings.json")]
    paths.append(os.path.join(config_of(env), "settings.json"))
    for path in paths:
        content = read_small(path, _LARGEST_SETTINGS)
        said = {} if content is None else json.switches(content.removeprefix(b"\xef\xbb\xbf"))
        for name in ("autoMemoryEnabled", "autoMemory"):
            if name in said:
                return not said[name]
    return False


def config_of(env: Mapping[str, str]) -> str:
    """The client's configuration directory."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME", "/"), ".claude")


def is_transcript(path: str | None, env: Mapping[str, str]) -> bool:
    """Whether a path is that of a transcript in the client's own place."""
    if not path or not _is_possible(path) or not path.endswith(".jsonl"):
        return False
    projects = os.path.realpath(os.path.join(config_of(env), "projects"))
    real = os.path.realpath(path)
    return real.startswith(projects + "/") and (os.path.isfile(real) or not os.path.lexists(real))


def read_small(path: str, limit: int = _LARGEST_FILE) -> bytes | None:
    """The bytes of a regular file; None where it is not there, is something else, or larger than `limit`."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(handle)
        if found.st_mode & 0o170000 != 0o100000 or found.st_size > limit:
            return None
        data = b""
        while len(data) <= limit:
            piece = os.read(handle, max(4096, found.st_size - len(data) + 1))
            if not piece:
                return data
            data += piece
    except OSError:
        return None
    finally:
        os.close(handle)
    return None


def _is_possible(path: str) -> bool:
    """Whether there can be such a path at all: looking for what is longer takes its time."""
    return len(path) < 4096 and os.path.isabs(path) and "\0" not in path


def _linked(top: str, dot_git: str) -> tuple[str, str, str | None]:
    """A linked worktree that its repository knows too belongs to that; anything else is a root of its own."""
    own = _path(dot_git, top, b"gitdir: ")
    if own is None:
        return top, top, None
    shared = _path(os.path.join(own, "commondir"), own)
    back = _path(os.path.join(own, "gitdir"), own, real=False)
    root = top
    if shared is not None and back is not None and os.path.dirname(own) == os.path.join(shared, "worktrees"):
        try:
            if os.path.basename(back) == ".git" and os.path.samefile(os.path.dirname(back), top):
                root = os.path.dirname(shared) if os.path.basename(shared) == ".git" else shared
        except OSError:
            root = top
    return root, top, _branch(own)


def _path(file: str, base: str, prefix: bytes = b"", *, real: bool = True) -> str | None:
    content = read_small(file, _SMALL)
    if content is None or not content.startswith(prefix):
        return None
    named = content[len(prefix) :].rstrip(b"\r\n")
    path = os.path.join(base, os.fsdecode(named)) if named and b"\0" not in named else ""
    return (os.path.realpath(path) if real else path) or None


def _branch(git: str) -> str | None:
    head = (read_small(os.path.join(git, "HEAD"), _SMALL) or b"").split(b"\n", 1)[0].rstrip(b"\r ")
    if not head.startswith(b"ref: refs/heads/"):
        return None
    branch = head[len(b"ref: refs/heads/") :].decode("utf-8", "replace")
    return branch if branch.isprintable() else None


def _text(found: tuple[bytes | int | bool | None, ...] | None) -> str | None:
    value = found[0] if found else None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None

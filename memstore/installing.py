"""Installs and uninstalls the plugin: reads what stands, and carries a plan out. No file is ever half written."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any
from unicodedata import normalize

import memstore
from memstore.claude import jsontext
from memstore.claude.changing import put_file, put_link, refused, remove, remove_empty, unchangeable, unmakeable
from memstore.claude.install import Change, Document, Link, Plan, Record, Standing, Touched
from memstore.claude.paths import base_directory, config_directory, memory_directory, settings_for
from memstore.claude.plugin import HOOKS, MANIFEST, NAME, Launch, folder_rules, is_program, render
from memstore.claude.root import find_root
from memstore.claude.settings import Scalar, managed_directory, managed_files
from memstore.errors import Defect, InputRefused, Mendable, PlaceRefused
from memstore.store.entry import USER_ROOT, read_object
from memstore.store.home import Home
from memstore.store.plainfile import read_bounded
from memstore.world import World

_LARGEST = 1024 * 1024
_WAIT = 30.0
_PACKAGE = os.path.dirname(os.path.abspath(memstore.__file__))
_FIND = "import importlib.util as u, sys; s = u.find_spec('memstore'); sys.stdout.write(s.origin or '' if s else '')"


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything lies for this user, in this directory."""

    home: str
    plugin: str
    record: str
    config: str
    link: str
    user: str
    project: str | None
    """The directory whose `.claude/settings.local.json` speaks for the project; None in a bare repository."""

    @classmethod
    def find(cls, world: World) -> Places:
        """Looks, and makes nothing."""
        home = Home.locate(world.environment).path
        config = config_directory(world.environment, world.home, world.cwd)
        root = find_root(world.cwd)
        # The client reads the main checkout's local settings in its linked worktrees too.
        project: str | None = root.path if root.kind == "directory" or _has_checkout(root.path) else root.worktree
        return cls(
            home,
            os.path.join(home, "claude-plugin"),
            os.path.join(home, "claude-plugin.json"),
            config,
            os.path.join(config, "skills", NAME),
            os.path.join(config, "settings.json"),
            None if root.kind == "bare" else project,
        )


def standing(places: Places, *, project: bool) -> Standing:
    """What is there now. Raises PlaceRefused or InputRefused for a file that could not be edited safely."""
    record = _read_record(places.record)
    local = _local_settings(places) if project else None
    user = _document(places.user)
    known = {user.path, *([local.path] if local else [])}
    others, warnings = [], []
    for one in record.settings:
        if one.path not in known and os.path.lexists(one.path):
            try:
                document = _document(one.path)
            except Mendable as error:
                warnings.append(str(error))
                continue
            if document.path not in known:  # it may have become a link to a file that is here already
                known.add(document.path)
                others.append(document)
    links = tuple(_link(path, places.plugin) for path in dict.fromkeys((places.link, *record.links)))
    files = dict(_tree(places.plugin))
    return Standing(places.plugin, files, user, local, links, tuple(others), record, tuple(warnings))


def launch() -> Launch:
    """How this very installation is started. Raises PlaceRefused where the interpreter does not know its own place."""
    if not sys.executable:
        raise PlaceRefused("this Python does not know where it lies", hint="start memstore with an ordinary Python")
    found = subprocess.run(
        [sys.executable, "-I", "-c", _FIND], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    by_name = os.path.dirname(found.stdout) == _PACKAGE
    program = ("-I", "-m", "memstore") if by_name else ("-I", os.path.join(_PACKAGE, "__main__.py"))
    return Launch(sys.executable, program, os.path.join(_PACKAGE, "hook.py"), libraries(), memstore.__version__)


def libraries() -> str:
    """Where the libraries lie that a hook needs. Raises Defect."""
    from importlib.util import find_spec

    found = find_spec("apsw")
    if found is None or not found.submodule_search_locations:
        raise Defect("this installation of memstore is incomplete: apsw is missing", hint="install memstore again")
    return os.path.dirname(os.path.abspath(next(iter(found.submodule_search_locations))))


def rendered(world: World, places: Places) -> dict[str, str]:
    """The plugin's files for this machine and the memory folders that are known."""
    templates = dict(_tree(os.path.join(_PACKAGE, "plugin")))
    if MANIFEST not in templates or HOOKS not in templates:
        raise Defect(f"this installation of memstore is incomplete: {_PACKAGE}/plugin", hint="install memstore again")
    links = _read_record(places.record).links
    bases = [
        places.config,
        base_directory(world.environment, world.home, world.cwd)[0],
        *(os.path.dirname(os.path.dirname(link)) for link in links),
    ]
    rules = folder_rules(_both(bases), _both(_memory_folders(world)))
    return render(templates, launch(), rules)


def policy(places: Places, found: Standing) -> list[tuple[str, bool, Mapping[str, Any]]]:
    """The settings that may keep the client from loading the plugin: name, whether managed, content."""
    managed = [*managed_files(managed_directory()), os.path.join(places.config, "remote-settings.json")]
    sources: list[tuple[str, bool, Mapping[str, Any]]] = []
    for path in managed:
        try:
            content = json.loads(read_bounded(path, _LARGEST).decode("utf-8-sig"))
        except (OSError, ValueError, RecursionError):
            continue  # the client cannot use it either
        if isinstance(content, dict):
            sources.append((path, True, content))
    for document in (found.user, found.project):
        if document is not None and document.text is not None:
            sources.append((document.path, False, jsontext.read_object(document.text, document.path)))
    return sources


def render_into(directory: str, files: Mapping[str, str]) -> None:
    """Writes the plugin into a directory of its own, for `claude --plugin-dir`."""
    try:
        strange = os.listdir(directory) and not os.path.isfile(os.path.join(directory, MANIFEST))
    except FileNotFoundError:
        strange = False
    except OSError as error:
        raise refused(directory, error) from error
    if strange:
        raise PlaceRefused(f"{directory} holds something else than a plugin", hint="name a new or empty directory")
    for path, text in files.items():
        _put_plugin_file(directory, path, text)


@contextmanager
def alone(places: Places, *, make: bool) -> Iterator[None]:
    """One process installs or uninstalls at a time: each rewrites the record of what all of them put where, and what
    it plans meanwhile may have been read half way through another's changes.

    The home itself is locked, so that no file is left over from it; `make`: it is made where it is missing.
    """
    if make:
        os.makedirs(places.home, 0o700, exist_ok=True)
    try:
        handle = os.open(places.home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        end = time.monotonic() + _WAIT
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise PlaceRefused(
                        "another installation is at work for this user", hint="run the command again when it is done"
                    ) from None
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def carry_out(plan: Plan, places: Places) -> None:
    """Makes the plan's changes. Stopped anywhere, the same command makes the rest. Call it `alone`."""
    record = plan.record
    if record is not None:
        made = dict.fromkeys((*record.directories, *_missing_directories(plan, places)))
        record = replace(record, directories=tuple(made))
        put_file(places.record, None, json.dumps(asdict(record), indent=1).encode(), mode=0o600, check=False)
    for change in plan.changes:
        _carry_out(change, places)
    if record is None:
        earlier = _read_record(places.record)
        files = (*earlier.files, *(one.path for one in plan.changes if one.kind == "plugin"))
        within = {os.path.dirname(path) for path in files}
        parts = {
            os.path.join(places.plugin, *path.split("/")[:n]) for path in within for n in range(path.count("/") + 2)
        }
        remove_empty(sorted({places.plugin, *parts}, key=len, reverse=True))
        remove_empty(reversed(earlier.directories))
        remove(places.record, None, check=False)


def hindrances(plan: Plan) -> list[str]:
    """Why changes of the plan could not be made, before any is: the file, and the reason."""
    ways = {"settings": unchangeable, "link": unmakeable}
    changes = [change for change in plan.changes if change.kind in ways]
    return [f"{change.path}: {reason}" for change in changes if (reason := ways[change.kind](change.path))]


def _carry_out(change: Change, places: Places) -> None:
    if change.kind == "link":
        put_link(change.path, change.before, change.after)
    elif change.kind == "settings":
        if change.after is None:
            remove(change.path, (change.before or "").encode())
        else:
            before = None if change.before is None else change.before.encode()
            put_file(change.path, before, change.after.encode())
    elif change.after is None:
        remove(os.path.join(places.plugin, change.path), None, check=False)
    else:
        _put_plugin_file(places.plugin, change.path, change.after)


def _put_plugin_file(directory: str, path: str, text: str) -> None:
    mode = 0o700 if is_program(path) else 0o600
    put_file(os.path.join(directory, path), None, text.encode(), mode=mode, check=False)


def _missing_directories(plan: Plan, places: Places) -> Iterator[str]:
    """Directories outside our home that have to be made for the plan, outermost first."""
    for change in plan.changes:
        missing = []
        directory = os.path.dirname(change.path)
        while change.kind != "plugin" and not os.path.isdir(directory):
            missing.append(directory)
            directory = os.path.dirname(directory)
        yield from reversed(missing)


def _has_checkout(path: str) -> bool:
    return os.path.lexists(os.path.join(path, ".git"))


def _local_settings(places: Places) -> Document:
    if places.project is None:
        raise PlaceRefused(
            "a bare repository has no settings of its own", hint="run this in a worktree, or install for the user"
        )
    path = os.path.join(places.project, ".claude", "settings.local.json")
    real = os.path.realpath(path)
    if not real.startswith(os.path.realpath(places.project).rstrip("/") + "/"):
        raise PlaceRefused(f"{path} leads out of the repository, to {real}", hint="make it a file of the repository")
    return _document(path)


def _document(path: str) -> Document:
    """A settings file where it really lies: a link to it stays a link."""
    real = os.path.realpath(path)
    if os.path.islink(path) and not os.path.exists(path):
        raise PlaceRefused(f"{path} is a link to {real}, and nothing is there", hint="mend the link or remove it")
    try:
        return Document(real, read_bounded(real, _LARGEST).decode())
    except (FileNotFoundError, NotADirectoryError):
        return Document(real, None)
    except OSError as error:
        raise refused(path, error) from error
    except UnicodeDecodeError:
        raise InputRefused(f"{path} is not UTF-8 text; it is left as it is", hint="convert it to UTF-8") from None


def _link(path: str, plugin: str) -> Link:
    try:
        target = os.readlink(path)
    except FileNotFoundError:
        return Link(path, None)
    except OSError:
        return Link(path, None, "it is no link") if os.path.lexists(path) else Link(path, None)
    if target == plugin or os.path.basename(target) == os.path.basename(plugin):
        return Link(path, target)  # ours, or one of a home that memstore had before
    return Link(path, target, f"it leads to {target}")


def _tree(directory: str) -> Iterator[tuple[str, str]]:
    """The text files below a directory, by their path in it."""
    for at, names, files in os.walk(directory):
        names.sort()
        for name in sorted(files):
            path = os.path.join(at, name)
            try:
                text = read_bounded(path, _LARGEST).decode("utf-8", "replace")
            except OSError as error:
                raise refused(path, error) from error
            yield os.path.relpath(path, directory), text


def _memory_folders(world: World) -> Iterator[str]:
    """The memory folder of this directory and of each repository that has a store."""
    home = Home.locate(world.environment)
    roots = [entry.root for entry in home.entries() if entry.root != USER_ROOT and os.path.isdir(entry.root)]
    for cwd in (world.cwd, *roots):
        with suppress(Mendable):  # that repository has its own trouble, which its own commands tell
            yield _memory_folder(cwd, home, world)


def _memory_folder(cwd: str, home: Home, world: World) -> str:
    root = find_root(cwd)

    def consent(key: str, value: Scalar) -> bool:
        return home.trusted(root.path, key, value)

    settings = settings_for(root, world.environment, world.home, consent=consent, cwd=cwd)
    return memory_directory(root, world.environment, world.home, settings, cwd=cwd).directory


def _both(paths: Iterator[str] | list[str]) -> list[str]:
    """Each path as it is given and as it really is, and both in the Unicode form that the client gives to a setting:
    it names any of them."""
    ways = ((os.path.normpath(path), os.path.realpath(path)) for path in paths)
    return list(dict.fromkeys(way for pair in ways for path in pair for way in (path, normalize("NFC", path))))


def _read_record(path: str) -> Record:
    content = read_object(path) or {}
    settings = content.get("settings")
    touched = [
        Touched(one["path"], one.get("made") is True, one.get("had") is True, one.get("project") is True)
        for one in (settings if isinstance(settings, list) else [])
        if isinstance(one, dict) and isinstance(one.get("path"), str)
    ]
    files, links, directories = (_texts(content.get(name)) for name in ("files", "links", "directories"))
    return Record(files, links, tuple(touched), directories)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

"""The client's settings that concern memory: which file says what, and whether it counts.

Files are read, never written. From the most to the least binding: managed, `--settings`, local, project,
user. What came with the repository (project and local: either can be committed) counts only after consent,
since it decides where the words of every session are written.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from memstore.store.plainfile import read_bounded

Scope = Literal["managed", "explicit", "local", "project", "user"]
Scalar = bool | int | float | str
Consent = Callable[[str, Scalar], bool]

MEMORY_ENABLED = "autoMemoryEnabled"
MEMORY_DIRECTORY = "autoMemoryDirectory"
DREAM_ENABLED = "autoDreamEnabled"
DREAM_MIN_HOURS = "autoDream.minHours"
DREAM_MIN_SESSIONS = "autoDream.minSessions"

# Where a key is looked for inside one file, the client's own name first, then the older ones.
_SPELLINGS = {
    MEMORY_ENABLED: (("autoMemoryEnabled",), ("autoMemory",)),
    MEMORY_DIRECTORY: (("autoMemoryDirectory",),),
    DREAM_ENABLED: (("autoDreamEnabled",), ("autoDream", "enabled")),
    DREAM_MIN_HOURS: (("autoDream", "minHours"),),
    DREAM_MIN_SESSIONS: (("autoDream", "minSessions"),),
}
_EXPECTED = {
    MEMORY_ENABLED: "true or false",
    MEMORY_DIRECTORY: "a path as text",
    DREAM_ENABLED: "true or false",
    DREAM_MIN_HOURS: "a number of hours, 0 or more",
    DREAM_MIN_SESSIONS: "a whole number, 0 or more",
}
_RULES: dict[Scope, str] = {
    "managed": "the organisation's managed settings bind everybody",
    "explicit": "given as --settings for this run",
    "local": "the checkout's local settings, which came with the repository: they count after consent",
    "project": "the project's settings, which came with the repository: they count after consent",
    "user": "the user's own settings",
}
_ENVIRONMENT_NAMES = (
    "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE",
    "CLAUDE_CODE_REMOTE_MEMORY_DIR",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
    "CLAUDE_CONFIG_DIR",
)
_REPOSITORY_FILES: tuple[tuple[Scope, str], ...] = (
    ("local", "settings.local.json"),
    ("project", "settings.json"),
)
_LARGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SettingValue:
    """One key as one file has it."""

    key: str
    value: Scalar
    source: str
    """The file, or `--settings`."""
    scope: Scope
    rule: str
    trusted: bool
    """False: it came with the repository and nobody has consented."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Every value that was found, the most binding first, and what was wrong with the files."""

    values: tuple[SettingValue, ...]
    warnings: tuple[str, ...]

    def chosen(self, key: str) -> SettingValue | None:
        """The value that counts: the most binding one that is trusted."""
        return next((value for value in self.values if value.key == key and value.trusted), None)

    def wanted(self, key: str) -> SettingValue | None:
        """The value that would count if the repository were trusted: what the client itself may follow."""
        return next((value for value in self.values if value.key == key), None)

    def awaiting(self) -> tuple[SettingValue, ...]:
        """The values that would count, had a person consented to them."""
        wanted = (self.wanted(key) for key in _SPELLINGS)
        return tuple(value for value in wanted if value is not None and not value.trusted)


def managed_directory() -> str:
    """Where an organisation puts its settings on this platform."""
    return "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"


def read_settings(
    project: str,
    config: str,
    *,
    consent: Consent,
    main: str | None = None,
    explicit: Mapping[str, object] | None = None,
    managed: str | None = None,
    trust_config: bool = True,
) -> Settings:
    """Reads all settings that concern memory. Never raises for what lies in a file: that becomes a warning.

    `project` is the top directory of the checkout, `config` the client's configuration directory, `main` the main
    checkout of a linked worktree, whose local settings bind in it before its own, as seen on the client; `consent`
    says whether a person agreed to a value that the repository brought. `trust_config` is False when the
    configuration directory itself may have come with the repository.
    """
    values: list[SettingValue] = []
    warnings: list[str] = []
    for scope, source, content in _sources(project, main, config, explicit, managed or managed_directory(), warnings):
        supplied = scope in ("local", "project") or (scope == "user" and not trust_config)
        for key in _SPELLINGS:
            value = _value(key, content, source, warnings)
            if value is not None:
                trusted = not supplied or consent(key, value)
                values.append(SettingValue(key, value, source, scope, _RULES[scope], trusted))
        _look_at_environment(content, source, warnings)
    return Settings(tuple(values), tuple(warnings))


def _sources(
    project: str,
    main: str | None,
    config: str,
    explicit: Mapping[str, object] | None,
    managed: str,
    warnings: list[str],
) -> Iterator[tuple[Scope, str, Mapping[str, object]]]:
    """Scope, name and content of each source that is there, the most binding first."""
    for path in managed_files(managed):
        yield from _file("managed", path, warnings)
    if explicit is not None:
        yield "explicit", "--settings", explicit
    user = os.path.join(config, "settings.json")
    tops = [(main, *_REPOSITORY_FILES[0])] if main is not None else []
    for top, scope, name in [*tops, *((project, *file) for file in _REPOSITORY_FILES)]:
        path = os.path.join(top, ".claude", name)
        # In the home directory the project's file and the user's are one: it is the user's.
        if not _same_file(path, user):
            for found in _file(scope, path, warnings):
                _look_at_link(path, top, warnings)
                yield found
    yield from _file("user", user, warnings)


def managed_files(directory: str) -> list[str]:
    """An organisation's files: the drop-in files from the last to the first (a later one wins), then the main file."""
    drop_ins = os.path.join(directory, "managed-settings.d")
    try:
        names = sorted(os.listdir(drop_ins), reverse=True)
    except OSError:
        names = []
    paths = [os.path.join(drop_ins, name) for name in names if name.endswith(".json") and name[0] != "."]
    return [*paths, os.path.join(directory, "managed-settings.json")]


def _file(scope: Scope, path: str, warnings: list[str]) -> Iterator[tuple[Scope, str, Mapping[str, object]]]:
    try:
        text = read_bounded(path, _LARGEST).decode("utf-8-sig")
        content = json.loads(text) if text.strip() else {}
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        warnings.append(f"{path} is ignored: {error.strerror or error}")
    except UnicodeDecodeError:
        warnings.append(f"{path} is ignored: it is not UTF-8 text")
    except (ValueError, RecursionError) as error:
        reason = f"{error}" if isinstance(error, ValueError) else "nested too deeply"
        warnings.append(f"{path} is ignored: it is not valid JSON ({reason})")
    else:
        if isinstance(content, dict):
            yield scope, path, content
        else:
            warnings.append(f"{path} is ignored: it holds no JSON object")


def _value(key: str, content: Mapping[str, object], source: str, warnings: list[str]) -> Scalar | None:
    for spelling in _SPELLINGS[key]:
        raw: object = content
        for name in spelling:
            raw = raw.get(name) if isinstance(raw, Mapping) else None
        if raw is None:
            continue
        value = _checked(key, raw)
        if value is not None:
            return value
        warnings.append(f"{source}: {'.'.join(spelling)} is ignored: it must be {_EXPECTED[key]}")
    return None


def _checked(key: str, raw: object) -> Scalar | None:
    """The value if it has the type that the key needs."""
    if key in (MEMORY_ENABLED, DREAM_ENABLED):
        return raw if isinstance(raw, bool) else None
    if key == MEMORY_DIRECTORY:
        return raw if isinstance(raw, str) else None
    if isinstance(raw, bool):  # a bool is an int to Python, but nobody means one hour by `true`
        return None
    if isinstance(raw, int) or (isinstance(raw, float) and key == DREAM_MIN_HOURS):
        return raw if 0 <= raw < 1_000_000 else None  # also leaves out NaN and Infinity, which json reads
    return None


def _look_at_environment(content: Mapping[str, object], source: str, warnings: list[str]) -> None:
    block = content.get("env")
    if not isinstance(block, dict):
        return
    for name in _ENVIRONMENT_NAMES:
        if name in block:
            warnings.append(
                f"{source} sets {name} in its env block: memstore reads that variable from its own"
                " environment only; export it in the shell too"
            )


def _look_at_link(path: str, project: str, warnings: list[str]) -> None:
    real = os.path.realpath(path)
    top = os.path.realpath(project)
    if not real.startswith(top.rstrip("/") + "/"):
        warnings.append(f"{path} is a link out of the repository, to {real}")


def _same_file(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except (OSError, ValueError):
        return False

"""Where the client keeps a project's memory and its transcripts: every rule, in the client's own order.

The slug is an address for files only, never an identity: `a_b` and `a-b` have the same one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from memstore.claude.root import Root
from memstore.claude.settings import (
    MEMORY_DIRECTORY,
    MEMORY_ENABLED,
    Consent,
    Settings,
    SettingValue,
    read_settings,
)
from memstore.claude.slug import folder_name

OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
REMOTE_DIRECTORY = "CLAUDE_CODE_REMOTE_MEMORY_DIR"
REMOTE = "CLAUDE_CODE_REMOTE"
CONFIG = "CLAUDE_CONFIG_DIR"
PROJECT_NAME = "CLAUDE_CODE_PROJECT_DIR_NAME"
DISABLE = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
SIMPLE = "CLAUDE_CODE_SIMPLE"
NO_INDEX = "CLAUDE_CODE_DISABLE_CLAUDE_MDS"
STORES = "CLAUDE_MEMORY_STORES"
SAFE_MODE = "CLAUDE_CODE_SAFE_MODE"

_NAME_CHARACTERS = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))]
)


@dataclass(frozen=True, slots=True)
class Decision:
    """One rule that was looked at: what it is about, what it gave (empty: nothing), why, and from where."""

    what: str
    value: str
    rule: str
    source: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the memory files of a project belong."""

    directory: str
    rule: str
    """The rule that decided the directory."""
    enabled: bool
    why: str
    """The rule that decided `enabled`."""
    untrusted: tuple[SettingValue, ...]
    """Values that came with the repository, await consent, and would change directory or `enabled`."""
    decisions: tuple[Decision, ...]


def config_directory(env: Mapping[str, str], home: str, cwd: str) -> str:
    """The client's configuration directory. The client takes `~` in the variable literally, and so do we."""
    return os.path.join(cwd, env.get(CONFIG) or os.path.join(home, ".claude"))


def base_directory(env: Mapping[str, str], home: str, cwd: str) -> tuple[str, str, str]:
    """The directory above `projects` for memory, the rule that gave it, and what it came from."""
    if env.get(REMOTE_DIRECTORY):
        return os.path.join(cwd, env[REMOTE_DIRECTORY]), f"the variable {REMOTE_DIRECTORY}", REMOTE_DIRECTORY
    if env.get(CONFIG):
        rule = f"the variable {CONFIG}"
        if not os.path.isabs(env[CONFIG]):
            rule += ", taken literally below the working directory, as the client does"
        return config_directory(env, home, cwd), rule, CONFIG
    return config_directory(env, home, cwd), "the client's usual place in the home directory", "default"


def settings_for(
    root: Root,
    env: Mapping[str, str],
    home: str,
    *,
    consent: Consent,
    cwd: str | None = None,
    explicit: Mapping[str, object] | None = None,
    managed: str | None = None,
) -> Settings:
    """The settings that hold in a checkout.

    Those of the repository are read at the checkout's top, wherever in it the command runs, so that reading
    and writing use one folder. (The client reads them where its session was started, but the main checkout's
    local ones in all of the repository: those come first here too.)
    """
    config = config_directory(env, home, cwd or root.worktree)
    # A configuration directory inside the checkout came with it, unless the whole home is the checkout.
    brought = _inside(config, root.worktree) and not _inside(home, root.worktree)
    linked = root.path != root.worktree and os.path.lexists(os.path.join(root.path, ".git"))
    main = root.path if linked else None
    return read_settings(
        root.worktree, config, consent=consent, main=main, explicit=explicit, managed=managed, trust_config=not brought
    )


def memory_directory(
    root: Root, env: Mapping[str, str], home: str, settings: Settings, *, cwd: str | None = None
) -> Placement:
    """The directory of the project's memory files, whether memory is on, and each rule that was looked at.

    Nothing is created. `cwd` (by default the checkout's top) is what relative variables are relative to.
    """
    start = cwd or root.worktree
    directory, rule, where = _place(root, env, home, start, settings.chosen(MEMORY_DIRECTORY))
    enabled, why, switch = _switch(env, settings.chosen(MEMORY_ENABLED))
    untrusted = []
    wanted = settings.wanted(MEMORY_DIRECTORY)
    if wanted is not None and not wanted.trusted and _place(root, env, home, start, wanted)[0] != directory:
        untrusted.append(wanted)
    wanted = settings.wanted(MEMORY_ENABLED)
    if wanted is not None and not wanted.trusted and _switch(env, wanted)[0] != enabled:
        untrusted.append(wanted)
    waiting = (
        Decision(value.key, str(value.value), "came with the repository and awaits consent", value.source)
        for value in untrusted
    )
    return Placement(directory, rule, enabled, why, tuple(untrusted), (*where, *switch, *waiting))


def index_is_loaded(env: Mapping[str, str]) -> bool:
    """Whether sessions surely load MEMORY.md. Where they do not, what lies there is no base of what they write."""
    return not _flag(env.get(NO_INDEX)) and not env.get(STORES)


def projects_name(root: Root, projects: str, env: Mapping[str, str], inside: str) -> str:
    """The name below `projects` for a repository, where the client keeps `inside`."""
    return _given_name(env)[0] or folder_name(projects, root.path, inside)[0]


def transcript_directory(cwd: str, env: Mapping[str, str], home: str) -> str:
    """The directory of the transcripts of sessions started in `cwd`: keyed by it, not by the repository."""
    real = os.path.realpath(cwd)
    projects = os.path.join(config_directory(env, home, real), "projects")
    name = _given_name(env)[0] or folder_name(projects, real, "")[0]
    return os.path.join(projects, name)


def _place(
    root: Root, env: Mapping[str, str], home: str, cwd: str, setting: SettingValue | None
) -> tuple[str, str, list[Decision]]:
    """Directory, the rule that gave it, and the rules looked at on the way."""
    decisions: list[Decision] = []
    override = env.get(OVERRIDE)
    directory, reason = _checked(override, None) if override else (None, "is not set")
    rule = f"the variable {OVERRIDE} {reason}"
    decisions.append(Decision("override", directory or "", rule, OVERRIDE))
    if directory is not None:
        return directory, rule, decisions

    if setting is None:
        decisions.append(Decision("setting", "", f"no setting {MEMORY_DIRECTORY} that counts", "settings"))
    else:
        directory, reason = _checked(str(setting.value), home)
        rule = f"the setting {MEMORY_DIRECTORY} {reason} ({setting.rule})"
        decisions.append(Decision("setting", directory or "", rule, setting.source))
        if directory is not None:
            return directory, rule, decisions

    base, rule, source = base_directory(env, home, cwd)
    decisions.append(Decision("base", base, rule, source))
    projects = os.path.join(base, "projects")
    name, rule = _given_name(env)
    decisions.append(Decision("project name", name, rule, PROJECT_NAME))
    if not name:
        name, rule = folder_name(projects, root.path, "memory")
        decisions.append(Decision("project name", name, f"{rule}; {root.rule}", root.path))
    directory = os.path.join(projects, name, "memory")
    rule = "the default place: the base, `projects`, the project's name, `memory`"
    decisions.append(Decision("default", directory, rule, "default"))
    return directory, rule, decisions


def _given_name(env: Mapping[str, str]) -> tuple[str, str]:
    """The project name that the environment gives, or an empty one; and why."""
    name = env.get(PROJECT_NAME)
    if not name:
        return "", f"the variable {PROJECT_NAME} is not set"
    if not env.get(CONFIG):
        return "", f"the variable {PROJECT_NAME} counts only together with {CONFIG}"
    if len(name) > 64 or not _NAME_CHARACTERS.issuperset(name) or name.lower() in _DEVICES:
        return "", f"the variable {PROJECT_NAME} is ignored: it must be 1 to 64 of A-Z a-z 0-9 _ -"
    return name, f"the variable {PROJECT_NAME} names the folder"


def _switch(env: Mapping[str, str], setting: SettingValue | None) -> tuple[bool, str, list[Decision]]:
    """Whether memory is on, the rule that decided, and the rules looked at."""
    decisions: list[Decision] = []
    remote = _flag(env.get(REMOTE)) is True and not env.get(REMOTE_DIRECTORY)
    disable = _flag(env.get(DISABLE))
    rules: list[tuple[bool | None, str, str]] = [
        (None if disable is None else not disable, f"the variable {DISABLE}", DISABLE),
        (False if _flag(env.get(SIMPLE)) else None, f"{SIMPLE} switches it off", SIMPLE),
        (False if _flag(env.get(SAFE_MODE)) else None, f"{SAFE_MODE} switches it off", SAFE_MODE),
        (False if remote else None, f"{REMOTE} without {REMOTE_DIRECTORY} switches it off", REMOTE),
    ]
    if setting is not None:
        rules.append((bool(setting.value), f"the setting {MEMORY_ENABLED} ({setting.rule})", setting.source))
    for enabled, rule, source in rules:
        if enabled is not None:
            decisions.append(Decision("enabled", "on" if enabled else "off", rule, source))
            return enabled, rule, decisions
        decisions.append(Decision("enabled", "", f"{source} does not decide", source))
    rule = "memory is on unless something switches it off"
    decisions.append(Decision("enabled", "on", rule, "default"))
    return True, rule, decisions


def _flag(value: str | None) -> bool | None:
    word = (value or "").strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    return False if word in ("0", "false", "no", "off") else None


def _checked(value: str, home: str | None) -> tuple[str | None, str]:
    """A configured directory in its normal form, or None; and what there is to say about it.

    `home` is None where the client does not expand `~/`.
    """
    path = value
    if home is not None and value.startswith("~/"):
        rest = os.path.normpath(value[2:].lstrip("/") or ".")
        if rest in (".", "..") or rest.startswith("../"):
            return None, f"is ignored: {value!r} is the home directory itself or outside it"
        path = os.path.join(home, rest)
    if not path.startswith("/"):
        return None, f"is ignored: {value!r} is not an absolute path"
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        return None, f"is ignored: {value!r} is not a possible path"
    path = os.path.normpath("/" + path.lstrip("/"))
    if len(path) < 3:
        return None, f"is ignored: {path!r} is too close to the root of the file system"
    if not path.isascii():
        from unicodedata import normalize  # most paths need no Unicode table

        composed = normalize("NFC", path)
        if composed != path and not (os.path.isdir(path) and not os.path.isdir(composed)):
            path = composed
    return path, "names the directory"


def _inside(path: str, directory: str) -> bool:
    real, top = os.path.realpath(path), os.path.realpath(directory)
    return real == top or real.startswith(top.rstrip("/") + "/")

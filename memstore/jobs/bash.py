"""The programs that only read, which a run may start where the person allows it: a fixed table, and no shell.

A repository is not to be trusted: its configuration names programs that git would start (hooks, pagers, filters,
external diffs, text conversions, signature checks, merge drivers, transports), and a link in it leads anywhere. So
git runs without the configuration of the user and the system, with each of these switched off for this one call, in
the worktree that is meant and no other; what would still run a filter is refused; and paths stay in the worktree.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import stat
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from memstore.claude.root import find_root
from memstore.errors import InputRefused

SECONDS: Final = 5.0
LIMIT: Final = 20_000
"""Bytes of output that are kept."""

SEARCHED: Final = "/usr/local/bin:/usr/bin:/bin"
_LONGEST = 2_000

_NUMBER = re.compile(r"[0-9]{1,6}")
_DATE = re.compile(r"[0-9A-Za-z .:+-]{1,40}")
_LINES = re.compile(r"[0-9]{1,7},\+?[0-9]{1,7}")
_COMMIT = re.compile(r"[0-9a-f]{4,64}")
_REVISION = re.compile(r"[0-9A-Za-z_@][0-9A-Za-z_./@~^:{}+-]{0,199}")


@dataclass(frozen=True, slots=True)
class Program:
    """One entry of the table. `ours`: options that we give it. `flags`: those it may be given.

    `valued`: options with a value, and what that may be. `revisions`: it takes names of commits. `worktree`: it
    compares files of the worktree, which git sends through filters.
    """

    ours: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    valued: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    revisions: bool = False
    worktree: bool = False


_QUIET = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "--submodule=short")
_DIFF = frozenset({"--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "-w"})
_LOG = _DIFF | {"--oneline", "-p", "--patch", "--reverse", "--merges", "--no-merges", "--graph", "--decorate", "--all"}
_COUNTS = {"-n": _NUMBER, "--max-count": _NUMBER, "--skip": _NUMBER}
_DATES = {"--since": _DATE, "--until": _DATE, "--after": _DATE, "--before": _DATE}

GIT: Final[Mapping[str, Program]] = {
    "log": Program((*_QUIET, "--no-show-signature"), frozenset(_LOG), {**_COUNTS, **_DATES}, revisions=True),
    "show": Program((*_QUIET, "--no-show-signature"), _DIFF | {"--oneline", "-s"}, revisions=True),
    "status": Program(
        ("--ignore-submodules=all",), frozenset({"-s", "--short", "-b", "--branch", "--porcelain"}), worktree=True
    ),
    "diff": Program(_QUIET, _DIFF | {"--cached", "--staged"}, revisions=True, worktree=True),
    "blame": Program(
        ("--no-textconv",), frozenset({"-s", "-w"}), {"-L": _LINES, **_DATES}, revisions=True, worktree=True
    ),
}
OTHERS: Final[Mapping[str, Program]] = {
    "ls": Program(flags=frozenset({"-1", "-a", "-A", "-l", "-la", "-al", "-lA", "-R"})),
    "wc": Program(flags=frozenset({"-l", "-w", "-c", "-m"})),
}

_ALONE = (
    "--no-pager", "--literal-pathspecs", "--no-optional-locks", "--no-replace-objects", "--work-tree=.",
)  # fmt: skip
_SWITCHED_OFF = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.sshCommand=false",
    "core.quotePath=false", "color.ui=never", "color.status=never", "column.ui=never", "diff.external=",
    "diff.ignoreSubmodules=all", "diff.submodule=short", "format.pretty=medium", "gpg.program=false",
    "gpg.openpgp.program=false", "gpg.ssh.program=false", "gpg.x509.program=false", "log.diffMerges=first-parent",
    "log.mailmap=false", "log.showSignature=false", "protocol.allow=never", "status.submoduleSummary=false",
    "submodule.recurse=false",
)  # fmt: skip


class Programs:
    """Runs programs of the table in one worktree."""

    def __init__(self, worktree: str, *, seconds: float = SECONDS, searched: str = SEARCHED) -> None:
        self._worktree = os.path.realpath(worktree)
        self._seconds = seconds
        self._environment = {
            "PATH": searched,
            "HOME": "/nonexistent",
            "LC_ALL": "C.UTF-8",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": os.path.dirname(self._worktree),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
        }

    def run(self, command: str) -> str:
        """What a program says, cut off at `LIMIT` bytes and after `seconds`. Raises InputRefused for all others."""
        words = _words(command)
        if words[0] == "git":
            argv = self._git(words[1:])
        elif words[0] in OTHERS:
            argv = self._other(words[0], words[1:])
        else:
            raise InputRefused(f"{words[0][:40]!r} is not in the table: {told()}")
        output, code = self._output(argv)
        text = output[:LIMIT].decode("utf-8", "replace")
        if len(output) > LIMIT:
            return text + f"\n[cut off after {LIMIT} bytes]"
        if code is None:
            return text + f"\n[stopped after {self._seconds:g} seconds]"
        return text if code == 0 else text + f"\n[it failed: exit code {code}]"

    def removals(self, paths: Sequence[str]) -> dict[str, str]:
        """The commits before the present one that took these files away, or the last file below a directory.

        Of one that came back later, and of all that git does not tell in time, nothing. Raises InputRefused as `run`.
        """
        self._check_repository()
        for path in paths:
            _check_inside(path)
        options = ("--no-renames", "--diff-filter=AD", "--name-status", "--format=:%h")
        output, _ = self._output(_argv("log", [*GIT["log"].ours, *options, "--", *paths]))
        last: dict[str, tuple[str, str]] = {}
        commit = ""
        for line in output.decode("utf-8", "replace").split("\n")[:-1]:  # the last one may be cut off
            change, tab, path = line.partition("\t")
            if line.startswith(":"):
                commit = line[1:]
            elif tab:
                for place in _with_those_above(path):
                    last.setdefault(place, (change, commit))
        found = {path: last[path] for path in paths if path in last}
        return {path: commit for path, (change, commit) in found.items() if change == "D" and _COMMIT.fullmatch(commit)}

    # Inside

    def _git(self, words: Sequence[str]) -> list[str]:
        if not words or words[0] not in GIT:
            raise InputRefused(f"this git command is not in the table: {told()}")
        self._check_repository()
        program = GIT[words[0]]
        options, rest, paths = _options(program, words[1:])
        revisions, more = self._parted(rest, program.revisions)
        paths = [*more, *paths]
        for path in paths:
            _check_inside(path)
        if program.worktree and self._has_filters():
            raise InputRefused("the repository has filters, which are programs that this git command would start")
        return _argv(words[0], [*program.ours, *options, *revisions, "--", *paths])

    def _check_repository(self) -> None:
        """Its git directory lies here, or says itself that this is a worktree of its: a `.git` may name any other."""
        root = find_root(self._worktree)
        own = root.git_dir == os.path.join(self._worktree, ".git") or root.kind == "worktree"
        if root.worktree != self._worktree or root.git_dir is None or not own:
            raise InputRefused("there is no git repository here, or one whose git directory lies elsewhere")

    def _parted(self, words: Sequence[str], revisions: bool) -> tuple[list[str], list[str]]:
        """Names of commits and paths, told apart as git does it: what is there is a path."""
        named: list[str] = []
        paths: list[str] = []
        for word in words:
            if not revisions or paths or os.path.lexists(os.path.join(self._worktree, word)):
                paths.append(word)
            elif _REVISION.fullmatch(word) and "{/" not in word:
                named.append(word)
            else:
                raise InputRefused(f"{word[:80]!r} is neither the name of a commit nor a path here; paths follow a --")
        return named, paths

    def _has_filters(self) -> bool:
        argv = ["git", *_ALONE, "config", "--null", "--name-only", "--get-regexp", r"^filter\."]
        output, code = self._output(argv)
        return code != 1 or bool(output)

    def _other(self, name: str, words: Sequence[str]) -> list[str]:
        options, rest, paths = _options(OTHERS[name], words)
        paths = [*rest, *paths]
        if name == "wc" and not paths:
            raise InputRefused("wc needs the path of a file")
        for path in paths:
            _check_inside(path)
            if not os.path.lexists(os.path.join(self._worktree, path)):
                raise InputRefused(f"{path[:80]!r} is not there, and no shell makes anything else of it")
            whole = os.path.realpath(os.path.join(self._worktree, path))
            if os.path.commonpath((whole, self._worktree)) != self._worktree:
                raise InputRefused(f"{path[:80]!r} leads out of the worktree")
            if name == "wc" and not _is_file(whole):
                raise InputRefused(f"{path[:80]!r} is not a file")
        return [name, *options, "--", *paths]

    def _output(self, argv: Sequence[str]) -> tuple[bytes, int | None]:
        """What it printed, at most a little more than `LIMIT`, and its exit code; None: it was stopped."""
        try:
            process = subprocess.Popen(
                argv,
                cwd=self._worktree,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise InputRefused(f"{argv[0]} cannot be started: {error.strerror}") from None
        late = threading.Event()

        def stop() -> None:
            if process.returncode is None:
                late.set()
                _kill(process)

        timer = threading.Timer(self._seconds, stop)
        timer.start()
        try:
            assert process.stdout is not None
            with process.stdout as pipe:
                output = pipe.read(LIMIT + 1)
            if len(output) > LIMIT:
                _kill(process)
            code = process.wait()
        finally:
            timer.cancel()
            timer.join()
        return output, None if late.is_set() else code


def told() -> str:
    """The table in words."""
    return f"git {'|'.join(GIT)}, {', '.join(OTHERS)}; one program with its arguments, no shell, no pipes"


def _argv(name: str, rest: Sequence[str]) -> list[str]:
    given = [part for setting in _SWITCHED_OFF for part in ("-c", setting)]
    return ["git", *_ALONE, *given, name, *rest]


def _with_those_above(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _words(command: str) -> list[str]:
    if len(command) > _LONGEST or not command.isprintable():
        raise InputRefused(f"a command is one line of at most {_LONGEST} characters")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputRefused(f"the command cannot be parted into words: {error}") from None
    if not words:
        raise InputRefused("the command is empty")
    return words


def _options(program: Program, words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The options, what else stands before a `--`, and what stands after it."""
    options: list[str] = []
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return options, rest, left
        if not word.startswith("-"):
            rest.append(word)
            continue
        name, equals, value = word.partition("=")
        short = re.fullmatch(r"-n?([0-9]{1,6})", word)
        if word in program.flags:
            options.append(word)
        elif short and "-n" in program.valued:
            options.append(f"-n{short[1]}")
        elif name in program.valued and (equals or left):
            value = value if equals else left.pop(0)
            if not program.valued[name].fullmatch(value):
                raise InputRefused(f"{value[:40]!r} is no value for {name}")
            options += [f"{name}={value}"] if name.startswith("--") else [name + value]
        else:
            raise InputRefused(f"the option {word[:40]!r} is not in the table")
    return options, rest, []


def _check_inside(path: str) -> None:
    parts = path.split("/")
    if path.startswith(("/", "~", ":")) or ".." in parts or ".git" in parts or not path:
        raise InputRefused(f"{path[:80]!r} is not a path inside the worktree")


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends it and what it has started. Only before it was waited for: until then the number is its own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

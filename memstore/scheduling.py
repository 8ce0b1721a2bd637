"""A dream at a time of day: what is to be changed in the person's crontab or systemd units, and the change itself.

Nothing goes through a shell of ours, and what is no line or unit of this store stays as it is, byte for byte.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from memstore.claude.changing import put_file, remove
from memstore.core import schedule
from memstore.core.ids import digest
from memstore.core.schedule import Daily
from memstore.errors import PlaceRefused
from memstore.installing import launch
from memstore.place import Place
from memstore.store.plainfile import read_bounded
from memstore.world import World

Kind = Literal["crontab", "systemd"]

PLACES = (
    "MEMSTORE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE",
    "CLAUDE_CODE_REMOTE_MEMORY_DIR", "CLAUDE_CODE_PROJECT_DIR_NAME",
)  # fmt: skip
"""Variables that say where the store and the memory folder are. They are handed on; no other is, and no secret."""

MODEL = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS")
"""Variables that say which model is asked, and by which key: with the key alone the address would be another one."""

_NIGHT = 6 * 60
_LARGEST = 1024 * 1024
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Change:
    """A line of the crontab, or a unit's file. `before` None: it is new; `after` None: it goes."""

    kind: Literal["crontab", "unit"]
    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done. `at`: minutes since midnight, None where nothing is to be started any more.

    `crontab`: the whole of it before and after; None: it is not touched.
    """

    kind: Kind | None
    at: int | None
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]
    crontab: tuple[bytes, bytes] | None


class Schedule:
    """The dream of one place, in the crontab and the units of whoever runs this."""

    def __init__(self, world: World, place: Place) -> None:
        assert place.store is not None
        self._world, self._root, self._store = world, place.root.path, place.store
        self._crontab = self._which("crontab")
        self._systemctl = self._which("systemctl")
        self._unread = ""

    def install(self, kind: Kind, at: int | None) -> Plan:
        """What gives the dream its time. Without `at` it keeps the one it has, or gets one before 6 o'clock: each store
        another one, and always the same.

        Raises PlaceRefused where there is no such program here.
        """
        crontab, units = self._standing(strict=kind == "crontab")
        had = self._had(crontab, units)
        if at is None:
            at = had if had is not None else int(digest(self._store.encode()), 16) % _NIGHT
        start = launch()
        command = [start.python, *start.program, "-q", "-C", self._root, "dream", "--scheduled"]
        variables = {name: value for name in PLACES if (value := self._world.environment.get(name))}
        daily = Daily(at, self._root, self._store, command, variables)
        if kind == "crontab":
            if crontab is None:
                raise self._lacking("crontab", self._systemctl, "--systemd")
            wanted = dict.fromkeys(units)
            return self._plan(kind, at, crontab, schedule.crontab_line(daily), units, wanted)
        if self._systemctl is None:
            raise self._lacking("systemctl", self._crontab, "no option")
        service, timer = units
        made: dict[str, bytes | None] = {service: schedule.service(daily), timer: schedule.timer(daily)}
        return self._plan(kind, at, crontab, None, units, made)

    def uninstall(self) -> Plan:
        """What takes the dream's time away, wherever it has one."""
        crontab, units = self._standing(strict=False)
        return self._plan(None, None, crontab, None, units, dict.fromkeys(units))

    def carry_out(self, plan: Plan) -> None:
        """Does what the plan says. Raises PlaceRefused, where something was changed meanwhile too."""
        units = [change for change in plan.changes if change.kind == "unit"]
        if plan.kind == "systemd":
            self._put_units(units)
        if plan.crontab is not None:
            self._write_crontab(*plan.crontab)
        if plan.kind != "systemd":
            self._remove_units(units)

    # Inside

    def _standing(self, *, strict: bool) -> tuple[bytes | None, dict[str, bytes | None]]:
        """The crontab (None: there is none to be had), and the two units by their paths, service first.

        Not `strict`: one that cannot be read is only told of.
        """
        crontab = None
        try:
            crontab = None if self._crontab is None else self._read_crontab(self._crontab)
        except PlaceRefused as refused:
            if strict:
                raise
            self._unread = f"a line of the crontab would stay: {refused}"
        base = self._world.environment.get("XDG_CONFIG_HOME") or os.path.join(self._world.home, ".config")
        name = os.path.join(base, "systemd", "user", schedule.unit_name(self._store))
        units: dict[str, bytes | None] = {}
        for path in (f"{name}.service", f"{name}.timer"):
            try:
                units[path] = read_bounded(path, _LARGEST)
            except FileNotFoundError:
                units[path] = None
            except OSError as error:
                told = f"{path} cannot be read: {error.strerror or error}"
                raise PlaceRefused(told, hint="mend that and run the command again") from None
            found = units[path]
            if found is not None and not schedule.is_ours(found):
                raise PlaceRefused(f"{path} was not made by memstore", hint="move it away and run the command again")
        return crontab, units

    def _had(self, crontab: bytes | None, units: Mapping[str, bytes | None]) -> int | None:
        line = None if crontab is None else schedule.line_of(crontab, self._store)
        if line is not None and (at := schedule.at_in_line(line)) is not None:
            return at
        timer = list(units.values())[1]
        return None if timer is None else schedule.at_in_timer(timer)

    def _plan(
        self,
        kind: Kind | None,
        at: int | None,
        crontab: bytes | None,
        line: bytes | None,
        units: Mapping[str, bytes | None],
        wanted: Mapping[str, bytes | None],
    ) -> Plan:
        changes: list[Change] = []
        whole = None
        if crontab is not None:
            after = schedule.with_line(crontab, self._store, line)
            if after != crontab:
                changes.append(Change("crontab", "crontab", schedule.line_of(crontab, self._store), line))
                whole = (crontab, after)
        changes += [Change("unit", path, units[path], wanted[path]) for path in units if units[path] != wanted[path]]
        return Plan(kind, at, tuple(changes), tuple(self._warnings(kind)), whole)

    def _warnings(self, kind: Kind | None) -> list[str]:
        warnings = [self._unread] if self._unread else []
        if kind is None:
            return warnings
        where = "cron" if kind == "crontab" else "systemd"
        set_here = [name for name in MODEL if self._world.environment.get(name)]
        if set_here:
            told = "give each a line of its own in the crontab" if kind == "crontab" else "see environment.d(5)"
            warnings.append(
                f"{where} does not know {', '.join(set_here)} of this shell, which are not handed on: {told}"
            )
        if kind == "systemd":
            warnings.append("the timer rests while you are not logged in, unless you run `loginctl enable-linger`")
        return warnings

    def _read_crontab(self, program: str) -> bytes:
        done = self._run([program, "-l"])
        if done.returncode == 0:
            return done.stdout
        said = done.stderr.decode("utf-8", "replace").strip()
        absent = "no crontab" in said.lower() or ("can't open" in said and "No such file" in said)
        if absent and not done.stdout.strip():
            return b""
        # An empty answer must not be taken for an empty crontab, which would then be written.
        raise PlaceRefused(f"`crontab -l` fails: {said[:300] or done.returncode}", hint="mend that, or use --systemd")

    def _write_crontab(self, before: bytes, after: bytes) -> None:
        program = self._crontab
        if program is None or self._read_crontab(program) != before:
            raise PlaceRefused("the crontab was changed meanwhile; it is left as it is", hint="run the command again")
        self._checked([program, "-"], after)
        if self._read_crontab(program).rstrip(b"\n") != after.rstrip(b"\n"):
            raise PlaceRefused("the crontab is not as it was written", hint="look at it with `crontab -l`")

    def _put_units(self, units: Sequence[Change]) -> None:
        program = self._systemctl
        assert program is not None, "a plan for systemd is made only where it is"
        done: list[Change] = []
        try:
            for change in units:
                if change.after is not None:
                    put_file(change.path, change.before, change.after)
                    done.append(change)
            self._checked([program, "--user", "daemon-reload"])
            # Also where no file changed: somebody may have switched it off.
            self._checked([program, "--user", "enable", "--now", f"{schedule.unit_name(self._store)}.timer"])
            if units:  # a timer that runs keeps its old time
                self._checked([program, "--user", "restart", f"{schedule.unit_name(self._store)}.timer"])
        except PlaceRefused:
            for change in done:
                _put_back(change)
            raise

    def _remove_units(self, units: Sequence[Change]) -> None:
        if not units:
            return
        if self._systemctl is not None:
            timer = f"{schedule.unit_name(self._store)}.timer"
            self._run([self._systemctl, "--user", "disable", "--now", timer])  # it may never have been enabled
        for change in units:
            remove(change.path, change.before)
        if self._systemctl is not None:
            self._run([self._systemctl, "--user", "daemon-reload"])

    def _which(self, name: str) -> str | None:
        return shutil.which(name, path=self._world.environment.get("PATH", os.defpath))

    def _lacking(self, name: str, other: str | None, option: str) -> PlaceRefused:
        hint = f"use {option}" if other else "have `memstore dream --scheduled` started by what starts programs here"
        return PlaceRefused(f"there is no program {name} here", hint=hint)

    def _run(self, command: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        environment = {**self._world.environment, "LC_ALL": "C"}
        try:
            return subprocess.run(
                command, input=given, capture_output=True, env=environment, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PlaceRefused(
                f"{command[0]} cannot be run: {error}", hint="mend that and run the command again"
            ) from None

    def _checked(self, command: Sequence[str], given: bytes = b"") -> None:
        done = self._run(command, given)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()[:300]
            words = " ".join([os.path.basename(command[0]), *command[1:]])
            raise PlaceRefused(
                f"`{words}` fails: {said or done.returncode}", hint="mend that and run the command again"
            )


def _put_back(change: Change) -> None:
    if change.before is None:
        remove(change.path, change.after)
    elif change.after is not None:
        put_file(change.path, change.after, change.before)

"""The doctor: looks at all that keeps memstore from working, says what is the matter, and mends what is safe to mend.

It changes nothing unless it is asked to; a database that is damaged, newer or another program's is opened for reading
alone and left byte for byte. A look that fails is a finding, not the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from memstore import __version__
from memstore.core.findings import Finding, Severity, worst
from memstore.errors import MemstoreError, StoreBusy
from memstore.files.report import Progress
from memstore.store import examining, ground
from memstore.store.ddl import migrations
from memstore.upkeep import doctor_files, doctor_place, doctor_standing, doctor_store
from memstore.upkeep.doctor_around import LEFTOVER, leftovers
from memstore.upkeep.doctor_scene import Check, Look, Scene
from memstore.world import World


def _words(name: str) -> str:
    return name.replace("-", " ")


def _of_place(look: doctor_files.PlaceCheck) -> Look:
    def looks(scene: Scene) -> Iterable[Finding]:
        assert scene.place is not None
        return look(scene.place, scene.world)

    return looks


def _of_memories(look: doctor_files.StoreCheck) -> Look:
    def looks(scene: Scene) -> Iterable[Finding]:
        if scene.memories is None:  # of the leftovers something can be said without it, too
            assert scene.place is not None
            return leftovers(scene.place, scene.world)
        return look(scene.memories)

    return looks


CHECKS: tuple[Check, ...] = (
    Check("engine", "the SQLite library", "", doctor_place.engine),
    Check("place", "where the memories are", "", doctor_place.place),
    Check("permissions", "permissions", "home", doctor_place.permissions),
    Check("ground", "the file system", "home", doctor_place.grounds),
    Check("space", "room on the disk", "home", doctor_place.space),
    Check("registry", "the registry of repositories", "home", doctor_place.registry),
    Check("spool", "what hooks put aside", "home", doctor_place.spooled),
    Check("leftovers", "what earlier work left", "store", doctor_place.leftovers),
    Check("draft", "what a restore left", "store", doctor_standing.draft),
    Check("database", "the database", "store", doctor_store.database),
    Check("integrity", "all pages of the database", "database", doctor_store.integrity),
    Check("schema", "the make-up of the database", "database", doctor_store.makeup),
    Check("backup", "the last backup", "store", doctor_place.backups),
    Check("settings", "the settings", "home", doctor_place.settings),
    Check("references", "rows that name rows", "rows", doctor_store.references),
    Check("heads", "memories and their versions", "rows", doctor_store.heads),
    Check("clock", "the clock", "rows", doctor_standing.clock),
    Check("log", "the log of the database", "rows", doctor_standing.log),
    Check("inbox", "what sessions told", "rows", doctor_standing.inbox),
    Check("leases", "leases", "rows", doctor_standing.left_leases),
    Check("jobs", "jobs", "rows", doctor_standing.left_jobs),
    Check("memories", "the memories", "rows", doctor_store.memories),
    Check("digests", "the bytes of all texts", "rows", doctor_store.digests),
    Check("terms", "search terms", "rows", doctor_store.terms),
    Check("drift", "the files in the folder", "memories", doctor_store.drift),
    *(Check(name, _words(name), "place", _of_place(look)) for name, look in doctor_files.PLACE_CHECKS.items()),
    *(
        Check(name, _words(name), "place" if name == LEFTOVER else "memories", _of_memories(look))
        for name, look in doctor_files.STORE_CHECKS.items()
    ),
    Check("search-index", "the index of words", "memories", doctor_store.search_index),
)
"""In this order: what a later one needs, an earlier one has opened or begun."""

MENDS: dict[str, Callable[[Scene], str]] = {
    "permissions": doctor_place.mend_permissions,
    "spool": doctor_place.mend_spool,
    "terms": doctor_store.mend_terms,
    "search-index": doctor_store.mend_index,
    "drift": doctor_store.mend_drift,
    "log": doctor_standing.mend_log,
    "draft": doctor_standing.mend_draft,
}
"""What mends the findings of a look, all of them at once; of the others `doctor_files.fix` does."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A look that could not be taken."""

    check: str
    why: str


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found. `facts`: versions and places, by name. `looked`: how many looks were taken."""

    facts: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    looked: int

    @property
    def worst(self) -> Severity | None:
        """The highest severity."""
        return worst(self.findings)


@dataclass(frozen=True, slots=True)
class Mended:
    """What became of a finding that was to be mended: `told` what was done, or `failed` why it was not."""

    finding: Finding
    told: str = ""
    failed: str = ""


def examine(world: World, *, thorough: bool = False, progress: Progress | None = None) -> Examination:
    """Takes every look that can be taken. Changes nothing."""
    scene = Scene(world, thorough)
    try:
        findings, skipped, looked = _looks(scene, progress)
        return Examination(tuple(_facts(scene)), tuple(findings), tuple(skipped), looked)
    finally:
        scene.close()


def mend(world: World, found: Examination, *, progress: Progress | None = None) -> list[Mended]:
    """Mends what is safe to mend. What changes memories or lines is an operation that can be undone."""
    scene = Scene(world, mending=True)
    done: dict[str, Mended] = {}
    results = []
    try:
        wanted = [finding for finding in found.findings if finding.fix]
        _looks(scene, None, only=("place", "ground", "database", "integrity", "schema", "memories"))
        for number, finding in enumerate(wanted):
            if progress is not None:
                progress(number, len(wanted), finding.check)
            if finding.check not in done:  # all findings of a look are mended at once
                done[finding.check] = _mended(scene, finding)
            results.append(replace(done[finding.check], finding=finding))
    finally:
        scene.close()
    return results


def _looks(
    scene: Scene, progress: Progress | None, only: tuple[str, ...] = ()
) -> tuple[list[Finding], list[Skipped], int]:
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    looked = 0
    checks = [check for check in CHECKS if not only or check.name in only]
    for number, check in enumerate(checks):
        if progress is not None:
            progress(number, len(checks), check.says)
        reason = scene.reason(check.needs)
        found = reason or _look(scene, check)
        if isinstance(found, str):
            skipped.append(Skipped(check.name, found))
        else:
            findings += found
            looked += 1
    return findings, skipped, looked


def _look(scene: Scene, check: Check) -> list[Finding] | str:
    """One look. One that fails is a finding itself."""
    why = f"whether anything is the matter with {check.says} is not known"
    try:
        found = check.look(scene)
        return found if isinstance(found, str) else list(found)
    except MemstoreError as error:
        severity: Severity = "warning" if isinstance(error, StoreBusy) else "error"  # who writes now is no fault
        what, mend = f"it cannot be looked at: {error}", error.hint or "look again later"
        return [Finding(check.name, severity, what, why, mend)]
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        what = f"it cannot be looked at: {error.strerror or error}{where}"
        return [Finding(check.name, "warning", what, why, "mend its permissions")]
    except Exception as error:  # the other looks are worth as much
        what = f"the doctor's own fault: {type(error).__name__}: {error}"
        return [Finding(check.name, "warning", what, why, "please report it")]


def _mended(scene: Scene, finding: Finding) -> Mended:
    try:
        if scene.reason("home" if finding.check == "permissions" else "memories"):
            told = ""
        elif finding.check in MENDS:
            told = MENDS[finding.check](scene)
        else:
            assert scene.memories is not None
            told = doctor_files.fix(scene.memories, finding)
    except (MemstoreError, OSError) as error:
        return Mended(finding, failed=str(error))
    return Mended(finding, told, "" if told else "nothing could be done about it now")


def _facts(scene: Scene) -> Iterator[tuple[str, str]]:
    """Versions and places, as far as they are known."""
    system, machine = os.uname(), os.uname().machine
    yield "memstore", __version__
    yield "python", f"{sys.version.split()[0]} ({sys.executable})"
    sqlite, binding = examining.versions()
    yield "sqlite", f"{sqlite} (apsw {binding})"
    yield "system", f"{system.sysname} {system.release} {machine}"
    if scene.home is not None:
        yield "home", _on(scene.home)
    if scene.place is not None:
        yield "folder", _on(scene.place.placement.directory)
    if scene.path is not None:
        yield "store", _on(scene.path)
    if scene.link is not None and not scene.reason("rows"):
        with scene.view() as connection:
            size, free = examining.size(connection)
            told = f"{doctor_place.told_size(size)}, of which {doctor_place.told_size(free)} are free"
            yield "size", told
            yield "schema", f"{examining.schema(connection)} of {len(migrations())}"
    if scene.compared:
        yield "compared", f"{' and '.join(scene.compared)}; `memstore doctor --thorough` compares all"
    client = _client(scene)
    if client:
        yield "client", client


def _on(path: str) -> str:
    mount = ground.mount_of(path)
    return path if mount is None else f"{path} (on {mount.kind})"


def _client(scene: Scene) -> str:
    """The client's program and its version; empty where there is none."""
    from memstore.core.settings import Settings
    from memstore.jobs.choice import client

    try:
        program = client(Settings(scene.world.environment), scene.world.environment)
    except MemstoreError:
        return ""
    return f"{program.path}, version {program.told}"

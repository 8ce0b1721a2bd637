"""What it costs to take in 1,000 notes, in each format: with the children that read rows, and all files shown."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping

import apsw

from memstore.core.exchange import Carried, Exchange, document
from memstore.core.model import SHELF, State, Version
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.measure import Row, value, workplace

_MS, _MB = 3_000, 150

_IMPORT = """
import json, sys, time
from memstore.app import Memstore
from scripts.benchmarks.measure import world_in
with Memstore.open(world=world_in(sys.argv[1])) as app:
    begin = time.perf_counter()
    report = app.import_directory(sys.argv[2])
    first = time.perf_counter()
    again = app.import_directory(sys.argv[2])
    second = time.perf_counter()
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
print(json.dumps({
    "ms": (first - begin) * 1000, "again": (second - first) * 1000, "mb": peak / 1024,
    "taken": report.new, "noted": len(again.noted), "format": report.format,
}))
"""

Notes = Mapping[str, bytes]


def exchanges(quick: bool) -> list[Row]:
    """All rows about formats."""
    notes = dict(Corpus().memories(200 if quick else 1_000))
    rows: list[Row] = []
    for kind, write in FORMATS.items():
        with workplace() as directory:
            source = os.path.join(directory, f"notes.{kind}")
            write(source, notes)
            argv = [sys.executable, "-c", _IMPORT, directory, source]
            found = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout)
        assert (found["taken"], found["noted"], found["format"]) == (len(notes), 0, kind), found
        what = f"import of {len(notes):,} notes as {kind}"
        rows += [
            Row("exchange", what, found["ms"], "ms", limit=value("<", _MS)),
            Row("exchange", f"{what}, again", found["again"], "ms", limit=value("<", _MS)),
            Row("exchange", f"{what}: peak memory", found["mb"], "MB", limit=value("<", _MB)),
        ]
    return rows


def _dir(path: str, notes: Notes) -> None:
    os.mkdir(path)
    for name, text in notes.items():
        with open(os.path.join(path, name), "wb") as file:
            file.write(text)


def _basic_memory(path: str, notes: Notes) -> None:
    _dir(path, {name: _note(name, text) for name, text in notes.items()})


def _note(name: str, text: bytes) -> bytes:
    header = f"---\ntitle: {name[:-3]}\ntype: note\npermalink: notes/{name[:-3]}\ntags:\n- one\n---\n\n"
    return header.encode() + b"- [fact] something about it #tag\n\n" + text.split(b"---\n", 2)[2]


def _zip(path: str, notes: Notes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in notes.items():
            archive.writestr(f"memory/{name}", text)


def _tar(path: str, notes: Notes) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in notes.items():
            member = tarfile.TarInfo(f"memory/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def _graph(path: str, notes: Notes) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for name, text in notes.items():
            said = [line for line in text.decode().split("\n") if line.strip()]
            file.write(
                json.dumps({"type": "entity", "name": name[:-3], "entityType": "x", "observations": said}) + "\n"
            )


def _rows(notes: Notes) -> list[dict[str, str]]:
    return [{"name": name[:-3], "body": text.split(b"---\n", 2)[2].decode()} for name, text in notes.items()]


def _json(path: str, notes: Notes) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(_rows(notes), file)


def _csv(path: str, notes: Notes) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["name", "body"])
        writer.writeheader()
        writer.writerows(_rows(notes))


def _memstore(path: str, notes: Notes) -> None:
    """As another store exports them: each with three versions."""
    memories = []
    for at, (name, text) in enumerate(notes.items()):
        versions = [
            Version(
                f"m{at}", number, f"{at:06x}{number:06x}", None, "revise",
                State(SHELF, name, text + b"\n" * (3 - number)), name[:-3], "", None, "agent", f"o{number}",
                number, number,
            )
            for number in (1, 2, 3)
        ]  # fmt: skip
        memories.append(Carried(f"m{at}", SHELF, "due", 1, tuple(versions), {}))
    with open(path, "wb") as file:
        file.write(document(Exchange("elsewhere", 3, 0, "private", (), tuple(memories), ())))


def _db(path: str, notes: Notes) -> None:
    connection = apsw.Connection(path)
    connection.execute("CREATE TABLE notes(name TEXT, body TEXT)")
    with connection:
        connection.executemany("INSERT INTO notes VALUES (:name, :body)", _rows(notes))
    connection.close()


FORMATS: dict[str, Callable[[str, Notes], None]] = {
    "dir": _dir,
    "basic-memory": _basic_memory,
    "zip": _zip,
    "tar": _tar,
    "memstore": _memstore,
    "mcp-memory": _graph,
    "json": _json,
    "csv": _csv,
    "db": _db,
}
"""How to write notes in each format."""

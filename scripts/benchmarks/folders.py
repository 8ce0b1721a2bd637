"""What files cost: a write that is projected, a sync without news, an import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import cycle

from memstore.app import Memstore
from memstore.core.plan import Wanted
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.measure import Row, interleaved, middle, ratio, value, workplace, world_in
from scripts.benchmarks.writes import bare_connection

_PROJECTED = 3.0
_IDLE = 2.0
_ABSORBED = 3.0
_WRITTEN = 4
SETTLED = 2.2
"""Seconds after which the stamp of a file tells whether it changed; until then it is read again."""
_IMPORT_MS, _IMPORT_MB = 3_000, 150

_IMPORT = """
import json, sys, time
from memstore.app import Memstore
from scripts.benchmarks.measure import world_in
with Memstore.open(world=world_in(sys.argv[1])) as app:
    begin = time.perf_counter()
    report = app.import_directory(sys.argv[2])
    taken = time.perf_counter() - begin
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
print(json.dumps({"ms": taken * 1000, "mb": peak / 1024, "taken": report.new}))
"""


def folders(quick: bool) -> list[Row]:
    """All rows about files."""
    corpus = Corpus()
    return [
        *_projected(corpus, 200, 30 if quick else 150),
        *_idle(corpus, 2_000, 10 if quick else 40),
        *_absorbed(corpus, 2_000, 10 if quick else 60),
        *_imported(corpus, 1_000),
    ]


def _projected(corpus: Corpus, files: int, rounds: int) -> list[Row]:
    """A few memories are written again and again, as sessions do: each write takes in what was edited in the folder
    (nothing) and shows what it changed. The index has a line of memstore's own for each memory."""
    with workplace() as directory, Memstore.open(world=world_in(directory)) as app:
        source = os.path.join(directory, "memories")
        put_files(source, corpus, files - 1)
        app.import_directory(source)
        app.append("the last one", "With the first real write all get their lines.")
        folder = app.place.placement.directory
        app.world.pause(SETTLED)
        app.sync()
        known = app.memories()[:_WRITTEN]
        tokens = {memory.path: memory.token for memory in known}
        bodies = cycle([body_of(corpus, at) for at in range(2 * rounds + 20)])

        def write(number: int, wanted: Wanted, shown: set[str]) -> None:
            path = known[number % len(known)].path
            saved = app.write(path, wanted, expect=tokens[path])
            tokens[path] = saved.memory.token
            assert {path, *shown} == set(saved.files.projected), saved.files

        def both(number: int) -> None:
            write(number, Wanted(next(bodies), f"what holds since round {number}"), {"MEMORY.md"})

        def topic(number: int) -> None:
            write(number, Wanted(next(bodies)), set())

        bare = Bare(directory, corpus, files, os.path.getsize(os.path.join(folder, "MEMORY.md")))
        two, baseline_two = interleaved(rounds, both, lambda number: bare.write(number, 2))
        one, baseline_one = interleaved(rounds, topic, lambda number: bare.write(number, 1))
        bare.close()
    return [
        Row(
            "folder", f"write and project, {files} files, topic and index", middle(two), "ms",
            middle(baseline_two), "a FULL commit + 2 fsynced replaces", ratio("<=", _PROJECTED),
        ),
        Row(
            "folder", f"write and project, {files} files, topic alone", middle(one), "ms",
            middle(baseline_one), "a FULL commit + 1 fsynced replace",
        ),
    ]  # fmt: skip


def put_files(directory: str, corpus: Corpus, files: int) -> None:
    """So many memories as files of a directory."""
    os.makedirs(directory, exist_ok=True)
    for path, text in corpus.memories(files):
        with open(os.path.join(directory, path), "wb") as file:
            file.write(text)


def shown_in(app: Memstore, corpus: Corpus, files: int) -> str:
    """Puts memories into the app's folder as if a client had, with an index, and takes them in."""
    folder = app.place.placement.directory
    put_files(folder, corpus, files)
    lines = [f"- [{path[:-3]}]({path}) — what the client said of it" for path, _ in corpus.memories(files)]
    with open(os.path.join(folder, "MEMORY.md"), "w", encoding="utf-8") as index:
        index.write("\n".join(lines[:190]) + "\n")
    app.sync()
    assert len(app.memories()) == files
    return folder


def body_of(corpus: Corpus, number: int) -> str:
    """The text below the header of another memory than those in the folder."""
    return corpus.text(500_000 + number).split(b"---\n", 2)[2].decode()


class Bare:
    """The least that a durable write with its files can do: commit one row, replace the files, sync each."""

    def __init__(self, directory: str, corpus: Corpus, files: int, index_size: int) -> None:
        self._folder = os.path.join(directory, "bare")
        os.mkdir(self._folder)
        self._texts = [text for _, text in corpus.memories(files)]
        for at in range(files):
            self._put(f"note_{at}.md", self._texts[at])
        self._index = b"x" * index_size
        self._connection = bare_connection(os.path.join(directory, "bare.db"))
        self._connection.execute(
            "PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, text BLOB)"
        ).fetchall()
        self._connection.execute("INSERT INTO t VALUES (1, x'')")

    def write(self, number: int, files: int) -> None:
        """The row, one file, and with two `files` the index."""
        text = self._texts[number % len(self._texts)] + f"{number}\n".encode()
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("UPDATE t SET text = ? WHERE id = 1", (text,))
        self._connection.execute("COMMIT")
        self._put(f"note_{number % len(self._texts)}.md", text)
        if files == 2:
            self._put("MEMORY.md", self._index + str(number).encode())

    def _put(self, name: str, content: bytes) -> None:
        path = os.path.join(self._folder, name)
        handle = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(handle, content)
        os.fsync(handle)
        os.close(handle)
        os.rename(path + ".new", path)
        handle = os.open(self._folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()


def _idle(corpus: Corpus, files: int, rounds: int) -> list[Row]:
    with workplace() as directory, Memstore.open(world=world_in(directory)) as app:
        folder = shown_in(app, corpus, files)
        app.world.pause(SETTLED)
        app.sync()

        ours, baseline = interleaved(rounds, lambda _: app.sync(), lambda _: _stat_all(folder))
    return [
        Row(
            "folder", f"sync with nothing changed, {files:,} files", middle(ours), "ms", middle(baseline),
            "os.scandir + stat", ratio("<=", _IDLE),
        )
    ]  # fmt: skip


def _absorbed(corpus: Corpus, files: int, rounds: int) -> list[Row]:
    """One file among many was edited since the last look: the look that takes it in, against a look alone."""
    with workplace() as directory, Memstore.open(world=world_in(directory)) as app:
        folder = shown_in(app, corpus, files)
        app.world.pause(SETTLED)
        app.sync()
        path = os.path.join(folder, app.memories()[files // 2].path)

        def edit(_: int) -> None:
            with open(path, "ab") as file:
                file.write(b"A line by hand.\n")

        def absorb(_: int) -> None:
            assert len(app.sync().absorbed) == 1

        ours, baseline = interleaved(rounds, absorb, lambda _: _stat_all(folder), before=edit)
    return [
        Row(
            "folder", f"absorbing one changed file, {files:,} files", middle(ours), "ms", middle(baseline),
            "os.scandir + stat", ratio("<=", _ABSORBED),
        )
    ]  # fmt: skip


def _stat_all(folder: str) -> int:
    """The bare look."""
    with os.scandir(folder) as entries:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)


def _imported(corpus: Corpus, files: int) -> list[Row]:
    with workplace() as directory:
        source = os.path.join(directory, "memories")
        put_files(source, corpus, files)
        done = subprocess.run(
            [sys.executable, "-c", _IMPORT, directory, source], stdout=subprocess.PIPE, text=True, check=True
        )
        found = json.loads(done.stdout)
    assert found["taken"] == files, found
    return [
        Row("folder", f"import of {files:,} files", found["ms"], "ms", limit=value("<", _IMPORT_MS)),
        Row("folder", f"import of {files:,} files: peak memory", found["mb"], "MB", limit=value("<", _IMPORT_MB)),
    ]

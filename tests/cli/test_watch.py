"""`memstore watch`, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memstore.cli.shapes import SHAPES
from memstore.store import restoring
from tests.cli.conftest import Run
from tests.cli.test_shapes import has_shape
from tests.files.watching import holds, until

ROOT = Path(__file__).parents[2]
HEEDING = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Starts a program that ignores no signal, whatever those ignore who run the tests."""
NO_WATCHES = """
import os, sys
with open("/proc/sys/user/max_inotify_watches", "w") as file:
    file.write("0")
os.execv(sys.executable, [sys.executable, "-m", "memstore", *sys.argv[1:]])
"""


class Watcher:
    """The process, and the lines that it printed so far."""

    def __init__(
        self, repo: Path, *arguments: str, before: tuple[str, ...] = (), program: tuple[str, ...] = ()
    ) -> None:
        self.out: list[str] = []
        self.err: list[str] = []
        self.process = subprocess.Popen(
            [
                sys.executable, "-c", HEEDING,
                *before, sys.executable, *(program or ("-m", "memstore")), "-C", str(repo), *arguments,
            ],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self._readers = [
            Thread(target=self._read, args=pair)
            for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: Any, lines: list[str]) -> None:
        with stream:
            lines.extend(iter(stream.readline, ""))

    def says(self, words: str) -> None:
        """Waits for a line with these words."""
        until(lambda: any(words in line for line in [*self.out, *self.err]))

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Sends a signal; the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(20)
        for reader in self._readers:
            reader.join()
        return code


@contextmanager
def watching(repo: Path, *arguments: str, **how: tuple[str, ...]) -> Iterator[Watcher]:
    """A watcher that has looked for the first time."""
    watcher = Watcher(repo, *(arguments or ("watch",)), **how)
    try:
        if "-q" not in arguments:
            watcher.says('"files"' if "--json" in arguments else "watching ")
        yield watcher
    finally:
        watcher.end(signal.SIGKILL)


@pytest.fixture
def note(run: Run, folder: Path) -> Path:
    """The file of a memory."""
    assert run("write", "note", "First.\n").code == 0
    return folder / "note.md"


def test_an_edit_is_taken_in_and_told(run: Run, repo: Path, note: Path):
    with watching(repo) as watcher:
        note.write_text(note.read_text().replace("First.", "Second."))
        watcher.says("revised  note.md  (rule 22)")
        assert run("show", "note", "--json").json["version"]["version"] == 2
        assert watcher.end() == 0
        assert watcher.out[-1] == "ended: took in 1 change, brought 0 files up to date\n"
        assert watcher.err == []


def test_what_it_puts_back_is_no_change_that_it_took_in(repo: Path, note: Path):
    with watching(repo) as watcher:
        (note.parent / "MEMORY.md").unlink()
        watcher.says("projected  MEMORY.md")
        assert watcher.end() == 0
        assert watcher.out[-1] == "ended: took in 0 changes, brought 1 file up to date\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_cleanly_and_lets_another_start(run: Run, repo: Path, note: Path, number: signal.Signals):
    with watching(repo) as watcher:
        shown = run("status", "--json").json["watch"]
        assert (shown["pid"], shown["folder"]) == (watcher.process.pid, str(note.parent))
        assert f"pid {watcher.process.pid}" in run("status").out
        assert watcher.end(number) == 0
        assert watcher.out[-1].startswith("ended: ")
    assert run("status", "--json").json["watch"] is None
    assert "watch:      not running" in run("status").out
    with watching(repo) as watcher:
        assert watcher.end() == 0


def test_a_killed_one_is_nobody_and_lets_another_start(run: Run, repo: Path, note: Path):
    with watching(repo) as watcher:
        assert watcher.end(signal.SIGKILL) == -signal.SIGKILL
        assert run("status", "--json").json["watch"] is None
        with watching(repo) as second:
            assert run("status", "--json").json["watch"]["pid"] == second.process.pid


def test_a_second_one_is_refused_and_told_who_the_first_is(run: Run, repo: Path, note: Path):
    with watching(repo) as first:
        refused = run("watch")
        assert refused.code == 5
        assert refused.err.startswith(f"memstore: process {first.process.pid} watches ")
        error = run("watch", "--json").json["error"]
        assert (error["kind"], error["code"]) == ("PlaceRefused", 5)
        assert first.process.poll() is None


def test_asking_who_watches_keeps_nobody_from_starting(run: Run, repo: Path, note: Path):
    asking = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys\nfrom memstore.files.watch_lock import watcher_of\nprint('asking', flush=True)\n"
            "while True: watcher_of(sys.argv[1])",
            run("where", "--json").json["store_directory"],
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    try:
        assert asking.stdout is not None
        assert asking.stdout.readline() == b"asking\n"
        with watching(repo) as watcher:
            assert watcher.end() == 0
    finally:
        asking.kill()
        asking.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="counts what Linux watches")
def test_what_a_link_in_the_folder_leads_to_is_not_listened_to(repo: Path, note: Path, tmp_path: Path):
    for number in range(20):
        (tmp_path / "elsewhere" / str(number)).mkdir(parents=True)
    (note.parent / "link").symlink_to(tmp_path / "elsewhere")
    with watching(repo) as watcher:
        note.write_text(note.read_text().replace("First.", "Second."))
        watcher.says("revised  note.md")
        descriptors = Path(f"/proc/{watcher.process.pid}/fdinfo").iterdir()
        told = [line for one in descriptors for line in one.read_text().split("\n") if line.startswith("inotify")]
        assert len(told) == 1


def test_json_is_a_line_for_each_look_with_news(repo: Path, note: Path):
    with watching(repo, "watch", "--json") as watcher:
        note.write_text(note.read_text().replace("First.", "Second."))
        watcher.says("note.md")
        assert watcher.end() == 0
        first, second = map(json.loads, watcher.out)
        for shape in (first, second):
            assert has_shape(shape, {"memstore": "number", "command": "text", **SHAPES["watch"]})
        assert [noted["path"] for noted in second["files"]["absorbed"]] == ["note.md"]


def test_quiet_says_nothing(run: Run, repo: Path, note: Path):
    with watching(repo, "-q", "watch") as watcher:
        until(lambda: run("status", "--json").json["watch"])
        note.write_text(note.read_text().replace("First.", "Second."))
        until(lambda: run("show", "note", "--json").json["version"]["version"] == 2)
        assert watcher.end() == 0
        assert (watcher.out, watcher.err) == ([], [])


def test_a_signal_ends_it_where_those_who_run_the_tests_ignore_it(repo: Path, note: Path):
    earlier = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with watching(repo) as watcher:
            assert watcher.end(signal.SIGINT) == 0
    finally:
        signal.signal(signal.SIGINT, earlier)


def test_signals_that_its_starter_ignores_stay_ignored(repo: Path, note: Path):
    with watching(repo, before=("nohup",)) as watcher:
        watcher.process.send_signal(signal.SIGHUP)
        note.write_text(note.read_text().replace("First.", "Second."))
        watcher.says("revised  note.md")
        assert watcher.end() == 0


def test_it_ends_where_nobody_reads_what_it_says(repo: Path, note: Path):
    reading, writing = os.pipe()
    with os.fdopen(reading) as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "memstore", "-C", str(repo), "watch"], cwd=ROOT, stdout=writing
        )
        os.close(writing)
        assert said.readline().startswith("watching ")
    note.write_text(note.read_text().replace("First.", "Second."))
    assert process.wait(20) == 141


@pytest.mark.parametrize("seconds", ["0", "0.5", "-1", "nan", "inf", "3601", "soon"])
def test_an_interval_out_of_bounds_is_refused(run: Run, seconds: str):
    assert run("watch", "--interval", seconds).code == 2


def test_consent_that_is_given_meanwhile_counts(run: Run, repo: Path, tmp_path: Path):
    (repo / ".claude").mkdir()
    wanted = tmp_path / "wanted"
    (repo / ".claude" / "settings.json").write_text(f'{{"autoMemoryDirectory": "{wanted}"}}')
    assert run("write", "note", "text").code == 0
    with watching(repo, "watch", "--interval", "1") as watcher:
        watcher.says("not projected: the repository itself sets")
        holds(lambda: not wanted.exists(), 1.0)
        assert run("trust", "--all").code == 0
        watcher.says(f"watching {wanted}")
        assert (wanted / "note.md").exists()
        assert sum("not projected" in line for line in watcher.err) == 1


@pytest.mark.skipif(
    subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True).returncode != 0,
    reason="limits of one process alone need user namespaces",
)
def test_without_watches_of_the_system_it_says_so_once_and_looks_by_itself(run: Run, repo: Path, note: Path):
    before = ("unshare", "--user", "--map-root-user")
    with watching(repo, before=before, program=("-c", NO_WATCHES)) as watcher:
        watcher.says("the system does not tell of changes")
        for number in (2, 3):
            note.write_text(f"---\nname: note\n---\nText {number}.\n")
            watcher.says("revised  note.md")
            watcher.out.clear()
            assert run("show", "note", "--json").json["version"]["version"] == number
        assert sum("does not tell" in line for line in watcher.err) == 1
        assert watcher.end() == 0


def test_a_watch_goes_on_with_a_restored_database_and_with_one_that_was_made_anew(run: Run, repo: Path, note: Path):
    store = Path(run("where", "--json").json["store_directory"])
    assert run("backup").code == 0
    with watching(repo, "watch", "--interval", "1") as watcher:
        assert run("restore-backup", "latest", "--yes").code == 0
        note.write_text(note.read_text().replace("First.", "Second."))
        watcher.says("revised  note.md")
        # Another file under the same name: what a rebuild leaves.
        restoring.put_in_place(str(store), restoring.fresh(str(store), store.name, 1), store.name, 1)
        watcher.says("created  note.md")
        note.write_text(note.read_text().replace("Second.", "Third."))
        watcher.says("revised  note.md")
        until(lambda: run("show", "note").out.endswith("Third.\n"))
        assert watcher.end() == 0

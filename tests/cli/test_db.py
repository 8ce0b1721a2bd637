"""`memstore db`: rows of the store by the tools that people know, on a copy; the shell on the store itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memstore.cli import db
from tests.cli.conftest import Run
from tests.upkeep.test_database import ENDLESS


@pytest.fixture(autouse=True)
def _memory(run: Run) -> None:
    assert run("write", "deploy", "On Fridays, 金曜日", "--type", "project").code == 0


def started(repo: Path, *args: str, **streams: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "memstore", "-C", str(repo), *args],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **streams,
    )


def environment() -> dict[str, str]:
    """This test's, with memstore to be found."""
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def test_rows_come_in_the_form_that_is_asked_for(run: Run):
    assert run("db", "rows", "memories", "-c", "path", "-c", "type", "--csv").out == "path,type\ndeploy.md,project\n"
    assert run("db", "rows", "memory", "--where", "path = :p", "-p", "p", "x").out == "[]\n"
    assert run("db", "query", "-", "--tsv", "--no-headers", stdin="SELECT path FROM history").out == "deploy.md\n"
    assert run("db", "query", "SELECT :a || :b AS x", "-p", "a", "1", "-p", "b", "2", "--nl").out == '{"x": "12"}\n'
    assert {"table": "memory", "count": 1} in json.loads(run("db", "tables", "--counts").out)
    assert {row["view"] for row in json.loads(run("db", "views").out)} == {"memories", "history", "lines", "operations"}
    assert run("db", "schema", "version").out.startswith("CREATE TABLE version (")
    assert "deploy.md" in run("db", "search", "memories", "金曜", "--limit", "1").out


def test_a_terminal_is_steered_by_nothing_that_stands_in_a_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(db, "drawn", lambda: True)
    out = db._out()
    for piece in ("金\x1b[31mred\u202e\n".encode()[:2], "金\x1b[31mred\u202e\n".encode()[2:], b"\xff|\n"):
        out(piece)
    assert capsys.readouterr().out == "金\\x1b[31mred\\u202e\n\ufffd|\n"


def test_with_json_the_rows_are_ascii(run: Run):
    done = run("db", "query", "SELECT '金' AS sign", "--json")
    assert done.out == '[{"sign": "\\u91d1"}]\n'
    refused = run("db", "rows", "nowhere", "--json")
    assert refused.code == 2
    assert refused.json["error"]["kind"] == "InputRefused"


@pytest.mark.parametrize("option", ["--load-extension", "--functions"])
def test_options_that_run_code_are_not_passed_on(run: Run, option: str):
    assert run("db", "query", "SELECT 1", option, "x").code == 2


def test_a_scratch_database_takes_rows_and_a_query_brings_it_and_the_store_together(run: Run, repo: Path):
    (repo / "people.csv").write_text("name,desk\ndeploy,7\n")
    assert run("db", "insert", "people", "people.csv", "--csv", "--into", "scratch.db", "--pk", "name").code == 0
    sql = "SELECT m.path, p.desk FROM memories m JOIN s.people p USING (name)"
    assert json.loads(run("db", "query", sql, "--attach", "s", "scratch.db").out) == [{"path": "deploy.md", "desk": 7}]
    child = started(repo, "db", "insert", "people", "-", "--into", "scratch.db", "--nl", stdin=subprocess.PIPE)
    assert child.communicate(b'{"name": "other", "desk": 8}\n')[0] == b"inserted into people of scratch.db\n"
    assert json.loads(run("db", "query", "SELECT count(*) AS n FROM s.people", "--attach", "s", "scratch.db").out) == [
        {"n": 2}
    ]


def test_the_files_of_the_store_are_neither_written_nor_attached(run: Run, repo: Path, home: Path):
    (store,) = (home / "memstore" / "stores").glob("*/store.db")
    (repo / "rows.json").write_text('[{"a": 1}]')
    before = store.read_bytes()
    for refused in (
        run("db", "insert", "memory", "rows.json", "--into", str(store)),
        run("db", "query", "SELECT 1", "--attach", "live", str(store)),
        run("db", "snapshot", str(store), "--force"),
    ):
        assert refused.code == 2
        assert "nothing but memstore" in refused.err
    assert store.read_bytes() == before


def test_a_snapshot_says_what_it_would_write_and_writes_it(run: Run, repo: Path):
    assert "would write" in run("db", "snapshot", "copy.db", "--dry-run").out
    assert not (repo / "copy.db").exists()
    assert run("db", "snapshot", "copy.db").code == 0
    assert run("db", "snapshot", "copy.db", "--dry-run").code == 2
    assert run("db", "snapshot", "copy.db", "--json", "--force").json["bytes"] == (repo / "copy.db").stat().st_size


def test_where_there_are_no_memories_nothing_is_made(run: Run, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run("db", "tables", at=empty).code == 3
    assert list(empty.iterdir()) == []


def test_the_shell_works_in_pipes(repo: Path):
    child = started(repo, "db", "shell", stdin=subprocess.PIPE)
    out, err = child.communicate(b"SELECT path, version FROM memory;\nDELETE FROM memory;\n")
    assert (out, child.returncode) == (b"deploy.md|1\n", 2)
    assert b"readonly" in err
    child = started(repo, "db", "shell", stdin=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.close()
    assert child.communicate(b"SELECT 1;\nSELECT 2;\n")[1] == b""
    assert child.returncode == 141


@pytest.mark.parametrize("words", [("db", "tables"), ("db", "shell")])
def test_a_stream_that_is_closed_from_the_start_is_no_fault(repo: Path, words: tuple[str, ...]):
    line = [sys.executable, "-m", "memstore", "-C", str(repo), *words]
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *line],
        input=b"SELECT 1;\n",
        env=environment(),
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_only_a_person_writes_by_hand(run: Run, repo: Path, monkeypatch: pytest.MonkeyPatch):
    assert run("db", "shell", "--write").code == 2  # nobody can be asked in a pipe
    done = run("db", "shell", "--write", "--yes", stdin="UPDATE memory SET pinned = 1;\n")
    assert (done.code, "nothing that it does can be undone" in done.err) == (0, True)
    assert run("show", "deploy", "--json").json["memory"]["pinned"]
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = run("db", "shell", "--write", "--yes", stdin="UPDATE memory SET pinned = 0;\n")
    assert (refused.code, "a person's decision, and $CLAUDECODE says" in refused.err) == (5, True)
    assert run("db", "shell", stdin="SELECT 1;\n").code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_query_without_end_is_ended_by_a_signal_and_leaves_nothing(repo: Path, home: Path, number: signal.Signals):
    child = started(repo, "db", "query", ENDLESS, "--nl")
    assert child.stdout is not None
    assert child.stdout.readline() == b'{"x": 1}\n'
    child.send_signal(number)
    child.communicate()
    assert child.returncode == 130
    assert list((home / "memstore" / "snapshots").iterdir()) == []


def test_whoever_reads_no_further_ends_the_query(repo: Path, home: Path):
    child = started(repo, "db", "query", ENDLESS, "--nl")
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.wait() == 141
    assert list((home / "memstore" / "snapshots").iterdir()) == []
    assert child.stderr is not None
    child.stderr.close()

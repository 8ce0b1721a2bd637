"""The shell on a live store reads; one that may write is held to append-only history, the schema and one database."""

from __future__ import annotations

import errno
import io
import signal
from functools import partial
from pathlib import Path

import pytest

from memstore.errors import Defect, InputRefused
from memstore.store import shell
from memstore.store.store import Store
from tests.store.stores import create, put


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _free(path: str) -> None:
    """Stands for what the command line passes: here one name is refused."""
    if path.endswith("live.db"):
        raise InputRefused(f"{path} is the file of a store", hint="give another")


def told(store: Store, lines: str, *, write: bool = False) -> tuple[bool, str, str]:
    out, err = io.StringIO(), io.StringIO()
    history = str(Path(store.directory).parent / "history")
    done = shell.run(store.path, io.StringIO(lines), out, err, str, write=write, history=history, check=_free)
    return done, out.getvalue(), err.getvalue()


@pytest.fixture(autouse=True)
def _rows(store: Store) -> None:
    put(store, create("deploy", "On Fridays\n"))


def test_it_reads_sql_and_dot_commands(store: Store):
    done, out, err = told(store, "SELECT path, version\nFROM memory;\n.tables mem%\nSELECT count(*) FROM text;\n")
    assert (done, err) == (True, "")
    assert out == "deploy.md|1\nmemory\n1\n"


@pytest.mark.parametrize("sql", ["DELETE FROM memory", "UPDATE memory SET pinned = 1", "CREATE TABLE mine (a)"])
def test_it_does_not_write_unasked(store: Store, sql: str):
    before = store.memories()
    done, _, err = told(store, f"PRAGMA query_only = OFF;\n{sql};\n")
    assert not done
    assert "not authorized" in err
    assert store.memories() == before


def test_it_writes_where_that_is_asked_for(store: Store):
    assert told(store, "UPDATE memory SET pinned = 1;\n", write=True)[0]
    assert store.memories()[0].state.pinned


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("DELETE FROM version", "append-only"),
        ("UPDATE text SET content = ''", "append-only"),
        ("INSERT OR REPLACE INTO text SELECT * FROM text", "append-only"),
        ("INSERT INTO purge_permit VALUES (1)", "not authorized"),
        ("DROP TRIGGER text_keeps", "not authorized"),
        ("DROP TABLE version", "not authorized"),
        ("ALTER TABLE version RENAME TO past", "not authorized"),
        ("PRAGMA recursive_triggers = OFF", "not authorized"),
        ("PRAGMA main.user_version = 99", "not authorized"),
        ("PRAGMA journal_mode = DELETE", "not authorized"),
        ("PRAGMA writable_schema = ON", "not authorized"),
        ("DELETE FROM search_index_data", "may not be modified"),
        ("ATTACH ':memory:' AS other", "not authorized"),
        ("VACUUM INTO '/nowhere/copy.db'", "authorization denied"),
    ],
)
def test_history_and_schema_refuse_even_a_shell_that_may_write(store: Store, sql: str, reason: str):
    done, _, err = told(store, f"{sql};\n", write=True)
    assert not done
    assert reason in err


def test_temporary_tables_are_the_shells_own(store: Store):
    assert told(
        store, "CREATE TEMP TABLE mine (a);\nINSERT INTO mine VALUES (7);\nSELECT a FROM mine;\n", write=True
    ) == (
        True,
        "7\n",
        "",
    )


def test_files_of_a_store_are_not_written_over_and_python_is_not_read(store: Store, tmp_path: Path):
    live, out, code = tmp_path / "live.db", tmp_path / "out.txt", tmp_path / "x.py"
    live.write_text("rows")
    code.write_text("db.authorizer = None")
    lines = f".output {live}\n.pages_svg {live}\n.read {code}\n.output {out}\nSELECT 1;\n.output stdout\nSELECT 2;\n"
    done, printed, err = told(store, lines)
    assert (done, printed, out.read_text(), live.read_text()) == (False, "2\n", "1\n", "rows")
    assert err.count("is the file of a store; give another") == 2
    assert "takes no Python" in err


class Full(io.StringIO):
    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_stream_that_fails_ends_it(store: Store):
    run = partial(shell.run, store.path, shown=str, write=False, history="", check=_free)
    with pytest.raises(OSError, match="No space"):
        run(stdin=io.StringIO("SELECT 1;\n"), stdout=Full(), stderr=io.StringIO())


def test_a_statement_without_end_hears_ctrl_c(store: Store):
    class Line(io.StringIO):
        def readline(self, *_: object) -> str:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return super().readline()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n;\n"
    out = io.StringIO()
    try:
        with pytest.raises(KeyboardInterrupt):
            shell.run(store.path, Line(endless), out, out, str, write=False, history="", check=_free)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_bail_ends_it_with_what_was_told(store: Store):
    done, out, err = told(store, ".bail on\nSELECT nope;\nSELECT 1;\n")
    assert (done, out) == (False, "")
    assert "no such column: nope" in err


@pytest.mark.parametrize("name", sorted(shell.CLOSED))
@pytest.mark.parametrize("write", [False, True])
def test_what_leads_around_the_rules_is_closed_and_says_so(store: Store, name: str, write: bool):
    done, out, err = told(store, f".{name} x\n.help {name}\n", write=write)
    assert not done
    assert shell.CLOSED[name] in err
    assert "Closed in this shell" in out + err


def test_a_terminal_sees_no_escape_sequence(store: Store):
    put(store, create("esc", "\x1b[31mred"))
    out = Terminal()
    shown = lambda text: text.replace("\x1b", "\\x1b")  # noqa: E731  # stands for what the command line passes
    shell.run(
        store.path,
        Terminal("SELECT content FROM text;\nSELECT printf('%s', content) FROM nowhere;\n"),
        out,
        out,
        shown,
        write=False,
        history="",
        check=_free,
    )
    assert "\\x1b[31mred" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_the_guard_stays_while_it_runs(store: Store):
    path = store.path
    store.close()

    class Opening(io.StringIO):
        def readline(self, *_: object) -> str:
            with pytest.raises(Defect), open(path, "rb"):
                pass
            return super().readline()

    out = io.StringIO()
    assert shell.run(path, Opening("SELECT 1;\n"), out, out, str, write=False, history="", check=_free)
    assert out.getvalue() == "1\n"

"""The shell on a live store reads; one that may write is held to append-only history, the schema and one database."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from memstore.errors import Defect
from memstore.store import shell
from memstore.store.store import Store
from tests.store.stores import create, put


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(store: Store, lines: str, *, write: bool = False) -> tuple[bool, str, str]:
    out, err = io.StringIO(), io.StringIO()
    history = str(Path(store.directory).parent / "history")
    done = shell.run(store.path, io.StringIO(lines), out, err, str, write=write, history=history)
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
    assert shell.run(path, Opening("SELECT 1;\n"), out, out, str, write=False, history="")
    assert out.getvalue() == "1\n"

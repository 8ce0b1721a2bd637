"""What a purge takes out of the rows, what it leaves, and that nothing else may."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memstore.core.changes import ChangeSet, OpenConflict, Retire, Revise
from memstore.core.forgetting import secret_of
from memstore.core.terms import parse_query
from memstore.errors import Conflict, Defect, StoreBusy
from memstore.store import daylog, purging, redacting, search, shown, sweeping, tombstones
from memstore.store.daylog import Entry
from memstore.store.purging import Connection, Reach
from memstore.store.purging_before import forget_before
from memstore.store.search import Filters
from memstore.store.store import Store
from tests.store.stores import create, open_store, put, who

SECRET = "hunter2-Zaubertrank"
HISTORY = ("operation", "version", "text", "line_version", "source", "log_entry")


def head(store: Store, name: str) -> str:
    found = store.memory(name)
    assert found is not None
    return found.token


def purge(store: Store, what: str, work: Callable[[Connection, Reach], None]) -> tuple[int | None, Reach]:
    return purging.commit(store, what, f"purge {store.now()}", who("person"), "asked for", work)


def forget(store: Store, *names: str) -> tuple[int | None, Reach]:
    return purge(store, "memory", lambda connection, reach: purging.forget_memories(connection, names, reach))


def redact(store: Store, secret: str = SECRET) -> tuple[int | None, Reach]:
    return purge(store, "secret", lambda connection, reach: redacting.redact(connection, secret_of(secret), reach))


def rows(store: Store, sql: str) -> list[tuple[object, ...]]:
    with store.view() as connection:
        return list(connection.execute(sql))


def holding(store: Store, *needles: str) -> list[str]:
    with store.view() as connection:
        return redacting.left_in(connection, [needle.encode() for needle in needles])


def is_sound(store: Store) -> None:
    """The database is whole, its search index too, and history is append-only again."""
    connection = store._link.connection
    assert connection.pragma("integrity_check") == "ok" and connection.pragma("foreign_key_check") is None
    assert connection.pragma("foreign_keys") == 1
    with store.change() as inside:
        assert search.check_index(inside)
    for table in HISTORY:
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET rowid = rowid"):
            if "UPDATE" in statement and table in ("line_version", "source"):
                statement = f"UPDATE {table} SET operation = operation"
            if rows(store, f"SELECT 1 FROM {table} LIMIT 1"):
                with pytest.raises(Defect, match="append-only"), store.change() as inside:
                    inside.execute(statement)


def test_a_memory_goes_with_all_its_versions_and_its_line(store: Store):
    put(store, create("kept", "Words that stay.\n"))
    put(store, create("gone", "---\nname: gone\ndescription: a Geheimnis\n---\nold Geheimnis\n"))
    put(store, Revise("gone", head(store, "gone"), b"new Geheimnis\n"))
    put(store, Retire("gone", head(store, "gone")))
    seq, reach = forget(store, "gone")
    assert holding(store, "Geheimnis", "geheimnis", "gone") == []
    assert (reach.taken["versions"], reach.taken["memories"], reach.taken["index lines"]) == (3, 1, 1)
    assert store.memory("gone") is None and store.memory("kept") is not None
    assert rows(store, "SELECT kind, reason FROM operation ORDER BY seq DESC LIMIT 1") == [("purge", "asked for")]
    with store.view() as connection:
        found = tombstones.of_path(connection, "GONE.md")
        assert found is not None and found.seq == seq and found.taken["versions"] == 3
        assert tombstones.of_path(connection, "kept.md") is None
    is_sound(store)


def test_a_text_that_another_memory_has_too_stays_for_that(store: Store):
    put(store, create("one", "The same words.\n"))
    put(store, create("two", "The same words.\n"))
    put(store, Retire("one", head(store, "one")))
    forget(store, "one")
    two = store.memory("two")
    assert two is not None and two.state.content == b"The same words.\n"
    is_sound(store)


def test_what_is_known_by_the_file_s_name_stays_where_another_memory_has_that_name(store: Store):
    folder = store.add_folder("/memory").pk
    put(store, create("one", "First words.\n"))
    put(store, Retire("one", head(store, "one")))
    second = create("two", "Other words.\n")
    put(store, second.__class__("two", second.shelf, "one.md", second.content))
    store.show(folder, [shown.ShownRow("one.md", "two", 1, second.content)])
    forget(store, "one")
    with store.view() as connection:
        row = shown.shown_row(connection, folder, "one.md")
    assert row is not None and row.content == b"Other words.\n"
    assert holding(store, "First words") == []
    is_sound(store)


def test_what_a_folder_and_sessions_know_of_it_goes_too(store: Store):
    folder = store.add_folder("/memory").pk
    put(store, create("gone", "Geheimnis one.\n"))
    index = b"# Index\n- [gone](gone.md) \xe2\x80\x94 Geheimnis\n- [kept](kept.md)\n"
    store.show(
        folder, [shown.ShownRow("gone.md", "gone", 1, b"Geheimnis one.\n"), shown.ShownRow("MEMORY.md", None, 1, index)]
    )
    store.show(
        folder, [shown.Aside("gone.md", b"Geheimnis aside", "stale"), shown.Before("gone.md", b"Geheimnis before")]
    )
    with store.change() as connection:
        connection.execute(
            "INSERT INTO inbox (id, kind, state, folder, name, session, found, original, result, at) VALUES"
            " ('a', 'write', 'settled', '/memory', 'gone.md', 's', 'Geheimnis', x'00', 'Geheimnis', 1),"
            " ('b', 'load', 'settled', '/memory', 'MEMORY.md', 's', NULL, NULL, ?, 1)",
            (index.decode(),),
        )
        seen = connection.execute("SELECT text FROM shown WHERE name = 'MEMORY.md'").get
        connection.execute("INSERT INTO seen VALUES ('s', '/memory', 'MEMORY.md', ?, 1, 1)", (seen,))
        connection.execute("DELETE FROM shown WHERE name = 'MEMORY.md'")
        connection.execute("INSERT INTO recalled VALUES ('s', 1, 'aaaaaaaaaaaa', 10, 1)")
        connection.execute(
            "INSERT INTO run (id, kind, session, state, started_at, reason) VALUES"
            " ('r', 'dream', 's', 'done', 1, 'looked at gone.md')"
        )
        connection.execute("INSERT INTO run_event VALUES (1, 1, 1, 'note', 'revised gone.md: Geheimnis')")
        connection.execute("INSERT INTO run_event VALUES (1, 2, 1, 'note', 'revised begone.md')")
        connection.execute(
            "INSERT INTO run_step (run, n, part, action, memory, path, content, origin, reason, state) VALUES"
            " (1, 1, 1, 'revise', 'gone', 'gone.md', x'47656865696d6e6973', 'agent', 'Geheimnis', 'held')"
        )
        connection.execute("INSERT INTO run_line VALUES (1, 1, 1, 'dropped', 'Geheimnis', '', 'why')")
    theirs = OpenConflict("c", "gone", "gone.md", "both", b"Geheimnis base", b"Geheimnis theirs", "note")
    retire = Retire("gone", head(store, "gone"))
    store.apply(ChangeSet("o", "test", store.now(), who(), (retire,), conflicts=(theirs,)))
    forget(store, "gone")
    assert holding(store, "Geheimnis") == []
    assert holding(store, "gone.md") == ["run_event.text"]  # begone.md
    assert rows(store, "SELECT state, content FROM run_step") == [("rejected", None)]
    assert rows(store, "SELECT result FROM inbox") == [("# Index\n- [kept](kept.md)\n",)]
    is_sound(store)


def test_a_file_at_which_a_session_is_at_work_is_not_forgotten_now(store: Store):
    put(store, create("gone", "words\n"))
    with pytest.raises(StoreBusy, match="is writing gone"):
        forget(store, "gone")  # it lives
    put(store, Retire("gone", head(store, "gone")))
    with store.change() as connection:
        connection.execute(
            "INSERT INTO inbox (id, kind, state, folder, name, session, result, at)"
            " VALUES ('a', 'write', 'open', '/memory', 'gone.md', 's', 'words', 1)"
        )
    with pytest.raises(StoreBusy, match="is writing gone"):
        forget(store, "gone")
    assert store.memory("gone") is not None
    is_sound(store)


def test_a_purge_that_fails_changes_nothing_and_history_is_closed_again(store: Store):
    put(store, create("gone", "words\n"))
    put(store, Retire("gone", head(store, "gone")))

    def work(connection: Connection, reach: Reach) -> None:
        purging.forget_memories(connection, ["gone"], reach)
        raise StoreBusy("in the middle")

    with pytest.raises(StoreBusy):
        purge(store, "memory", work)
    assert len(store.versions("gone")) == 2
    is_sound(store)


def test_a_purge_that_would_leave_a_row_without_its_parent_is_refused(store: Store):
    put(store, create("a", "words\n"))

    def work(connection: Connection, reach: Reach) -> None:
        connection.execute("DELETE FROM text")
        reach.count("texts", connection.changes())

    with pytest.raises(Defect, match="nothing was changed"):
        purge(store, "memory", work)
    assert len(store.versions("a")) == 1


def test_a_rehearsal_counts_what_would_go_and_takes_nothing(store: Store):
    put(store, create("gone", "words\n"))
    reach = purging.rehearse(
        store, lambda connection, found: purging.forget_memories(connection, ["gone"], found, rehearsal=True)
    )
    assert reach.taken["versions"] == 1 and len(store.versions("gone")) == 1
    assert rows(store, "SELECT * FROM purge") == []
    is_sound(store)


def test_where_there_is_nothing_to_take_there_is_no_operation(store: Store):
    put(store, create("a", "words\n"))
    assert redact(store, "not there")[0] is None
    assert rows(store, "SELECT count(*) FROM operation") == [(1,)]


# Secrets


def test_a_secret_goes_out_of_every_column_that_holds_words_of_somebody(store: Store):
    """Each column of each table gets it, by plain SQL: whatever a later schema adds is here by itself."""
    left: set[str] = set()
    columns: set[str] = set()

    def work(connection: Connection, reach: Reach) -> None:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        own = sorted({table for table, _, _ in redacting._columns(connection)})
        columns.update(f"{table}.{column}" for table, _, column in redacting._columns(connection))
        for table in (*own, "text"):
            described = list(connection.execute("SELECT name, type FROM pragma_table_info(?)", (table,)))
            said: dict[str, object] = {"INTEGER": 1, "BLOB": SECRET.encode()}
            values = [
                "[]" if (table, name) == ("kept", "since") else said.get(kind, f"{SECRET} {name}")
                for name, kind in described
            ]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
        redacting.redact(connection, secret_of(SECRET), reach, rehearsal=True)
        left.update(redacting.left_in(connection, [SECRET.encode()]))
        assert {f"rows of {table}" for table in own} <= reach.taken.keys()

    purging.rehearse(store, work)
    store._link.connection.execute("PRAGMA ignore_check_constraints = OFF")
    assert {"memory.name", "inbox.result", "operation.reason", "recall_asked.prompt", "set_aside.name"} <= columns
    assert not left & columns and "text.content" not in left
    assert {column.split(".")[1] for column in left} <= redacting._OWN_WORDS


def test_ids_and_tokens_stay_whatever_is_taken_for_a_secret(store: Store):
    put(store, create("m", "words\n"))
    token = head(store, "m")
    redact(store, token[:6])
    assert head(store, "m") == token
    is_sound(store)


def test_two_texts_that_are_the_same_without_it_become_one(store: Store):
    put(store, create("m", f"key {SECRET}\n"))
    put(store, Revise("m", head(store, "m"), b"key [purged]\n"))
    put(store, create("n", "other\n"))
    redact(store)
    assert holding(store, SECRET, SECRET.lower()) == []
    assert [version.state.content for version in store.versions("m")] == [b"key [purged]\n"] * 2
    assert rows(store, "SELECT count(*) FROM text") == [(2,)]
    is_sound(store)


def test_what_is_current_is_changed_by_an_operation_first(store: Store):
    put(store, create("m", f"key {SECRET}\n"))
    with pytest.raises(StoreBusy, match="written again meanwhile, in m"):
        redact(store)
    put(store, Retire("m", head(store, "m")))
    redact(store)
    assert holding(store, SECRET) == []
    hits = store.search(parse_query("zaubertrank"), Filters(include_retired=True), 5)
    assert hits == []
    is_sound(store)


def test_bytes_that_are_not_utf8_are_looked_through_too(store: Store):
    put(store, create("m", b"\xff\xfe" + SECRET.encode()))
    put(store, Retire("m", head(store, "m")))
    redact(store)
    assert store.versions("m")[0].state.content == b"\xff\xfe[purged]"


def test_the_log_of_the_day_loses_it(store: Store):
    store.note(Entry(0, "e", 1, 0, "1970-01-01", f"used {SECRET}", "agent", "tester"))
    redact(store)
    with store.view() as connection:
        entry = daylog.by_id(connection, "e")
    assert entry is not None and entry.text == "used [purged]"


def test_operations_whose_ids_are_the_same_without_it_stay_two(store: Store):
    for number, spelled in enumerate(("a\u0301-key", "\xe1-key")):
        put(store, create(f"m{number}", "words\n"), operation=spelled)
    _, reach = redact(store, "\xe1-key")
    assert reach.taken["rows of operation"] == 2
    assert rows(store, "SELECT count(*) FROM operation") == [(3,)] and holding(store, "-key") == []
    is_sound(store)


# What is old


def test_what_is_old_and_not_current_goes(store: Store):
    put(store, create("a", "first\n"))
    put(store, Revise("a", head(store, "a"), b"second\n"))
    put(store, create("dead", "long gone\n"))
    put(store, Retire("dead", head(store, "dead")))
    cut = store.now()
    put(store, Revise("a", head(store, "a"), b"third\n"))
    put(store, Revise("a", head(store, "a"), b"fourth\n"))
    _, reach = purge(store, "before", lambda connection, found: forget_before(connection, cut, found))
    assert [version.state.content for version in store.versions("a")] == [b"third\n", b"fourth\n"]
    assert store.memory("dead") is None
    assert holding(store, "first", "second", "long gone", "dead.md") == []
    with store.view() as connection:
        for seq in (1, 2, 3, 4, 5):  # the fifth needs what the second made
            with pytest.raises(Conflict, match="purged by operation #7"):
                tombstones.check_undo(connection, seq)
        tombstones.check_undo(connection, 6)
        with pytest.raises(Conflict, match="is a purge"):
            tombstones.check_undo(connection, 7)
    assert reach.taken["memories"] == 1
    is_sound(store)


def test_what_waits_for_a_person_stays_and_why_earlier_purges_were_done(store: Store):
    put(store, create("a", "words\n"))
    put(store, Retire("a", head(store, "a")))
    forget(store, "a")
    with store.change() as connection:
        connection.execute(
            "INSERT INTO run (id, kind, session, state, started_at, ended_at, reason)"
            " VALUES ('r', 'dream', 's', 'done', 1, 1, 'because')"
        )
        for n, state in ((1, "held"), (2, "done")):
            connection.execute(
                "INSERT INTO run_step (run, n, part, action, memory, path, content, origin, reason, state)"
                " VALUES (1, ?, 1, 'create', 'x', 'x.md', x'00', 'agent', 'why', ?)",
                (n, state),
            )
        connection.execute(
            "INSERT INTO job (id, kind, state, session, transcript, cwd, event, at)"
            " VALUES ('j', 'extract', 'done', 's', 't', '/', 'Stop', 1), ('k', 'dream', 'failed', 's', 't', '/', '', 1)"
        )
        connection.execute("UPDATE run SET job = 1")
    purge(store, "before", lambda connection, reach: forget_before(connection, store.now(), reach))
    assert rows(store, "SELECT state FROM run_step") == [("held",)]
    assert rows(store, "SELECT id FROM job") == [("k",)]
    assert rows(store, "SELECT reason FROM run") == [("",)]
    assert rows(store, "SELECT reason FROM operation WHERE kind = 'purge'") == [("asked for",)] * 2
    is_sound(store)


# The files


def test_nothing_is_left_in_freed_pages_and_log(store: Store, tmp_path: Path):
    for number in range(50):
        put(store, create(f"m{number}", f"{SECRET} {number} {'words ' * 300}"))
        put(store, Retire(f"m{number}", head(store, f"m{number}")))
    redact(store)
    assert sweeping.sweep(store, lambda _: None).trouble is None
    assert tombstones.unswept(store._link.connection) == []
    store.close()
    left = b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir() if path.is_file())
    assert b"words" in left and SECRET.encode() not in left and SECRET.lower().encode() not in left


def test_a_reader_keeps_the_log_and_is_told(store: Store):
    put(store, create("m", SECRET))
    put(store, Retire("m", head(store, "m")))
    reader = apsw.Connection(store.path, flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN; SELECT * FROM text").fetchall()
    store._link.connection.set_busy_timeout(10)
    redact(store)
    swept = sweeping.sweep(store, lambda _: None)
    assert isinstance(swept.trouble, StoreBusy) and "--finish" in swept.trouble.hint
    assert len(tombstones.unswept(store._link.connection)) == 1
    reader.execute("ROLLBACK")
    assert sweeping.sweep(store, lambda _: None).trouble is None
    reader.close()


def test_copies_that_memstore_made_are_known(store: Store, tmp_path: Path):
    directory = Path(store.directory)
    beside = [directory / "store.db.before-schema-8", directory / "store.db.damaged-20260101"]
    backups = tmp_path / "home" / "backups" / store.id
    backups.mkdir(parents=True)
    for path in (*beside, backups / "2026.db", directory / "other"):
        path.touch()
    assert sweeping.copies(store, str(tmp_path / "home")) == [*map(str, beside), str(backups / "2026.db")]


def test_a_store_that_was_purged_is_opened_again_as_any_other(store: Store):
    put(store, create("gone", "words\n"))
    put(store, Retire("gone", head(store, "gone")))
    forget(store, "gone")
    store.close()
    again = open_store(Path(store.directory))
    put(again, create("gone", "words again\n"))
    assert json.loads(rows(again, "SELECT taken FROM purge")[0][0]) and again.memory("gone") is not None  # type: ignore[arg-type]  # a row of text
    again.close()

"""Takes out what is older than a moment: what stands now stays, how it came to that goes."""

from __future__ import annotations

import apsw

from memstore.core.forgetting import MARK
from memstore.store.connection import many
from memstore.store.purging import Reach, drop_texts, forget_memories, forget_texts

_OLD = "(SELECT seq FROM operation WHERE at < ?1)"
_OLD_RUNS = "(SELECT seq FROM run WHERE state <> 'running' AND coalesce(ended_at, started_at) < ?1)"
_HELD = "SELECT run, n FROM run_step WHERE state = 'held'"


def forget_before(connection: apsw.Connection, moment: int, reach: Reach) -> None:
    """Takes out what was made before a moment (unix microseconds) and is not current: versions and index lines, retired
    memories, records of files, sessions, runs and finished jobs, and the reasons of operations.

    The log of the day stays, and so does what waits for somebody. Raises what `forget_memories` does.
    """
    retired = many(connection, "SELECT id FROM memory WHERE state = 'retired' AND changed_at < ?", (moment,))
    if retired:
        forget_memories(connection, [row[0] for row in retired], reach)
    _forget_versions(connection, moment, reach)
    _forget_lines(connection, moment, reach)
    _forget_records(connection, moment, reach)
    _forget_runs(connection, moment, reach)
    _change(connection, reach, "reasons", f"UPDATE operation SET reason = '{MARK}' WHERE at < ?1"
            f" AND reason NOT IN ('', '{MARK}') AND seq NOT IN (SELECT operation FROM purge)", moment)  # fmt: skip
    reach.count("texts", drop_texts(connection))


def _forget_versions(connection: apsw.Connection, moment: int, reach: Reach) -> None:
    older = f"v.number < m.version AND v.operation IN {_OLD}"
    old = f"SELECT v.pk FROM version v JOIN memory m ON m.pk = v.memory WHERE {older}"
    rows = connection.execute(
        f"SELECT operation FROM version WHERE pk IN ({old}) UNION SELECT n.operation FROM version n JOIN version o"
        f" ON o.memory = n.memory AND o.number = n.number - 1 WHERE o.pk IN ({old})",
        (moment,),
    )
    reach.operations |= {row[0] for row in rows}
    sources = (
        f"DELETE FROM source WHERE (operation, memory) IN (SELECT operation, memory FROM version WHERE pk IN ({old}))"
    )
    own = connection.execute(
        f"SELECT text FROM version WHERE pk IN ({old}) EXCEPT SELECT text FROM version WHERE pk NOT IN ({old})",
        (moment,),
    )
    forget_texts(connection, {row[0] for row in own}, reach)
    _change(connection, reach, "records of sessions", sources, moment)
    _change(connection, reach, "versions", f"DELETE FROM version WHERE pk IN ({old})", moment)


def _forget_lines(connection: apsw.Connection, moment: int, reach: Reach) -> None:
    gone = f"SELECT pk FROM line WHERE live = 0 AND operation IN {_OLD}"
    old = (
        "SELECT v.line, v.version FROM line_version v LEFT JOIN line l ON l.pk = v.line"
        f" WHERE v.operation IN {_OLD} AND (v.version < l.version OR l.live = 0)"
    )
    rows = connection.execute(
        f"SELECT operation FROM line_version WHERE (line, version) IN ({old}) UNION"
        f" SELECT operation FROM line_version WHERE (line, version - 1) IN ({old})",
        (moment,),
    )
    reach.operations |= {row[0] for row in rows}
    what = "versions of index lines"
    _change(connection, reach, what, f"DELETE FROM line_version WHERE (line, version) IN ({old})", moment)
    _change(connection, reach, what, f"DELETE FROM line_version WHERE line IN ({gone})", moment)
    _change(connection, reach, "index lines", f"DELETE FROM line WHERE pk IN ({gone})", moment)


def _forget_records(connection: apsw.Connection, moment: int, reach: Reach) -> None:
    settled = "state IN ('settled', 'dead', 'heard') AND at < ?1"
    for what, table, where in (
        ("inbox rows", "inbox", settled),
        ("records of files", "shown_before", "at < ?1"),
        ("records of files", "seen", "at < ?1"),
        ("set-aside files", "set_aside", "at < ?1"),
        ("conflicts", "conflict", f"resolved IN {_OLD}"),
        ("records of sessions", "recalled", "at < ?1"),
        ("records of sessions", "recall_asked", "at < ?1"),
        ("records of sessions", "recall_picked", "at < ?1"),
    ):
        _change(connection, reach, what, f"DELETE FROM {table} WHERE {where}", moment)


def _forget_runs(connection: apsw.Connection, moment: int, reach: Reach) -> None:
    """That they were, and what they cost, stays; a step that waits for a person stays whole."""
    for table in ("run_line", "run_step"):
        _change(connection, reach, "steps of runs",
                f"DELETE FROM {table} WHERE run IN {_OLD_RUNS} AND (run, n) NOT IN ({_HELD})", moment)  # fmt: skip
    for table in ("run_event", "run_progress"):
        _change(connection, reach, "records of runs", f"DELETE FROM {table} WHERE run IN {_OLD_RUNS}", moment)
    _change(connection, reach, "records of runs",
            f"UPDATE run SET reason = '' WHERE reason <> '' AND seq IN {_OLD_RUNS}", moment)  # fmt: skip
    done = "SELECT seq FROM job WHERE state = 'done' AND at < ?1"
    connection.execute(f"UPDATE run SET job = NULL WHERE job IN ({done})", (moment,))
    _change(connection, reach, "jobs", "DELETE FROM job WHERE state = 'done' AND at < ?1", moment)


def _change(connection: apsw.Connection, reach: Reach, what: str, statement: str, moment: int) -> None:
    connection.execute(statement, (moment,))
    reach.count(what, connection.changes())

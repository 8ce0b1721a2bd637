"""What a session knows of the memories: what it was told, read and wrote since its conversation was last cleared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.store import recalled, sessions
from memstore.store.inbox import Arrival
from memstore.store.store import Store
from tests.store.stores import at, create, open_store, put, writer_of

FOLDER = "/srv/memory"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(tmp_path)
    put(made, create("port", "7443"), create("host", "h1"))
    yield made
    made.close()


def append(store: Store, session: str, name: str, text: str) -> None:
    writer_of(store, session=session).append(name, text, operation=None, reason="")


def known(store: Store) -> dict[str, str]:
    with store.view() as connection:
        return recalled.known(connection, "s", ["port", "host"])


def test_what_was_told_is_known_at_that_version_only_and_is_paid_for(store: Store):
    told = [("port", at(store, "port").token, 100), ("host", "0" * 12, 50)]
    with store.change() as connection:
        recalled.record(connection, "s", told, 1)
    assert known(store) == {"port": "told"}
    with store.view() as connection:
        assert (recalled.spent(connection, "s"), recalled.spent(connection, "another")) == (150, 0)


def test_what_the_session_wrote_is_known(store: Store):
    append(store, "s", "port", "7444 too")
    append(store, "another", "host", "h2 too")
    assert known(store) == {"port": "written"}


def test_what_its_hooks_told_that_it_read_is_known_before_anybody_takes_it_in(store: Store):
    store.add_folder(FOLDER)
    for name, text in (("port.md", b"7443"), ("host.md", b"an older text")):
        store.receive([Arrival(name, "read", "done", FOLDER, name, 5, "s", None, None, None, result=text)])
    assert known(store) == {"port": "read"}


def test_what_it_has_seen_is_known(store: Store):
    folder = store.add_folder(FOLDER)
    assert folder.path == FOLDER
    with store.change() as connection:
        connection.execute(
            "INSERT INTO seen (session, folder, name, text, loaded, at)"
            " SELECT 's', ?, 'host.md', text, 0, 9 FROM memory WHERE id = 'host'",
            (FOLDER,),
        )
    assert known(store) == {"host": "read"}


def test_after_its_conversation_was_taken_away_nothing_is_known_and_the_budget_is_whole(store: Store):
    append(store, "s", "port", "7444 too")
    told = [("host", at(store, "host").token, 100)]
    with store.change() as connection:
        sessions.write(connection, "started", ("s", "startup", None, None, None, 0, 1))
        recalled.record(connection, "s", told, 1)
        recalled.clear(connection, "s", store.now())
    assert known(store) == {}
    with store.view() as connection:
        assert recalled.spent(connection, "s") == 0
    append(store, "s", "port", "7445 as well")
    assert known(store) == {"port": "written"}


def test_a_file_that_was_missing_at_the_last_look_is_known_to_be(store: Store):
    with store.view() as connection:
        assert recalled.missing(connection, ["port.md"]) == set()
        assert sessions.has_memories(connection)

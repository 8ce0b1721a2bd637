"""After any history a purge takes what it is to take, and all else is as it was."""

from __future__ import annotations

import random

import pytest

from memstore.core.changes import Change, Rename, Retire, Revise
from memstore.core.forgetting import secret_of
from memstore.core.model import Memory
from memstore.store import purging as rows
from memstore.store import redacting, search, writer
from memstore.store.purging import Connection
from memstore.store.store import Store
from tests.store.stores import create, put, who

SECRET = "hunter2-Zaubertrank"


def history(store: Store, seed: int) -> None:
    """Some writes by chance, every third with the secret in it."""
    chance = random.Random(seed)
    for number in range(25):
        found = store.memories(retired=True)
        words = f"text {chance.randrange(6)} {SECRET if chance.random() < 0.3 else ''}\n".encode()
        live = [memory for memory in found if memory.state.live]
        step: Change
        if not live or chance.random() < 0.3:
            step = create(f"m{number}", words)
        else:
            memory = chance.choice(live)
            steps: list[Change] = [
                Revise(memory.id, memory.token, words),
                Retire(memory.id, memory.token),
                Rename(memory.id, memory.token, f"n{number}.md", words),
            ]
            step = chance.choice(steps)
        put(store, step)


def is_sound(store: Store) -> None:
    with store.view() as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        stands = "SELECT count(*) FROM memory m JOIN version v ON v.memory = m.pk AND v.number = m.version"
        same = f"{stands} AND v.token = m.token AND v.text = m.text AND v.path = m.path AND v.name = m.name"
        assert connection.execute(same).get == connection.execute("SELECT count(*) FROM memory").get
        before = connection.execute("SELECT * FROM search_document ORDER BY memory").fetchall()
    with store.change() as inside:
        assert search.check_index(inside)
        writer.reindex(inside)
        assert inside.execute("SELECT * FROM search_document ORDER BY memory").fetchall() == before


def without(memory: Memory) -> tuple[str, bytes, bool]:
    return memory.path, memory.state.content.replace(SECRET.encode(), b"[purged]"), memory.state.live


@pytest.mark.parametrize("seed", range(6))
def test_after_any_history_a_secret_is_gone_and_all_else_as_it_was(store: Store, seed: int):
    history(store, seed)
    before = {memory.id: without(memory) for memory in store.memories(retired=True)}
    numbers = {identity: len(store.versions(identity)) for identity in before}
    for memory in store.memories():
        if SECRET.encode() in memory.state.content:
            put(store, Revise(memory.id, memory.token, memory.state.content.replace(SECRET.encode(), b"[purged]")))
            numbers[memory.id] += 1

    def work(connection: Connection, reach: rows.Reach) -> None:
        redacting.redact(connection, secret_of(SECRET), reach)

    rows.commit(store, "secret", f"purge {seed}", who("person"), "", work)
    assert {memory.id: without(memory) for memory in store.memories(retired=True)} == before
    assert {identity: len(store.versions(identity)) for identity in before} == numbers
    with store.view() as connection:
        assert redacting.left_in(connection, [SECRET.encode(), SECRET.lower().encode()]) == []
    is_sound(store)


@pytest.mark.parametrize("seed", range(6))
def test_after_any_history_memories_go_and_the_others_keep_every_version(store: Store, seed: int):
    history(store, seed + 100)
    found = store.memories(retired=True)
    chance = random.Random(seed)
    gone = [memory for memory in found if chance.random() < 0.4]
    kept = {memory.id: store.versions(memory.id) for memory in found if memory not in gone}
    for memory in gone:
        if memory.state.live:
            put(store, Retire(memory.id, memory.token))

    def work(connection: Connection, reach: rows.Reach) -> None:
        rows.forget_memories(connection, [memory.id for memory in gone], reach)

    rows.commit(store, "memory", f"purge {seed}", who("person"), "", work)
    assert {memory.id for memory in store.memories(retired=True)} == kept.keys()
    assert {identity: store.versions(identity) for identity in kept} == kept
    is_sound(store)

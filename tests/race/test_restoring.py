"""A restore among writers, and one that is killed: no acknowledged write is lost, and nothing is half restored."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

import apsw

from memstore.store.restoring import DRAFT
from memstore.upkeep import backups, restoring
from tests.files.desk import Desk
from tests.race import restorers
from tests.race.crowd import CONTEXT
from tests.store.stores import check_witness, create, put


def operations(path: str) -> set[str]:
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return {str(row[0]) for row in connection.execute("SELECT id FROM operation")}


def test_every_acknowledged_write_is_in_the_store_or_in_the_backup_of_the_state_before(tmp_path: Path):
    desk = Desk(tmp_path)
    put(desk.memories.store, create("log", "begun\n"))
    desk.memories.sync()
    backups.back_up(desk.memories)
    directory, database = desk.memories.store.directory, desk.memories.store.path
    desk.close()
    running = []
    for number in range(3):
        here, there = CONTEXT.Pipe()
        process = CONTEXT.Process(target=restorers.append_until_told, args=(there, directory, number))
        process.start()
        there.close()
        running.append((process, here))
    acknowledged = {here.recv() for _, here in running}  # all of them are at it
    befores = []
    for _ in range(3):
        world = desk.world()
        done = restoring.restore(world, restoring.plan(world, "latest", ""))
        assert done.before is not None
        befores.append(done.before)
    for process, here in running:
        here.send("end")
        while (said := here.recv()) is not None:
            acknowledged.add(said)
        process.join(60)
    kept = operations(database).union(*map(operations, befores))
    assert acknowledged <= kept and len(acknowledged) > 30
    check_witness(Path(directory), tmp_path / "witness")


def test_a_restore_that_is_killed_anywhere_was_done_or_not_and_the_next_one_goes_through(tmp_path: Path):
    desk = Desk(tmp_path)
    put(desk.memories.store, *(create(f"then-{n}", os.urandom(2_000).hex()) for n in range(60)))
    then = backups.back_up(desk.memories).path
    put(desk.memories.store, *(create(f"now-{n}", os.urandom(2_000).hex()) for n in range(60)))
    desk.memories.sync()
    now = backups.back_up(desk.memories).path
    environment = {name: os.environ[name] for name in ("HOME", "MEMSTORE_HOME")}
    world = desk.world()
    planned = restoring.plan(world, now, now)
    begun = time.monotonic()
    restoring.restore(world, planned)
    whole = time.monotonic() - begun
    for number in range(10):
        source = (then, now)[number % 2]
        here, there = CONTEXT.Pipe()
        process = CONTEXT.Process(target=restorers.restore, args=(there, str(tmp_path / "repo"), environment, source))
        process.start()
        assert here.recv() == "begun"
        process.join(whole * (number + 1) / 10)
        process.kill()
        process.join(60)
        living = len(desk.memories.store.memories())
        assert living in (60, 120), living
    restoring.restore(desk.world(), restoring.plan(desk.world(), then, then))
    assert len(desk.memories.store.memories()) == 60
    directory = Path(desk.memories.store.directory)
    assert not [path.name for path in directory.iterdir() if path.name.startswith(DRAFT)]
    desk.close()
    check_witness(directory, tmp_path / "witness")

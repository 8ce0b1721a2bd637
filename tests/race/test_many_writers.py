"""Thirty-two writers at once, and writers that are killed: what was acknowledged is there."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

from tests.race import workers
from tests.race.crowd import CONTEXT, crowd
from tests.store.stores import at, check_witness, create, open_store, put

KILLS = 100


def test_thirty_two_writers_at_once_lose_nothing_and_none_is_left_behind(tmp_path: Path):
    open_store(tmp_path / "store").close()
    told = crowd(32, workers.crowded, tmp_path / "store", 3.0)
    acknowledged = [operation for done, _ in told for operation in done]
    store = open_store(tmp_path / "store")
    known = {operation.id for operation, _ in store.operations()}
    store.close()
    assert known >= set(acknowledged) and len(set(acknowledged)) == len(acknowledged)
    assert min(len(done) for done, _ in told) >= max(len(done) for done, _ in told) / 5
    assert max(slowest for _, slowest in told) < 2.5
    check_witness(tmp_path / "store", tmp_path / "copy")


def test_no_acknowledged_write_is_lost_when_writers_are_killed(tmp_path: Path):
    """Three writers; each is killed and started again, and then repeats the call that was cut off."""
    store = open_store(tmp_path / "store")
    put(store, create("log"))
    store.close()
    chance = random.Random(7)
    acknowledged: list[str] = []
    cut_off: dict[int, str | None] = dict.fromkeys(range(3))
    counts = dict.fromkeys(range(3), 0)
    kills = 0
    running = {}

    def start(number: int) -> None:
        here, there = CONTEXT.Pipe(duplex=False)
        arguments = (there, tmp_path / "store", number, counts[number], cut_off[number])
        process = CONTEXT.Process(target=workers.until_killed, args=arguments)
        process.start()
        there.close()
        running[number] = process, here

    def drain(number: int, wanted: int) -> None:
        """Reads what the writer tells, at least `wanted` acknowledgements or until its end."""
        here = running[number][1]
        while wanted > 0 or here.poll():
            try:
                said = here.recv()
            except EOFError:
                return
            if said.startswith("? "):
                cut_off[number] = said[2:]
                counts[number] = int(said.split("-")[1]) + 1
            else:
                acknowledged.append(said)
                cut_off[number] = None
                wanted -= 1

    for number in running or range(3):
        start(number)
    while kills < KILLS:
        number = chance.randrange(3)
        drain(number, chance.randrange(1, 6))
        pid = running[number][0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        running[number][0].join()
        drain(number, 1 << 30)
        kills += 1
        start(number)
    for number, (process, _) in list(running.items()):
        process.kill()
        process.join()
        drain(number, 1 << 30)

    store = open_store(tmp_path / "store")
    written = at(store, "log").state.content.decode().split("\n")[:-1]
    versions = len(store.versions("log"))
    store.close()
    unacknowledged = {call for call in cut_off.values() if call is not None}
    assert len(written) == len(set(written)) == versions - 1
    assert set(acknowledged) <= set(written) <= set(acknowledged) | unacknowledged
    assert len(acknowledged) > KILLS
    check_witness(tmp_path / "store", tmp_path / "copy")

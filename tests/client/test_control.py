"""What is lost without the plugin: the same script as in test_collision.py. It is counted, and it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.collision import ROUNDS, collide, missing
from tests.client.places import memory_folder
from tests.client.running import Client


def test_without_the_plugin_what_colliding_sessions_lose_is_counted(
    bare: Client, checkouts: list[Path], capsys: pytest.CaptureFixture[str]
):
    folder = memory_folder(bare, checkouts[0])
    people, _ = collide(bare, checkouts, folder)
    lost = missing(folder, people)
    told = sum(len(person.told) for person in people)
    indexed = sum(len(person.indexed) for person in people)
    refused = sum(len(person.refused) for person in people)
    with capsys.disabled():
        print(
            f"\nwithout the plugin: {len(lost.facts)} of {told} facts, {len(lost.pointers)} of {indexed} lines of the"
            f" index, {len(lost.counts)} of {len(people)} counters lost; {refused} calls refused"
        )
    assert told == ROUNDS * len(people)

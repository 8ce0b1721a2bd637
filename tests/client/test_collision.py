"""Sessions in three checkouts write, edit and index memories at the same moments: nothing acknowledged is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.client.collision import ROUNDS, body_of, collide, count, fact, missing, pointer
from tests.client.places import ask, memory_folder, memstore, with_plugin
from tests.client.running import Client


def test_what_colliding_sessions_were_told_is_kept_is_kept(
    bare: Client, checkouts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    main = checkouts[0]
    client = with_plugin(bare, tmp_path / "plugin", main)
    folder = memory_folder(client, main)
    people, sessions = collide(client, checkouts, folder)
    memstore(main, "sync")

    lost = missing(folder, people)
    refused = sum(len(person.refused) for person in people)
    with capsys.disabled():
        print(f"\nwith the plugin: {lost}; {refused} calls refused", file=sys.stderr)
    assert lost.nothing, lost
    for person in people:
        assert person.told == person.indexed == set(range(1, ROUNDS + 1))
        assert person.counted == ROUNDS

    shown = {name: memstore(main, "show", name) for name in names(folder)}
    for person in people:
        for number in person.told:
            assert body_of(person.who, number) in shown[fact(person.who, number)]
        assert count(person.who, ROUNDS) in shown["shared"]
    assert ask(main, "conflicts")["conflicts"] == []

    for person, checkout, ran in zip(people, checkouts, sessions, strict=True):
        for number in person.told:
            made = ask(main, "log", f"{fact(person.who, number)}.md")["operations"][-1]
            assert (made["session"], made["worktree"]) == (ran[(number - 1) // (ROUNDS // len(ran))], str(checkout))

    lines = (folder / "MEMORY.md").read_text(encoding="utf-8").split("\n")
    for name in names(folder):
        assert sum(f"]({name}.md)" in line for line in lines) == 1, name
    wanted = {pointer(person.who, number) for person in people for number in person.indexed}
    assert wanted <= set(lines)
    assert memstore(main, "verify") if "verify" in memstore(main, "--help") else True


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.md") if path.name != "MEMORY.md")

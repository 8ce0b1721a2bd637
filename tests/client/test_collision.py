"""Sessions in three checkouts write, edit and index memories at the same moments: nothing acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.collision import EACH, ROUNDS, body_of, collide, count, fact, holds, missing, pointer
from tests.client.places import ask, makers, memory_folder, memstore, settle, with_plugin
from tests.client.running import Client


def test_what_colliding_sessions_were_told_is_kept_is_kept(
    bare: Client, checkouts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    main = checkouts[0]
    client = with_plugin(bare, tmp_path / "plugin", main)
    folder = memory_folder(client, main)
    people, sessions = collide(client, checkouts, folder)
    settle(main)

    lost = missing(folder, people)
    refused = sum(len(person.refused) for person in people)
    with capsys.disabled():
        print(f"\nwith the plugin: nothing lost; {refused} calls refused" if lost.nothing else f"\nlost: {lost}")
    assert lost.nothing, lost
    for person in people:
        assert person.told == person.indexed == set(range(1, ROUNDS + 1))
        assert person.counted == ROUNDS

    memstore(main, "export", tmp_path / "export")
    for person in people:
        for number in person.told:
            assert holds(tmp_path / "export" / f"{fact(person.who, number)}.md", body_of(person.who, number))
        assert holds(tmp_path / "export" / "shared.md", count(person.who, ROUNDS))
    assert ask(main, "conflicts")["conflicts"] == []

    made = makers(main)
    for person, checkout, ran in zip(people, checkouts, sessions, strict=True):
        for number in person.told:
            by = made[f"{fact(person.who, number)}.md"]
            assert (by["session"], by["worktree"]) == (ran[(number - 1) // EACH], str(checkout))

    lines = (folder / "MEMORY.md").read_text(encoding="utf-8").split("\n")
    for name in names(folder):
        assert sum(f"]({name}.md)" in line for line in lines) == 1, name
    wanted = {pointer(person.who, number) for person in people for number in person.indexed}
    assert wanted <= set(lines)


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.md") if path.name != "MEMORY.md")

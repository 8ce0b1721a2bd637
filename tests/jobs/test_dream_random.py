"""Models that do anything at all: whatever they try, no line goes without a word, and undo restores every byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memstore.core.accounting import key, keys_of, lines_of
from memstore.core.frontmatter import read
from memstore.jobs.vouching import is_personal
from memstore.store import steps
from tests.jobs.night import Night, deletes, dropped, edits, reads, reworded, writes
from tests.messages_api import Say, Use
from tests.store.stores import writer_of

LINES = tuple(f"fact {number} holds" for number in range(6))
NEW = ("fact 1 holds still", "never fact 2 holds", "always fetch code", "fact 3", "")
NAMES = ("a", "b", "c", "d", "p", "q")
KINDS = {"p": "feedback", "q": "feedback"}


def begun(night: Night, random: Random) -> None:
    for name in NAMES:
        origin = random.choice(("agent", "agent", "tool", "person"))
        night.keep(name, *random.sample(LINES, 2), type=KINDS.get(name, "project"), origin=origin)


def accounts(random: Random, there: Sequence[str]) -> list[dict[str, str]]:
    """What becomes of any line, true or not."""
    lines = [*LINES, *(f"about {name}" for name in NAMES)]
    return [dropped(line) if random.random() < 0.4 else reworded(line, random.choice(there)) for line in lines]


def calls(random: Random) -> tuple[Use, ...]:
    """Something that a model may try."""
    name, other = random.choice((*NAMES, "new", "new-2")), random.choice(NAMES)
    kind = KINDS.get(name, random.choice(("project", "project", "feedback")))
    body = random.sample([line for line in LINES + NEW if line], random.randrange(1, 9))
    sources = [f"{each}.md" for each in random.sample(NAMES, random.randrange(4))]
    more: dict[str, Any] = {"lines": accounts(random, body)} if random.random() < 0.8 else {}
    old, new = random.choice(LINES), random.choice(LINES + NEW)
    match random.randrange(8):
        case 0 | 1 | 2:
            sources = [f"{other}.md", *sources]
            whole = writes(name, *body, type=kind, sources=sources, **more)
            return whole, deletes(other, into=f"{name}.md", **more), *reads(name)
        case 3 | 4:
            return (writes(name, *body, type=kind, sources=sources, **more), *reads(name))
        case 5:
            return (edits(name, f"{old}\n", f"{new}\n" if new else "", sources=sources, **more), *reads(name))
        case 6:
            return (deletes(other, into=f"{name}.md", **more),)
        case _:
            return (deletes(name),)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_model_does_each_line_is_there_or_accounted_for(tmp_path: Path, seed: int):
    random, night = Random(seed), Night(tmp_path)
    night.settings["dream.share"] = "100"
    begun(night, random)
    before, index = night.files(), night.index()
    answers = [reads(*NAMES), *(calls(random) for _ in range(14)), Say("Done.")]
    end = night.dream(*answers).end
    assert end.outcome in ("saved", "nothing"), end.reason
    after = night.files()
    run = night.runs()[-1].id
    with night.store.view() as connection:
        done = {each.step.path: each.step for each in steps.of_run(connection, run)}
    there = set[str]().union(*map(keys_of, after.values()))
    mine = set[str]().union(*(keys_of(text) for text in before.values() if is_personal(read(text))))
    for path, text in before.items():
        step = done.get(path)
        if step is None:
            assert after[path] == text
        elif step.action != "delete":
            told = {key(each.line) for each in step.lines}
            assert all(key(line) in there | told for line in lines_of(text)), path
        if is_personal(read(text)) and path in after:
            assert is_personal(read(after[path]))
    for path, text in after.items():
        if is_personal(read(text)):
            words = {key(each.now) for step in done.values() for each in step.lines}
            assert keys_of(text) <= mine | words | {f"about {path[:-3]}"}, path
            assert "always fetch code" not in text.decode() and "never fact 2" not in text.decode()
    if end.outcome == "saved":
        writer_of(night.store).undo(night.store.operations()[0][0])
    assert night.files() == before and night.index() == index
    night.close()

"""Every interleaving of a few actors over one memory, against the real rules: no line that anybody typed is lost.

After each end of a history the folders are synced until they rest. Then each line that was typed stands in the head,
or in a conflict's other side or a text set aside; nobody's deletion takes out what its author had not seen. What the
README states as limits is counted by itself:

- a save that lands inside the client's own window (its look to its rename; until its hook, if the session dies), or
  inside another editor's (its open to its save), reaches nobody;
- an old buffer that is saved over newer saves cannot be told from an undo: the newer lines are in the history only.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

from scripts.proofs import memory_actors as actors
from scripts.proofs import memory_state as m
from scripts.proofs.explored import CAUGHT, ENDS, SETS, STATES, Explored, explore_all
from scripts.proofs.memory_sync import settle
from scripts.proofs.outcome import Outcome, Size
from scripts.proofs.search import search

NAME = "histories"
FLOOR = {SETS: 910, STATES: 85_000, ENDS: 7_400, CAUGHT: 5}
FULL = {SETS: 5_665, STATES: 4_890_000, ENDS: 272_000, CAUGHT: 5}

STEPS = 10
"""How many steps the sets of five actors may have in all."""

LARGE = ("TPAESK", "TPESRK", "TAESRK", "TPAQSX")
"""Sets beyond that, for the full run."""

FAULTS = {
    "shown as the only base": "TAS",
    "rename instead of exchange": "TPS",
    "scan before the inbox": "APS",
    "no turn": "TCPSR",
    "key by name alone": "TYZ",
}
"""A fault, and the actors who meet it."""

LIMITS = {
    "client": "ends with a save lost inside a client's window",
    "editor": "ends with a save lost inside another editor's window",
    "old": "ends with an old buffer over newer saves",
}
ODD = {"back": "ends where a deletion came back", "twice": "ends where a line stands twice"}


def run(size: Size, seed: int) -> Outcome:
    """All sets of up to three actors; or of up to four, and of five with few steps. Nothing is left to chance."""
    chosen = _sets(3) if size == "floor" else itertools.chain(_sets(5), LARGE)
    return explore_all(explore, chosen, FAULTS, (*LIMITS.values(), *ODD.values()))


def _sets(most: int) -> Iterator[str]:
    """The sets in which every actor can do something."""
    for count in range(1, most + 1):
        for chosen in map("".join, itertools.combinations(actors.ACTORS, count)):
            sessions = sum(letter in actors.WRITERS + actors.EDITORS for letter in chosen)
            if ("K" in chosen and not sessions) or ("X" in chosen and not set(chosen) & set(actors.KILLABLE)):
                continue
            steps = sum(actors.STEPS[letter] for letter in chosen) + max(0, sessions - 1) * ("K" in chosen)
            if count < 5 or steps <= STEPS:
                yield chosen


def explore(chosen: str, fault: str = "") -> Explored:
    """All histories of one set of actors."""
    first = m.start(chosen, 2 if set(chosen) & set(actors.SECOND) else 1)
    found = search(first, lambda memory: actors.moves(memory, fault))
    counted: Counter[str] = Counter()
    losses: dict[str, str] = {}
    for at in found.ends:
        memory = found.states[at]
        end, rests = settle(memory, fault)
        for odd in _oddities(end):
            counted[odd] += 1
        lost = [*_lost(end, counted), *_stuck(memory, rests)]
        for what in lost:
            losses.setdefault(what, " > ".join(found.way_to(at)))
    return Explored(len(found.states), len(found.ends), found.histories, counted, losses)


def _stuck(memory: m.Memory, rests: bool) -> Iterator[str]:
    for letter, at in memory.at:
        if at != actors.DONE and letter not in "KX":
            yield f"{letter} waits for ever"
    if not rests:
        yield "no rest"


def _lost(end: m.Memory, counted: Counter[str]) -> Iterator[str]:
    """What was lost at the end of a history; what a limit has lost is counted."""
    lines = set(_lines((end.head, *end.sides)))
    history = set(_lines(end.known))
    swallowed = dict(sorted(end.swallowed, reverse=True))
    limits = set()
    for letter in sorted(end.typed):
        line = actors.line(letter)
        if line in lines:
            continue
        if line in history and (letter in end.outdated or letter in swallowed):
            limits.add("old")
        elif line not in history and letter in swallowed:
            limits.add(swallowed[letter])
        else:
            yield f"{line!r} is {'in the history only' if line in history else 'gone'}"
    counted.update(LIMITS[limit] for limit in limits)
    for line in m.LINES:
        if line not in lines and not any(letter in end.typed for letter in actors.TAKES_OUT.get(line, "")):
            yield f"{line!r} is gone, and nobody took it out"


def _oddities(end: m.Memory) -> Iterator[str]:
    """What costs a person a look, but no line: in the head, with no conflict to be asked about."""
    lines = m.lines_of(end.head)
    if "P" in end.typed and "delta" in lines and not (end.sides or end.swallowed or end.typed & set("QI")):
        yield ODD["back"]
    if len(set(lines)) < len(lines):
        yield ODD["twice"]


def _lines(texts: Iterable[bytes]) -> Iterator[str]:
    for text in texts:
        yield from m.lines_of(text)

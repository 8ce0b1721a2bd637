"""Every interleaving of a few actors over MEMORY.md, against the real rules: no line that anybody added is lost.

An actor is a letter; so is the line that it adds.

T, U  a tool makes a topic; adds a line                       S, R  a sync: absorb, topics, index, look
A, C  an agent writes the whole file from what it had loaded  K     the worker: one inbox row at a time
N     an agent reads, writes it whole, takes beta out         X     a crash of one sync
E     an agent edits: inserts a line                          D     somebody tidies up: takes a pointer out
P     a person saves: takes delta out, adds a line                  whose file is not there
Q     a person opens it and saves later

After each end the folder is synced until it rests; then every line that was added is there, and everything that nobody
took out. Counted by themselves are the limits that `histories` names; an old buffer is one for lines that a
projection had brought, too.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from memstore.core.inbox import Row
from scripts.proofs import index_state as m
from scripts.proofs.explored import CAUGHT, ENDS, SETS, STATES, Explored, explore_all
from scripts.proofs.index_state import Index, Post
from scripts.proofs.outcome import Outcome, Size
from scripts.proofs.search import search

NAME = "index-histories"
FLOOR = {SETS: 290, STATES: 12_000, ENDS: 1_900, CAUGHT: 4}
FULL = {SETS: 1_042, STATES: 250_000, ENDS: 33_000, CAUGHT: 4}

ACTORS = "TUACNEPQDSRKX"
STEPS = dict.fromkeys("TUPDKX", 1) | {"Q": 2} | dict.fromkeys("AC", 3) | dict.fromkeys("NESR", 4)
MOST = 10
"""How many steps the sets of five actors may have in all."""

FAULTS = {
    "index before topics": "TDS",
    "shown as the only base": "TAS",
    "rename instead of exchange": "TPS",
    "scan before the inbox": "APS",
}
WINDOW = "ends with a save lost inside a client's or another editor's window"
OLD = "ends with an old buffer over newer lines"
TWICE = "ends where a line stands twice"
TAKES_OUT = {"beta": "N", "delta": "P"}
DONE = "done"
Moves = Iterator[tuple[str, Index]]


def run(size: Size, seed: int) -> Outcome:
    """All sets of up to three actors; or of up to four, and of five with few steps. Nothing is left to chance."""
    return explore_all(explore, _sets(3 if size == "floor" else 5), FAULTS, (WINDOW, OLD, TWICE))


def _sets(most: int) -> Iterator[str]:
    """The sets in which every actor can do something."""
    for count in range(1, most + 1):
        for chosen in map("".join, itertools.combinations(ACTORS, count)):
            sessions = sum(letter in "ACNE" for letter in chosen)
            if ("K" in chosen and not sessions) or ("X" in chosen and not set(chosen) & set("SR")):
                continue
            steps = sum(STEPS[letter] for letter in chosen) + max(0, sessions - 1) * ("K" in chosen)
            if count < 5 or steps <= MOST:
                yield chosen


def explore(chosen: str, fault: str = "") -> Explored:
    """All histories of one set of actors."""
    found = search(m.start(chosen), lambda index: moves(index, fault))
    counted: Counter[str] = Counter()
    losses: dict[str, str] = {}
    for at in found.ends:
        index = found.states[at]
        end, rests = m.settle(index, fault)
        lost = [*_lost(end, counted), *([] if rests else ["no rest"])]
        lost += [f"{letter} waits for ever" for letter, now in index.at if now != DONE and letter not in "KX"]
        for what in lost:
            losses.setdefault(what, " > ".join(found.way_to(at)))
    return Explored(len(found.states), len(found.ends), found.histories, counted, losses)


def _lost(end: Index, counted: Counter[str]) -> Iterator[str]:
    lines = "\n".join((end.file, *end.sides))
    limits = set()
    for letter in sorted(end.typed):
        if line(letter) not in lines:
            if letter in end.swallowed:
                limits.add(WINDOW)
            elif letter in end.outdated:
                limits.add(OLD)
            else:
                yield f"{line(letter)!r} is gone"
    counted.update(limits)
    for name in (*m.TOPICS, "epsilon"):
        if name not in lines and not any(letter in end.typed for letter in TAKES_OUT.get(name, "")):
            yield f"{name!r} is gone, and nobody took it out"
    bodies = [each for each in end.file.split("\n") if each]
    if len(set(bodies)) < len(bodies):
        counted[TWICE] += 1


# --- who acts


def line(letter: str) -> str:
    """What an actor adds."""
    return f"line of {m.NEW}" if letter == "T" else f"line of {letter}"


def letters_in(text: str) -> frozenset[str]:
    """The actors whose line stands in a text."""
    return frozenset(letter for letter in ACTORS if line(letter) in text)


def typed_into(text: str, letter: str) -> str:
    """The index that an actor makes of the one it has before it."""
    lines = text.removesuffix("\n").split("\n")
    match letter:
        case "A":
            lines.append(f"- [A](a.md) — {line('A')}")
        case "C":
            lines.insert(1, line("C"))
        case "N":
            lines = [each for each in lines if "beta" not in each] + [line("N")]
        case "E":
            at = next((at for at, each in enumerate(lines) if "alpha" in each), 0)
            lines.insert(at + 1, f"- [E](e.md) — {line('E')}")
        case "P":
            lines = [each for each in lines if "delta" not in each] + [line("P")]
        case _:
            lines.append(line(letter))
    return "\n".join([*lines, ""])


def moves(index: Index, fault: str) -> Moves:
    """Every step that anybody can take now, by its label."""
    for letter, at in index.at:
        if at == DONE:
            continue
        if letter in "ACNE":
            yield from _session(index, letter, at)
        elif letter in "SR":
            yield from _sync(index, letter, at, fault)
        elif letter == "K":
            if index.posts and not index.busy:
                yield "K:row", m.take_one(index, fault)
        elif letter == "X":
            yield from _crash(index)
        elif letter == "Q" and at == 0:
            yield "Q:open", _now_at(index, letter, ("opened", index.file))
        else:
            yield f"{letter}:save" if letter == "Q" else letter, _once(_now_at(index, letter, DONE), letter, at)


def _now_at(index: Index, letter: str, at: object) -> Index:
    return index._replace(at=tuple((other, at if other == letter else was) for other, was in index.at))


def _once(index: Index, letter: str, at: object) -> Index:
    if letter == "T":
        return m.make_topic(index)._replace(typed=index.typed | {letter})
    if letter == "U":
        return m.add_row(index, line("U"))._replace(typed=index.typed | {letter})
    if letter == "D":
        there = index.file.split("\n")
        kept = [each for each in there if f"({m.NEW}.md)" not in each or m.NEW in index.files]
        return index._replace(file="\n".join(kept))
    had = at[1] if isinstance(at, tuple) else index.file
    blind = letters_in(had)
    index = index._replace(swallowed=index.swallowed | (letters_in(index.file) - blind - frozenset("TU")))
    if letter == "Q":
        index = index._replace(outdated=index.outdated | (index.typed - blind))
    return _save(index, letter, typed_into(had, letter))


def _save(index: Index, letter: str, text: str) -> Index:
    return index._replace(file=text, typed=index.typed | {letter})


def _session(index: Index, letter: str, at: object) -> Moves:
    """(read,) intent, (look,) write, hook."""
    if letter == "N" and at == 0:
        yield "N:read", _now_at(index, letter, ("seen", index.file))
    elif at == 0 or (isinstance(at, tuple) and at[0] == "seen"):
        seen = at[1] if isinstance(at, tuple) else m.VIEW
        busy = index._replace(busy=index.busy | {letter})
        yield f"{letter}:intent", _now_at(busy, letter, ("intent", seen))
    elif isinstance(at, tuple) and at[0] == "intent" and letter == "E":
        yield "E:look", _now_at(index, letter, ("looked", index.file))
    elif isinstance(at, tuple) and at[0] in ("intent", "looked"):
        looked = at[0] == "looked"
        original, seen = (at[1], None) if looked else (index.file, at[1])
        result = typed_into(at[1], letter)
        if looked:
            unseen = letters_in(index.file) - letters_in(original) - frozenset("TU")
            index = index._replace(swallowed=index.swallowed | unseen)
        post = Post(Row(letter, "edit" if looked else "write", letter, original.encode(), result.encode()), seen)
        saved = _now_at(_save(index, letter, result), letter, ("hook", post))
        yield f"{letter}:{'rename' if looked else 'write'}", saved
    elif isinstance(at, tuple):
        done = index._replace(busy=index.busy - {letter}, posts=(*index.posts, at[1]))
        yield f"{letter}:hook", _now_at(done, letter, DONE)


def _sync(index: Index, letter: str, at: object, fault: str) -> Moves:
    """Absorb, put topics, put the index, look."""
    if at == 0:
        turn = any(now not in (0, DONE) for other, now in index.at if other in "SR" and other != letter)
        if turn or (index.busy and fault != "scan before the inbox"):
            return
        index = m.absorb(index, fault)
        plan = ["topics"] * (not index.live <= index.files)
        text, ids = m.rendered(index.rows)
        plan += ["index"] * (text != index.file)
        if fault == "index before topics":
            plan.reverse()
        put = ((text, ids), index.file, index.live)
        yield f"{letter}:absorb", _now_at(index, letter, (*plan, put) if plan else DONE)
    elif at == "look":
        if not index.busy:
            yield f"{letter}:look", _now_at(m.look(index, letter, fault), letter, DONE)
    elif isinstance(at, tuple):
        step, *left, put = at
        rendering, expected, live = put
        if step == "topics":
            index = index._replace(files=index.files | live)
        else:
            index = m.exchange(index, letter, rendering, expected, fault)
        news = any(kept.owner == letter for kept in index.kept)
        then: object = (*left, put) if left else "look" if news else DONE
        yield f"{letter}:{step}", _now_at(index, letter, then)


def _crash(index: Index) -> Moves:
    """A sync dies; what came out for it waits for the next one."""
    for letter, at in index.at:
        if letter in "SR" and at not in (0, DONE):
            kept = tuple(each._replace(owner="" if each.owner == letter else each.owner) for each in index.kept)
            yield f"X:{letter}", _now_at(_now_at(index._replace(kept=kept), letter, DONE), "X", DONE)

"""Who acts on the memory of `memory_state`, step by step. An actor is a letter; so is the line that it types.

T, U  a tool writes: appends; changes a line                   S, R  a sync: absorb, exchange, look
A, C  an agent writes the whole file from what it had loaded   K     the worker: one inbox row at a time
W     an agent writes the whole file, and has seen nothing     X     a crash: of one sync or one session
N     an agent reads, then writes the whole file               B     as A, in a second folder
E, G  an agent edits: inserts a line; changes one              Y     as P, in the second folder
P     a person saves: takes one line out, appends one          Z     a sync of the second folder
Q, I  a person opens and saves later: by rename; in place
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from memstore.core.inbox import Row
from scripts.proofs import memory_state as m
from scripts.proofs import memory_sync as sync
from scripts.proofs.memory_inbox import take_one
from scripts.proofs.memory_state import Intent, Memory, Post

ACTORS = "TUACWNEGPQIBYSRZKX"
SECOND = "BYZ"
SYNCS = "SRZ"
WRITERS = "ACWNB"
EDITORS = "EG"
KILLABLE = SYNCS + WRITERS + EDITORS
STEPS = dict.fromkeys("TUPYKX", 1) | dict.fromkeys("QI", 2) | dict.fromkeys("SRZACWB", 3) | dict.fromkeys("NEG", 4)

TAKES_OUT = {"gamma": "GU", "delta": "P"}
"""Who takes out a line that was there from the beginning."""

DONE = "done"
VIEW = m.text(*m.LINES)
Moves = Iterator[tuple[str, Memory]]


def line(letter: str) -> str:
    """What an actor types."""
    return f"line of {letter}"


@lru_cache(maxsize=1 << 16)
def typed_into(content: bytes, letter: str) -> bytes | None:
    """The text that an actor makes of the one it has before it; None where it does not find its place."""
    lines = m.lines_of(content)
    match letter:
        case "W":
            lines = ["alpha", line("W")]
        case "C" | "N" | "B":
            lines.insert(1, line(letter))
        case "E" | "Q":
            if "beta" not in lines:
                return None
            lines.insert(lines.index("beta") + 1, line(letter))
        case "G" | "U":
            if "gamma" not in lines:
                return None
            lines[lines.index("gamma")] = line(letter)
        case "P":
            lines = [each for each in lines if each != "delta"] + [line("P")]
        case "I":
            lines.insert(0, line("I"))
        case _:
            lines.append(line(letter))
    return m.text(*lines)


def moves(memory: Memory, fault: str) -> Moves:
    """Every step that anybody can take now, by its label."""
    for letter, at in memory.at:
        if at == DONE:
            continue
        if letter in WRITERS:
            yield from _write(memory, letter, at)
        elif letter in EDITORS:
            yield from _edit(memory, letter, at)
        elif letter in SYNCS:
            yield from _sync(memory, letter, at, fault)
        elif letter in "QI":
            yield from _open_and_save(memory, letter, at)
        elif letter == "K":
            for place in sorted({post.place for post in memory.posts}):
                if not sync.waits(memory, place):
                    yield "K:row", take_one(memory, place, fault)
        elif letter == "X":
            yield from _crash(memory)
        elif letter in "TU":
            yield letter, _tool(memory, letter)
        else:
            yield letter, _save(memory, letter, memory.places[_place(letter)].file)


def _place(letter: str) -> int:
    return 1 if letter in SECOND else 0


def _now_at(memory: Memory, letter: str, at: object) -> Memory:
    return memory._replace(at=tuple((other, at if other == letter else was) for other, was in memory.at))


def _tool(memory: Memory, letter: str) -> Memory:
    memory = _now_at(memory, letter, DONE)
    content = typed_into(memory.head, letter)
    if content is None:
        return memory
    return memory._replace(head=content, known=memory.known | {content}, typed=memory.typed | {letter})


def _put_file(memory: Memory, letter: str, content: bytes) -> Memory:
    """A save by rename: whoever has the old file open writes into nothing."""
    memory = memory.place(_place(letter), file=content, written=False)
    return memory._replace(typed=memory.typed | {letter})


def _overwritten(memory: Memory, letter: str, had: bytes) -> Memory:
    """What a save takes away that its author never saw, and that no projection had brought."""
    place = memory.places[_place(letter)]
    blind = m.letters(had) | place.projected
    how = "client" if letter in EDITORS else "editor"
    memory = _swallow(memory, m.letters(place.file) - blind, how)
    if letter not in "QI":
        return memory
    return memory._replace(outdated=memory.outdated | (memory.typed - frozenset("TU") - blind))


def _swallow(memory: Memory, letters: frozenset[str], how: str) -> Memory:
    return memory._replace(swallowed=memory.swallowed | {(letter, how) for letter in letters})


def _save(memory: Memory, letter: str, had: bytes) -> Memory:
    content = typed_into(had, letter)
    memory = _now_at(memory, letter, DONE)
    return memory if content is None else _put_file(_overwritten(memory, letter, had), letter, content)


def _open_and_save(memory: Memory, letter: str, at: object) -> Moves:
    if at == 0:
        opened = _now_at(memory, letter, memory.places[0].file)
        yield f"{letter}:open", opened.place(0, written=True) if letter == "I" else opened
        return
    assert isinstance(at, bytes)
    if letter == "Q":
        yield "Q:save", _save(memory, letter, at)
    else:
        yield "I:save", _save_in_place(memory, at)


def _save_in_place(memory: Memory, had: bytes) -> Memory:
    """Into the file that was opened, wherever that is by now."""
    content = typed_into(had, "I")
    assert content is not None
    memory = _now_at(memory, "I", DONE)._replace(typed=memory.typed | {"I"})
    place = memory.places[0]
    if place.written:
        return _overwritten(memory, "I", had).place(0, file=content, written=False)
    if not any(kept.written for kept in place.kept):
        return _swallow(memory, frozenset("I"), "editor")
    kept = tuple(each._replace(out=content, written=False) if each.written else each for each in place.kept)
    return memory.place(0, kept=kept)


def _write(memory: Memory, letter: str, at: object) -> Moves:
    """(read,) intent, write, hook."""
    place = _place(letter)
    found = memory.places[place].file
    if at == 0 and letter == "N":
        yield "N:read", _now_at(memory, letter, found)
    elif at == 0 or isinstance(at, bytes):
        seen = at if isinstance(at, bytes) else None if letter == "W" else VIEW
        result = typed_into(seen or VIEW, letter)
        assert result is not None
        post = Post(place, Row(letter, "write", letter, found, result), seen)
        intent = Intent(letter, place, found, result, post)
        yield f"{letter}:intent", _now_at(memory, letter, post)._replace(intents=(*memory.intents, intent))
    elif isinstance(at, Post):
        posted = at._replace(row=replace(at.row, original=found))
        yield f"{letter}:write", _put_file(_now_at(memory, letter, ("hook", posted)), letter, at.row.result)
    elif isinstance(at, tuple):
        yield f"{letter}:hook", _hook(memory, letter, at[1])


def _edit(memory: Memory, letter: str, at: object) -> Moves:
    """Intent, look, rename, hook."""
    found = memory.places[0].file
    if at == 0:
        result = typed_into(found, letter)
        post = Post(0, Row(letter, "edit", letter, found, result or found), None)
        intent = Intent(letter, 0, found, result, post)
        yield f"{letter}:intent", _now_at(memory, letter, 1)._replace(intents=(*memory.intents, intent))
    elif at == 1:
        result = typed_into(found, letter)
        post = Post(0, Row(letter, "edit", letter, found, result or found), None)
        yield f"{letter}:look", _now_at(memory, letter, ("hook", None) if result is None else post)
    elif isinstance(at, Post):
        assert at.row.original is not None
        memory = _put_file(_overwritten(memory, letter, at.row.original), letter, at.row.result)
        yield f"{letter}:rename", _now_at(memory, letter, ("hook", at))
    elif isinstance(at, tuple):
        yield f"{letter}:hook", _hook(memory, letter, at[1])


def _hook(memory: Memory, letter: str, post: Post | None) -> Memory:
    intents = tuple(intent for intent in memory.intents if intent.session != letter)
    posts = memory.posts if post is None else (*memory.posts, post)
    return _now_at(memory, letter, DONE)._replace(intents=intents, posts=posts)


def _sync(memory: Memory, letter: str, at: object, fault: str) -> Moves:
    """Absorb, exchange, look."""
    place = _place(letter)
    if at == 0:
        turn = any(other != letter and now not in (0, DONE) for other, now in memory.at if other in SYNCS
                   and _place(other) == place)  # fmt: skip
        if (turn and fault != "no turn") or (sync.waits(memory, place) and fault != "scan before the inbox"):
            return
        if any(kept.written and not kept.owner for kept in memory.places[place].kept):
            return
        memory = sync.absorb(memory, place, fault)
        put = sync.put_of(memory, place)
        plan = DONE if put is None else (put, memory.places[place].file)
        yield f"{letter}:absorb", _now_at(memory, letter, plan)
    elif isinstance(at, tuple):
        put, expected = at
        memory = sync.exchange(memory, place, letter, put, expected, fault)
        news = any(kept.owner == letter for kept in memory.places[place].kept)
        yield f"{letter}:exchange", _now_at(memory, letter, "look" if news else DONE)
    elif not sync.waits(memory, place) and not any(
        kept.owner == letter and kept.written for kept in memory.places[place].kept
    ):
        yield f"{letter}:look", _now_at(sync.look(memory, place, letter, fault), letter, DONE)


def _crash(memory: Memory) -> Moves:
    """One process dies: before it begins its projection, in the middle, before it looks; or a session."""
    for letter, at in memory.at:
        if letter not in KILLABLE or at in (0, DONE):
            continue
        dead = _now_at(_now_at(memory, letter, DONE), "X", DONE)
        place = _place(letter)
        if letter not in SYNCS:
            dead = _unheard(dead, letter, at)
        yield f"X:{letter}", _bury(dead, letter)
        if letter in SYNCS and isinstance(at, tuple):
            yield f"X:{letter} in its exchange", _bury(sync.journal(dead, place, letter, at[0]), letter)


def _unheard(memory: Memory, letter: str, at: object) -> Memory:
    """What a session overwrote and can tell nobody any more."""
    intent = next((intent for intent in memory.intents if intent.session == letter), None)
    post = at[1] if isinstance(at, tuple) and not isinstance(at, Post) else None
    if intent is None or post is None:
        return memory
    return _swallow(memory, m.letters(post.row.original) - m.letters(intent.found), "client")


def _bury(memory: Memory, letter: str) -> Memory:
    """Its intent is heard of no more, and what came out for it waits for the next sync."""
    place = _place(letter)
    kept = tuple(each._replace(owner="" if each.owner == letter else each.owner) for each in memory.places[place].kept)
    intents = tuple(each._replace(dead=each.dead or each.session == letter) for each in memory.intents)
    return memory.place(place, kept=kept)._replace(intents=intents)

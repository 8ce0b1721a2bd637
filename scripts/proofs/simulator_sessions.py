"""Agents whose hooks tell what they do: each session holds what it last loaded, read or wrote, as the client does."""

from __future__ import annotations

from random import Random

from memstore.core.index_lines import loaded_view
from memstore.core.model import INDEX_NAME
from memstore.store.inbox import Arrival, Kind, State
from scripts.proofs.simulator_actors import CLIENT, replace_file, some_file
from scripts.proofs.simulator_ledger import marks_of
from scripts.proofs.simulator_process import FOLDER
from scripts.proofs.simulator_texts import changed, line
from scripts.proofs.simulator_world import Actor, Simulation

_DIES = 0.05
_SLOW = 0.05


class Call:
    """One call of a session's tool, with what its hooks post before and after it."""

    def __init__(self, sim: Simulation, session: str, kind: Kind, name: str) -> None:
        self._sim = sim
        self._session = session
        self._kind = kind
        self._name = name
        self._id = sim.ledger.new("call-")

    def post(
        self, state: State, *, found: bytes | None = None, original: bytes | None = None, result: bytes | None = None
    ) -> None:
        """One row."""
        now = self._sim.now // 1_000
        self._sim.tool.store.receive(
            [Arrival(self._id, self._kind, state, FOLDER, self._name, now, self._session, None, None, None, found,
                     original, result)]
        )  # fmt: skip


def _seen(sim: Simulation, who: str, name: str) -> bytes | None:
    """The session loads or reads a file."""
    content = sim.read(name)
    if content is None:
        return None
    kind: Kind = "load" if name == INDEX_NAME else "read"
    Call(sim, who, kind, name).post("done", result=content)
    return loaded_view(content.decode()).encode() if kind == "load" else content


def _hesitates(sim: Simulation, random: Random) -> None:
    """It takes longer than anybody waits for a session."""
    if random.random() < _SLOW:
        sim.now += 6_000_000_000


def session_writes(sim: Simulation, who: str, random: Random) -> Actor:
    """Loads or reads a file, and later writes it whole, once or twice; now and then it has seen nothing before."""
    name = some_file(sim, random)
    had: bytes | None = b""
    if name is not None and (name == INDEX_NAME or random.random() < 0.9):
        had = _seen(sim, who, name)
    if name is None or had is None:
        return
    yield f"{'loads' if had else 'has not seen'} {name}"
    for _ in range(random.choice((1, 1, 2))):
        content = changed(random, name, had, sim.ledger.new) if had else line(random, sim.ledger.new("t")).encode()
        call = Call(sim, who, "write", name)
        found = sim.read(name)
        call.post("open", found=found, result=content)
        yield f"is about to write {name}"
        if random.random() < _DIES:
            return
        _hesitates(sim, random)
        there = sim.file(name)
        original = None if there is None else there.data
        if replace_file(sim, name, content) is None:
            return
        sim.ledger.signed(who, name, had, content)
        yield f"writes {name}"
        if random.random() < _DIES:
            sim.ledger.vanished(marks_of(name, original or b"") - marks_of(name, found or b""), CLIENT)
            return
        _hesitates(sim, random)
        call.post("done", original=original, result=content)
        yield f"tells of {name}"
        had = content


def session_edits(sim: Simulation, who: str, random: Random) -> Actor:
    """Says what it is about to do, looks, renames, tells."""
    name = some_file(sim, random)
    found = None if name is None else sim.read(name)
    if name is None or found is None:
        return
    places = [each for each in found.split(b"\n") if marks_of(name, each) and each[:1] not in (b"#", b"d")]
    if not places:
        return
    old, new = random.choice(places), line(random, sim.ledger.new("t")).encode()
    text = new if random.random() < 0.4 and old[:1] != b"-" else old + b"\n" + new
    call = Call(sim, who, "edit", name)
    call.post("open", found=found, result=found.replace(old, text, 1))
    yield f"is about to edit {name}"
    looked = sim.read(name)
    if random.random() < _DIES or looked is None or old not in looked.split(b"\n"):
        return
    _hesitates(sim, random)
    yield f"looks at {name}"
    result = looked.replace(old, text, 1)
    there = sim.file(name)
    over = b"" if there is None else there.data
    if replace_file(sim, name, result) is None:
        return
    sim.ledger.overwrites(name, looked, over, CLIENT)
    sim.ledger.signed(who, name, looked, result)
    yield f"edits {name}"
    if random.random() < _DIES:
        sim.ledger.vanished(marks_of(name, looked) - marks_of(name, found), CLIENT)
        return
    call.post("done", original=looked, result=result)
    yield f"tells of {name}"


WAYS = {session_writes: 8, session_edits: 5}

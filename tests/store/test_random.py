"""Random operations on a real store, against a model: nothing is lost, the index of words equals the content."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memstore.core.changes import Append, Change, Pin, Rename, Restore, Retire, Revise, Supersede, appended
from memstore.core.model import SHELF, State
from memstore.errors import Conflict, NameTaken, StaleVersion
from memstore.store.search import check_index
from tests.store.stores import create, index_of, open_store, put, writer_of

NAMES = [f"m{n}" for n in range(4)]
TEXTS = st.sampled_from(
    [b"", b"one", b"one\ntwo\n", b"---\nname: x\ndescription: d\n---\nthree\n", b"\xff\r\n", b"a\nb\nc\n"]
)


class Stores(RuleBasedStateMachine):
    """What hypothesis calls a machine. `told`: the states that each memory should have had, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.store = open_store(self.directory)
        # Logic is tried here, not durability: without this, the disk takes most of the time.
        self.store._link.connection.execute("PRAGMA synchronous = OFF")
        self.told: dict[str, list[State]] = {}

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.directory)

    def token(self, name: str) -> str:
        head = self.store.memory(name)
        assert head is not None
        return head.token

    def taken(self, path: str, name: str) -> bool:
        return any(states[-1].live and states[-1].path == path and other != name for other, states in self.told.items())

    @rule(name=st.sampled_from(NAMES), text=TEXTS)
    def write(self, name: str, text: bytes) -> None:
        states = self.told.get(name)
        step = create(name, text) if states is None else Revise(name, self.token(name), text)
        path = f"{name}.md" if states is None else states[-1].path
        try:
            put(self.store, step)
        except NameTaken:
            assert self.taken(path, name)
            return
        state = State(SHELF, path, text) if states is None else replace(states[-1], content=text, live=True)
        self.told.setdefault(name, []).append(state)

    @precondition(lambda self: self.told)
    @rule(
        data=st.data(), text=TEXTS, what=st.sampled_from(["append", "rename", "retire", "pin", "supersede", "restore"])
    )
    def change(self, data: st.DataObject, text: bytes, what: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.told)))
        states = self.told[name]
        head, held = states[-1], self.token(name)
        step: Change
        if what == "append":
            step, then = Append(name, text), replace(head, content=appended(head.content, text))
        elif what == "rename":
            path = data.draw(st.sampled_from(["m0.md", "m1.md", "other.md"]))
            step, then = Rename(name, held, path), replace(head, path=path, live=True)
        elif what == "retire":
            step, then = Retire(name, held), replace(head, live=False)
        elif what == "pin":
            step, then = Pin(name, not head.pinned), replace(head, pinned=not head.pinned)
        elif what == "supersede":
            by = data.draw(st.sampled_from([None, *sorted(self.told)]))
            step, then = Supersede(name, by), replace(head, superseded_by=by)
        else:
            then = data.draw(st.sampled_from(states))
            step = Restore(name, held, then)
        try:
            put(self.store, step)
        except NameTaken:
            assert self.taken(then.path, name)
        except Conflict:
            assert not head.live and what in ("append", "retire")
        else:
            states.append(then)

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def undo_the_last(self, data: st.DataObject) -> None:
        last = self.store.operations(limit=1)[0][0]
        before, rows = {name: states[-1] for name, states in self.told.items()}, index_of(self.store)
        try:
            applied = writer_of(self.store).undo(last)
        except Conflict:
            return
        for version in applied.versions:
            states = self.told[version.memory]
            if len(states) > 1:
                assert version.state == states[-2]
            else:
                assert not version.state.live
            states.append(version.state)
        operation = self.store.operation(applied.operation)
        assert operation is not None
        again = writer_of(self.store).undo(operation)
        for version in again.versions:
            self.told[version.memory].append(version.state)
        assert {name: states[-1] for name, states in self.told.items()} == before
        assert index_of(self.store) == rows

    @precondition(lambda self: self.told)
    @rule(data=st.data(), text=TEXTS)
    def write_from_an_older_version(self, data: st.DataObject, text: bytes) -> None:
        name = data.draw(st.sampled_from(sorted(self.told)))
        versions = self.store.versions(name)
        old = data.draw(st.sampled_from(versions))
        if old.number < len(versions):
            try:
                put(self.store, Revise(name, old.token, text))
            except StaleVersion as refused:
                assert refused.current_text == self.told[name][-1].content
            else:
                raise AssertionError("a stale write went through")

    @invariant()
    def every_version_is_there(self) -> None:
        heads = {memory.id: memory for memory in self.store.memories(retired=True)}
        assert {name: head.state for name, head in heads.items()} == {n: states[-1] for n, states in self.told.items()}
        for name, states in self.told.items():
            versions = self.store.versions(name)
            assert [version.state for version in versions] == states
            assert [version.number for version in versions] == list(range(1, len(states) + 1))
            assert heads[name].version == len(states) and heads[name].token == versions[-1].token

    @invariant()
    def the_indexes_equal_the_content(self) -> None:
        with self.store._link.writing() as database:
            check_index(database)
            missing = "SELECT count(*) FROM memory WHERE pk NOT IN (SELECT memory FROM search_document)"
            assert database.execute(missing).get == 0
        living = {name for name, states in self.told.items() if states[-1].live}
        named = [memory for _, _, memory, _, _ in index_of(self.store) if memory is not None]
        assert sorted(named) == sorted(living)


Stores.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
test_random_operations_keep_every_version_and_both_indexes = Stores.TestCase

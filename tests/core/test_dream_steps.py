"""Steps of a dream: which belong together, and which still fit."""

from __future__ import annotations

from dataclasses import replace

from memstore.core.changes import Create, Retire, Revise
from memstore.core.dream_steps import Action, Planned, changes, derived, digest_of, losses, numbered, parts, stale
from memstore.core.model import SHELF, Memory, State


def memory(name: str, token: str = "seen", path: str = "") -> Memory:
    return Memory(
        name, 1, token, State(SHELF, path or f"{name}.md", b""), name, "", "project", "agent", "listed", 0, 0, 1
    )  # fmt: skip


def step(action: Action, name: str, *, n: int = 1, part: int = 1, into: str | None = None) -> Planned:
    content = None if action in ("delete", "merge") else b"new"
    seen, before = (None, None) if action == "create" else ("seen", b"old")
    into_path = None if into is None else f"{into}.md"
    loss = float(content is None)
    return Planned(
        n, part, action, name, f"{name}.md", seen, before, content, "agent", "why", into, into_path, loss=loss
    )


def test_what_is_merged_and_what_it_is_merged_into_are_one_part():
    assert parts(["a", "b", "c", "d"], [("b", "c"), ("d", "b"), ("a", "elsewhere")]) == {"a": 1, "b": 2, "c": 2, "d": 2}
    found = numbered([step("merge", "b", into="c"), step("delete", "a"), step("create", "c")], [("b", "c")])
    assert [(each.n, each.part, each.memory) for each in found] == [(1, 1, "c"), (2, 1, "b"), (3, 2, "a")]


def test_a_step_is_stale_where_another_version_stands_there_or_none_or_the_path_is_taken():
    steps = [step("revise", "a", n=1, part=1), step("delete", "b", n=2, part=2), step("create", "c", n=3, part=3)]
    assert stale(steps, [memory("a"), memory("b")]) == {}
    assert stale(steps, [memory("a", "other"), memory("x", path="C.md")]) == {
        1: "it was changed meanwhile",
        2: "it was deleted meanwhile",
        3: "somebody else made a file of that name meanwhile",
    }


def test_a_part_is_stale_as_a_whole():
    steps = [step("revise", "a", n=1), step("merge", "b", n=2, into="a"), step("delete", "c", n=3, part=2)]
    assert stale(steps, [memory("a"), memory("b", "other"), memory("c")]) == {
        2: "it was changed meanwhile", 1: "it belongs to the change of b.md",
    }  # fmt: skip


def test_a_step_is_stale_where_what_it_was_made_from_was_changed():
    made = replace(step("create", "a"), needs=(("b", "seen"),))
    assert stale([made], [memory("b")]) == {}
    assert stale([made], [memory("b", "other")]) == {1: "a memory that it was made from was changed meanwhile"}
    assert stale([made], []) == {1: "a memory that it was made from was changed meanwhile"}


def test_steps_become_changes_in_an_order_in_which_each_finds_what_it_names():
    steps = [
        step("delete", "d"),
        step("merge", "b", into="c"),
        step("revise", "a"),
        replace(step("create", "c"), origin="tool"),
    ]
    assert changes(steps, SHELF) == (
        Create("c", SHELF, "c.md", b"new", listing="unlisted"),
        Revise("a", "seen", b"new", merged=True),
        Retire("b", "seen", "c"),
        Retire("d", "seen"),
    )
    assert derived(steps) == (("a", "agent"), ("c", "tool"))
    assert losses(steps) == 2


def test_the_digest_of_memories_depends_on_each_token_and_on_no_order():
    assert digest_of({"a": "1", "b": "2"}) == digest_of({"b": "2", "a": "1"})
    assert len({digest_of(each) for each in ({}, {"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "2"})}) == 5

"""The list of memories that a model is given: newest first, a line each, whatever they say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memstore.core.model import SHELF, Memory, State
from memstore.jobs.manifest import manifest

DAY = 86_400_000_000


def memory(path: str, description: str = "d", type: str | None = "project", at: int = 0) -> Memory:
    state = State(SHELF, path, b"")
    return Memory(path, 1, "0" * 12, state, path, description, type, "agent", "due", at, at, 1)


def test_a_line_has_type_path_time_and_description_and_the_newest_come_first():
    listed = manifest([memory("a.md", "the old", at=DAY), memory("b.md", "", None, at=2 * DAY)])
    assert listed == "- b.md (1970-01-03T00:00Z)\n- [project] a.md (1970-01-02T00:00Z): the old"


def test_what_is_too_much_is_counted():
    listed = manifest([memory(f"{number}.md") for number in range(7)], 5)
    assert listed.count("\n- ") == 4 and listed.endswith("(2 older ones are not listed: Grep and Glob find them)")


def test_no_memories_are_said_to_be_none():
    assert manifest([]) == "(none yet)"


@given(st.text(), st.text(min_size=1), st.text())
def test_no_text_makes_a_line_of_its_own(path: str, kind: str, description: str):
    assert len(manifest([memory(path, description, kind)]).splitlines()) == 1

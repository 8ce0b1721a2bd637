"""The MCP memory server's graph as memories."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstore.core import mcp_graph
from memstore.core.frontmatter import read as document
from memstore.core.mcp_graph import read
from memstore.errors import ImportRefused


def lines(*values: object) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def entity(name: str, *observations: str, kind: str = "person") -> dict[str, object]:
    return {"type": "entity", "name": name, "entityType": kind, "observations": list(observations)}


def relation(start: str, kind: str, end: str) -> dict[str, object]:
    return {"type": "relation", "from": start, "to": end, "relationType": kind}


def test_an_entity_is_a_memory_with_its_observations_and_relations():
    files, skipped = read(
        lines(entity("Ada Lovelace", "Wrote a program", "Two\nlines"), relation("Ada Lovelace", "knows", "Babbage")),
        "x",
    )
    assert skipped == ()
    found = document(files["Ada-Lovelace.md"])
    assert (found.name, found.description, found.type) == ("Ada Lovelace", "Wrote a program", "reference")
    assert dict(found.extra) == {"entity_type": "person"}
    assert found.body == "- Wrote a program\n- Two\n  lines\n\n- knows [[Babbage]]\n"
    assert list(files) == ["Ada-Lovelace.md"]


def test_an_entity_type_that_is_one_of_ours_is_the_type():
    files, _ = read(lines(entity("x", kind="project")), "x")
    assert document(files["x.md"]).type == "project"


def test_a_relation_that_starts_from_no_entity_is_kept_too():
    files, _ = read(lines(relation("Nobody", "knows", "Somebody"), relation("Nobody", "knows", "Somebody")), "x")
    assert document(files["Nobody.md"]).body == "- knows [[Somebody]]\n"


def test_entities_of_one_name_both_survive():
    files, _ = read(lines(entity("a", "one"), entity("A", "two"), entity("a", "three")), "x")
    assert list(files) == ["a.md", "A-2.md", "a-3.md"]


def test_the_same_graph_as_one_object_is_read_alike():
    parts = [entity("a", "one"), entity("b"), relation("a", "knows", "b")]
    graph = {"entities": parts[:2], "relations": [*parts[2:], 3, {}]}
    files, skipped = read(json.dumps(graph, indent=1).encode(), "x")
    assert files == read(lines(*parts), "x")[0]
    assert [what for what, _ in skipped] == ["relation 2", "relation 3"]


def test_bad_lines_are_named_by_their_number():
    bad = [
        b"not json",
        b"[1]",
        b'"text"',
        b'{"type": "entity"}',
        b'{"type": "entity", "name": "x", "observations": "text"}',
        b'{"type": "relation", "from": "a", "to": ""}',
        b'{"type": "other"}',
        b"[" * 100_000,
        b"\xff",
        b'{"type": "entity", "name": "\\ud800"}',
        b"1" * 5_000,
    ]
    content = b"\n".join([*bad, b"", lines(entity("fine", "text"))])
    files, skipped = read(content, "x")
    assert list(files) == ["fine.md"]
    assert [what for what, _ in skipped] == [f"line {number}" for number in range(1, len(bad) + 1)]
    assert all(reason for _, reason in skipped)


def test_an_entity_that_is_too_large_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mcp_graph, "LARGEST", 200)
    files, skipped = read(lines(entity("one", "text"), entity("two", "x" * 200)), "x")
    assert list(files) == ["one.md"] and skipped == (("two.md", "it is too large to be a memory"),)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"text\n", b'{"body": "x"}\n'])
def test_a_file_without_one_such_line_is_refused(content: bytes):
    with pytest.raises(ImportRefused) as caught:
        read(content, "graph.json")
    assert "graph.json" in str(caught.value) and caught.value.hint


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
rows = st.fixed_dictionaries(
    {"type": st.sampled_from(["entity", "relation"])},
    optional=dict.fromkeys(("name", "entityType", "observations", "from", "to", "relationType"), values),
)


@settings(max_examples=30)
@given(st.lists(rows | values, max_size=3))
def test_no_line_is_lost_without_a_word(given: list[object]):
    files, skipped = read(lines(entity("one", "text"), *given), "x")
    taken = [one for one in given if isinstance(one, dict)]
    assert len(files) >= 1 and len(skipped) >= len(given) - len(taken)
    assert all(document(content).name for content in files.values())

"""The JSON document of an export: what is written is read back, and nothing damaged gets through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstore import errors
from memstore.core.exchange import (
    Carried,
    Exchange,
    IndexRow,
    Withheld,
    document,
    is_exchange,
    parsed,
    sealed,
)
from memstore.core.model import ORIGINS, SHELF, Operation, Provenance, Shelf, State, Version

STORE = "0193a1b2-0000-7000-8000-000000000001"
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
moments = st.integers(0, 4_000_000_000_000_000)
maybe = st.none() | texts


def version(number: int, content: bytes = b"text\n", **changes: Any) -> Version:
    state = State(SHELF, "one.md", content, True, False, None)
    values: dict[str, Any] = {
        "memory": "m", "number": number, "token": f"{number:012x}", "parent": None, "change": "create", "state": state,
        "name": "one", "description": "d", "type": "user", "origin": "person", "operation": f"o{number}",
        "seq": number, "at": number,
    }  # fmt: skip
    return Version(**{**values, **changes})


def exchange(*versions: Version, **changes: Any) -> Exchange:
    found = versions or (version(1),)
    memory = Carried("m", SHELF, "listed", 1, found, {})
    values: dict[str, Any] = {
        "store": STORE, "as_of": 9, "since": 0, "scope": "private", "operations": (), "memories": (memory,),
        "index": (),
    }  # fmt: skip
    return Exchange(**{**values, **changes})


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    memories = []
    for at in range(draw(st.integers(0, 3))):
        shelf = Shelf(draw(st.sampled_from(["private", "agent/a"])), "shared")
        history = []
        for number in range(1, draw(st.integers(1, 3)) + 1):
            state = State(
                shelf, draw(texts), draw(st.binary(max_size=30)), draw(st.booleans()), draw(st.booleans()), None
            )
            history.append(
                version(
                    number, memory=f"m{at}", state=state, name=draw(texts), type=draw(maybe), parent=draw(maybe),
                    origin=draw(st.sampled_from(ORIGINS)), at=draw(moments),
                )
            )  # fmt: skip
        memories.append(Carried(f"m{at}", shelf, "due", draw(moments), tuple(history), {}))
    who = Provenance(draw(st.sampled_from(ORIGINS)), draw(texts), draw(maybe), draw(maybe), draw(maybe), draw(maybe))
    operation = Operation(draw(texts), 3, "write", draw(moments), who, draw(texts), draw(maybe))
    row = IndexRow(draw(texts), SHELF, draw(texts), "free", draw(texts), draw(maybe), "hand")
    return Exchange(
        draw(texts), 9, draw(st.integers(0, 9)), "all", (operation,), tuple(memories), (row,),
        tuple(draw(st.lists(st.tuples(texts, st.binary(max_size=9)), max_size=2))),
    )  # fmt: skip


@given(exchanges())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_was_written_is_read_back(given_: Exchange):
    content = document(given_)
    assert is_exchange(content)
    assert parsed(content) == given_
    assert document(parsed(content)) == content


def test_a_withheld_version_carries_no_word_of_its_text():
    secret = version(1, b"---\nname: n\ndescription: hush\n---\nhush\n", name="hush", description="hush")
    memory = Carried("m", SHELF, "listed", 1, (secret, version(2)), {secret.token: Withheld("aws-key-id", 5)})
    content = document(exchange(memories=(memory,)))
    assert b"hush" not in content
    first, second = json.loads(content)["memories"][0]["versions"]
    assert (first["content"], first["withheld"]) == (None, {"rule": "aws-key-id", "line": 5})
    assert second["content"] == "text\n"
    assert parsed(content).memories[0].withheld == {secret.token: Withheld("aws-key-id", 5)}


def test_one_object_stands_on_one_line_and_the_digest_seals_what_is_before_it():
    content = document(exchange())
    assert b'\n{"id": "m", ' in content
    body, _, end = content.rpartition(b'"digest": "')
    assert end == f'{sealed(body)}"}}\n'.encode()


def test_a_newer_format_is_refused_with_the_step():
    newer = document(exchange()).replace(b'{"memstore_export": 1', b'{"memstore_export": 2')
    with pytest.raises(errors.ImportRefused) as refused:
        parsed(newer)
    assert "format 2" in str(refused.value) and "update memstore" in refused.value.hint


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda v: v["memories"][0]["versions"][0].update(content=7), "memories[0].versions[0].content is no text"),
        (lambda v: v["memories"][0]["versions"][0].update(encoding="rot13"), "memories[0].versions[0].encoding"),
        (
            lambda v: v["memories"][0]["versions"][0].update(encoding="base64", content="é"),
            "memories[0].versions[0].content is no base64",
        ),
        (lambda v: v["memories"][0]["versions"][0].update(at="yesterday"), "memories[0].versions[0].at is no time"),
        (lambda v: v["memories"][0]["versions"][0].update(at="2026-03-01T12:00:00"), ".at is no time"),
        (lambda v: v["memories"][0]["versions"][0].update(origin="god"), ".origin is none of person"),
        (lambda v: v["memories"][0]["versions"][0].update(path="\ud800"), ".path is no text"),
        (lambda v: v["memories"][0]["versions"][0].update(live=1), ".live is neither true nor false"),
        (lambda v: v["memories"][0]["versions"][0].update(version=-1), ".version is no number"),
        (lambda v: v["memories"][0].update(versions=[]), "are not in their order"),
        (lambda v: v.update(memories={}), "memories is no list"),
        (lambda v: v.update(memories=[3]), "memories[0] is no object"),
        (lambda v: v.pop("operations"), "operations is no list"),
        (lambda v: v.update(as_of=True), "as_of is no number"),
        (lambda v: v.update(as_of=2**70), "as_of is no number"),
    ],
)
def test_what_is_damaged_is_named_by_its_place(change: Any, place: str):
    value = json.loads(document(exchange()))
    change(value)
    with pytest.raises(errors.ImportRefused) as refused:
        parsed(json.dumps(value).encode())
    assert place in str(refused.value)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'{"memstore_export": 1,\n "store": }', "line 2, column 11"),
        (b"\xff", "byte 0 is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"memstore_export": NaN}', "NaN is no number"),
        (b'{"memstore_export": ' + b"9" * 5_000 + b"}", "a number that is too long"),
        (b"", "line 1, column 1"),
        (b"[]", "it is no object"),
    ],
)
def test_what_is_no_json_is_named_by_line_and_column(content: bytes, place: str):
    with pytest.raises(errors.ImportRefused) as refused:
        parsed(content)
    assert place in str(refused.value)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_damage_is_refused_or_read_never_a_crash(data: st.DataObject):
    whole = bytearray(document(exchange(version(1), version(2, b"\xff\x00"))))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))]) if data.draw(st.booleans()) else bytes(whole)
    try:
        parsed(cut)
    except errors.ImportRefused as refused:
        assert str(refused)

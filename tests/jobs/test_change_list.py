"""The list of changes that a fork answers with: read as a whole, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.errors import InputRefused
from memstore.jobs.change_list import LARGEST, MOST, parse
from memstore.jobs.tool_table import TOOLS

WRITE = {"do": "write", "path": "a.md", "content": "x", "quote": "use tabs always please"}
EDIT = {"do": "edit", "path": "b.md", "old": "x", "new": "y", "all": True, "message": 3}
DELETE = {"do": "delete", "path": "c.md", "reason": "it is wrong"}


def listed(*changes: Any, reason: Any = "what was said") -> str:
    return json.dumps({"changes": changes, "reason": reason})


def test_each_kind_of_change_is_a_call_of_a_tool_that_there_is():
    found = parse(listed({"do": "read", "path": "c.md"}, WRITE, EDIT, DELETE), "one")
    assert found.reason == "what was said"
    assert [(call.id, call.name) for call in found.calls] == [
        ("one-1", "Read"), ("one-2", "Write"), ("one-3", "Edit"), ("one-4", "Delete"),
    ]  # fmt: skip
    assert found.calls[2].input == {
        "file_path": "b.md", "old_string": "x", "new_string": "y", "replace_all": True, "message": 3,
    }  # fmt: skip
    tools = {tool.name: tool for tool in TOOLS}
    for call in found.calls:
        properties: Any = tools[call.name].schema["properties"]
        required: Any = tools[call.name].schema["required"]
        assert set(required) <= set(call.input) <= set(properties)


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "\n  {}\n",
        "```json\n{}\n```",
        "```\n{}\n```",
        "```json {}```",
        "I kept two things.\n\n```json\n{}\n```\nDone.",
    ],
)
def test_plain_and_fenced_is_the_same(form: str):
    text = listed(WRITE, EDIT)
    assert parse(form.replace("{}", text)) == parse(text)


def test_a_fence_inside_of_a_text_is_no_fence():
    change = {"do": "write", "path": "a.md", "content": "run:\n```sh\nmake\n```\n{}"}
    for form in ("{}", "Here:\n```json\n{}\n```"):
        assert parse(form.replace("{}", listed(change), 1)).calls[0].input["content"] == change["content"]


def test_nothing_to_change_is_an_answer():
    assert parse(listed(reason="only\n small talk")).reason == "only small talk"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("Nothing is worth keeping.", "no JSON object"),
        ("[]", "no JSON object"),
        ("```json\n[]\n```", "no JSON object"),
        (listed(WRITE) + " and more", "behind"),
        (listed(WRITE) + listed(), "behind"),
        ("so: " + listed(WRITE), "no JSON object"),
        ("```json\n" + listed(WRITE), "not closed"),
        ("```json\n" + listed(WRITE) + " so\n```", "not closed"),
        ("```json\n" + listed(WRITE) + "\n```\n```json\n" + listed() + "\n```", "more than one"),
        ('{"changes": []}', "needs"),
        ('{"changes": [], "reason": "x", "more": 1}', "needs"),
        ('{"changes": {}, "reason": "x"}', "is a list"),
        ('{"changes": [], "reason": null}', "a text"),
        ('{"changes": [], "reason": " "}', "empty"),
        ('{"changes": [], "reason": "a", "reason": "b"}', "twice"),
        ('{"changes": [NaN], "reason": "a"}', "NaN"),
        (listed(*[WRITE] * (MOST + 1)), "at most"),
        (" " * LARGEST + listed(), "at most"),
        ("[" * 100_000, "no JSON object"),
        ('{"a":' * 100_000, "nested"),
        (listed(WRITE, "x"), "change 2 is no object"),
        (listed({**WRITE, "do": "move"}), '"do" is one of'),
        (listed({**WRITE, "do": ["write"]}), '"do" is one of'),
        (listed({"path": "a.md"}), '"do" is one of'),
        (listed({**WRITE, "mode": "x"}), "no 'mode'"),
        (listed({**DELETE, "content": "x"}), "no 'content'"),
        (listed({**WRITE, "content": None}), "'content' is no str"),
        (listed({**WRITE, "message": True}), "'message' is no int"),
        (listed({**WRITE, "quote": 7}), "'quote' is no str"),
        (listed({"do": "edit", "path": "a.md", "new": "x"}), "lacks old"),
    ],
)  # fmt: skip
def test_what_is_no_list_is_refused_with_the_reason(text: str, why: str):
    with pytest.raises(InputRefused, match=why):
        parse(text)


def test_an_optional_member_that_is_null_is_none():
    assert parse(listed({**WRITE, "quote": None, "message": None})).calls[0].input == {
        "file_path": "a.md", "content": "x",
    }  # fmt: skip


@given(st.integers(min_value=0))
def test_no_half_of_an_answer_is_taken(cut: int):
    for text in (listed(WRITE, EDIT, DELETE), "Done:\n```json\n" + listed(WRITE, EDIT) + "\n```"):
        end = cut % len(text)
        with pytest.raises(InputRefused):
            parse(text[:end])


@given(st.text())
def test_any_text_is_read_or_refused(text: str):
    for form in (text, "{" + text, "```json\n{" + text + "\n```"):
        try:
            parse(form)
        except InputRefused:
            continue

"""Whether an agent kept memories itself, as its transcript tells."""

from __future__ import annotations

import pytest

from memstore.claude.entries import Entry, Kind, ToolCall
from memstore.jobs.saves import own_saves

FOLDER = "/srv/me/.claude/projects/-srv-shop/memory"


def said(*calls: ToolCall, kind: Kind = "assistant") -> Entry:
    return Entry("u", None, kind, "", "", "s", "main", "/", "", 1, 10, b"12345678", calls)


def result(identity: str = "t", *, failed: bool = False) -> Entry:
    return Entry("r", None, "tool", "no", "", "s", "main", "/", "", 2, 20, b"87654321", answers=identity, failed=failed)


def call(name: str, path: str | None = None, command: str | None = None) -> ToolCall:
    return ToolCall(name, "t", path, command)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (call("Write", f"{FOLDER}/a.md"), "a.md"),
        (call("Edit", f"{FOLDER}/sub/../MEMORY.md"), "MEMORY.md"),
        (call("mcp__plugin_memstore_memstore__memory_write"), "by memory_write"),
        (call("mcp__memstore__memory_edit"), "by memory_edit"),
        (call("Bash", command='memstore write note "text; with a mark" -d "x"'), "by the command line"),
        (call("Bash", command="cd /srv && ./scripts/memstore append note text"), "by the command line"),
    ],
)
def test_a_memory_that_the_agent_wrote_itself_is_told(one: ToolCall, told: str):
    assert own_saves([said(one), result()], [FOLDER]) == [told]


@pytest.mark.parametrize(
    "one",
    [
        call("Read", f"{FOLDER}/a.md"),
        call("Write", "/srv/shop/a.md"),
        call("Write", f"{FOLDER}-other/a.md"),
        call("Write", f"{FOLDER}/../../x.md"),
        call("mcp__other__memory_search"),
        call("memory_write"),
        call("Bash", command="memstore search bun"),
        call("Bash", command="echo 'memstore write x'"),
        call("Bash", command="grep -r memstore . | grep write"),
        call("Bash", command="unbalanced 'quote memstore list"),
    ],
)
def test_what_is_no_memory_is_not(one: ToolCall):
    assert own_saves([said(one), result()], [FOLDER]) == []


def test_what_a_subagent_wrote_is_not_the_main_agents_doing():
    assert own_saves([said(call("Write", f"{FOLDER}/a.md"), kind="subagent"), result()], [FOLDER]) == []


def test_what_failed_or_was_not_permitted_or_has_no_result_yet_was_not_saved():
    first = ToolCall("Write", "toolu_1", f"{FOLDER}/a.md", None)
    second = ToolCall("Write", "toolu_2", f"{FOLDER}/b.md", None)
    told = [said(first, second), result("toolu_1", failed=True), result("toolu_2", failed=False)]
    assert own_saves(told, [FOLDER]) == ["b.md"]
    assert own_saves([said(first, second)], [FOLDER]) == []

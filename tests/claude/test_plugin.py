"""The plugin's files: what the client reads, with this machine's paths in it."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memstore
from memstore.claude.plugin import HOOKS, MANIFEST, SNIPPETS, Launch, folder_rules, is_program, render, snippet
from memstore.cli.main import SECTIONS
from memstore.core.frontmatter import read
from memstore.hook import SECONDS
from memstore.prompting import section

ROOT = Path(memstore.__file__).parent / "plugin"
TEMPLATES = {str(path.relative_to(ROOT)): path.read_text() for path in ROOT.rglob("*") if path.is_file()}
LAUNCH = Launch("/my py/bin/python", ("-I", "-m", "memstore"), "/lib/memstore/hook.py", "/lib", "1.2.3")
RULES = ("//h/me/.claude/projects/*/memory/**", "//srv/notes/**")
SKILLS = [path for path in TEMPLATES if path.endswith("SKILL.md")]


def rendered() -> dict[str, str]:
    return render(TEMPLATES, LAUNCH, RULES)


def handlers(hooks: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Event, matcher and handler of each."""
    for event, groups in hooks["hooks"].items():
        for group in groups:
            yield from ((event, group.get("matcher", ""), handler) for handler in group["hooks"])


def test_every_file_is_rendered_and_no_placeholder_is_left():
    files = rendered()
    assert files.keys() == TEMPLATES.keys()
    assert {MANIFEST, HOOKS, ".mcp.json", "bin/memstore"} <= files.keys()
    for path, text in files.items():
        assert not re.search(r"\{(python|program|hook|site|version|folder|command)\}", text), path


def test_the_manifest_names_plugin_and_version():
    manifest = json.loads(rendered()[MANIFEST])
    assert (manifest["name"], manifest["version"]) == ("memstore", "1.2.3")
    assert isinstance(manifest["author"], dict)  # a wrong type would stop the plugin from loading


def test_the_mcp_server_is_started_by_the_interpreter_and_always_loaded():
    servers = json.loads(rendered()[".mcp.json"])["mcpServers"]
    assert servers == {
        "memstore": {
            "type": "stdio",
            "command": LAUNCH.python,
            "args": ["-I", "-m", "memstore", "mcp"],
            "alwaysLoad": True,
        }
    }


def test_hooks_are_commands_without_a_shell():
    for event, _, handler in handlers(json.loads(rendered()[HOOKS])):
        assert handler["type"] == "command"
        assert handler["command"] == LAUNCH.python
        assert handler["args"] == ["-I", "-S", LAUNCH.hook, "--site", LAUNCH.site, event]


def test_each_event_is_one_that_the_hook_knows_and_has_more_time_than_the_hook_takes():
    found = {event: handler["timeout"] for event, _, handler in handlers(json.loads(rendered()[HOOKS]))}
    assert found.keys() == SECONDS.keys()
    assert all(found[event] > seconds for event, seconds in SECONDS.items())


def test_each_tool_that_writes_has_a_rule_for_each_folder_before_and_after():
    found = {
        (event, matcher, handler["if"]) for event, matcher, handler in handlers(json.loads(rendered()[HOOKS]))
        if "if" in handler
    }  # fmt: skip
    writers = ("Write", "Edit", "MultiEdit")
    tools = {"PreToolUse": writers, "PostToolUse": (*writers, "Read"), "PostToolUseFailure": writers}
    assert found == {
        (event, tool, f"{tool}({rule})") for event, names in tools.items() for tool in names for rule in RULES
    }


def test_only_bash_is_unfiltered_among_the_tools_and_no_tool_waits_for_it():
    loose = [
        (matcher, handler) for event, matcher, handler in handlers(json.loads(rendered()[HOOKS]))
        if "ToolUse" in event and "if" not in handler
    ]  # fmt: skip
    assert [matcher for matcher, _ in loose] == ["Bash"]
    assert loose[0][1]["async"] is True


def test_the_program_of_the_plugin_starts_memstore():
    text = rendered()["bin/memstore"]
    assert text.startswith("#!/bin/sh\n")
    assert shlex.split(text.split("\n")[1]) == ["exec", LAUNCH.python, "-I", "-m", "memstore", "$@"]
    assert is_program("bin/memstore")
    assert not is_program(HOOKS)


@pytest.mark.parametrize("path", SKILLS)
def test_a_skill_says_what_it_is_and_when(path: str):
    document = read(TEMPLATES[path].encode())
    assert document.name == path.split("/")[1]
    assert document.description is not None
    assert 40 < len(document.description) < 400
    assert not document.problems


def test_the_five_skills_are_there():
    assert {path.split("/")[1] for path in SKILLS} == {"remember", "forget", "recall", "memory", "dream"}


@pytest.mark.parametrize("text", [*(TEMPLATES[path] for path in SKILLS), section("/x"), section(None, log=True)])
def test_commands_and_tools_that_agents_are_told_of_exist(text: str):
    commands = {name for names in SECTIONS.values() for name in names}
    assert set(re.findall(r"`memstore ([a-z]+)", text)) <= commands
    assert set(re.findall(r"\bmemory_[a-z]+", text)) <= {
        "memory_list", "memory_read", "memory_write", "memory_search", "memory_edit", "memory_delete",
        "memory_history", "memory_undo", "memory_note", "memory_recall",
    }  # fmt: skip


AGENTS = "//**/.claude/agent-memory*/**"


def test_a_rule_is_absolute_and_covers_all_projects_of_the_client():
    assert folder_rules(["/h/me/.claude"], []) == ("//h/me/.claude/projects/*/memory/**", AGENTS)


def test_agents_own_memories_are_covered_wherever_they_are():
    assert folder_rules(["/c"], []) == (
        "//c/projects/*/memory/**",
        AGENTS,
        "//c/agent-memory/**",
        "//c/projects/*/agent-memory-local/**",
    )


def test_a_folder_that_is_covered_already_gets_no_second_rule():
    usual = "/h/me/.claude/projects/-srv-shop/memory"
    rules = folder_rules(["/h/me/.claude", "/h/me/.claude/"], [usual, "/srv/notes", "/srv/notes/team", "/srv/notes"])
    assert rules == ("//h/me/.claude/projects/*/memory/**", AGENTS, "//srv/notes/**")


def test_a_folder_beside_another_of_a_longer_name_has_its_own_rule():
    rules = folder_rules([], ["/srv/notes", "/srv/notes2", "/h/me/.claude/projects/x/memoryx"])
    assert rules == ("//h/me/.claude/projects/x/memoryx/**", "//srv/notes/**", "//srv/notes2/**")


@pytest.mark.parametrize(
    ("folder", "rule"),
    [
        ("/my mem", "//my mem/**"),
        ("/a (1) [x]", r"//a \(1\) \[x\]/**"),
        ("/st*r?", r"//st\*r?/**"),
        ("/#h!", r"//\#h\!/**"),
        ("/back\\slash", "//back?slash/**"),
        ("/new\nline", "//new?line/**"),
        ("/记忆", "//记忆/**"),
        ("/br{a,b}ce", "//br{a,b}ce/**"),
    ],
)
def test_signs_that_mean_something_in_a_rule_are_escaped(folder: str, rule: str):
    assert folder_rules([], [folder]) == (rule,)


@pytest.mark.parametrize("agent", SNIPPETS)
def test_a_snippet_is_valid_and_starts_the_server(agent: str):
    text = snippet(agent, Launch('/p"y\x7f/ü', ("-I", "-m", "memstore"), "", "", ""), {})
    value: Any = tomllib.loads(text) if agent == "codex" else json.loads(text)
    servers = value[{"codex": "mcp_servers", "vscode": "servers"}.get(agent, "mcpServers")]
    assert servers["memstore"]["command"] == '/p"y\x7f/ü'
    args = servers["memstore"]["args"]
    here = ["-C", "${workspaceFolder}"] if agent in ("cursor", "vscode") else []
    assert args == ["-I", "-m", "memstore", *here, "mcp"]
    assert "env" not in servers["memstore"]


@pytest.mark.parametrize("agent", SNIPPETS)
def test_a_snippet_names_the_variables_that_say_where_the_memories_are(agent: str):
    places = {"MEMSTORE_HOME": '/m"y\\h\nome', "XDG_DATA_HOME": "", "CLAUDE_CONFIG_DIR": "/设/c"}
    text = snippet(agent, Launch("/p", ("-m", "memstore"), "", "", ""), {**places, "PATH": "/bin", "API_KEY": "k"})
    value: Any = tomllib.loads(text) if agent == "codex" else json.loads(text)
    servers = value[{"codex": "mcp_servers", "vscode": "servers"}.get(agent, "mcpServers")]
    assert servers["memstore"]["env"] == {"MEMSTORE_HOME": '/m"y\\h\nome', "CLAUDE_CONFIG_DIR": "/设/c"}

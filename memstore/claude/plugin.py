"""The client's plugin: the files of `memstore/plugin` with this machine's paths put in.

What was seen with the client 2.1.332 (`-p`, against a server of our own), and decides the form of the hooks:

- `if` holds one rule for one tool. `Edit(...)` says nothing of Write, so each tool has a handler of its own, and
  each memory folder one more.
- `Write(//abs/dir/**)` is matched by files below the absolute directory, at any depth; one slash would be relative
  to the settings. Case does not count, `..` is taken out first, links are not followed: the path counts as the
  tool got it. So a directory that is reached through a link stands there in both ways.
- Of the signs with a meaning, `[ ] * ! # ( )` are escaped by a backslash; a backslash, a question mark or a line end
  in a path is matched only by `?`.
- Handlers that differ in `if` alone run once for each rule that matches: the rules must not overlap.
- An edit that no rule matches starts no process.
- `Bash(*word*)` does not see where a redirection goes: `echo x >> .../memory/a.md` and `cat > .../a.md <<EOF` start
  nothing, although they are how a shell writes a memory. So the Bash hook has no rule; it is `async`, which means
  that no tool waits for it, and it looks at the command itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NAME = "memstore"
MANIFEST = ".claude-plugin/plugin.json"
HOOKS = "hooks/hooks.json"
_FOLDER = "{folder}"
_PROGRAM = "{program}"
_PLACES = ("MEMSTORE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR")
_AGENTS = "//**/.claude/agent-memory*/**"
"""Agents' own memories, in whatever working directory and in the client's usual place."""
_SIGN = re.compile(r"[\[\]*!#()\\\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Launch:
    """How the client starts memstore."""

    python: str
    program: tuple[str, ...]
    """Behind the interpreter: `-I -m memstore`, or the package's own file where `-m` would not find it."""
    hook: str
    """The file that is started for each hook."""
    site: str
    """Where the libraries lie, which a hook has to be told: it spares the search for them."""
    version: str


def render(templates: Mapping[str, str], launch: Launch, rules: Sequence[str]) -> dict[str, str]:
    """The plugin's files by their path in it. `rules`: the memory folders, as `folder_rules` gives them."""
    return {path: _rendered(path, text, launch, rules) for path, text in sorted(templates.items())}


def is_program(path: str) -> bool:
    """Whether a file of the plugin is there to be started."""
    return path.startswith("bin/")


def folder_rules(configurations: Iterable[str], folders: Iterable[str]) -> tuple[str, ...]:
    """What stands inside the brackets of `if` for these directories of the client and memory folders.

    All are absolute. A folder that lies below another one, or at the client's usual place, needs no rule of its own.
    Agents' own memories have theirs.
    """
    bases = list(dict.fromkeys(path.rstrip("/") for path in configurations))
    usual = [re.compile(re.escape(base) + r"/projects/[^/]+/memory(/|$)") for base in bases]
    rules = [f"/{_escaped(base)}/projects/*/memory/**" for base in bases]
    rules += [_AGENTS] if bases else []
    for base in bases:
        if os.path.basename(base) != ".claude":
            rules += [f"/{_escaped(base)}/{place}/**" for place in ("agent-memory", "projects/*/agent-memory-local")]
    kept: list[str] = []
    for folder in sorted({path.rstrip("/") for path in folders}, key=len):
        covered = any(pattern.match(folder) for pattern in usual)
        if folder and not covered and not any((folder + "/").startswith(other + "/") for other in kept):
            kept.append(folder)
    return (*rules, *(f"/{_escaped(folder)}/**" for folder in sorted(kept)))


def snippet(agent: str, launch: Launch, environment: Mapping[str, str]) -> str:
    """What another agent's configuration needs so that it starts `memstore mcp`.

    Agents hand only a few variables on (Codex and the MCP SDKs: PATH, HOME and the like). Those of `environment`
    that say where store and folder lie are named, lest the agent's memories go to another store than the person's.
    """
    places = {name: environment[name] for name in _PLACES if environment.get(name)}
    kept = {"env": places} if places else {}
    server = {"command": launch.python, "args": [*launch.program, "mcp"], **kept}
    here = {**server, "args": [*launch.program, "-C", "${workspaceFolder}", "mcp"]}
    if agent == "codex":
        words = ", ".join(map(_toml, [*launch.program, "mcp"]))
        pairs = ", ".join(f"{name} = {_toml(value)}" for name, value in places.items())
        variables = f"env = {{ {pairs} }}\n" if places else ""
        return f"[mcp_servers.{NAME}]\ncommand = {_toml(launch.python)}\nargs = [{words}]\n{variables}"
    if agent == "vscode":
        return _dumped({"servers": {NAME: {"type": "stdio", **here}}})
    return _dumped({"mcpServers": {NAME: here if agent == "cursor" else server}})


SNIPPETS = {
    "codex": "add this to ~/.codex/config.toml, or to .codex/config.toml of a project that Codex trusts",
    "cursor": "put this into .cursor/mcp.json of the project, beside the servers that are there",
    "vscode": "put this into .vscode/mcp.json of the project, beside the servers that are there",
    "mcp": "a client starts this in the project's directory; with `-C DIR` before `mcp` it may start anywhere",
}
"""Other agents, and where their configuration lies."""


def _rendered(path: str, text: str, launch: Launch, rules: Sequence[str]) -> str:
    if not path.endswith(".json"):
        import shlex

        return text.replace("{command}", shlex.join([launch.python, *launch.program]))
    return _dumped(_filled(json.loads(text), launch, rules))


def _filled(value: Any, launch: Launch, rules: Sequence[str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, launch, rules) for key, inner in value.items()}
    if isinstance(value, list):
        return list(_items(value, launch, rules))
    if isinstance(value, str):
        words = {"{python}": launch.python, "{hook}": launch.hook, "{site}": launch.site, "{version}": launch.version}
        return words.get(value, value)
    return value


def _items(values: list[Any], launch: Launch, rules: Sequence[str]) -> Iterator[Any]:
    for value in values:
        if value == _PROGRAM:
            yield from launch.program
        elif isinstance(value, dict) and _FOLDER in str(value.get("if", "")):
            for rule in rules:
                yield _filled({**value, "if": value["if"].replace(_FOLDER, rule)}, launch, rules)
        else:
            yield _filled(value, launch, rules)


def _escaped(path: str) -> str:
    return _SIGN.sub(lambda found: "\\" + found[0] if found[0] in "[]*!#()" else "?", path)


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"

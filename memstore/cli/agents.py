"""`agents`: the memories that agents have of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli.state import State, json_option
from memstore.cli.terminal import plural, printable

if TYPE_CHECKING:
    from memstore.agents import Found

_TOLD = {
    "shared": "kept in a store, and shown there",
    "read": "git keeps it: read in place, never written",
    "new": "no store yet",
}


@click.command("agents")
@json_option
@click.pass_obj
def agents(state: State) -> None:
    """List the memories that agents have of their own: name, scope, how many, how they are kept, where.

    An agent whose definition says `memory: user`, `project` or `local` has a directory for itself. `memstore --agent
    NAME COMMAND` does with it what COMMAND does with the memories of the repository; NAME:SCOPE says which is meant
    where an agent has several. What git keeps is read where it lies: it has history and search, and is changed in its
    files alone.
    """
    from memstore.agents import agents as all_agents

    found = all_agents(state.world())
    if state.json:
        state.emit("agents", {"agents": [_shape(one) for one in found]})
        return
    state.say("\n".join(printable(_line(one)) for one in found))
    if not found:
        state.note("no agent has a memory of its own here")


def _line(found: Found) -> str:
    agent = found.agent
    kept = _TOLD.get(found.kept, f"cannot be used: {found.why}")
    if found.kept == "new":
        kept += f": `memstore --agent {agent.address} sync` makes it"
    return f"{agent.address}  {plural(found.memories, 'memory', 'memories')}  {kept}  {agent.directory}"


def _shape(found: Found) -> dict[str, object]:
    return {
        "name": found.agent.name,
        "scope": found.agent.scope,
        "directory": found.agent.directory,
        "memories": found.memories,
        "store": found.store,
        "kept": found.kept,
        "why": found.why,
    }

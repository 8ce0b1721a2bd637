"""`mcp`."""

from __future__ import annotations

import os

import click

from memstore.cli.state import State

PROJECT = "CLAUDE_PROJECT_DIR"


@click.command()
@click.pass_obj
def mcp(state: State) -> None:
    """Serve the memories to a client of the Model Context Protocol, over standard input and output.

    Agents start it themselves; `memstore install --print` shows how to tell them. It serves the directory it is
    started in (CLAUDE_PROJECT_DIR where the client names one, -C where that is given) until its input ends.
    """
    from memstore.mcp.wire import take_streams

    streams = take_streams()
    if state.directory is None:
        named = os.environ.get(PROJECT, "")
        # The client's own word: a launcher in between may have started this somewhere else.
        if os.path.isabs(named) and os.path.isdir(named):
            state.directory = named
    world = state.world()

    from memstore.mcp.server import serve

    serve(world, *streams)

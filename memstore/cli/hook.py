"""`hook`: what the client's hooks start, as a command of its own. They themselves start `memstore/hook.py`."""

from __future__ import annotations

import os
import sys

import click

from memstore.hook import LARGEST, SECONDS, libraries


@click.command(name="hook")
@click.argument("event", metavar="EVENT", type=click.Choice(sorted(SECONDS)))
def hook_command(event: str) -> None:
    """Do what the client's hook EVENT does, with its JSON on standard input.

    EVENT is SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, PostToolUseFailure, Stop, PreCompact or
    SessionEnd. For trying things out: the plugin starts a shorter way to the same. Ends with code 0 whatever the
    input is.
    """
    from memstore.claude.hooks import switched_off
    from memstore.hooking import Hook

    off = switched_off(os.environ)
    data = sys.stdin.buffer.read(LARGEST + 1) if sys.stdin is not None else b""
    if off is not True:
        answer = Hook(event, os.environ, libraries(), off).answer(data if len(data) <= LARGEST else None)
        click.echo(answer, nl=False)

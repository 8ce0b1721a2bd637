"""`pause` and `resume`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from memstore.cli.state import State, json_option
from memstore.cli.terminal import printable

F = TypeVar("F", bound=Callable[..., Any])


def _scope_option(command: F) -> F:
    """Gives a command --session, --worktree and --store."""
    for scope, what in (
        ("store", "For the whole repository, in every session."),
        ("worktree", "For this worktree."),
        ("session", "For the session that this is started in."),
    ):
        command = click.option(f"--{scope}", "scope", flag_value=scope, help=what)(command)
    return command


@click.command()
@_scope_option
@json_option
@click.pass_obj
def pause(state: State, scope: str | None) -> None:
    """Let automatic saving rest: nothing is taken in, shown, extracted or recalled by itself.

    Inside a session it concerns that session, elsewhere this worktree, unless an option says otherwise. What
    sessions write meanwhile is noted, so that nothing is lost when it is taken in. Turns that ended before it are
    looked at after it, what is said in it never. Commands work as always, and take in what waits; only
    `memstore extract run` rests as well.
    """
    from memstore import sessions

    with state.open(make=True) as memories:
        given = scope or ("session" if sessions.session_of(memories.world) else "worktree")
        what = sessions.pause(memories, given)
        _tell(state, "pause", sessions.paused(memories))
    state.report(printable(f"automatic saving is paused for {what}; `memstore resume` ends that"))


@click.command()
@_scope_option
@json_option
@click.pass_obj
def resume(state: State, scope: str | None) -> None:
    """End a pause: without an option every one that concerns this session and this worktree."""
    from memstore import sessions

    with state.open() as memories:
        here = ("session", "worktree", "store") if sessions.session_of(memories.world) else ("worktree", "store")
        ended = sessions.resume(memories, (scope,) if scope else here)
        _tell(state, "resume", sessions.paused(memories))
    if ended:
        state.report(printable(f"automatic saving goes on for {', '.join(ended)}"))
    else:
        state.report("nothing was paused")


def _tell(state: State, command: str, paused: list[str]) -> None:
    if state.json:
        state.emit(command, {"paused": paused})

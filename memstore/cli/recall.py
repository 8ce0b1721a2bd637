"""`recall`: what a session would be told of the memories that bear on a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from memstore.cli import inputs
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_doubts
from memstore.cli.terminal import printable
from memstore.errors import NotFound

if TYPE_CHECKING:
    from memstore.recall import Candidate, Recalled
    from memstore.recalling import Ranked


@click.command(cls=inputs.WordsCommand)
@click.argument("text", nargs=-1, required=True)
@click.option("--explain", is_flag=True, help="Say of each memory that was looked at why it was picked or not.")
@click.option("--ranked", is_flag=True, help="Show the short-list itself, before anything is left out.")
@inputs.limit_option(None, "memories: 5 at most of those that are told, 10 by default of the short-list", clamped=True)
@click.option("--session", metavar="ID", help="Leave out what this session knows, and count what it is told now.")
@json_option
@click.pass_obj
def recall(
    state: State, text: tuple[str, ...], explain: bool, ranked: bool, limit: int | None, session: str | None
) -> None:
    """Tell the memories that surely bear on a prompt, as a session is told them.

    At most five, each with path, type, age, origin and token, cut to 200 lines and 4,096 bytes. Pinned memories and
    corrections come first. Where nothing is sure, nothing is told: `memstore search` finds more.
    """
    prompt = " ".join(text)
    if ranked and (explain or session is not None):
        raise click.UsageError(f"{'--explain' if explain else '--session'} goes without --ranked")
    if ranked:
        from memstore.recalling import DEFAULT_LIMIT
        from memstore.recalling import ranked as short_list

        with state.open() as memories:
            _show_ranked(state, short_list(memories, prompt, limit or DEFAULT_LIMIT), tell_doubts(state, memories))
        return
    answer, doubts = _answer(state, prompt, session, limit or 5)
    shown = answer.candidates if explain else answer.candidates[: len(answer.sizes)]
    if state.json:
        found = [_shape(one) for one in shown]
        state.emit("recall", {"ranked": False, "text": answer.text, "memories": found, "notices": doubts})
        return
    state.say(printable(answer.text, lines=True))
    if explain:
        state.say("\n".join(map(_told, shown)))
    if not answer.text:
        known = " that this session does not know" if session is not None else ""
        more = "" if explain else "; --explain says why, `search` finds more"
        state.note(f"nothing{known} surely bears on that{more}")


def _answer(state: State, prompt: str, session: str | None, most: int) -> tuple[Recalled, list[str]]:
    """What is told, and the doubts about it."""
    try:
        with state.open() as memories:
            return memories.recall(prompt, session=session, most=most), tell_doubts(state, memories)
    except NotFound:
        from memstore.agents import recall_alone
        from memstore.recall import Asked

        alone = recall_alone(state.world(), Asked(prompt, session, most=most))
        if alone is None:
            raise
        return alone, []


def _show_ranked(state: State, found: Sequence[Ranked], doubts: list[str]) -> None:
    from memstore.recall import Candidate

    shown = [Candidate(one.memory, one.score, False, _words(one)) for one in found]
    if state.json:
        memories = [_shape(one) for one in shown]
        state.emit("recall", {"ranked": True, "text": "", "memories": memories, "notices": doubts})
        return
    for one in shown:
        state.say(f"{one.score:7.2f}  {printable(one.memory.path)}  {printable(one.why)}")
    if not shown:
        state.note("no memory has any of these words")


def _words(one: Ranked) -> str:
    return ", ".join(dict.fromkeys(reason.word for reason in one.reasons)) or "corrects the next"


def _told(one: Candidate) -> str:
    return f"{'picked  ' if one.picked else 'left out'}  {printable(one.memory.path)}: {printable(one.why)}"


def _shape(one: Candidate) -> dict[str, object]:
    from memstore.cli.shaping import moment_shape

    memory = one.memory
    return {
        "id": memory.id,
        "path": memory.path,
        "name": memory.name,
        "description": memory.description,
        "type": memory.type,
        "token": memory.token,
        "version": memory.version,
        "changed_at": moment_shape(memory.changed_at),
        "origin": memory.origin,
        "pinned": memory.pinned,
        "superseded_by": memory.superseded_by,
        "score": float(one.score),
        "picked": one.picked,
        "why": one.why,
    }

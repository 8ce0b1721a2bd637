"""The worker that asks a model to pick memories for a prompt: started by the hook, gone when nobody asks any more.

A prompt is taken out before it is asked about: whatever happens then, its session has what the words alone found. What
is picked is told with the session's next prompt, and is no memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from memstore.claude import ending, nearby
from memstore.core.model import SHELF, Memory
from memstore.core.settings import Settings
from memstore.errors import MemstoreError, SettingRefused
from memstore.jobs import llm, recall
from memstore.jobs.extract import Metered, in_words
from memstore.jobs.messages import Model
from memstore.recalling import ranked_in
from memstore.standing import Hold, api_hold
from memstore.store import ending as run_ending
from memstore.store import reader, recalled, runs, sessions
from memstore.store import settings as kept
from memstore.store.runs import RunEnd
from memstore.store.search import Filters
from memstore.store.store import Store
from memstore.store.worker_turn import worker_turn
from memstore.world import World

KIND: Final = "recall"
PATIENCE: Final = 20.0
"""Seconds without a word after which an answer is given up."""

_WAIT = 30.0
_STALE = 600_000_000  # microseconds after which nobody needs an answer any more


def pick(store: str, env: Mapping[str, str] | None = None) -> None:
    """Answers for all that ask."""
    home = nearby.home_of(os.environ if env is None else env)
    if home is None:
        return
    directory = os.path.join(home, "stores", store)
    os.chdir("/")  # a process that stays behind holds no directory
    turn = worker_turn(directory, "pick", _WAIT)
    if turn is None:
        return
    world = World.real("/")
    if env is not None:
        world = replace(world, environment=env)
    try:
        with closing(Store.open(directory, store, world.clock)) as opened:
            pick_all(opened, home, world, None)
    finally:
        os.close(turn)


def pick_all(store: Store, home: str, world: World, model: Model | None) -> None:
    """Asks for each session's last prompt. `model` None: the one that the environment names."""
    with store.change() as connection:
        run_ending.close_interrupted(connection, KIND, world.clock())
    while True:
        with store.change() as connection:
            asked = recalled.take_asked(connection, world.clock() - _STALE)
        if asked is None:
            return
        with store.view() as connection:
            settings = kept.load(home, world.environment, connection)
            rests = bool(sessions.pauses(connection, asked[0], sessions.place(connection, asked[0])[0] or ""))
        try:
            if rests or settings.word("recall.selector") != "model" or api_hold(store, settings, world) is not None:
                continue
            asks = model or llm.ApiModel.of(world.environment, patience=PATIENCE, retries=0)
        except (MemstoreError, SettingRefused):
            continue
        _pick_for(store, settings, world, asks, *asked)


def hold(store: Store, home: str, world: World) -> Hold | None:
    """Why no model picks memories although one is to, or what became of the last time; None where none is to."""
    try:
        with store.view() as connection:
            settings, last = kept.load(home, world.environment, connection), runs.newest(connection, KIND, 1)
        if not settings.flag("recall.enabled") or settings.word("recall.selector") != "model":
            return None
        held = api_hold(store, settings, world)
    except SettingRefused as error:
        return Hold(str(error), error.hint)
    if held is None and last and last[0].outcome == "failed":
        return Hold(f"the last time: {last[0].reason}", "`memstore doctor --model` looks whether it answers now")
    return held


def _pick_for(
    store: Store, settings: Settings, world: World, model: Model, session: str, prompt: str, transcript: str | None
) -> None:
    listed = _listed(store, prompt)
    if not listed:
        return
    run = world.new_id()
    with store.view() as connection:
        known = recalled.told(connection, session)
    name = settings.word("model.recall")
    tools = ending.tools_in_use(transcript) if transcript else []
    with store.change() as connection:
        runs.begin(connection, run, KIND, session, world.clock(), model=name, via="api")
    metered = Metered(model, store, run)
    paths = {head.path: head.id for head in listed}
    try:
        reply = metered.reply(recall.question(name, listed, prompt, known, tools))
        found, outcome, reason = recall.picked(reply, list(paths)), "nothing", ""
    except MemstoreError as error:
        found, outcome, reason = [], "failed", in_words(error)
    if found:
        reason = "picked " + ", ".join(found)
        with store.change() as connection:
            recalled.pick(connection, session, [paths[path] for path in found], world.clock())
    end = RunEnd(run, "failed" if outcome == "failed" else "nothing", world.clock(), reason, turns=len(metered.replies))
    store.finish_run(replace(end, usage=metered.talk.usage, cost=metered.talk.cost))


def _listed(store: Store, prompt: str) -> Sequence[Memory]:
    """What the model chooses from: all that may be told unasked or, where they are many, the short-list."""
    with store.view() as connection:
        heads = {head.id: head for head in reader.heads(connection, SHELF)}
        if len(heads) > recall.LISTED:
            short = ranked_in(connection, prompt, recall.LISTED, Filters(scopes=(SHELF.scope,)))
            heads = {one.memory.id: heads[one.memory.id] for one in short if one.memory.id in heads}
    return [head for head in heads.values() if head.origin != "tool" and head.state.superseded_by is None]

"""`doctor`: what keeps memstore from working here, and the next step. So far: whether a model answers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from memstore.cli.state import State, json_option
from memstore.cli.terminal import printable

if TYPE_CHECKING:
    from memstore.jobs.endpoint import Endpoint
    from memstore.jobs.messages import Reply

_WORDS = "Answer with the one word: ok"
_LIMIT = 64
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Answered:
    """A model that answered. `asked`: the name that is set, and in which settings; `seconds`: how long it took."""

    asked: str
    keys: tuple[str, ...]
    reply: Reply
    seconds: float


@click.command()
@click.option("--model", is_flag=True, help="Ask each model that is set one tiny question.")
@json_option
@click.pass_obj
def doctor(state: State, model: bool) -> None:
    """See whether a model answers, and if not, what to do.

    Models extract what sessions taught and keep their notes. A request goes to the Messages API with the key in
    ANTHROPIC_API_KEY or the token in ANTHROPIC_AUTH_TOKEN, to the address in ANTHROPIC_BASE_URL where one is set.
    """
    if not model:
        raise click.UsageError("say what to look at: `memstore doctor --model`")
    from memstore.jobs.endpoint import find_endpoint

    settings = state.settings()
    models: dict[str, tuple[str, ...]] = {}
    for key in ("model.extract", "model.notes"):
        name = settings.word(key)
        models[name] = (*models.get(name, ()), key)
    endpoint = find_endpoint(state.world().environment)
    state.note(endpoint.address.mended)
    answers = [_ask(endpoint, name, keys) for name, keys in models.items()]
    if state.json:
        from memstore.cli.shaping import answer_shape, endpoint_shape

        state.emit("doctor", {**endpoint_shape(endpoint), "models": [answer_shape(one) for one in answers]})
        return
    credential, proxy = endpoint.credential, endpoint.proxy
    state.say(f"sent to {printable(endpoint.address.host)}: the {credential.kind} in {credential.variable}")
    if credential.spare:
        state.say(f"not sent: {credential.spare}, as the key comes before it")
    if proxy is not None:
        state.say(f"through the proxy {printable(proxy.host)} (${proxy.variable})")
    for one in answers:
        state.say(printable(_line(one)))


def _ask(endpoint: Endpoint, name: str, keys: tuple[str, ...]) -> Answered:
    """One question, without another try: what is wrong now is what a person wants to know."""
    from memstore.jobs.llm import ApiModel
    from memstore.jobs.messages import Request, user

    began = time.monotonic()
    reply = ApiModel(endpoint, patience=_PATIENCE, retries=0).reply(Request(name, (user(_WORDS),), _LIMIT))
    return Answered(name, keys, reply, time.monotonic() - began)


def _line(one: Answered) -> str:
    usage, cost = one.reply.usage, one.reply.cost
    other = f", as {one.reply.model}" if one.reply.model not in ("", one.asked) else ""
    price = "its price is not known: a budget cannot be kept" if cost is None else f"${cost / 1_000_000:.6f}"
    tokens = f"{usage.prompt} tokens in, {usage.output} out"
    return f"{one.asked} ({', '.join(one.keys)}) answers{other}: {one.seconds:.1f} s, {tokens}, {price}"

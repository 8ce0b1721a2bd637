"""`doctor --model`: whether a model answers, and if not, what to do."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memstore.cli import exits
from memstore.cli.state import State
from memstore.cli.terminal import printable

if TYPE_CHECKING:
    from memstore.core.settings import Settings
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


@dataclass(frozen=True, slots=True)
class Client:
    """The client, for its own fork. `problem`: why it cannot be used, and `step` what to do; empty where it can."""

    program: str = ""
    version: str = ""
    login: str = ""
    problem: str = ""
    step: str = ""


def look_at_models(state: State) -> None:
    """Asks each model that is set one tiny question, and tells what it took."""
    settings, environment = state.settings(), state.world().environment
    client = _client(settings, environment)
    endpoint = _endpoint(state, settings, environment, client)
    models: dict[str, tuple[str, ...]] = {}
    picks = ("model.recall",) if settings.word("recall.selector") == "model" else ()
    for key in ("model.extract", "model.notes", "model.dream", *picks):
        name = settings.word(key)
        models[name] = (*models.get(name, ()), key)
    answers = [] if endpoint is None else [_ask(endpoint, name, keys) for name, keys in models.items()]
    if state.json:
        from memstore.cli.shaping import answer_shape, client_shape, endpoint_shape

        shape = {**endpoint_shape(endpoint), "client": client_shape(client)}
        state.emit("doctor", {**shape, "models": [answer_shape(one) for one in answers]})
    else:
        if endpoint is not None:
            _tell(state, endpoint)
        for one in answers:
            state.say(printable(_line(one)))
        needless = bool(client.problem) and settings.word("extract.via") != "client"
        state.say(printable(_client_line(replace(client, step="not needed: the API is asked") if needless else client)))
    if client.problem and settings.word("extract.via") == "client":
        state.note("nothing is extracted until then: extract.via is client")
        raise exits.Finished(exits.MODEL)


def _endpoint(state: State, settings: Settings, environment: Mapping[str, str], client: Client) -> Endpoint | None:
    """Where the API is asked; None where the client's fork does without it. Raises ModelUnset and SettingRefused."""
    from memstore.errors import ModelUnset
    from memstore.jobs.endpoint import find_endpoint

    try:
        endpoint = find_endpoint(environment)
    except ModelUnset as unset:
        if client.problem or settings.word("extract.via") == "api":
            raise ModelUnset(str(unset), hint=f"{unset.hint}; {_client_line(client)}") from None
        picks = ", the model that picks memories" if settings.word("recall.selector") == "model" else ""
        state.note(f"{unset}: dreams{picks} and the notes of sessions need it, the extraction does not")
        return None
    state.note(endpoint.address.mended)
    return endpoint


def _client(settings: Settings, environment: Mapping[str, str]) -> Client:
    from memstore.errors import MemstoreError
    from memstore.jobs.choice import client
    from memstore.jobs.client_program import ask_login

    try:
        program = client(settings, environment)
    except MemstoreError as error:
        return Client(problem=str(error), step=error.hint)
    known, method = ask_login(program, environment)
    found = Client(program.path, program.told, method)
    if known is False:
        return replace(found, problem="the client is not logged in", step="log in with `claude` and /login")
    return found


def _client_line(client: Client) -> str:
    if client.problem:
        step = f" ({client.step})" if client.step else ""
        return f"the client's own fork cannot be used: {client.problem}{step}"
    login = f", logged in by {client.login}" if client.login else ""
    return f"the client's own fork can be used: {client.program}, version {client.version}{login}"


def _tell(state: State, endpoint: Endpoint) -> None:
    credential, proxy = endpoint.credential, endpoint.proxy
    state.say(f"sent to {printable(endpoint.address.host)}: the {credential.kind} in {credential.variable}")
    if credential.spare:
        state.say(f"not sent: {credential.spare}, as the key comes before it")
    if proxy is not None:
        state.say(f"through the proxy {printable(proxy.host)} (${proxy.variable})")


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

"""What the client's program says when a fork has ended: an answer and its cost, or why there is none. Pure.

What it tells of costs includes those of the session that was forked, as far as they were noted in its transcript.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

from memstore.claude.ending import CostState, tokens_of
from memstore.core.usage import Usage
from memstore.errors import (
    ModelAnswer,
    ModelBusy,
    ModelDeclined,
    ModelError,
    ModelNotFound,
    ModelUnauthorized,
    ModelUnreachable,
)
from memstore.jobs.child import Finished
from memstore.jobs.messages import cost

CUT_OFF: Mapping[str, Literal["turns", "budget"]] = {"error_max_turns": "turns", "error_max_budget_usd": "budget"}
"""Ends that are no failures: there is no answer yet, and this is used up."""

_LOGIN = "log in with `claude` and /login, or set a key for the API"
_KEY = "or set a key for the API"


@dataclass(frozen=True, slots=True)
class Result:
    """How a fork ended. `text`: its answer; `cut`: what was used up before there was one; `error`: what failed.

    `cost`: of this fork alone, in millionths of a US dollar; None: not known.
    """

    text: str
    usage: Usage
    cost: int | None
    model: str
    cut: Literal["turns", "budget"] | None = None
    error: ModelError | None = None


def read_result(done: Finished, costs: Callable[[], tuple[CostState, ...]], struck: Callable[[str], str]) -> Result:
    """How it ended. Raises ModelError where the program said nothing that can be counted on.

    `costs`: those that the transcript tells of. `struck`: takes secrets out of what others say.
    """
    told = _object(done)
    if told is None:
        raise _without_words(done, struck)
    usage, kind = _usage(told.get("usage")), str(told.get("subtype"))
    model = _model(told.get("modelUsage"))
    spent = _cost(told, usage, model, costs)
    text = told.get("result")
    if kind in CUT_OFF:
        return Result("", usage, spent, model, cut=CUT_OFF[kind])
    if told.get("is_error") or kind != "success" or not isinstance(text, str):
        return Result("", usage, spent, model, error=_failure(told, struck))
    return Result(text, usage, spent, model)


def _object(done: Finished) -> Mapping[str, Any] | None:
    if done.late or done.large:
        return None
    try:
        told = json.loads(done.out)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and told.get("type") == "result" else None


def _without_words(done: Finished, struck: Callable[[str], str]) -> ModelError:
    said = struck(done.err.decode("utf-8", "replace"))
    if done.late:
        return ModelUnreachable("the client's fork gave no answer in time and was stopped", hint="it is tried again")
    if done.large:
        return ModelAnswer("the client's fork said more than can be looked at")
    if done.code < 0:
        name = signal.Signals(-done.code).name if -done.code in signal.valid_signals() else str(-done.code)
        return ModelUnreachable(f"the client's fork was ended by {name}", hint="it is tried again")
    if "No conversation found" in said:
        return ModelDeclined(
            "the client does not know this session any more", hint=f"its transcript was moved or deleted; {_KEY}"
        )
    if "unknown option" in said:
        return ModelDeclined(f"the client does not know an option: {said}", hint="update it (`claude update`)")
    what = f"with code {done.code}" + (f": {said}" if said else " and no word of why")
    if done.code:
        return ModelDeclined(f"the client's fork ended {what}", hint=f"try `claude -p hello` in the same place; {_KEY}")
    return ModelAnswer(
        "what the client's program said is no result of the client", hint="see which program `claude` is"
    )


def _failure(told: Mapping[str, Any], struck: Callable[[str], str]) -> ModelError:
    """The error for a result that tells of one. `api_error_status`: the API's, where it answered."""
    errors = told.get("errors")
    words = told.get("result") or (errors[0] if isinstance(errors, list) and errors else "")
    said = struck(str(words))
    status = told.get("api_error_status")
    message = f"the client's fork had no answer: {said}" if said else "the client's fork had no answer"
    low = said.lower()
    if "not logged in" in low or "/login" in low or status in (401, 403):
        return ModelUnauthorized(message, "what the client is logged in with", hint=_LOGIN)
    if "no conversation found" in low:
        return ModelDeclined(message, hint=f"its transcript was moved or deleted; {_KEY}")
    if status == 404 or "selected model" in low:
        return ModelNotFound(message, _model(told.get("modelUsage")), hint="set a model in the client that there is")
    used_up = "limit reached" in low or ("limit" in low and "reset" in low)
    if status in (408, 409, 429) or (isinstance(status, int) and status >= 500) or used_up:
        return ModelBusy(message, hint="it is tried again later")
    if isinstance(status, int):
        return ModelDeclined(message, hint=f"see to the account, or start the session anew; {_KEY}")
    if low.startswith("api error"):
        return ModelUnreachable(message, hint="see whether this machine is on the network")
    if told.get("terminal_reason") == "prompt_too_long" or "too long" in low:
        return ModelDeclined(message, hint=f"the session is too long to be forked; {_KEY}")
    return ModelAnswer(message, passing=True, hint="it is tried again")


def _usage(told: object) -> Usage:
    counts = told if isinstance(told, Mapping) else {}
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(*(value if isinstance(value := counts.get(name), int) else 0 for name in names))


def _model(told: object) -> str:
    """The model that said most."""
    models = told if isinstance(told, Mapping) else {}
    said = {str(name): use.get("outputTokens", 0) for name, use in models.items() if isinstance(use, Mapping)}
    return max(said, key=lambda name: said[name], default="")


def _cost(told: Mapping[str, Any], usage: Usage, model: str, costs: Callable[[], tuple[CostState, ...]]) -> int | None:
    """Of this fork alone: what the client tells, less what it had when it took the session up."""
    total = told.get("total_cost_usd")
    if not isinstance(total, int | float) or isinstance(total, bool):
        return cost(model, usage)
    own = usage.prompt + usage.output
    before = tokens_of(told.get("modelUsage")) - own
    states = costs() if before > 0 else ()
    if not states:
        return _micro(float(total))
    fit = [state for state in states if state.tokens <= before]
    if not fit:
        return cost(model, usage) or _micro(float(total))  # more than it was, rather than less
    nearest = max(fit, key=lambda state: state.tokens)
    return None if nearest.dollars is None else _micro(float(total) - nearest.dollars)


def _micro(dollars: float) -> int:
    """Millionths of a dollar, rounded up but for the last digits of a float."""
    return max(0, ceil(round(dollars * 1_000_000, 3)))

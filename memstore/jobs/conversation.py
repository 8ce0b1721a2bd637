"""A conversation in which a model works by tools: it answers, its calls are carried out, it is told what they came to.

It ends when the model has said its last word, when its turns or its budget are used up, when it refuses, when somebody
calls it off, or when no model answers any more. However it ends, what was said and what it cost is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Literal

from memstore.core.usage import Usage
from memstore.errors import ModelAnswer, ModelError, SettingRefused
from memstore.jobs.messages import (
    LAST_WORD,
    PAUSED,
    PRICED,
    Kept,
    Message,
    Model,
    Reply,
    Request,
    Text,
    ToolResult,
    ToolUse,
    is_blank,
    priced,
)  # fmt: skip

Ended = Literal["said", "turns", "budget", "refused", "cancelled", "failed"]
"""How it ended: the model said its last word; it had more to do when its turns or its budget were used up; it
declined to answer; somebody called it off; no model answered."""

LAST_TURN = (
    "(Your next answer is the last one of this run: the calls of tools in it are carried out, but you will not be told"
    " what they came to.)"
)
CUT_CALL = "Not carried out: the call was cut off, as an answer has at most {limit} tokens. Make it again, smaller."
NO_INPUT = "Not carried out: the input of the call is no JSON object. Make it again."
CUT_ANSWER = "Your answer was cut off, as it has at most {limit} tokens. Go on from there, in smaller steps."
GO_ON = "Go on from there."
SILENT = "(You answered nothing. Go on where there is more to do; else say in one sentence what you came to.)"


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said, and how it ended.

    `messages`: all of it; whoever goes on with the conversation adds to them, and the API's cache serves the rest.
    `error`: why no model answered, where it ended with "failed".
    """

    messages: tuple[Message, ...]
    replies: tuple[Reply, ...]
    ended: Ended
    error: ModelError | None = None

    @property
    def usage(self) -> Usage:
        """The tokens of all answers."""
        return reduce(add, (reply.usage for reply in self.replies), Usage())

    @property
    def cost(self) -> int | None:
        """What all answers cost, in millionths of a US dollar; None where that of one of them is not known."""
        costs = [reply.cost for reply in self.replies]
        known = [one for one in costs if one is not None]
        return sum(known) if len(known) == len(costs) else None

    @property
    def last_text(self) -> str:
        """The words of the last answer."""
        return self.replies[-1].text if self.replies else ""


def converse(
    model: Model,
    request: Request,
    act: Callable[[ToolUse], ToolResult],
    *,
    turns: int,
    budget: int = 0,
    cancelled: Callable[[], bool] = lambda: False,
    earlier: Sequence[Reply] = (),
    last: str = LAST_TURN,
) -> Talk:
    """Lets the model work: at most `turns` answers, whose calls `act` carries out one after the other.

    `earlier`: answers of a conversation that goes on here; they count for the turns and the budget. `last`: what it is
    told before its last turn.
    `budget`: what it may cost, in millionths of a US dollar; 0 for no limit. An answer's cost is known only when it is
    there: none is asked for that would go beyond the budget if it cost what the one before it did. `cancelled` is asked
    before each answer.

    A call that was cut off is never carried out. A model that is gone is no exception but an end: `failed`. Raises
    SettingRefused where there is a budget and the model's price is not known; whatever `act` raises goes through.
    """
    if budget and not priced(request.model):
        raise SettingRefused(
            f"a budget is set, and what {request.model} costs is not known",
            hint=f"unset the budget, or take a model whose price is known: {', '.join(PRICED)}",
        )
    messages, replies = list(request.messages), list[Reply]()

    def ended(how: Ended, error: ModelError | None = None) -> Talk:
        return Talk(tuple(messages), tuple(replies), how, error)

    for turn in range(len(earlier) + 1, turns + 1):
        if cancelled():
            return ended("cancelled")
        if budget and _spent([*earlier, *replies], budget):
            return ended("budget")
        if turn == turns:
            messages[-1] = _told(messages[-1], last)
        try:
            reply = model.reply(replace(request, messages=tuple(messages)))
        except ModelError as error:
            return ended("failed", error)
        replies.append(reply)
        if reply.stop == "refusal":
            return ended("refused")
        if _is_silent(reply) and not any(map(_is_silent, replies[-2:-1])) and turn < turns:
            messages[-1] = _told(messages[-1], SILENT)  # models do that behind results, whatever they had in mind
            continue
        said = _sendable(reply)
        if said.blocks:
            messages.append(said)
        if not reply.uses and not reply.cut and reply.stop != PAUSED:
            return ended("said") if reply.stop in LAST_WORD else ended("failed", _no_end(reply))
        messages.append(_answered(reply, act, request.limit))
    return ended("turns")


def _is_silent(reply: Reply) -> bool:
    return reply.stop in LAST_WORD and not reply.uses and not reply.text.strip()


def _spent(replies: list[Reply], budget: int) -> bool:
    """Whether another answer might go beyond the budget. A cost that is not known might."""
    costs = [reply.cost for reply in replies]
    known = [cost for cost in costs if cost is not None]
    return len(known) < len(costs) or (bool(known) and sum(known) + known[-1] > budget)


def _sendable(reply: Reply) -> Message:
    """The answer as it goes back. The API would refuse thinking that was cut off, as it has no signature."""
    blocks = reply.blocks
    if reply.cut and blocks and isinstance(blocks[-1], Kept):
        blocks = blocks[:-1]
    return Message("assistant", tuple(block for block in blocks if not is_blank(block)))


def _no_end(reply: Reply) -> ModelAnswer:
    """The error for an answer of which nobody knows whether it is the last word: what it says is no outcome."""
    calls = " (the call of a tool is missing)" if reply.stop == "tool_use" else ""
    return ModelAnswer(f"the model stopped for no known reason: {reply.stop[:40]}{calls}", passing=True)


def _answered(reply: Reply, act: Callable[[ToolUse], ToolResult], limit: int) -> Message:
    """What the calls of an answer came to; an answer that was cut off or paused without one is asked to go on."""
    results = [_carried_out(use, act, CUT_CALL.format(limit=limit) if reply.cut else NO_INPUT) for use in reply.uses]
    message = Message("user", tuple(results))
    if reply.cut and all(use.whole for use in reply.uses):
        return _told(message, CUT_ANSWER.format(limit=limit))
    return message if results else _told(message, GO_ON)


def _carried_out(use: ToolUse, act: Callable[[ToolUse], ToolResult], why_not: str) -> ToolResult:
    if not use.whole:
        return ToolResult(use.id, why_not, error=True)
    return replace(act(use), id=use.id)


def _told(message: Message, text: str) -> Message:
    """A message with something more in it: at the end of the last result where there is one.

    Words behind results make models believe that their turn is over, and they answer nothing.
    """
    *rest, last = message.blocks or (Text(""),)
    if isinstance(last, ToolResult):
        return replace(message, blocks=(*rest, replace(last, text=f"{last.text}\n\n{text}".lstrip("\n"))))
    return replace(message, blocks=(*message.blocks, Text(text)))

"""An answer of the Messages API as it comes, in events or in one piece, made a `Reply`.

Nothing of what comes is taken for granted: a gateway may send another API's shape, half an answer, or a page. What
does not fit is refused; kinds of events and blocks that are not known are passed over or kept as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from memstore.core.usage import Usage
from memstore.errors import ModelAnswer, ModelError, ModelUnreachable
from memstore.jobs.messages import CUT, Block, Kept, Reply, Text, ToolUse

MOMENT = "it may be better in a moment"

Failure = Callable[[str, str], ModelError]
"""The error for one that the API tells inside an answer: its kind and its message."""

_TOKENS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_written",
}


def collect(events: Iterable[str], host: str, failure: Failure) -> Reply:
    """The answer that comes as events, given the data of each. Reads no further than its last event.

    Raises ModelAnswer for another shape, ModelUnreachable where it breaks off, and what `failure` makes of an error.
    """
    answer = _Answer(host)
    for data in events:
        if not data:
            continue
        if data == "[DONE]":
            raise _openai(host)
        value = _object(data, host)
        if value.get("type") == "error":
            raise _failed(value, failure)
        answer.take(value)
        if answer.done:
            break
    return answer.finish()


def whole(body: str, host: str, failure: Failure) -> Reply:
    """The answer that comes in one piece, as some gateways send it whatever was asked. Raises as `collect` does."""
    value = _object(body, host)
    if value.get("type") == "error" or ("error" in value and "content" not in value):
        raise _failed(value, failure)
    content = value.get("content")
    if value.get("type") != "message" or not isinstance(content, list):
        raise _strange(host, "no message is in it")
    answer = _Answer(host)
    answer.start(value)
    for index, block in enumerate(content):
        answer.parts[index] = _Part(_mapping(block, host))
    answer.stop = _text(value.get("stop_reason") or "", host)
    answer.done = True
    return answer.finish()


def no_message(host: str, what: str) -> ModelAnswer:
    """The error for an answer that is something else altogether."""
    return ModelAnswer(
        f"{host} answered with {what}, not with a message",
        hint="see that nothing stands between: a page to log in to the network, or another program at this address",
        passing=True,
    )


def clean(text: str) -> str:
    """The text with halves of characters made U+FFFD: no encoding takes them, and models send them at times."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(slots=True)
class _Part:
    """A block that is being sent: how it began, and what was added to it."""

    began: Mapping[str, Any]
    added: dict[str, list[str]] = field(default_factory=dict)

    def block(self, host: str) -> Block:
        kind = self.began.get("type")
        if kind == "text":
            return Text(clean(self.grown("text", host)))
        if kind == "tool_use":
            name, identity = (_text(self.began.get(of), host) for of in ("name", "id"))
            if not name or not identity:
                raise _strange(host, "a call of a tool has no name or no id")
            given = "".join(self.added.get("partial_json", ()))
            value = _input(given) if given else _sendable(self.began.get("input"))
            if not isinstance(value, dict):
                return ToolUse(clean(identity), clean(name), {}, whole=False)
            return ToolUse(clean(identity), clean(name), value)
        grown = {name: self.grown(name, host) for name in ("thinking", "signature") if name in self.began}
        kept = _sendable({**self.began, **grown})
        if kept is None:
            raise _strange(host, "a block holds what cannot be sent back")
        return Kept(kept)

    def grown(self, name: str, host: str) -> str:
        return _text(self.began.get(name) or "", host) + "".join(self.added.get(name, ()))


@dataclass(slots=True)
class _Answer:
    """What has come of an answer."""

    host: str
    started: bool = False
    done: bool = False
    strange: bool = False
    stop: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    parts: dict[int, _Part] = field(default_factory=dict)

    def take(self, value: Mapping[str, Any]) -> None:
        if "choices" in value:
            raise _openai(self.host)
        match value.get("type"):
            case "message_start":
                self.start(_mapping(value.get("message"), self.host))
            case "content_block_start":
                self.parts[self.index(value)] = _Part(_mapping(value.get("content_block"), self.host))
            case "content_block_delta":
                self.add(self.index(value), _mapping(value.get("delta"), self.host))
            case "message_delta":
                delta = _mapping(value.get("delta"), self.host)
                self.stop = _text(delta.get("stop_reason") or "", self.host) or self.stop
                self.count(value.get("usage"))
            case "message_stop":
                self.done = self.started
            case "content_block_stop" | "ping":
                pass
            case _:
                self.strange = True

    def start(self, message: Mapping[str, Any]) -> None:
        self.started = True
        self.model = _text(message.get("model") or "", self.host)
        self.count(message.get("usage"))

    def add(self, index: int, delta: Mapping[str, Any]) -> None:
        if index not in self.parts:
            raise _strange(self.host, "a part of a block comes before its start")
        added = self.parts[index].added
        for name in ("text", "partial_json", "thinking", "signature"):
            if name in delta:
                added.setdefault(name, []).append(_text(delta[name], self.host))

    def count(self, usage: object) -> None:
        """Counts are totals: the later stands over the earlier, and one that is left out leaves it."""
        if not isinstance(usage, Mapping):
            return
        counts = {ours: usage.get(theirs) for theirs, ours in _TOKENS.items()}
        numbers = {name: number for name, number in counts.items() if type(number) is int and number >= 0}
        self.usage = replace(self.usage, **numbers)

    def index(self, value: Mapping[str, Any]) -> int:
        index = value.get("index")
        if type(index) is not int:
            raise _strange(self.host, "a block has no number")
        return index

    def finish(self) -> Reply:
        """The whole. An answer that told why it stopped has ended, with or without the last event."""
        if not self.done and not (self.started and self.stop):
            if self.strange and not self.started:
                raise _strange(self.host, "its events are others")
            where = "in the middle" if self.started else "before it began"
            raise ModelUnreachable(f"the answer of {self.host} broke off {where}", hint=MOMENT)
        blocks = [self.parts[index].block(self.host) for index in sorted(self.parts)]
        stop = self.stop or ("tool_use" if any(isinstance(block, ToolUse) for block in blocks) else "end_turn")
        # The API ends a block that it cuts off like any other, and half an input may be JSON by chance.
        if stop in CUT and blocks and isinstance(last := blocks[-1], ToolUse):
            blocks[-1] = replace(last, whole=False)
        return Reply(tuple(blocks), stop, self.usage, self.model)


def _object(data: str, host: str) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        kind = "an HTML page" if data.lstrip()[:1] == "<" else "something that is not JSON"
        raise no_message(host, kind) from None
    if isinstance(value, Mapping) and "choices" in value:
        raise _openai(host)
    return _mapping(value, host)


def _input(text: str) -> Any:
    try:
        return _sendable(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _sendable(value: Any) -> Any:
    """A value as it can go back to the API; None for one that JSON has no words for, or that is nested too deeply."""
    try:
        json.dumps(value, allow_nan=False)  # NaN is no JSON, and 1e999 becomes infinite
        return _cleaned(value)
    except (ValueError, RecursionError):
        return None


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item) for item in value]
        case dict():
            return {clean(key): _cleaned(item) for key, item in value.items()}
        case _:
            return value


def _mapping(value: object, host: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _strange(host, "an object is missing")
    return value


def _text(value: object, host: str) -> str:
    if not isinstance(value, str):
        raise _strange(host, "a text is missing")
    return value


def _failed(value: Mapping[str, Any], failure: Failure) -> ModelError:
    error = value.get("error")
    told = error if isinstance(error, Mapping) else {"message": error}
    kind, message = told.get("type"), told.get("message")
    return failure(kind if isinstance(kind, str) else "", message if isinstance(message, str) else "")


def _strange(host: str, why: str) -> ModelAnswer:
    return ModelAnswer(
        f"{host} answered in a shape that the Messages API does not have: {why}",
        hint="see that ANTHROPIC_BASE_URL leads to an API that has /v1/messages",
    )


def _openai(host: str) -> ModelAnswer:
    return ModelAnswer(
        f"{host} answered in the shape of OpenAI's API (`choices`), not of the Messages API",
        hint="set ANTHROPIC_BASE_URL to where the gateway has /v1/messages; its manual says where",
    )

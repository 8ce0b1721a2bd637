"""The Messages API as a `Model`: the only place that asks it, by its own library.

The library is loaded with the first request, so that whoever only looks whether a model could be asked does not pay
for it. What it raises becomes a ModelError; a slow answer is waited for as long as something of it comes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from memstore.errors import ModelError
from memstore.jobs import answers, failures
from memstore.jobs.answers import clean
from memstore.jobs.endpoint import Endpoint, find_credential, find_endpoint
from memstore.jobs.messages import Block, Kept, Message, Reply, Request, Text, ToolResult, ToolUse, is_blank

if TYPE_CHECKING:
    from anthropic import Anthropic, Stream
    from anthropic.types import RawMessageStreamEvent

PATIENCE = 300.0
"""Seconds without a word after which an answer is given up: the API sends something every few seconds."""

CONNECT = 10.0
"""Seconds to reach the server."""

LONGEST_WAIT = 30.0
"""Seconds that a request waits for its next try at most; what asks for more is told and tried by a later run."""

_CACHED = {"type": "ephemeral"}


def configured(environment: Mapping[str, str]) -> str | None:
    """The variable whose key or token would be sent; None where no model can be asked.

    Raises SettingRefused where its value is unfit.
    """
    credential = find_credential(environment)
    return None if credential is None else credential.variable


@dataclass(frozen=True, slots=True)
class ApiModel:
    """A model behind the Messages API.

    `patience`: seconds without a word after which an answer is given up. `retries`: how often a request is made
    again that met a limit, an overload or no connection; nothing is repeated once an answer has begun.
    """

    endpoint: Endpoint
    patience: float = PATIENCE
    retries: int = 2

    @classmethod
    def of(cls, environment: Mapping[str, str], *, patience: float = PATIENCE, retries: int = 2) -> ApiModel:
        """The one that an environment names. Raises ModelUnset or SettingRefused."""
        return cls(find_endpoint(environment), patience, retries)

    def reply(self, request: Request) -> Reply:
        """The answer to a request. Raises ModelError; SettingRefused for a proxy that cannot be used."""
        import anthropic

        endpoint = self.endpoint
        with closing(self._client()) as client:
            try:
                with client.messages.create(**body(request), stream=True) as stream:
                    return self._read(stream, request.model)
            except ModelError:
                raise
            except anthropic.APIStatusError as error:
                wait = _wait(error.response.headers)
                # `from None`: what the library raises holds the request, and that the key.
                raise failures.of_status(endpoint, request.model, error.status_code, error.body, wait) from None
            except anthropic.APIConnectionError as error:
                raise failures.of_connection(endpoint, error, self.patience) from None
            except Exception as error:
                if not failures.is_of_transport(error):
                    raise
                # In the body of a refusal: what happens there the library leaves as it is.
                raise failures.of_broken_answer(endpoint, error, self.patience) from None

    def _client(self) -> Anthropic:
        import anthropic

        credential = self.endpoint.credential
        try:
            http = anthropic.DefaultHttpxClient()
        except (ImportError, ValueError):  # for a proxy of a kind that it does not know
            raise failures.unfit_proxy(self.endpoint) from None
        except OSError as error:
            raise failures.unfit_certificates(error) from None
        return anthropic.Anthropic(
            api_key=credential.value if credential.variable == "ANTHROPIC_API_KEY" else None,
            auth_token=credential.value if credential.variable != "ANTHROPIC_API_KEY" else None,
            base_url=self.endpoint.address.url,
            timeout=anthropic.Timeout(self.patience, connect=min(CONNECT, self.patience)),
            max_retries=self.retries,
            http_client=http,
            middleware=[self._hasten],
        )

    def _hasten(self, request: Any, call_next: Any) -> Any:
        """Between the library's tries: it would wait as long as the server asks for, be it an hour."""
        response = call_next(request)
        status: int = response.status_code
        wait = _wait(response.headers) if status >= 400 else None
        if wait is not None and wait > LONGEST_WAIT:
            response.http_response.close()
            raise failures.too_long_a_wait(self.endpoint, status, wait)
        return response

    def _read(self, stream: Stream[RawMessageStreamEvent], model: str) -> Reply:
        host = self.endpoint.address.host

        def failure(kind: str, message: str) -> ModelError:
            return failures.of_kind(self.endpoint, model, kind, message)

        kind = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            return answers.collect(self._events(stream), host, failure)
        if kind.endswith("json"):
            return answers.whole("".join(self._pieces(stream)), host, failure)
        raise failures.not_a_message(self.endpoint, kind)

    def _events(self, stream: Stream[RawMessageStreamEvent]) -> Iterator[str]:
        """The data of each event. What happens after an answer's first byte the library leaves as it is."""
        from anthropic import Stream

        yield from self._guarded(event.data for event in Stream.raw_events(stream.response))

    def _pieces(self, stream: Stream[RawMessageStreamEvent]) -> Iterator[str]:
        yield from self._guarded(stream.response.iter_text())

    def _guarded(self, pieces: Iterator[str]) -> Iterator[str]:
        while True:
            try:
                piece = next(pieces)
            except StopIteration:
                return
            except UnicodeDecodeError:
                raise failures.not_a_message(self.endpoint, "bytes that are no text") from None
            except Exception as error:  # of the transport's own kinds, which are no part of the library
                raise failures.of_broken_answer(self.endpoint, error, self.patience) from None
            yield piece


def body(request: Request) -> dict[str, Any]:
    """The request as the API takes it. Marks for its cache: the tools, the system, and the last two messages of ours.

    The last but one is marked again because the API looks back twenty blocks only, and one turn may have more.
    """
    made: dict[str, Any] = {"model": request.model, "max_tokens": request.limit}
    if request.tools:
        made["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ]
        made["tools"][-1]["cache_control"] = _CACHED
    if request.system:
        made["system"] = [{"type": "text", "text": clean(text)} for text in request.system]
        made["system"][-1]["cache_control"] = _CACHED
    made["messages"] = [_message(message) for message in request.messages]
    ours = [message["content"] for message in made["messages"] if message["role"] == "user"]
    for content in filter(None, ours[-2:]):
        content[-1]["cache_control"] = _CACHED
    if request.schema is not None:
        made["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
    return made


def _message(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": [_block(block) for block in message.blocks if not is_blank(block)]}


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": clean(text)}
        case ToolUse(identity, name, given, _):
            return {"type": "tool_use", "id": identity, "name": name, "input": dict(given)}
        case ToolResult(identity, text, error):
            result = {"type": "tool_result", "tool_use_id": identity, "content": clean(text)}
            return {**result, "is_error": True} if error else result
        case Kept(data):
            return dict(data)


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, in whichever way it says so; None where it does not."""
    with suppress(ValueError):
        return _bounded(float(headers.get("retry-after-ms", "")) / 1000)
    given = headers.get("retry-after", "")
    with suppress(ValueError):
        return _bounded(float(given))
    with suppress(ValueError, OverflowError):
        return _bounded(parsedate_to_datetime(given).timestamp() - time.time())
    return None


def _bounded(seconds: float) -> float | None:
    return None if seconds != seconds else min(max(seconds, 0.0), 1e7)

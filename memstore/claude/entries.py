"""One line of a transcript as entries: what was said in it, and who said it. Pure.

The client calls the format internal. What is read here was seen in transcripts of 2.1.332 (tests/data) and is told of
by the types of the official SDK; `speakers.py` has the rules by which words are a person's.

- `user` carries what a person typed, results of tools, and much that the client put there itself.
- `assistant`: one line for each block of an answer; each repeats the usage of the whole answer.
- `attachment`: what goes along with a prompt. A prompt that was typed while the model worked is one, too.
- `system`: `compact_boundary`; all others tell the person something.
- Lines of these types and `progress` are a chain by `parentUuid`, so that each becomes an entry, if one without text.
- All other types are the client's own book-keeping and are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from memstore.claude.speakers import Kind, Part, answered, is_mid_turn, is_set, said

LONGEST: Final[Mapping[Kind, int]] = {"tool": 4000, "machine": 2000, "subagent": 2000, "summary": 20_000}
"""Characters of a text that are kept: its beginning and its end. People and the assistant are kept whole."""

_BAD = re.compile("[\0\ud800-\udfff]")
_DATA = re.compile("[A-Za-z0-9+/]{1000,}={0,2}")
_LONGEST_NAME = 500
_LONGEST_COMMAND = 4000
_DIGEST = 8


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the assistant called. `path`: its `file_path`; `command`: its `command`, at most 4000 characters."""

    name: str
    id: str
    path: str | None
    command: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """What one speaker said in one line.

    `id`: the line's; entries of one line share it. Empty where the line has none.
    `parent`: the id of the line that this one follows; empty at the root of a chain; None where the line does not say.
    `text`: without images and other data, cut as `LONGEST` says; empty where the line is only a link of the chain.
    `at`: ISO 8601, as the client wrote it. `line`: its number, from 1. `end`: bytes of the file up to the line's end.
    `digest`: 8 bytes that stand for id, kind and text; a copy of the line in another file has the same. `original`:
    where the copy got an id of its own, the digest of what it is a copy of.
    `tokens`: how large the context was after this answer. `answers`: the call whose result this is; `failed`: the tool
    did not do it, or the person did not let it.
    """

    id: str
    parent: str | None
    kind: Kind
    text: str
    at: str
    session: str
    branch: str
    cwd: str
    prompt_id: str
    line: int
    end: int
    digest: bytes
    tools: tuple[ToolCall, ...] = ()
    tokens: int | None = None
    answers: str | None = None
    failed: bool = False
    original: bytes | None = None


def entries_of(content: bytes, line: int, end: int) -> tuple[list[Entry], int] | None:
    """The entries of a line, and how many characters of their texts could not be kept; None: it is no JSON object.

    NUL, halves of surrogate pairs and bytes that are not UTF-8 become U+FFFD.
    """
    try:
        row = json.loads(content.decode("utf-8", "surrogateescape").strip(" \t\r\0\ufeff"), strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    made: list[Entry] = []
    replaced = 0
    for part in _parts(row):
        text, bad = _BAD.subn("\ufffd", part.text)
        replaced += bad
        made.append(_entry(row, part, text, line, end))
    return made, replaced


def _parts(row: Mapping[str, object]) -> list[Part]:
    match row.get("type"):
        case "user":
            parts = _of_user(row)
        case "assistant":
            parts = [_of_assistant(row)]
        case "attachment":
            parts = _of_attachment(row)
        case "system" if row.get("subtype") == "compact_boundary":
            parts = [Part("boundary", "")]
        case "system" if row.get("subtype") == "local_command":
            parts = [Part("machine", _text(row.get("content")))]
        case "system" | "progress":
            parts = [Part("machine", "")]
        case _:
            return []
    # A subagent's words are its own, whatever they look like; a team mate is another agent.
    if is_set(row, "isSidechain") or is_set(row, "agentId") or is_set(row, "teamName"):
        parts = [Part("subagent", part.text, part.answers) for part in parts]
    return parts


def _of_user(row: Mapping[str, object]) -> list[Part]:
    message = _mapping(row.get("message"))
    content = message.get("content")
    blocks = list(_blocks(content))
    if message.get("role") not in (None, "user"):  # it says itself that the person did not say it
        return [Part("machine", "\n".join(_texts(content)))]
    results = [
        Part(
            "tool",
            "\n".join(_texts(block.get("content"))),
            _name(block.get("tool_use_id")) or None,
            block.get("is_error") is True,
        )
        for block in blocks
        if block.get("type") == "tool_result"
    ]
    words = [Part("person", text) for text in answered(row)]
    return [*results, *words, *said(row, list(_texts(content)), beside=bool(results), whole=isinstance(content, str))]


def _of_assistant(row: Mapping[str, object]) -> Part:
    message = _mapping(row.get("message"))
    content = message.get("content")
    # What the client says in the assistant's place: errors of the API, an answer that was never given.
    synthetic = message.get("model") == "<synthetic>" or is_set(row, "isApiErrorMessage")
    return Part("machine" if synthetic else "assistant", "\n".join(_texts(content)))


def _of_attachment(row: Mapping[str, object]) -> list[Part]:
    attachment = _mapping(row.get("attachment"))
    kind = _text(attachment.get("type"))
    if kind == "queued_command":
        texts = list(_texts(attachment.get("prompt")))
        if is_mid_turn(row, attachment):
            return said(attachment, texts, beside=False, whole=isinstance(attachment.get("prompt"), str))
        return [Part("machine", "\n".join(texts))]
    if kind == "file":
        return [Part("tool", _text(_mapping(_mapping(attachment.get("content")).get("file")).get("content")))]
    content = attachment.get("content") if kind.startswith("hook_") else None
    lines = content if isinstance(content, list) else [content]
    return [Part("machine", "\n".join(filter(None, map(_text, lines))))]


def _entry(row: Mapping[str, object], part: Part, text: str, line: int, end: int) -> Entry:
    identity, at = _name(row.get("uuid")), _name(row.get("timestamp"))
    text = _shortened(text, LONGEST.get(part.kind))
    own = row.get("type") == "assistant" and part.kind == "assistant"
    # A fork by the SDK (`fork_session`) gives each line another id and names the old one; other forks keep the ids.
    copied = _name(_mapping(row.get("forkedFrom")).get("messageUuid"))
    return Entry(
        id=identity,
        parent=_parent(row),
        kind=part.kind,
        text=text,
        at=at,
        session=_name(row.get("sessionId")),
        branch=_name(row.get("gitBranch")),
        cwd=_name(row.get("cwd"), 4096),
        prompt_id=_name(row.get("promptId")),
        line=line,
        end=end,
        digest=_digest(identity or at, part.kind, text),
        tools=tuple(_tools(row)) if own else (),
        tokens=_tokens(row) if own else None,
        answers=part.answers,
        failed=part.failed,
        original=_digest(copied, part.kind, text) if copied and copied != identity else None,
    )


def _digest(identity: str, kind: Kind, text: str) -> bytes:
    return blake2b("\0".join((identity, kind, text)).encode(), digest_size=_DIGEST).digest()


def _parent(row: Mapping[str, object]) -> str | None:
    """A compaction begins a new chain; what came before it was said all the same."""
    if "parentUuid" not in row:
        return None
    return _name(row["parentUuid"]) or _name(row.get("logicalParentUuid"))


def _tools(row: Mapping[str, object]) -> Iterator[ToolCall]:
    for block in _blocks(_mapping(row.get("message")).get("content")):
        if block.get("type") == "tool_use":
            given = _mapping(block.get("input"))
            path, command = given.get("file_path"), given.get("command")
            yield ToolCall(
                _name(block.get("name")),
                _name(block.get("id")),
                _name(path, 4096) if isinstance(path, str) else None,
                _shortened(_plain(command), _LONGEST_COMMAND) if isinstance(command, str) else None,
            )


def _tokens(row: Mapping[str, object]) -> int | None:
    usage = _mapping(row.get("message")).get("usage")
    if not isinstance(usage, dict):
        return None
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return sum(count for name in names if type(count := usage.get(name)) is int and count > 0)


def _shortened(text: str, limit: int | None) -> str:
    """The text without long runs of data, and with its middle left out where it is longer than `limit`."""
    if limit is not None and len(text) > limit:
        head, tail = text[: limit * 3 // 4], text[len(text) - limit // 4 :]
        text = f"{head} [... {len(text) - len(head) - len(tail)} characters left out ...] {tail}"
    return _DATA.sub(lambda found: f"[{len(found[0])} characters of data]", text)


def _blocks(content: object) -> Iterator[Mapping[str, object]]:
    if isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in _blocks(content):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    return _BAD.sub("\ufffd", text)


def _name(value: object, limit: int = _LONGEST_NAME) -> str:
    return _plain(value[:limit]) if isinstance(value, str) else ""


__all__: Sequence[str] = ("LONGEST", "Entry", "Kind", "ToolCall", "entries_of")

"""Memories as one JSON document, with all their versions, operations and index lines: writing it and reading it. Pure.

    {"memstore_export": 1, "store": ID, "as_of": N, "since": N, "scope": SCOPE,
    "operations": [ ... ],
    "memories": [ ... ],
    "index": [ ... ],
    "team": [ ... ],
    "digest": HEX}

`memstore_export` is the number of this format: what reads 1 refuses a higher one. `as_of`: the last operation that
counts; `since`: only memories that an operation after this one wrote (0: all). One operation, memory or line stands on
one line of the file, so that two exports can be compared by lines; the same memories give the same bytes.

| part | its objects |
|---|---|
| operations | `id`, `seq`, `kind`, `at`, `origin`, `author`, `session`, `worktree`, `branch`, `commit`, `reason`, |
| | `undoes` |
| memories | `id`, `scope`, `layer`, `listing`, `created_at`, `versions`, the oldest first; the last one is current |
| versions | `version`, `token`, `parent`, `change`, `path`, `live`, `pinned`, `superseded_by`, `name`, |
| | `description`, `type`, `origin`, `operation`, `seq`, `at`, `content`, `encoding` |
| index | `id`, `scope`, `layer`, `rank`, `kind`, `text`, `memory`, `hook_by` |
| team | `path`, `content`, `encoding`: files that the client shares, as they lay there |

`content` is the text with `encoding` "utf-8", or "base64" where it is not UTF-8. A version that holds a secret and was
not to be taken along has `content` and `encoding` null, no name and no description, and `withheld`: {`rule`, `line`}.
Times are such as 2026-03-01T12:00:00.000000Z. `digest` is over all that stands before it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final, TypeVar, cast

from memstore.core.ids import digest
from memstore.core.model import ORIGINS, Listing, Operation, Origin, Provenance, Shelf, State, Version
from memstore.errors import ImportRefused

T = TypeVar("T")
FORMAT: Final = 1
BEGINNING: Final = b'{"memstore_export": '
"""The first bytes of such a document as it is written here."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HALF: Final = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which is no character."""
_LISTINGS: Final = ("listed", "due", "unlisted")
_LARGEST_NUMBER: Final = 2**63 - 1
_HINT: Final = "export it again, or take another copy of it"


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why the text of a version stays away: the rule of `core.secrets` and the line of the text."""

    rule: str
    line: int


@dataclass(frozen=True, slots=True)
class Carried:
    """A memory with its versions, the oldest first. `withheld`: of those whose text stays away, by token."""

    id: str
    shelf: Shelf
    listing: Listing
    created_at: int
    versions: tuple[Version, ...]
    withheld: Mapping[str, Withheld]

    @property
    def head(self) -> Version:
        """The version that is current."""
        return self.versions[-1]


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A line of an index. `memory`: the id of the memory that it points to."""

    id: str
    shelf: Shelf
    rank: str
    kind: str
    text: str
    memory: str | None
    hook_by: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one document holds. `team`: (path, content)."""

    store: str
    as_of: int
    since: int
    scope: str
    operations: tuple[Operation, ...]
    memories: tuple[Carried, ...]
    index: tuple[IndexRow, ...]
    team: tuple[tuple[str, bytes], ...] = ()


# Writing


def written(exchange: Exchange) -> Iterator[bytes]:
    """The document up to its digest, piece by piece; `closed` makes it whole."""
    head = {
        "memstore_export": FORMAT,
        "store": exchange.store,
        "as_of": exchange.as_of,
        "since": exchange.since,
        "scope": exchange.scope,
    }
    yield f"{_dumped(head)[:-1]},\n".encode()
    yield from _array("operations", map(_operation, exchange.operations))
    yield from _array("memories", map(_memory, exchange.memories))
    yield from _array("index", map(_index_row, exchange.index))
    yield from _array("team", ({"path": path, **_content(content)} for path, content in exchange.team))


def ending(hexadecimal: str) -> bytes:
    """What closes a document with this digest. It is always of the same length."""
    return f'"digest": "{hexadecimal}"}}\n'.encode()


def document(exchange: Exchange) -> bytes:
    """The whole document."""
    return closed(b"".join(written(exchange)))


def closed(body: bytes) -> bytes:
    """The document whose pieces were joined."""
    return body + ending(sealed(body))


def sealed(body: bytes) -> str:
    """The digest of what stands before it, in 64 hex characters."""
    return digest(body, length=64)


def _array(name: str, objects: Iterator[dict[str, object]]) -> Iterator[bytes]:
    yield f'"{name}": ['.encode()
    before = "\n"
    for one in objects:
        yield f"{before}{_dumped(one)}".encode()
        before = ",\n"
    yield b"],\n" if before == "\n" else b"\n],\n"


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _operation(operation: Operation) -> dict[str, object]:
    who = operation.provenance
    return {
        "id": operation.id, "seq": operation.seq, "kind": operation.kind, "at": _time(operation.at),
        "origin": who.origin, "author": who.author, "session": who.session, "worktree": who.worktree,
        "branch": who.branch, "commit": who.commit, "reason": operation.reason, "undoes": operation.undoes,
    }  # fmt: skip


def _memory(memory: Carried) -> dict[str, object]:
    return {
        "id": memory.id, "scope": memory.shelf.scope, "layer": memory.shelf.layer, "listing": memory.listing,
        "created_at": _time(memory.created_at),
        "versions": [_version(version, memory.withheld.get(version.token)) for version in memory.versions],
    }  # fmt: skip


def _version(version: Version, withheld: Withheld | None) -> dict[str, object]:
    state = version.state
    shown: dict[str, object] = {
        "version": version.number, "token": version.token, "parent": version.parent, "change": version.change,
        "path": state.path, "live": state.live, "pinned": state.pinned, "superseded_by": state.superseded_by,
        "name": "" if withheld else version.name, "description": "" if withheld else version.description,
        "type": version.type, "origin": version.origin, "operation": version.operation, "seq": version.seq,
        "at": _time(version.at),
    }  # fmt: skip
    if withheld:
        mark = {"rule": withheld.rule, "line": withheld.line}
        return {**shown, "content": None, "encoding": None, "withheld": mark}
    return {**shown, **_content(state.content)}


def _index_row(row: IndexRow) -> dict[str, object]:
    return {
        "id": row.id, "scope": row.shelf.scope, "layer": row.shelf.layer, "rank": row.rank, "kind": row.kind,
        "text": row.text, "memory": row.memory, "hook_by": row.hook_by,
    }  # fmt: skip


def _content(content: bytes) -> dict[str, object]:
    try:
        return {"content": content.decode("utf-8"), "encoding": "utf-8"}
    except UnicodeDecodeError:
        return {"content": base64.b64encode(content).decode("ascii"), "encoding": "base64"}


def _time(microseconds: int) -> str:
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return f"{moment.strftime('%Y-%m-%dT%H:%M:%S')}.{moment.microsecond:06d}Z"


# Reading


def is_exchange(content: bytes) -> bool:
    """Whether a text begins as these documents do, whoever has set its spaces since."""
    return b"".join(content[:200].split()).startswith(b"".join(BEGINNING.split()))


def parsed(content: bytes) -> Exchange:
    """What a document holds. Raises ImportRefused with the place of what is damaged, and for a newer format."""
    try:
        value = json.loads(content.removeprefix(b"\xef\xbb\xbf").decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise _damaged(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _damaged(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (RecursionError, ValueError):
        raise _damaged("it is nested too deeply, or holds a number that is too long") from None
    top = _Read(value, "")
    number = top.number("memstore_export")
    if number > FORMAT:
        raise ImportRefused(
            f"the export has format {number}, and this memstore reads {FORMAT}", hint="update memstore, then try again"
        )
    return Exchange(
        top.text("store"),
        top.number("as_of"),
        top.number("since"),
        top.text("scope"),
        top.each("operations", _read_operation),
        top.each("memories", _read_memory),
        top.each("index", _read_index_row),
        top.each("team", lambda one: (one.text("path"), one.content())),
    )


def _no_number(text: str) -> object:
    raise _damaged(f"{text} is no number")


def _damaged(what: str) -> ImportRefused:
    return ImportRefused(f"the export is damaged: {what}", hint=_HINT)


class _Read:
    """An object of the document, with its place in it for whoever has to mend it."""

    def __init__(self, value: object, place: str) -> None:
        if not isinstance(value, dict):
            raise _damaged(f"{place or 'it'} is no object")
        self._value: Mapping[str, Any] = value
        self._place = place

    def _at(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key

    def text(self, key: str) -> str:
        found = self._value.get(key)
        if not isinstance(found, str) or not (found.isascii() or _HALF.search(found) is None):
            raise _damaged(f"{self._at(key)} is no text")
        return found

    def text_or_none(self, key: str) -> str | None:
        return None if self._value.get(key) is None else self.text(key)

    def number(self, key: str) -> int:
        found = self._value.get(key)
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _LARGEST_NUMBER:
            raise _damaged(f"{self._at(key)} is no number")
        return found

    def flag(self, key: str) -> bool:
        found = self._value.get(key)
        if not isinstance(found, bool):
            raise _damaged(f"{self._at(key)} is neither true nor false")
        return found

    def one_of(self, key: str, values: Sequence[str]) -> str:
        found = self.text(key)
        if found not in values:
            raise _damaged(f"{self._at(key)} is none of {', '.join(values)}")
        return found

    def moment(self, key: str) -> int:
        try:
            found = datetime.fromisoformat(self.text(key))
            return (found - _EPOCH) // timedelta(microseconds=1)
        except (ValueError, TypeError, OverflowError):  # TypeError: a time without its offset
            raise _damaged(f"{self._at(key)} is no time") from None

    def content(self) -> bytes:
        text = self.text("content")
        if self.one_of("encoding", ("utf-8", "base64")) == "utf-8":
            return text.encode("utf-8")
        try:
            return base64.b64decode(text.encode("ascii"), validate=True)
        except (ValueError, binascii.Error):
            raise _damaged(f"{self._at('content')} is no base64") from None

    def withheld(self) -> Withheld | None:
        if self._value.get("withheld") is None:
            return None
        mark = _Read(self._value["withheld"], self._at("withheld"))
        return Withheld(mark.text("rule"), mark.number("line"))

    def shelf(self) -> Shelf:
        return Shelf(self.text("scope"), self.text("layer"))

    def each(self, key: str, read: Callable[[_Read], T]) -> tuple[T, ...]:
        found = self._value.get(key)
        if not isinstance(found, list):
            raise _damaged(f"{self._at(key)} is no list")
        return tuple(read(_Read(one, f"{self._at(key)}[{at}]")) for at, one in enumerate(found))


def _read_operation(one: _Read) -> Operation:
    who = Provenance(
        _origin(one), one.text("author"), one.text_or_none("session"), one.text_or_none("worktree"),
        one.text_or_none("branch"), one.text_or_none("commit"),
    )  # fmt: skip
    return Operation(
        one.text("id"), one.number("seq"), one.text("kind"), one.moment("at"), who, one.text("reason"),
        one.text_or_none("undoes"),
    )  # fmt: skip


def _read_memory(one: _Read) -> Carried:
    memory, shelf = one.text("id"), one.shelf()
    withheld: dict[str, Withheld] = {}
    versions = one.each("versions", lambda version: _read_version(version, memory, shelf, withheld))
    if not versions or any(later.number <= before.number for before, later in pairwise(versions)):
        raise _damaged(f"the versions of the memory {memory[:40]} are not in their order")
    listing = cast(Listing, one.one_of("listing", _LISTINGS))
    return Carried(memory, shelf, listing, one.moment("created_at"), versions, withheld)


def _read_version(one: _Read, memory: str, shelf: Shelf, withheld: dict[str, Withheld]) -> Version:
    token, mark = one.text("token"), one.withheld()
    if mark is not None:
        withheld[token] = mark
    content = b"" if mark is not None else one.content()
    state = State(
        shelf, one.text("path"), content, one.flag("live"), one.flag("pinned"), one.text_or_none("superseded_by")
    )
    return Version(
        memory, one.number("version"), token, one.text_or_none("parent"), one.text("change"), state, one.text("name"),
        one.text("description"), one.text_or_none("type"), _origin(one), one.text("operation"), one.number("seq"),
        one.moment("at"),
    )  # fmt: skip


def _read_index_row(one: _Read) -> IndexRow:
    return IndexRow(
        one.text("id"), one.shelf(), one.text("rank"), one.text("kind"), one.text("text"), one.text_or_none("memory"),
        one.text("hook_by"),
    )  # fmt: skip


def _origin(one: _Read) -> Origin:
    return cast(Origin, one.one_of("origin", ORIGINS))

"""Documents as resources: their URIs, a page of the list, one's text; and what changed since somebody last looked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstore.app import Memstore
from memstore.core.model import INDEX_NAME, Memory
from memstore.errors import NameRefused, NotFound
from memstore.mcp.answers import moment
from memstore.mcp.desk import PROJECT, Desk, check_store
from memstore.mcp.names import document, is_index, of_uri, uri_of
from memstore.mcp.pages import PAGE, page_of, refused, shortened
from memstore.mcp.reading import documents, index_text
from memstore.store import reader, shown

TEMPLATE = "memory://{store}/{+path}"
INDEX_URI = uri_of(PROJECT, INDEX_NAME)
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Listed:
    """A resource in the list."""

    uri: str
    name: str
    description: str
    size: int | None = None
    changed: str | None = None


@dataclass(frozen=True, slots=True)
class News:
    """The newest operation of a store, and the documents that were changed up to it. None: all may have been."""

    seq: int
    paths: tuple[str, ...] | None = ()


def listed(desk: Desk, cursor: str | None) -> tuple[list[Listed], str | None]:
    """A page of the resources, the index first, and the cursor of the next page."""
    after = "" if cursor is None else _after(cursor)
    try:
        return desk.use(lambda memories: _listed(documents(memories, cursor), after))
    except NotFound:
        return _listed([], after)


def canonical(uri: str) -> str:
    """The URI that the list has for what `uri` means. Raises NameRefused or InputRefused where it can mean nothing."""
    store, path = of_uri(uri)
    check_store(store)
    return uri_of(store, path if is_index(path) else document(path))


def read(desk: Desk, uri: str) -> str:
    """The text of a resource. What is longer than ten pages is cut, and says so."""
    store, path = of_uri(uri)
    check_store(store)
    if is_index(path):
        return _cut(desk.use(index_text), INDEX_NAME)
    path = document(path)
    return _cut(desk.use(lambda memories: _text(memories, path)), path)


def news(memories: Memstore, seen: int | None) -> News:
    """What changed after operation `seen`. It costs one look at the newest operation where nothing did."""
    with memories.store.view() as connection:
        last = shown.last_operation(connection)
        if seen is None or seen == last:
            return News(last)
        if last < seen:
            return News(last, None)  # another database by now
        paths = [path for path, _ in reader.changed_after(connection, seen)]
    return News(last, tuple(dict.fromkeys([INDEX_NAME, *paths])))


def _listed(memories: Sequence[Memory], after: str) -> tuple[list[Listed], str | None]:
    found = sorted((one for one in memories if one.path > after), key=lambda one: one.path)
    page = [
        Listed(
            uri_of(PROJECT, one.path), one.path, shortened(one.description), len(one.state.content),
            moment(one.changed_at),
        )
        for one in found[:_PAGE]
    ]  # fmt: skip
    if not after:
        page.insert(0, Listed(INDEX_URI, INDEX_NAME, "The index: a line for each document"))
    return page, found[_PAGE - 1].path if len(found) > _PAGE else None


def _after(cursor: str) -> str:
    try:
        return document(cursor)
    except NameRefused:
        raise refused() from None


def _text(memories: Memstore, path: str) -> str:
    head, version = memories.show(path)
    if not head.state.live:
        raise NotFound(f"{head.path} was deleted")
    return version.state.content.decode("utf-8", "replace")


def _cut(text: str, path: str) -> str:
    if len(text) <= 10 * PAGE:
        return text
    return page_of(text).text + f"\n[cut here: read the rest of {path} in pages with memory_read]\n"

"""The tools: each takes a call's arguments and the session's memories, and gives an answer.

Every write goes through the app: edits of the files are taken in before it, and the files show it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memstore.agents import recall_alone
from memstore.app import Memstore
from memstore.core.daylog import LARGEST as LONGEST_NOTE
from memstore.core.daylog import moment as local_moment
from memstore.core.frontmatter import read
from memstore.core.ids import digest
from memstore.core.model import INDEX_NAME, NEW, Memory
from memstore.core.plan import OnConflict, Wanted
from memstore.errors import (
    AlreadyExists,
    Conflict,
    InputRefused,
    NameRefused,
    NotFound,
    OperationReused,
    StaleVersion,
)
from memstore.files.report import SyncReport
from memstore.mcp.answers import Answer, answer, conflict, moment, refusal
from memstore.mcp.arguments import Arguments
from memstore.mcp.desk import PROJECT, Desk, check_store
from memstore.mcp.listing import history, listing, searching, stores
from memstore.mcp.names import document, is_index
from memstore.mcp.pages import page_of, version_cursor
from memstore.mcp.reading import CHANGED, decoded, documents, doubt, index_text, words_of
from memstore.outcomes import Saved
from memstore.recall import Asked, Recalled
from memstore.sessions import session_of

LARGEST = 102_400
"""Bytes of the largest document that is written here."""

Given = Mapping[str, object] | None


def call(desk: Desk, name: str, given: Given) -> Answer:
    """What a tool answers. An error is an answer too; nothing is raised."""
    tool = _TOOLS.get(name)
    try:
        if tool is None:
            raise NotFound(f"there is no tool {name[:80]!r}")
        return tool(desk.of((given or {}).get("store")), given)
    except Exception as error:
        return refusal(error, desk.hidden())


def memory_list(desk: Desk, given: Given) -> Answer:
    """The stores; or the documents of one, by path."""
    asked = Arguments(given, ("store", "path_prefix", "cursor"))
    store = asked.optional("store")
    prefix, cursor = asked.optional("path_prefix") or "", asked.optional("cursor", largest=5_000)
    if store is None:
        if prefix or cursor:
            raise InputRefused("path_prefix and cursor need a store", hint=f"give store = {PROJECT}")
        own = desk.agents()
        return _or_nothing(lambda: desk.use(lambda memories: stores(memories, own)), lambda: stores(None, own))
    check_store(store)
    return _or_nothing(
        lambda: desk.use(lambda memories: listing(documents(memories, cursor), prefix, cursor)),
        lambda: listing([], prefix, cursor),
    )


def memory_read(desk: Desk, given: Given) -> Answer:
    """A document and its version, a page at a time."""
    asked = Arguments(given, ("store", "path", "version", "cursor"))
    _store(asked)
    path, version, cursor = asked.text("path"), asked.optional("version"), asked.optional("cursor")
    if is_index(path):
        return desk.use(lambda memories: _index(memories, version, cursor))
    path = document(path)
    start = 0
    if cursor is not None:
        version, start = version_cursor(cursor)
    return desk.use(lambda memories: _document(memories, path, version, start))


def memory_write(desk: Desk, given: Given) -> Answer:
    """A whole document, new or over a version."""
    asked = Arguments(given, ("store", "path", "content", "if_version", "merge", "description", "type", "reason"))
    _store(asked)
    path, expect = _written(asked), asked.text("if_version")
    wanted = Wanted(
        asked.text("content", largest=LARGEST), asked.optional("description", largest=4_000), asked.optional("type")
    )
    merge, reason = asked.flag("merge", False), asked.optional("reason") or ""
    return desk.use(lambda memories: _write(memories, path, wanted, expect, merge, reason), make=True)


def memory_edit(desk: Desk, given: Given) -> Answer:
    """One text for another in a version of a document."""
    asked = Arguments(given, ("store", "path", "if_version", "old_text", "new_text", "replace_all", "merge", "reason"))
    _store(asked)
    path, expect = _written(asked), asked.text("if_version")
    old, new = asked.text("old_text", largest=LARGEST), asked.text("new_text", largest=LARGEST)
    everywhere, merge = asked.flag("replace_all", False), asked.flag("merge", True)
    reason = asked.optional("reason") or ""
    if not old or old == new:
        raise InputRefused("old_text has to be there and differ from new_text", hint="nothing was changed")

    def step(memories: Memstore) -> Answer:
        try:
            head, named = memories.show(path, token=expect)
        except NotFound as error:
            return _late(memories, path, expect, error)
        if not head.state.live:
            raise NotFound(f"{head.path} was deleted")
        text = _edited(decoded(named.state.content), old, new, everywhere, head, expect)
        return _write(memories, path, Wanted(text), expect, merge, reason)

    return desk.use(step)


def memory_delete(desk: Desk, given: Given) -> Answer:
    """A document out of use."""
    asked = Arguments(given, ("store", "path", "if_version", "reason"))
    _store(asked)
    path, expect, reason = _written(asked), asked.text("if_version"), asked.optional("reason") or ""

    def step(memories: Memstore) -> Answer:
        try:
            return _saved(memories.delete(path, expect=expect, reason=reason))
        except (Conflict, NotFound) as error:
            return _late(memories, path, expect, error)

    return desk.use(step)


def memory_search(desk: Desk, given: Given) -> Answer:
    """The documents that have the words."""
    asked = Arguments(given, ("store", "query", "type", "limit", "cursor"))
    _store(asked)
    query, kind = asked.text("query", largest=LARGEST), asked.optional("type")
    limit, cursor = asked.number("limit", 10, 50), asked.optional("cursor")
    return _or_nothing(
        lambda: desk.use(lambda memories: searching(memories, query, kind, limit, cursor)),
        lambda: searching(None, query, kind, limit, cursor),
    )


def memory_recall(desk: Desk, given: Given) -> Answer:
    """The documents that surely bear on a prompt."""
    asked = Arguments(given, ("store", "prompt", "limit"))
    _store(asked)
    prompt, limit = asked.text("prompt", largest=LARGEST), asked.number("limit", 5, 5)

    def step(memories: Memstore) -> Answer:
        # What it is told now its next prompts need not be told; but who asks gets an answer.
        found = memories.recall(prompt, session=session_of(memories.world), again=True, most=limit)
        return told(found, doubt(memories))

    def told(found: Recalled, note: str | None = None) -> Answer:
        note = note or (None if found.text else "nothing surely bears on that; memory_search finds more")
        return answer({"found": len(found.memories), "note": note}, *filter(None, [found.text]))

    def alone() -> Answer:
        asked = Asked(prompt, session_of(desk.world), again=True, most=limit)
        return told(recall_alone(desk.world, asked) or Recalled(""))

    return _or_nothing(lambda: desk.use(step), alone)


def memory_note(desk: Desk, given: Given) -> Answer:
    """An entry in the log of the day."""
    asked = Arguments(given, ("store", "text"))
    _store(asked)
    text = asked.text("text", largest=LONGEST_NOTE)

    def step(memories: Memstore) -> Answer:
        noted = memories.note(text)
        entry = noted.entry
        return answer(
            {
                "path": noted.path,
                "done": "noted",
                "time": local_moment(entry.at, entry.zone),
                "note": "kept, but its file lacks it yet: the user sees why with `memstore sync`"
                if noted.unshown
                else None,
            }
        )

    return desk.use(step, make=True)


def memory_history(desk: Desk, given: Given) -> Answer:
    """What was done, newest first."""
    asked = Arguments(given, ("store", "path", "limit", "cursor"))
    _store(asked)
    path, limit, cursor = asked.optional("path"), asked.number("limit", 20, 100), asked.optional("cursor")
    path = None if path is None else document(path)
    return desk.use(lambda memories: history(memories, path, limit, cursor))


def memory_undo(desk: Desk, given: Given) -> Answer:
    """An operation taken back."""
    asked = Arguments(given, ("store", "operation"))
    _store(asked)
    reference = asked.reference("operation")

    def step(memories: Memstore) -> Answer:
        undone = memories.undo(reference)
        return answer(
            {
                "undone": undone.operation.seq,
                "operation": undone.seq,
                "documents": list(undone.changed),
                "note": _not_shown(undone.files, undone.changed),
            }
        )

    return desk.use(step)


_TOOLS: dict[str, Callable[[Desk, Given], Answer]] = {
    tool.__name__: tool
    for tool in (
        memory_list,
        memory_read,
        memory_write,
        memory_search,
        memory_recall,
        memory_edit,
        memory_delete,
        memory_note,
        memory_history,
        memory_undo,
    )
}
NAMES = tuple(_TOOLS)


def _store(asked: Arguments) -> None:
    check_store(asked.optional("store") or PROJECT)


def _written(asked: Arguments) -> str:
    path = asked.text("path")
    if is_index(path):
        raise NameRefused(
            path, "it is made from the documents", hint="write a document: its description becomes its index line"
        )
    return document(path)


def _or_nothing(act: Callable[[], Answer], nothing: Callable[[], Answer]) -> Answer:
    """A project that has no store yet has no documents: that is no error."""
    try:
        return act()
    except NotFound:
        return nothing()


def _index(memories: Memstore, version: str | None, cursor: str | None) -> Answer:
    if version is not None:
        raise InputRefused(f"{INDEX_NAME} has no versions of its own", hint="read it without a version")
    text = index_text(memories)
    now = digest(text.encode())[:12]
    token, start = (now, 0) if cursor is None else version_cursor(cursor)
    # It has no versions: where it is another by now, a page of it can begin anywhere.
    page = page_of(text, start if token == now else min(start, len(text.encode())))
    return answer(
        {
            "path": INDEX_NAME,
            "size": page.whole,
            "part": _part(page.start, page.end, page.whole),
            "note": doubt(memories) if token == now else CHANGED,
            "next": None if page.next is None else f"{token}-{page.next}",
        },
        page.text,
    )


def _document(memories: Memstore, path: str, token: str | None, start: int) -> Answer:
    head, version = memories.show(path, token=token)
    page = page_of(version.state.content.decode("utf-8", "replace"), start)
    correction = head.state.superseded_by
    corrected_by = None if correction is None else memories.store.memory(correction)
    return answer(
        {
            "path": head.path,
            "version": version.token,
            "newer_version": head.token if head.token != version.token else None,
            "deleted": True if not head.state.live else None,
            "words_of": words_of(version.origin),
            "superseded_by": None if corrected_by is None else corrected_by.path,
            "date": moment(version.at),
            "size": page.whole,
            "part": _part(page.start, page.end, page.whole),
            "note": doubt(memories),
            "next": None if page.next is None else f"{version.token}-{page.next}",
        },
        page.text,
    )


def _part(start: int, end: int, whole: int) -> str | None:
    return None if start == 0 and end == whole else f"bytes {start} to {end} of {whole}"


def _write(memories: Memstore, path: str, wanted: Wanted, expect: str, merge: bool, reason: str) -> Answer:
    on_conflict: OnConflict = "merge" if merge and expect != NEW else "refuse"
    try:
        return _saved(memories.write(path, wanted, expect=expect, on_conflict=on_conflict, reason=reason))
    except (Conflict, NotFound) as error:
        return _late(memories, path, expect, error)


def _late(memories: Memstore, path: str, expect: str, error: Conflict | NotFound) -> Answer:
    """Somebody else was faster, or there is no such version: what stands there now, so that the caller can go on."""
    if isinstance(error, OperationReused):
        raise error
    try:
        head, version = memories.show(path)
    except NotFound:
        raise error from None
    if isinstance(error, StaleVersion) or (head.state.live and not isinstance(error, AlreadyExists)):
        error = StaleVersion(head.path, expect[:40], head.token, version.state.content, b"")
    if isinstance(error, NotFound):
        raise error
    return conflict(error, version.state.content.decode("utf-8", "replace"), head.token, deleted=not head.state.live)


def _saved(saved: Saved) -> Answer:
    memory = saved.memory
    merged = page_of(memory.state.content.decode("utf-8", "replace")) if saved.what == "merged" else None
    facts = {
        "path": memory.path,
        "version": memory.token,
        "done": saved.what,
        "operation": saved.seq,
        "note": _not_shown(saved.files, (memory.path,)),
        "next": None if merged is None or merged.next is None else f"{memory.token}-{merged.next}",
    }
    return answer(facts, *([] if merged is None else [merged.text]))


def _not_shown(files: SyncReport, changed: tuple[str, ...]) -> str | None:
    if files.folder is not None and not {file.path for file in files.pending} & set(changed):
        return None
    return "saved in the store; the file does not show it yet: the user sees why with `memstore status`"


def _edited(text: str, old: str, new: str, everywhere: bool, head: Memory, version: str) -> str:
    if "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    count = text.count(old)
    if count == 0:
        newer = f"; the current version is {head.token}" if head.token != version else ""
        raise InputRefused(
            f"old_text does not occur in version {version} of {head.path}{newer}",
            hint="read the document again and copy the text from it exactly",
        )
    if count > 1 and not everywhere:
        raise InputRefused(
            f"old_text occurs {count} times in {head.path}",
            hint="give more of the text around it, or replace_all = true",
        )
    edited = text.replace(old, new)
    size = len(edited.encode("utf-8"))
    if size > LARGEST and size > len(text.encode("utf-8")):
        raise InputRefused(f"the document would have {size:,} bytes", hint=f"at most {LARGEST:,} are written")
    if read(text.encode("utf-8")).has_header and not read(edited.encode("utf-8")).has_header:
        raise InputRefused(
            "the edit would take the document's header apart", hint="leave the --- lines around the header"
        )
    return edited

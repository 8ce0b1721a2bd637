"""The one way in: a change set becomes rows, inside one transaction.

Everything that can be computed beforehand (digests, fields, search terms) is, in `prepare`, so that the write
lock is held for statements alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import apsw

from memstore.core.changes import (
    Change,
    ChangeSet,
    CloseConflict,
    Create,
    OpenConflict,
    change_name,
    expectation,
    next_state,
)
from memstore.core.frontmatter import calm, read
from memstore.core.ids import fingerprint
from memstore.core.ids import token as version_token
from memstore.core.model import LARGEST, NOTES, Applied, Origin, State, Version
from memstore.core.names import collision_key, stem
from memstore.core.terms import document_terms, index_document
from memstore.errors import Defect, InputRefused, NameTaken, NotFound, OperationReused, StaleVersion
from memstore.store import lines
from memstore.store.connection import many, one
from memstore.store.origins import derived, origin_of, speaker
from memstore.store.reader import (
    VERSION_COLUMNS,
    HeadRow,
    head_row,
    memory_pk,
    text_content,
    version_from_row,
)

_DOCUMENT = (
    "INSERT INTO search_document (memory, name, description, body) VALUES (?,?,?,?) ON CONFLICT (memory)"
    " DO UPDATE SET name = excluded.name, description = excluded.description, body = excluded.body"
)


@dataclass(frozen=True, slots=True)
class Text:
    """A text with all that its rows need."""

    content: bytes
    digest: bytes
    calm: bytes
    name: str | None
    description: str
    type: str | None
    terms: tuple[str, str, str]


def prepare(content: bytes) -> Text:
    """Digests, fields and search terms of a memory's text."""
    document = read(content)
    description = document.description or ""
    return Text(
        content,
        fingerprint(content),
        fingerprint(calm(content)),
        document.name or None,
        description,
        document.type,
        index_document(document.name or "", description, document.body),
    )


def prepare_all(change_set: ChangeSet) -> dict[bytes, Text]:
    """The texts of a change set, by their content. For use before the write lock is taken."""
    texts: dict[bytes, Text] = {}
    for change in change_set.changes:
        content = _content_of(change)
        if content is not None and len(content) > LARGEST:
            raise InputRefused(
                f"the text has {len(content)} bytes; a memory has {LARGEST} at most",
                hint="keep one fact in a memory; large files belong in the repository",
            )
        if content is not None and content not in texts:
            texts[content] = prepare(content)
    return texts


def _content_of(change: Change) -> bytes | None:
    state = getattr(change, "state", None)
    content = state.content if isinstance(state, State) else getattr(change, "content", None)
    return content if isinstance(content, bytes) else None


def request_digest(change_set: ChangeSet) -> bytes:
    """What a repeated call must ask for again, to be taken for the same call."""
    asked: object = change_set.request
    if not change_set.request:
        # A repeated create may carry a fresh id: the address and the text are what was asked for.
        asked = (
            [
                (change.shelf, change.path, change.content) if isinstance(change, Create) else change
                for change in change_set.changes
            ],
            change_set.lines,
        )
    return fingerprint(repr((change_set.kind, asked)).encode("utf-8", "surrogatepass"))


def apply(connection: apsw.Connection, change_set: ChangeSet, texts: dict[bytes, Text], request: bytes) -> Applied:
    """Writes all of a change set. Call inside a write transaction.

    Raises StaleVersion, NameTaken, NotFound, OperationReused; the caller rolls back.
    """
    done = repeated(connection, change_set.operation, request)
    if done is not None:
        return done
    seq = _insert_operation(connection, change_set, request)
    actor = speaker(connection, change_set)
    versions: list[Version] = []
    touched: set[str] = set()
    followed: set[int] = set()
    for change in change_set.changes:
        if change.memory in touched:
            raise Defect("one operation writes a memory once")
        speaks = derived(change_set, change.memory, actor)
        version, pk, told_anew = _apply_change(connection, change_set, seq, speaks, change, texts)
        touched.add(change.memory)
        if told_anew or change_set.lines:
            followed.add(pk)
        versions.append(version)
    lines.apply_changes(connection, seq, change_set.lines)
    # An undo gives back the index that was; what is due gets its line with the next write.
    real = change_set.real and change_set.undoes is None
    lines.follow(connection, seq, change_set.operation, followed, now=change_set.at, real=real)
    if change_set.undoes is not None:
        _reopen_conflicts(connection, change_set.undoes)
    for conflict in change_set.conflicts:
        _apply_conflict(connection, seq, conflict)
    return Applied(change_set.operation, seq, tuple(versions))


def repeated(connection: apsw.Connection, operation: str, request: bytes) -> Applied | None:
    """The first result of an operation id that was used before; None where it is new. Raises OperationReused."""
    row = one(connection, "SELECT seq, digest FROM operation WHERE id = ?", (operation,))
    if row is None:
        return None
    seq, known = row
    if known != request:
        raise OperationReused(operation)
    rows = connection.execute(f"{VERSION_COLUMNS} WHERE v.operation = ? ORDER BY v.pk", (seq,))
    return Applied(operation, seq, tuple(version_from_row(row) for row in rows), repeated=True)


def text_row(connection: apsw.Connection, content: bytes, known: Text | None = None) -> int:
    """The row of a text, made where there is none."""
    digest = known.digest if known is not None else fingerprint(content)
    row = one(connection, "SELECT id FROM text WHERE digest = ?", (digest,))
    if row is not None:
        return int(row[0])
    calm_digest = known.calm if known is not None else fingerprint(calm(content))
    connection.execute(
        "INSERT INTO text (digest, calm, content) VALUES (?, ?, ?)", (digest, calm_digest, stored(content))
    )
    return connection.last_insert_rowid()


def stored(content: bytes) -> str | bytes:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content


def _insert_operation(connection: apsw.Connection, change_set: ChangeSet, request: bytes) -> int:
    who = change_set.provenance
    connection.execute(
        "INSERT INTO operation (id, kind, digest, at, origin, author, session, worktree, branch, commit_id,"
        " reason, undoes) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            change_set.operation, change_set.kind, request, change_set.at, who.origin, who.author, who.session,
            who.worktree, who.branch, who.commit, change_set.reason, change_set.undoes,
        ),
    )  # fmt: skip
    return connection.last_insert_rowid()


def _apply_change(
    connection: apsw.Connection,
    change_set: ChangeSet,
    seq: int,
    actor: Origin,
    change: Change,
    texts: dict[bytes, Text],
) -> tuple[Version, int, bool]:
    """The version that was written, its memory's row, and whether the index may have to say something else of it."""
    head = head_row(connection, change.memory)
    if isinstance(change, Create) and head is not None:  # another import has brought the same memory with its id
        raise NameTaken(change.path, head.path)
    state = next_state(change, None if head is None else head.state)
    _check_expectation(change, head)
    text = texts.get(state.content) or prepare(state.content)
    stands = head is not None and head.path == state.path and head.state.shelf == state.shelf and head.state.live
    if not stands:
        _check_address(connection, change.memory, state)
    version = Version(
        memory=change.memory,
        number=1 if head is None else head.version + 1,
        token=version_token(change.memory, change_set.operation),
        parent=None if head is None else head.token,
        change=change_name(change),
        state=state,
        name=text.name or stem(state.path),
        description=text.description,
        type=text.type,
        origin=origin_of(connection, change, head, actor),
        operation=change_set.operation,
        seq=seq,
        at=change_set.at,
    )
    told_anew = not (
        stands and state.live and head is not None and (head.name, head.description) == (version.name, text.description)
    )
    return version, _write_version(connection, version, head, text, change), told_anew


def _check_expectation(change: Change, head: HeadRow | None) -> None:
    expected = expectation(change)
    if expected is not None and head is not None and head.token != expected:
        given = _content_of(change)
        raise StaleVersion(head.path, expected, head.token, head.state.content, given if given is not None else b"")


def _check_address(connection: apsw.Connection, memory: str, state: State) -> None:
    if not state.live:
        return
    row = one(
        connection,
        "SELECT path FROM memory WHERE scope = ? AND layer = ? AND path_key = ? AND state = 'live' AND id <> ?",
        (state.shelf.scope, state.shelf.layer, collision_key(state.path), memory),
    )
    if row is not None:
        raise NameTaken(state.path, row[0])


def _write_version(
    connection: apsw.Connection, version: Version, head: HeadRow | None, text: Text, change: Change
) -> int:
    state = version.state
    text_id = head.text if head is not None and head.state.content == state.content else None
    if text_id is None:
        text_id = text_row(connection, state.content, text)
    by = None if state.superseded_by is None else memory_pk(connection, state.superseded_by)
    common = (
        state.shelf.scope, state.shelf.layer, state.path, "live" if state.live else "retired", int(state.pinned), by,
        version.name, version.description, version.type, text_id, version.origin,
    )  # fmt: skip
    key = collision_key(state.path)
    if head is None:
        listing, due_at = (change.listing, change.due_at) if isinstance(change, Create) else ("due", None)
        connection.execute(
            "INSERT INTO memory (scope, layer, path, state, pinned, superseded_by, name, description, type, text,"
            " origin, id, path_key, version, token, operation, changed_at, created_at, listing, due_at)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (*common, version.memory, key, version.number, version.token, version.seq, version.at, version.at,
             listing, due_at),
        )  # fmt: skip
        pk = connection.last_insert_rowid()
    else:
        pk = head.pk
        connection.execute(
            "UPDATE memory SET scope=?, layer=?, path=?, state=?, pinned=?, superseded_by=?, name=?, description=?,"
            " type=?, text=?, origin=?, path_key=?, version=?, token=?, operation=?, changed_at=? WHERE pk=?",
            (*common, key, version.number, version.token, version.seq, version.at, pk),
        )
    connection.execute(
        "INSERT INTO version (scope, layer, path, state, pinned, superseded_by, name, description, type, text,"
        " origin, memory, number, token, parent, change, operation) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (*common, pk, version.number, version.token, version.parent, version.change, version.seq),
    )
    if state.shelf != NOTES and (head is None or head.text != text_id or head.path != state.path):
        name_terms = _name_terms(text, state.path)
        connection.execute(_DOCUMENT, (pk, name_terms, text.terms[1], text.terms[2]))
    return pk


def _name_terms(text: Text, path: str) -> str:
    """A memory is found by its name and by its file's name."""
    file = stem(path)
    if text.name == file:
        return text.terms[0]
    return f"{text.terms[0]} {document_terms(file)}".strip()


def _apply_conflict(connection: apsw.Connection, seq: int, conflict: OpenConflict | CloseConflict) -> None:
    if isinstance(conflict, CloseConflict):
        connection.execute(
            "UPDATE conflict SET resolved = ?, resolution = ? WHERE id = ? AND resolved IS NULL",
            (seq, conflict.resolution, conflict.id),
        )
        if connection.changes() == 0:
            raise NotFound(f"there is no open conflict {conflict.id}", hint="see `memstore conflicts`")
        return
    connection.execute(
        "INSERT INTO conflict (id, memory, path, kind, base, theirs, note, operation) VALUES (?,?,?,?,?,?,?,?)",
        (
            conflict.id,
            None if conflict.memory is None else memory_pk(connection, conflict.memory),
            conflict.path,
            conflict.kind,
            None if conflict.base is None else text_row(connection, conflict.base),
            text_row(connection, conflict.theirs),
            conflict.note,
            seq,
        ),
    )


def _reopen_conflicts(connection: apsw.Connection, undone: str) -> None:
    """A conflict that the undone operation settled is open again."""
    connection.execute(
        "UPDATE conflict SET resolved = NULL, resolution = NULL"
        " WHERE resolved = (SELECT seq FROM operation WHERE id = ?)",
        (undone,),
    )


def reindex(connection: apsw.Connection, only: Collection[int] | None = None) -> int:
    """Segments every memory anew, after the terms' rules changed, or those of these keys. Returns how many."""
    rows = many(
        connection,
        "SELECT m.pk, m.path, t.content FROM memory m JOIN text t ON t.id = m.text WHERE m.scope <> ?",
        (NOTES.scope,),
    )
    wanted = [row for row in rows if only is None or row[0] in only]
    for pk, path, content in wanted:
        connection.execute(_DOCUMENT, (pk, *document_of(text_content(content), path)))
    return len(wanted)


def document_of(content: bytes, path: str) -> tuple[str, str, str]:
    """The search terms of a memory: of its name, its description and its body."""
    text = prepare(content)
    return _name_terms(text, path), text.terms[1], text.terms[2]

"""Whose words a version holds.

Words that stay keep their origin; with words that are added the less trusted origin counts, for nobody knows what
they were made from. Where the change set knows, the less trusted of that and the actor stands for the actor. What is
put back has the origin that it had. Only a person who gives a whole text vouches for it, and so raises it.
"""

from __future__ import annotations

import apsw

from memstore.core.changes import Change, ChangeSet, CloseConflict, Pin, Rename, Restore, Retire, Revise, Supersede
from memstore.core.ids import fingerprint
from memstore.core.model import Origin, least_trusted
from memstore.store.connection import many, one
from memstore.store.reader import HeadRow


def speaker(connection: apsw.Connection, change_set: ChangeSet) -> Origin:
    """Whose words an operation brings: a conflict is settled with the words of whoever opened it."""
    actor = change_set.provenance.origin
    settled = [conflict.id for conflict in change_set.conflicts if isinstance(conflict, CloseConflict)]
    if actor == "person" or not change_set.changes:
        return actor
    for conflict in settled:
        row = one(
            connection,
            "SELECT o.origin FROM conflict c JOIN operation o ON o.seq = c.operation WHERE c.id = ?",
            (conflict,),
        )
        actor = actor if row is None else least_trusted(actor, row[0])
    return actor


def derived(change_set: ChangeSet, memory: str, actor: Origin) -> Origin:
    """Whose words the step for one memory brings: the actor's, or those that they were derived from."""
    return least_trusted(actor, *(origin for step, origin in change_set.derived if step == memory))


def origin_of(connection: apsw.Connection, change: Change, head: HeadRow | None, actor: Origin) -> Origin:
    """Whose words the version that `change` makes holds; `actor` is the speaker of the operation."""
    if head is None:
        return actor
    kept: Origin = head.origin
    if isinstance(change, Restore):
        return _origin_of_text(connection, head, change.state.content)
    if isinstance(change, (Retire, Pin, Supersede)) or (isinstance(change, Rename) and change.content is None):
        return kept
    if actor == "person" and isinstance(change, Revise) and not change.merged:
        return actor
    return least_trusted(actor, kept)


def _origin_of_text(connection: apsw.Connection, head: HeadRow, content: bytes) -> Origin:
    """The origin of the version that had this text; of a text that no version had, the least trusted of all."""
    if content == head.state.content:
        kept: Origin = head.origin
        return kept
    row = one(
        connection,
        "SELECT v.origin FROM version v JOIN text t ON t.id = v.text WHERE v.memory = ? AND t.digest = ?"
        " ORDER BY v.number DESC LIMIT 1",
        (head.pk, fingerprint(content)),
    )
    if row is not None:
        found: Origin = row[0]
        return found
    return least_trusted(
        *(row[0] for row in many(connection, "SELECT origin FROM version WHERE memory = ?", (head.pk,)))
    )

"""Import of an export in JSON, which knows the history of each memory: so what is older is known, and what moved on.

A memory is found by its id, else by its path. An export whose versions the store has is an earlier state and is not
taken in; one that has the store's version among its own has moved on, and what was written since is taken. Where both
moved on, the newest text that both had is the base. Texts of earlier versions are remembered as such.

Into the store that an export came from, each memory keeps the origin it had, as far as whoever brings it in may speak
for it. Elsewhere it is `import`.
"""

from __future__ import annotations

from dataclasses import replace

from memstore.core import exchange as x
from memstore.core.changes import Create, Rename, Revise
from memstore.core.decisions import File
from memstore.core.frontmatter import alike, calm
from memstore.core.ids import is_uuid
from memstore.core.index import take_in
from memstore.core.merge import merge_texts
from memstore.core.model import INDEX_NAME, LARGEST, SHELF, Memory, Origin, Provenance
from memstore.core.names import check_path, collision_key
from memstore.errors import NameRefused
from memstore.files.absorb import Seen, resolver
from memstore.files.absorb_index import translated
from memstore.files.importing import Import
from memstore.files.report import Noted
from memstore.files.selecting import index_text
from memstore.files.source import Source, ancestry
from memstore.store import lines, moments, reader, shown
from memstore.store.shown import Before, ShownRow

_ALL = 2**31
_RULE_CREATED, _RULE_TAKEN, _RULE_MERGED, _RULE_RENAMED = 13, 22, 24, 28


def source_of(path: str, content: bytes) -> Source:
    """What a document holds, as files. Raises ImportRefused."""
    exchange = x.parsed(content)
    files: dict[str, bytes] = {}
    skipped = [(path, "the client shares it with the team by itself") for path, _ in exchange.team]
    taken: set[str] = set()
    kept: list[x.Carried] = []
    for memory in exchange.memories:
        name = memory.head.state.path
        reason = _why_not(memory, taken)
        if reason:
            skipped.append((name, reason))
        elif memory.head.state.live:
            taken |= {collision_key(name), memory.id}
            kept.append(memory)
            files[name] = memory.head.state.content
    index = index_text([row for row in exchange.index if row.shelf == SHELF])
    if index is not None:
        files[INDEX_NAME] = index
    # Not by the path: two exports of one store have their history in common, wherever they lie.
    key = ancestry(f"memstore {exchange.store}")
    return Source(path, key, "memstore", files, tuple(skipped), replace(exchange, memories=tuple(kept)))


def _why_not(memory: x.Carried, taken: set[str]) -> str:
    """Why a memory is not taken in; empty: it is, or it was retired and nothing is to be said."""
    head = memory.head
    if not head.state.live:
        return ""
    if memory.shelf != SHELF:
        return f"it belongs to another scope: {memory.shelf.scope}"
    if head.token in memory.withheld:
        return f"the export left it out, for it holds a secret ({memory.withheld[head.token].rule})"
    try:
        check_path(head.state.path)
    except NameRefused as error:
        return error.reason
    if collision_key(head.state.path) in taken:
        return "another memory of the export has its path"
    if memory.id in taken:
        return "another memory of the export has its id"
    if len(head.state.content) > LARGEST:
        return "it is too large to be a memory"
    return "it is empty" if not head.state.content.strip() else ""


class Reimport(Import):
    """An import that knows the versions of what it brings."""

    def plan_all(self) -> None:
        """Plans all of it."""
        exchange = self._source.exchange
        assert exchange is not None
        self._exchange = exchange
        self._carried = {memory.head.state.path: memory for memory in exchange.memories}
        self._places = {memory.id: path for path, memory in self._carried.items()}
        self._own_store = exchange.store == moments.store_id(self._connection)
        known = (reader.by_id(self._connection, identity) for identity in self._places)
        self._heads = {head.id: head for head in known if head is not None}
        self._claimed: set[str] = set()
        self._offered: str | None = None
        self._derived: list[tuple[str, Origin]] = []
        super().plan_all()

    def provenance(self, given: Provenance) -> Provenance:
        """Who brings this in: into its own store whoever acts, for `derived` has whose words these are."""
        return given if self._own_store else super().provenance(given)

    def derived(self) -> tuple[tuple[str, Origin], ...]:
        """Whose words each memory holds."""
        return tuple(self._derived) if self._own_store else ()

    def _new_id(self) -> str:
        """The id that a memory has in the export, where it is free; in its own store it is the same memory again."""
        offered, self._offered = self._offered, None
        return offered or self._world.new_id()

    def _order(self, name: str, own: bool) -> tuple[bool, bool, int, str]:
        """Those that are known by their ids first: one of them may leave the path of another."""
        return self._carried[name].id not in self._heads, False, name.count("/"), name

    def _plan_file(self, name: str, content: bytes, own: bool) -> None:
        carried = self._carried[name]
        row, head = self._absorber.known(name)
        found = self._heads.get(carried.id)
        if found is not None and (row is None or row.memory != found.id):
            row, head = self._row_of(found), found
        changes, told = len(self.plan.changes), len(self.plan.shown)
        if head is None:
            self._bring(name, content, carried, own)
        elif head.id in self._claimed:
            self._bring_beside(name, content, carried, head)
        elif head.state.shelf == SHELF:
            self._claimed.add(head.id)
            self._compare(name, content, carried, row, head)
        else:
            self._skipped.append((name, f"it belongs to another scope here: {head.state.shelf.scope}"))
        for change in self.plan.changes[changes:]:
            self._derived.append((change.memory, carried.head.origin))
        self._remember(name, content, carried, told)

    def _row_of(self, head: Memory) -> ShownRow | None:
        """What the last import brought of a memory, whatever its path was in the export then."""
        rows = [
            shown.shown_row(self._connection, self._row.pk, name)
            for name in shown.shown_names_of(self._connection, self._row.pk, head.id)
        ]
        return max((row for row in rows if row is not None), key=lambda row: row.version, default=None)

    def _bring(self, name: str, content: bytes, carried: x.Carried, own: bool) -> None:
        if not own and self._is_copy(name, content):
            return
        self._offered = carried.id if is_uuid(carried.id) else None
        self._absorber.decide(name, Seen(File(name, content), None))
        self._offered = None
        made = self.plan.changes[-1] if self.plan.changes else None
        if isinstance(made, Create) and made.path == name:
            self.plan.changes[-1] = self._as_it_was(made, carried)

    def _bring_beside(self, name: str, content: bytes, carried: x.Carried, head: Memory) -> None:
        """A memory whose path here is that of another one of the export: it has it once that one has left it."""
        left = any(isinstance(step, Rename) and step.memory == head.id for step in self.plan.changes)
        if head.path != name or not left or collision_key(name) in self.plan.made:
            self._skipped.append((name, f"its place here is taken: by {head.path}, which is another memory"))
            return
        identity = carried.id if is_uuid(carried.id) and carried.id not in self._heads else self._world.new_id()
        self.plan.changes.append(self._as_it_was(Create(identity, SHELF, name, content), carried))
        self.plan.made[collision_key(name)] = identity
        self.plan.shown.append(ShownRow(name, identity, 1, content))
        self.plan.noted.append(Noted(name, "created", _RULE_CREATED))

    def _as_it_was(self, made: Create, carried: x.Carried) -> Create:
        """With its pin, and out of the index where it was out of it."""
        if carried.head.state.superseded_by is not None:
            self._skipped.append((made.path, "that another memory corrects it is not taken along"))
        listing = "unlisted" if carried.listing == "unlisted" else made.listing
        return replace(made, pinned=carried.head.state.pinned, listing=listing)

    def _compare(self, name: str, content: bytes, carried: x.Carried, row: ShownRow | None, head: Memory) -> None:
        moved = self._moved_on(carried, row, head)
        if head.state.live and alike(content, head.state.content):
            if moved and self._renamed(name, carried, head):
                self._move(name, head, head.state.content)
            else:
                self._unchanged.append(name)
            if row is None or (row.name, row.content, row.stamp) != (name, content, carried.head.token):
                self.plan.shown.append(ShownRow(name, head.id, head.version, content))
            return
        base = self._base(carried, row, head, moved)
        if base == content:
            self._older.append(name)
        elif base is None or not head.state.live:
            seen = None if base is None else ShownRow(name, head.id, 0, base)
            self._absorber.decide_over(name, Seen(File(name, content), None), seen, ())
        else:
            self._take(name, content, base, head, moved is True and self._renamed(name, carried, head))

    def _moved_on(self, carried: x.Carried, row: ShownRow | None, head: Memory) -> bool | None:
        """Whether the export surely knows more of a memory than the store (True) or less (False); None: who knows."""
        tip = carried.head.token
        if reader.version_by(self._connection, head.id, token=tip) is not None:
            return False
        known = {version.token for version in carried.versions if version.token not in carried.withheld}
        if head.token in known:
            return True
        if row is None or row.stamp is None:
            return None
        if row.stamp == tip:
            return False  # it was taken in, and the memory may have moved on since
        return True if row.stamp in known else None

    def _base(self, carried: x.Carried, row: ShownRow | None, head: Memory, moved: bool | None) -> bytes | None:
        """The newest text that the export and the store have in common: its own where the export is the older one."""
        tip = carried.head.state.content
        if moved is False:
            return tip
        if moved:
            ours = any(version.token == head.token for version in carried.versions)
            return head.state.content if ours or row is None else row.content
        if self._had(head, row, tip):
            return tip
        texts = [version.state.content for version in carried.versions if version.token not in carried.withheld]
        return next((text for text in reversed(texts) if self._had(head, row, text)), None)

    def _had(self, head: Memory, row: ShownRow | None, text: bytes) -> bool:
        """Whether the memory once had this text, or an earlier import brought it as one of a memory's versions."""
        if reader.had_text(self._connection, head.id, calm(text), head.version + 1):
            return True
        return row is not None and (row.content == text or text in self._earlier(row.name))

    def _earlier(self, name: str) -> list[bytes]:
        return shown.texts_before(self._connection, self._row.pk, name, _ALL)

    def _renamed(self, name: str, carried: x.Carried, head: Memory) -> bool:
        """Whether the memory stands where the export had it before it was renamed there, and the new path is free."""
        key = collision_key(name)
        former = {version.state.path for version in carried.versions[:-1]}
        if head.path == name or head.path not in former or key in self.plan.made:
            return False
        there = reader.by_path(self._connection, SHELF, name)
        return there is None or not there.state.live or there.id == head.id

    def _move(self, name: str, head: Memory, text: bytes) -> None:
        self.plan.changes.append(Rename(head.id, head.token, name, None if text == head.state.content else text))
        self.plan.made[collision_key(name)] = head.id
        self.plan.noted.append(Noted(name, "renamed", _RULE_RENAMED, f"was {head.path}"))

    def _take(self, name: str, content: bytes, base: bytes, head: Memory, renamed: bool) -> None:
        """What was written in the export since the base, beside what was written here."""
        merged = merge_texts(base, head.state.content, content)
        if merged.conflict:
            self._absorber.decide_over(name, Seen(File(name, content), None), ShownRow(name, head.id, 0, base), ())
            return
        here = not alike(base, head.state.content)
        text = merged.content if here else content
        version = 0 if here else head.version + 1
        if renamed:
            self._move(name, head, text)
        elif alike(text, head.state.content):
            self._unchanged.append(name)
            version = 0
        else:
            self.plan.changes.append(Revise(head.id, head.token, text, merged=here))
            what, rule = ("merged", _RULE_MERGED) if here else ("revised", _RULE_TAKEN)
            self.plan.noted.append(Noted(head.path, what, rule))
        self.plan.shown.append(ShownRow(name, head.id, version, content))

    def _remember(self, name: str, content: bytes, carried: x.Carried, told: int) -> None:
        """Of which version the row is that was planned, and the texts of those before it."""
        for at in range(told, len(self.plan.shown)):
            row = self.plan.shown[at]
            if not isinstance(row, ShownRow) or row.name != name:
                continue
            self.plan.shown[at] = replace(row, stamp=carried.head.token)
            texts = [one.state.content for one in carried.versions if one.token not in carried.withheld]
            have = {content, *self._earlier(name)}
            self.plan.shown += [Before(name, text) for text in dict.fromkeys(texts) if text not in have]
            return

    def _plan_index(self, content: bytes) -> None:
        """Only lines that the store never had: what was taken out of its index here stays out."""
        before = shown.shown_row(self._connection, self._row.pk, INDEX_NAME)
        if before is not None and before.content == content:
            return
        rows = lines.rows(self._connection)
        had = moments.line_ids(self._connection)
        fresh = [row for row in self._exchange.index if row.shelf == SHELF and row.id not in had and self._is_news(row)]
        text = "\n".join(row.text for row in fresh)
        added = take_in(text, resolver(self._connection, self.plan.made)) if fresh else []
        steps = translated(added, [], self._world.new_id)
        if rows or had:
            steps = self._news(steps, rows, "" if before is None else before.content.decode("utf-8"))
        self._lines = len(steps)
        self.plan.lines += steps
        self.plan.shown.append(ShownRow(INDEX_NAME, None, 0, content))

    def _is_news(self, row: x.IndexRow) -> bool:
        """Whether a line names no memory, or one that is new here, or has its line where the export has it."""
        if row.memory is None:
            return True
        head = reader.by_id(self._connection, row.memory)
        place = self._places.get(row.memory)
        return place is not None and (head is None or (head.state.live and head.path == place))

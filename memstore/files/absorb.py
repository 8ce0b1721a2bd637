"""From files to the store: what lies in a folder becomes decisions, and the decisions one change set.

The rules are `core/reconcile.py`'s. Here they get what they need to know (bases, heads, histories), and what they
decide is translated: into steps of a change set, into what the folder shows from then on, and into what is to be
projected afterwards. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import memstore.core.decisions as d
from memstore.core.changes import Change, Create, LineChange, OpenConflict, Rename, Retire, Revise
from memstore.core.frontmatter import alike, read
from memstore.core.inbox import landed, made_from, merge_older
from memstore.core.merge import merge_texts
from memstore.core.model import SHELF, Memory
from memstore.core.names import collision_key
from memstore.core.reconcile import reconcile_name
from memstore.files.report import Noted, counted
from memstore.store import inbox, reader
from memstore.store.connection import Reading
from memstore.store.shown import (
    Aside,
    Forget,
    Missing,
    ShownChange,
    ShownRow,
    Stamp,
    set_asides,
    shown_row,
    texts_before,
)

LINE_WAIT = 60_000_000
"""Microseconds for which a topic that somebody has just put into the folder waits for a line by its own author."""


_TOLD = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """One name of a folder as it was found. `stamp` None: too young to be believed next time."""

    file: d.File
    stamp: str | None


@dataclass(slots=True)
class Plan:
    """What absorbing comes to. `project`: names to put although their memory did not move, with the bytes
    expected there; `remove`: names to take out of sight, likewise."""

    changes: list[Change] = field(default_factory=list)
    lines: list[LineChange] = field(default_factory=list)
    conflicts: list[OpenConflict] = field(default_factory=list)
    shown: list[ShownChange] = field(default_factory=list)
    project: dict[str, bytes | None] = field(default_factory=dict)
    remove: dict[str, bytes] = field(default_factory=dict)
    index: bool = False
    """Whether MEMORY.md may say something else than its rows although they did not move."""
    noted: list[Noted] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    """Memories that this plan creates or brings to another path: id by collision key of the path."""
    blocked: dict[str, str] = field(default_factory=dict)
    """Names that must not be projected over, and why."""
    gone: set[str] = field(default_factory=set)
    """Memories whose file is missing, decided or not."""

    @property
    def writes(self) -> bool:
        """Whether there is anything for an operation to do."""
        return bool(self.changes or self.lines or self.conflicts)


class Absorber:
    """Plans for one folder at one moment of the store."""

    def __init__(
        self,
        connection: Reading,
        folder: int,
        new_id: Callable[[], str],
        now: int,
        *,
        first: bool,
        listing_wait: int | None = LINE_WAIT,
    ) -> None:
        self._connection = connection
        self._folder = folder
        self._new_id = new_id
        self._now = now
        self.first = first
        """Whether the folder is met for the first time."""
        self.due_at = None if first or listing_wait is None else now + listing_wait
        """Rule 18 of the index: when a topic that its author may be about to list gets a line of ours."""
        self.plan = Plan()
        self._brought_to_light: bytes | None = None

    def known(self, name: str) -> tuple[ShownRow | None, Memory | None]:
        """B and H of a name."""
        return self.about(name, shown_row(self._connection, self._folder, name))

    def about(self, name: str, row: ShownRow | None) -> tuple[ShownRow | None, Memory | None]:
        """B and H of a name under which `row` is, or was, shown.

        H is the memory whose text was shown, wherever it stands now: an edit of its file is meant for it. Once
        it is retired, a living memory that has taken the path counts instead; for that one there is no B.
        """
        head = None if row is None or row.memory is None else reader.by_id(self._connection, row.memory)
        if head is not None and head.state.live:
            return row, head
        there = reader.by_path(self._connection, SHELF, name)
        if head is not None and there is not None and there.state.live:
            return None, there
        return row, head or there

    def base(self, name: str, shown: bytes, content: bytes, since: tuple[bytes, ...]) -> bytes:
        """What a file that nobody signed was made from: B, or the nearest of the texts known since."""
        begun = inbox.begun(self._connection, self._folder, name)
        never = {text for text in begun if not landed(content, text, shown)}
        return made_from(content, shown, tuple(text for text in since if text not in never))

    def lost_its_path(self, head: Memory) -> bool:
        """Whether a retired memory's path is another one's by now: it cannot come back there."""
        if head.state.live:
            return False
        there = reader.by_path(self._connection, SHELF, head.path)
        return there is not None and there.state.live

    def since(self, name: str) -> tuple[bytes, ...]:
        """The texts that became known under a name since its B."""
        return inbox.known_since(self._connection, self._folder, name)

    def shown_value(self, name: str, row: ShownRow, since: tuple[bytes, ...] = ()) -> d.Shown:
        """B as the rules want it."""
        return d.Shown(
            row.content,
            row.version,
            row.missing_since,
            since=since,
            earlier=lambda: self.texts_before(name),
            flagged=frozenset(row.flagged),
        )

    def texts_before(self, name: str) -> list[bytes]:
        """The texts that were there under a name before its newest projection, newest first."""
        texts = texts_before(self._connection, self._folder, name)
        return [text for text in texts if text != self._brought_to_light]

    def stored_value(self, head: Memory) -> d.Stored:
        """H as the rules want it."""
        return d.Stored(
            head.id,
            "live" if head.state.live else "retired",
            head.state.content,
            head.version,
            lambda text: reader.had_text(self._connection, head.id, text, head.version + (0 if head.state.live else 1)),
        )

    def decide(self, name: str, seen: Seen) -> None:
        """Decides about one name and adds what follows to the plan."""
        before = shown_row(self._connection, self._folder, name)
        row, head = self.about(name, before)
        content = seen.file.content
        if row is None and before is not None and content is not None and alike(content, before.content):
            self.plan.project[name] = content  # nobody touched it: another memory stands here by now, and is put
            return
        self._decide(name, seen, row, head, self.since(name))

    def decide_over(self, name: str, seen: Seen, base: ShownRow | None, since: tuple[bytes, ...]) -> None:
        """As `decide`, with what was shown and known before: for a file that a projection brought to light.

        That text lay there before the projection, and is an earlier one for whoever comes later; not for itself.
        """
        self._brought_to_light = seen.file.content
        self._decide(name, seen, *self.about(name, base), since)

    def take_older(self, name: str, content: bytes, base: bytes) -> None:
        """Takes in what a text has that its base has not; what it lacks may be younger than it is."""
        _, head = self.about(name, shown_row(self._connection, self._folder, name))
        if head is None or not head.state.live:
            self._decide(name, Seen(d.File(name, content), None), None, head, ())
            return
        step = merge_older(base, head.state.content, content)
        if step.other is not None:
            self._conflict(name, head, step.other, base, conflict_note(step.rule))
            self.plan.noted.append(Noted(name, "conflict", step.rule, conflict_note(step.rule)))
        elif not alike(step.content, head.state.content):
            self.plan.changes.append(Revise(head.id, head.token, step.content, merged=True))
            self.plan.noted.append(Noted(name, "merged", step.rule))

    def _decide(
        self, name: str, seen: Seen, row: ShownRow | None, head: Memory | None, since: tuple[bytes, ...]
    ) -> None:
        content = seen.file.content
        if since and content is not None and seen.file.trouble is None:
            if row is not None:
                row = replace(row, content=self.base(name, row.content, content, since))
            elif head is not None and head.state.live and not alike(content, head.state.content):
                if content in since:
                    self.plan.project[name] = content  # a session put it there, and the memory has moved on
                    return
                row = ShownRow(name, head.id, 0, made_from(content, since[0], since[1:]))
        if head is not None and content is not None and not (row is not None and alike(content, row.content)):
            head = None if self.lost_its_path(head) else head  # then new words are a memory of their own
        if seen.file.content is None and head is not None and head.state.live and row is not None:
            if collision_key(head.path) != collision_key(name):
                self.plan.shown.append(Forget(name))  # it stands elsewhere by now, so its old file has to be gone
                return
            self.plan.gone.add(head.id)
        decision = reconcile_name(
            seen.file,
            None if row is None else self.shown_value(name, row, since),
            None if head is None else self.stored_value(head),
            now=self._now,
        )
        self._carry_out(name, seen, row, head, decision)

    def rename(self, old: str, new: str, seen: Seen) -> None:
        """Rule 28: the memory shown as `old` is the file `new` now."""
        row, head = self.known(old)
        content = seen.file.content
        assert row is not None and content is not None
        if head is None or not head.state.live:
            self.decide(new, seen)
            self.plan.shown.append(Forget(old))
            return
        since = self.since(old)
        base = content if content in since else self.base(old, row.content, content, since)
        merged = merge_texts(base, head.state.content, content)
        text = None if merged.conflict or alike(merged.content, head.state.content) else merged.content
        if merged.conflict:
            self._conflict(new, head, content, base, "edited and renamed while it changed elsewhere")
        version = head.version
        if text is not None or head.path != new:
            version += 1
            self.plan.changes.append(Rename(head.id, head.token, new, text))
        self.plan.made[collision_key(new)] = head.id
        current = text or head.state.content
        self.plan.shown += [Forget(old), self._shows(new, head, seen, row, version, current=current)]
        if not alike(content, current):
            self.plan.project[new] = content
        self.plan.noted.append(Noted(new, "renamed", 28, f"was {old}"))

    def _carry_out(
        self, name: str, seen: Seen, row: ShownRow | None, head: Memory | None, decision: d.Decision
    ) -> None:
        plan = self.plan
        match decision:
            case d.Nothing():
                if row is not None and seen.file.content is not None and row.stamp != seen.stamp:
                    plan.shown.append(Stamp(name, seen.stamp))
            case d.LookAgain():
                plan.again.append(name)
            case d.WaitSecondScan(since=since):
                plan.waiting.append(name)
                if row is not None and row.missing_since != since:
                    plan.shown.append(Missing(name, since))
            case d.Report(reason=reason):
                plan.notices.append(reason)
            case d.Accept():
                assert head is not None
                shows = self._shows(name, head, seen, row, head.version, current=head.state.content)
                begun = inbox.begun(self._connection, self._folder, name)
                put = any(alike(text, shows.content) for text in begun)  # a projection that nobody recorded
                plan.shown.append(replace(shows, put=put))
            case d.Create(content=content, rule=rule):
                self._create(name, seen, content, rule)
            case d.Revise() | d.Revive():
                assert head is not None
                self._revise(name, seen, row, head, decision)
            case d.Conflict(other=other, base=base, fields=fields, rule=rule):
                assert head is not None
                note = f"both sides changed {', '.join(fields)}" if fields else conflict_note(rule)
                self._conflict(name, head, other, base, note)
                plan.shown.append(self._shows(name, head, seen, row, 0, current=head.state.content))
                plan.project[name] = other
                plan.noted.append(Noted(name, "conflict", rule, note))
            case d.SetAside(content=content, reason=reason, project=project, rule=rule):
                self.set_aside(name, content, reason)
                plan.noted.append(Noted(name, "set aside", rule, reason))
                if project:
                    plan.project[name] = content
                else:
                    plan.remove[name] = content
            case d.Retire(rule=rule):
                assert head is not None
                plan.changes.append(Retire(head.id, head.token))
                plan.shown.append(Forget(name))
                plan.noted.append(Noted(name, "retired", rule, "its file was deleted"))
            case d.Project(over=over, rule=rule):
                plan.project[name] = over
                if rule == 30:
                    plan.noted.append(Noted(name, "put back", rule, "its file was deleted, but the memory had changed"))
            case d.MoveAside(over=over):
                plan.remove[name] = over
            case d.Forget():
                plan.shown.append(Forget(name))

    def _create(self, name: str, seen: Seen, content: bytes, rule: int) -> None:
        memory = self._new_id()
        self.plan.changes.append(Create(memory, SHELF, name, content, due_at=self.due_at))
        self.plan.made[collision_key(name)] = memory
        self.plan.shown.append(ShownRow(name, memory, 1, content, seen.stamp))
        self.plan.noted.append(Noted(name, "created", rule, unreadable(content)))

    def _revise(self, name: str, seen: Seen, row: ShownRow | None, head: Memory, decision: d.Revise | d.Revive) -> None:
        content, rule = decision.content, decision.rule
        rewrite = isinstance(decision, d.Revise) and decision.rewrite
        flagged = decision.flagged if isinstance(decision, d.Revise) else ()
        version = head.version
        if not head.state.live or not alike(content, head.state.content):
            version += 1
            merged = rewrite or rule in (24, 25)
            self.plan.changes.append(Revise(head.id, head.token, content, merged=merged))
            if not head.state.live:
                self.plan.made[collision_key(head.path)] = head.id
        what = "revived" if isinstance(decision, d.Revive) else "merged" if rewrite else "revised"
        kept = f"kept {counted(len(flagged), 'newer line')} that the file lacked" if flagged else ""
        self.plan.noted.append(Noted(name, what, rule, kept or unreadable(seen.file.content or b"")))
        shows = self._shows(name, head, seen, row, 0 if rewrite else version, current=content)
        self.plan.shown.append(replace(shows, flagged=tuple(dict.fromkeys((*shows.flagged, *flagged)))))
        if rewrite:
            self.plan.project[name] = seen.file.content

    def set_aside(self, name: str, content: bytes, reason: str) -> None:
        """Keeps a file's bytes; once, however often it is found before it can be replaced."""
        known = set_asides(self._connection)
        if all((name, content, reason) != (other, text, why) for _, other, why, _, text in known):
            self.plan.shown.append(Aside(name, content, reason))

    def _conflict(self, name: str, head: Memory, other: bytes, base: bytes | None, note: str) -> None:
        self.plan.conflicts.append(OpenConflict(self._new_id(), head.id, name, "text", base, other, note))

    def _shows(
        self, name: str, head: Memory, seen: Seen, row: ShownRow | None, version: int, *, current: bytes
    ) -> ShownRow:
        """B := F. A file that does not say what the memory will say gets version 0, which is nobody's, and no
        stamp: until it is replaced, each scan reads it again and asks for that."""
        content = seen.file.content
        assert content is not None
        flagged = () if row is None else row.flagged
        if alike(content, current):
            return ShownRow(name, head.id, version, content, seen.stamp, flagged=flagged)
        return ShownRow(name, head.id, 0, content, None, flagged=flagged)


def unreadable(content: bytes) -> str:
    """What of a text cannot be read as it should be, by line; the text itself is kept as it is."""
    problems = read(content).problems
    more = f", and {len(problems) - _TOLD} more" if len(problems) > _TOLD else ""
    return "; ".join(f"line {problem.line}: {problem.reason}" for problem in problems[:_TOLD]) + more


def conflict_note(rule: int) -> str:
    """Why there are two texts, for a person."""
    if rule == 17:
        return "a file with another text lay under the name"
    return "both sides changed the same lines"


def resolver(connection: Reading, made: Mapping[str, str]) -> Callable[[str], str | None]:
    """From a topic file's path to the memory that stands there once a plan is carried out."""
    living = reader.paths(connection, SHELF)

    def resolve(path: str) -> str | None:
        key = collision_key(path)
        return made.get(key) or living.get(key)

    return resolve

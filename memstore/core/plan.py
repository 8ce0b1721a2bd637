"""What a write comes to, given what stands there now. Pure: the caller reads, plans, applies, and plans again.

1. `new` where a living memory stands: refused. Where none or a retired one stands: made, or brought back.
2. No token where a living memory stands: refused, with the current token.
3. The current token: the text replaces what stands there.
4. An older token: merged three ways against the version it names; where that fails, refused with both texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memstore.core.changes import Change, Create, Rename, Retire, Revise, Supersede
from memstore.core.frontmatter import compose, read, set_field, with_body
from memstore.core.merge import merge_texts
from memstore.core.model import NEW, Memory, Shelf, Version
from memstore.core.names import stem
from memstore.core.taxonomy import DEFAULT_TYPE
from memstore.errors import AlreadyExists, Conflict, InputRefused, NotFound, StaleVersion

OnConflict = Literal["merge", "refuse"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller wants to stand in a memory. None: leave that field as it is."""

    body: str | None = None
    description: str | None = None
    type: str | None = None
    name: str | None = None


def has_header(text: str) -> bool:
    """Whether a text brings its own frontmatter."""
    return read(text.encode("utf-8", "surrogatepass")).has_header


def new_text(name: str, wanted: Wanted) -> bytes:
    """The first text of a memory. A body that brings its own header is taken as it is, but for fields named too."""
    body = wanted.body or ""
    if has_header(body):
        return _with_fields(encoded(body), wanted)
    return compose(wanted.name or name, wanted.description or "", wanted.type or DEFAULT_TYPE, body)


def revised_text(base: bytes, wanted: Wanted) -> bytes:
    """`base` with the wanted fields and body in place; every other byte of its header stays."""
    if wanted.body is not None and has_header(wanted.body):
        return _with_fields(encoded(wanted.body), wanted)
    content = base if wanted.body is None else with_body(base, _ended(wanted.body))
    return _with_fields(content, wanted)


def encoded(text: str) -> bytes:
    """The bytes of a text. Raises InputRefused for half a surrogate pair, which no text can hold."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputRefused(
            f"the text is not valid: half a surrogate pair at character {error.start + 1}",
            hint="leave that character out",
        ) from None


def _with_fields(content: bytes, wanted: Wanted) -> bytes:
    for field, value in (("name", wanted.name), ("description", wanted.description), ("type", wanted.type)):
        if value is not None:
            content = set_field(content, field, value)
    return content


def _ended(body: str) -> str:
    return body if not body or body.endswith("\n") else body + "\n"


@dataclass(frozen=True, slots=True)
class Plan:
    """The step to take; None where the wanted text stands there already. `merged`: it was merged with newer text."""

    change: Change | None
    merged: bool = False


def plan_write(
    head: Memory | None,
    named: Version | None,
    expect: str | None,
    wanted: Wanted,
    *,
    path: str,
    title: str,
    shelf: Shelf,
    new_id: str,
    on_conflict: OnConflict = "merge",
) -> Plan:
    """Plans a write. `named`: the version that the token `expect` names, where it is not the head's.

    Raises AlreadyExists, StaleVersion, NotFound.
    """
    if head is None:
        if expect not in (None, NEW):
            raise NotFound(f"there is no memory {path}, so no version {expect} of it", hint="see `memstore list`")
        return Plan(Create(new_id, shelf, path, new_text(title, wanted)))
    if not head.state.live:
        return _plan_revival(head, expect, wanted, title)
    if expect in (None, NEW):
        raise AlreadyExists(head.path, head.token)
    if expect == head.token:
        content = revised_text(head.state.content, wanted)
        if content == head.state.content:
            return Plan(None)
        # Without a body, most of the words that stand there stay, whoever wrote them.
        return Plan(Revise(head.id, head.token, content, merged=wanted.body is None))
    if named is None:
        raise NotFound(f"{head.path} has no version {expect}", hint=f"its current version is {head.token}")
    content = revised_text(named.state.content, wanted)
    if on_conflict == "refuse":
        raise StaleVersion(head.path, named.token, head.token, head.state.content, content)
    merged = merge_texts(named.state.content, head.state.content, content)
    if merged.conflict:
        raise StaleVersion(head.path, named.token, head.token, head.state.content, content)
    if merged.content == head.state.content:
        return Plan(None, merged=True)
    return Plan(Revise(head.id, head.token, merged.content, merged=True), merged=True)


def _plan_revival(head: Memory, expect: str | None, wanted: Wanted, title: str) -> Plan:
    if expect in (None, NEW):
        return Plan(Revise(head.id, head.token, new_text(title, wanted)))
    content = revised_text(head.state.content, wanted)
    if expect == head.token:
        return Plan(Revise(head.id, head.token, content, merged=wanted.body is None))
    raise StaleVersion(head.path, str(expect), head.token, head.state.content, content)


def check_token(head: Memory, expect: str | None) -> None:
    """Raises Conflict where a step names another version than the present one."""
    if expect is not None and expect != head.token:
        raise Conflict(
            f"{head.path} has changed: expected version {expect}, the current one is {head.token}",
            hint=f"read it again (memstore show {head.path}) and repeat with --expect {head.token}",
        )


def plan_field(head: Memory, field: str, value: str, expect: str | None) -> Change | None:
    """One field set, every other byte kept; None where it says so already."""
    check_token(head, expect)
    content = set_field(head.state.content, field, value)
    return None if content == head.state.content else Revise(head.id, head.token, content, merged=True)


def plan_rename(head: Memory, path: str, expect: str | None) -> Change | None:
    """Another path. A name that was the file's own goes along; one that says something else stays."""
    check_token(head, expect)
    if head.path == path:
        return None
    if head.name != stem(head.path) or read(head.state.content).name is None:
        return Rename(head.id, head.token, path)
    return Rename(head.id, head.token, path, set_field(head.state.content, "name", stem(path)))


def plan_retirement(head: Memory, expect: str | None) -> Change:
    """Out of use; its versions stay."""
    check_token(head, expect)
    return Retire(head.id, head.token)


def plan_supersession(head: Memory, correction: str | None) -> Change | None:
    """The mark that another memory (an id) corrects this one, or none."""
    if correction == head.id:
        raise InputRefused(f"{head.path} cannot supersede itself", hint="name the memory that corrects it")
    return None if head.state.superseded_by == correction else Supersede(head.id, correction)


def last_living(versions: Sequence[Version]) -> int:
    """The number of the version to restore where none is named: the last one that was live, and is not the head."""
    head = versions[-1]
    living = [version.number for version in versions if version.state.live]
    earlier = [number for number in living if number != head.number]
    return (earlier or living)[-1]

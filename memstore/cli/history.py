"""`log`, `diff` and `blame`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from memstore.cli import inputs, terminal
from memstore.cli.index_history import ChangedLine, changed_lines, index_patch
from memstore.cli.state import State, json_option
from memstore.cli.terminal import plural, printable, when
from memstore.core.compare import unified
from memstore.core.model import INDEX_NAME
from memstore.errors import NotFound

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.model import Operation, Version


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from one version to another. None: there was nothing, or there is nothing any more."""

    path: str
    before: Version | None
    after: Version | None
    lines: list[str]


@click.command()
@click.argument("name", required=False)
@inputs.limit_option(20, "operations")
@inputs.since_option
@click.option("--patch", "-p", is_flag=True, help="Show what each operation changed.")
@json_option
@click.pass_obj
def log(state: State, name: str | None, limit: int, since: int | None, patch: bool) -> None:
    """List operations, newest first: those on one memory, or all.

    Of an operation on many memories, `memstore log NAME` shows what it did to this one, and how many others
    there were. With --json, --patch adds nothing: use `memstore diff --operation OP --json`.
    """
    with state.open() as memories:
        found = memories.log(name, since=since or 0, limit=limit)
        index = changed_lines(memories.store, [one.seq for one, _ in found])
        own = None if name is None else {version.token for version in memories.versions(name)}
        patches = {seq: _differences(memories, seq, index[seq]) for seq in index} if patch and not state.json else {}
    if state.json:
        from memstore.cli.shaping import operation_shape

        keys = ("path", "change", "version", "token")
        made_shapes = [
            {
                **operation_shape(one),
                "made": [dict(zip(keys, row, strict=True)) for row in made],
                "index_lines": len(index[one.seq]),
            }
            for one, made in found
        ]
        state.emit("log", {"operations": made_shapes})
        return
    for one, made in found:
        state.say(_headline(one))
        shown = [row for row in made if own is None or row[3] in own]
        for path, change, number, token in shown:
            state.say(printable(f"    {change} {path}, version {number}, token {token}"))
        if others := len(made) - len(shown):
            state.say(f"    and {plural(others, 'other')}")
        if index[one.seq]:
            state.say(f"    index: {plural(len(index[one.seq]), 'line')}")
        for difference in patches.get(one.seq, []):
            if own is not None and (difference.after is None or difference.after.token not in own):
                continue
            state.say(terminal.diff_text(difference.lines))
    if not found:
        state.note("there is no operation that fits")


def _headline(operation: Operation) -> str:
    who = operation.provenance
    facts = [
        when(operation.at),
        operation.kind,
        f"by {who.origin} ({who.author})",
        f"on {who.branch}" if who.branch else "",
        f"in {who.worktree}" if who.worktree else "",
    ]
    reason = f": {operation.reason}" if operation.reason else ""
    return terminal.bold(f"#{operation.seq}") + "  " + printable("  ".join(filter(None, facts)) + reason)


@click.command()
@click.argument("name", required=False)
@click.argument("first", metavar="[V1]", required=False)
@click.argument("second", metavar="[V2]", required=False)
@click.option("--operation", metavar="OP", help="What the operation OP (a number of the log, or an id) changed.")
@json_option
@click.pass_obj
def diff(state: State, name: str | None, first: str | None, second: str | None, operation: str | None) -> None:
    """Show what changed between two versions of a memory, or in one operation.

    V1 and V2 are numbers or tokens. Without them: the version before the current one, and the current one;
    with V1 alone: from there to the current one.
    """
    if (name is None) == (operation is None):
        raise click.UsageError("give either NAME or --operation OP")
    lost = None
    with state.open() as memories:
        if operation is not None:
            seq = memories.operation(operation).seq
            found, lost = differences(memories, seq), _lost(memories, seq)
        else:
            assert name is not None
            found = [_between(memories.versions(name), name, first, second)]
    emit_differences(state, found, lost or "the texts are the same")
    if lost and any(one.lines for one in found) and not state.json:
        state.note(lost)


def _lost(memories: Memstore, seq: int) -> str | None:
    """What was purged of an operation."""
    from memstore.store import tombstones

    with memories.store.view() as connection:
        tombstone = tombstones.reaching(connection, seq)
    if tombstone is None:
        return None
    if tombstone.seq == seq:
        return f"operation #{seq} is a purge: what it took is gone for good"
    return f"something of operation #{seq}, or of what stood before it, was purged by operation #{tombstone.seq}"


def emit_differences(state: State, found: Iterable[Difference], none: str = "the texts are the same") -> None:
    """Prints differences as text, or as the shape of `diff`. `none`: what is said where there are none."""
    if state.json:
        state.emit("diff", {"diffs": [difference_shape(one) for one in found]})
        return
    texts = [terminal.diff_text(one.lines) for one in found if one.lines]
    state.say("\n".join(texts))
    if not texts:
        state.note(none)


def difference_shape(one: Difference) -> dict[str, object]:
    """The shape of one difference."""
    from memstore.cli.shaping import version_shape

    return {
        "path": one.path,
        "before": None if one.before is None else version_shape(one.before),
        "after": None if one.after is None else version_shape(one.after),
        "lines": one.lines,
    }


def differences(memories: Memstore, seq: int) -> list[Difference]:
    """What an operation changed, memory by memory, and last in the index."""
    return _differences(memories, seq, changed_lines(memories.store, [seq])[seq])


def _differences(memories: Memstore, seq: int, index: list[ChangedLine]) -> list[Difference]:
    made, _ = memories.store.made_by(seq)
    found = [_difference(_before(memories, version), version) for version in made]
    return [*found, Difference(INDEX_NAME, None, None, index_patch(index))] if index else found


def _before(memories: Memstore, version: Version) -> Version | None:
    return None if version.number == 1 else memories.store.version(version.memory, number=version.number - 1)


def _difference(before: Version | None, after: Version) -> Difference:
    old, new = _content(before), _content(after)
    lines = unified(old, new, _label(before), _label(after))
    if not lines and before is not None and before.state.path != after.state.path:
        lines = [f"--- {_label(before)}", f"+++ {_label(after)}"]
    return Difference(after.state.path, before, after, lines)


def _content(version: Version | None) -> bytes:
    return version.state.content if version is not None and version.state.live else b""


def _label(version: Version | None) -> str:
    if version is None or not version.state.live:
        return "nothing"
    return f"{version.state.path} (version {version.number}, {version.token})"


def _between(versions: list[Version], name: str, first: str | None, second: str | None) -> Difference:
    after = versions[-1] if second is None else _pick(versions, name, second)
    if first is None:
        return _difference(versions[-2] if len(versions) > 1 else None, after)
    return _difference(_pick(versions, name, first), after)


def _pick(versions: list[Version], name: str, reference: str) -> Version:
    for version in versions:
        if reference in (str(version.number), version.token):
            return version
    raise NotFound(f"{name} has no version {reference[:40]!r}", hint=f"see `memstore log {name}`")


@click.command()
@click.argument("name")
@json_option
@click.pass_obj
def blame(state: State, name: str) -> None:
    """Show which operation wrote each line of a memory."""
    with state.open() as memories:
        memory, _ = memories.show(name)
        found = memories.blame(name)
    if state.json:
        from memstore.cli.shaping import moment_shape

        lines = [
            {
                "text": one.text,
                "version": one.version.number,
                "token": one.version.token,
                "seq": one.version.seq,
                "operation": one.version.operation,
                "origin": one.version.origin,
                "at": moment_shape(one.version.at),
            }
            for one in found
        ]
        state.emit("blame", {"path": memory.path, "lines": lines})
        return
    state.say("\n".join(_blamed((one.version, one.text) for one in found)))


def _blamed(lines: Iterable[tuple[Version, str]]) -> Iterator[str]:
    for version, text in lines:
        mark = f"#{version.seq:<5} v{version.number:<4} {when(version.at)}  {version.origin:<6}"
        yield f"{mark}  {printable(text.removesuffix(chr(13)).expandtabs(8))}"

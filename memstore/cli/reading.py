"""`list`, `show` and `status`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from memstore.cli import inputs, terminal
from memstore.cli.state import State, json_option
from memstore.cli.telling import absorbed, lines_left_out, missing, tell_doubts, tell_troubles, without_room
from memstore.cli.terminal import plural, printable, printable_text, when
from memstore.core.model import INDEX_NAME, WORDS_OF_TOOLS
from memstore.errors import NotFound
from memstore.files.report import SyncReport

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.model import Memory
    from memstore.files.watch_lock import Watcher
    from memstore.outcomes import Status

_INDEX_NAMES = (INDEX_NAME.casefold(), INDEX_NAME.removesuffix(".md").casefold())


@click.command("list")
@inputs.type_filter
@inputs.scope_filter
@inputs.since_option
@click.option("--retired", is_flag=True, help="List retired memories too.")
@click.option("--pinned", is_flag=True, help="Only pinned memories.")
@click.option(
    "--sort",
    type=click.Choice(["name", "changed", "type"]),
    default="name",
    help="By name (the default), by change with the newest first, or by type.",
)
@inputs.limit_option(None, "memories")
@json_option
@click.pass_obj
def list_command(
    state: State,
    types: tuple[str, ...],
    scopes: tuple[str, ...],
    since: int | None,
    retired: bool,
    pinned: bool,
    sort: str,
    limit: int | None,
) -> None:
    """List memories.

    In a pipe: a line for each, parted by tabs: path, type, token, time of the last change, marks,
    description.
    """
    with state.open() as memories:
        found = memories.memories(retired=retired)
        if scopes:
            found = [one for one in memories.store.memories(retired=retired) if one.state.shelf.scope in scopes]
        gone = missing(memories)
        doubts = tell_doubts(state, memories, gone.intersection(one.path for one in found if one.state.live))
    if types:
        found = [one for one in found if one.type in types]
    if since is not None:
        found = [one for one in found if one.changed_at >= since]
    if pinned:
        found = [one for one in found if one.state.pinned]
    found.sort(key=lambda one: (one.path.casefold(), one.path))
    if sort == "changed":
        found.sort(key=lambda one: one.changed_at, reverse=True)
    elif sort == "type":
        found.sort(key=lambda one: one.type or "\U0010ffff")
    found = found[:limit]
    if state.json:
        from memstore.cli.shaping import memory_shape

        state.emit("list", {"memories": [memory_shape(one) for one in found], "notices": doubts})
        return
    if not found:
        state.note("no memory fits" if types or scopes or since is not None or pinned else "there are no memories")
        return
    rows = [
        (one.path, one.type or "-", one.token, when(one.changed_at), _marks(one, gone), one.description)
        for one in found
    ]
    state.say(terminal.table(("Memory", "Type", "Token", "Changed", "", "Description"), rows, wide="Description"))


@click.command()
@click.argument("name")
@click.option("--version", "number", metavar="N", type=click.IntRange(1, inputs.MOST), help="Show version N.")
@click.option("--token", metavar="TOKEN", help="Show the version TOKEN.")
@click.option("--raw", is_flag=True, help="Print the body only, its bytes exactly as they were written.")
@json_option
@click.pass_obj
def show(state: State, name: str, number: int | None, token: str | None, raw: bool) -> None:
    """Show a memory: its version, its token, its text. With NAME `MEMORY.md`: the whole index.

    The index is shown as the store has it, also the lines for which there is no room in its file.
    What cannot be seen or would steer the terminal is shown as an escape; --raw and --json change nothing.
    """
    if number is not None and token is not None:
        raise click.UsageError("give --version or --token, not both")
    with state.open() as memories:
        try:
            memory, version = memories.show(name, version=number, token=token)
        except NotFound:
            if name.casefold() not in _INDEX_NAMES:
                raise
            if number is not None or token is not None:
                told = f"{INDEX_NAME} is the index, which has no versions of its own"
                raise NotFound(told, hint="`memstore log` tells what changed it") from None
            _show_index(state, memories, raw)
            return
        gone = missing(memories)
        doubts = tell_doubts(state, memories, gone.intersection([memory.path] if memory.state.live else []))
    content = version.state.content
    if state.json:
        from memstore.cli.shaping import content_shape, memory_shape, version_shape

        state.emit(
            "show",
            {
                "memory": memory_shape(memory), "version": version_shape(version), **content_shape(content),
                "notices": doubts,
            },
        )  # fmt: skip
        return
    if raw:
        from memstore.core.frontmatter import split

        click.echo(split(content)[1], nl=False)
        return
    current = "" if version.number == memory.version else f" of {memory.version}"
    facts = [
        f"version {version.number}{current}",
        f"token {version.token}",
        when(version.at),
        f"by {version.origin}",
    ]
    marks = _marks(memory, gone)
    head = f"{terminal.bold(printable(version.state.path))}  {', '.join(facts)}" + (f"  ({marks})" if marks else "")
    state.say(f"{head}\n\n{printable_text(content).rstrip(chr(10))}")


def _show_index(state: State, memories: Memstore, raw: bool) -> None:
    from memstore.core.index_values import END, in_order

    memories.look()
    doubts = tell_doubts(state, memories)
    rows = in_order(memories.store.index())
    content = "\n".join(row.text for row in rows).encode("utf-8", "surrogatepass")
    if state.json:
        from memstore.cli.shaping import content_shape

        state.emit("show", {"memory": None, "version": None, **content_shape(content), "notices": doubts})
    elif raw:
        click.echo(content, nl=False)
    else:
        lines = plural(sum(row.rank != END for row in rows), "line")
        files = SyncReport(memories.place.folder)
        lacking = without_room(len(memories.files.omissions()), lines_left_out(files))
        file = f"; the file has no room for {lacking}" if lacking else ""
        head = f"{terminal.bold(INDEX_NAME)}  the index as the store has it: {lines}{file}"
        state.say(f"{head}\n\n{printable_text(content).rstrip(chr(10))}")


@click.command()
@json_option
@click.pass_obj
def status(state: State) -> None:
    """How things stand here, after a look at all files."""
    from memstore import picking

    with state.open() as memories:
        found = memories.status()
        undecided = found.files.folder is None
        if undecided:
            # Nothing was taken in. Whether writes are shown all the same is another question.
            shown = memories.files.settle()
            found = replace(found, files=replace(shown, omitted=found.files.omitted))
        asked = _asked(memories)
        picks = picking.hold(memories.store, memories.place.home.path, memories.world)
    if state.json:
        from memstore.cli.shaping import files_shape
        from memstore.cli.standing_told import brief_shape

        place = found.place
        shape = {
            "root": place.root.path,
            "store": place.store,
            "schema": found.schema,
            "engine": found.engine,
            "enabled": place.placement.enabled,
            "counts": found.counts,
            "watch": _watcher_shape(found.watcher),
            "paused": list(found.paused),
            "extraction": brief_shape(found.extraction),
            "asked": [{"run": run, "steps": count} for run, count in asked],
            "picks_held": None if picks is None else {"reason": picks.reason, "step": picks.step},
            "files": files_shape(found.files),
        }
        state.emit("status", shape)
        return
    facts = [*_facts(found, undecided), *(("asked", _told_asked(*each)) for each in asked)]
    if picks is not None:
        facts.append(("recall", f"no model picks memories: {picks}"))
    state.say("\n".join(f"{label + ':':<12}{printable(value)}" for label, value in facts))
    tell_troubles(state, found.files)


def _facts(found: Status, undecided: bool) -> list[tuple[str, str]]:
    from memstore.cli.standing_told import brief

    counts, files, place = found.counts, found.files, found.place
    if files.folder is None:
        folder = f"{place.placement.directory} (nothing is projected there)"
    else:
        folder = files.folder + (" (writes are shown there, but no edit of a file is taken in)" if undecided else "")
    kept = plural(counts["versions"], "version") + " in " + plural(counts["operations"], "operation")
    facts = [
        ("root", place.root.path),
        ("folder", folder),
        ("memories", f"{counts['live']} live, {counts['retired']} retired, {kept}"),
        ("conflicts", _conflicts(counts["conflicts"])),
        ("store", f"{place.store_directory} (schema {found.schema}, SQLite {found.engine})"),
        ("watch", _watch(found)),
    ]
    if not place.placement.enabled:
        facts.append(("note", f"the client's memory is switched off: {place.placement.why}"))
    facts += brief(found.extraction)
    if found.paused:
        facts.append(("paused", f"{', '.join(found.paused)}: automatic saving rests until `memstore resume`"))
    facts += map(absorbed, files.absorbed)
    facts += [("no room", path) for path in files.omitted]
    if lines := lines_left_out(files):
        facts.append(("no room", f"{plural(lines, 'other line')}: see `memstore show {INDEX_NAME}`"))
    return facts


def _asked(memories: Memstore) -> list[tuple[str, int]]:
    """The dreams that wait for a person's answer, and with how many steps."""
    from memstore.store import steps

    with memories.store.view() as connection:
        return steps.waiting(connection)


def _told_asked(run: str, count: int) -> str:
    steps = "1 step of a dream waits" if count == 1 else f"{count} steps of a dream wait"
    return f"{steps} for an answer: see `memstore dream show {run[:13]}`"


def _conflicts(number: int) -> str:
    return plural(number, "open conflict") + (": see `memstore conflicts`" if number else "")


def _watcher_shape(watcher: Watcher | None) -> dict[str, object] | None:
    from memstore.cli.shaping import moment_shape

    if watcher is None:
        return None
    return {"pid": watcher.pid, "since": moment_shape(watcher.since), "folder": watcher.folder}


def _watch(found: Status) -> str:
    watcher = found.watcher
    if watcher is None:
        return "not running"
    elsewhere = "" if watcher.folder == found.place.folder else f", in {watcher.folder or 'no folder'}"
    return f"running since {when(watcher.since)}, pid {watcher.pid}{elsewhere}"


def _marks(memory: Memory, gone: Collection[str]) -> str:
    marks = (
        "" if memory.state.live else "retired",
        "file gone" if memory.state.live and memory.path in gone else "",
        "pinned" if memory.state.pinned else "",
        "superseded" if memory.state.superseded_by else "",
        WORDS_OF_TOOLS if memory.origin == "tool" else "",
    )
    return ",".join(filter(None, marks))

"""`purge`: forgetting on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli import exits, inputs
from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.terminal import plural, printable

if TYPE_CHECKING:
    from memstore.cli.shaping import Shape
    from memstore.upkeep.purging import Plan, Purged, Wanted

_SHOWN = 20

_BEYOND = (
    "what memstore cannot reach: transcripts of the client, what git has committed, exports and copies elsewhere, and"
    " whatever still has the text open and saves it again: that is taken in as news"
)


@click.command("purge")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--secret", metavar="TEXT", help="Take TEXT out wherever it stands (the shell remembers it).")
@click.option("--secret-file", metavar="FILE", help="The same with the text of FILE, or of standard input with -.")
@click.option("--before", metavar="WHEN", help="Take out what is older than WHEN and not current: 2026-03-01, 90d ...")
@click.option("--finish", is_flag=True, help="Clean the files of the database after a purge that could not.")
@click.option(
    "--backups", is_flag=True, help="Delete the copies of the database that memstore made as well; alone: only these."
)
@click.option("--reason", metavar="TEXT", default="", help="Why; it is kept in the history.")
@click.option("--dry-run", is_flag=True, help="Show what would be taken; change nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@json_option
@click.pass_obj
def purge(
    state: State, names: tuple[str, ...], secret: str | None, secret_file: str | None, before: str | None,
    finish: bool, backups: bool, reason: str, dry_run: bool, yes: bool,
) -> None:  # fmt: skip
    """Forget on purpose, everywhere and for good: a person's decision. There is no undo.

    NAME takes a memory with all its versions; --secret takes a text out of everything that has it and leaves
    [purged] in its place; --before takes what is older than a day, unless it is current. What would be taken is shown
    first. Of it stays who took how much, when and why. Backups are named, and deleted with --backups.
    """
    asked = sum((bool(names), secret is not None, secret_file is not None, before is not None, finish))
    if asked > 1 or not (asked or backups):
        raise click.UsageError("give one of these: NAMEs, --secret, --secret-file, --before, --finish or --backups")
    if not asked and reason:
        raise click.UsageError("--backups alone is no purge, and keeps no reason: leave --reason out")
    if finish and (backups or dry_run or reason):
        raise click.UsageError("--finish only cleans up: leave --backups, --dry-run and --reason out")
    from memstore.cli.word import ask, check_person

    if not dry_run:
        check_person(state.world(), "purge", "what is forgotten for good")
    if finish:
        _finish(state)
        return
    if not asked:
        _copies(state, dry_run, yes)
        return
    from memstore.upkeep.purging import plan
    from memstore.upkeep.purging import purge as take

    wanted = _wanted(state, names, secret, secret_file, before)
    with state.open() as memories:
        planned = plan(memories, wanted)
        if not (dry_run and state.json):
            _tell_plan(state, planned, backups)
        if dry_run or (planned.nothing and not (backups and planned.copies)):
            if state.json:
                state.emit("purge", _shape(planned, None))
            state.report("there is nothing to purge" if planned.nothing else "nothing was changed")
            return
        ask(state, "Take all this out for good?", yes)
        with progress_bar(state, "purging") as progress:
            done = take(memories, planned, reason=reason, with_copies=backups, progress=progress)
    if state.json:
        state.emit("purge", _shape(planned, done))
    _tell(state, done)
    if not done.whole:
        raise exits.Finished(exits.GONE)


def _wanted(
    state: State, names: tuple[str, ...], secret: str | None, secret_file: str | None, before: str | None
) -> Wanted:
    from memstore.core.forgetting import SHORT, secret_of
    from memstore.upkeep.purging import Wanted

    if before is not None:
        return Wanted(before=inputs.moment(before))
    if secret is None and secret_file is None:
        return Wanted(tuple(dict.fromkeys(names)))
    if secret is None:
        assert secret_file is not None
        secret = _read(state, secret_file).removesuffix("\n").removesuffix("\r")
    else:
        secret = inputs.argument_text(secret)
        state.note("note: the shell keeps what was typed in its history; --secret-file - reads it from standard input")
    if len(secret) < SHORT:
        state.note(f"note: {plural(len(secret), 'character')} may stand in many words: look at what would be taken")
    return Wanted(secret=secret_of(secret))


def _read(state: State, file: str) -> str:
    """The text of a file or of standard input; at a terminal it is asked for, and not shown."""
    if file != "-":
        return inputs.file_text(state.path(file), file)
    if inputs.has_piped_input():
        return inputs.standard_input()
    return str(click.prompt("The text to take out", hide_input=True, err=True))


def _tell_plan(state: State, planned: Plan, backups: bool) -> None:
    if state.json:
        return
    verb = "goes" if planned.wanted.what == "memory" else "changes"
    for path in planned.memories[:_SHOWN]:
        state.report(printable(f"{verb:8} {path}"))
    if len(planned.memories) > _SHOWN:
        state.report(f"{verb:8} and {len(planned.memories) - _SHOWN} more")
    if planned.lines:
        state.report(f"changes  {plural(planned.lines, 'line')} of the index")
    if planned.taken:
        state.report(f"from the history: {_counted(planned.taken)}")
    for path in planned.files:
        state.report(printable(f"holds it {path}"))
    for path in planned.copies if backups or not planned.nothing else ():
        state.report(printable(f"{'deletes' if backups else 'may hold'} {path}"))


def _tell(state: State, done: Purged) -> None:
    if done.seq is not None:
        state.report(f"purged by operation #{done.seq}: {_counted(done.taken)}")
    for path in done.removed:
        state.report(printable(f"deleted {path}"))
    if done.removed and not done.copies:
        state.report("there is no backup any more: `memstore backup` makes one")
    for notice in done.notices:
        state.note(f"note: {notice}")
    if done.trouble is not None:
        state.note(f"not finished: {done.trouble} ({done.trouble.hint})")
    for path in done.found:
        state.note(f"still holds it: {path}")
    for path in done.unread:
        state.note(f"could not be looked into: {path}")
    for column in done.left:
        state.note(f"still holds it: the database's column {column}, which memstore needs as it is")
    if done.copies:
        copies = plural(len(done.copies), "copy", "copies")
        state.note(f"{copies} of the database from before may hold it: `memstore purge --backups` deletes them")
    if done.whole:
        state.report("found in no file of the store and of its memory folders")
    state.note(_BEYOND)


def _counted(taken: dict[str, int]) -> str:
    return ", ".join(f"{what} {number}" for what, number in taken.items())


def _finish(state: State) -> None:
    from memstore.upkeep.purging import finish

    with state.open() as memories:
        waiting, trouble = finish(memories)
    if state.json:
        state.emit("purge", {**_NOTHING, "what": "finish", "finished": trouble is None, "seq": None})
    if trouble is not None:
        state.note(f"not finished: {trouble} ({trouble.hint})")
        raise exits.Finished(exits.GONE)
    told = ", ".join(f"#{tombstone.seq}" for tombstone in waiting)
    state.report(f"the files are clean after {told}" if told else "the files are clean; nothing had waited for that")


def _copies(state: State, dry_run: bool, yes: bool) -> None:
    """Deletes the copies of the database alone: those that a purge left and named."""
    from memstore.cli.word import ask
    from memstore.upkeep.purging import delete_copies, found_copies

    with state.open() as memories:
        found = found_copies(memories)
    if not (dry_run and state.json):
        for path in found:
            state.report(printable(f"deletes {path}"))
    removed: tuple[str, ...] = ()
    if found and not dry_run:
        ask(state, "Delete all these?", yes)
        removed = delete_copies(found)
    left = [path for path in found if path not in removed]
    if state.json:
        told = {"dry_run": dry_run, "what": "copies", "copies": left, "removed": list(removed), "seq": None}
        state.emit("purge", {**_NOTHING, **told, "finished": not left})
    if not found or dry_run:
        state.report("nothing was changed" if found else "there is no copy of the database")
        return
    state.report(f"deleted {plural(len(removed), 'copy', 'copies')} of the database; `memstore backup` makes a new one")
    for path in left:
        state.note(f"could not be deleted: {path}")
    if left:
        raise exits.Finished(exits.GONE)


_NOTHING: dict[str, object] = {
    "dry_run": False, "memories": [], "lines": 0, "taken": {}, "holding": [], "unread": [], "columns": [],
    "copies": [], "removed": [], "notices": [], "trouble": None, "files": None,
}  # fmt: skip


def _shape(planned: Plan, done: Purged | None) -> Shape:
    from memstore.cli.shaping import files_shape

    shape = {
        **_NOTHING,
        "dry_run": done is None,
        "what": planned.wanted.what,
        "memories": list(planned.memories),
        "lines": planned.lines,
        "taken": planned.taken,
        "holding": list(planned.files),
        "copies": list(planned.copies),
        "seq": None,
        "finished": False,
    }
    if done is None:
        return shape
    return {
        **shape,
        "taken": done.taken,
        "holding": list(done.found),
        "unread": list(done.unread),
        "columns": list(done.left),
        "copies": list(done.copies),
        "removed": list(done.removed),
        "notices": list(done.notices),
        "trouble": None if done.trouble is None else f"{done.trouble} ({done.trouble.hint})",
        "files": None if done.files is None else files_shape(done.files),
        "seq": done.seq,
        "finished": done.whole,
    }

"""`backup` and `restore-backup`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.terminal import plural, printable, table

if TYPE_CHECKING:
    from memstore.cli.shaping import Shape
    from memstore.store.backup import Contents
    from memstore.upkeep.backups import BackedUp, Backup
    from memstore.upkeep.restoring import Planned, Restored


@click.command()
@click.argument("file", required=False)
@click.option("--list", "listing", is_flag=True, help="List the backups in the default place, newest first.")
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=1),
    help="Of the backups in the default place keep the newest N, this one among them; remove older ones.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be made and removed; do nothing.")
@json_option
@click.pass_obj
def backup(state: State, file: str | None, listing: bool, keep: int | None, dry_run: bool) -> None:
    """Copy the whole database into a file of its own: FILE, or a new one in memstore's home.

    The copy is opened and compared with what it was made from before it counts. Nobody who works with the store
    waits for it. `memstore restore-backup` puts one back.

    --keep removes only files in the default place that are backups of this store; neither those that a restore
    made nor any in other places.
    """
    if listing:
        if file is not None or keep is not None or dry_run:
            raise click.UsageError("--list stands alone")
        _list(state)
        return
    from memstore.cli.word import check_person
    from memstore.upkeep import backups

    if keep is not None:
        if file is not None:
            raise click.UsageError("--keep is for the default place: leave FILE out")
        check_person(state.world(), "backup --keep N", "removing older backups")
    with state.open() as memories, progress_bar(state, "copying") as progress:
        target = None if file is None else state.path(file)
        done = backups.back_up(memories, target, keep=keep, dry_run=dry_run, progress=progress)
    if state.json:
        state.emit("backup", _made_shape(done, dry_run))
        return
    _tell_made(state, done, dry_run)


def _tell_made(state: State, done: BackedUp, dry_run: bool) -> None:
    for notice in done.notices:
        state.note(notice)
    for path, reason in done.pruned.left:
        state.note(f"not counted and left alone: {path}: {reason}")
    for path in done.pruned.removed:
        state.report(printable(f"{'would remove' if dry_run else 'removed'}  {path}"))
    state.report(
        printable(f"{'would make' if dry_run else 'made'} {done.path}: {_told(done.holds)}, {_megabytes(done.size)}")
    )


def _list(state: State) -> None:
    from memstore.cli.shaping import moment_shape
    from memstore.place import find_place
    from memstore.upkeep import backups

    place = find_place(state.world())
    found = [] if place.store is None else backups.listed(place.home.path, place.store)
    if state.json:
        directory = None if place.store is None else backups.directory_of(place.home.path, place.store)
        state.emit("backup --list", {"directory": directory, "backups": [_backup_shape(one) for one in found]})
        return
    rows = [
        (
            str(number),
            moment_shape(one.at)[:19] + "Z",
            _megabytes(one.size),
            "before a restore" if one.before_restore else "",
            printable(one.path),
        )
        for number, one in enumerate(found, 1)
    ]
    state.say(table(("number", "made", "size", "why", "file"), rows))
    if not found:
        state.note("there are no backups yet: `memstore backup` makes one")


@click.command("restore-backup")
@click.argument("backup", metavar="FILE|latest|NUMBER")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--dry-run", is_flag=True, help="Check the backup and say what would be done; change nothing.")
@json_option
@click.pass_obj
def restore_backup(state: State, backup: str, yes: bool, dry_run: bool) -> None:
    """Put a backup in the place of all that the store holds now. A person's decision.

    `latest` is the newest backup that was asked for, a NUMBER one of `memstore backup --list`. What the store holds
    until now is backed up first, and restoring that file takes the restore back. Everybody who has the store open
    goes on with the restored rows.

    No file in the memory folder is overwritten: what is newer there than the backup counts as an edit, and the next
    `memstore sync` takes it in. What was deleted since comes back.

    A database that cannot be used is renamed, never deleted.
    """
    from memstore.cli.word import ask, check_person
    from memstore.upkeep import restoring

    world = state.world()
    check_person(world, "restore-backup", "restoring a backup")
    planned = restoring.plan(world, backup, state.path(backup))
    if not dry_run:
        if not yes:
            _tell_plan(state, planned)
        ask(state, "Restore it?", yes)
        with progress_bar(state, "restoring") as progress:
            done = restoring.restore(world, planned, progress)
    if state.json:
        shape = _restored_shape(planned, None) if dry_run else _restored_shape(done.plan, done)
        state.emit("restore-backup", {"dry_run": dry_run, **shape})
    elif dry_run:
        _tell_plan(state, planned)
        state.report("nothing was changed")
    else:
        _tell_restored(state, done)


def _tell_plan(state: State, planned: Planned) -> None:
    state.report(printable(f"the backup {planned.source}"))
    state.report(f"  holds {_told(planned.holds)}")
    if planned.now is None:
        state.report(printable(f"the database cannot be used and would be renamed: {planned.damage}"))
    else:
        state.report(f"the store holds {_told(planned.now)}; that is backed up first")
    _tell_forgotten(state, planned)


def _tell_forgotten(state: State, planned: Planned) -> None:
    for notice in planned.notices:
        state.note(notice)
    if planned.forgotten:
        times = plural(planned.forgotten, "purge")
        state.note(f"the backup is older than {times}: what was forgotten then comes back, and has to be purged again")


def _tell_restored(state: State, done: Restored) -> None:
    state.report(printable(f"restored {done.plan.source}: {_told(done.plan.holds)}, operation #{done.seq}"))
    for path in done.aside:
        state.report(printable(f"renamed  {path}"))
    for name in done.back:
        state.report(printable(f"comes back  {name}"))
    if done.files is not None:
        for noted in done.files.absorbed:
            state.report(printable(f"differs in the folder  {noted.path}  ({noted.what})"))
        if done.files.absorbed:
            state.report("the next `memstore sync` takes these in as edits; none of them was overwritten")
        elif done.back or done.files.projected:
            state.report("`memstore sync` shows the memories as they are now")
        for notice in done.files.notices:
            state.note(notice)
    _tell_forgotten(state, done.plan)
    if done.before is not None:
        state.report(printable(f"to take it back: memstore restore-backup {_quoted(done.before)}"))


def _quoted(path: str) -> str:
    from shlex import quote

    return quote(path)


def _told(holds: Contents) -> str:
    from memstore.cli.shaping import moment_shape

    newest = f", newest operation #{holds.operation} of {moment_shape(holds.at)[:19]}Z" if holds.operation else ""
    return f"{plural(holds.memories, 'memory', 'memories')}, {plural(holds.versions, 'version')}{newest}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _holds_shape(holds: Contents) -> Shape:
    from memstore.cli.shaping import moment_shape

    return {
        "store": holds.store,
        "schema": holds.schema,
        "memories": holds.memories,
        "versions": holds.versions,
        "seq": holds.operation,
        "at": moment_shape(holds.at),
    }


def _made_shape(done: BackedUp, dry_run: bool) -> Shape:
    return {
        "dry_run": dry_run,
        "file": done.path,
        "bytes": done.size,
        "holds": _holds_shape(done.holds),
        "removed": list(done.pruned.removed),
        "left": [{"path": path, "reason": reason} for path, reason in done.pruned.left],
        "notices": list(done.notices),
    }


def _backup_shape(one: Backup) -> Shape:
    from memstore.cli.shaping import moment_shape

    return {"file": one.path, "at": moment_shape(one.at), "bytes": one.size, "before_restore": one.before_restore}


def _restored_shape(planned: Planned, done: Restored | None) -> Shape:
    from memstore.cli.shaping import files_shape

    files = None if done is None or done.files is None else files_shape(done.files)
    return {
        "file": planned.source,
        "holds": _holds_shape(planned.holds),
        "now": None if planned.now is None else _holds_shape(planned.now),
        "damage": planned.damage,
        "forgotten": planned.forgotten,
        "before": None if done is None else done.before,
        "aside": [] if done is None else list(done.aside),
        "back": [] if done is None else list(done.back),
        "files": files,
        "seq": None if done is None else done.seq,
    }

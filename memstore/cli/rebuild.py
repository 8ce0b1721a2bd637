"""`rebuild`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.terminal import plural, printable

if TYPE_CHECKING:
    from memstore.cli.shaping import Shape
    from memstore.upkeep.rebuilding import Rebuilt


@click.command()
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--dry-run", is_flag=True, help="Say what is wrong with the database; change nothing.")
@json_option
@click.pass_obj
def rebuild(state: State, yes: bool, dry_run: bool) -> None:
    """Make a new database in the place of one that cannot be used. A person's decision.

    Where there is a backup, `memstore restore-backup latest` brings back more: the history too.

    The memories come from the files of the memory folder. The damaged file is renamed, never deleted; what can still
    be read in it and stands in no file is written into a directory that the answer names, for `memstore import`.
    """
    from memstore.cli.word import ask, check_person
    from memstore.upkeep import rebuilding

    world = state.world()
    check_person(world, "rebuild", "making a new database")
    damaged = rebuilding.damage(world)
    if dry_run:
        if state.json:
            state.emit("rebuild", {"dry_run": True, **_shape(damaged, None)})
        state.report(printable(damaged))
        state.report("nothing was changed; the database would be renamed, and the memory folder taken over anew")
        return
    if not yes:
        state.report(printable(damaged))
    ask(state, "Rename it, and make a new one from the memory folder?", yes)
    with progress_bar(state, "rebuilding") as progress:
        done = rebuilding.rebuild(world, damaged, progress)
    if state.json:
        state.emit("rebuild", {"dry_run": False, **_shape(damaged, done)})
        return
    _tell(state, done)


def _tell(state: State, done: Rebuilt) -> None:
    for path in done.aside:
        state.report(printable(f"renamed  {path}"))
    taken = plural(done.memories, "memory", "memories")
    state.report(f"made anew with {taken} of the memory folder, operation #{done.seq}")
    for notice in (*done.files.notices, *done.notices):
        state.note(notice)
    living = [saved for saved in done.saved if saved.living]
    for saved in living:
        state.report(printable(f"in no file any more  {saved.path}"))
    texts = plural(done.texts, "text")
    if done.directory is None:
        state.report(f"read {texts} in the old file; none of them is missing")
        return
    state.report(printable(f"read {texts} in the old file, of which {len(done.saved)} are in {done.directory}"))
    if len(living) < len(done.saved):
        state.report("those in its directory texts are of earlier versions; delete them when you miss nothing")
    if living:
        from shlex import quote

        state.report(printable(f"to have these back: memstore import {quote(done.directory + '/memories')}"))


def _shape(damaged: str, done: Rebuilt | None) -> Shape:
    if done is None:
        return {
            "damage": damaged,
            "aside": [],
            "memories": 0,
            "texts": 0,
            "salvaged": [],
            "directory": None,
            "notices": [],
            "seq": None,
        }
    return {
        "damage": damaged,
        "aside": list(done.aside),
        "memories": done.memories,
        "texts": done.texts,
        "salvaged": [{"path": saved.path, "file": saved.file, "living": saved.living} for saved in done.saved],
        "directory": done.directory,
        "notices": [*done.files.notices, *done.notices],
        "seq": done.seq,
    }

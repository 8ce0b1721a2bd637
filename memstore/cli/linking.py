"""`link`: gives a directory the store of another one, above all after a move."""

from __future__ import annotations

import os

import click

from memstore.cli.state import State, json_option
from memstore.cli.terminal import printable
from memstore.cli.where import look
from memstore.errors import InputRefused


@click.command()
@click.argument("target", metavar="[STORE|OLD_PATH]", required=False)
@click.option("--new", "fresh", is_flag=True, help="Give this directory a new, empty store; the earlier one stays.")
@json_option
@click.pass_obj
def link(state: State, target: str | None, fresh: bool) -> None:
    """Take the memories of a repository along after it was moved, or use another repository's store here.

    Without STORE or OLD_PATH: the store that this directory had before it was moved.
    """
    from memstore.core.ids import is_uuid
    from memstore.place import hand_over_folder
    from memstore.store.entry import USER_ROOT

    if fresh and target is not None:
        raise click.UsageError("give a store or --new, not both")
    world = state.world()
    place, moved = look(world)
    root = place.root.path
    if fresh:
        registration = place.home.link_new(root, world.new_id, world.clock())
    else:
        if target is None and moved is None:
            raise InputRefused(
                f"{root} was not moved, so there is nothing to link",
                hint="name a store or a repository's old path; `memstore where` lists them",
            )
        wanted = moved.store if target is None and moved is not None else str(target)
        if wanted != USER_ROOT and not is_uuid(wanted):
            wanted = os.path.normpath(state.path(wanted))
        registration = place.home.link(root, wanted, world.clock())
    hand_over_folder(place, registration.store)
    if state.json:
        state.emit("link", {"root": root, "store": registration.store, "created": registration.created})
    state.report(printable(f"{root} uses the store {registration.store} now; `memstore sync` shows its memories here"))

"""`where`: each decision about place, and the rule behind it. It makes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from memstore.cli.state import State, json_option
from memstore.cli.terminal import plural, printable
from memstore.errors import FolderTaken, Mendable, Moved

if TYPE_CHECKING:
    from memstore.claude.earlier import Earlier
    from memstore.claude.settings import SettingValue
    from memstore.files.claim import Claim
    from memstore.place import Place
    from memstore.store.entry import Entry
    from memstore.world import World


@dataclass(frozen=True, slots=True)
class _Facts:
    """All that `where` tells."""

    place: Place
    moved: Moved | None
    claim: Claim | None
    earlier: tuple[Earlier, ...]
    stores: tuple[Entry, ...]
    warnings: tuple[str, ...]
    refusal: str  # why nothing is projected; empty where it is


@click.command()
@json_option
@click.pass_obj
def where(state: State) -> None:
    """Say where the memories of this directory are, and which rule decided each thing.

    It makes nothing and writes nothing, and works where nothing is set up yet or the repository was moved.
    """
    facts = _facts(state.world())
    if state.json:
        state.emit("where", _shape(facts))
    else:
        state.say("\n".join(printable(line) for line in _lines(facts)))


def look(world: World) -> tuple[Place, Moved | None]:
    """The place of a working directory, and that it moved where it did."""
    from memstore.place import find_place, locate

    try:
        return find_place(world), None
    except Moved as moved:
        return locate(world), moved


def setting_shape(value: SettingValue) -> dict[str, object]:
    """One setting's value, as JSON has it."""
    return {
        "key": value.key,
        "value": value.value,
        "source": value.source,
        "rule": value.rule,
        "trusted": value.trusted,
    }


def _facts(world: World) -> _Facts:
    from memstore.claude.earlier import earlier_directories

    place, moved = look(world)
    warnings = [*place.root.warnings, *place.settings.warnings]
    claim, refusal = None, place.refusal
    try:
        claim = _claim(place.placement.directory)
    except Mendable as error:
        warnings.append(str(error))
        refusal = refusal or str(error)
    if claim is not None and claim.store != (place.store if moved is None else moved.store):
        taken = FolderTaken(place.placement.directory, claim.root or claim.store, place.root.path)
        refusal = refusal or f"{taken}; {taken.hint}"
    if place.agent is not None and not refusal:
        from memstore.agents import look as look_at

        if look_at(place.agent, world, place.home).kept == "read":
            refusal = "git keeps that directory, so it is only read"
    stores: tuple[Entry, ...] = ()
    try:
        stores = place.home.entries()
    except Mendable as error:
        warnings.append(str(error))
    typed = world.environment.get("PWD", "")
    cwd = typed if os.path.isabs(typed) and os.path.realpath(typed) == os.path.realpath(world.cwd) else world.cwd
    earlier = earlier_directories(place.root, world.environment, world.home, current=place.placement.directory, cwd=cwd)
    return _Facts(place, moved, claim, earlier, stores, tuple(warnings), refusal)


def _claim(directory: str) -> Claim | None:
    from memstore.files.claim import read_claim
    from memstore.files.folder import Folder

    folder = Folder.open(directory)
    if folder is None:
        return None
    with folder:
        return read_claim(folder)


def _lines(facts: _Facts) -> Iterator[str]:
    place, placement, root = facts.place, facts.place.placement, facts.place.root
    yield f"root       {root.path}"
    yield f"           {root.kind}: {root.rule}"
    if root.worktree != root.path:
        yield f"worktree   {root.worktree}"
    if root.branch or root.commit:
        yield f"branch     {root.branch or 'none'} at {root.commit or 'no commit'}"
    yield f"home       {place.home.path}"
    if facts.moved is not None:
        yield f"store      {facts.moved.store}, known as that of {facts.moved.old_root}: run `memstore link`"
    else:
        yield f"store      {place.store_directory or 'none yet; the first look at the memories makes one'}"
    yield f"folder     {placement.directory}" + ("" if os.path.isdir(placement.directory) else " (not there yet)")
    yield f"           {placement.rule}"
    if facts.claim is not None:
        ours = "this project" if facts.claim.store == place.store else facts.claim.root
        yield f"claimed    by {ours}"
    yield f"projected  {'no: ' + facts.refusal if facts.refusal else 'yes'}"
    yield f"memory     {'on' if placement.enabled else 'off'}: {placement.why}"
    for value in place.settings.awaiting():
        accept = f"`memstore trust {value.key}` accepts it"
        yield f"waiting    {value.key} = {value.value!r} from {value.source}: {accept}"
    yield "rules"
    for decision in placement.decisions:
        yield f"  {decision.what}: {decision.value or '-'}  ({decision.rule}; {decision.source})"
    for setting in place.settings.values:
        counts = "" if setting.trusted else "; not trusted"
        yield f"  setting {setting.key} = {setting.value!r}  ({setting.rule}{counts}; {setting.source})"
    if facts.earlier:
        yield "earlier memory folders (left alone; `memstore import DIR` takes one in)"
        yield from (f"  {one.directory}  {plural(one.files, 'file')}: {one.rule}" for one in facts.earlier)
    if facts.stores:
        yield "stores"
        yield from (f"  {entry.store}  {entry.root}" for entry in facts.stores)
    yield from (f"warning    {warning}" for warning in facts.warnings)


def _shape(facts: _Facts) -> dict[str, object]:
    place, placement, root, claim = facts.place, facts.place.placement, facts.place.root, facts.claim
    return {
        "root": root.path,
        "root_kind": root.kind,
        "root_rule": root.rule,
        "worktree": root.worktree,
        "branch": root.branch,
        "commit": root.commit,
        "home": place.home.path,
        "store": place.store,
        "store_directory": place.store_directory,
        "moved_from": None if facts.moved is None else facts.moved.old_root,
        "folder": placement.directory,
        "folder_rule": placement.rule,
        "folder_exists": os.path.isdir(placement.directory),
        "projected": not facts.refusal,
        "refusal": facts.refusal,
        "enabled": placement.enabled,
        "enabled_rule": placement.why,
        "decisions": [
            {"what": one.what, "value": one.value, "rule": one.rule, "source": one.source}
            for one in placement.decisions
        ],
        "settings": [setting_shape(value) for value in place.settings.values],
        "untrusted": [setting_shape(value) for value in place.settings.awaiting()],
        "claim": claim
        and {
            "store": claim.store,
            "root": claim.root,
            "ours": place.store is not None and claim.store == place.store,
        },
        "earlier": [{"directory": one.directory, "rule": one.rule, "files": one.files} for one in facts.earlier],
        "stores": [{"root": entry.root, "store": entry.store} for entry in facts.stores],
        "warnings": list(facts.warnings),
    }

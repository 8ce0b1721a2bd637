"""The doctor's look at the client: whether its memory is on, and whether the plugin is as this memstore makes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import memstore
from memstore.claude.install import obstacles
from memstore.claude.plugin import HOOKS, MANIFEST
from memstore.core.findings import Finding
from memstore.errors import Mendable
from memstore.upkeep.doctor_told import some

if TYPE_CHECKING:
    from memstore.claude.install import Standing
    from memstore.installing import Places
    from memstore.place import Place
    from memstore.world import World

PLUGIN = "plugin"
MEMORY = "client-memory"

_WHY = "sessions do not tell memstore what they write, and what a turn taught is not kept"
_INSTALL = "run `memstore install claude`"


def memory(place: Place, world: World) -> Iterator[Finding]:
    """Whether sessions of the client read the folder at all."""
    if not place.placement.enabled:
        yield Finding(
            MEMORY, "note", f"the client's memory is off here: {place.placement.why}",
            "sessions do not load MEMORY.md, and write no memories by themselves",
            "take that variable or setting away, if it is not meant; `memstore where` names it",
        )  # fmt: skip


def plugin(place: Place, world: World) -> Iterator[Finding]:
    """Whether the plugin is installed, is this version's, and would be loaded."""
    from memstore import installing

    try:
        places = installing.Places.find(world)
        found = installing.standing(places, project=places.project is not None)
        blocked, warnings = obstacles(installing.policy(places, found))
    except Mendable as error:
        yield Finding(PLUGIN, "warning", f"the client's plugin cannot be looked at: {error}", _WHY, error.hint)
        return
    link = found.links[0]
    if link.strange:
        yield Finding(
            PLUGIN, "warning", f"{link.path} is not memstore's: {link.strange}", _WHY,
            f"move it away, then {_INSTALL}",
        )  # fmt: skip
    elif link.target is None:
        yield Finding(PLUGIN, "note", f"the plugin is not installed in the client ({places.config})", _WHY, _INSTALL)
    elif link.target != found.plugin:
        yield Finding(
            PLUGIN, "warning", f"the client's plugin is that of another home: {link.target}",
            "sessions tell what they write to another store", f"set MEMSTORE_HOME as it was then, or {_INSTALL}",
        )  # fmt: skip
    else:
        yield from _files(found, places, world)
        if blocked:
            yield Finding(
                PLUGIN, "warning", f"the client does not load the plugin: {blocked}", _WHY,
                "whoever manages these settings can allow it; the MCP server alone: `memstore install --print mcp`",
            )  # fmt: skip
        for warning in warnings:
            yield Finding(PLUGIN, "warning", warning, _WHY, "take that out of the settings, if it is not meant")


def _files(found: Standing, places: Places, world: World) -> Iterator[Finding]:
    """The files that stand beside those that this memstore would put there."""
    from memstore import installing

    version = _version(found.files)
    if version != memstore.__version__:
        yield Finding(
            PLUGIN, "warning",
            f"the plugin's files are of memstore {version or 'of an unknown version'}, this is {memstore.__version__}",
            "hooks and commands of two versions may not fit together", _INSTALL,
        )  # fmt: skip
        return
    try:
        wanted = installing.rendered(world, places)
    except Mendable as error:
        yield Finding(PLUGIN, "note", f"the plugin's files cannot be compared: {error}", _WHY, error.hint)
        return
    other = sorted(path for path, text in wanted.items() if found.files.get(path) != text)
    if other:
        are, them = ("is", "it") if len(other) == 1 else ("are", "them")
        yield Finding(
            PLUGIN, "warning", f"{some(other)} of the plugin {are} not as this memstore makes {them}",
            "memstore was moved, or a memory folder came that the hooks do not know" if other == [HOOKS] else
            "memstore was moved or changed, or somebody edited the plugin",
            _INSTALL,
        )  # fmt: skip


def _version(files: Mapping[str, str]) -> str:
    """What the manifest says; empty where it cannot be read."""
    try:
        manifest = json.loads(files.get(MANIFEST, ""))
    except (ValueError, RecursionError):
        return ""
    found = manifest.get("version") if isinstance(manifest, dict) else None
    return found if isinstance(found, str) else ""

"""What `memstore install claude` and `uninstall claude` change: from what stands to what shall stand. Pure.

The plugin's files lie in the program's own home; a link in the client's skills directory makes the client load
them as `memstore@skills-dir`. That needs no marketplace, no network and no setting, holds from the first session
on, also with `-p`, and a change of the files holds from the next one (documented since the client 2.1.157, seen
with 2.1.332). Settings are edited in two cases only:

1. For one project: off in the user's settings, on in the project's `settings.local.json`. Seen to hold in the
   checkout, its subdirectories and its linked worktrees, and nowhere else.
2. For the user, where their settings switch the plugin off: that entry is taken out.

What was put in is recorded, so that `uninstall` leaves the very bytes that were there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memstore.claude import jsontext
from memstore.errors import InputRefused, PlaceRefused

PLUGIN = "memstore@skills-dir"
SWITCHES = "enabledPlugins"
Scope = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Document:
    """A settings file. `text`: None where there is none."""

    path: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Link:
    """The name in the client's skills directory: where it leads, or None; `strange`: why it is not ours to change."""

    path: str
    target: str | None
    strange: str = ""


@dataclass(frozen=True, slots=True)
class Touched:
    """A settings file that has an entry of ours. `made`: it was not there before; `had`: it had the object."""

    path: str
    made: bool
    had: bool
    project: bool


@dataclass(frozen=True, slots=True)
class Record:
    """What earlier installations put where."""

    files: tuple[str, ...] = ()
    """Of the plugin, by their path in it."""
    links: tuple[str, ...] = ()
    settings: tuple[Touched, ...] = ()
    directories: tuple[str, ...] = ()
    """Those that had to be made, outermost first."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is there now. `plugin`: the directory of the rendered files, and their texts by path."""

    plugin: str
    files: Mapping[str, str]
    user: Document
    project: Document | None
    links: tuple[Link, ...]
    """The one of the present configuration directory first."""
    others: tuple[Document, ...]
    """Settings of other projects that have an entry of ours."""
    record: Record
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One file or link. `before` and `after`: its text or where it leads; None: not there."""

    kind: Literal["plugin", "settings", "link"]
    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to change, in this order, and what to remember of it; None: nothing of ours is left."""

    changes: tuple[Change, ...]
    record: Record | None
    warnings: tuple[str, ...] = ()


def install(standing: Standing, rendered: Mapping[str, str], scope: Scope) -> Plan:
    """The plan that makes the plugin stand for the user, or for one project. Raises PlaceRefused, InputRefused."""
    link = standing.links[0]
    if link.strange:
        raise PlaceRefused(
            f"{link.path} is there already and is not memstore's: {link.strange}",
            hint="move it away, then install again",
        )
    everywhere = link.target is not None and _switch(standing.user) is not False
    changes = _plugin_changes(standing, rendered)
    touched = {one.path: one for one in standing.record.settings}
    if scope == "user" and _switch(standing.user) is False:
        changes += _edited(standing.user, _without(standing.user, touched.pop(standing.user.path, None)))
    if scope == "project":
        assert standing.project is not None
        wanted = [(standing.user, False)] if not everywhere else []
        for document, value in [*wanted, (standing.project, True)]:
            changes += _edited(document, _with(document, value))
            if document.path not in touched:
                touched[document.path] = _first_touch(document, document is standing.project)
    if link.target != standing.plugin:
        changes.append(Change("link", link.path, link.target, standing.plugin))
    links = tuple(dict.fromkeys((link.path, *standing.record.links)))
    record = replace(standing.record, files=tuple(rendered), links=links, settings=tuple(touched.values()))
    return Plan(tuple(changes), record)


def uninstall(standing: Standing, scope: Scope | None) -> Plan:
    """The plan that takes out all of ours, or with scope `project` the entry of this project alone.

    When that was the only project, nothing is switched on any more, and all goes.
    """
    record = standing.record
    touched = {one.path: one for one in record.settings}
    if scope == "project":
        assert standing.project is not None
        changes = _edited(standing.project, _without(standing.project, touched.pop(standing.project.path, None)))
        remaining = any(one.project for one in touched.values())
        if remaining or _switch(standing.user) is not False:
            return Plan(tuple(changes), replace(record, settings=tuple(touched.values())))
    changes = [
        Change("link", link.path, link.target, None) for link in standing.links if link.target == standing.plugin
    ]
    known = {one.path: one for one in record.settings}
    for document in [standing.user, *([standing.project] if standing.project else [])]:
        changes += _edited(document, _without(document, known.get(document.path)))
    warnings = list(standing.warnings)
    for document in standing.others:
        try:
            changes += _edited(document, _without(document, known.get(document.path)))
        except InputRefused as error:  # another project's trouble does not keep the rest
            warnings.append(str(error))
    ours = set(record.files)
    files = [Change("plugin", path, text, None) for path, text in standing.files.items() if path in ours]
    return Plan((*changes, *files), None, tuple(warnings))


def obstacles(sources: Iterable[tuple[str, bool, Mapping[str, Any]]]) -> tuple[str, tuple[str, ...]]:
    """Why the client would not load the plugin at all (empty: it would), and what it would not do of it.

    `sources`: name, whether an organisation's managed settings, content.
    """
    blocked, warnings = "", []
    for name, managed, content in sources:
        if content.get("disableAllHooks") is True:
            warnings.append(f"{name} switches all hooks off (disableAllHooks): sessions will not tell what they write")
        if not managed:
            continue
        if content.get("allowManagedHooksOnly") is True:
            warnings.append(
                f"{name} allows only the organisation's own hooks (allowManagedHooksOnly): sessions will not tell what"
                " they write"
            )
        if jsontext.get(content, (SWITCHES, PLUGIN)) is False:
            blocked = blocked or f"{name} switches {PLUGIN} off"
        for key in ("strictKnownMarketplaces", "allowedMarketplaces"):
            if isinstance(content.get(key), list) and not _names_skills(content[key]):
                blocked = blocked or f'{name} has {key} without {{"source": "skills-dir"}}'
        if isinstance(content.get("blockedMarketplaces"), list) and _names_skills(content["blockedMarketplaces"]):
            blocked = blocked or f"{name} has skills-dir in blockedMarketplaces"
    return blocked, tuple(warnings)


def _names_skills(entries: Sequence[Any]) -> bool:
    return any(isinstance(entry, dict) and entry.get("source") == "skills-dir" for entry in entries)


def _switch(document: Document) -> Any:
    """What the settings say of the plugin, or None."""
    content = jsontext.read_object(document.text or "", document.path)
    return jsontext.get(content, (SWITCHES, PLUGIN))


def _with(document: Document, value: bool) -> str:
    return jsontext.put(document.text or "", (SWITCHES, PLUGIN), value, document.path)


def _without(document: Document, known: Touched | None) -> str | None:
    """The text without our entry, and without what we had to make for it."""
    if document.text is None or _switch(document) is None:
        return document.text
    text = jsontext.take(document.text, (SWITCHES, PLUGIN), document.path)
    if jsontext.is_empty(text, (SWITCHES,), document.path) and not (known and known.had):
        text = jsontext.take(text, (SWITCHES,), document.path)
    if known is not None and known.made and jsontext.is_empty(text, (), document.path):
        return None
    return text


def _first_touch(document: Document, project: bool) -> Touched:
    content = jsontext.read_object(document.text or "", document.path)
    return Touched(document.path, document.text is None, SWITCHES in content, project)


def _edited(document: Document, text: str | None) -> list[Change]:
    return [] if text == document.text else [Change("settings", document.path, document.text, text)]


def _plugin_changes(standing: Standing, rendered: Mapping[str, str]) -> list[Change]:
    changes = [
        Change("plugin", path, standing.files.get(path), text)
        for path, text in rendered.items()
        if standing.files.get(path) != text
    ]
    gone = [path for path in standing.record.files if path not in rendered and path in standing.files]
    return changes + [Change("plugin", path, standing.files[path], None) for path in gone]

"""The file of the MCP memory server: a graph in JSON lines, each an entity or a relation. An entity is one memory.

Its observations become a list; a relation stands with the entity it starts from, as `- relation [[other]]`, whether or
not there is such an entity. A relation that starts from nothing makes a memory of its own for what it starts from.
The same graph as one object with `entities` and `relations`, as the server's `read_graph` answers, is read too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from memstore.core.model import LARGEST
from memstore.core.rows import Paths, Skipped, memory_text, one_line, type_of
from memstore.errors import ImportRefused

_LONGEST_DESCRIPTION = 250


@dataclass(slots=True)
class _Entity:
    name: str
    kind: str
    observations: list[str]
    relations: list[str] = field(default_factory=list)


_Part = _Entity | tuple[str, str] | str
"""An entity, (from, text) of a relation, or why it is neither."""


def read(content: bytes, told: str) -> tuple[dict[str, bytes], Skipped]:
    """Each entity as a memory, by its path; lines that are neither entity nor relation are named by their number.

    Raises ImportRefused where no line is one.
    """
    entities: list[_Entity] = []
    relations: list[tuple[str, str]] = []
    skipped: list[tuple[str, str]] = []
    for where, one in _one_object(content) or _lines(content):
        if isinstance(one, str):
            skipped.append((where, one))
        elif isinstance(one, _Entity):
            entities.append(one)
        else:
            relations.append(one)
    if not (entities or relations):
        raise ImportRefused(
            f"{told} holds no line of the MCP memory server: neither an entity nor a relation",
            hint="such a line is a JSON object whose `type` is entity or relation; for other JSON say --format json",
        )
    _relate(entities, relations)
    return _texts(entities, skipped), tuple(skipped)


def _lines(content: bytes) -> Iterator[tuple[str, _Part]]:
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if raw.strip():
            yield f"line {number}", _line(raw)


def _one_object(content: bytes) -> list[tuple[str, _Part]]:
    """The parts of a graph that is one object; none where it is not."""
    try:
        graph = json.loads(content.removeprefix(b"\xef\xbb\xbf"))
        json.dumps(graph, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return []
    if not isinstance(graph, dict):
        return []
    kinds = ((kind, graph.get(name)) for kind, name in (("entity", "entities"), ("relation", "relations")))
    return [
        (f"{kind} {number}", _part({**one, "type": kind}) if isinstance(one, dict) else "it is no JSON object")
        for kind, parts in kinds
        if isinstance(parts, list)
        for number, one in enumerate(parts, 1)
    ]


def _line(raw: bytes) -> _Part:
    try:
        text = raw.decode()
        value = json.loads(text)
        text.encode() if "\\u" not in text else json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        return "it is not UTF-8"
    except UnicodeEncodeError:
        return "it holds half a surrogate pair"
    except (ValueError, RecursionError):
        return "it is not JSON"
    return _part(value) if isinstance(value, dict) else "it is no JSON object"


def _part(value: Mapping[str, object]) -> _Part:
    if value.get("type") == "entity":
        return _entity(value)
    if value.get("type") == "relation":
        start, end, kind = (value.get(key) for key in ("from", "to", "relationType"))
        if not all(isinstance(one, str) and one.strip() for one in (start, end, kind)):
            return "a relation needs from, to and relationType"
        return str(start), f"- {one_line(str(kind), 200)} [[{one_line(str(end), 200)}]]"
    return "it is neither an entity nor a relation"


def _entity(value: Mapping[str, object]) -> _Entity | str:
    name, kind, observations = value.get("name"), value.get("entityType", ""), value.get("observations", [])
    if not isinstance(name, str) or not name.strip():
        return "an entity needs a name"
    if not isinstance(observations, list) or not all(isinstance(one, str) for one in observations):
        return "the observations of an entity are a list of texts"
    return _Entity(name, kind if isinstance(kind, str) else "", [one for one in observations if one.strip()])


def _relate(entities: list[_Entity], relations: list[tuple[str, str]]) -> None:
    by_name: dict[str, _Entity] = {}
    for entity in entities:
        by_name.setdefault(entity.name, entity)
    for start, text in relations:
        if start not in by_name:
            by_name[start] = _Entity(start, "", [])
            entities.append(by_name[start])
        if text not in by_name[start].relations:
            by_name[start].relations.append(text)


def _texts(entities: list[_Entity], skipped: list[tuple[str, str]]) -> dict[str, bytes]:
    paths = Paths()
    files = {}
    for entity in entities:
        name = one_line(entity.name, 200)
        said = entity.observations[0] if entity.observations else f"{entity.kind} {name}".strip()
        items = ["- " + "\n  ".join(one.strip("\n").split("\n")) for one in entity.observations]
        blocks = ["\n".join(block) for block in (items, entity.relations) if block]
        others = {"entity_type": one_line(entity.kind, 200)} if entity.kind.strip() else {}
        body = "\n\n".join(blocks) or name
        text = memory_text(name, one_line(said, _LONGEST_DESCRIPTION), type_of(entity.kind), others, body)
        path = paths.of(entity.name)
        if len(text) > LARGEST:
            skipped.append((path, "it is too large to be a memory"))
        else:
            files[path] = text
    return files

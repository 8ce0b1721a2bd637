"""Notes of basic-memory as memories: what a memory needs is put on top of their header, and no other byte changes.

Such a note has a header with `title` and mostly `permalink`, and in its body observations (`- [category] text #tag
(context)`) and relations (`- relation [[Other note]]`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memstore.core.fences import spans
from memstore.core.frontmatter import Document, read
from memstore.core.model import INDEX_NAME, LARGEST
from memstore.core.names import stem
from memstore.core.rows import first_words, one_line
from memstore.core.scalars import render
from memstore.core.taxonomy import TYPES

_LONGEST_NAME = 200
_LONGEST_DESCRIPTION = 250
_OBSERVATION = re.compile(r"[ \t]*[-*][ \t]+\[(?![ xX-]?\])[^\[\]\n]{1,60}\][ \t]+(?P<text>[^\n]*)")
_RELATION = re.compile(r"[ \t]*[-*][ \t]+[^\[\]\n]{1,60}[ \t]\[\[[^\[\]\n]+\]\]")
_TAGS = re.compile(r"(?:[ \t]+#[\w/-]+)+(?P<context>[ \t]+\([^()]*\))?[ \t]*$")


def speaks(files: Mapping[str, bytes]) -> bool:
    """Whether most of these files are such notes."""
    topics = [content for path, content in files.items() if path != INDEX_NAME]
    return 2 * sum(b"title:" in content[:65_536] and _is_note(read(content)) for content in topics) > len(topics)


def _is_note(document: Document) -> bool:
    fields = dict(document.extra)
    if document.name is not None or "title" not in fields:
        return False
    lines = document.body.split("\n")
    return "permalink" in fields or any(_OBSERVATION.match(line) or _RELATION.match(line) for line in lines)


def translated(path: str, content: bytes) -> bytes:
    """The note as a memory; what is none, or cannot be read, as it is."""
    start, _, _ = spans(content)
    document = read(content)
    if path == INDEX_NAME or not start or document.name is not None or document.problems:
        return content
    fields = dict(document.extra)
    name = one_line(fields.get("title") or stem(path), _LONGEST_NAME)
    lines = [f"name: {render(name)}"]
    if document.description is None:
        lines.append(f"description: {render(one_line(_described(document.body) or name, _LONGEST_DESCRIPTION))}")
    nested = any(key == "metadata" or key.startswith("metadata.") for key in fields)
    if document.type not in TYPES and not nested:
        lines += ["metadata:", "  type: reference"]
    top = "".join(line + document.newline for line in lines).encode()
    made = content[:start] + top + content[start:]
    after = read(made)
    sound = after.name == name and not after.problems and after.body == document.body
    return made if sound and len(made) <= LARGEST else content


def _described(body: str) -> str:
    """The first observation, else the first line that is no heading and no item."""
    for line in body.split("\n"):
        if found := _OBSERVATION.match(line.rstrip("\r")):
            return _TAGS.sub("", found["text"]).strip()
    prose = [line for line in body.split("\n") if line.strip() and line.lstrip()[0] not in "#-*>|`["]
    return first_words(prose[0] if prose else body)

"""What the client does to a memory's header whenever it saves the file: no word of it is an edit."""

from __future__ import annotations

import re

from memstore.core.frontmatter import read, with_body
from memstore.core.scalars import render

_STAMPS = ("node_type", "originSessionId", "modified")
_NO_WORD = re.compile("[^a-z0-9]+")


def resaved(content: bytes, session: str, modified: str) -> bytes:
    """The file as the client writes it anew: every key but two moved under `metadata`, the name in kebab case,
    values quoted anew, its stamps, one blank line. A header that cannot be read, or none, it leaves alone."""
    document = read(content)
    if not document.has_header or document.problems:
        return content
    lines = ["---", f"name: {render(_saved_name(document.name))}"]
    if document.description is not None:
        lines.append(f"description: {render(document.description, quote=True)}")
    lines += ["metadata:", "  node_type: memory"]
    if document.type is not None:
        lines.append(f"  type: {render(document.type)}")
    for key, value in document.extra:
        bare = key.removeprefix("metadata.")
        if bare not in _STAMPS:
            lines.append(f"  {bare}: {render(value)}")
    for key, items in document.lists:
        lines.append(f"  {key.removeprefix('metadata.')}:")
        lines += [f"    - {render(item)}" for item in items]
    lines += [f"  originSessionId: {session}", f"  modified: {modified}", "---", "", ""]
    return with_body("\n".join(lines).encode(), document.body)


def _saved_name(name: str | None) -> str:
    return _NO_WORD.sub("-", (name or "").lower()).strip("-")

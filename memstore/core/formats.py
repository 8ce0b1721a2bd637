"""Which format something is in that a person wants taken in: by its content first, then by how its name ends."""

from __future__ import annotations

import json
import re

from memstore.core.exchange import is_exchange

FORMATS = ("dir", "zip", "tar", "memstore", "basic-memory", "mcp-memory", "csv", "json", "db")
"""dir: a directory of memories. zip, tar: one that was packed, tar also with gzip, bzip2 or xz. memstore: what
`memstore export` wrote as JSON, with all versions. basic-memory: notes of that program, in a directory or packed.
mcp-memory: the JSON lines of the MCP memory server. csv: rows, separated by commas, semicolons or tabs. json: an array
of objects, or one object a line. db: a table of an SQLite database."""

ROWS = frozenset({"csv", "json", "db"})
"""Those in which a memory is a row, whose columns can be named."""

PACKED = frozenset({"zip", "tar"})

HEAD = 64 * 1024
"""As much of a file tells its format."""

_MAGIC = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),  # an empty one
    (b"\x1f\x8b", "tar"),
    (b"BZh", "tar"),
    (b"\xfd7zXZ\x00", "tar"),
    (b"SQLite format 3\x00", "db"),
)
_GRAPH = re.compile(rb'\{\s*"(?:entities|relations)"\s*:\s*\[')
_PART = re.compile(rb'\{\s*"type"\s*:\s*"(?:entity"\s*,\s*"name|relation"\s*,\s*"from)"')
"""How the server begins a line, which may be longer than what is looked at."""
_SUFFIXES = (
    *((suffix, "csv") for suffix in (".csv", ".tsv", ".tab")),
    *((suffix, "json") for suffix in (".json", ".jsonl", ".ndjson")),
    *((suffix, "tar") for suffix in (".tar", ".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz")),
    (".zip", "zip"),
    *((suffix, "db") for suffix in (".db", ".sqlite", ".sqlite3")),
)


def found(name: str, head: bytes) -> str | None:
    """The format of a file called `name` that begins with `head`; None where neither tells."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return "tar"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if is_exchange(text):
        return "memstore"
    if text[:1] in (b"{", b"["):
        return "mcp-memory" if _of_a_graph(text) else "json"
    lowered = name.lower()
    return next((kind for suffix, kind in _SUFFIXES if lowered.endswith(suffix)), None)


def _of_a_graph(text: bytes) -> bool:
    """Whether one of the first lines is an entity or a relation, or the whole an object of both."""
    if _GRAPH.match(text) or _PART.match(text):
        return True
    for line in text.split(b"\n")[:20]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("type") in ("entity", "relation"):
            return "observations" in value or "relationType" in value
    return False

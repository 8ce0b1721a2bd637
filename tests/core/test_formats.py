"""Which format a file is in."""

from __future__ import annotations

import pytest

from memstore.core.formats import FORMATS, found

SQLITE = b"SQLite format 3\x00" + bytes(84)
ENTITY = b'{"type":"entity","name":"a","entityType":"b","observations":[]}\n'
RELATION = b'{"type": "relation", "from": "a", "to": "b", "relationType": "knows"}\n'


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("x.bin", b"PK\x03\x04rest", "zip"),
        ("x.csv", b"PK\x05\x06rest", "zip"),
        ("x", b"\x1f\x8b\x08", "tar"),
        ("x", b"BZh91AY", "tar"),
        ("x", b"\xfd7zXZ\x00", "tar"),
        ("x", bytes(257) + b"ustar\x0000", "tar"),
        ("x.txt", SQLITE, "db"),
        ("memory.json", ENTITY, "mcp-memory"),
        ("memory.jsonl", b"\xef\xbb\xbf\n" + RELATION, "mcp-memory"),
        ("memory.jsonl", ENTITY.replace(b"[]", b'["' + b"x" * 70_000)[:65_536], "mcp-memory"),
        ("memory.jsonl", b"not json\n" + ENTITY, None),
        ("graph.json", b'{\n  "entities": [', "mcp-memory"),
        ("rows.txt", b' [{"body": "x"}]', "json"),
        ("rows.txt", b'{"type": "entity", "text": "x"}\n', "json"),
        ("rows.txt", b'{"body": "x"}\n{"body": "y"}\n', "json"),
        ("Rows.CSV", b"name,body\n", "csv"),
        ("rows.tsv", b"name\tbody\n", "csv"),
        ("rows.jsonl", b"", "json"),
        ("old.tar.gz", b"torn", "tar"),
        ("notes.md", b"# Notes\n", None),
        ("notes", b"", None),
    ],
)
def test_content_tells_the_format_before_the_name_does(name: str, head: bytes, kind: str | None):
    if name == "memory.jsonl" and kind is None:
        kind = "json"  # it begins like no JSON, and is called like one
    assert found(name, head) == kind
    assert kind is None or kind in FORMATS

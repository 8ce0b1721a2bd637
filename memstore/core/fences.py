"""Where the header of a memory's text begins and ends. Apart from `frontmatter`, because a search asks nothing else."""

from __future__ import annotations

import re

MARK = b"\xef\xbb\xbf"
OPENING = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t\r]*\n)*---[ \t]*\r?\n")
_CLOSING = re.compile(rb"---[ \t]*\r?(?:\n(?:[ \t\r]*\n)*|\Z)")


def split(content: bytes) -> tuple[bytes, bytes]:
    """The header with its fences and the blank lines below, and the body; together they are the content.

    Without a header the first part is empty, or the byte-order mark.
    """
    body_start = spans(content)[2]
    return content[:body_start], content[body_start:]


def spans(content: bytes) -> tuple[int, int, int]:
    """Where the header's text starts and ends between its fences, and where the body starts.

    Without a header the first is 0.
    """
    if content.startswith(b"---\n"):
        start = 4
    elif opening := OPENING.match(content):
        start = opening.end()
    else:
        start = 0
    at = content.find(b"\n---", start - 1) if start else -1
    while at >= 0:
        closing = _CLOSING.match(content, at + 1)
        if closing:
            return start, at + 1, closing.end()
        at = content.find(b"\n---", at + 1)
    return 0, 0, len(MARK) if content.startswith(MARK) else 0

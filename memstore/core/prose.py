"""A text without what is no prose in it: blocks of code, code between backticks, comments. Pure."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}(?=[^`\n]*$)|~{3,})")
_CODE = re.compile(r"(?<![`\\])(`{1,2})(?!`)([^`\n]{1,2000})(?<!`)\1(?!`)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SEEN = re.compile(r"[^\n]")


def without_code(text: str) -> str:
    """The text with blanks for its code; every line and every place in a line stays where it was."""
    if "```" in text or "~~~" in text:
        text = _without_blocks(text)
    return _CODE.sub(_blank, text) if "`" in text else text


def without_comments(text: str) -> str:
    """The text with blanks for the comments that end somewhere."""
    end = text.rfind("-->") + 3 if "<!--" in text else 0  # beyond it none ends, and each would be looked for to the end
    return _COMMENT.sub(_blank, text[:end]) + text[end:] if end > 2 else text


def _without_blocks(text: str) -> str:
    lines, fence = text.split("\n"), ""
    for at, line in enumerate(lines):
        if fence:
            lines[at] = _SEEN.sub(" ", line)
            bare = line.strip(" \t>\r")
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif found := _FENCE.match(line.removesuffix("\r")):
            fence = found[1]
            lines[at] = _SEEN.sub(" ", line)
    return "\n".join(lines)


def _blank(found: re.Match[str]) -> str:
    return _SEEN.sub(" ", found[0])

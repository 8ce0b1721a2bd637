"""Characters that nobody sees, made visible: they carry sentences that a person who reads the text does not know of.

Joiners inside words of Persian or Hindi and inside pictures made of several stay, and so does one variation selector
behind a sign: they are how people write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe0e\ufe0f"


def visible(text: str) -> str:
    """The text with such characters as `<U+200B>`; tabs and line ends stay."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub(_shown, text)


def unseen(text: str) -> Iterator[tuple[int, str]]:
    """Where such characters stand, and which. A carriage return before a line feed is none, nor a mark at the start."""
    for found in _UNSEEN.finditer(text):
        at = found.start()
        ordinary = text.startswith("\r\n", at) or (at == 0 and found[0] == "\ufeff")
        if not ordinary and _shown(found) != found[0]:
            yield at, found[0]


def one_line(text: str, longest: int) -> str:
    """The text on one line, made visible, at most so long."""
    shown = visible(" ".join(text[: 4 * longest].split()))
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _shown(found: re.Match[str]) -> str:
    character, text, at = found[0], found.string, found.start()
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if character in _SELECTORS and _is_sign(before):
        return character
    if character in _JOINERS and _shapes(before) and _shapes(after):
        return character
    return f"<U+{ord(character):04X}>"


def _is_sign(before: str) -> bool:
    """What has a text and a picture form: signs of its own, and the digits of keycaps."""
    return before != "" and not before.isalpha() and not before.isspace() and not _UNSEEN.match(before)


def _shapes(neighbour: str) -> bool:
    return neighbour != "" and not neighbour.isascii() and (neighbour in _SELECTORS or not _UNSEEN.match(neighbour))

"""The pointer lines that we write: `- [Title](path) — hook`, one line each, whatever the fields contain.

Descriptions and titles come from anywhere. In a line of ours they are words and nothing else: no second line,
no link, image, tag, comment or `@path` import, nothing invisible. What people wrote by hand is never touched.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

LINE_LENGTH = 150
"""About how long a line of ours gets, in characters; the client's advice to the model is the same."""

TITLE_LENGTH = 70
HOOK_MINIMUM = 40
CUT = "…"
_READ = 4_000
"""How much of a field is looked at: far more than fits, far less than somebody could store."""

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_UNSEEN_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")
_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
_UNSEEN_PRINTABLE = _UNSEEN_LETTERS | _SELECTORS
_TAGS = "\U000e0000"
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SPECIAL = frozenset("[]<\\@!`")
_JOINERS = "\u200c\u200d"
_PLAIN_IN_PATHS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+,=")


def pointer_line(title: str, path: str, description: str) -> str:
    """`- [Title](path) — hook`, without the hook where there is no description.

    Reading the line gives exactly `path` back. About 150 characters; what was cut ends in "…".
    """
    name = visible(title[:_READ]) or visible(path.rsplit("/", 1)[-1].removesuffix(".md")) or "memory"
    head = f"- [{_fitted(escaped(name, in_title=True), TITLE_LENGTH)}]({link_path(path)})"
    hook = derived_hook(description, max(HOOK_MINIMUM, LINE_LENGTH - len(head) - 3))
    return f"{head} — {hook}" if hook else head


def derived_hook(description: str, room: int = LINE_LENGTH) -> str:
    """A description as the text behind the dash, at most `room` characters, "…" included."""
    return _fitted(escaped(visible(description[:_READ])), room)


def link_path(path: str) -> str:
    """The path as a link's destination: percent-encoded wherever Markdown could read something else."""
    return "".join(
        char
        if char in _PLAIN_IN_PATHS or (char > "\xa0" and not char.isspace() and _is_seen(char))
        else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        for char in path
    )


def visible(text: str) -> str:
    """The text on one line, without what nobody can see: control, bidi, zero-width and tag characters.

    Joiners stay where emoji, Persian or Indic scripts need them: one by one, between non-ASCII characters.
    """
    if text.isprintable() and _UNSEEN_PRINTABLE.isdisjoint(text) and max(text, default="") < _TAGS:
        return " ".join(text.split())
    seen: list[str] = []
    for at, char in enumerate(text):
        if char.isspace() or unicodedata.category(char) == "Cc":
            seen.append(" ")
        elif char in _JOINERS:
            after = text[at + 1] if at + 1 < len(text) else ""
            if at and after and _joinable(text[at - 1]) and _joinable(after):
                seen.append(char)
        elif char == "\ufe0f":
            if at and text[at - 1] > "\x22" and _is_seen(text[at - 1]):
                seen.append(char)
        elif "\ud800" <= char <= "\udfff":
            seen.append("\ufffd")
        elif _is_seen(char):
            seen.append(char)
    return " ".join("".join(seen).split())


def _is_seen(char: str) -> bool:
    if char.isascii():
        return char.isprintable()
    selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0000" <= char <= "\U000e0fff"
    if selector or char in _UNSEEN_LETTERS:
        return False
    return unicodedata.category(char) not in _UNSEEN_CATEGORIES


def _joinable(char: str) -> bool:
    return char == "\ufe0f" or (not char.isascii() and not char.isspace() and _is_seen(char))


def escaped(text: str, *, in_title: bool = False) -> list[str]:
    """The text as words and nothing else: one string per character, so that a cut never parts a backslash from what it
    escapes."""
    if _SPECIAL.isdisjoint(text):
        return list(text)
    out: list[str] = []
    before = " "
    for at, char in enumerate(text):
        after = text[at + 1] if at + 1 < len(text) else ""
        special = (
            char in "[]<"
            or (char == "\\" and (after in _PUNCTUATION or not after))
            or (char == "@" and not before.isalnum())
            or (char == "!" and (before == "<" or after == "["))
            or (in_title and char == "`")
        )
        out.append("\\" + char if special else char)
        before = char
    return out


def _fitted(chars: Iterable[str], room: int) -> str:
    text = list(chars)
    if sum(map(len, text)) <= room:
        return "".join(text)
    left = room - len(CUT)
    kept: list[str] = []
    for char in text:
        left -= len(char)
        if left < 0:
            break
        kept.append(char)
    while kept and (kept[-1].isspace() or kept[-1] in _JOINERS):
        kept.pop()
    return "".join(kept) + CUT

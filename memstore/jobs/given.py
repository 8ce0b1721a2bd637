"""What a model gives to a tool: each value as what it should be, or InputRefused, which says what it is not. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from unicodedata import normalize

from memstore.errors import InputRefused

Input = Mapping[str, object]

_LONGEST_PATTERN: Final = 500


def folded(text: str) -> str:
    """A text as it is searched: upper and lower case are one."""
    return text.lower() if text.isascii() else normalize("NFC", normalize("NFC", text).casefold())


def pattern_of(given: Input) -> str:
    """The words to look for."""
    found = text_of(given, "pattern")
    if not found.strip() or len(found) > _LONGEST_PATTERN:
        raise InputRefused(f"`pattern` has from 1 to {_LONGEST_PATTERN} characters")
    return found


def text_of(given: Input, name: str) -> str:
    """A text that must be there."""
    found = given.get(name)
    if not isinstance(found, str):
        raise InputRefused(f"`{name}` is missing, or is not a text")
    return found


def optional(given: Input, name: str) -> str:
    """A text; empty where it is left out."""
    return "" if given.get(name) is None else text_of(given, name)


def number_of(given: Input, name: str) -> int | None:
    """A whole number from 1 on; None where it is left out."""
    found = given.get(name)
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise InputRefused(f"`{name}` is not a whole number from 1 on")
    return found


def switch(given: Input, name: str) -> bool:
    """True or false; false where it is left out."""
    found = given.get(name)
    if found is not None and not isinstance(found, bool):
        raise InputRefused(f"`{name}` is not true or false")
    return bool(found)

"""What a tool was called with, taken one by one: each of its type, or refused with a word on what is wanted. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from memstore.errors import InputRefused

BROKEN = "\ufdd0"
"""Stands for half a surrogate pair and for bytes that are not UTF-8: no text has this character."""


class Arguments:
    """The arguments of one call. Raises InputRefused for what is missing, unknown or of another type."""

    def __init__(self, given: Mapping[str, object] | None, known: tuple[str, ...]) -> None:
        self._given = given or {}
        unknown = sorted(set(self._given) - set(known))
        if unknown:
            raise InputRefused(
                f"there is no argument {unknown[0][:80]!r}", hint=f"the arguments are {', '.join(known) or 'none'}"
            )

    def text(self, name: str, *, largest: int = 1_000) -> str:
        """A text that has to be there, of at most `largest` bytes."""
        value = self._given.get(name)
        if value is None:
            raise InputRefused(f"the argument {name} is missing", hint=f"give {name}, a text")
        return _checked(name, value, largest)

    def optional(self, name: str, *, largest: int = 1_000) -> str | None:
        """A text that may be left out."""
        value = self._given.get(name)
        return None if value is None else _checked(name, value, largest)

    def reference(self, name: str) -> str:
        """A number or a text that has to be there."""
        value = self._given.get(name)
        if isinstance(value, float) and value.is_integer():  # JSON knows no difference
            value = int(value)
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else self.text(name)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._given.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputRefused(f"the argument {name} is not true or false", hint=f"give {name} true or false")
        return value

    def number(self, name: str, default: int, largest: int) -> int:
        """A whole number from 1 to `largest`; what lies outside is brought inside."""
        value = self._given.get(name)
        if value is None:
            return default
        try:
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                raise ValueError
            number = int(value)
        except (ValueError, OverflowError):
            raise InputRefused(
                f"the argument {name} is not a whole number", hint=f"give a number from 1 to {largest}"
            ) from None
        return max(1, min(number, largest))


def _checked(name: str, value: object, largest: int) -> str:
    if not isinstance(value, str):
        raise InputRefused(f"the argument {name} is not a text", hint=f"give {name} as a text")
    if BROKEN in value:
        raise InputRefused(f"the argument {name} is not valid text", hint="leave the half character in it out")
    size = len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if size > largest:
        raise InputRefused(f"the argument {name} has {size:,} bytes", hint=f"give at most {largest:,} bytes")
    return value

"""Other words in place of old ones, in a text. Pure."""

from __future__ import annotations

from memstore.errors import InputRefused


def replaced(text: str, old: str, new: str, *, every: bool, most: int) -> tuple[str, int]:
    """The text with `old` replaced in its one place, or in `every` one, and in how many.

    A model writes lines that end in LF; in a text whose lines end in CRLF they stand for these.
    Raises InputRefused where `old` is empty, not there or, unless for `every`, there more than once, and where the
    text would become longer than `most` characters.
    """
    if not old:
        raise InputRefused("old_string is empty")
    if old == new:
        raise InputRefused("old_string and new_string are the same, so there is nothing to change")
    if "\n" in text and text.count("\n") == text.count("\r\n"):
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    count = text.count(old)
    if count == 0:
        raise InputRefused("old_string is not in the file: it must be the same to the letter, indentation and all")
    if count > 1 and not every:
        raise InputRefused(
            f"old_string is in the file {count} times: give more of the text around it, or set replace_all"
        )
    if len(text) + count * (len(new) - len(old)) > most:
        raise InputRefused(f"the text would become longer than {most} characters")
    return text.replace(old, new), count

"""The client's folder name for a path, and the names that its other builds give to the same path."""

from __future__ import annotations

import os

_LONGEST = 200
_HASH_LENGTH = 6  # a 32-bit number has at most six base-36 digits
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_ALNUM = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def sanitise(path: str) -> str:
    """The client's folder name for a path: every UTF-16 code unit outside [A-Za-z0-9] becomes one `-`."""
    units = _units(path)
    slug = "".join(chr(unit) if unit in _ALNUM else "-" for unit in units)
    if len(slug) <= _LONGEST:
        return slug
    return f"{slug[:_LONGEST]}-{_base36(_js_hash(units))}"


def folder_name(projects: str, path: str, inside: str) -> tuple[str, str]:
    """The name under `projects` for a path, and why: an existing folder is preferred, the exact name first.

    A folder counts as existing when it has `inside` in it (an empty text: when it is there itself).
    """
    exact = sanitise(path)
    rule = "the root's path, each character outside A-Z a-z 0-9 as a dash"
    if path.isascii() and len(path) <= _LONGEST:
        return exact, rule
    if not os.path.isdir(os.path.join(projects, exact, inside)):
        for name, why in other_names(projects, path):
            if os.path.isdir(os.path.join(projects, name, inside)):
                return name, f"{rule}; {why}"
    return exact, rule


def names_of(projects: str, path: str) -> list[str]:
    """All names that a path has, or had, under `projects`: the exact one first."""
    return [sanitise(path), *(name for name, _ in other_names(projects, path))]


def other_names(projects: str, path: str) -> list[tuple[str, str]]:
    """Names that other builds of the client gave, or give, to the same path."""
    exact = sanitise(path)
    names = []
    if not path.isascii():
        from unicodedata import normalize  # most paths need no Unicode table

        for form in ("NFC", "NFD"):
            twin = normalize(form, path)
            # A file system may hold both spellings as two directories: then the twin is another project.
            if sanitise(twin) != exact and not _another_directory(twin, path):
                names.append((sanitise(twin), f"the folder of its {form} spelling is there already"))
    if len(exact) > _LONGEST:
        alike = _with_prefix(projects, exact[: _LONGEST + 1])
        # The current client's hash has at most six digits: such a name is another long path's own. Two older
        # ones cannot be told apart, so neither is taken.
        older = [name for name in alike if len(name) > _LONGEST + 1 + _HASH_LENGTH]
        if len(older) == 1:
            names.append((older[0], "a folder of an older client with the same first 200 characters is there"))
    return names


def _another_directory(twin: str, path: str) -> bool:
    try:
        return not os.path.samefile(twin, path)
    except OSError:
        return False


def _with_prefix(projects: str, prefix: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(projects) if name.startswith(prefix))
    except OSError:
        # No such folder yet, or closed to us: nothing can be preferred in it.
        return []


def _units(text: str) -> list[int]:
    """The UTF-16 code units of a text: what the client, a JavaScript program, counts."""
    if text.isascii():
        return list(text.encode())
    data = text.encode("utf-16-le", "surrogatepass")
    return [low | high << 8 for low, high in zip(data[::2], data[1::2], strict=True)]


def _js_hash(units: list[int]) -> int:
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value if value < 1 << 31 else (1 << 32) - value


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
        if not number:
            return digits

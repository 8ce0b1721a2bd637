"""YAML's scalars, read as strings and written so that every reader takes them for the very same strings."""

from __future__ import annotations

import re

YAML_LIMIT = 64 * 1024

_REST = r"[ \t]*(?:[ \t](#[^\n]*))?$"
# Both match a whole quoted scalar up to the end of its line; group 1 is its inside, group 2 a comment.
DOUBLE = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"' + _REST, re.S | re.M)
SINGLE = re.compile(r"'([^']*(?:''[^']*)*)'" + _REST, re.M)
BLOCK = re.compile(r"[|>][-+1-9]{0,2}" + _REST)

_ITEM = re.compile(
    r"""\s*("[^"\\]*(?:\\.[^"\\]*)*"|'[^']*(?:''[^']*)*'|[^\s,\[\]{}"'&*!|>%@`][^,\[\]{}\n]*+)\s*+(?:,|$)"""
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0abtnvfre \"/\\N_LP\t]))")
_SHORT = dict(zip('0abtnvfre "/\\N_LP\t', '\0\a\b\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029\t', strict=True))
_WRITTEN = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))
# YAML 1.1 breaks lines at these three; the rule for memories is that only "\n" does.
_FOREIGN_BREAKS = "\x85\u2028\u2029"


def render(value: str, *, quote: bool = False) -> str:
    """`value` as a scalar on one line, quoted on demand or where a reader could take it for anything else."""
    if (
        not quote
        and value[:1].isalpha()
        and value.isprintable()
        and value[-1] not in " :"
        and ": " not in value
        and " #" not in value
        and value.lower() not in _WORDS
    ):
        return value
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else _escaped(c) for c in value) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _WRITTEN:
        return _WRITTEN[character]
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def unescape(inner: str) -> str:
    """The text between double quotes. Where an escape is none (`"C:\\Users"`), the text as it stands."""
    if "\\" not in inner:
        return inner
    parts: list[str] = []
    at = 0
    while (slash := inner.find("\\", at)) >= 0:
        escape = _ESCAPE.match(inner, slash)
        if escape is None:
            return inner
        code = escape[1] or escape[2] or escape[3]
        if code and int(code, 16) > 0x10FFFF:
            return inner
        parts += inner[at:slash], chr(int(code, 16)) if code else _SHORT[escape[4]]
        at = escape.end()
    text = "".join(parts) + inner[at:]
    try:  # JSON writers escape an emoji as two halves; a half alone is no text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return inner


def item(text: str) -> str | None:
    """A list's item as a string; None if it is more than a scalar on one line."""
    if text[:1] == '"':
        whole = DOUBLE.fullmatch(text)
        return unescape(whole[1]) if whole else None
    if text[:1] == "'":
        whole = SINGLE.fullmatch(text)
        return whole[1].replace("''", "'") if whole else None
    if text.startswith(("[", "{", "&", "*", "!", "|", ">", "- ", "? ")) or ": " in text or text.endswith(":"):
        return None
    return text


def flow_items(inner: str) -> list[str] | None:
    """What stands between the commas of `[a, "b, c"]`, as written; None if there is nesting in it."""
    items: list[str] = []
    at = 0
    while at < len(inner):
        found = _ITEM.match(inner, at)
        if found is None:
            return items if not inner[at:].strip() else None
        items.append(found[1].strip())
        at = found.end()
    return items


def unfold(scalar: str) -> str | None:
    """The string of a block scalar, or of a quoted one over several lines; None if YAML cannot read it.

    Nothing else may be given: what is passed on to PyYAML is an inert string whatever it holds.
    """
    import yaml

    if len(scalar) > YAML_LIMIT:
        return None
    spare = [chr(code) for code in range(0xE000, 0xF900) if chr(code) not in scalar]
    hidden = dict(zip(map(ord, _FOREIGN_BREAKS), spare, strict=False))
    shown = {ord(mark): chr(code) for code, mark in hidden.items()}
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        value = yaml.load("k: " + scalar.translate(hidden), Loader=loader)["k"]
    except (yaml.YAMLError, ValueError):
        return None
    return value.translate(shown) if isinstance(value, str) else None

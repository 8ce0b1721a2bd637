"""Texts to merge: short, of few different lines, so that they meet, repeat and cross each other as often as can be."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from memstore.core.index_lines import parse, without_ours

Triple = tuple[str, str, str]
"""Base, ours, theirs."""

_LINES = ("a", "b", "c", "d", "", "", " ", "- x", "锁文件", "é", "---", "<<<<<<< ours")
_EDITS = ("insert", "insert", "delete", "replace", "twice", "move")

_INDEX_LINES = (
    *("", "", "# Notes", "plain", "other words", "```", "<!--", "-->", "---", "| a | b |", "    indented"),
    *("- [A](a.md) — about a", "- [A](a.md)", "* [B](<b.md>) - hook", "- [C](c.md): c", "see [D](d.md)"),
    *("- [Z](z.md) — waits", "- [W](https://x.invalid/a.md)", "- [锁](e.md) — 锁文件", "- [A2](a.md) — of a"),
    *("- [B](b.md) — one", "- [B](b.md) — two", "- [B3](b.md) — three", "plain\r", "\ufeff# Notes"),
)
_VALUES = ("x", "Two Words", "two-words", "构建", "z: 1", "# no", "", "'q'")
_KEYS = ("owner", "since")
_STAMPS = ("", "  node_type: memory\n", "  originSessionId: 5c1f\n", "  modified: 2026-03-01T10:00:00.000Z\n")


def _edited(lines: list[str], edits: list[tuple[str, int, str]]) -> list[str]:
    """The lines after a few steps, each at a place that counts round and round."""
    lines = list(lines)
    for how, place, line in edits:
        at = place % (len(lines) + 1)
        if how == "insert" or at == len(lines):
            lines.insert(at, line)
        elif how == "delete":
            del lines[at]
        elif how == "replace":
            lines[at] = line
        elif how == "twice":
            lines.insert(at, lines[at])
        else:
            lines.insert(len(lines) - 1 - at, lines.pop(at))
    return lines


def _three(lines: st.SearchStrategy[str], most: int) -> st.SearchStrategy[tuple[list[str], list[str], list[str]]]:
    """A base and two texts made of it by a few steps; now and then three that have nothing in common."""
    whole = st.lists(lines, max_size=most)
    steps = st.lists(st.tuples(st.sampled_from(_EDITS), st.integers(0, most), lines), max_size=3)
    made = st.tuples(whole, steps, steps).map(
        lambda drawn: (drawn[0], _edited(drawn[0], drawn[1]), _edited(drawn[0], drawn[2]))
    )
    return st.one_of(made, made, made, st.tuples(whole, whole, whole))


def _ended(lines: list[str], end: str, last: bool) -> str:
    """`end`: a line end, or "mixed"."""
    if end == "mixed":
        text = "".join(line + ("\r\n" if at % 2 else "\n") for at, line in enumerate(lines))
    else:
        text = "".join(line + end for line in lines)
    return text if last or not lines else text.removesuffix("\n").removesuffix("\r")


_ends = st.sampled_from(("\n", "\n", "\n", "\r\n", "mixed"))
_last = st.sampled_from((True, True, True, False))


def bodies() -> st.SearchStrategy[Triple]:
    """Three bodies."""
    texts = _three(st.sampled_from(_LINES), 7)
    return st.tuples(texts, st.tuples(_ends, _ends, _ends), st.tuples(_last, _last, _last)).map(
        lambda drawn: _triple(lambda at: _ended(drawn[0][at], drawn[1][at], drawn[2][at]))
    )


def _triple(make: Callable[[int], str]) -> Triple:
    return make(0), make(1), make(2)


Fields = dict[str, str]
_Shape = tuple[bool, list[str], bool]
_Heads = tuple[Fields, dict[str, str | None], dict[str, str | None], tuple[_Shape, _Shape, _Shape]]


def _header(fields: Fields, nested: bool, stamps: list[str], comment: bool) -> str:
    """A header of the older shape, or of the present one."""
    below = "".join(f"  {key}: {value!r}\n" for key, value in fields.items() if key in ("type", *_KEYS))
    plain = "".join(f"{key}: {value!r}\n" for key, value in fields.items() if key in ("type", *_KEYS))
    top = "".join(f"{key}: {value!r}\n" for key, value in fields.items() if key in ("name", "description"))
    if nested:
        top += f"metadata:\n{below}{''.join(stamps)}" if below or any(stamps) else ""
    else:
        top = plain + top
    return f"---\n{'# mine' + chr(10) if comment else ''}{top}---\n\n"


_fields = st.fixed_dictionaries(
    {}, optional={key: st.sampled_from(_VALUES) for key in ("name", "description", "type", *_KEYS)}
)
_changes = st.dictionaries(
    st.sampled_from(("name", "description", "type", *_KEYS)), st.sampled_from((None, *_VALUES)), max_size=2
)
_shape = st.tuples(st.booleans(), st.lists(st.sampled_from(_STAMPS), max_size=2, unique=True), st.booleans())


def _changed(fields: Fields, changes: dict[str, str | None]) -> Fields:
    """Each with a new value, or (None) without that field."""
    kept = {key: value for key, value in fields.items() if changes.get(key, value) is not None}
    return kept | {key: value for key, value in changes.items() if value is not None}


def files() -> st.SearchStrategy[Triple]:
    """Three memory files: headers of both shapes, with and without stamps, one that is not closed now and then."""
    heads = st.tuples(_fields, _changes, _changes, st.tuples(_shape, _shape, _shape))

    def make(drawn: tuple[_Heads, Triple, int]) -> Triple:
        (fields, ours, theirs, shapes), texts, odd = drawn
        sides = (fields, _changed(fields, ours), _changed(fields, theirs))

        def one(at: int) -> str:
            if odd == at:
                return texts[at]
            head = _header(sides[at], *shapes[at])
            if odd == at + 3:
                head = head.replace("\n---\n", "\n&x\n---\n", 1)
            return (head.replace("\n", "\r\n") if texts[at].count("\r\n") > 1 else head) + texts[at]

        return _triple(one)

    return st.tuples(heads, bodies(), st.integers(0, 23)).map(make)


def indexes() -> st.SearchStrategy[Triple]:
    """Three texts of MEMORY.md, the two edits without lines that are never taken in."""
    lines = st.sampled_from(_INDEX_LINES)
    return (
        _three(lines, 8)
        .map(lambda texts: _triple(lambda at: "\n".join(texts[at])))
        .filter(lambda triple: all(map(_spoken, triple)))
    )


def _spoken(text: str) -> bool:
    pieces = parse(text)
    return bool(text.replace("\ufeff", "").strip()) and len(without_ours(pieces)) == len(pieces)

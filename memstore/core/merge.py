"""Three-way merge of a memory's text: its body line by line, its header field by field.

A region that changed on one side keeps that side. Regions that do not overlap merge, also where they touch.
Whole lines that both sides put in at the same point are both kept, ours first. Everything else that
overlaps is a conflict, and so are lines put in beside one that the other side rewrote: then our text stands
whole and theirs is for the caller to keep; no marker is ever written into a text.

Lines are told apart without their line ends, and what comes from their side takes on our line ends, so a
text that was only converted between LF and CRLF has not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, takewhile

from memstore.core.frontmatter import FIELDS, alike, read, same_name, set_field, split, with_body
from memstore.errors import InputRefused

MERGE_LIMIT = 10_000
"""Lines in the longest of three texts above which nothing is compared: a merge must not take seconds."""

BODY, TEXT, COMMENTS = "body", "text", "comments"
"""What `MergedText.fields` calls the parts of a file that are no field."""

# What the client writes into a header by itself: never a reason for a conflict.
_STAMPS = frozenset(("node_type", "originSessionId", "modified"))

Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged body. In a conflict `text` is ours, whole."""

    text: str
    conflict: bool


@dataclass(frozen=True, slots=True)
class MergedText:
    """A merged file. In a conflict `content` is ours, whole, and `fields` says where the sides disagree.

    `fields` holds names of header fields, "body", or "text" where the header could not be told from the body.
    """

    content: bytes
    conflict: bool
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Base lines [start, end) became `lines`."""

    start: int
    end: int
    lines: list[str]


def merge_bodies(base: str, ours: str, theirs: str, *, beside: bool = False) -> Merged:
    """Merges two descendants of `base` line by line. `beside`: lines put in beside a rewritten one are kept, too."""
    if base == theirs or ours == theirs:
        return Merged(ours, False)
    if base == ours:
        return Merged(theirs, False)
    # Where our own line ends are mixed there is none to take on: then they are part of the lines.
    mixed = 0 < ours.count("\r\n") < ours.count("\n")
    lines = _merge_lines(*(_lines(text, mixed) for text in (base, ours, theirs)), beside=beside)
    if lines is None:
        return Merged(ours, True)
    closed = [text.endswith("\n") for text in (base, ours, theirs)]
    last_newline = closed[1] if closed[1] != closed[0] else closed[2]
    if mixed and lines and not last_newline and not any(side.endswith("\r") for side in (ours, theirs)):
        lines[-1] = lines[-1].removesuffix("\r")  # half of the line end that one side took away
    return Merged(_join(lines, "\n" if mixed else _line_end(ours, theirs), last_newline), False)


def merge_texts(base: bytes, ours: bytes, theirs: bytes, *, beside: bool = False) -> MergedText:
    """Merges two descendants of a memory file. The client's stamps and line ends are no change.

    `beside`: lines that one side put in beside a line that the other rewrote are no conflict.
    """
    if base == ours:
        return MergedText(theirs, False)
    if base == theirs or alike(ours, theirs) or alike(base, theirs):
        return MergedText(ours, False)
    if alike(base, ours):
        return MergedText(_in_line_ends_of(ours, theirs), False)
    files = (base, ours, theirs)
    try:
        texts = [file.decode() for file in files]
    except UnicodeDecodeError:
        return MergedText(ours, True, (TEXT,))
    if any(read(file).problems for file in files):
        merged = merge_bodies(*texts, beside=beside)
        return MergedText(merged.text.encode(), merged.conflict, (TEXT,) if merged.conflict else ())
    top, disputed = _merge_headers(*files)
    body = merge_bodies(*(split(file)[1].decode() for file in files), beside=beside)
    if body.conflict:
        disputed = (*disputed, BODY)
    if disputed:
        return MergedText(ours, True, disputed)
    merged_text = with_body(top, body.text)
    if read(merged_text).has_header != read(top).has_header:
        # A body that begins like a header, and one side took away the header above it.
        return MergedText(ours, True, (TEXT,))
    return MergedText(merged_text, False)


# --- lines


def _lines(text: str, exact: bool) -> list[str]:
    """The lines; a last newline ends a line and begins none. Exact: a CR before it belongs to the line."""
    if not text:
        return []
    lines = (text if exact else text.replace("\r\n", "\n")).split("\n")
    return lines[:-1] if text.endswith("\n") else lines


def _line_end(*texts: str) -> str:
    """What most lines of the first text that has line ends end with."""
    for text in texts:
        newlines = text.count("\n")
        if newlines:
            return "\r\n" if text.count("\r\n") * 2 > newlines else "\n"
    return "\n"


def _join(lines: list[str], line_end: str, last_newline: bool) -> str:
    text = line_end.join(lines)
    # A blank line at the end is only there if something ends it.
    return text + line_end if lines and (last_newline or not lines[-1]) else text


def _merge_lines(base: list[str], ours: list[str], theirs: list[str], *, beside: bool) -> list[str] | None:
    """The merged lines, or None for a conflict."""
    if max(len(base), len(ours), len(theirs)) > MERGE_LIMIT:
        return None
    from merge3 import Merge3

    from memstore.core.matching import LineMatcher

    # Equal ends are cut off first: difflib takes lines that recur often for noise, and a long list of equal
    # lines with one appended would look rewritten.
    sides = (base, ours, theirs)
    start = _common(zip(*sides, strict=False))
    most = min(map(len, sides)) - start
    end = min(most, _common(zip(*(reversed(side) for side in sides), strict=False)))
    merged = base[:start]
    middles = [side[start : len(side) - end] for side in sides]
    merge = Merge3(middles[0], middles[1], middles[2], sequence_matcher=LineMatcher)
    for group in merge.merge_groups():
        if group[0] == "conflict":
            settled = _settle(list(group[1]), list(group[2]), list(group[3]), beside)
            if settled is None:
                return None
            merged.extend(settled)
        else:
            merged.extend(group[1])
    return merged + base[len(base) - end :]


def _common(rows: Iterable[tuple[str, ...]]) -> int:
    """How many rows from the start hold the same line three times."""
    return sum(1 for _ in takewhile(lambda row: row[0] == row[1] == row[2], rows))


def _settle(base: list[str], ours: list[str], theirs: list[str], beside: bool) -> list[str] | None:
    """A region that merge3 calls a conflict, because the two sides' changes meet; None if they overlap."""
    our_hunks, their_hunks = list(_hunks(base, ours)), list(_hunks(base, theirs))
    if any(_overlap(mine, other, beside) for mine, other in _neighbours(our_hunks, their_hunks)):
        return None
    merged: list[str] = []
    position = 0
    for hunk in _in_order(our_hunks, their_hunks):
        merged.extend(base[position : hunk.start])
        merged.extend(hunk.lines)
        position = max(position, hunk.end)
    return merged + base[position:]


def _hunks(base: list[str], side: list[str]) -> Iterator[_Hunk]:
    from memstore.core.matching import LineMatcher

    at_base = at_side = 0
    for start, first, size in LineMatcher(None, base, side).get_matching_blocks():
        if at_base < start or at_side < first:
            yield _Hunk(at_base, start, side[at_side:first])
        at_base, at_side = start + size, first + size


def _neighbours(ours: list[_Hunk], theirs: list[_Hunk]) -> Iterator[tuple[_Hunk, _Hunk]]:
    """The pairs that touch, in one walk: two long lists must not be held against each other in full."""
    first = 0
    for mine in ours:
        while first < len(theirs) and theirs[first].end < mine.start:
            first += 1
        for at in range(first, len(theirs)):
            if theirs[at].start > mine.end:
                break
            yield mine, theirs[at]


def _overlap(mine: _Hunk, other: _Hunk, beside: bool) -> bool:
    if mine == other:
        return False
    insertions = (mine.start == mine.end) + (other.start == other.end)
    if insertions == 2:
        return False
    deletions = not mine.lines or not other.lines
    if insertions == 1 and not deletions and not beside:
        # Whether new lines still fit beside a line that was rewritten is not ours to guess.
        return mine.start <= other.end and other.start <= mine.end
    if insertions == 1:
        return mine.start < other.end and other.start < mine.end
    both_deletions = not mine.lines and not other.lines
    return not both_deletions and mine.start < other.end and other.start < mine.end


def _in_order(ours: list[_Hunk], theirs: list[_Hunk]) -> list[_Hunk]:
    """The hunks of both sides by place, ours first; what both sides put in at one point stands once."""
    kept = {(hunk.start, hunk.end): [hunk] for hunk in ours}
    for other in theirs:
        twins = kept.setdefault((other.start, other.end), [])
        if not twins or not _begins_with(twins[0], other):
            twins.append(other)
        if _begins_with(other, twins[0]):
            twins[:] = [other]
    return sorted(chain.from_iterable(kept.values()), key=lambda hunk: hunk.start)


def _begins_with(longer: _Hunk, shorter: _Hunk) -> bool:
    return longer.lines[: len(shorter.lines)] == shorter.lines


# --- fields


def _merge_headers(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The header with the changes of both sides in it, or the fields in conflict."""
    was, mine, other = fields_of(base), fields_of(ours), fields_of(theirs)
    wanted: Fields = {}
    disputed = []
    for key in mine | other | was:
        if _same(key, was, other) or _same(key, mine, other):
            wanted[key] = mine.get(key)
        elif _same(key, was, mine):
            wanted[key] = other.get(key)
        else:
            disputed.append(key)
    if disputed:
        return b"", tuple(disputed)
    twice = _says_twice(ours) or _says_twice(theirs)
    for candidate in _candidates(base, ours, theirs, wanted):
        if not twice and _says_twice(candidate):
            continue  # lines of two shapes put together
        found = fields_of(candidate)
        if not read(candidate).problems and all(_same(key, wanted, found) for key in wanted | found):
            return _in_line_ends_of(split(ours)[0], split(candidate)[0]), ()
    return b"", tuple(key for key in wanted if not _same(key, mine, other))


def _candidates(base: bytes, ours: bytes, theirs: bytes, wanted: Fields) -> Iterator[bytes]:
    """Texts whose header may be the merged one, the likeliest first.

    A whole header, where only one side changed anything; both merged line by line; ours with their fields
    set in it, or the other way round where theirs has the keys that cannot be set.
    """
    yield ours
    yield theirs
    merged = merge_bodies(*(split(text)[0].decode() for text in (base, ours, theirs)))
    if not merged.conflict:
        yield merged.text.encode()
    for side in (ours, theirs):
        found = fields_of(side)
        try:
            for key in FIELDS:
                value = wanted.get(key)
                if isinstance(value, str) and not _same(key, wanted, found):
                    side = set_field(side, key, value)
        except InputRefused:
            continue
        yield side


def _says_twice(text: bytes) -> bool:
    """Whether a key stands both under `metadata` and above it."""
    document = read(text)
    bare = [key.removeprefix("metadata.") for key, _ in (*document.extra, *document.lists)]
    return len(set(bare)) < len(bare) or not set(FIELDS).isdisjoint(bare)


def fields_of(text: bytes) -> Fields:
    """What a header says, the client's stamps left out, keys as if none had been moved under `metadata`."""
    document = read(text)
    fields: Fields = {"name": document.name, "description": document.description, "type": document.type}
    for key, value in (*document.extra, *document.lists):
        bare = key.removeprefix("metadata.")
        if bare not in _STAMPS:
            fields.setdefault(bare, value)
    lines = (line.strip() for line in split(text)[0].split(b"\n"))
    fields[COMMENTS] = tuple(line for line in lines if line.startswith(b"#"))
    return fields


def _same(key: str, one: Fields, other: Fields) -> bool:
    mine, theirs = one.get(key), other.get(key)
    if mine == theirs:
        return True
    return key == "name" and same_name(*(value if isinstance(value, str) else None for value in (mine, theirs)))


def _in_line_ends_of(model: bytes, text: bytes) -> bytes:
    """`text` with the line ends that `model` has throughout; the client writes its headers with LF."""
    newlines, pairs = model.count(b"\n"), model.count(b"\r\n")
    if not newlines or 0 < pairs < newlines:
        return text
    plain = text.replace(b"\r\n", b"\n")
    return plain.replace(b"\n", b"\r\n") if pairs else plain

"""The laws of a three-way merge of memory texts. Each says whether it applied to an example, and fails with a word.

A merge is handed in, so that a wrong one can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from memstore.core.frontmatter import alike, read, same_name, split
from memstore.core.merge import Merged, MergedText
from scripts.proofs.client import resaved

MergeBodies = Callable[[str, str, str], Merged]
MergeFiles = Callable[[bytes, bytes, bytes], MergedText]
BodyLaw = Callable[[MergeBodies, str, str, str], bool]
FileLaw = Callable[[MergeFiles, bytes, bytes, bytes], bool]

_STAMPS = frozenset(("node_type", "originSessionId", "modified"))
_RESAVED = ("5c1f0c9e", "2026-03-01T10:00:00.000Z")
_PARTING = "a line that stands once"


def holds(held: bool, what: str, *shown: object) -> None:
    """Fails with what was to hold."""
    assert held, f"{what}: {', '.join(map(repr, shown))}"


# --- lines


def lines_of(text: str) -> list[str]:
    """Without line ends; a last newline begins no line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _mixed(text: str) -> bool:
    return 0 < text.count("\r\n") < text.count("\n")


def gives_way(merge: MergeBodies, base: str, ours: str, theirs: str) -> bool:
    """merge(b, a, b) = a, merge(b, b, a) = a, merge(b, a, a) = a."""
    for side in (ours, theirs):
        for found in (merge(base, side, base), merge(base, base, side), merge(base, side, side)):
            holds(found == Merged(side, False), "the only change is the answer", found)
    return True


def equals(merge: MergeBodies, base: str, ours: str, theirs: str) -> bool:
    """Who is called ours decides about labels, order and line ends, and nothing else."""
    if _mixed(ours) or _mixed(theirs):
        return False  # then line ends are part of the lines on one side only
    here, there = merge(base, ours, theirs), merge(base, theirs, ours)
    holds(here.conflict == there.conflict, "a conflict is one from both sides", here, there)
    same = Counter(lines_of(here.text)) == Counter(lines_of(there.text))
    holds(here.conflict or same, "both orders give the same lines", here, there)
    return not here.conflict


def from_somewhere(merge: MergeBodies, base: str, ours: str, theirs: str) -> bool:
    """No line from thin air; in a conflict ours stands whole."""
    found = merge(base, ours, theirs)
    if found.conflict:
        holds(found.text == ours, "in a conflict ours stands whole", found)
        return False
    _from(found.text, ours, theirs)
    return True


def _from(found: str, ours: str, theirs: str) -> None:
    extra = Counter(lines_of(found)) - (Counter(lines_of(ours)) + Counter(lines_of(theirs)))
    holds(not extra, "each line is one of a side's", found, extra)


def none_lost(merge: MergeBodies, base: str, ours: str, theirs: str) -> bool:
    """No line is lost unless a side took one like it out."""
    found = merge(base, ours, theirs)
    if not found.conflict:
        _kept(found.text, base, ours, theirs)
    return not found.conflict


def _kept(found: str, base: str, ours: str, theirs: str, blank_lead: bool = False) -> None:
    was, mine, other = (Counter(lines_of(text)) for text in (base, ours, theirs))
    taken_out = (was - mine) + (was - other)
    lost = [line for line in mine | other if line not in taken_out and line not in lines_of(found)]
    lost = [line for line in lost if line.strip() or not blank_lead]
    holds(not lost, "a line stays that nobody took out", found, lost)


def appends(merge: MergeBodies, base: str, ours: str, theirs: str) -> bool:
    """Lines at the end of one and the same text never conflict, and all of it stands in front of them."""
    base, *added = ("".join(f"{line}\n" for line in lines_of(text)) for text in (base, ours, theirs))
    found = merge(base, base + added[0], base + added[1])
    holds(not found.conflict, "appends do not conflict", base, *added)
    holds(found.text.startswith(base), "what was there stays as it was", found)
    missing = set(lines_of("".join(added))) - set(lines_of(found.text))
    holds(not missing, "both appends are there", found, missing)
    return True


def apart(merge: MergeBodies, base: str, ours: str, theirs: str) -> bool:
    """What each side does on its side of a line that stands once is there, word by word."""
    lines = lines_of(base)
    above, below = lines[: len(lines) // 2], lines[len(lines) // 2 :]

    def text(*parts: list[str]) -> str:
        return "".join(f"{line}\n" for part in parts for line in part)

    part, mine, other = [_PARTING], lines_of(ours), lines_of(theirs)
    found = merge(text(above, part, below), text(mine, part, below), text(above, part, other))
    wanted = text(mine, part, other)
    holds(found == Merged(wanted, False), "both sides' changes are there", found, wanted)
    return True


BODY_LAWS: tuple[BodyLaw, ...] = (gives_way, equals, from_somewhere, none_lost, appends, apart)


# --- files

Fields = dict[str, object]


def fields_of(content: bytes) -> Fields:
    """What a header says, by key, whichever shape it has; without stamps."""
    document = read(content)
    found: Fields = {"name": document.name, "description": document.description, "type": document.type}
    for key, value in (*document.extra, *document.lists):
        found.setdefault(key.removeprefix("metadata."), value)
    return {key: value for key, value in found.items() if value is not None and key not in _STAMPS}


def _same(key: str, one: Fields, other: Fields) -> bool:
    mine, theirs = one.get(key), other.get(key)
    if key != "name" or mine == theirs:
        return mine == theirs
    return same_name(*(value if isinstance(value, str) else None for value in (mine, theirs)))


def _is_clear(*texts: bytes) -> bool:
    return not any(read(text).problems for text in texts)


def _names_are_clear(*texts: bytes) -> bool:
    """No name that the client may have made of several others: then nobody can tell what it was."""
    names = {read(text).name or "" for text in texts}
    return len(names) == 1 or not any(same_name(one, other) for one in names for other in names if one < other)


def _has_comments(*texts: bytes) -> bool:
    """Whether a header holds a comment, which the client drops when it saves."""
    return any(line.startswith(b"#") for text in texts for line in split(text)[0].split(b"\n"))


def file_gives_way(merge: MergeFiles, base: bytes, ours: bytes, theirs: bytes) -> bool:
    """As for bodies, byte for byte; and what the client's saving alone does is no change."""
    for side in (ours, theirs):
        for found in (merge(base, side, base), merge(base, base, side), merge(base, side, side)):
            holds(found == MergedText(side, False), "the only change is the answer", found)
    if _has_comments(base):
        return True
    saved = resaved(base, *_RESAVED)
    found = merge(base, ours, saved)
    nothing = not found.conflict and (alike(found.content, ours) if base == ours else found.content == ours)
    holds(nothing, "a save of the client's changes nothing", found)
    found = merge(base, saved, theirs)
    holds(not found.conflict and alike(found.content, theirs), "a save of the client's gives way", found)
    return True


def file_equals(merge: MergeFiles, base: bytes, ours: bytes, theirs: bytes) -> bool:
    """Who is called ours decides about labels, order, line ends and the shape of the header, and nothing else."""
    if not _names_are_clear(base, ours, theirs) or any(_mixed(side.decode()) for side in (ours, theirs)):
        return False
    here, there = merge(base, ours, theirs), merge(base, theirs, ours)
    if ("text",) in (here.fields, there.fields) and _is_clear(base, ours, theirs):
        return False  # a body that begins like a header, or does so in one order only, below one that was taken out
    holds(here.conflict == there.conflict, "a conflict is one from both sides", here, there)
    if here.conflict:
        holds(set(here.fields) == set(there.fields), "both orders name the same fields", here, there)
        return False
    if not _is_clear(base, ours, theirs):
        texts = [Counter(lines_of(found.content.decode())) for found in (here, there)]
        same = texts[0] == texts[1] or alike(here.content, there.content)
        holds(same, "both orders give the same lines", here, there)
        return True
    one, other = fields_of(here.content), fields_of(there.content)
    holds(all(_same(key, one, other) for key in one | other), "both orders give the same fields", here, there)
    bodies = [Counter(filter(str.strip, lines_of(read(found.content).body))) for found in (here, there)]
    holds(bodies[0] == bodies[1], "both orders give the same lines", here, there)
    return True


def fields_kept(merge: MergeFiles, base: bytes, ours: bytes, theirs: bytes) -> bool:
    """A field that one side changed has that side's value, one that neither changed its own; else it is a conflict
    that names it."""
    found = merge(base, ours, theirs)
    holds(bool(found.fields) == found.conflict, "a conflict names its fields", found)
    if found.conflict:
        holds(found.content == ours, "in a conflict ours stands whole", found)
        return False
    if not _is_clear(base, ours, theirs):
        return False
    holds(_is_clear(found.content), "a header that was clear stays so", found)
    was, mine, other, now = map(fields_of, (base, ours, theirs, found.content))
    for key in was | mine | other | now:
        if key == "name" and not _names_are_clear(base, ours, theirs):
            holds(_same(key, now, mine) or _same(key, now, other), "the name is a side's", found)
        elif _same(key, mine, other) or _same(key, was, other):
            holds(_same(key, now, mine), f"{key} is ours", found)
        else:
            holds(_same(key, was, mine), f"{key} is in conflict", found)
            holds(_same(key, now, other), f"{key} is theirs", found)
    return True


def body_kept(merge: MergeFiles, base: bytes, ours: bytes, theirs: bytes) -> bool:
    """The lines of the body: none from thin air, none lost unless a side took it out."""
    found = merge(base, ours, theirs)
    if found.conflict or not _is_clear(base, ours, theirs):
        return False
    was, mine, other, now = (read(text).body for text in (base, ours, theirs, found.content))
    _from(now, mine, other)
    _kept(now, was, mine, other, blank_lead=True)  # blank lines below a header belong to that
    return True


def saving_is_no_edit(merge: MergeFiles, base: bytes, ours: bytes, theirs: bytes) -> bool:
    """Whatever the client saved anew on the way, the outcome says the same."""
    sides = (base, ours, theirs)
    if not _names_are_clear(*sides) or not _is_clear(*sides) or _has_comments(*sides):
        return False
    plain = merge(base, ours, theirs)
    for saved in (
        (resaved(base, *_RESAVED), ours, theirs),
        (base, resaved(ours, *_RESAVED), theirs),
        (base, ours, resaved(theirs, *_RESAVED)),
    ):
        found = merge(*saved)
        if found.conflict != plain.conflict:
            # Fields that only a header of one shape has room for, or that are gone: a conflict rather than a loss.
            told = {*found.fields, *plain.fields}
            both = fields_of(base) not in (fields_of(ours), fields_of(theirs))
            holds(both and not told & {"body", "text"}, "a save makes no conflict and settles none", plain, found)
        elif not plain.conflict:
            holds(alike(found.content, plain.content), "a save changes no outcome", plain, found)
    return not plain.conflict


FILE_LAWS: tuple[FileLaw, ...] = (file_gives_way, file_equals, fields_kept, body_kept, saving_is_no_edit)

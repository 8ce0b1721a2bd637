"""What must be true of a whole folder before any name in it is decided: rules 1, 3, 28 and 32.

The rules stand in `core/reconcile.py`. The order here: an unreadable folder, another store's claim, the
folder that was swept away (32), a folder that lost our claim (1), many files gone or gone back (3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from memstore.core.decisions import SECOND_SCAN, File, Shown, Stored, WaitSecondScan
from memstore.core.frontmatter import alike, calm, read, split


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """One scan of a folder, in numbers.

    `state`: "unreadable" also where the listing broke off. `memory_files`: memory files in it, known or not.
    `bases`: names that have a B. `absent`: those without a file, renames not counted. `went_back`: those
    whose file is alike an earlier version (`went_back`). `missing_since`: unix microseconds of the scan that
    first found the folder gone or empty.
    """

    state: Literal["present", "missing", "unreadable"]
    claim: Literal["own", "other", "none"]
    memory_files: int
    bases: int
    absent: int
    went_back: int
    missing_since: int | None = None


@dataclass(frozen=True, slots=True)
class Go:
    """Names may be decided. `claim`: the folder is nobody's; claim it first, by exclusive creation."""

    claim: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing is decided in this folder; `reason` is for a person."""

    reason: str
    rule: int


@dataclass(frozen=True, slots=True)
class PutAllBack:
    """The folder was swept away: claim it anew, project every live memory, and say so."""

    rule: int


def gate_folder(facts: FolderFacts, *, now: int) -> Go | Stop | WaitSecondScan | PutAllBack:
    """Whether the names of a folder may be decided at all. `now` is unix microseconds."""
    if facts.state == "unreadable":
        return Stop("the folder cannot be read whole", rule=32)
    if facts.claim == "other":
        return Stop("another store projects into this folder", rule=1)
    if facts.claim == "none" and facts.bases:
        if facts.memory_files:
            return Stop("the folder lost its claim, but it holds memory files", rule=1)
        since = facts.missing_since
        if since is None or since > now:  # a clock that went back starts the wait anew
            return WaitSecondScan(now, rule=32)
        return PutAllBack(rule=32) if now - since >= SECOND_SCAN else WaitSecondScan(since, rule=32)
    odd = facts.absent + facts.went_back
    if odd > 3 and odd * 5 > facts.bases:
        numbers = f"{facts.absent} are gone and {facts.went_back} went back to older versions"
        return Stop(f"of {facts.bases} files {numbers}", rule=3)
    return Go(claim=facts.claim == "none")


def went_back(file: File, shown: Shown, stored: Stored | None) -> bool:
    """Whether a file is alike an earlier version of its memory: for rule 3's count."""
    if file.content is None or stored is None or file.content == shown.content:
        return False
    if alike(file.content, shown.content) or alike(file.content, stored.head):
        return False
    return stored.had(calm(file.content))


def find_renames(absent: Mapping[str, Shown], new: Mapping[str, File]) -> dict[str, str]:
    """Rule 28: old name -> new name. `absent`: names with a B but no file; `new`: files without a B.

    Texts are compared without their `name`: whoever renames a file often changes that along with it.
    """
    before = {name: shown.content for name, shown in absent.items()}
    after = {
        name: file.content
        for name, file in new.items()
        if file.content is not None and file.content.strip() and file.trouble is None
    }
    if not before or not after:
        return {}
    same_text = _pairs(_by(before, calm), _by(after, calm))
    before = {name: text for name, text in before.items() if name not in same_text}
    after = {name: text for name, text in after.items() if name not in same_text.values()}
    same_name = _pairs(_by(before, _field_name), _by(after, _field_name))
    kept = {old: to for old, to in same_name.items() if _mostly_same_lines(before[old], after[to])}
    return same_text | kept


def _by(texts: Mapping[str, bytes], key: Callable[[bytes], bytes | str]) -> dict[bytes | str, list[str]]:
    found: dict[bytes | str, list[str]] = {}
    for name, text in texts.items():
        value = key(text)
        if value:
            found.setdefault(value, []).append(name)
    return found


def _pairs(old: dict[bytes | str, list[str]], new: dict[bytes | str, list[str]]) -> dict[str, str]:
    """What is the only one of its kind on either side."""
    return {names[0]: new[key][0] for key, names in old.items() if len(names) == 1 and len(new.get(key, ())) == 1}


def _field_name(text: bytes) -> str:
    return read(text).name or ""


def _mostly_same_lines(one: bytes, other: bytes) -> bool:
    """More than half of the longer text's lines."""
    first, second = _lines_with_words(one), _lines_with_words(other)
    return (first & second).total() * 2 > max(first.total(), second.total())


def _lines_with_words(text: bytes) -> Counter[bytes]:
    """The body's lines that are not blank."""
    return Counter(line for each in split(text)[1].split(b"\n") if (line := each.strip()))

"""What must be true of a whole folder before any name in it is decided: rules 1, 3, 28 and 32.

The rules stand in `core/reconcile.py`. The order here: an unreadable folder, another store's claim, the
folder that was swept away (32), a folder that lost our claim (1), many files gone or gone back (3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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

    Texts are compared without their `name`: whoever renames a file often changes that along with it. What became
    known under a name since its B may be what lay there.
    """
    texts = {name: [shown.content, *shown.since] for name, shown in absent.items()}
    after = {
        name: file.content
        for name, file in new.items()
        if file.content is not None and file.content.strip() and file.trouble is None
    }
    if not texts or not after:
        return {}
    written = {name: [text] for name, text in after.items()}
    same_text = _pairs(_by(texts, calm), _by(written, calm))
    texts = {name: each for name, each in texts.items() if name not in same_text}
    written = {name: each for name, each in written.items() if name not in same_text.values()}
    same_name = _pairs(_by(texts, _field_name), _by(written, _field_name))
    kept = {old: to for old, to in same_name.items() if any(_mostly_same_lines(text, after[to]) for text in texts[old])}
    return same_text | kept


def _by(texts: Mapping[str, Sequence[bytes]], key: Callable[[bytes], bytes | str]) -> dict[bytes | str, list[str]]:
    found: dict[bytes | str, list[str]] = {}
    for name, each in texts.items():
        for value in dict.fromkeys(map(key, each)):
            if value:
                found.setdefault(value, []).append(name)
    return found


def _pairs(old: dict[bytes | str, list[str]], new: dict[bytes | str, list[str]]) -> dict[str, str]:
    """What is the only one of its kind on either side."""
    found: dict[str, set[str]] = {}
    for key, names in old.items():
        if len(names) == 1 and len(new.get(key, ())) == 1:
            found.setdefault(names[0], set()).update(new[key])
    return {name: min(to) for name, to in found.items() if len(to) == 1}


def _field_name(text: bytes) -> str:
    return read(text).name or ""


def _mostly_same_lines(one: bytes, other: bytes) -> bool:
    """More than half of the longer text's lines."""
    first, second = _lines_with_words(one), _lines_with_words(other)
    return (first & second).total() * 2 > max(first.total(), second.total())


def _lines_with_words(text: bytes) -> Counter[bytes]:
    """The body's lines that are not blank."""
    return Counter(line for each in split(text)[1].split(b"\n") if (line := each.strip()))

"""What a file under one name means: (what we showed there, what the store holds, the file) -> decision.

B is what was last put or accepted under the name in this folder, H the memory's head, F the file. "Alike"
means equal but for the client's stamps, quoting, line ends, a BOM, leading blank lines and a last newline.
Rules 6 to 11 belong to the inbox and are worked in before any of this. Rules 1, 3, 28 and 32 look at the
whole folder: `core/gates.py` has them.

Gates
 1  Another store's folder, or memory files without our claim though we have bases for them; debris by its
    name; anything but a plain file with one link: nothing is decided.
 2  A file that is still being written, empty, NUL-filled or cut off where B was whole: look again. Still so
    once it has settled: set it aside and put H back.
 3  More than three names that had a B, and more than a fifth of them, are absent or went back to an earlier
    version: nothing is decided for the folder; a person is asked.
 4  One process has the folder's turn, and B is journalled before each exchange: the caller's part.
 5  A name with an open intent is left alone: the caller's part.

B absent
12  no memory or a retired one, no file: nothing       13  no memory, a file: create
14  a live memory, no file: project                     15  F alike H: accept
16  F alike an earlier version: a stale copy; set it aside, project
17  F something else: a conflict without a base; H is current, F the other side
18  retired, F alike any of its versions: a stale copy; set it aside, stay retired
19  retired, F new: revive

B and F present
20  F is B, or became known since: nothing to learn     21  F alike B: accept, no version
22  F changed, H did not: revise to F verbatim, leave the file
23  both changed, F alike H: accept
24  both changed: merge over B; where they overlap H is current and F the other side
25  in 22 and 24, an earlier shown text is nearer to F than B: an old buffer was saved, so keep what was
    projected since and flag it; taking the flagged lines out again is honoured. A line that H has and no file
    had yet is kept, and not flagged
26  F changed, H retired: revive with F
27  no memory (the store was replaced): create from F with B as its parent

B present, F absent
28  exactly one new file is alike B, or has its name and most of its lines: a rename
29  H unchanged, absent in two scans at least a second apart: retire
30  H changed: project it again and say so              31  H retired or none: forget B
32  the folder missing or empty, the claim gone too: after a second scan put everything back. It comes before
    gates 1 and 3. A folder that cannot be read whole: nothing.

Projecting
33  H live and F not alike it: exchange                 34  H retired and F still there: move F aside
35  What unexpectedly comes out of an exchange goes through these rules with the previous B.
36  F alike H: write nothing
"""

from __future__ import annotations

from collections import Counter

from memstore.core.decisions import (
    SECOND_SCAN,
    Accept,
    Conflict,
    Create,
    Decision,
    File,
    Forget,
    LookAgain,
    MoveAside,
    Nothing,
    Project,
    Report,
    Retire,
    Revise,
    Revive,
    SetAside,
    Shown,
    Stored,
    WaitSecondScan,
)
from memstore.core.frontmatter import alike, calm, read
from memstore.core.merge import fields_of, merge_texts


def reconcile_name(file: File, shown: Shown | None, stored: Stored | None, *, now: int) -> Decision:
    """What to do about one name. `now` is unix microseconds. Renames (28) are found beforehand."""
    if file.trouble == "irregular":
        return Report(f"{file.name} is not a plain file that could be taken in", rule=1)
    if file.trouble == "unsettled":
        return LookAgain(rule=2)
    if file.content is None:
        return _absent(shown, stored, now)
    broken = _broken(file.content, shown, stored)
    if broken is not None:
        return _set_broken_aside(file, broken, shown, stored)
    if shown is None:
        return _unknown_file(file.content, stored)
    return _known_file(file.content, shown, stored)


def _absent(shown: Shown | None, stored: Stored | None, now: int) -> Decision:
    if stored is None or stored.state == "retired":
        return Nothing(rule=12) if shown is None else Forget(rule=31)
    if shown is None:
        return Project(None, rule=14)
    if not _unchanged(shown, stored):
        return Project(None, rule=30)
    since = shown.missing_since
    if since is None or since > now:  # a clock that went back starts the wait anew
        return WaitSecondScan(now, rule=29)
    return Retire(rule=29) if now - since >= SECOND_SCAN else WaitSecondScan(since, rule=29)


def _unknown_file(content: bytes, stored: Stored | None) -> Decision:
    if stored is None:
        return Create(content, parent=None, rule=13)
    if stored.state == "retired":
        if alike(content, stored.head) or stored.had(calm(content)):
            return SetAside(content, "a copy of a memory that was deleted", project=False, rule=18)
        return Revive(content, rule=19)
    if alike(content, stored.head):
        return Accept(content, rule=15)
    if stored.had(calm(content)):
        return SetAside(content, "an older version of this memory", project=True, rule=16)
    return Conflict(content, base=None, fields=(), rule=17)


def _known_file(content: bytes, shown: Shown, stored: Stored | None) -> Decision:
    if stored is None:
        return Create(content, parent=shown.content, rule=27)
    if content == shown.content or content in shown.since:
        return _nothing_learnt(content, shown, stored, rule=20)
    if alike(content, shown.content):
        return _nothing_learnt(content, shown, stored, rule=21)
    if stored.state == "retired":
        return Revive(content, rule=26)
    unchanged = _unchanged(shown, stored)
    if not unchanged and alike(content, stored.head):
        return Accept(content, rule=23)
    kept = _keep_projected(content, shown, stored)
    if kept is not None:
        return kept
    if unchanged:
        return Revise(content, rewrite=False, flagged=(), rule=22)
    return _merge(shown.content, content, stored, flagged=(), rule=24)


def _nothing_learnt(content: bytes, shown: Shown, stored: Stored, *, rule: int) -> Decision:
    """The file holds no news; perhaps the store does."""
    if stored.state == "retired":
        return MoveAside(content, rule=34)
    if not alike(content, stored.head):
        return Project(content, rule=33)
    return Nothing(rule) if content == shown.content else Accept(content, rule)


def _keep_projected(content: bytes, shown: Shown, stored: Stored) -> Decision | None:
    """Rule 25, or None where the file was made from B."""
    earlier = _nearest_earlier(content, shown)
    if earlier is None:
        return None
    counts = _line_counts(stored.head) - _line_counts(earlier) - _line_counts(content)
    missing = [line for line in counts if line.strip()]
    if not missing or shown.flagged.issuperset(missing):
        return None
    projected = _line_counts(shown.content) - _line_counts(earlier)  # what never was in the file, nobody took out
    return _merge(earlier, content, stored, flagged=tuple(line for line in missing if projected[line]), rule=25)


def _nearest_earlier(content: bytes, shown: Shown) -> bytes | None:
    """The earlier shown text that is nearer to the file than B, if there is one."""
    lines = _line_counts(content)
    nearest, distance = None, _distance(lines, _line_counts(shown.content))
    for text in shown.earlier():
        if distance == 0:
            break
        found = _distance(lines, _line_counts(text))
        if found < distance:
            nearest, distance = text, found
    return nearest


def _merge(base: bytes, content: bytes, stored: Stored, *, flagged: tuple[str, ...], rule: int) -> Decision:
    # An old buffer that changed a line knows nothing of those that were projected beside it: both are meant.
    merged = merge_texts(base, stored.head, content, beside=rule == 25)
    if merged.conflict:
        return Conflict(content, base, merged.fields, rule)
    if alike(merged.content, content):
        return Revise(content, rewrite=False, flagged=(), rule=rule)
    return Revise(merged.content, rewrite=True, flagged=flagged, rule=rule)


def _unchanged(shown: Shown, stored: Stored) -> bool:
    """Whether the head says what was shown. Texts tell, not version numbers: an undo brings a text back under
    a new number, and a crash may leave a number beside a text that was never put into the file."""
    return alike(shown.content, stored.head)


def _line_counts(content: bytes) -> Counter[str]:
    """The body's lines and the fields, as lines a person can read; not the name, which clients rewrite."""
    document = read(content)
    lines = Counter(line.removesuffix("\r") for line in document.body.split("\n"))
    lines.update(f"{key}: {value}" for key, value in fields_of(content).items() if value and key != "name")
    return lines


def _distance(one: Counter[str], other: Counter[str]) -> int:
    return (one - other).total() + (other - one).total()


# --- rule 2


def _broken(content: bytes, shown: Shown | None, stored: Stored | None) -> str | None:
    head = stored.head if stored is not None and stored.state == "live" else None
    if content == head:
        return None
    return looks_broken(content, shown.content if shown is not None else head)


def _set_broken_aside(file: File, reason: str, shown: Shown | None, stored: Stored | None) -> Decision:
    if not file.settled:
        return LookAgain(rule=2)
    live = stored is not None and stored.state == "live"
    if file.content is None or (shown is None and not live):
        return Report(f"{file.name} {reason}; it is left alone", rule=2)
    return SetAside(file.content, reason, project=live, rule=2)


def looks_broken(content: bytes, base: bytes | None) -> str | None:
    """Why a file is no edit but a failed write, or None. `base`: the whole text that stood there."""
    if content == base:
        return None
    if not content.strip(b"\xef\xbb\xbf \t\r\n"):
        return "is empty"
    if _nul_filled(content) and not (base is not None and _nul_filled(base)):
        return "is filled with NUL bytes"
    if base is not None and _cut_off(content, base):
        return "is cut off"
    return None


def _nul_filled(content: bytes) -> bool:
    """A crash leaves blocks of zeros, mostly at the end; a stray NUL is somebody's text."""
    return content.endswith(b"\0") or bytes(16) in content


def _cut_off(content: bytes, base: bytes) -> bool:
    """The beginning of the base, ending where no editor would end it: in its header or in mid-line.

    Whole lines deleted at the end, or words from an unterminated last line, are an edit.
    """
    if not base.startswith(content):
        return False
    if read(base).has_header and not read(content).has_header:
        return True
    lost = base[len(content) :]
    in_mid_line = not content.endswith(b"\n") and not lost.startswith((b"\n", b"\r\n"))
    return in_mid_line and b"\n" in lost

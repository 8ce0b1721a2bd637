"""The text of a session's notes: sections, each with a heading and a line in italics that says what goes there. Pure.

```
# Current State
_What is being worked on, what is open, what comes next._

what the notes say
```

Headings and lines in italics are the person's (or the template's) and stay as they are; only what stands below them is
written. A heading is a line that begins with `# `; in a fenced block there is none. Names, order and budgets of the
sections are the client's own (2.1.127 and before), so that its templates can be used; the words are ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstore.core.ids import digest
from memstore.errors import InputRefused

SECTION: Final = 2_000
"""Tokens of one section."""
WHOLE: Final = 12_000
"""Tokens of all of the notes."""
_CLOSE: Final = 0.85
"""From this part of a budget on a section is to be shortened."""

TEMPLATE: Final = """\
# Session Title
_Five to ten words by which this session can be told from others._

# Current State
_What is being worked on at this moment, what is open, and the very next steps._

# Task specification
_What the person asked for, in their own terms: aims, limits, decisions on the design._

# Files and Functions
_The files and functions that matter here, what each is for, and why it was touched._

# Workflow
_Commands in the order in which they are run, and how their output is read._

# Errors & Corrections
_What went wrong and how it was mended; what the person corrected; ways that are not to be tried again._

# Codebase and System Documentation
_The parts that the system consists of, and how they work together._

# Learnings
_What proved to work well or badly, and what is better avoided._

# Key results
_If the person asked for a particular result (an answer, a table, a document): that very result, whole._

# Worklog
_Step by step what was tried and done, a short line each, the newest last._
"""

_HEADING = re.compile(r"# +\S")
_ITALIC = re.compile(r"_[^_\s].*_|\*[^*\s].*\*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the notes. `heading`: its whole line; empty for what stands before the first one. `guide`: the line in
    italics below it; empty where there is none. `body`: all else."""

    heading: str
    guide: str
    body: str

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(filter(None, (self.heading, self.guide, self.body)))


def path_of(session: str) -> str:
    """Where the notes of a session stand on their shelf. An id that is no plain word is told by its digest."""
    plain = _PLAIN.fullmatch(session) and session != "memory"
    return f"{session if plain else 'session-' + digest(session.encode('utf-8', 'replace'))}.md"


def tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its bytes, which is near for English and not far off elsewhere."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def sections(text: str) -> list[Section]:
    """The parts of the notes, in order; together they hold all lines but blank ones around a guide."""
    found: list[tuple[str, list[str]]] = [("", [])]
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if not fence and _HEADING.match(line):
            found.append((line.rstrip(), []))
            continue
        fence = _fence_after(fence, line)
        found[-1][1].append(line)
    return [_section(heading, lines) for heading, lines in found if heading or "".join(lines).strip()]


def check_template(text: str) -> None:
    """Raises InputRefused for what cannot be the beginning of notes."""
    if not any(section.heading for section in sections(text)):
        raise InputRefused("it has no section: a line that begins with '# '")
    if tokens(text) > WHOLE // 2:
        raise InputRefused(f"it has about {tokens(text)} tokens itself; the notes have {WHOLE} at most, with it")


def check_change(before: str, after: str) -> None:
    """Raises InputRefused where a change touches headings or lines in italics, or makes anything longer than it may be.

    `before`: the notes as they were at the beginning of the run. What was too long then may stay as long.
    """
    old, new = sections(before), sections(after)
    _check_frame([one for one in old if one.heading], [one for one in new if one.heading])
    lengths = {section.heading: tokens(section.text) for section in old}
    over = [
        f"{section.heading!r} would have about {size} tokens"
        for section in new
        if (size := tokens(section.text)) > max(SECTION, lengths.get(section.heading, 0))
    ]
    if over:
        raise InputRefused(f"{', and '.join(over)}; a section has {SECTION} at most. Shorten it as you add to it")
    if tokens(after) > max(WHOLE, tokens(before)):
        raise InputRefused(
            f"the notes would have about {tokens(after)} tokens; they have {WHOLE} at most. Shorten other sections"
            " first"
        )


def too_long(text: str) -> list[str]:
    """What is near its budget or beyond it, a line each for whoever writes the next version."""
    told = [
        f"{section.heading!r} has about {size} of {SECTION} tokens: shorten it, keep what matters now"
        for section in sections(text)
        if (size := tokens(section.text)) > _CLOSE * SECTION
    ]
    if tokens(text) > _CLOSE * WHOLE:
        told.append(f"all of it has about {tokens(text)} of {WHOLE} tokens: shorten it, keep current state and errors")
    return told


def title(text: str) -> str:
    """The first line that the first section says."""
    for section in sections(text):
        said = next(filter(None, map(str.strip, section.body.split("\n"))), "")
        if section.heading:
            return said
    return ""


def shortened(text: str, room: int) -> str:
    """What the notes say, in at most so many UTF-16 units: no guides, no empty sections, and of what is too long the
    beginning and the end. All sections that say something get an equal share, and short ones leave theirs to others."""
    parts = [(section.heading, section.body.strip("\n")) for section in sections(text) if section.body.strip()]
    wanted = [units(f"{heading}\n{body}\n\n") for heading, body in parts]
    shares = _shares(wanted, room)
    kept = [_cut(*part, share) for part, share in zip(parts, shares, strict=True)]
    return "\n\n".join(filter(None, kept))


def units(text: str) -> int:
    """UTF-16 units, in which the client counts."""
    return len(text.encode("utf-16-le", "replace")) // 2


def _section(heading: str, lines: Sequence[str]) -> Section:
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    guide = lines[first].strip() if heading and first < len(lines) and _ITALIC.fullmatch(lines[first].strip()) else ""
    return Section(heading, guide, "\n".join(lines[first + 1 :] if guide else lines).rstrip())


def _fence_after(fence: str, line: str) -> str:
    """The mark of the fenced block that the next line stands in; empty outside."""
    found = _FENCE.fullmatch(line)
    if found is None:
        return fence
    mark, rest = found[1], found[2]
    if not fence:
        return "" if mark[0] == "`" and "`" in rest else mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip()
    return "" if closes else fence


def _check_frame(old: Sequence[Section], new: Sequence[Section]) -> None:
    headings, now = [one.heading for one in old], [one.heading for one in new]
    for heading in headings:
        if now.count(heading) < headings.count(heading):
            raise InputRefused(
                f"the heading {heading!r} would be gone, or stand in a block that is not closed; headings stay"
            )
    for heading in now:
        if now.count(heading) > headings.count(heading):
            raise InputRefused(
                f"{heading!r} would be a heading of its own, and there is no such section; use ## within a section"
            )
    if headings != now:
        raise InputRefused("the sections would stand in another order; their order stays")
    for was, is_now in zip(old, new, strict=True):
        if was.guide and was.guide != is_now.guide:
            raise InputRefused(f"the line in italics below {was.heading!r} would change; it stays as it is")


def _shares(wanted: Sequence[int], room: int) -> list[int]:
    """How much of the room each gets: what it wants, or an equal part of what the smaller ones leave."""
    shares = [0] * len(wanted)
    left = room
    for rank, number in enumerate(sorted(range(len(wanted)), key=lambda number: wanted[number])):
        shares[number] = min(wanted[number], left // (len(wanted) - rank))
        left -= shares[number]
    return shares


def _cut(heading: str, body: str, room: int) -> str:
    """A section in so many units, with two to spare; empty where there is no room for anything of it."""
    if units(f"{heading}\n{body}\n\n") <= room:
        return f"{heading}\n{body}".lstrip("\n")
    lines = body.split("\n")
    left = room - units(f"{heading}\n(9999 lines left out)\n\n") - 1
    first, left = _fitting(lines, left - left // 3, left)
    last, left = _fitting(lines[first:][::-1], left, left)
    if not first and not last:
        begun = _beginning(lines[0], left - 3)
        return f"{heading}\n{begun} …".lstrip("\n") if begun else ""
    out = len(lines) - first - last
    told = f"({out} line{'s' * (out != 1)} left out)"
    return "\n".join((heading, *lines[:first], told, *lines[len(lines) - last :])).lstrip("\n")


def _beginning(line: str, most: int) -> str:
    return line.encode("utf-16-le", "replace")[: 2 * max(most, 0)].decode("utf-16-le", "ignore")


def _fitting(lines: Sequence[str], most: int, left: int) -> tuple[int, int]:
    """How many of these lines fit into `most` units, and how much of `left` remains."""
    count = 0
    for line in lines:
        size = units(line) + 1
        if size > most:
            break
        most, left, count = most - size, left - size, count + 1
    return count, left

"""The doctor's look at the texts: headers that cannot be read, and characters that nobody sees.

What somebody wrote is never changed by it. Such characters are made visible wherever memstore shows a text; a session
that reads the file itself sees what a person does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING

from memstore.core.findings import Finding
from memstore.core.frontmatter import read
from memstore.core.index_values import in_order
from memstore.core.model import INDEX_NAME
from memstore.core.unseen import unseen, visible
from memstore.files.report import counted
from memstore.store import contents, lines
from memstore.upkeep.doctor_told import capped

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.findings import Severity

HEADER = "header"
HIDDEN = "hidden-text"

_MOST = 10_000
_CONTROLS = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
_SPEAKING = re.compile("[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e0fff]")
"""Tags, marks that turn text around, and zero-width ones: whole sentences have been hidden in them."""


def texts(memories: Memstore) -> Iterator[Finding]:
    """What is wrong with the texts of the living memories, and with the lines of the index."""
    headers: list[Finding] = []
    hidden: list[Finding] = []
    with memories.store.view() as connection:
        for path, content in contents.present(connection, memories.shelf):
            headers += _header(path, content)
            hidden += [*_named(path), *_hidden(path, content)]
        index = "\n".join(row.text for row in in_order(lines.rows(connection, memories.shelf)))
    hidden += _hidden(INDEX_NAME, index.encode("utf-8", "surrogatepass"))
    yield from capped(headers)
    yield from capped(hidden)


def _header(path: str, content: bytes) -> list[Finding]:
    problems = read(content).problems
    if not problems:
        return []
    first, more = problems[0], len(problems) - 1
    also = f", and {counted(more, 'line')} more" if more else ""
    return [
        Finding(
            HEADER, "warning", f"{path}: line {first.line}: {first.reason}{also}",
            "what the header says there is not known, so that search and index may lack the name or description",
            f"mend that line by hand, or with `memstore edit {quote(path)}`",
        )
    ]  # fmt: skip


def _named(path: str) -> list[Finding]:
    if path.isascii() or not list(unseen(path)):
        return []
    return [
        Finding(
            HIDDEN, "warning", f"the name of {visible(path)} has characters that nobody sees",
            "it may look like another file's", f"rename it: `memstore rename {quote(path)} NEW-NAME`",
        )
    ]  # fmt: skip


def _hidden(path: str, content: bytes) -> list[Finding]:
    if content.isascii() and not _CONTROLS.search(content):
        return []
    text = content.decode("utf-8", "replace")
    found = list(islice(unseen(text), _MOST))
    if not found:
        return []
    kinds = dict.fromkeys(f"U+{ord(character):04X}" for _, character in found)
    first, last = (text.count("\n", 0, at) + 1 for at in (found[0][0], found[-1][0]))
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    named = ", ".join(list(kinds)[:5]) + (", …" if len(kinds) > 5 else "")
    severity: Severity = "warning" if any(_SPEAKING.match(character) for _, character in found) else "note"
    number = counted(len(found), "character") + (" or more" if len(found) == _MOST else "")
    return [
        Finding(
            HIDDEN, severity, f"{visible(path)} has {number} that nobody sees, {where}: {named}",
            "a session reads them, and whole sentences can be hidden in them",
            f"`memstore show {quote(path)}` makes them visible; take out what is not meant by editing the file",
        )
    ]  # fmt: skip

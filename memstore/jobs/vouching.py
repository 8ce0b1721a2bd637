"""Whose words a job may put where. Pure.

1. A memory that speaks for the person (`user`, `feedback`) is made, changed and deleted with words of the person only.
   A memory whose header cannot be read may be one.
2. What holds words of tools never becomes one.
3. Words of tools never go into a memory whose words are a person's, nor into the name or description by which the
   index tells of a memory; they get a memory of their own.
4. A pinned memory is not deleted, and one whose words are a person's only with words of the person.

A job reads what tools brought, so what it writes must not pass for a wish of the person (a page that says "remember
this rule"). The rules hold again whenever a change is held against what others wrote meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from memstore.core.frontmatter import Document, read
from memstore.core.model import Memory
from memstore.core.quotes import folded
from memstore.errors import InputRefused

Voice = Literal["person", "agent", "tool"]
"""Who said what a change was made from: the person, the assistant, or a tool, which nobody can tell from nobody."""

PERSONAL = frozenset({"user", "feedback"})
"""The types of memories that speak for the person."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Made:
    """What a change was made from. `message`: the id of the message; empty where none is known."""

    voice: Voice
    message: str = ""


Rule = Callable[[Memory | None, bytes | None, tuple[Made, ...]], None]
"""Raises InputRefused where a memory (None: a new one) may not get this text (None: be deleted), made from these."""


def check(head: Memory | None, text: bytes | None, made: tuple[Made, ...]) -> None:
    """The rules above. `head`: the memory as it stands in the store."""
    if text is None:
        _check_deletion(head, made)
        return
    before = None if head is None else read(head.state.content)
    after = read(text)
    by_person = all(each.voice == "person" for each in made)
    if not by_person and is_personal(after):
        raise InputRefused(
            "a user or feedback memory needs `quote`: words that the person wrote, word for word; what tools, files or"
            " you said can be saved as project or reference"
        )
    if not by_person and before is not None and is_personal(before):
        raise InputRefused(
            "it is a user or feedback memory, or its header cannot be read, so a change needs `quote`: words that the"
            " person wrote, word for word"
        )
    if head is None or before is None:
        return
    if head.origin == "tool" and is_personal(after) and not is_personal(before):
        raise InputRefused("it holds words of tools, so it cannot become a user or feedback memory; write a new file")
    if any(each.voice == "tool" for each in made):
        check_words_of_tools(head, before, after)


def check_words_of_tools(head: Memory, before: Document, after: Document) -> None:
    """Rule 3, for a change of `before` to `after` that brings words of tools."""
    if head.origin == "person":
        raise InputRefused(
            "a person wrote it, so a change needs `quote`: words from a message of the person or the assistant; what"
            " only tools said goes into a file of its own"
        )
    told = (before.name, before.description) != (after.name, after.description)
    if told and head.listing != "unlisted":
        raise InputRefused(
            "its name and description stand in the index, so changing them needs `quote`: words from a message of the"
            " person or the assistant"
        )


def _check_deletion(head: Memory | None, made: tuple[Made, ...]) -> None:
    if head is None:
        return
    if head.state.pinned:
        raise InputRefused("it is pinned, so only a person deletes it")
    theirs = head.origin == "person" or is_personal(read(head.state.content))
    if theirs and not all(each.voice == "person" for each in made):
        raise InputRefused(
            "it speaks for the person, so deleting it needs `quote`: words that the person wrote, word for word"
        )


def is_personal(document: Document) -> bool:
    """In doubt it is: a reader may look at another of its types than we do, or read it more leniently."""
    named = [document.type, *(value for key, value in document.extra if _is_type(key))]
    named += [item for key, items in document.lists if _is_type(key) for item in items]
    words = (word for value in named if value for word in _WORD.findall(folded(value)))
    return bool(document.problems) or not PERSONAL.isdisjoint(words)


def _is_type(key: str) -> bool:
    return key.rpartition(".")[2] == "type"

"""What a dream may change. Pure.

1. Off limits are pinned memories, what is not private, notes of a day, and files that nobody made as a memory. A name
   stays: other memories link to it.
2. A memory that speaks for the person (`user`, `feedback`) is made from such ones only, and without words of its own;
   it stays of these types, and is deleted only where another one says it now. Else a quote of the person is needed,
   which counts for what it bears on. Whatever a person wrote is deleted on the same terms, and (`dream_ledger.py`)
   loses no line and no `not` on others.
3. What holds words of tools never becomes one; words of tools go neither into a memory whose words are a person's nor
   into what the index says of a memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memstore.core.frontmatter import read, same_name
from memstore.core.model import Memory
from memstore.core.names import stem
from memstore.core.quotes import bears_on
from memstore.errors import InputRefused
from memstore.jobs import vouching, workspace
from memstore.jobs.vouching import Made, Rule, check_words_of_tools, is_personal

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


@dataclass(frozen=True, slots=True)
class Derived(Made):
    """What a change of a dream was made from.

    `personal`: all memories that it was made from speak for the person, and there are some. `fresh`: it has words that
    are in none of them and that no quote is given for. `merged`: another memory says what is deleted here.
    """

    personal: bool = False
    fresh: bool = False
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """What a call quotes, and whose words that is: it counts for what it bears on, and for nothing else."""

    made: Made
    text: str = ""

    def on(self, words: str) -> Made:
        """Whose words these are, or who wants them gone, as far as the quote tells."""
        return self.made if self.made.voice != "tool" and bears_on(self.text, words) else Made("tool")


def check(head: Memory | None, text: bytes | None, made: tuple[Made, ...]) -> None:
    """The rules above, as a workspace asks for them."""
    if head is not None:
        check_place(head)
    by_person = all(each.voice == "person" for each in made)
    if text is None:
        _check_deletion(head, made, by_person)
        return
    after, before = read(text), None if head is None else read(head.state.content)
    was, becomes = before is not None and is_personal(before), is_personal(after)
    kept = all(isinstance(each, Derived) and each.personal and not each.fresh for each in made)
    if becomes and not (by_person or kept):
        raise InputRefused(
            "a user or feedback memory is made from such memories alone: name them in `sources`. For words that are in"
            " none of them, nor listed as the new words of a line, it needs `quote`, words that the person wrote in a"
            " session and that bear on it"
        )
    if was and not becomes and not by_person:
        raise InputRefused("it is a user or feedback memory and stays one, unless a `quote` of the person says else")
    if head is None or before is None:
        return
    if not same_name(before.name, after.name):
        raise InputRefused("its name stays as it is: other memories may link to it")
    if head.origin == "tool" and becomes and not was:
        raise InputRefused("it holds words of tools, so it cannot become a user or feedback memory")
    if any(each.voice == "tool" for each in made):
        check_words_of_tools(head, before, after)


def check_place(head: Memory) -> None:
    """Whether a dream may touch a memory at all."""
    if head.state.pinned:
        raise InputRefused("it is pinned, so only a person changes it")
    if head.state.shelf.scope != "private":
        raise InputRefused("it is not private, so a dream leaves it alone")
    check_name(head.path)
    document = read(head.state.content)
    if not document.has_header or document.problems:
        raise InputRefused("it has no header of a memory that can be read, so it is somebody's own file and stays")


def check_name(path: str) -> None:
    """Whether a dream may write under a name, of a new memory too."""
    if _DAY.match(stem(path)):
        raise InputRefused("it is the note of a day: what was noted stays as it is")


def _check_deletion(head: Memory | None, made: tuple[Made, ...], by_person: bool) -> None:
    if head is None or by_person or all(isinstance(each, Derived) and each.merged for each in made):
        return
    if head.origin == "person" or is_personal(read(head.state.content)):
        raise InputRefused(
            "it speaks for the person: merge it into a memory of its type, or give `quote`, words that the person wrote"
            " in a session and that overturn it, and name what it is about"
        )


RULES: Final[tuple[Rule, ...]] = tuple(check if rule is vouching.check else rule for rule in workspace.RULES)
"""Those of every run, but for whose words may stand where."""

"""What forgetting on purpose means for one text: in which spellings a secret may stand somewhere, what stands in its
place afterwards, and by which lines a text that is gone would be known again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memstore.core.frontmatter import read
from memstore.core.index_pointer import link_path
from memstore.core.model import INDEX_NAME
from memstore.core.names import EXTENSION
from memstore.core.spellings import spellings
from memstore.errors import InputRefused

MARK = "[purged]"
"""What stands where a text was taken out."""

PATH_MARK = "purged"
"""The same in the name of a file."""

SHORT = 4
"""Characters below which a secret is likely to be part of other words."""

LONGEST = 64 * 1024
"""Bytes of a secret."""

_TELLING = 24
"""Bytes from which on a line tells which text it is from."""

_CLUES = 24

_PASSES = 8


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that is to stand nowhere. `forms`: all its spellings, longest first."""

    forms: tuple[bytes, ...]

    def within(self, content: bytes) -> bool:
        """Whether any spelling of it stands in there."""
        return any(form in content for form in self.forms)

    def out_of(self, content: bytes, mark: str = MARK) -> bytes:
        """The content without it."""
        pattern = re.compile(b"|".join(re.escape(form) for form in self.forms))
        for _ in range(_PASSES):  # a mark may make another one with what stood around it
            content, taken = pattern.subn(lambda _: mark.encode(), content)
            if not taken:
                break
        return content

    def also(self, texts: Iterable[str]) -> Secret:
        """The same with these, each as one more spelling of it."""
        more = {form for text in texts for form in spellings(text)}
        return Secret(tuple(sorted(more | set(self.forms), key=lambda form: (-len(form), form))))

    def out_of_text(self, text: str, mark: str = MARK) -> str:
        """The same for a text."""
        return self.out_of(text.encode("utf-8", "surrogatepass"), mark).decode("utf-8", "surrogatepass")

    def out_of_path(self, path: str) -> str:
        """The path of a memory's file without it; what that ends in stays."""
        left = self.out_of_text(path, PATH_MARK)
        return left if left.endswith(EXTENSION) or not path.endswith(EXTENSION) else left + EXTENSION


def secret_of(text: str) -> Secret:
    """The secret as it may have been written (see `spellings`).

    Raises InputRefused for what cannot be taken out.
    """
    if not text.strip():
        raise InputRefused("there is no text to purge", hint="give it as an argument, in a file, or on standard input")
    if "\0" in text or len(text.encode("utf-8", "surrogatepass")) > LONGEST:
        raise InputRefused(
            f"that cannot be a secret: it holds a NUL byte or more than {LONGEST} bytes",
            hint="give the part of it that is not to be known; `memstore purge NAME` takes a whole memory",
        )
    secret = Secret(spellings(text))
    mark = MARK.encode()
    if secret.within(mark) or any(mark in form for form in secret.forms):
        raise InputRefused(
            f"{text[:40]!r} cannot be told from the mark {MARK}, which stands where something was taken out",
            hint="nothing secret is left of a text that was purged",
        )
    if any(secret.within(name.encode()) for name in (PATH_MARK + EXTENSION, INDEX_NAME)):
        raise InputRefused(
            f"{text[:40]!r} stands in names of files that cannot be others: every memory's ends in {EXTENSION}, and"
            f" {INDEX_NAME} is the index of each folder",
            hint="give more of the text",
        )
    return secret


def without_links(content: bytes, paths: Iterable[str]) -> bytes:
    """The text of an index without the lines that point to one of these files."""
    ends = [f"]({way})".encode() for path in paths for way in _ways(path)]
    ends += [f"](<{way}>)".encode() for path in paths for way in (path, f"./{path}")]
    kept = [line for line in content.split(b"\n") if not any(end in line for end in ends)]
    return b"\n".join(kept)


def _ways(path: str) -> tuple[str, ...]:
    return tuple({path, f"./{path}", link_path(path), f"./{link_path(path)}"})


def names_one(text: str, paths: Iterable[str]) -> bool:
    """Whether a text names one of these paths, and not only one that ends like it."""
    named = "|".join(map(re.escape, paths))
    return bool(named) and re.search(rf"(?<![\w/.-])(?:{named})(?!\w)", text) is not None


def clues(texts: Iterable[bytes]) -> tuple[bytes, ...]:
    """Lines by which these texts would be known: the longest of their bodies, and the descriptions."""
    lines: dict[bytes, None] = {}
    for text in texts:
        document = read(text)
        for line in (document.description or "", *document.body.split("\n")):
            clue = line.strip().encode("utf-8", "surrogatepass")
            if len(clue) >= _TELLING:
                lines[clue] = None
    return tuple(sorted(lines, key=len, reverse=True)[:_CLUES])

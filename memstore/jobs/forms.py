"""Where a run may write, and what a memory that it writes looks like. Pure."""

from __future__ import annotations

from memstore.core.frontmatter import Document, read
from memstore.core.model import INDEX_NAME, Memory
from memstore.core.names import EXTENSION, RESERVED, check_path, collision_key
from memstore.core.taxonomy import TYPES
from memstore.errors import InputRefused
from memstore.jobs import secrecy
from memstore.jobs.team import READ_ONLY, is_team
from memstore.jobs.vouching import Made


def inside(directory: str, given: str) -> str | None:
    """A path below the memory directory, as given relative to it or in full; None: it leads elsewhere.

    What is no path of a memory's file is refused by others.
    """
    if directory and (given == directory or given.startswith(f"{directory}/")):
        given = given[len(directory) :].lstrip("/")
    given = given.removeprefix("./")
    if given.startswith(("/", "~")) or "\\" in given or ".." in given.split("/"):
        return None
    return given


def is_index(path: str) -> bool:
    """Whether it is the index, in upper or lower case."""
    return collision_key(path) == collision_key(INDEX_NAME)


def check_file(path: str) -> str:
    """The path, if a run may write there. Raises InputRefused, also as NameRefused."""
    if is_index(path):
        raise InputRefused(f"{INDEX_NAME} is not written: its lines are made from the descriptions of the memories")
    if is_team(path):
        raise InputRefused(READ_ONLY)
    secrecy.check_text("", path)
    top, deeper, _ = path.partition("/")
    if deeper and collision_key(top) in RESERVED:  # some file systems take `Logs` for `logs`
        check_path(f"{collision_key(top)}/{path}")
    return check_path(path)


def check_place(path: str) -> str:
    """The path of a file or directory, to look in. Raises NameRefused."""
    path = path.rstrip("/")
    inner = path.partition("/")[2] if is_team(path) else path
    if inner:
        check_path(inner if inner.lower().endswith(EXTENSION) else f"{inner}/x{EXTENSION}")
    return path


def check(head: Memory | None, text: bytes | None, made: tuple[Made, ...]) -> None:
    """Raises InputRefused where a new memory is not in shape, or a change takes one out of the shape it was in."""
    if text is None:
        return
    if b"\0" in text:
        raise InputRefused("the text holds a NUL character")
    document = read(text)
    if head is None:
        _check_new(document)
        return
    was = read(head.state.content)
    if len(document.problems) > len(was.problems):
        problem = document.problems[0]
        raise InputRefused(f"with this the header could not be read: line {problem.line}: {problem.reason}")
    if was.has_header and not document.has_header:
        raise InputRefused(f"the file needs its header: {_needed()}")
    if document.type != was.type and document.type not in TYPES:
        raise InputRefused(f"the type must be one of {', '.join(TYPES)}")
    if (was.description or "").strip() and not (document.description or "").strip():
        raise InputRefused("the description is what finds the memory again, so it stays")


def _check_new(document: Document) -> None:
    if document.problems:
        problem = document.problems[0]
        raise InputRefused(f"the header cannot be read: line {problem.line}: {problem.reason}; {_needed()}")
    if not document.has_header or not (document.description or "").strip() or document.type not in TYPES:
        raise InputRefused(f"a memory begins with a header: {_needed()}")
    if not document.body.strip():
        raise InputRefused("the memory says nothing below its header")


def _needed() -> str:
    types = "|".join(TYPES)
    return f"---, name:, description: (one line that says what it is of use for), metadata: with type: {types}, ---"

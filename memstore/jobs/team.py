"""Team memory in a run: it is read beside the memories that the run may write, and never written. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from memstore.core.frontmatter import read
from memstore.core.model import Memory
from memstore.errors import InputRefused
from memstore.jobs.vouching import Made, Rule

TEAM = "team"

READ_ONLY = (
    "team memory is only read here: everybody's client shares these files by itself, and what this run wrote could"
    " overwrite theirs; save what concerns the project as a file outside of team/, and the person may share it"
)


def is_team(path: str) -> bool:
    """Whether a path lies in the directory of team memory."""
    return path.casefold() == TEAM or path.casefold().startswith(f"{TEAM}/")


def no_double(team: Iterable[Memory]) -> Rule:
    """A rule of a workspace: no memory says what a team memory says already."""
    said = {_said(memory.state.content): memory.path for memory in team}
    said.pop("", None)

    def check(head: Memory | None, text: bytes | None, made: tuple[Made, ...]) -> None:
        words = "" if text is None else _said(text)
        if words in said and (head is None or _said(head.state.content) != words):
            raise InputRefused(f"{said[words]} says this already, to everybody: nothing is to be saved")

    return check


def _said(content: bytes) -> str:
    return " ".join(read(content).body.split())

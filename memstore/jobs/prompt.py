"""The texts that tell a model what a run is for. They lie beside this module, one file for each kind of run.

A text is the same, to the byte, whenever the settings are: it comes early in what the API caches.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from memstore.core.taxonomy import MEANINGS, NOT_WORTH, TYPES

Name = Literal["extract", "fork", "dream"]

_PRIVATE = """\
What concerns one person alone (type user, and feedback that is a matter of taste) is private and stays here. There is
  no shared team memory in this run: what holds for the whole project is written so that a colleague could read it."""

_WITH_TEAM = """\
Beside the private memories, which only the person has, there is team memory below `team/`, which everybody who works on
  the repository has; in the list its files are marked `team`. By type: `user` is always private; `feedback` is private,
  unless it holds for everybody on the project; `project` leans to the team, and `reference` is usually the team's. In
  this run team memory can only be read: a change below `team/` is refused. So nothing private repeats what a team
  memory says. What is new of a kind that is the team's is saved privately, and the person may share it; what the person
  said against a team memory is saved privately too, and names that file. Nothing private ever moves to the team unless
  the person asks for it, and a password, token or key never does."""


def prompt(name: Name, *, turns: int, team: bool = False) -> str:
    """The text for a kind of run. `turns`: how many answers it may have. `team`: there is team memory."""
    return _template(name).format(
        types="\n".join(f"- `{kind}`: {MEANINGS[kind]}" for kind in TYPES),
        not_worth=NOT_WORTH,
        names="|".join(TYPES),
        scopes=_WITH_TEAM if team else _PRIVATE,
        turns=turns,
    )


@cache
def _template(name: Name) -> str:
    return files("memstore.jobs").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")

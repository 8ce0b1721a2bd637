"""The texts that tell a model what a run is for. They lie beside this module, one file for each kind of run.

A text is the same, to the byte, whenever the settings are: it comes early in what the API caches.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from memstore.core.taxonomy import MEANINGS, NOT_WORTH, TYPES

Name = Literal["extract", "fork"]

_SCOPES = """\
What concerns one person alone (type user, and feedback that is a matter of taste) is private and stays here. There is
  no shared team memory in this run: what holds for the whole project is written so that a colleague could read it."""


def prompt(name: Name, *, turns: int) -> str:
    """The text for a kind of run. `turns`: how many answers it may have."""
    return _template(name).format(
        types="\n".join(f"- `{kind}`: {MEANINGS[kind]}" for kind in TYPES),
        not_worth=NOT_WORTH,
        names="|".join(TYPES),
        scopes=_SCOPES,
        turns=turns,
    )


@cache
def _template(name: Name) -> str:
    return files("memstore.jobs").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")

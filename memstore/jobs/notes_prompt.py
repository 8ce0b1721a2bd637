"""What a model is told that keeps the notes of a session: rules that always hold, and a task that a person may word.

In the task `{{currentNotes}}` stands for the notes as they are and `{{notesPath}}` for their file, as in the client's
own `prompt.md`. What stands in their place is never searched for such signs again.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from memstore.core.notes_text import SECTION, WHOLE, too_long
from memstore.jobs.showing import framed

_SIGN = re.compile(r"\{\{(currentNotes|notesPath)\}\}")


def rules(turns: int) -> str:
    """What always holds. `turns`: how many answers the model may have."""
    return _text("notes").format(section=f"{SECTION:,}", whole=f"{WHOLE:,}", turns=turns)


def task(path: str, notes: str, own: str | None = None) -> str:
    """What is asked, in the words of a person (`own`) or in ours; and what of the notes is to be shortened."""
    wording = _text("notes_task") if own is None else own
    shown = framed(f"{path}.", notes)
    values = {"currentNotes": notes if own is not None else shown, "notesPath": path}
    asked = _SIGN.sub(lambda sign: values[sign[1]], wording).rstrip("\n")
    if "{{currentNotes}}" not in wording:
        asked = f"{asked}\n\nThe notes as they stand now:\n\n{shown}"
    long = "\n".join(f"- {line}" for line in too_long(notes))
    return f"{asked}\n\nNear their limits:\n{long}" if long else asked


@cache
def _text(name: str) -> str:
    return files("memstore.jobs").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")

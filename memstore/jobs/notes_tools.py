"""The one tool of a run that keeps notes: Edit, of one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from memstore.core.notes_text import SECTION, WHOLE, sections, tokens
from memstore.jobs.forms import inside
from memstore.jobs.messages import Tool, ToolUse
from memstore.jobs.tools import Tools
from memstore.jobs.vouching import Made
from memstore.jobs.workspace import Workspace

EDIT: Final = Tool(
    "Edit",
    "Changes words of the notes. old_string must be the same as in the file, to the letter, and be there once, unless"
    " replace_all is set. An empty section is filled by replacing its line in italics with that line and more.",
    {
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "Path of the notes, as it was given"},
            "old_string": {"type": "string", "description": "The text to replace"},
            "new_string": {"type": "string", "description": "The text to put in its place"},
            "replace_all": {"type": "boolean", "description": "Replace it wherever it is"},
        },
        "required": ["file_path", "old_string", "new_string"],
        "additionalProperties": False,
    },
)


class NotesTools(Tools):
    """Edits the file at `path`, and nothing else. `made`: what the words of the notes are made from."""

    def __init__(self, workspace: Workspace, path: str, made: Made, clock: Callable[[], int]) -> None:
        super().__init__(workspace, (), "", clock)
        self._notes = path
        self._words = made

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model is told that it has."""
        return (EDIT,)

    def _denial(self, use: ToolUse) -> str | None:
        denied = super()._denial(use)
        given = use.input.get("file_path")
        if denied is None and isinstance(given, str) and inside("", given) != self._notes:
            return f"this run edits {self._notes} and no other file"
        return denied

    def _edit(self, given: Mapping[str, object]) -> str:
        super()._edit(given)
        file = self._workspace.read(self._notes)
        text = "" if file is None else file.text
        longest = max(sections(text), key=lambda section: tokens(section.text))
        return (
            f"{self._notes} is changed. It has about {tokens(text)} of {WHOLE} tokens; {longest.heading!r}, the longest"
            f" section, about {tokens(longest.text)} of {SECTION}."
        )

    def _made(self, given: Mapping[str, object]) -> Made:
        return self._words

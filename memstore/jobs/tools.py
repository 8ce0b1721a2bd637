"""The tools that a model works with in a run: what it reads and writes is a workspace, and nothing else is reached.

Whatever the model asks, it gets an answer: a text, or an error that says what was wrong. No answer names a place of
this machine. What was denied or refused is on record with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final, Protocol

from memstore.core.ids import fingerprint
from memstore.core.model import INDEX_NAME
from memstore.core.names import check_path
from memstore.core.plan import encoded
from memstore.core.quotes import Said, Speech, says_enough
from memstore.errors import InputRefused, NotFound
from memstore.jobs import showing
from memstore.jobs.bash import Programs
from memstore.jobs.forms import check_file, check_place, inside, is_index
from memstore.jobs.given import Input, folded, number_of, optional, pattern_of, switch, text_of
from memstore.jobs.messages import Tool, ToolResult, ToolUse
from memstore.jobs.team import is_team
from memstore.jobs.tool_table import BASH, TOOLS
from memstore.jobs.vouching import Made, Voice
from memstore.jobs.workspace import File, Rebased, Workspace
from memstore.store.runs import Event, EventKind
from memstore.store.store import Store

_PATHS: Final = {"Read": "file_path", "Edit": "file_path", "Write": "file_path", "Delete": "file_path",
                 "Grep": "path", "Glob": "pattern"}  # fmt: skip
_VOICES: Final[Mapping[str, Voice]] = {"person": "person", "assistant": "agent"}
_TOLD = 200


class Spoken(Said, Protocol):
    """A message of the transcript. Of its kinds `person` is what the person typed, `assistant` what the model said."""

    @property
    def kind(self) -> str: ...


class Tools:
    """The tools of one run.

    `messages`: those that the model was shown, in their order; it may name one by its number, from 1. `directory`: the
    memory directory as the model knows it; its files are not read. `programs`: where the person allows Bash. `clock`:
    unix microseconds.
    """

    def __init__(
        self,
        workspace: Workspace,
        messages: Sequence[Spoken],
        directory: str,
        clock: Callable[[], int],
        *,
        programs: Programs | None = None,
    ) -> None:
        self._workspace = workspace
        self._directory = directory.rstrip("/")
        self._clock = clock
        self._programs = programs
        self._said = {kind: [one for one in enumerate(messages, 1) if one[1].kind == kind] for kind in _VOICES}
        self._speech = {kind: Speech([one.text for _, one in said]) for kind, said in self._said.items()}
        self._events: list[Event] = []
        self._lines_read: dict[bytes, set[int]] = {}
        self._known: set[bytes] = set()
        self._acts: Mapping[str, Callable[[Input], str]] = {
            "Read": self._read,
            "Grep": self._grep,
            "Glob": self._glob,
            "Edit": self._edit,
            "Write": self._write,
            "Delete": self._delete,
            "Bash": self._bash,
        }

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model is told that it has."""
        return TOOLS if self._programs is None else (*TOOLS, BASH)

    @property
    def events(self) -> tuple[Event, ...]:
        """What was used, refused and denied."""
        return tuple(self._events)

    def act(self, use: ToolUse) -> ToolResult:
        """Carries out a call. An error says what was wrong; then nothing was staged."""
        denied = self._denial(use)
        if denied is not None:
            return self._answer(use, "denied", f"Denied: {denied}", denied)
        if not use.whole:
            cut = "the call was cut off before its end"
            return self._answer(use, "refused", f"Nothing was done: {cut}", cut)
        try:
            text = self._acts[use.name](use.input)
        except (InputRefused, NotFound) as error:
            kind: EventKind = "denied" if use.name == "Bash" else "refused"
            return self._answer(use, kind, f"Nothing was done: {error}{self._about_quote(use.input)}", str(error))
        return self._answer(use, "tool", text)

    def rebase(self, store: Store) -> tuple[Rebased, str]:
        """Takes what is staged along to the present moment, and what the model is to be told of what did not fit."""
        rebased = self._workspace.rebase(store)
        for path in rebased.merged:
            self._note("note", f"{path} was merged with what another session wrote")
        for path in rebased.dropped:
            self._note("note", f"{path} says already what was to be saved")
        told = []
        for back in rebased.given_back:
            self._note("note", f"{back.path} was given back: {back.reason}")
            if back.current is None:
                told.append(f"{back.path} was not saved: {back.reason}. There is no such file now.")
            else:
                shown = self._show(back.path, "was not saved", back.current)
                told.append(f"{back.path} was not saved: {back.reason}. This is the present text.\n{shown}")
        return rebased, "\n\n".join(told)

    # Inside

    def _denial(self, use: ToolUse) -> str | None:
        """Why a call is outside of what a run may do at all."""
        if use.name not in {tool.name for tool in self.tools}:
            names = ", ".join(tool.name for tool in self.tools)
            return f"there is no tool {use.name[:40]!r} in this run; there are {names}"
        given = use.input.get(_PATHS.get(use.name, ""))
        if isinstance(given, str) and inside(self._directory, given) is None:
            return "that is outside of the memory directory; give a path relative to it"
        return None

    def _answer(self, use: ToolUse, kind: EventKind, text: str, reason: str = "") -> ToolResult:
        given = use.input.get("command") if use.name == "Bash" else use.input.get(_PATHS.get(use.name, ""))
        subject = f" {given[:_TOLD]!r}" if isinstance(given, str) else ""
        self._note(kind, f"{use.name[:40]}{subject}" + (f": {reason}" if reason else ""))
        sendable = text.encode("utf-8", "replace").decode("utf-8")
        return ToolResult(use.id, sendable, error=kind != "tool")

    def _note(self, kind: EventKind, text: str) -> None:
        self._events.append(Event(kind, text, self._clock()))

    def _path(self, given: Input, name: str = "file_path") -> str:
        found = inside(self._directory, text_of(given, name))
        assert found is not None, "a path outside was denied before"
        return found

    def _file(self, path: str) -> File:
        found = self._workspace.read(path if is_team(path) else check_path(path))
        if found is None:
            raise NotFound(f"there is no memory {path}; Glob lists those that are there")
        return found

    def _check_read(self, file: File) -> None:
        if fingerprint(file.content) not in self._known:
            raise InputRefused(f"Read all of {file.path} first, as it is now, so that nothing in it is lost")

    def _read(self, given: Input) -> str:
        path, offset, limit = self._path(given), number_of(given, "offset") or 1, number_of(given, "limit")
        if is_index(path):
            return showing.numbered(INDEX_NAME, "(the index)", self._workspace.index, offset, limit).text
        file = self._file(path)
        return self._show(file.path, _about(file), file.content, offset, limit)

    def _show(self, path: str, about: str, content: bytes, offset: int = 1, limit: int | None = None) -> str:
        """A text, and a note of what of it the model has seen."""
        text = content.decode("utf-8", "replace")
        shown = showing.numbered(path, about, text, offset, limit)
        key = fingerprint(content)
        seen = self._lines_read.setdefault(key, set())
        seen.update(shown.lines)
        if len(seen) == len(showing.lines_of(text)):
            self._known.add(key)
        return shown.text

    def _grep(self, given: Input) -> str:
        wanted = folded(pattern_of(given))
        place = check_place(self._path(given, "path")) if given.get("path") is not None else ""
        found: list[str] = []
        for file in self._workspace.files():
            if place and file.path != place and not file.path.startswith(f"{place}/"):
                continue
            if wanted in folded(file.text):
                lines = enumerate(showing.lines_of(file.text), 1)
                found += [f"{file.path}:{number}: {line}" for number, line in lines if wanted in folded(line)]
        return showing.listed("lines hold these words", found, "No line of a memory holds these words.")

    def _glob(self, given: Input) -> str:
        pattern_of(given)
        # Only * and ? mean something, and a directory may be missing where ** stands for one.
        pattern = self._path(given, "pattern").replace("[", "[[]").replace("**/", "*")
        found = [file.path for file in self._workspace.files() if fnmatchcase(file.path, pattern)]
        return showing.listed("files", found, "No memory file has such a path.")

    def _edit(self, given: Input) -> str:
        path = check_file(self._path(given))
        before = self._file(path)
        made = self._made(given)
        old, new = text_of(given, "old_string"), text_of(given, "new_string")
        encoded(old), encoded(new)
        count = self._workspace.stage_edit(path, old, new, switch(given, "replace_all"), made)
        after = self._workspace.read(path)
        if after is not None and fingerprint(before.content) in self._known:
            self._known.add(fingerprint(after.content))
        return f"{before.path} is changed in {count} {'place' if count == 1 else 'places'}.{_consequence(before, made)}"

    def _write(self, given: Input) -> str:
        path, content = check_file(self._path(given)), encoded(text_of(given, "content"))
        before = self._workspace.read(path)
        if before is not None:
            self._check_read(before)
        made = self._made(given)
        changed = self._workspace.stage_write(path, content, made)
        self._known.add(fingerprint(content))
        if not changed:
            return f"{path} says that already; nothing is to be changed."
        return f"{path if before is None else before.path} is written.{_consequence(before, made)}"

    def _delete(self, given: Input) -> str:
        path, reason = check_file(self._path(given)), text_of(given, "reason").strip()
        encoded(reason)
        if not reason:
            raise InputRefused("`reason` is empty: say why it is deleted")
        file = self._file(path)
        self._check_read(file)
        self._workspace.stage_delete(path, showing.visible(" ".join(reason.split()))[:_TOLD], self._made(given))
        return f"{file.path} is deleted."

    def _bash(self, given: Input) -> str:
        assert self._programs is not None, "without programs there is no such tool"
        command = text_of(given, "command")
        output = showing.visible(self._programs.run(command))
        return showing.framed("What the program said.", output) if output else "The program said nothing."

    # Whose words

    def _made(self, given: Input) -> Made:
        """Whose words the quote is. The person is asked first."""
        quote, named = optional(given, "quote"), given.get("message")
        if not quote.strip():
            return Made("tool")
        for kind, voice in _VOICES.items():
            said = self._said[kind]
            first = [at for at, (number, _) in enumerate(said) if number == named]
            found = self._speech[kind].find(quote, first)
            if found is not None:
                return Made(voice, said[found][1].id)
        return Made("tool")

    def _about_quote(self, given: Input) -> str:
        quote = given.get("quote")
        if not isinstance(quote, str) or not quote.strip():
            return ""
        voice = self._made(given).voice
        if voice == "person":
            return ""
        if voice == "agent":
            return " (The quote is the assistant's, not the person's.)"
        if not says_enough(quote):
            return " (The quote is too short to be anybody's words.)"
        return " (The quote stands in no message of the person or the assistant: copy it word for word.)"


def _consequence(before: File | None, made: Made) -> str:
    if made.voice != "tool":
        return ""
    unlisted = " and gets no line in the index" if before is None or before.memory is None else ""
    return f" No quote of the person or the assistant was found for it: it is marked as words of tools{unlisted}."


def _about(file: File) -> str:
    if file.memory is None:
        return "(written in this run)"
    day = datetime.fromtimestamp(file.memory.changed_at // 1_000_000, UTC).date().isoformat()
    pinned = ", pinned" if file.memory.state.pinned else ""
    return f"(words of: {file.memory.origin}, {day}{pinned}{', changed in this run' if file.staged else ''})"

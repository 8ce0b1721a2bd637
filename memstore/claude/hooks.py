"""What the client's hooks hand over, as values. Pure, and cheap to import: every hook of every session starts here.

No dataclass: importing them would cost more than everything else that a hook does.

Seen on the real client (2.1.332), and what this module makes of it:
- An Edit whose text is missing, or there more than once, is refused before any hook hears of it.
- A call that fails because the file has changed since the client looked is told of by `PostToolUseFailure`. One that
  is not permitted, or whose target is a link, is told of by nothing after `PreToolUse`: its row's time runs out.
- `originalFile` has no CR, though the file may; it is empty, not null, where an Edit made the file.
- An Edit that puts nothing in the place of a whole line takes the end of the line along.
- A Write answers with the text as it is on disk. An Edit does not: the file says it, if nobody was faster.
- A Read hands out neither CR nor byte order mark.
- Halves of surrogate pairs stand on disk as U+FFFD.
- `PreToolUse` can change what a Write is about to write (`updatedInput`). It is not used: the session would go on
  from its own words, not from the merged ones that it never saw, and its next Write of the whole file would take
  out the lines that had been merged in. The row that `PostToolUse` leaves is merged just as well, a moment later.
"""

from __future__ import annotations

from collections.abc import Mapping

INDEX = "MEMORY.md"
WRITERS = ("Write", "Edit", "MultiEdit")

FIELDS = (
    "session_id",
    "agent_id",
    "transcript_path",
    "cwd",
    "source",
    "prompt",
    "prompt_id",
    "tool_name",
    "tool_use_id",
    "tool_input.file_path",
    "tool_input.content",
    "tool_input.old_string",
    "tool_input.new_string",
    "tool_input.replace_all",
    "tool_input.command",
    "tool_input.offset",
    "tool_input.limit",
    "tool_response.content",
    "tool_response.originalFile",
    "tool_response.file.content",
    "tool_response.file.numLines",
    "tool_response.file.startLine",
    "tool_response.file.totalLines",
)
"""The paths of what a hook reads, in the order in which `Event` takes them."""

_BOM = b"\xef\xbb\xbf"
_LONGEST_ID = 200
_REPLIES = (
    " all and again but continue did done fine fix for good great had has hmm looks nice nope not now okay one perfect"
    " please proceed run same stop sure test thank thanks that the then these this those try two undo was what why"
    " yeah yep yes you "
)

Value = str | int | bool | None


class Event:
    """One call of a hook. What is missing or of another type than it should be is None."""

    __slots__ = (
        "agent", "command", "content", "cwd", "edits", "file_path", "original", "prompt", "read", "session_id",
        "source", "tool", "tool_use", "transcript", "whole", "words", "written",
    )  # fmt: skip

    def __init__(self, values: tuple[Value, ...], edits: list[tuple[str, str, bool]]) -> None:
        found = dict(zip(FIELDS, values, strict=True))

        def text(name: str) -> str | None:
            value = found[name]
            return value if isinstance(value, str) else None

        self.session_id = _identifier(text("session_id"))
        self.agent = _identifier(text("agent_id"))
        self.transcript = text("transcript_path")
        self.cwd = text("cwd")
        self.source = text("source") or "startup"
        self.words = text("prompt") or ""
        self.prompt = _identifier(text("prompt_id"))
        self.tool = text("tool_name") or ""
        self.tool_use = _identifier(text("tool_use_id"))
        self.file_path = text("tool_input.file_path")
        self.content = text("tool_input.content")
        self.command = text("tool_input.command")
        self.written = text("tool_response.content")
        self.original = text("tool_response.originalFile")
        self.read = text("tool_response.file.content")
        old, new = text("tool_input.old_string"), text("tool_input.new_string")
        self.edits = edits
        if not edits and old is not None and new is not None:
            self.edits = [(old, new, found["tool_input.replace_all"] is True)]
        lines, total = found["tool_response.file.numLines"], found["tool_response.file.totalLines"]
        self.whole = lines is not None and lines == total and found["tool_response.file.startLine"] in (0, 1)

    @property
    def session(self) -> str | None:
        """The key of whoever makes the call: the session, or an agent inside it with what it has seen itself."""
        if self.session_id is None:
            return None
        return f"{self.session_id}/{self.agent}" if self.agent else self.session_id


def switched_off(env: Mapping[str, str]) -> bool | None:
    """Whether variables switch the client's memory off (True) or on (False); None: they do not say."""
    disable = _flag(env.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY"))
    if disable is not None:
        return disable
    if _flag(env.get("CLAUDE_CODE_SIMPLE")) or _flag(env.get("CLAUDE_CODE_SAFE_MODE")):
        return True
    remote = _flag(env.get("CLAUDE_CODE_REMOTE")) and not env.get("CLAUDE_CODE_REMOTE_MEMORY_DIR")
    return True if remote else None


def expected(event: Event, found: bytes | None) -> bytes | None:
    """What a call that is about to begin will write, as far as can be told from what lies there."""
    if event.tool == "Write":
        return None if event.content is None else event.content.encode()
    try:
        text = (found or b"").decode()
    except UnicodeDecodeError:
        return None
    crlf = "\r\n" in text
    done = _edited(text.replace("\r\n", "\n"), event.edits)
    return None if done is None else (done.replace("\n", "\r\n") if crlf else done).encode()


def overwritten(event: Event) -> bytes | None:
    """What a call that is done replaced; None: there was no file."""
    made = event.tool != "Write" and event.original == "" and event.edits[:1] and event.edits[0][0] == ""
    return None if event.original is None or made else event.original.encode()


def outcome(event: Event, file: bytes | None) -> bytes | None:
    """What a call that is done wrote. `file`: what lies there now, perhaps another's work already."""
    if event.tool == "Write":
        text = event.written if event.written is not None else event.content
        return None if text is None else text.encode()
    done = _edited(event.original or "", event.edits)
    if done is None:  # the client is more lenient about quotation marks than a comparison
        return file
    made = done.encode()
    return file if file is not None and same_but_for_stamps(file, made) else made


def seen_whole(event: Event, file: bytes | None) -> bytes | None:
    """What a Read showed of a file, if it showed all of it."""
    if event.read is None or not event.whole:
        return None
    shown = event.read.encode()
    return file if file is not None and _plain(file) == _plain(shown) else shown


def same_but_for_stamps(file: bytes, text: bytes) -> bool:
    """Whether a file holds a text as the client writes it: with its own header, line ends and byte order mark."""
    one, other = _plain(file), _plain(text)
    if one == other:
        return True
    first, second = _body(one), _body(other)
    return first is not None and first == second


def names_folder(command: str, folder: str, home: str) -> bool:
    """Whether a shell command speaks of a memory folder, by its path or by the last two names of it."""
    parts = folder.rstrip("/").split("/")
    spoken = [folder, "/".join(parts[-2:])]
    if home and folder.startswith(home.rstrip("/") + "/"):
        spoken.append("~" + folder[len(home.rstrip("/")) :])
    return INDEX in command or any(name in command for name in spoken)


def has_substance(prompt: str) -> bool:
    """Whether a prompt may be about something that there are memories of: it is more than `go on` or `yes, thanks`,
    and no command of the client's."""
    words = prompt[:2_000].split()
    if not words or (words[0].startswith("/") and "/" not in words[0][1:]):
        return False
    plain = (word.strip(".,:;!?'\"").lower() for word in words)
    return any(not word.isascii() or (len(word) > 2 and f" {word} " not in _REPLIES) for word in plain)


def names_agent(prompt: str) -> bool:
    """Whether a prompt may name an agent, which may have memories where the repository has none."""
    return "@agent-" in prompt or ' (agent)"' in prompt


def plain_id(session: str) -> str:
    """The beginning of a session's id, fit to be shown."""
    return "".join(character for character in session[:8] if character.isalnum() or character in "-_") or "unknown"


def plain_text(text: str, limit: int = 200) -> str:
    """A text on one line, without what cannot be seen and without tags, at most so long: it stands among words for an
    agent."""
    shown = "".join(character if character.isprintable() else " " for character in text[: 4 * limit])
    shown = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    if not any(opening in shown for opening in "<＜﹤"):
        return shown
    from memstore.core.recall_text import tag_free  # seldom, and not cheap to import

    return tag_free(shown)


def decoded(raw: bytes) -> str:
    """Text as the client writes it to disk: a half of a surrogate pair becomes U+FFFD."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        try:
            halves = raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return raw.decode("utf-8", "replace")
        return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _edited(text: str, edits: list[tuple[str, str, bool]]) -> str | None:
    for old, new, everywhere in edits:
        if old == "":
            if text:
                return None
            text = new
            continue
        if new == "" and not old.endswith("\n") and old + "\n" in text:
            old += "\n"
        if old not in text:
            return None
        text = text.replace(old, new) if everywhere else text.replace(old, new, 1)
    return text if edits else None


def _plain(content: bytes) -> bytes:
    return content.removeprefix(_BOM).replace(b"\r\n", b"\n")


def _body(text: bytes) -> bytes | None:
    """What follows the header; None where there is none."""
    end = text.find(b"\n---\n", 3) if text.startswith(b"---\n") else -1
    return None if end < 0 else text[end + 5 :].lstrip(b"\n")


def _flag(value: str | None) -> bool | None:
    word = (value or "").strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    return False if word in ("0", "false", "no", "off") else None


def _identifier(text: str | None) -> str | None:
    return text if text and len(text) <= _LONGEST_ID else None

"""Whose words stand in a `user` line of a transcript. Pure.

A line of type `user` is all that is sent to the model in the person's place. Only what a person surely typed is a
person's; in doubt it is the machine's. Seen in transcripts of 2.1.332 (tests/data):

- A prompt: `origin.kind` human, `promptSource` typed (queued: typed while the model worked), `turnOrigin` human. In
  `-p` and through the SDK there is no `origin`, and both others are `sdk`. Older clients have none of the three.
- A prompt that was taken in while the model worked: an attachment `queued_command` in `commandMode` prompt.
- Words given with a refusal: `userFeedback`, and with it `holdsPersonsWords`, beside the result that tells the model.
- Words given with a permission: a text block beside the result of the tool, where `permissionDecision.source` says that
  a person was asked. Elsewhere a text beside a result is the client's.
- An answer that is none of those offered by AskUserQuestion: `toolUseResult.answers`. One that was offered is not in
  the person's words. What an MCP server answers never lies in these fields, only in the result's text.
- A command with a slash: three tags in one text; what stands in the third was typed. The text of the command itself
  follows in a line with `isMeta`.
- A command with an exclamation mark and its output: texts in tags, with nothing else that tells them from a prompt.
- A notice of a background task, a message of a peer, a channel, a schedule: `origin.kind` is another than human.
- An interruption: a text in square brackets, `rowSource` harness.
- Context from hooks, files that a prompt names, reminders: attachments. Older clients put reminders and hook output
  into the prompt's own text or beside it; so do extensions of editors with what is selected there.
- The summary after a compaction: `isCompactSummary`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

Kind = Literal["person", "assistant", "tool", "machine", "summary", "boundary", "subagent"]
"""`person`: only what a person typed. `tool`: results of tools, shell output, files. `machine`: the client itself."""


class Part(NamedTuple):
    """What one speaker said in a line. `answers`: the call of a tool whose result it is; `failed`: it was an error."""

    kind: Kind
    text: str
    answers: str | None = None
    failed: bool = False


_MARKS = (
    "isMeta", "isVisibleInTranscriptOnly", "isSynthetic", "turnCompanion", "interruptedMessageId", "scheduledTaskId",
    "sourceToolUseID",
)  # fmt: skip
_SOURCES = (None, "typed", "queued", "sdk")
_TURNS = (None, "human", "sdk")

_OUTPUT = ("<bash-stdout>", "<bash-stderr>")
_WRAPPED = (
    "<bash-input>", "<bash-notification", "<command-", "<local-command-", "<task-notification", "<teammate-message",
    "<channel ", "<channel-message", "<cross-session-message", "<agent-message", "<agent-notification",
    "<subagent-message", "<mcp-resource", "<mcp-polling-update", "<remote-review", "<ultraplan>", "<fork-", "<tick>",
    "<goal>", "<autonomous-loop", "<<autonomous-loop", "[Request interrupted by user",
)  # fmt: skip
_NOTICES = (
    "Caveat: The messages below were generated", "Stop hook feedback:", "Base directory for this skill:",
    "Another Claude session sent a message",
)  # fmt: skip
_SUMMARY = "This session is being continued from a previous conversation"
_COMMAND = re.compile(r"\s*(<command-(?:message|name)>[^<]*</command-(?:message|name)>\s*)+<command-args>")
_COMMAND_END = "</command-args>"
_INSERTED = re.compile(
    "<(/?)(system-reminder|user-prompt-submit-hook|session-start-hook|ide_opened_file|ide_selection|ide_diagnostics"
    "|new-diagnostics)>"
)


def is_set(row: Mapping[str, object], name: str) -> bool:
    """Whether a mark is there and not false."""
    return row.get(name) not in (None, False, "")


def said(row: Mapping[str, object], texts: Iterable[str], *, beside: bool, whole: bool) -> list[Part]:
    """Texts by who said them, each speaker once. `row`: the line or attachment whose marks count.

    `beside`: there are results of tools in the same line. `whole`: the message is one text and not made of blocks.
    At least one part, if an empty one, unless results stand for the line.
    """
    kind = _marked(row)
    if beside and kind == "person" and not _was_asked(row) and not _is_human(row):
        kind = "machine"
    if kind == "person":
        parts = [part for text in texts for part in _told_apart(text, human=_is_human(row), whole=whole)]
    else:
        parts = [Part(kind, text) for text in texts]
    merged: dict[Kind, list[str]] = {}
    for part in parts:
        if part.text:
            merged.setdefault(part.kind, []).append(part.text)
    if not merged and not beside:
        return [Part(parts[0].kind if parts else kind, "")]
    return [Part(kind, "\n".join(merged[kind])) for kind in merged]


def answered(row: Mapping[str, object]) -> Iterator[str]:
    """What a person typed when a tool asked: with a refusal, or as an answer that was not among those offered."""
    feedback = row.get("userFeedback")
    refused = row.get("toolDenialKind") == "user-rejected" or row.get("holdsPersonsWords") is True
    if isinstance(feedback, str) and feedback and refused:
        yield feedback
    result = row.get("toolUseResult")
    if not isinstance(result, dict) or not _was_asked(row):
        return
    questions, answers = result.get("questions"), result.get("answers")
    if isinstance(questions, list) and isinstance(answers, dict):
        offered = set(_labels(questions))
        for answer in answers.values():
            # Several that were chosen together stand in one answer.
            if isinstance(answer, str) and answer not in offered and not offered.issuperset(answer.split(", ")):
                yield answer


def is_mid_turn(row: Mapping[str, object], attachment: Mapping[str, object]) -> bool:
    """Whether a `queued_command` is a prompt that was typed while the model worked."""
    return attachment.get("commandMode") in (None, "prompt") and _marked(row) == "person"


def _labels(questions: Iterable[object]) -> Iterator[str]:
    for question in questions:
        options = question.get("options") if isinstance(question, dict) else None
        for option in options if isinstance(options, list) else ():
            label = option.get("label") if isinstance(option, dict) else None
            if isinstance(label, str):
                yield label


def _marked(row: Mapping[str, object]) -> Kind:
    """Who speaks by the line's marks alone."""
    if is_set(row, "isCompactSummary"):
        return "summary"
    if any(is_set(row, mark) for mark in _MARKS) or row.get("rowSource") == "harness":
        return "machine"
    human, source = _is_human(row), row.get("promptSource")
    if not human and (row.get("origin") is not None or source not in _SOURCES or row.get("turnOrigin") not in _TURNS):
        return "machine"
    # A suggestion that was accepted is in the model's words.
    suggested = isinstance(source, str) and source.startswith("suggestion")
    return "machine" if source == "system" or suggested else "person"


def _is_human(row: Mapping[str, object]) -> bool:
    origin = row.get("origin")
    return isinstance(origin, dict) and origin.get("kind") == "human"


def _was_asked(row: Mapping[str, object]) -> bool:
    """Whether a person sat before the dialog that let the tool run or did not."""
    decision = row.get("permissionDecision")
    source = decision.get("source") if isinstance(decision, dict) else None
    return isinstance(source, str) and source.startswith("user")


def _told_apart(text: str, *, human: bool, whole: bool) -> list[Part]:
    """One text of a prompt. `human`: the client says that a person is its origin."""
    start = text.lstrip()
    command = _COMMAND.match(text) if human else None
    if command and text.rstrip().endswith(_COMMAND_END):
        given = text.rstrip()[command.end() : -len(_COMMAND_END)]
        return [Part("person", given.strip()), Part("machine", text[: command.end()])]
    if start.startswith(_OUTPUT):
        return [Part("tool", text)]
    if start.startswith(_WRAPPED) or (not human and start.startswith(_NOTICES)):
        return [Part("machine", text)]
    if not human and start.startswith(_SUMMARY):
        return [Part("summary", text)]
    inserted = _INSERTED.match(start)
    if inserted and not whole and start.rstrip().endswith(f"</{inserted[2]}>"):
        return [Part("machine", text)]  # a block that the client made, whatever tags are inside it
    kept, cut = _without_inserted(text)
    return [Part("person", kept), Part("machine", cut)] if cut else [Part("person", kept)]


def _without_inserted(text: str) -> tuple[str, str]:
    """The text without what stands in the client's tags, and that.

    Where tags do not pair, something inside them may be meant to look as if it were outside: then only what stands
    before the first of them is kept, and nothing where that one closes.
    """
    kept: list[str] = []
    cut: list[str] = []
    at = depth = 0
    name = ""
    first = -1
    for tag in _INSERTED.finditer(text):
        first = tag.start() if first < 0 else first
        if depth == 0 and tag[1]:
            sure = 0 if tag.start() == first else first
            return text[:sure].strip(), text[sure:]
        if depth == 0:
            kept.append(text[at : tag.start()])
            at, depth, name = tag.start(), 1, tag[2]
        elif tag[2] == name:
            depth += -1 if tag[1] else 1
            if depth == 0:
                cut.append(text[at : tag.end()])
                at = tag.end()
    if depth:
        return text[:first].strip(), text[first:]
    if first < 0:
        return text, ""
    return "".join([*kept, text[at:]]).strip(), "\n".join(cut)

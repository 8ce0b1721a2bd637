"""A run whose model is the client's own fork of the session: it has the conversation, its cache and the subscription.

The fork gets what the session's next request would hold, and behind it what it is to do. It only reads, as our hook
sees to; its answer is a list of changes, which the tools of the run carry out under the same rules as anybody's calls.
What was refused it is told, and it answers anew: in another fork, since none leaves anything behind.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memstore.claude.ending import read_end
from memstore.claude.entries import Entry
from memstore.core.ids import is_uuid
from memstore.errors import InputRefused, ModelAnswer, ModelDeclined, ModelError
from memstore.jobs import child
from memstore.jobs.change_list import parse
from memstore.jobs.client_program import Program, check_age, environment_of, read_version
from memstore.jobs.client_result import Result, read_result
from memstore.jobs.conversation import Ended, Talk
from memstore.jobs.endpoint import secrets_of, struck
from memstore.jobs.fork_words import UNREAD, material, text
from memstore.jobs.messages import Message, Reply, Request, Text, ToolResult, ToolUse, user
from memstore.jobs.prompt import prompt
from memstore.jobs.window import Window

CALLS = 3
"""Forks of one run at most: what was refused until then is left to the next run."""

SECONDS = 600.0
"""How long one fork may take."""

LARGEST = 4 * 1024 * 1024
"""Bytes that it may say."""

_SHOWN = 2_000
"""Characters of an answer that is no list, for the fork that is to mend it."""


@dataclass(frozen=True, slots=True)
class Fork:
    """Forks of one session.

    `find`: the client's program; raises ModelError. `hook`: the command that the client starts before each tool.
    `cwd`: where the session worked. `turns`: how often one fork may act. `budget`: what the run may cost, in millionths
    of a US dollar; 0 for no limit. `cancelled`: asked before each fork.
    """

    find: Callable[[], Program]
    hook: Sequence[str]
    session: str
    transcript: str
    cwd: str
    environment: Mapping[str, str]
    turns: int
    budget: int = 0
    cancelled: Callable[[], bool] = lambda: False
    seconds: float = SECONDS

    def request(self, part: Window, entries: Sequence[Entry], listed: str, *, team: bool) -> Request:
        """What a fork is asked about a part of the conversation. `entries`: of that and of what comes after it."""
        told = prompt("fork", turns=self.turns, team=team)
        compacted = max((entry.end for entry in entries if entry.kind == "boundary"), default=0)
        return Request("", (user(material(part, compacted, listed)),), 0, (told,))

    def converse(
        self,
        request: Request,
        act: Callable[[ToolUse], ToolResult],
        note: Callable[[Reply], None],
        earlier: Sequence[Reply] = (),
    ) -> Talk:
        """Lets forks answer until one leaves no questions: as `conversation.converse`, which asks a model itself.

        `note` is told of each answer as it comes. `earlier`: answers of a conversation that goes on here.
        """
        messages, replies = list(request.messages), list[Reply]()

        def ended(how: Ended, error: ModelError | None = None) -> Talk:
            return Talk(tuple(messages), tuple(replies), how, error)

        try:
            program = self._program()
            for number in range(len(earlier) + 1, CALLS + 1):
                if self.cancelled():
                    return ended("cancelled")
                left = self._left([*earlier, *replies])
                if left is not None and left <= 0:
                    return ended("budget")
                result = self._ask(program, text(request.system, messages), left)
                reply = _reply(result, f"fork-{number}")
                replies.append(reply)
                note(reply)
                if result.error is not None:
                    return ended("failed", result.error)
                if result.cut is not None:
                    return ended(result.cut)
                results = tuple(_carried_out(use, act) for use in reply.uses)
                messages += [Message("assistant", reply.blocks), Message("user", results)]
                if not _leaves_questions(reply.uses, results):
                    return ended("said")
        except ModelError as error:
            return ended("failed", error)
        unread = [use for use in replies[-1].uses if use.name == UNREAD] if replies else []
        return ended("failed", _no_list(unread[0])) if unread else ended("turns")

    def _program(self) -> Program:
        if not is_uuid(self.session):
            raise ModelDeclined(f"the client has no session with the name {self.session[:40]!r}")
        program = self.find()
        version = read_version(read_end(self.transcript).version)
        if version is not None:
            check_age(version, "the client of this session")
        return program

    def _left(self, replies: Sequence[Reply]) -> int | None:
        """What another fork may cost. One whose cost is not known may have used all of it."""
        if not self.budget:
            return None
        costs = [reply.cost for reply in replies]
        return 0 if None in costs else self.budget - sum(cost for cost in costs if cost is not None)

    def _ask(self, program: Program, words: str, left: int | None) -> Result:
        limit = () if left is None else ("--max-budget-usd", f"{left / 1_000_000:.6f}")
        argv = [
            program.path, "-p", "--resume", self.session, "--fork-session", "--no-session-persistence",
            "--permission-mode", "dontAsk", "--max-turns", str(self.turns), "--output-format", "json",
            "--settings", _settings(self.hook), *limit,
        ]  # fmt: skip
        environment, secrets = environment_of(self.environment), secrets_of(self.environment)
        # By standard input, as everybody may read the arguments of a process.
        data = words.encode("utf-8", "replace")
        try:
            done = child.run(argv, _there(self.cwd), environment, data, seconds=self.seconds, most=LARGEST)
        except OSError as error:
            raise ModelDeclined(f"the client's program {program.path} cannot be started: {error.strerror}") from None
        return read_result(done, lambda: read_end(self.transcript).costs, lambda said: struck(said, secrets))


def _settings(hook: Sequence[str]) -> str:
    """Our hook before every tool. Rules that deny would take tools from the list, and the cache would not fit."""
    handler = {"type": "command", "command": hook[0], "args": list(hook[1:]), "timeout": 20}
    return json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}})


def _there(cwd: str) -> str:
    """Where the session worked, or what is left of it: the client finds a session from anywhere."""
    while not os.path.isdir(cwd):
        cwd = os.path.dirname(cwd) or "/"
    return cwd


def _reply(result: Result, name: str) -> Reply:
    """The answer as blocks. One that is no list is a call that is not whole, which nobody carries out."""
    blocks: tuple[Text | ToolUse, ...] = ()
    if result.error is None and result.cut is None:
        try:
            found = parse(result.text, name)
            blocks = (Text(found.reason), *found.calls)
        except InputRefused as refused:
            given = {"answer": result.text[:_SHOWN], "why": str(refused)}
            blocks = (ToolUse(name, UNREAD, given, whole=False),)
    return Reply(blocks, "end_turn", result.usage, result.model, result.cost)


def _carried_out(use: ToolUse, act: Callable[[ToolUse], ToolResult]) -> ToolResult:
    if use.name == UNREAD:
        return ToolResult(use.id, f"it is no list of changes: {use.input['why']}", error=True)
    return act(use)


def _leaves_questions(uses: Sequence[ToolUse], results: Sequence[ToolResult]) -> bool:
    """Whether there is something that the next answer needs to know: a refusal, or a text that was only read."""
    changed = {use.input.get("file_path") for use in uses if use.name != "Read"}
    only_read = any(use.name == "Read" and use.input.get("file_path") not in changed for use in uses)
    return only_read or any(result.error for result in results)


def _no_list(use: ToolUse) -> ModelAnswer:
    why = f"the client's fork answered with no list of changes: {use.input['why']}"
    return ModelAnswer(why, passing=True, hint="it is tried again")

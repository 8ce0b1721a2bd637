"""The memory tool of the Messages API (`memory_20250818`) over a store: for programs that call the API themselves.

    from anthropic import Anthropic
    from memstore.memory_tool import MemstoreMemoryTool

    with MemstoreMemoryTool("path/to/repository") as memory:
        runner = Anthropic().beta.messages.tool_runner(
            model=MODEL, max_tokens=1024, messages=[{"role": "user", "content": "..."}], tools=[memory]
        )
        answer = runner.until_done()

`tool_files.py` says what the commands do. Every refusal is a `ToolError`, whose text tells the model what was wrong
and nothing of this machine. Any number of programs, tools and threads may use one store at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anyio.to_thread import run_sync

from memstore.errors import (
    Conflict,
    DiskFull,
    ImportRefused,
    InputRefused,
    MemstoreError,
    NotFound,
    PlaceRefused,
    SettingRefused,
    StoreBusy,
    StoreReadOnly,
    StoreReplaced,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaFunctionToolResultType
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

    from memstore.app import Memstore
    from memstore.tool_files import ToolFiles

_COMMANDS = frozenset({"view", "create", "str_replace", "insert", "delete", "rename"})
_SETUP = "The memory of this project cannot be used before a person has set it up: `memstore status` says what is wrong"
_TOLD: tuple[tuple[type[MemstoreError], str], ...] = (
    (SettingRefused, _SETUP),
    (ImportRefused, _SETUP),
    (PlaceRefused, _SETUP),
    (StoreBusy, "The memory is busy, and nothing was written; try again"),
    (DiskFull, "The disk is full, and nothing was written"),
    (StoreReadOnly, "The memory can only be read, and nothing was written"),
    (StoreUnavailable, "The memory cannot be used now; try again later"),
)
"""What is told of errors whose own words name places on this machine."""


class MemstoreMemoryTool(BetaAbstractMemoryTool):
    """The memory tool over the store of a working directory.

    `cwd`: a directory of the repository whose memories these are, by default the present one. `session`: what the
    history calls this conversation. `opened`: opens the store, where it is not to be found by `cwd`.

    The store is opened by the first command, once in each thread that uses the tool.
    """

    def __init__(
        self,
        cwd: str | None = None,
        *,
        session: str | None = None,
        opened: Callable[[], Memstore] | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._stores = _Stores(opened or _opener(cwd, session))

    def close(self) -> None:
        """Closes the store that this thread has opened. Another command opens it again."""
        self._stores.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def execute(self, command: BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
        """Carries out a command, whatever the model made of it. Raises ToolError for all that goes wrong."""
        _check(command)
        return super().execute(command)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A directory two levels deep, or a file with its lines numbered."""
        return self._stores.do("view", command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file; one that exists is not overwritten."""
        return self._stores.do("create", command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Other words in the one place of a file that has the old ones."""
        return self._stores.do("str_replace", command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Lines behind a line of a file."""
        return self._stores.do("insert", command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Retires a file, or all files of a directory: `memstore undo` brings them back."""
        return self._stores.do("delete", command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Moves a file or directory."""
        return self._stores.do("rename", command)

    def clear_all_memory(self) -> str:
        """Retires all memories and empties the index, in one operation: `memstore undo` brings them back."""
        return self._stores.do("clear", None)


class MemstoreAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous client. All its commands run in one thread of its own, in their order."""

    def __init__(
        self,
        cwd: str | None = None,
        *,
        session: str | None = None,
        opened: Callable[[], Memstore] | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._stores = _Stores(opened or _opener(cwd, session))
        self._worker: tuple[int, ThreadPoolExecutor] | None = None

    async def close(self) -> None:
        """Closes the store and ends the thread. Another command starts both again."""
        if self._worker is not None and self._worker[0] == os.getpid():
            await run_sync(self._worker[1].submit(self._stores.close).result)
            self._worker[1].shutdown()
        self._worker = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def execute(self, command: BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
        """Carries out a command, whatever the model made of it. Raises ToolError for all that goes wrong."""
        _check(command)
        return await super().execute(command)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A directory two levels deep, or a file with its lines numbered."""
        return await self._do("view", command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file; one that exists is not overwritten."""
        return await self._do("create", command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Other words in the one place of a file that has the old ones."""
        return await self._do("str_replace", command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Lines behind a line of a file."""
        return await self._do("insert", command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Retires a file, or all files of a directory: `memstore undo` brings them back."""
        return await self._do("delete", command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Moves a file or directory."""
        return await self._do("rename", command)

    async def clear_all_memory(self) -> str:
        """Retires all memories and empties the index, in one operation: `memstore undo` brings them back."""
        return await self._do("clear", None)

    async def _do(self, name: str, command: object) -> str:
        # A forked process has the executor of its parent, but not its thread.
        if self._worker is None or self._worker[0] != os.getpid():
            self._worker = os.getpid(), ThreadPoolExecutor(1, "memstore")
        return await run_sync(self._worker[1].submit(self._stores.do, name, command).result)


class _Stores(threading.local):
    """The store as each thread has opened it: a connection belongs to one thread of one process."""

    def __init__(self, opened: Callable[[], Memstore]) -> None:
        self._opened = opened
        self._mine: tuple[int, Memstore, ToolFiles] | None = None
        self._inherited: list[Memstore] = []

    def do(self, name: str, command: object) -> str:
        """Carries out a command. Raises ToolError."""
        try:
            try:
                return _answer(self._files(), name, command)
            except StoreReplaced:  # what it had done went with the earlier file
                self.close()
                return _answer(self._files(), name, command)
        except StoreUnavailable as error:
            self.close()  # what was replaced or locked is opened afresh by the next command
            raise _refusal(error) from error
        except Exception as error:
            raise _refusal(error) from error

    def close(self) -> None:
        """Closes what this thread has opened."""
        mine, self._mine = self._mine, None
        if mine is None:
            return
        if mine[0] != os.getpid():
            self._inherited.append(mine[1])  # its connection is the parent's: it may not even be collected here
            return
        with suppress(MemstoreError):
            mine[1].close()

    def _files(self) -> ToolFiles:
        from memstore.tool_files import ToolFiles

        if self._mine is None or self._mine[0] != os.getpid():
            self.close()
            memories = self._opened()
            self._mine = os.getpid(), memories, ToolFiles(memories)
        return self._mine[2]


def _opener(cwd: str | None, session: str | None) -> Callable[[], Memstore]:
    def opened() -> Memstore:
        from memstore.app import Memstore
        from memstore.world import World

        world = World.real(cwd)
        if session is not None:
            world = replace(world, environment={**world.environment, "MEMSTORE_SESSION": session})
        return Memstore.open(world=world, origin="agent")

    return opened


def _answer(files: ToolFiles, name: str, command: object) -> str:
    match name:
        case "view":
            return files.view(_text(command, "path"), _range(command))
        case "create":
            return files.create(_text(command, "path"), _text(command, "file_text"))
        case "str_replace":
            new = "" if getattr(command, "new_str", None) is None else _text(command, "new_str")
            return files.str_replace(_text(command, "path"), _text(command, "old_str"), new)
        case "insert":
            return files.insert(_text(command, "path"), _number(command), _text(command, "insert_text"))
        case "delete":
            return files.delete(_text(command, "path"))
        case "rename":
            return files.rename(_text(command, "old_path"), _text(command, "new_path"))
        case _:
            return files.clear()


def _check(command: object) -> None:
    """The SDK builds commands from whatever the model wrote, and dispatches by a word that may be anything."""
    name = getattr(command, "command", None)
    if not isinstance(name, str) or name not in _COMMANDS:
        raise _refusal(InputRefused(f"Unknown command: {str(name)[:80]}; there are {', '.join(sorted(_COMMANDS))}"))


def _text(command: object, field: str) -> str:
    found = getattr(command, field, None)
    if not isinstance(found, str):
        raise InputRefused(f"The parameter `{field}` is missing, or is not a text")
    return found


def _number(command: object) -> int:
    found = getattr(command, "insert_line", None)
    if not isinstance(found, int) or isinstance(found, bool):
        raise InputRefused("The parameter `insert_line` is missing, or is not a whole number")
    return found


def _range(command: object) -> tuple[int, int] | None:
    found = getattr(command, "view_range", None)
    if found is None or found == []:
        return None
    if isinstance(found, list) and len(found) == 2 and all(type(number) is int for number in found):
        return found[0], found[1]
    raise InputRefused("Invalid `view_range` parameter: it takes two whole numbers, the first line and the last")


def _refusal(error: Exception) -> ToolError:
    """What a model is told of an error."""
    for kind, told in _TOLD:
        if isinstance(error, kind):
            return ToolError(told)
    if isinstance(error, (InputRefused, NotFound, Conflict)):
        return ToolError(str(error))
    return ToolError("The memory tool failed, by a fault of its own; the command may not have been carried out")

"""The server of one client, until the client leaves."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar, cast

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from memstore import __version__
from memstore.mcp import resources, shapes, tools
from memstore.mcp.answers import Answer, refusal
from memstore.mcp.catalogue import INSTRUCTIONS
from memstore.mcp.desk import Desk
from memstore.mcp.notices import Notices
from memstore.mcp.wire import Answers, Lines
from memstore.mcp.worker import Worker
from memstore.world import World

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
Paged = types.PaginatedRequestParams | None

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_UNREAD = 1.0
"""Seconds that a client has to read what is on its way, once a signal asked for the end."""


def serve(world: World, incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Serves the client at the other end of two streams until it leaves, or a signal asks for the end.

    A call that has begun is ended first; a client that does not read its answer does not keep a signal waiting.
    """
    try:
        anyio.run(_serve, world, incoming, outgoing)
    except* (BrokenPipeError, ConnectionError):
        pass  # the client left without a word


async def _serve(world: World, incoming: BinaryIO, outgoing: BinaryIO) -> None:
    handlers = _Handlers(world)
    server = handlers.server()
    options = server.create_initialization_options(NotificationOptions(resources_changed=True))
    answers = Answers(outgoing)
    lines = Lines(incoming, answers)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_told, tasks.cancel_scope, answers)
            files = cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", answers)
            async with stdio_server(*files) as (reading, writing):
                tasks.start_soon(handlers.notices.run)
                await server.run(reading, writing, options)
                tasks.cancel_scope.cancel()
    finally:
        handlers.close()


async def _until_told(scope: anyio.CancelScope, answers: Answers) -> None:
    with anyio.open_signal_receiver(*_SIGNALS) as signals:
        async for _ in signals:
            break
    answers.leave(_UNREAD)
    scope.cancel()


class _Handlers:
    """One method for each request. All that touches the store is done in one thread."""

    def __init__(self, world: World) -> None:
        self._worker = Worker()
        self._desk = Desk(world)
        self._tools = shapes.tools()
        self._prompts = shapes.prompts()
        self._templates = shapes.templates()
        self.notices = Notices(self._worker, self._desk)

    def server(self) -> Server[Any]:
        """The SDK's server with these methods."""
        return Server(
            "memstore",
            version=__version__,
            title="memstore",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self.notices.listen,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )

    def close(self) -> None:
        """Ends what has begun and closes the store."""
        self._worker.close(self._desk.close)

    async def _list_tools(self, _: Context, __: Paged) -> types.ListToolsResult:
        return self._tools

    async def _call_tool(self, _: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        name, given = params.name, params.arguments
        return shapes.result(await self._worker.run(lambda: tools.call(self._desk, name, given)))

    async def _list_resources(self, ctx: Context, params: Paged) -> types.ListResourcesResult:
        await self.notices.looked(ctx)
        cursor = None if params is None else params.cursor
        return shapes.resources(*await self._asked(lambda: resources.listed(self._desk, cursor)))

    async def _list_templates(self, _: Context, __: Paged) -> types.ListResourceTemplatesResult:
        return self._templates

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        await self.notices.looked(ctx)
        uri = str(params.uri)
        return shapes.content(uri, await self._asked(lambda: resources.read(self._desk, uri)))

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        uri = str(params.uri)
        await self.notices.subscribed(ctx, uri, await self._asked(lambda: resources.canonical(uri)))
        return types.EmptyResult()

    async def _unsubscribe(self, _: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self.notices.unsubscribed(str(params.uri))
        return types.EmptyResult()

    async def _list_prompts(self, _: Context, __: Paged) -> types.ListPromptsResult:
        return self._prompts

    async def _get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await self._asked(lambda: shapes.prompt(params.name, params.arguments))

    async def _asked(self, work: Callable[[], T]) -> T:
        """What `work` gives; an error becomes the protocol's own, in the words of a tool's."""
        try:
            return await self._worker.run(work)
        except Exception as error:
            raise _protocol_error(refusal(error, self._desk.hidden())) from None


def _protocol_error(refused: Answer) -> MCPError:
    return MCPError(types.INVALID_PARAMS, refused.blocks[0])

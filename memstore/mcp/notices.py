"""Tells the client when documents changed, whoever changed them.

Only while somebody listens is there anything to do, and then it is one look a second at the newest operation: between
two looks nothing is held open. A client of the older protocol listens from its first look at the resources on; one of
the newer opens a stream (`subscriptions/listen`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from memstore.errors import MemstoreError
from memstore.mcp.desk import PROJECT, Desk
from memstore.mcp.names import uri_of
from memstore.mcp.resources import News, news
from memstore.mcp.worker import Worker

SECONDS = 1.0


class _Bus(InMemorySubscriptionBus):
    """Knows how many listen."""

    listeners = 0

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """As its parent's."""
        leave = super().subscribe(listener)
        self.listeners += 1
        left = False

        def unsubscribe() -> None:
            nonlocal left
            self.listeners -= not left
            left = True
            leave()

        return unsubscribe


class Notices:
    """What the one client of this server is told."""

    def __init__(self, worker: Worker, desk: Desk) -> None:
        self._worker = worker
        self._desk = desk
        self._bus = _Bus()
        self._listen = ListenHandler(self._bus, max_subscriptions=16)
        self._session: ServerSession | None = None
        self._uris: dict[str, str] = {}
        self._seen: int | None = None
        self._wanted = anyio.Event()

    async def looked(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """To be called before a client is shown resources: from now on what it was shown can be out of date."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and self._session is None:
            await self._begin()
            self._session = ctx.session
            self._wanted.set()

    async def subscribed(self, ctx: ServerRequestContext[Any, Any], uri: str, listed: str) -> None:
        """A client of the older protocol wants to hear of one resource, by the URI it uses; `listed` is ours for it."""
        await self.looked(ctx)
        self._uris[uri] = listed

    def unsubscribed(self, uri: str) -> None:
        """... and no longer."""
        self._uris.pop(uri, None)

    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """The stream of a client of the newer protocol, until it leaves."""
        await self._begin()
        self._wanted.set()
        return await self._listen(ctx, params)

    async def run(self) -> None:
        """Looks, and tells, until it is cancelled."""
        while True:
            await self._wanted.wait()
            await anyio.sleep(SECONDS)
            if self._session is None and not self._bus.listeners:
                self._seen = None
                self._wanted = anyio.Event()
                continue
            found = await self._look()
            if found is not None:
                self._seen, paths = found.seq, found.paths
                if paths is None or paths:
                    await self._tell(paths)

    async def _begin(self) -> None:
        if self._seen is None:
            found = await self._look()
            self._seen = 0 if found is None else found.seq

    async def _look(self) -> News | None:
        """None while there is nothing to look at: no store yet, memory switched off, a database in trouble."""
        seen = self._seen
        try:
            return await self._worker.run(lambda: self._desk.use(lambda memories: news(memories, seen)))
        except (MemstoreError, OSError):
            return None

    async def _tell(self, paths: tuple[str, ...] | None) -> None:
        await self._bus.publish(ResourcesListChanged())
        if self._session is not None:
            await self._session.send_resource_list_changed()
        changed = None if paths is None else [uri_of(PROJECT, path) for path in paths]
        for uri in changed or ():
            await self._bus.publish(ResourceUpdated(uri))
        for uri, listed in list(self._uris.items()):
            if self._session is not None and (changed is None or listed in changed):
                await self._session.send_resource_updated(uri)

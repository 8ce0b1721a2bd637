"""A client hears of changes that others made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from tests.mcp.served import repository, run, serving, until


# The SDK warns that the older protocol's way is old.
@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_a_client_of_the_older_protocol_hears_of_what_it_subscribed_to(tmp_path: Path):
    place, own = repository(tmp_path / "repo"), tmp_path / "own"
    heard: list[Any] = []
    with serving(place, own, mode="legacy", heard=heard.append) as served:
        capabilities = served.client.server_capabilities.resources
        assert capabilities is not None and capabilities.subscribe and capabilities.list_changed
        run(place, own, "write", "mine", "one")
        run(place, own, "write", "other", "one")

        def updated() -> list[str]:
            return [str(one.params.uri) for one in heard if isinstance(one, types.ResourceUpdatedNotification)]

        served.portal.call(served.client.subscribe_resource, "memory://project/mine.md")
        for nothing in ("memory://project/%2e%2e/mine.md", "memory://user/mine.md", "file:///mine.md"):
            with pytest.raises(Exception, match="cannot be"):
                served.portal.call(served.client.subscribe_resource, nothing)
        run(place, own, "append", "other", "two")
        until(lambda: any(isinstance(one, types.ResourceListChangedNotification) for one in heard))
        assert updated() == []
        run(place, own, "append", "mine", "two")
        until(lambda: updated() == ["memory://project/mine.md"])
        served.portal.call(served.client.unsubscribe_resource, "memory://project/mine.md")
        heard.clear()
        served.portal.call(served.client.subscribe_resource, "memory://project/%6dine")  # it may be written so
        run(place, own, "append", "mine", "more")
        until(lambda: updated() == ["memory://project/%6dine"])
        served.portal.call(served.client.unsubscribe_resource, "memory://project/%6dine")
        heard.clear()
        run(place, own, "append", "mine", "three")
        until(lambda: any(isinstance(one, types.ResourceListChangedNotification) for one in heard))
        assert updated() == []


def test_a_client_of_the_newer_protocol_hears_on_its_stream(tmp_path: Path):
    place, own = repository(tmp_path / "repo"), tmp_path / "own"
    with serving(place, own) as served:

        async def listen() -> list[Any]:
            found: list[Any] = []
            uris = ["memory://project/mine.md", "memory://project/MEMORY.md"]
            stream = served.client.listen(resources_list_changed=True, resource_subscriptions=uris)
            with anyio.fail_after(30):
                async with stream as events:
                    await anyio.to_thread.run_sync(run, place, own, "write", "mine", "words")
                    async for event in events:
                        found.append(event)
                        if len(found) == 3:
                            return found
            return found

        assert set(served.portal.call(listen)) == {
            ResourcesListChanged(),
            ResourceUpdated("memory://project/MEMORY.md"),
            ResourceUpdated("memory://project/mine.md"),
        }
        # It is not heard any more, and answers as before.
        assert served.good("memory_read", path="mine").text.endswith("words\n")

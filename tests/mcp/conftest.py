"""One server for the tests of a module: each uses documents of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mcp.served import Served, repository, serving


@pytest.fixture(scope="module", params=["auto"])
def served(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Served]:
    """A client of the newer protocol, and its server."""
    top = tmp_path_factory.mktemp("served")
    place = repository(top / "repo")
    with serving(place, top / "home", mode=request.param, variables={"CLAUDE_CODE_SESSION_ID": "session-7"}) as found:
        yield found

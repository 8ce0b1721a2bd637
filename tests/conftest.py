"""What every test gets: a home of its own, and none of the environment of whoever runs the tests."""

from __future__ import annotations

import os
import re
import signal
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from tests.skips import pytest_runtest_logreport, pytest_sessionfinish, pytest_terminal_summary

__all__ = ["home", "pytest_runtest_logreport", "pytest_sessionfinish", "pytest_terminal_summary", "tmp_path"]

# The everyday run tries the same examples each time, so that it fails for its own change only;
# `prove` looks for new ones and prints how to repeat a failure.
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None)
settings.register_profile("prove", max_examples=50_000, deadline=None, print_blob=True, database=None)
settings.load_profile("prove" if os.environ.get("MEMSTORE_PROVE") else "ci")

# Whoever runs the tests in the background has told them to ignore interruptions, and their children would inherit that.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)

FOREIGN = ("ANTHROPIC_", "CLAUDE", "GIT_", "MEMSTORE_", "XDG_")
"""Families of variables by which the person's own set-up would reach into a test."""

PROXIES = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
FOREIGN_NAMES = (
    "AI_AGENT", "EDITOR", "FORCE_COLOR", "NO_COLOR", "PAGER", "SSL_CERT_DIR", "SSL_CERT_FILE", "VISUAL",
    *PROXIES, *(name.lower() for name in PROXIES),
)  # fmt: skip

GIT_CONFIG = """\
[user]
    name = tester
    email = tester@example.invalid
[init]
    defaultBranch = main
"""


NUMBERS = count()


def fresh(factory: pytest.TempPathFactory, name: str) -> Path:
    """A new directory. pytest's own way looks through all that the run has made so far, a millisecond each time."""
    place = factory.getbasetemp() / "t" / f"{name}_{next(NUMBERS)}"
    place.parent.mkdir(mode=0o700, exist_ok=True)
    place.mkdir(mode=0o700)
    return place


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory, named after the test as pytest names it."""
    return fresh(tmp_path_factory, re.sub(r"\W", "_", request.node.name)[:30])


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory, which HOME, the XDG directories and MEMSTORE_HOME point into. There is no client."""
    for name in list(os.environ):
        if name.startswith(FOREIGN) or name in FOREIGN_NAMES:
            monkeypatch.delenv(name)
    place = fresh(tmp_path_factory, "home")
    (place / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
    isolated = {
        "HOME": place,
        "MEMSTORE_CLAUDE": place / "no-client",
        "MEMSTORE_HOME": place / "memstore",
        "XDG_CACHE_HOME": place / ".cache",
        "XDG_CONFIG_HOME": place / ".config",
        "XDG_DATA_HOME": place / ".local/share",
        "XDG_STATE_HOME": place / ".local/state",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": place / ".gitconfig",
        "GIT_AUTHOR_NAME": "tester",
        "GIT_AUTHOR_EMAIL": "tester@example.invalid",
        "GIT_COMMITTER_NAME": "tester",
        "GIT_COMMITTER_EMAIL": "tester@example.invalid",
    }
    for name, value in isolated.items():
        monkeypatch.setenv(name, str(value))
    # No worker is to start the person's own client.
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(one for one in places if not (Path(one) / "claude").exists()))
    return place

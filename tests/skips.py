"""Where MEMSTORE_SKIPS is `told`, as in CI, a test that skips for a reason that is not in this table fails the run."""

from __future__ import annotations

import os
import sys

import pytest

ROOT, LINUX = os.geteuid() == 0, sys.platform == "linux"
STRICT = os.environ.get("MEMSTORE_SKIPS") == "told"

_untold: list[str] = []


def may_skip(reason: str, *, root: bool = ROOT, linux: bool = LINUX) -> bool:
    """Whether a test may skip for this reason, for who runs it and where."""
    return next((allowed for beginning, allowed in _table(root, linux) if beginning in reason), False)


def _table(root: bool, linux: bool) -> tuple[tuple[str, bool], ...]:
    return (
        ("root may write everywhere", root),
        ("the superuser may write everywhere", root),
        ("only root ", not root),
        ("only Linux tells", not linux),
        ("counts what Linux watches", not linux),
        ("need user namespaces", True),  # asked of the system itself
        (" does not work here: ", True),  # a mount or an attribute that the system refused, with its own words
        ("run scripts/inspector", True),
        ("memstore[semantic] is not installed", True),  # `scripts/semantic test` runs these
    )


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remembers a skip that is not to be."""
    if STRICT and report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if not may_skip(reason):
            _untold.append(f"{report.nodeid}: {reason}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run."""
    if _untold and session.exitstatus in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says why."""
    for one in _untold:
        terminalreporter.write_line(f"may not skip: {one}")

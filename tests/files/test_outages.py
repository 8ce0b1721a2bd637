"""Disks that are full, read-only or broken: what was written is kept, the answer says why it is not shown, nothing
lies about, and the next sync mends it. The same where no root, no chattr and no mount is to be had."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.files.desk import Desk
from tests.files.outages import (
    DENIED,
    FULL,
    READ_ONLY,
    REFUSED,
    TOO_LARGE,
    Cut,
    Unable,
    attribute,
    check_folder_made,
    check_no_folder,
    check_stands,
    failing,
    no_inodes,
    no_room,
    read_only,
    size_limit,
    small_disk,
)
from tests.files.unprivileged import CASES, run_unprivileged

ALL = ("a.md", "b.md", "MEMORY.md")
TOPICS = ("a.md", "b.md")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


REAL: dict[str, tuple[Cut, str, tuple[str, ...]]] = {
    "read-only file system": (read_only, READ_ONLY, ALL),
    "immutable folder": (attribute("i"), REFUSED, ALL),
    "immutable topic": (attribute("i", "a.md"), REFUSED, ("a.md",)),
    "append-only topic": (attribute("a", "a.md"), REFUSED, ("a.md",)),
    "immutable index": (attribute("i", "MEMORY.md"), REFUSED, ("MEMORY.md",)),
}

EVERYWHERE: dict[str, tuple[Cut, str, tuple[str, ...]]] = {
    "size limit": (size_limit, TOO_LARGE, ALL),
    **{
        f"{errno.errorcode[number]} on sync": (failing(number), os.strerror(number), ALL)
        for number in (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT)
    },
    "topic refused": (failing(errno.EPERM, "a.md"), REFUSED, ("a.md",)),
    "index refused": (failing(errno.EPERM, "MEMORY.md"), REFUSED, ("MEMORY.md",)),
    "index denied": (failing(errno.EACCES, "MEMORY.md"), DENIED, ("MEMORY.md",)),
    "name too long": (failing(errno.ENAMETOOLONG, "a.md"), os.strerror(errno.ENAMETOOLONG), ("a.md",)),
}


@pytest.mark.parametrize("kind", REAL)
def test_what_is_written_during_an_outage_is_kept_told_and_shown_afterwards(desk: Desk, kind: str):
    try:
        check_stands(desk, *REAL[kind])
    except Unable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_what_is_written_during_an_outage_of_any_machine_is_kept_told_and_shown_afterwards(desk: Desk, kind: str):
    check_stands(desk, *EVERYWHERE[kind])


@pytest.mark.parametrize("options", [("size=512k",), ("size=4m", "nr_inodes=60")])
def test_a_full_disk_keeps_what_is_written_told_and_shown_afterwards(
    tmp_path: Path, options: tuple[str, ...], stack: ExitStack, monkeypatch: pytest.MonkeyPatch
):
    try:
        small = stack.enter_context(small_disk(tmp_path / "small", *options))
    except Unable as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(small))
    desk = Desk(tmp_path)
    stack.callback(desk.close)
    check_stands(desk, no_room if len(options) == 1 else no_inodes, FULL, ALL)


@pytest.mark.parametrize("kind", CASES)
def test_where_a_permission_is_missing(kind: str):
    try:
        ran = run_unprivileged(kind)
    except Unable as reason:
        pytest.skip(str(reason))
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("cut", [read_only, attribute("i")])
def test_a_folder_that_cannot_be_made_is_made_later(tmp_path: Path, cut: Cut, monkeypatch: pytest.MonkeyPatch):
    above = tmp_path / "config"
    above.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(above))
    desk = Desk(tmp_path)
    try:
        with cut(above):
            check_no_folder(desk, READ_ONLY if cut is read_only else REFUSED)
        check_folder_made(desk)
    except Unable as reason:
        pytest.skip(str(reason))
    finally:
        desk.close()

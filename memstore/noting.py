"""The notes of sessions, as the worker keeps them: whose are due, and what a person wants otherwise.

No hook reads a transcript: when the worker has a job for a turn that ended, it looks whether the notes of that session
are due, and puts in a job of their own. That one is done first, for a compaction may wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from memstore.claude import nearby
from memstore.core.model import NOTES_KIND
from memstore.core.notes_text import TEMPLATE, check_template
from memstore.core.settings import Settings
from memstore.errors import InputRefused, SettingRefused
from memstore.jobs.notes import Custom
from memstore.jobs.notes_since import Pace, is_due, since
from memstore.store import jobs, runs
from memstore.store.jobs import Job
from memstore.store.plainfile import read_bounded
from memstore.store.store import Store

TEMPLATE_FILE = "notes-template.md"
"""In memstore's home: the sections of new notes."""

_LARGEST = 64 * 1024
_TURNS = "extract"
"""The jobs that hooks put in for turns."""


def queue_due(store: Store, settings: Settings, looked: set[str]) -> None:
    """Puts in a job for each session whose turns wait to be looked at, and whose notes are due.

    `looked`: the ids of jobs for whose sessions that was done; they are added to it.
    """
    now = store.now()
    with store.view() as connection:
        waiting = [job for job in jobs.waiting(connection) if job.kind == _TURNS and jobs.is_due(job, now)]
    for job in waiting:
        if job.id not in looked and _are_due(store, settings, job):
            with store.change() as connection:
                jobs.add(connection, NOTES_KIND, job, now)
        looked.add(job.id)


def custom(home: str, environment: Mapping[str, str]) -> Custom:
    """What a person wants otherwise: a template in memstore's home or, where there is none, in the client's place for
    it; a prompt in that place. Raises SettingRefused for what cannot be used."""
    theirs = os.path.join(nearby.config_of(environment), "session-memory", "config")
    own = _template(os.path.join(home, TEMPLATE_FILE))
    template = own or _template(os.path.join(theirs, "template.md")) or TEMPLATE
    return Custom(template, _text(os.path.join(theirs, "prompt.md")))


def _are_due(store: Store, settings: Settings, job: Job) -> bool:
    try:
        if not settings.flag("notes.enabled"):
            return False
        pace = Pace.of(settings)
    except SettingRefused:
        return True  # the run says what is wrong with it
    with store.view() as connection:
        cursor = runs.cursor(connection, NOTES_KIND, job.session)
    return is_due(since(job, cursor), pace)


def _template(path: str) -> str | None:
    text = _text(path)
    if text is not None:
        try:
            check_template(text)
        except InputRefused as refused:
            raise _unusable(path, str(refused)) from None
    return text


def _text(path: str) -> str | None:
    """The text of a file; None where there is none, or nothing in it."""
    try:
        text = read_bounded(path, _LARGEST).decode("utf-8-sig").replace("\r\n", "\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    except UnicodeDecodeError:
        raise _unusable(path, "it is not UTF-8") from None
    if "\0" in text:
        raise _unusable(path, "it holds a NUL character")
    return text if text.strip() else None


def _unusable(path: str, reason: str) -> SettingRefused:
    return SettingRefused(f"{path} cannot be used for notes: {reason}", hint="mend it, or move it away")

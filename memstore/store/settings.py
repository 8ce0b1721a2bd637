"""Where settings are kept: a repository's in its store, a user's in `<home>/settings.json`.

Texts by the names of keys; `core/settings.py` says what they mean. The user's file is one JSON object that a person may
edit: what it holds beside the known settings stays, and a file that cannot be read is named and left as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import apsw

from memstore.core.settings import Settings
from memstore.errors import SettingRefused, StoreBusy
from memstore.store.connection import many
from memstore.store.entry import refusal
from memstore.store.plainfile import read_bounded, replace_whole
from memstore.store.turn import lock_within

FILE = "settings.json"

_LARGEST = 64 * 1024
_SECONDS = 5


def load(home: str, environment: Mapping[str, str], connection: apsw.Connection | None) -> Settings:
    """The settings that hold: of the environment, a store (None: there is none yet), the user's file.

    Raises SettingRefused for a file that cannot be read.
    """
    return Settings(environment, {} if connection is None else stored(connection), user_settings(home))


def stored(connection: apsw.Connection) -> dict[str, str]:
    """What is set for the repository."""
    return {str(key): str(value) for key, value in many(connection, "SELECT key, value FROM setting ORDER BY key")}


def put(connection: apsw.Connection, key: str, value: str, at: int) -> None:
    """Sets a value for the repository. Call inside a write transaction."""
    connection.execute(
        "INSERT INTO setting (key, value, at) VALUES (?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value, at = excluded.at",
        (key, value, at),
    )


def remove(connection: apsw.Connection, key: str) -> bool:
    """Takes a value of the repository back; False where there was none. Call inside a write transaction."""
    connection.execute("DELETE FROM setting WHERE key = ?", (key,))
    return connection.changes() == 1


def user_settings(home: str) -> dict[str, str]:
    """What is set for the user. Raises SettingRefused for a file that cannot be read."""
    return {key: _text(value) for key, value in _read(home).items()}


def put_user(home: str, key: str, value: str) -> None:
    """Sets a value for the user. Raises SettingRefused for a file that cannot be read, and is then left as it is."""
    with _locked(home):
        _write(home, {**_read(home), key: value})


def remove_user(home: str, key: str) -> bool:
    """Takes a value of the user back; False where there was none."""
    if key not in _read(home):
        return False
    with _locked(home):
        content = _read(home)
        found = key in content
        _write(home, {name: value for name, value in content.items() if name != key})
    return found


def _text(value: object) -> str:
    """As a person would have written it; what can be no setting as JSON, which is then refused by name."""
    return value if isinstance(value, str) else json.dumps(value)


def _read(home: str) -> dict[str, object]:
    path = os.path.join(home, FILE)
    try:
        content = json.loads(read_bounded(path, _LARGEST))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, "it is not valid JSON") from error
    if not isinstance(content, dict):
        raise _unreadable(path, "it holds no JSON object")
    return content


def _unreadable(path: str, reason: str) -> SettingRefused:
    return SettingRefused(
        f"the settings in {path} cannot be used: {reason}", hint="it is left as it is: mend it, or move it away"
    )


def _write(home: str, content: dict[str, object]) -> None:
    path = os.path.join(home, FILE)
    try:
        replace_whole(path, json.dumps(content, indent=2).encode() + b"\n")
    except OSError as error:
        raise refusal(f"{path} cannot be written", error) from error


@contextmanager
def _locked(home: str) -> Iterator[None]:
    """One process at a time reads the file and writes it again."""
    path = os.path.join(home, "settings.lock")
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        mine = lock_within(lock, _SECONDS)  # where it is not, the lock's descriptor is not ours to close either
    except OSError as error:
        raise refusal(f"{path} cannot be locked", error) from error
    if not mine:
        raise StoreBusy(f"another process has kept {path} locked", hint="try again in a moment")
    try:
        yield
    finally:
        os.close(lock)

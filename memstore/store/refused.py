"""A credential that was refused: what keeps every job of a store waiting on this machine, until something has changed.

It lies beside the database and not in it: whoever takes a copy of the store elsewhere has other credentials. Of these
nothing is kept but a salted digest, which says whether they are still the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b

from memstore.store.entry import refusal
from memstore.store.plainfile import read_bounded, replace_whole

FILE = "refused.json"
BACK_OFF = (300_000_000, 1_800_000_000, 7_200_000_000, 86_400_000_000)
"""How long nobody asks after the first refusal of the same credential, the second and so on, in microseconds."""

_LARGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Refused:
    """What was refused, and what to do about it. `at`: unix microseconds. `times`: how often in a row.

    `mark`: the salted digest of all that was asked with.
    """

    reason: str
    step: str
    at: int
    times: int
    salt: str
    mark: str

    @property
    def until(self) -> int:
        """When it may be asked again all the same."""
        return self.at + BACK_OFF[min(self.times, len(BACK_OFF)) - 1]

    def is_of(self, values: Iterable[str]) -> bool:
        """Whether it was asked with these."""
        return self.mark == mark_of(self.salt, values)


def mark_of(salt: str, values: Iterable[str]) -> str:
    """The digest of what is asked with."""
    key = blake2b(salt.encode(), digest_size=32).digest()
    return blake2b(json.dumps(list(values)).encode(), digest_size=16, key=key).hexdigest()


def refused(directory: str) -> Refused | None:
    """What was refused last; None where nothing was since, or where the file cannot be read: then it is asked again."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        found = json.loads(read_bounded(os.path.join(directory, FILE), _LARGEST))
        at, times = found["at"], found["times"]
        words = [str(found[name]) for name in ("reason", "step", "salt", "mark")]
        if isinstance(at, int) and isinstance(times, int) and times > 0:
            return Refused(words[0], words[1], at, times, words[2], words[3])
    return None


def note(directory: str, reason: str, step: str, at: int, salt: str, values: Iterable[str]) -> None:
    """Notes a refusal. Raises StoreUnavailable where that cannot be written."""
    asked, earlier = list(values), refused(directory)
    times = earlier.times + 1 if earlier is not None and earlier.is_of(asked) else 1
    found = Refused(reason, step, at, times, salt, mark_of(salt, asked))
    path = os.path.join(directory, FILE)
    try:
        replace_whole(path, json.dumps(asdict(found)).encode() + b"\n")
    except OSError as error:
        raise refusal(f"{path} cannot be written", error) from error


def forget(directory: str) -> bool:
    """Nothing is refused any more; False where nothing was."""
    try:
        os.unlink(os.path.join(directory, FILE))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise refusal(f"{os.path.join(directory, FILE)} cannot be removed", error) from error
    return True

"""What is kept of a credential that was refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from memstore.store.refused import BACK_OFF, FILE, forget, note, refused

KEY = "a-key-that-nobody-may-see"


def test_it_is_known_again_and_its_values_are_nowhere(tmp_path: Path):
    place = str(tmp_path)
    note(place, "refused", "set another", 1_000, "salt", ["api", KEY])
    found = refused(place)
    assert found is not None and (found.reason, found.step, found.times) == ("refused", "set another", 1)
    assert found.is_of(["api", KEY]) and not found.is_of(["api", "other"]) and not found.is_of([f"api{KEY}"])
    text = (tmp_path / FILE).read_text()
    assert KEY not in text and stat.S_IMODE(os.stat(tmp_path / FILE).st_mode) == 0o600
    note(place, "refused", "set another", 1_000, "pepper", ["api", KEY])
    again = refused(place)
    assert again is not None and again.mark != found.mark


def test_it_is_asked_later_and_later_and_anew_with_another(tmp_path: Path):
    place, waits = str(tmp_path), []
    for number in range(6):
        note(place, "refused", "", number, str(number), [KEY])
        found = refused(place)
        assert found is not None
        waits.append(found.until - found.at)
    assert waits == [*BACK_OFF, BACK_OFF[-1], BACK_OFF[-1]]
    note(place, "refused", "", 7, "salt", ["other"])
    found = refused(place)
    assert found is not None and found.times == 1
    assert forget(place) and not forget(place) and refused(place) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "3", '{"reason": 1}', "[" * 100_000, '{"at": "x", "times": 1}', "\xff"]
)
def test_a_file_that_cannot_be_read_refuses_nothing(tmp_path: Path, text: str):
    (tmp_path / FILE).write_text(text, encoding="latin-1")
    assert refused(str(tmp_path)) is None

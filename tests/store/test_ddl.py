"""The files that memstore ships are found wherever it was installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstore import errors
from memstore.store import ddl


def test_a_checkout_finds_schema_and_samples():
    assert Path(ddl.schema_directory(), "0001_store.sql").is_file()
    assert Path(ddl.sample_directory(), "MEMORY.md").is_file()


def test_a_wheel_finds_its_own_copies_first(tmp_path: Path):
    package = tmp_path / "memstore"
    (package / "schema").mkdir(parents=True)
    (package / "demo_data" / "memory").mkdir(parents=True)
    (tmp_path / "schema").mkdir()
    assert ddl.schema_directory(str(package)) == str(package / "schema")
    assert ddl.sample_directory(str(package)) == str(package / "demo_data" / "memory")


def test_an_incomplete_installation_is_named_as_such(tmp_path: Path):
    with pytest.raises(errors.Defect, match="incomplete") as caught:
        ddl.schema_directory(str(tmp_path / "memstore"))
    assert str(tmp_path) in str(caught.value) and caught.value.hint


def test_migrations_come_numbered_from_one_in_order():
    numbers = [number for number, _ in ddl.migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert "CREATE TABLE memory" in ddl.migrations()[0][1]


def test_other_files_beside_the_steps_are_no_steps(tmp_path: Path):
    for name in ("0001_store.sql", "schema.sql", "0002_more.sql~", "notes.md"):
        (tmp_path / name).write_text("SELECT 1;", encoding="utf-8")
    assert ddl.migrations(str(tmp_path)) == [(1, "SELECT 1;")]


@pytest.mark.parametrize("names", [(), ("0002_b.sql",), ("0001_a.sql", "0003_c.sql"), ("0001_a.sql", "0001_b.sql")])
def test_a_gap_in_the_steps_is_refused(tmp_path: Path, names: tuple[str, ...]):
    for name in names:
        (tmp_path / name).write_text("SELECT 1;", encoding="utf-8")
    with pytest.raises(errors.Defect, match="not numbered"):
        ddl.migrations(str(tmp_path))

"""`backup`, `restore-backup` and `rebuild` as a person meets them: what is asked, told and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def database(run: Run) -> Path:
    """The database of the repository, which has one memory."""
    run("write", "note", "a word")
    return Path(run("where", "--json").json["store_directory"]) / "store.db"


def test_a_backup_is_told_listed_and_restored(run: Run, database: Path, folder: Path):
    made = run("backup")
    assert made.code == 0 and "1 memory, 1 version, newest operation #1" in made.out
    run("write", "later", "a second word")
    listed = run("backup", "--list")
    assert listed.out.count("\n") == 1 and listed.out.startswith("1\t")
    looked = run("restore-backup", "latest", "--dry-run")
    assert looked.code == 0 and "the store holds 2 memories" in looked.out and "nothing was changed" in looked.out
    assert len(run("list", "--json").json["memories"]) == 2
    done = run("restore-backup", "latest", "--yes")
    assert done.code == 0, done
    assert "differs in the folder  later.md  (created)" in done.out
    assert (folder / "later.md").exists()
    back = done.out.split("to take it back: memstore ")[1].split()
    assert run(*back, "--yes").code == 0
    assert run("list", "--json").json["memories"][0]["path"] == "later.md"


def test_nothing_is_restored_or_rebuilt_before_somebody_agreed(run: Run, database: Path):
    run("backup")
    before = run("log", "--json").json
    for command in (("restore-backup", "latest"), ("restore-backup", "1", "--json")):
        refused = run(*command)
        assert refused.code == 2 and "nobody is at a terminal to agree" in refused.err
    assert run("log", "--json").json == before
    database.write_bytes(b"not a database " * 99)
    refused = run("rebuild")
    assert refused.code == 2 and "--dry-run" in refused.err
    assert database.read_bytes() == b"not a database " * 99


@pytest.mark.parametrize(
    "command", [("restore-backup", "latest", "--yes"), ("rebuild", "--yes"), ("backup", "--keep", "1")]
)
def test_an_agent_is_refused(run: Run, database: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]):
    assert run("backup").code == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    assert run("backup").code == 0  # one more backup is nobody's harm
    refused = run(*command)
    assert refused.code == 5 and "a person's decision, and $CLAUDECODE says that an agent runs this" in refused.err
    assert run("backup", "--list").out.count("\n") == 2


def test_a_damaged_database_names_the_way_out_and_the_way_out_works(run: Run, database: Path, folder: Path):
    database.write_bytes(b"not a database " * 99)
    for command in (("list",), ("search", "word"), ("write", "other", "text"), ("backup",)):
        failed = run(*command)
        assert failed.code == 6, failed
        assert "memstore restore-backup latest" in failed.err and "memstore rebuild" in failed.err
    assert "there is no backup of this store" in run("restore-backup", "latest", "--yes").err
    looked = run("rebuild", "--dry-run")
    assert looked.code == 0 and "does not read as a sound database" in looked.out
    assert database.read_bytes() == b"not a database " * 99
    done = run("rebuild", "--yes")
    assert done.code == 0, done
    assert "renamed  " in done.out and "made anew with 1 memory of the memory folder" in done.out
    assert run("show", "note").out.endswith("a word\n")
    sound = run("rebuild", "--yes")
    assert sound.code == 4 and "is sound; nothing was changed" in sound.err


def test_what_only_the_damaged_file_had_is_named_with_the_command_that_takes_it(run: Run, database: Path, folder: Path):
    run("write", "lost", "the last word")
    (folder / "lost.md").unlink()
    content = database.read_bytes()
    database.write_bytes(b"\0" * 100 + content[100:])
    done = run("rebuild", "--yes")
    assert "in no file any more  lost.md" in done.out
    command = done.out.split("to have these back: memstore ")[1].split()
    assert run(*command).code == 0
    assert run("show", "lost").out.endswith("the last word\n")


def test_options_that_do_not_go_together_are_refused(run: Run, database: Path, tmp_path: Path):
    for command in (
        ("backup", "--list", "--keep", "1"),
        ("backup", "--list", str(tmp_path / "x.db")),
        ("backup", str(tmp_path / "x.db"), "--keep", "1"),
        ("backup", "--keep", "0"),
        ("restore-backup",),
    ):
        assert run(*command).code == 2, command
    assert run("restore-backup", "7", "--yes").code == 3
    assert run("backup", "--list").err.startswith("there are no backups yet")


def test_rebuild_and_a_dry_run_of_a_restore_print_their_shapes(run: Run, database: Path):
    from memstore.cli.shapes import SHAPES
    from tests.cli.test_shapes import has_shape

    run("backup")
    for command in (("restore-backup", "latest", "--dry-run"), ("restore-backup", "latest", "--yes")):
        done = run(*command, "--json").json
        assert has_shape(done, {"memstore": "number", "command": "text", **SHAPES["restore-backup"]}), done
    database.write_bytes(b"not a database " * 99)
    for more in ("--dry-run", "--yes"):
        done = run("rebuild", more, "--json").json
        assert has_shape(done, {"memstore": "number", "command": "text", **SHAPES["rebuild"]}), done

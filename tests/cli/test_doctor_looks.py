"""`memstore doctor` at the command line, and case H21: a database where it cannot be written, or may not lie."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from memstore.cli.shapes import SHAPES
from memstore.store import ground, quick
from tests.cli.conftest import Run
from tests.cli.test_shapes import has_shape
from tests.files.outages import Unable, read_only

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")


def store_of(run: Run) -> Path:
    return Path(run("where", "--json").json["store_directory"])


def test_notes_alone_end_with_0(run: Run):
    run("write", "note", "words")
    told = run("doctor")
    assert (told.code, told.err) == (0, "")
    assert "note backup: there is no backup of this store yet\n" in told.out
    assert "    `memstore backup`\n" in told.out
    assert told.out.splitlines()[-1].endswith(" looks: 2 notes")


def test_warnings_end_with_8_and_fix_mends_them(run: Run):
    run("write", "note", "words")
    place = store_of(run)
    place.chmod(0o755)
    told = run("doctor")
    assert told.code == 8
    assert f"warning permissions: {place} has mode 0755\n" in told.out
    assert "    `memstore doctor --fix` mends it\n" in told.out
    would = run("doctor", "--fix", "--dry-run")
    assert (would.code, place.stat().st_mode & 0o777) == (8, 0o755)
    assert "    --fix would mend it\n" in would.out
    done = run("doctor", "--fix")
    assert (done.code, place.stat().st_mode & 0o777) == (0, 0o700)
    assert f"permissions: mended: for its owner alone: {place}\n" in done.out


def test_errors_end_with_6_and_nothing_is_mended_that_could_lose_anything(run: Run):
    run("write", "note", "words")
    database = store_of(run) / "store.db"
    database.write_bytes(b"not a database")
    for options in ((), ("--fix",)):
        told = run("doctor", *options)
        assert told.code == 6
        assert f"error database: {database} does not read as a sound database" in told.out
        assert "`memstore rebuild`" in told.out
        assert "not looked at, as the database cannot be opened: integrity, " in told.out
    assert database.read_bytes() == b"not a database"


def test_its_json_has_its_shape(run: Run):
    shape = {"memstore": "number", "command": "text", **SHAPES["doctor"]}
    assert has_shape(run("doctor", "--json").json, shape)
    run("write", "note", "words")
    store_of(run).chmod(0o755)
    told = run("doctor", "--fix", "--json")
    assert has_shape(told.json, shape)
    assert [one["check"] for one in told.json["mended"]] == ["permissions"]
    assert (told.code, told.json["worst"]) == (0, "note")
    store_of(run).chmod(0o755)
    told = run("doctor", "--fix", "--dry-run", "--json")
    assert (told.code, told.json["dry_run"], told.json["mended"]) == (8, True, [])


@pytest.mark.parametrize("options", [("--dry-run",), ("--model", "--fix"), ("--model", "--dry-run")])
def test_options_that_do_not_go_together_are_refused(run: Run, options: tuple[str, ...]):
    assert run("doctor", *options).code == 2


def test_a_hostile_name_is_shown_escaped(run: Run, folder: Path):
    run("write", "note", "words")
    (folder / "evil\x1b[31m.md").write_text("x")
    run("sync")
    told = run("doctor")
    assert "\x1b[31m" not in told.out


# H21


@LINUX
def test_h21_a_every_command_refuses_a_network_and_says_how_to_move(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run("write", "note", "words")
    told = tmp_path / "mountinfo"
    told.write_text(f"22 1 254:0 / / rw - ext4 x rw\n30 22 0:40 / {home / 'memstore'} rw - cifs //server/x rw\n")
    monkeypatch.setattr(ground, "MOUNTS", str(told))
    monkeypatch.setattr(quick, "is_disk", lambda _: False)
    for command in (("list",), ("search", "words"), ("write", "more", "words"), ("sync",)):
        refused = run(*command, "--json")
        assert (refused.code, refused.json["error"]["kind"]) == (6, "GroundRefused"), command
        assert "lies on cifs (//server/x, mounted at" in refused.err and "MEMSTORE_HOME" in refused.err
    looked = run("doctor")
    assert looked.code == 6 and "error ground: " in looked.out
    # What it says to do: the home moves as a whole.
    os.rename(home / "memstore", home / "local")
    monkeypatch.setenv("MEMSTORE_HOME", str(home / "local"))
    assert run("show", "note").out.endswith("words\n")
    assert run("doctor").code == 0


NOBODY = """
import os, sys
from click.testing import CliRunner
from memstore.cli.main import program
from memstore.store import ddl
ddl.schema_directory = lambda schema=ddl.schema_directory(): schema
def run(*words):
    done = CliRunner().invoke(program, ["-C", sys.argv[1], *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done
# First everything is loaded that is loaded when it is needed: nobody may read it where the checkout lies.
commands = [("show", "note"), ("search", "harbour"), ("write", "more", "words"), ("doctor",)]
os.environ["MEMSTORE_HOME"], home = sys.argv[2] + "/warm", os.environ["MEMSTORE_HOME"]
run("write", "note", "harbour")
for words in commands:
    run(*words)
os.environ["MEMSTORE_HOME"] = home
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for words in commands:
    done = run(*words)
    print(words[0], done.exit_code, "harbour" in done.stdout, "read-only" in done.stderr, flush=True)
    print(done.stdout if words[0] == "doctor" else "", file=sys.stderr)
"""


@LINUX
def test_h21_b_a_store_in_a_read_only_folder_is_read_and_a_write_says_read_only(tmp_path: Path):
    with tempfile.TemporaryDirectory(prefix="memstore-") as name, ExitStack() as stack:
        # The directories of pytest are closed to others.
        base = Path(name)
        base.chmod(0o755)
        place = base / "repo"
        (place / ".git").mkdir(parents=True)
        (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        environment = {**os.environ, "HOME": str(base / "h"), "MEMSTORE_HOME": str(base / "home")}
        environment |= {key: str(base / "h") for key in environment if key.startswith("XDG_")}
        program = [sys.executable, "-m", "memstore", "-C", place]
        subprocess.run([*program, "write", "note", "the harbour"], env=environment, check=True, capture_output=True)
        everything = [base / "home", *(base / "home").rglob("*")]
        if os.geteuid() == 0:
            for path in [base / "h", *(base / "h").rglob("*"), place, *place.rglob("*"), *everything]:
                os.chown(path, 65534, 65534)
        for path in everything:
            path.chmod(0o555 if path.is_dir() else 0o444)
        stack.callback(lambda: [path.chmod(0o755) for path in everything if path.is_dir()])
        before = {path: path.read_bytes() for path in everything if path.is_file()}
        done = subprocess.run(
            [sys.executable, "-c", NOBODY, place, tmp_path],
            env=environment, capture_output=True, text=True, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[:3] == ["show 0 True False", "search 0 True False", "write 6 False True"]
        assert done.stdout.splitlines()[3].startswith("doctor 6 ")
        assert "can only be read" in done.stderr
        assert {path: path.read_bytes() for path in everything if path.is_file()} == before
        assert sorted((base / "home").rglob("*")) == sorted(everything[1:])


def test_h21_c_a_folder_on_a_read_only_mount_keeps_no_row_from_being_saved(run: Run, folder: Path):
    run("write", "note", "words")
    with ExitStack() as stack:
        try:
            stack.enter_context(read_only(folder))
        except Unable as unable:
            pytest.skip(str(unable))
        saved = run("write", "more", "words of more")
        assert saved.code == 0
        assert "not projected" in saved.err and "read-only" in saved.err.lower()
        assert run("show", "more").out.endswith("words of more\n")
        looked = run("doctor")
        assert looked.code == 8 and "warning folder" in looked.out
    assert run("sync").code == 0
    assert (folder / "more.md").read_text().endswith("words of more\n")
    assert run("doctor").code == 0

"""How the scripts find a Python, without the network. That the locks install is seen by each CI run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose program says where it was started and which modules it got."""
    root = tmp_path / "a checkout"
    shutil.copytree(ROOT / "scripts", root / "scripts")
    (root / "memstore").mkdir()
    (root / "memstore" / "__init__.py").touch()
    (root / "memstore" / "__main__.py").write_text(
        "import memstore, os, sys\nprint(os.path.dirname(memstore.__file__), os.getcwd(), sys.argv[1:], sep='\\n')\n",
        encoding="utf-8",
    )
    return root


def set_up(checkout: Path) -> None:
    """A finished environment, as scripts/setup.py leaves it."""
    venv = checkout / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    (venv / "bin" / "python").chmod(0o755)
    shutil.copy(checkout / "scripts" / "locks" / "run.txt", venv / "memstore-run.txt")


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    base = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    return subprocess.run(command, cwd=cwd, env=base | environment, capture_output=True, text=True)


def test_memstore_runs_from_any_directory_through_links_and_imports_nothing_from_there(checkout: Path, tmp_path: Path):
    set_up(checkout)
    elsewhere = tmp_path / "hostile"
    (elsewhere / "memstore").mkdir(parents=True)
    (elsewhere / "memstore" / "__init__.py").write_text("raise SystemExit('hostile')", encoding="utf-8")
    (elsewhere / "first").symlink_to(checkout / "scripts" / "memstore")
    (elsewhere / "second").symlink_to("first")
    done = run("./second", "show", "two words", cwd=elsewhere)
    assert done.stderr == ""
    assert done.stdout.split("\n") == [
        str(checkout / "memstore"),
        str(elsewhere),
        "['show', 'two words']",
        "",
    ]


def test_without_a_new_enough_python_the_next_step_is_named(checkout: Path, tmp_path: Path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "cmp"):
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    (tools / "python3").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (tools / "python3").chmod(0o755)
    done = run("scripts/memstore", cwd=checkout, PATH=str(tools))
    assert done.returncode == 1
    assert "needs Python 3.11" in done.stderr and "MEMSTORE_PYTHON" in done.stderr


def test_a_folder_that_is_no_virtual_environment_is_left_alone(checkout: Path, tmp_path: Path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    done = run("scripts/memstore", cwd=checkout, MEMSTORE_VENV=str(precious), MEMSTORE_PYTHON=sys.executable)
    assert done.returncode == 1
    assert f"{precious} is there and is no virtual environment" in done.stderr
    assert [path.name for path in precious.iterdir()] == ["file"]


def test_when_no_package_index_answers_the_last_line_says_what_to_do(checkout: Path):
    done = run(
        "scripts/memstore",
        cwd=checkout,
        MEMSTORE_PYTHON=sys.executable,
        PIP_CONFIG_FILE=os.devnull,
        PIP_NO_INDEX="1",
        PIP_NO_CACHE_DIR="1",
    )
    assert done.returncode == 1
    assert done.stderr.split("\n")[0].startswith("memstore: setting up ")
    assert done.stderr.split("\n")[-2].endswith("start again when the package index can be reached")
    assert not (checkout / ".venv" / "memstore-run.txt").exists()
    assert "Traceback" not in done.stderr

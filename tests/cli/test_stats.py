"""`memstore stats`: tables, JSON, a chart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Run


def test_figures_come_as_tables_and_as_json(run: Run):
    run("write", "deploy", "On Fridays", "--type", "feedback")
    run("write", "port", "5433")
    run("delete", "port")
    told = run("stats").out
    assert told.startswith("1 memory, 1 retired, 0 pinned; 0 sessions, which were told 0 memories\n")
    assert "\nTypes\nfeedback\t1\t" in told
    assert "\nChanges\nwrite\t2\ndelete\t1\n" in told
    found = run("stats", "--json").json
    assert (found["memories"], found["retired"], found["kinds"]) == (1, 1, {"write": 2, "delete": 1})
    assert [(day["came"], day["went"], day["memories"]) for day in found["growth"]] == [(2, 1, 1)]
    assert found["sizes"]["folder"] > 0
    assert run("stats", "--since", "2999-01-01", "--json").json["growth"] == []


def test_a_chart_is_written_once_and_its_name_is_checked_first(run: Run, repo: Path, home: Path):
    run("write", "deploy", "On Fridays")
    folder = run("where", "--json").json["folder"]
    for place in (home / "memstore", folder):
        assert run("stats", "--plot", f"{place}/stats.svg").code == 2
    assert f"chart written to {repo}/stats.png" in run("stats", "--plot", "stats.png").out
    assert (repo / "stats.png").read_bytes().startswith(b"\x89PNG")
    for refused in (run("stats", "--plot", "stats.png"), run("stats", "--plot", "stats.pdf")):
        assert (refused.code, refused.out) == (2, "")
    assert run("stats", "--plot", "stats.png", "--force", "--json").json["plot"] == str(repo / "stats.png")


def test_where_there_are_no_memories_there_are_no_figures(run: Run, repo: Path):
    assert run("stats", "--plot", "stats.svg").code == 3
    assert not (repo / "stats.svg").exists()


def test_a_hostile_directory_does_not_set_how_charts_are_drawn(run: Run, repo: Path):
    run("write", "deploy", "On Fridays")
    (repo / "matplotlibrc").write_bytes(b"text.usetex: True\n\xff\n")
    (repo / "matplotlib.py").write_text("print('hostile')")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memstore", "stats", "--plot", "stats.png"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=repo,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "the file matplotlibrc in this directory" in done.stderr

"""`check`: what is gone is told and makes the exit code, in text and as JSON."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_what_is_missing_is_told_with_its_own_exit_code(run: Run, repo: Path):
    run("write", "auth", "It is in `src/auth.py`.", "-d", "d")
    run("write", "other", "Nothing.", "-d", "d")
    found = run("check")
    assert (found.code, found.out) == (
        8,
        "auth.md\n    names `src/auth.py`, which is not in this working tree\n"
        "1 of 2 memories names what is not there\n",
    )
    shape = run("check", "auth", "--json").json["memories"]
    assert [(one["path"], one["missing"][0]["what"], one["missing"][0]["commit"]) for one in shape] == [
        ("auth.md", "src/auth.py", None)
    ]
    (repo / "src").mkdir()
    (repo / "src" / "auth.py").write_text("")
    assert (run("check").code, run("check").out) == (0, "2 memories checked: 1 thing named, none is missing\n")
    assert run("check", "nothing").code == 3

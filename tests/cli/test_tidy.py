"""`tidy`: what it shows is what it would do, and the command that it names does it."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.conftest import Run

TEXT = "Use bun to install dependencies in this repository, and commit the lock file with each change you make."


@pytest.fixture
def untidy(run: Run) -> None:
    """A copy, a near copy, one that says the contrary, one that is past its date."""
    for name, body in (
        ("a", TEXT), ("b", TEXT), ("c", TEXT.replace("each", "every")), ("d", f"Never {TEXT[0].lower()}{TEXT[1:]}"),
        ("old one", "The freeze holds until 2020-01-01."),
    ):  # fmt: skip
        assert run("write", name, body, "-d", "d").code == 0


def kinds(run: Run, *more: str) -> list[tuple[str, bool]]:
    return [(one["kind"], one["done"]) for one in run("tidy", *more, "--json").json["proposals"]]


def test_alone_it_does_what_is_safe_and_shows_the_rest(run: Run, untidy: None):
    assert kinds(run, "--dry-run") == [("duplicate", False), ("near", False), ("differ", False), ("expired", False)]
    done = run("tidy")
    assert "done: duplicate a.md, b.md: the same text as a.md" in done.out
    assert "differ    a.md, d.md: nearly the same words, yet they say different things: never" in done.out
    assert "memstore undo" in done.out
    assert [one["path"] for one in run("list", "--json").json["memories"]] == ["a.md", "c.md", "d.md", "old-one.md"]


def test_the_command_that_it_names_does_what_it_says(run: Run, untidy: None):
    run("tidy")
    named = [one["next"] for one in run("tidy", "--dry-run", "--json").json["proposals"] if one["by_rule"]]
    assert named == ["memstore tidy a.md c.md", "memstore tidy old-one.md"]
    for command in named:
        assert run(*shlex.split(command)[1:]).code == 0
    assert [one["path"] for one in run("list", "--json").json["memories"]] == ["a.md", "d.md"]


def test_a_name_about_which_nothing_can_be_done_is_told_so(run: Run, untidy: None):
    assert run("tidy", "d").code == 3
    assert run("tidy", "a", "--all").code == 2
    assert run("tidy", "--pick", "--json").code == 2


def test_one_by_one_a_person_says_yes_or_no(run: Run, untidy: None):
    done = run("tidy", "--pick", stdin="n\ny\n")
    assert "+Use bun to install dependencies in this repository, and commit the lock file with every" in done.out
    assert [one["path"] for one in run("list", "--json").json["memories"]] == ["a.md", "c.md", "d.md"]


def test_who_goes_away_in_the_middle_has_changed_nothing(run: Run, untidy: None):
    assert run("tidy", "--pick", stdin="y\n").code == 130
    assert kinds(run, "--all")[0] == ("duplicate", True)


def test_a_tidy_store_is_told_so(run: Run):
    run("write", "a", TEXT)
    assert run("tidy").out == "there is nothing to tidy\n"

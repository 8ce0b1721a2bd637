"""`recall`."""

from __future__ import annotations

import pytest

from memstore.app import Memstore
from tests.cli.conftest import Run


def test_what_bears_on_a_prompt_is_told_and_nothing_else(run: Run):
    run("write", "port", "7443", "-d", "which port staging listens on")
    run("write", "cache", "h1", "-d", "where the cache lives")
    found = run("recall", "what", "is", "the", "staging", "port?")
    assert found.code == 0 and "port.md [project]: which port staging listens on\n" in found.out
    assert "cache.md" not in found.out and "\n> 7443\n" in found.out


def test_where_nothing_is_sure_it_says_so_and_explain_says_why(run: Run):
    run("write", "port", "the button", "-d", "which port staging listens on")
    found = run("recall", "make", "the", "button", "--blue")
    assert (found.code, found.out) == (0, "")
    assert found.err == "nothing surely bears on that; --explain says why, `search` finds more\n"
    told = run("recall", "--explain", "make", "the", "button", "blue")
    assert told.out == "left out  port.md: has only words that say little: button\n"
    assert "picked    port.md: has staging" in run("recall", "--explain", "staging").out


def test_the_short_list_itself(run: Run):
    for number in range(4):
        run("write", f"note-{number}", "a button")
    listed = run("recall", "--ranked", "--limit", "3", "make the button blue")
    assert listed.out.count("note-") == 3 and "button" in listed.out
    found = run("recall", "--ranked", "button", "--json").json
    assert (found["ranked"], found["text"], len(found["memories"])) == (True, "", 4)
    assert run("recall", "--ranked", "unheard").err == "no memory has any of these words\n"
    assert (
        run("recall", "--ranked", "--explain", "button").code
        == run("recall", "--ranked", "--session", "s", "x").code
        == 2
    )


def test_a_limit_holds_for_what_is_told_too(run: Run):
    for number in range(6):
        run("write", f"tunnel-{number}", "text", "-d", "how the tunnel is used")
    for limit, told in (("2", 2), ("0", 1), ("99", 5)):
        assert len(run("recall", "--limit", limit, "--json", "how is the tunnel used?").json["memories"]) == told


def test_a_session_is_told_a_version_once(run: Run):
    run("write", "port", "7443", "-d", "staging port")
    assert "7443" in run("recall", "--session", "s", "staging port").out
    again = run("recall", "--session", "s", "staging port")
    assert again.out == "" and again.err.startswith("nothing that this session does not know surely bears on that; ")
    assert "port.md: this session was told this version" in run("recall", "--session", "s", "--explain", "staging").out


def test_an_extra_that_is_not_installed_is_asked_for_with_the_step(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memstore.semantic.is_installed", lambda: False)
    run("write", "port", "7443", "-d", "staging port")
    assert run("config", "set", "recall.semantic", "true").code == 0
    for asked in (("recall", "staging"), ("recall", "--ranked", "staging")):
        found = run(*asked)
        assert (found.code, found.out) == (2, "") and "pip install 'wordllama" in found.err
    assert "7443" in run("search", "staging").out
    run("config", "unset", "recall.semantic")
    assert "7443" in run("recall", "staging").out


def test_every_way_gives_the_same_answer(run: Run, repo: object):
    run("write", "port", "7443", "-d", "staging port")
    found = run("recall", "staging port", "--json").json
    with Memstore.open(str(repo)) as memories:
        answer = memories.recall("staging port")
    assert found["text"] == answer.text
    assert [one["token"] for one in found["memories"]] == [one.token for one in answer.memories]
    assert run("recall", "staging port").out == answer.text + "\n"

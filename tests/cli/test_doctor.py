"""`memstore doctor --model`, against a scripted Messages API on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memstore.cli.shapes import ERROR, SHAPES
from memstore.core.settings import DEFAULT_MODEL
from tests.cli.conftest import Run
from tests.cli.test_shapes import has_shape
from tests.jobs.api import KEY, TOKEN, Scripted, scripted
from tests.messages_api import Blocks, Fail, Say


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """The API that this process's environment leads to."""
    with scripted() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def test_a_model_that_answers_is_told_with_what_it_took(run: Run, api: Scripted):
    api.steps = [Say("ok")]
    told = run("doctor", "--model")
    assert (told.code, told.err) == (0, "")
    first, second, third = told.out.splitlines()
    assert first == f"sent to {api.host}: the API key in ANTHROPIC_API_KEY"
    assert second.startswith(f"{DEFAULT_MODEL} (model.extract, model.notes, model.dream) answers: ")
    assert second.endswith(" s, 10 tokens in, 5 out, $0.000070")
    assert third.startswith("the client's own fork cannot be used: the client's program is not at ")
    assert third.endswith(" (not needed: the API is asked)")
    assert api.bodies[0]["max_tokens"] == 64
    assert len(api.asked) == 1


def test_an_answer_that_is_thinking_only_is_an_answer(run: Run, api: Scripted):
    api.steps = [Blocks(({"type": "thinking", "thinking": "hm"},), "max_tokens")]
    assert run("doctor", "--model").code == 0


def test_every_model_that_is_set_is_asked(run: Run, api: Scripted):
    assert run("config", "set", "model.notes", "claude-haiku-5-5").code == 0
    api.steps = [Say(), Blocks((), model="local-model")]
    lines = run("doctor", "--model").out.splitlines()
    assert lines[1].startswith(f"{DEFAULT_MODEL} (model.extract, model.dream) answers: ")
    assert lines[2].startswith("claude-haiku-5-5 (model.notes) answers, as local-model: ")
    assert lines[2].endswith(", its price is not known: a budget cannot be kept")
    run("config", "set", "model.recall", "claude-haiku-5-5")
    run("config", "set", "recall.selector", "model")
    api.steps = [Say(), Say()]
    assert run("doctor", "--model").out.splitlines()[2].startswith("claude-haiku-5-5 (model.notes, model.recall) ")


def test_what_was_mended_and_what_was_not_sent_is_said(run: Run, api: Scripted, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{api.url}/v1/")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", TOKEN)
    api.steps = [Say()]
    told = run("doctor", "--model")
    assert told.err == "$ANTHROPIC_BASE_URL is taken without /v1: /v1/messages is added to it\n"
    assert "not sent: ANTHROPIC_AUTH_TOKEN, as the key comes before it\n" in told.out


def test_the_answer_has_its_shape(run: Run, api: Scripted):
    api.steps = [Say()]
    told = run("doctor", "--model", "--json")
    assert has_shape(told.json, {"memstore": "number", "command": "text", **SHAPES["doctor --model"]})
    assert told.json["credential"] == {"variable": "ANTHROPIC_API_KEY", "kind": "API key"}
    assert told.json["models"][0]["cost"] == 0.00007


def test_a_refused_key_ends_with_7_and_the_next_step_and_is_shown_nowhere(run: Run, api: Scripted):
    api.steps = [Fail(401, "authentication_error", f"invalid key {KEY}")] * 2
    told = run("doctor", "--model")
    assert (told.code, told.out) == (7, "")
    first, second = told.err.splitlines()
    assert first == f"memstore: {api.host} refused the API key in ANTHROPIC_API_KEY (401: invalid key ***)"
    assert second.startswith(f"  set ANTHROPIC_API_KEY to one that is valid for {api.host}; ")
    told = run("doctor", "--model", "--json")
    error = told.json["error"]
    assert (error["kind"], error["code"], error["sent"]) == ("ModelUnauthorized", 7, "API key")
    assert has_shape({key: error[key] for key in ERROR}, ERROR)
    assert "SECRET" not in told.out + told.err


def test_a_limit_is_told_at_once(run: Run, api: Scripted):
    api.steps = [Fail(429, "rate_limit_error", "slower", {"Retry-After": "20"})]
    told = run("doctor", "--model")
    assert told.code == 7
    assert told.err.endswith("\n  try again in 20 s\n")
    assert len(api.asked) == 1


def test_an_unknown_model_is_named(run: Run, api: Scripted):
    run("config", "set", "model.extract", "claude-sonet-5-5")
    api.steps = [Fail(404, "not_found_error", "model: claude-sonet-5-5")]
    error = run("doctor", "--model", "--json").json["error"]
    assert (error["kind"], error["model"]) == ("ModelNotFound", "claude-sonet-5-5")


def test_no_key_is_told(run: Run):
    told = run("doctor", "--model")
    assert told.code == 7
    assert told.err.startswith("memstore: no model can be asked: neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN")


def test_an_unfit_address_is_a_wrong_setting(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "localhost:4000")
    told = run("doctor", "--model")
    assert (told.code, told.err.splitlines()[0]) == (2, "memstore: $ANTHROPIC_BASE_URL is no address of a server")


@pytest.mark.parametrize("more", ["--fix", "--thorough"])
def test_to_ask_the_models_stands_alone(run: Run, more: str):
    told = run("doctor", "--model", more)
    assert told.code == 2
    assert "--model stands alone" in told.err


def test_a_proxy_is_named(run: Run, api: Scripted, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://user:PROXYSECRET@127.0.0.1:1")
    told = run("doctor", "--model")
    assert told.err.startswith(
        "memstore: the proxy 127.0.0.1:1 ($HTTP_PROXY) cannot be reached: nothing listens there\n"
    )
    assert "SECRET" not in told.err


# The client's own fork


CLIENT = """\
#!/bin/sh
case "$*" in
--version) echo '{version} (Claude Code)' ;;
'auth status --json') echo '{login}'; exit {code} ;;
*) echo asked >> '{place}/asked' ;;
esac
"""


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a program in the client's place; what else it is asked is on record."""

    def put(
        version: str = "2.1.332", login: str = '{"loggedIn": true, "authMethod": "claude.ai"}', code: int = 0
    ) -> Path:
        program = tmp_path / "claude"
        program.write_text(CLIENT.format(version=version, login=login, code=code, place=tmp_path), encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("MEMSTORE_CLAUDE", str(program))
        return program

    return put


def test_the_client_that_a_fork_needs_is_named_and_asked_nothing(
    run: Run, api: Scripted, client: Callable[..., Path], tmp_path: Path
):
    program = client()
    api.steps = [Say("ok")]
    told = run("doctor", "--model").out.splitlines()[-1]
    assert told == f"the client's own fork can be used: {program}, version 2.1.332, logged in by claude.ai"
    assert not (tmp_path / "asked").exists()


def test_without_a_key_the_client_is_enough(run: Run, client: Callable[..., Path]):
    program = client()
    told = run("doctor", "--model")
    assert told.code == 0 and told.out.startswith("the client's own fork can be used: ")
    assert told.err.startswith("no model can be asked: neither ANTHROPIC_API_KEY nor ")
    assert "the notes of sessions need it, the extraction does not" in told.err
    shape = run("doctor", "--model", "--json").json
    assert has_shape(shape, {"memstore": "number", "command": "text", **SHAPES["doctor --model"]})
    assert (shape["host"], shape["models"]) == (None, [])
    assert shape["client"] == {
        "usable": True, "program": str(program), "version": "2.1.332", "login": "claude.ai", "problem": None,
    }  # fmt: skip
    run("config", "set", "extract.via", "api")
    assert run("doctor", "--model").code == 7


def test_where_the_client_alone_may_think_its_lack_is_an_error_though_the_api_answers(run: Run, api: Scripted):
    run("config", "set", "extract.via", "client")
    for arguments in ((), ("--json",)):
        api.steps = [Say("ok")]
        told = run("doctor", "--model", *arguments)
        assert told.code == 7 and "nothing is extracted until then: extract.via is client" in told.err
    assert told.json["client"]["usable"] is False


@pytest.mark.parametrize(
    ("given", "problem", "step"),
    [
        ({"version": "2.0.14"}, "is of version 2.0.14; a fork needs", "claude update"),
        ({"version": "hello"}, "does not say which version", "memstore config set --user claude PATH"),
        ({"login": '{"loggedIn": false, "authMethod": "none"}', "code": 1}, "is not logged in", "/login"),
    ],
)
def test_a_client_that_cannot_be_used_is_told_with_the_next_step(
    run: Run, client: Callable[..., Path], given: dict[str, Any], problem: str, step: str
):
    client(**given)
    told = run("doctor", "--model")
    assert told.code == 7
    assert told.err.startswith("memstore: no model can be asked: ")
    assert "the client's own fork cannot be used: " in told.err and problem in told.err and step in told.err


def test_a_client_that_does_not_tell_how_it_is_logged_in_may_be(run: Run, api: Scripted, client: Callable[..., Path]):
    client(login="what?", code=2)
    api.steps = [Say("ok")]
    assert run("doctor", "--model").out.splitlines()[-1].endswith("/claude, version 2.1.332")

"""`memstore doctor --model`, against a scripted Messages API on loopback."""

from __future__ import annotations

from collections.abc import Iterator

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
    first, second = told.out.splitlines()
    assert first == f"sent to {api.host}: the API key in ANTHROPIC_API_KEY"
    assert second.startswith(f"{DEFAULT_MODEL} (model.extract, model.notes) answers: ")
    assert second.endswith(" s, 10 tokens in, 5 out, $0.000070")
    assert api.bodies[0]["max_tokens"] == 64
    assert len(api.asked) == 1


def test_an_answer_that_is_thinking_only_is_an_answer(run: Run, api: Scripted):
    api.steps = [Blocks(({"type": "thinking", "thinking": "hm"},), "max_tokens")]
    assert run("doctor", "--model").code == 0


def test_every_model_that_is_set_is_asked(run: Run, api: Scripted):
    assert run("config", "set", "model.notes", "claude-haiku-5-5").code == 0
    api.steps = [Say(), Blocks((), model="local-model")]
    lines = run("doctor", "--model").out.splitlines()
    assert lines[1].startswith(f"{DEFAULT_MODEL} (model.extract) answers: ")
    assert lines[2].startswith("claude-haiku-5-5 (model.notes) answers, as local-model: ")
    assert lines[2].endswith(", its price is not known: a budget cannot be kept")


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
    assert has_shape(told.json, {"memstore": "number", "command": "text", **SHAPES["doctor"]})
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


def test_without_model_it_says_what_there_is_to_look_at(run: Run):
    told = run("doctor")
    assert told.code == 2
    assert "`memstore doctor --model`" in told.err


def test_a_proxy_is_named(run: Run, api: Scripted, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://user:PROXYSECRET@127.0.0.1:1")
    told = run("doctor", "--model")
    assert told.err.startswith(
        "memstore: the proxy 127.0.0.1:1 ($HTTP_PROXY) cannot be reached: nothing listens there\n"
    )
    assert "SECRET" not in told.err

"""What is sent to the Messages API, and what is made of its answers, over the real library and a loopback."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from dataclasses import replace

import pytest

from memstore.core.usage import Usage
from memstore.errors import ModelUnreachable
from memstore.jobs.llm import ApiModel, body, configured
from memstore.jobs.messages import Kept, Message, Request, Text, Tool, ToolResult, ToolUse, user
from tests.jobs.api import KEY, MODEL, TOKEN, Scripted, request
from tests.messages_api import Blocks, Fail, Halting, Raw, Say, Use

THINKING = {"type": "thinking", "thinking": "First I look.", "signature": "c2lnbmF0dXJl"}
USAGE = {
    "input_tokens": 7,
    "output_tokens": 40,
    "cache_read_input_tokens": 900,
    "cache_creation_input_tokens": 93,
}


def test_words_tokens_and_who_answered_are_read_from_a_stream(api: Scripted):
    api.steps = [Blocks(({"type": "text", "text": "Zwölf 十二 🙂"},), usage=USAGE, model="claude-sonnet-5-5-20260928")]
    reply = ApiModel.of(api.environment).reply(request())
    assert reply.text == "Zwölf 十二 🙂"
    assert reply.stop == "end_turn"
    assert reply.usage == Usage(input=7, output=40, cache_read=900, cache_written=93)
    assert reply.usage.hit == 90
    assert reply.model == "claude-sonnet-5-5-20260928"
    assert reply.cost == 14 + 400 + 90 + 233


def test_calls_of_tools_are_read_with_their_inputs(api: Scripted):
    api.steps = [(Use("Read", {"file_path": "a.md"}), Use("Glob", {}))]
    reply = ApiModel.of(api.environment).reply(request())
    assert [(use.name, use.input, use.whole) for use in reply.uses] == [
        ("Read", {"file_path": "a.md"}, True),
        ("Glob", {}, True),
    ]
    assert reply.stop == "tool_use"


def test_thinking_and_unknown_blocks_go_back_as_they_came(api: Scripted):
    other = {"type": "something_new", "data": {"a": [1, None]}}
    api.steps = [Blocks((THINKING, other, {"type": "text", "text": "Yes."})), Say()]
    model, asked = ApiModel.of(api.environment), request()
    reply = model.reply(asked)
    assert reply.blocks == (Kept(THINKING), Kept(other), Text("Yes."))
    model.reply(replace(asked, messages=(*asked.messages, Message("assistant", reply.blocks), user("And?"))))
    assert api.bodies[1]["messages"][1]["content"] == [THINKING, other, {"type": "text", "text": "Yes."}]


def test_a_call_cut_off_by_the_limit_is_not_whole_whatever_its_input_looks_like(api: Scripted):
    for given in ('{"file_path": "a.md", "content": "half', '{"file_path": "a.md"}', "", "[1]", '{"a": NaN'):
        call = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": given}
        api.steps = [Blocks(({"type": "text", "text": "I write."}, call), "max_tokens")]
        reply = ApiModel.of(api.environment).reply(request())
        assert reply.cut
        assert [use.whole for use in reply.uses] == [False]


def test_a_call_before_the_one_that_was_cut_off_is_whole(api: Scripted):
    calls = [{"type": "tool_use", "id": f"toolu_{n}", "name": "Write", "input": {"n": n}} for n in (1, 2)]
    api.steps = [Blocks(tuple(calls), "max_tokens")]
    reply = ApiModel.of(api.environment).reply(request())
    assert [use.whole for use in reply.uses] == [True, False]


def test_an_input_that_is_no_json_object_makes_the_call_not_whole(api: Scripted):
    for given in ("[1, 2]", '"text"', "{not json", "[" * 100_000, '{"n": NaN}', '{"n": [1e999]}'):
        call = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": given}
        api.steps = [Blocks((call,), "tool_use")]
        reply = ApiModel.of(api.environment).reply(request())
        assert reply.uses == (ToolUse("toolu_1", "Write", {}, whole=False),)


def test_halves_of_characters_are_replaced_on_both_ways(api: Scripted):
    call = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "Write",
        "input": '{"text": "a\\ud83d", "\\udc00": ["\\ud800"]}',
    }
    api.steps = [Blocks(({"type": "text", "text": "b\ud83d"}, call), "tool_use"), Say()]
    model = ApiModel.of(api.environment)
    reply = model.reply(request("c\ud83d"))
    assert reply.text == "b\ufffd"
    assert reply.uses[0].input == {"text": "a\ufffd", "\ufffd": ["\ufffd"]}
    assert api.bodies[0]["messages"][0]["content"][0]["text"] == "c\ufffd"


def test_an_answer_in_one_piece_is_taken_where_a_stream_was_asked_for(api: Scripted):
    whole = {
        "type": "message", "role": "assistant", "model": MODEL, "stop_reason": "tool_use", "usage": USAGE,
        "content": [THINKING, {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "a.md"}}],
    }  # fmt: skip
    api.steps = [Raw(json.dumps(whole).encode())]
    reply = ApiModel.of(api.environment).reply(request())
    assert reply.blocks == (Kept(THINKING), ToolUse("toolu_1", "Read", {"file_path": "a.md"}))
    assert reply.usage.cache_read == 900


def test_a_slow_answer_is_not_cut_as_long_as_something_comes(api: Scripted):
    api.steps = [Halting(Say("slowly"), pause=0.1)]
    assert ApiModel.of(api.environment, patience=0.3).reply(request()).text == "slowly"


@pytest.mark.parametrize(("variable", "value"), [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_AUTH_TOKEN", TOKEN)])
def test_key_and_token_go_out_in_the_header_authorization(api: Scripted, variable: str, value: str):
    api.steps = [Say()]
    ApiModel.of({"ANTHROPIC_BASE_URL": api.url, variable: f"{value}\n"}).reply(request())
    sent = api.asked[0].headers
    assert sent["Authorization"] == f"Bearer {value}"
    assert sent["X-Api-Key"] is None


def test_no_key_is_in_the_logs_even_where_all_is_logged(api: Scripted, caplog: pytest.LogCaptureFixture):
    api.steps = [Fail(429, "rate_limit_error", "Sorry", {"Retry-After-Ms": "1"}), Say(), Halting(Say(), events=3)]
    model = ApiModel.of(api.environment, retries=1)
    with caplog.at_level(logging.DEBUG):
        model.reply(request())
        with pytest.raises(ModelUnreachable):
            model.reply(request())
    assert "HTTP Response" in caplog.text
    assert "SECRET" not in caplog.text


def test_the_key_of_the_process_is_not_sent_where_another_environment_counts(
    api: Scripted, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-process")
    api.steps = [Say()]
    ApiModel.of({"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_AUTH_TOKEN": TOKEN}).reply(request())
    assert "sk-of-the-process" not in str(api.asked[0].headers)


def test_a_header_of_the_persons_own_goes_out_too(api: Scripted, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-api-key: for-the-gateway")
    api.steps = [Say()]
    ApiModel.of(api.environment).reply(request())
    assert api.asked[0].headers["X-Api-Key"] == "for-the-gateway"


@pytest.mark.parametrize("end", ["/", "/v1", "/v1/", "/v1/messages"])
def test_an_address_with_too_much_at_its_end_is_mended(api: Scripted, end: str):
    api.steps = [Say("there")]
    model = ApiModel.of({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url + end})
    assert model.reply(request()).text == "there"
    assert model.endpoint.address.mended
    assert api.strangers == []


def test_the_request_is_what_the_api_takes_with_four_marks_for_its_cache():
    tools = tuple(Tool(name, f"It does {name}.", {"type": "object", "properties": {}}) for name in ("Read", "Write"))
    call, result = ToolUse("toolu_1", "Read", {"file_path": "a"}), ToolResult("toolu_1", "gone", error=True)
    asked = Request(
        MODEL,
        (user("first"), Message("assistant", (Kept(THINKING), call)), Message("user", (result, Text("go on")))),
        limit=2_000,
        system=("Be brief.", "Be kind."),
        tools=tools,
        schema={"type": "object"},
    )
    mark = {"cache_control": {"type": "ephemeral"}}
    made = body(asked)
    assert made == {
        "model": MODEL,
        "max_tokens": 2_000,
        "tools": [
            {"name": "Read", "description": "It does Read.", "input_schema": {"type": "object", "properties": {}}},
            {"name": "Write", "description": "It does Write.", "input_schema": {"type": "object", "properties": {}}}
            | mark,
        ],
        "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."} | mark],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "first"} | mark]},
            {
                "role": "assistant",
                "content": [
                    THINKING,
                    {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "gone", "is_error": True},
                    {"type": "text", "text": "go on"} | mark,
                ],
            },
        ],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    }


def test_what_went_before_stays_the_same_but_for_the_marks():
    messages = [user(f"{n}") if n % 2 == 0 else Message("assistant", (Text(f"{n}"),)) for n in range(9)]
    seen = ""
    for end in range(1, 10, 2):
        made = json.dumps(body(Request(MODEL, tuple(messages[:end]), 10))["messages"])
        assert made.count("cache_control") <= 2
        plain = made.replace(', "cache_control": {"type": "ephemeral"}', "").removesuffix("]")
        assert plain.startswith(seen)
        seen = plain


def test_empty_texts_are_not_sent_as_the_api_refuses_them():
    made = body(Request(MODEL, (Message("user", (Text(""), Text("a"))),), 10))
    assert made["messages"][0]["content"] == [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]


def test_whether_a_model_can_be_asked_is_known_without_asking():
    assert configured({}) is None
    assert configured({"ANTHROPIC_AUTH_TOKEN": TOKEN}) == "ANTHROPIC_AUTH_TOKEN"
    assert configured({"ANTHROPIC_AUTH_TOKEN": TOKEN, "ANTHROPIC_API_KEY": KEY}) == "ANTHROPIC_API_KEY"


def test_the_library_is_loaded_with_the_first_request_only():
    code = (
        "import sys; from memstore.jobs.llm import ApiModel, configured; import memstore.cli.doctor\n"
        "environment = {'ANTHROPIC_API_KEY': 'k'}; configured(environment); ApiModel.of(environment)\n"
        "assert 'anthropic' not in sys.modules and 'httpx2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

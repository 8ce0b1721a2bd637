"""Conversations in which a model works by tools, over the real library and a loopback; each way in which they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from memstore.core.usage import Usage
from memstore.errors import ModelAnswer, ModelBusy, ModelUnreachable, SettingRefused
from memstore.jobs.conversation import CUT_ANSWER, CUT_CALL, GO_ON, LAST_TURN, NO_INPUT, SILENT, Talk, converse
from memstore.jobs.llm import ApiModel
from memstore.jobs.messages import Kept, Message, Text, ToolResult, ToolUse, user
from tests.jobs.api import Scripted, request
from tests.messages_api import Blocks, Fail, Halting, Say, Use

THINKING = {"type": "thinking", "thinking": "First I look.", "signature": "c2lnbmF0dXJl"}


@dataclass
class Hands:
    """Carries out every call, and knows which."""

    done: list[ToolUse] = field(default_factory=list)

    def __call__(self, use: ToolUse) -> ToolResult:
        self.done.append(use)
        return ToolResult(use.id, f"did {use.name} {json.dumps(dict(use.input))}")


@pytest.fixture
def hands() -> Hands:
    return Hands()


def talk(api: Scripted, hands: Callable[[ToolUse], ToolResult], **options: Any) -> Talk:
    model = ApiModel.of(api.environment, retries=0)
    return converse(model, options.pop("request", request()), hands, **{"turns": 5, **options})


def call(name: str, given: object, number: int = 1) -> dict[str, object]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}


def test_calls_are_carried_out_in_order_and_told_until_the_last_word(api: Scripted, hands: Hands):
    api.steps = [
        Blocks((THINKING, call("Read", {"n": 1}, 1), call("Read", {"n": 2}, 2)), "tool_use"),
        Blocks((call("Write", {"n": 3}, 3),), "tool_use"),
        Say("Saved."),
    ]
    ended = talk(api, hands)
    assert (ended.ended, ended.last_text, ended.error) == ("said", "Saved.", None)
    assert [use.input["n"] for use in hands.done] == [1, 2, 3]
    assert ended.messages == (
        user("hello"),
        Message(
            "assistant",
            (Kept(THINKING), ToolUse("toolu_1", "Read", {"n": 1}), ToolUse("toolu_2", "Read", {"n": 2})),
        ),
        Message("user", (ToolResult("toolu_1", 'did Read {"n": 1}'), ToolResult("toolu_2", 'did Read {"n": 2}'))),
        Message("assistant", (ToolUse("toolu_3", "Write", {"n": 3}),)),
        Message("user", (ToolResult("toolu_3", 'did Write {"n": 3}'),)),
        Message("assistant", (Text("Saved."),)),
    )
    assert api.bodies[1]["messages"][1]["content"][0] == THINKING


def test_tokens_and_costs_of_all_answers_are_added(api: Scripted, hands: Hands):
    usage = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 1000}
    api.steps = [Blocks((call("Read", {}),), "tool_use", usage), Blocks(({"type": "text", "text": "a"},), usage=usage)]
    ended = talk(api, hands)
    assert ended.usage == Usage(200, 20, 2000, 0)
    assert ended.cost == 2 * (200 + 100 + 100)
    assert len(ended.replies) == 2


def test_on_its_last_turn_the_model_is_told_so_and_what_it_calls_is_still_done(api: Scripted, hands: Hands):
    api.steps = [Use("Read", {}), Use("Write", {}), Use("Write", {})]
    ended = talk(api, hands, turns=2)
    assert ended.ended == "turns"
    assert [use.name for use in hands.done] == ["Read", "Write"]
    first, second = (body["messages"][-1]["content"] for body in api.bodies)
    assert LAST_TURN not in json.dumps(first)
    assert [block["type"] for block in second] == ["tool_result"]
    assert second[0]["content"] == f"did Read {{}}\n\n{LAST_TURN}"
    assert len(api.asked) == 2


def test_a_single_turn_is_told_behind_what_was_asked(api: Scripted, hands: Hands):
    api.steps = [Say()]
    assert talk(api, hands, turns=1).ended == "said"
    assert [block["text"] for block in api.bodies[0]["messages"][0]["content"]] == ["hello", LAST_TURN]


def test_a_call_that_the_limit_cut_off_is_never_carried_out(api: Scripted, hands: Hands):
    api.steps = [
        Blocks((call("Read", {}, 1), call("Write", '{"content": "half of', 2)), "max_tokens"),
        Blocks((call("Write", {"content": "whole"}, 3),), "max_tokens"),
        Say("Well."),
    ]
    ended = talk(api, hands)
    assert [use.name for use in hands.done] == ["Read"]
    told = CUT_CALL.format(limit=1000)
    assert api.bodies[1]["messages"][-1]["content"][1] == {
        "type": "tool_result",
        "tool_use_id": "toolu_2",
        "content": told,
        "is_error": True,
        "cache_control": {"type": "ephemeral"},
    }
    assert api.bodies[2]["messages"][-1]["content"][0]["content"] == told
    assert ended.ended == "said"


def test_a_call_whose_input_is_no_object_is_not_carried_out(api: Scripted, hands: Hands):
    api.steps = [Blocks((call("Write", "[1]"),), "tool_use"), Say()]
    talk(api, hands)
    assert hands.done == []
    assert api.bodies[1]["messages"][-1]["content"][0]["content"] == NO_INPUT


def test_words_that_the_limit_cut_off_are_no_last_word(api: Scripted, hands: Hands):
    api.steps = [Blocks(({"type": "text", "text": "I found"},), "max_tokens"), Say("all.")]
    ended = talk(api, hands)
    assert ended.ended == "said"
    told = [block["text"] for block in api.bodies[1]["messages"][-1]["content"]]
    assert told == [CUT_ANSWER.format(limit=1000)]
    api.steps = [Blocks(({"type": "text", "text": "I found"},), "max_tokens")]
    assert talk(api, hands, turns=1).ended == "turns"


def test_thinking_that_the_limit_cut_off_does_not_go_back(api: Scripted, hands: Hands):
    half = {"type": "thinking", "thinking": "First"}
    api.steps = [Blocks((half,), "max_tokens"), Blocks(({"type": "text", "text": "So"}, half), "max_tokens"), Say()]
    ended = talk(api, hands)
    assert [message.role for message in ended.messages] == ["user", "user", "assistant", "user", "assistant"]
    assert "thinking" not in json.dumps(api.bodies[2])


def test_a_pause_is_no_last_word(api: Scripted, hands: Hands):
    api.steps = [Blocks(({"type": "text", "text": "Let me look"},), "pause_turn"), Say("all.")]
    assert talk(api, hands).last_text == "all."
    assert api.bodies[1]["messages"][-1]["content"][0]["text"] == GO_ON


def test_who_answers_nothing_is_asked_once_more(api: Scripted, hands: Hands):
    nothing = Blocks(({**THINKING},))
    api.steps = [Use("Read", {}), nothing, Use("Write", {}), nothing, Blocks(()), Say("never asked")]
    assert talk(api, hands, turns=9).ended == "said"
    assert [use.name for use in hands.done] == ["Read", "Write"]
    told = [body["messages"][-1]["content"][-1]["content"] for body in api.bodies[1:]]
    assert [SILENT in text for text in told] == [False, True, False, True]
    api.steps = [Use("Read", {}), nothing]
    assert talk(api, hands, turns=2).ended == "said", "on its last turn it was told to say nothing more"


@pytest.mark.parametrize("stop", ["tool_use", "content_filter", "what comes next year"])
def test_who_stops_for_no_known_reason_has_said_nothing_that_counts(api: Scripted, hands: Hands, stop: str):
    api.steps = [Blocks(({"type": "text", "text": "Let me look"},), stop)]
    ended = talk(api, hands)
    assert ended.ended == "failed" and isinstance(ended.error, ModelAnswer) and ended.error.passing
    assert f"no known reason: {stop}" in str(ended.error)


def test_blank_words_beside_a_call_do_not_go_back_as_the_api_refuses_them(api: Scripted, hands: Hands):
    api.steps = [Blocks(({"type": "text", "text": "\n\n"}, call("Read", {})), "tool_use"), Say()]
    talk(api, hands)
    assert [block["type"] for block in api.bodies[1]["messages"][1]["content"]] == ["tool_use"]


def test_a_refusal_ends_it_and_nothing_of_it_is_carried_out(api: Scripted, hands: Hands):
    api.steps = [Use("Read", {}), Blocks((call("Write", {}),), "refusal")]
    ended = talk(api, hands)
    assert ended.ended == "refused"
    assert [use.name for use in hands.done] == ["Read"]
    assert len(ended.replies) == 2


def test_a_model_that_is_gone_ends_it_with_all_that_was_said_and_spent(api: Scripted, hands: Hands):
    api.steps = [Use("Write", {}), Fail(529, "overloaded_error", "Sorry")]
    ended = talk(api, hands)
    assert ended.ended == "failed"
    assert isinstance(ended.error, ModelBusy)
    assert ended.usage == Usage(10, 5)
    assert len(ended.messages) == 3
    api.steps = [Halting(Use("Write", {}), events=5)]
    ended = talk(api, hands)
    assert isinstance(ended.error, ModelUnreachable)
    assert len(hands.done) == 1


def test_it_is_called_off_before_the_next_answer(api: Scripted, hands: Hands):
    api.steps = [Use("Write", {}), Say()]
    ended = talk(api, hands, cancelled=lambda: bool(hands.done))
    assert (ended.ended, len(api.asked), len(hands.done)) == ("cancelled", 1, 1)
    assert talk(api, hands, cancelled=lambda: True).replies == ()


def test_a_budget_stops_before_the_answer_that_would_go_beyond_it(api: Scripted, hands: Hands):
    dear = {"output_tokens": 1_000, "input_tokens": 0}
    api.steps = [Blocks((call("Read", {}, number),), "tool_use", dear) for number in range(4)]
    ended = talk(api, hands, budget=30_000)
    assert (ended.ended, ended.cost, len(api.asked)) == ("budget", 30_000, 3)
    assert len(hands.done) == 3


def test_without_a_budget_the_price_does_not_matter(api: Scripted, hands: Hands):
    api.steps = [Use("Read", {}), Say()]
    ended = talk(api, hands, request=request(model="local-model"))
    assert (ended.ended, ended.cost) == ("said", None)


def test_a_budget_cannot_be_kept_where_the_price_is_not_known(api: Scripted, hands: Hands):
    with pytest.raises(SettingRefused) as refused:
        talk(api, hands, request=request(model="local-model"), budget=1)
    assert str(refused.value) == "a budget is set, and what local-model costs is not known"
    assert refused.value.hint.startswith("unset the budget, or take a model whose price is known: claude-")
    assert api.asked == []


def test_a_budget_stops_where_the_answer_comes_from_a_model_without_a_price(api: Scripted, hands: Hands):
    api.steps = [Blocks((call("Read", {}),), "tool_use", model="local-model"), Say()]
    ended = talk(api, hands, budget=1_000_000)
    assert (ended.ended, ended.cost, len(api.asked)) == ("budget", None, 1)


def test_a_conversation_goes_on_from_where_it_ended(api: Scripted, hands: Hands):
    api.steps = [Use("Write", {}), Say("Saved.")]
    before = talk(api, hands)
    asked = replace(request(), messages=(*before.messages, user("It has changed: look again.")))
    api.steps = [Say("Looked.")]
    after = talk(api, hands, request=asked)
    assert after.last_text == "Looked."
    assert after.messages[: len(before.messages)] == before.messages
    assert len(after.replies) == 1


def test_what_was_answered_before_counts_for_the_turns_and_the_budget(api: Scripted, hands: Hands):
    dear = {"output_tokens": 1_000, "input_tokens": 0}
    api.steps = [Blocks((call("Read", {}, number),), "tool_use", dear) for number in range(4)]
    before = talk(api, hands, turns=2)
    asked = replace(request(), messages=before.messages)
    assert talk(api, hands, request=asked, turns=2, earlier=before.replies).ended == "turns"
    assert talk(api, hands, request=asked, budget=25_000, earlier=before.replies).ended == "budget"
    assert len(api.asked) == 2
    after = talk(api, hands, request=asked, turns=3, budget=30_000, earlier=before.replies)
    assert (after.ended, len(after.replies), len(api.asked)) == ("turns", 1, 3)
    assert LAST_TURN in json.dumps(api.bodies[2]["messages"][-1])


def test_a_result_always_has_the_name_of_its_call(api: Scripted):
    api.steps = [Use("Read", {}), Say()]
    talk(api, lambda use: ToolResult("another", "did"))
    sent = api.bodies[1]["messages"]
    assert sent[2]["content"][0]["tool_use_id"] == sent[1]["content"][0]["id"]


def test_what_the_hands_raise_goes_through(api: Scripted):
    def broken(use: ToolUse) -> ToolResult:
        raise OSError("disk")

    api.steps = [Use("Write", {})]
    with pytest.raises(OSError, match="disk"):
        talk(api, broken)

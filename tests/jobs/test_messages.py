"""What answers hold, and what they cost."""

from __future__ import annotations

from dataclasses import astuple

from memstore.core.settings import DEFAULT_MODEL
from memstore.core.usage import Usage
from memstore.jobs.messages import PRICED, Kept, Reply, Text, ToolUse, cost, priced


def test_the_price_of_the_default_model_is_known():
    assert priced(DEFAULT_MODEL)


def test_the_cost_of_an_answer_adds_up_all_four_kinds_of_tokens():
    usage = Usage(input=1_000_000, output=100_000, cache_read=2_000_000, cache_written=400_000)
    assert cost("claude-sonnet-5-5", usage) == 2_000_000 + 1_000_000 + 200_000 + 1_000_000


def test_a_cost_is_rounded_up_so_that_a_budget_is_never_passed_unseen():
    assert cost("claude-haiku-5-5", Usage(cache_read=1)) == 1
    assert cost("claude-haiku-5-5", Usage()) == 0


def test_a_long_prompt_costs_more_where_the_price_list_says_so():
    assert cost("claude-haiku-5-5", Usage(input=60_000, cache_read=40_000)) == 6_000 + 400
    assert cost("claude-haiku-5-5", Usage(input=60_000, cache_read=40_001)) == 30_000 + 2_001
    assert cost("claude-sonnet-5-5", Usage(input=200_000)) == 400_000


def test_a_snapshot_costs_what_its_model_costs():
    assert cost("claude-haiku-4-5-20251001", Usage(input=1_000)) == 1_000
    assert not priced("claude-haiku-4-5-latest")


def test_the_cost_of_an_unknown_model_is_unknown_and_not_nothing():
    assert cost("gateway/claude-sonnet-5-5", Usage(input=1)) is None
    assert cost("claude-sonnet-5-6", Usage(input=1)) is None
    assert cost("", Usage()) is None
    assert Reply((), "end_turn", Usage(input=1), "local-model").cost is None


def test_costs_are_exact_for_every_model_and_kind_of_token():
    for model in PRICED:
        for usage in (Usage(input=1_000), Usage(output=1_000), Usage(cache_read=1_000), Usage(cache_written=1_000)):
            one, ten = cost(model, usage), cost(model, Usage(*(10 * number for number in astuple(usage))))
            assert one and ten == 10 * one


def test_the_cache_hits_are_per_cent_of_what_went_in():
    assert Usage(input=100, output=900, cache_read=800, cache_written=100).hit == 80
    assert Usage().hit == 0
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)


def test_an_answer_tells_its_words_and_its_calls():
    use = ToolUse("toolu_1", "Read", {"file_path": "a.md"})
    reply = Reply((Kept({"type": "thinking"}), Text("One."), use, Text(""), Text("Two.")), "tool_use")
    assert reply.text == "One.\n\nTwo."
    assert reply.uses == (use,)
    assert not reply.cut
    assert Reply((), "max_tokens").cut

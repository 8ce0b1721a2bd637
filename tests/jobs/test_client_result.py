"""What the client's program says when a fork has ended. The results are those of the client 2.1.332."""

from __future__ import annotations

from typing import Any

import pytest

from memstore.claude.ending import CostState
from memstore.core.usage import Usage
from memstore.errors import (
    ModelAnswer,
    ModelBusy,
    ModelDeclined,
    ModelError,
    ModelNotFound,
    ModelUnauthorized,
    ModelUnreachable,
)
from memstore.jobs.client_result import Result, read_result
from tests.jobs.standin import MODEL, finished, result

OPUS = "There's an issue with the selected model (x). It may not exist or you may not have access to it."


def read(value: object, costs: tuple[CostState, ...] = (), code: int = 0, err: str = "") -> Result:
    return read_result(finished(value, code, err), lambda: costs, str)


def test_an_answer_has_its_tokens_its_model_and_its_cost():
    assert read(result("words")) == Result("words", Usage(10, 90, 900, 0), 10_000, MODEL)


@pytest.mark.parametrize(
    ("more", "kind", "passing"),
    [
        ({"result": "Not logged in · Please run /login", "terminal_reason": "api_error"}, ModelUnauthorized, False),
        ({"result": "Failed to authenticate. API Error: 401 no", "api_error_status": 401}, ModelUnauthorized, False),
        ({"result": "Failed to authenticate. API Error: 403 no", "api_error_status": 403}, ModelUnauthorized, False),
        ({"result": OPUS, "api_error_status": 404}, ModelNotFound, False),
        ({"result": "API Error: Request rejected (429) · slow down", "api_error_status": 429}, ModelBusy, True),
        ({"result": "Claude usage limit reached. Your limit will reset at 3pm"}, ModelBusy, True),
        ({"result": "You've hit your session limit · resets 3pm"}, ModelBusy, True),
        ({"result": "API Error: 529 over. This is a server-side issue", "api_error_status": 529}, ModelBusy, True),
        ({"result": "Credit balance is too low", "api_error_status": 400}, ModelDeclined, False),
        ({"result": "Prompt is too long", "api_error_status": 400}, ModelDeclined, False),
        ({"result": "API Error: Connection refused — a firewall (ECONNREFUSED)"}, ModelUnreachable, True),
        ({"result": None, "subtype": "error_during_execution", "errors": ["it broke"]}, ModelAnswer, True),
        ({"result": None, "subtype": "error_during_execution", "errors": ["No conversation found with session ID: x"]},
         ModelDeclined, False),
        ({"result": None, "subtype": "something_new"}, ModelAnswer, True),
        ({"result": ["words"], "is_error": False}, ModelAnswer, True),
    ],
    ids=lambda value: str(value)[12:50] if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_failure_is_of_a_kind_with_what_was_said_and_the_next_step(
    more: dict[str, Any], kind: type[ModelError], passing: bool
):
    found = read(result(None, **{"is_error": True, **more}), code=1)
    assert type(found.error) is kind and found.error.passing is passing
    assert found.error.hint
    words = more["result"] if isinstance(more["result"], str) else (more.get("errors") or [""])[0]
    assert words in str(found.error)
    assert found.text == ""


@pytest.mark.parametrize(("subtype", "cut"), [("error_max_turns", "turns"), ("error_max_budget_usd", "budget")])
def test_an_end_before_an_answer_is_no_failure(subtype: str, cut: str):
    found = read(result(None, subtype=subtype, is_error=True), code=1)
    assert (found.cut, found.error, found.text, found.cost) == (cut, None, "", 10_000)


@pytest.mark.parametrize(
    ("value", "costs", "cost"),
    [
        ({}, (), 10_000),
        ({"before": 0.5}, (CostState(5_000, 0.5),), 10_000),
        ({"before": 0.5}, (CostState(9_000, 0.9), CostState(5_000, 0.5), CostState(10, 0.1)), 10_000),
        ({"before": 0.5001}, (CostState(9_000, 0.9), CostState(5_000, 0.5)), 10_100),  # and an aside of the fork's
        ({"before": 0.5}, (CostState(5_000, None),), None),
        ({"before": 0.5}, (), 510_000),  # nothing is noted, so it is all the fork's: titles and such
        ({"before": 0.5}, (CostState(9_000, 0.9),), 2_020),  # by the price list: 10*4 + 90*20 + 900*0.2
        ({"total_cost_usd": None}, (), 2_020),
        ({"total_cost_usd": True}, (), 2_020),
        ({"total_cost_usd": 0, "usage": {}}, (), 0),
        ({"total_cost_usd": None, "modelUsage": None}, (), None),
    ],
)
def test_the_cost_is_the_fork_s_alone(value: dict[str, Any], costs: tuple[CostState, ...], cost: int | None):
    assert read(result("x", **value), costs).cost == cost


@pytest.mark.parametrize("value", [None, [], "x", 1, {}, {"type": "assistant"}, [result("x")]])
def test_what_is_no_result_is_no_answer(value: object):
    with pytest.raises(ModelAnswer, match="no result of the client"):
        read(value)


def test_counts_of_other_types_are_none():
    odd = {"usage": {"input_tokens": "10", "output_tokens": None}, "modelUsage": {"m": 1, "n": {"outputTokens": 3}}}
    assert read(result("x", **odd)).usage == Usage()

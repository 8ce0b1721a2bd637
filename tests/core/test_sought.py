"""What a prompt looks for."""

from __future__ import annotations

import pytest

from memstore.core.sought import Sought, read_prompt


def things(text: str) -> dict[str, Sought]:
    return {thing.text: thing for thing in read_prompt(text).sought}


def test_words_that_say_nothing_are_left_out_and_those_that_ask_weigh_less():
    found = things("How many times did we deploy the billing service?")
    assert set(found) == {"many", "times", "deploy", "billing", "service"}
    assert found["many"].weight < found["billing"].weight == 1.0


def test_forms_count_nearly_as_the_word_and_kin_are_kept_apart():
    wrote = things("who wrote it")["wrote"]
    assert [(spelling.terms, spelling.share < 1) for spelling in wrote.same] == [
        ("wrote", False), ("write", True), ("written", True)
    ]  # fmt: skip
    assert "sister" in things("siblings")["siblings"].kin


def test_words_that_only_ask_have_no_kin():
    assert things("recommend")["recommend"].kin == ()


def test_an_identifier_is_looked_for_whole_and_in_its_parts():
    found = things("src/auth/session.ts")
    assert found["src/auth/session.ts"].weight > found["session"].weight > 0


def test_a_run_without_spaces_is_looked_for_as_a_phrase_and_in_its_pairs():
    assert {"数据库迁移", "数据", "据库", "迁移"} <= set(things("数据库迁移"))
    one = things("锁")["锁"]
    assert one.same[0].prefix


def test_a_writer_who_speaks_of_himself_is_noticed():
    assert read_prompt("what was my last job").own
    assert not read_prompt("what was the last job").own


def test_of_a_long_prompt_the_end_is_read_too():
    filler = " ".join(f"word{number}" for number in range(5_000))
    assert {"word0", "zebra"} <= set(things(f"{filler} zebra"))


@pytest.mark.parametrize("text", ["", " \n\t", "?!", "...", "\u200b\u202e", "\x00"])
def test_what_holds_no_word_looks_for_nothing(text: str):
    assert read_prompt(text).sought == ()


def test_nothing_is_looked_for_twice():
    texts = [thing.same[0].terms for thing in read_prompt("cache the cache, cache_key and Cache 缓存 缓存").sought]
    assert len(texts) == len(set(texts))

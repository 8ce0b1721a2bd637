"""Texts that say nearly the same are found in any script, and what they differ in is told."""

from __future__ import annotations

from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstore.core.near import FEWEST, LIKENESS, LONGEST, differing, near
from memstore.core.terms import document_terms

ENGLISH = "Use bun to install dependencies in this repository, and commit the lock file with each change you make."
CHINESE = "统一使用 bun 安装依赖，不要使用 npm，之前混用导致锁文件冲突，发布被卡住半天。"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ENGLISH, ENGLISH.replace("each", "every")),
        (CHINESE, CHINESE.replace("半天", "一天")),
        (ENGLISH, ENGLISH.upper()),
    ],
)
def test_texts_with_a_word_or_two_changed_are_near(one: str, other: str):
    (found,) = near([(0, one), (0, other)])
    assert (found.first, found.second) == (0, 1)
    assert LIKENESS <= found.share <= 1


def test_other_groups_short_texts_and_huge_ones_are_near_to_nothing():
    huge = "word " * LONGEST
    assert near([(0, ENGLISH), (1, ENGLISH)]) == []
    assert near([(0, "it is 7443"), (0, "it is 7443")]) == []
    assert near([(0, huge), (0, huge)]) == []
    assert near([(0, ENGLISH), (0, CHINESE)]) == []


def test_of_many_copies_each_is_told_once_with_the_first():
    assert [(one.first, one.second) for one in near([(0, ENGLISH)] * 4)] == [(0, 1), (0, 2), (0, 3)]


def test_thousands_of_texts_of_one_pattern_are_not_compared_with_one_another():
    pattern = "on day d{0} the nightly build of branch b{0} failed in step s{0} because runner x{0} had no space left"
    more = " on its disk and the cleanup job did not run before the build was started again by the scheduler"
    begun = process_time()
    assert near([(0, pattern.format(number) + more) for number in range(4_000)]) == []
    assert process_time() - begun < 4, "it takes tens of seconds where each is compared with each"


WORDS = st.lists(
    st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"]), min_size=0, max_size=20
)


@settings(max_examples=100)
@given(st.lists(WORDS, max_size=8))
def test_whoever_compares_all_with_all_finds_no_nearer_one(lists: list[list[str]]):
    texts = [" ".join(words) for words in lists]
    sets = [pairs(text) for text in texts]
    found = {one.second: one for one in near([(0, text) for text in texts])}
    for at, mine in enumerate(sets):
        shares = [
            len(mine & sets[other]) / len(mine | sets[other])
            for other in range(at)
            if other not in found and min(len(mine), len(sets[other])) >= FEWEST
        ]
        best = max(shares, default=0)
        assert (found[at].share if at in found else 0) == (best if best >= LIKENESS else 0)


def pairs(text: str) -> frozenset[tuple[str, str]]:
    terms = document_terms(text).split(" ")
    return frozenset(pairwise(terms))


@pytest.mark.parametrize(
    ("one", "other", "signs"),
    [
        ("listens on 7080.", "listens on 7443", ("7080", "7443")),
        ("Use mocks", "Do not use mocks", ("not",)),
        ("Use mocks", "Don’t use mocks", ("don't",)),
        ("要使用 npm", "不要使用 npm", ("不",)),
        ("构建在夜里三点开始", "构建在夜里三点半开始", ("三点", "三点半")),
        ("每周三发布", "每週五发布", ("周三", "週五")),
        ("三点开始", "三点开始，一共两次", ()),
        ("Wait for two nights", "Wait for three nights", ("two", "three")),
        ("emptied each Sunday", "emptied each Monday", ("sunday", "monday")),
        ("emptied next Monday", "emptied on 2026-12-07", ()),
        ("Mocks nutzen", "Keine Mocks nutzen", ("keine",)),
        ("listens on 7080", "listens on 7080, and on 7443 as well", ()),
        ("always, never", "never always", ()),
        ("the same", "the very same", ()),
    ],
)
def test_figures_and_words_that_turn_a_sentence_are_told_apart(one: str, other: str, signs: tuple[str, ...]):
    assert differing(one, other) == signs

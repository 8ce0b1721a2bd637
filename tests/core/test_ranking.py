"""The order of a short-list, from where the words of a prompt occur."""

from __future__ import annotations

from memstore.core.ranking import Candidate, Pool, Scored, explain, favour_own, rank, weigh
from memstore.core.sought import Sought, Spelling


def thing(text: str, weight: float = 1.0) -> Sought:
    return Sought(text, weight, (Spelling(text),))


def candidate(key: int, *, size: int = 100, **places: dict[str, list[int]]) -> Candidate:
    """`places`: the fields of slot n as `s0={"body": [3]}`."""
    hits = {
        int(slot[1:]): tuple(dict.fromkeys(fields.get(name, ()), 1.0) for name in ("name", "description", "body"))
        for slot, fields in places.items()
    }
    return Candidate(key, (0, 0, size), hits)  # type: ignore[arg-type]  # three fields each


def pool(*candidates: Candidate, things: int = 1, rows: tuple[float, ...] | None = None) -> Pool:
    sought = tuple(thing(f"w{number}") for number in range(things))
    rows = rows or (2.0,) * things
    return Pool(100, 100.0, sought, rows, tuple(2 * row for row in rows), list(candidates))


def keys(pool: Pool, most: int = 10) -> list[int]:
    return [one.candidate.key for one in rank(pool, most)]


def test_a_rarer_word_outweighs_a_commoner_one():
    assert keys(pool(candidate(1, s0={"body": [1]}), candidate(2, s2={"body": [1]}), things=2, rows=(50.0, 2.0))) == [
        2,
        1,
    ]


def test_a_hit_in_the_name_outweighs_one_in_the_body():
    assert keys(pool(candidate(1, s0={"body": [1]}), candidate(2, s0={"name": [0]}))) == [2, 1]


def test_words_in_one_passage_outweigh_the_same_words_far_apart():
    near = candidate(1, size=1_000, s0={"body": [500]}, s2={"body": [510]})
    far = candidate(2, size=1_000, s0={"body": [10]}, s2={"body": [900]})
    assert keys(pool(far, near, things=2)) == [1, 2]


def test_a_passage_may_lie_across_the_steps_in_which_they_are_counted():
    ranked = rank(pool(candidate(1, size=1_000, s0={"body": [49]}, s2={"body": [51]}), things=2), 1)
    assert ranked[0].passage == 0


def test_the_longer_of_two_memories_with_the_same_hit_comes_second():
    assert keys(pool(candidate(1, size=2_000, s0={"body": [1]}), candidate(2, size=50, s0={"body": [1]}))) == [2, 1]


def test_kin_counts_for_less_and_not_beside_the_thing_itself():
    itself, kin = candidate(1, s0={"body": [1]}), candidate(2, s1={"body": [1]})
    both = candidate(3, s0={"body": [1]}, s1={"body": [2]})
    ranked = {one.candidate.key: one.score for one in rank(pool(itself, kin, both), 3)}
    assert ranked[1] == ranked[3] > ranked[2] > 0


def test_equal_memories_stand_newest_first():
    assert keys(pool(*(candidate(key, s0={"body": [1]}) for key in (3, 1, 2)))) == [3, 2, 1]


def test_only_the_best_are_given_and_the_shortcut_loses_none_of_them():
    many = [
        candidate(key, size=400, s0={"body": [key % 7, 300]}, **({"s2": {"body": [key * 13 % 400]}} if key % 3 else {}))
        for key in range(1, 60)
    ]
    everything = keys(pool(*many, things=2), 100)
    assert len(everything) == 59
    assert keys(pool(*many, things=2), 5) == everything[:5]


def test_a_passage_in_which_its_writer_speaks_goes_up_for_one_who_speaks_of_himself():
    ranked = rank(pool(candidate(1, s0={"body": [2]}), candidate(2, s0={"body": [2]})), 2)
    assert [one.candidate.key for one in ranked] == [2, 1]
    favoured = favour_own(ranked, {1: "yesterday my w0 broke", 2: "yesterday the w0 broke"})
    assert [(one.candidate.key, one.own) for one in favoured] == [(1, True), (2, False)]


def test_reasons_name_what_was_found_and_where_the_weightiest_first():
    held = pool(candidate(1, s0={"body": [1, 9]}, s2={"name": [0]}, s5={"description": [0]}), things=3)
    (reasons,) = explain(rank(held, 1), held)
    assert [(reason.word, reason.fields, reason.count, reason.kin) for reason in reasons] == [
        ("w1", ("name",), 1, False),
        ("w0", ("body",), 2, False),
        ("w2", ("description",), 1, True),
    ]


def scored(*scores: float) -> list[Scored]:
    return [Scored(candidate(key), score, None) for key, score in enumerate(scores, 1)]


def test_likeness_is_added_as_a_share_of_the_best_score():
    found = weigh(scored(10.0, 8.0, 2.0), [0.0, 1.0, 0.5])
    assert [(one.candidate.key, round(one.score, 6)) for one in found] == [(2, 8.6), (1, 7.0), (3, 2.9)]


def test_what_was_not_compared_keeps_its_place_behind_and_odd_values_stay_within_bounds():
    found = weigh(scored(10.0, 9.0, 9.0, 8.0), [-5.0, 7.0])
    assert [(one.candidate.key, round(one.score, 6)) for one in found] == [(2, 9.3), (1, 7.0), (3, 6.3), (4, 5.6)]
    assert weigh([], []) == []


def test_without_candidates_nothing_is_ranked():
    assert rank(pool(), 5) == []
    assert favour_own([], {}) == []

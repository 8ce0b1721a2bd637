"""What is sure enough to be told unasked."""

from __future__ import annotations

from memstore.core.certain import Verdict, spread, verdicts
from memstore.core.ranking import Reason
from memstore.core.sought import read_prompt

NAMED, BODY = ("description",), ("body",)


def has(word: str, fields: tuple[str, ...] = BODY, kin: bool = False) -> Reason:
    return Reason(word, fields, 1, kin, 1.0)


def judge(prompt: str, *memories: list[Reason], frequent: dict[str, float] | None = None) -> list[Verdict]:
    return verdicts(read_prompt(prompt).sought, memories, frequent or {})


def sure(prompt: str, *found: Reason, frequent: dict[str, float] | None = None) -> bool:
    return judge(prompt, list(found), frequent=frequent)[0].sure


def test_a_telling_word_in_the_description_is_enough():
    assert sure("which port does staging use?", has("staging", NAMED), has("port", NAMED))
    assert sure("please explain bazel to me", has("bazel", NAMED))


def test_words_of_every_prompt_are_not():
    assert not sure("fix the failing test in this file", has("fix", NAMED), has("test", NAMED), has("file", NAMED))
    assert not sure("帮我看看", has("看看", NAMED))
    assert not sure("what now?", has("now", NAMED)) and not sure("the", has("the", NAMED))
    assert sure("don't", has("don't"))


def test_one_everyday_word_in_a_body_is_enough_only_where_the_prompt_just_names_things():
    assert not sure("make the button blue", has("blue"))
    assert sure("colours and blue", has("blue"))
    assert sure("can we use tomllib here?", has("tomllib"))


def test_a_name_in_code_is_enough_anywhere():
    assert sure("why does load_cfg fail after the update?", has("load_cfg"))


def test_h26_a_name_within_a_longer_one_that_occurs_nowhere_says_all_of_it():
    assert sure("ssh root@10.9.8.7", has("10.9.8.7"), has("10"))
    parts = [has("load_cfg"), has("load"), has("cfg")]
    assert sure("why does self.load_cfg(path) hang?", *parts)
    whole, part = judge("why does self.load_cfg(path) hang?", [has("self.load_cfg"), *parts], parts)
    assert whole.sure and not part.sure


def test_what_every_third_memory_has_says_little():
    assert sure("please explain bazel to me", has("bazel", NAMED), frequent={"bazel": 0.05})
    assert not sure("please explain bazel to me", has("bazel", NAMED), frequent={"bazel": 0.4})


def test_a_long_prompt_has_to_share_more_where_other_memories_have_its_words_too():
    words = [f"subject{letter}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    prompt, one = " ".join(words), [has(words[0], NAMED)]
    others = [[has(word)] for word in words]
    assert judge(prompt, one)[0].sure
    assert not judge(prompt, one, *others)[0].sure
    assert judge(prompt, [has(word, NAMED) for word in words[:6]], *others)[0].sure


def test_kin_alone_is_not():
    assert not sure("please explain bazel to me", has("bazel", NAMED, kin=True))


def test_what_is_far_behind_the_best_is_left_out():
    best = [has(word, NAMED) for word in ("staging", "port", "proxy", "tunnel")]
    prompt = "staging port proxy tunnel"
    assert [one.sure for one in judge(prompt, best, [has("staging", NAMED)])] == [True, False]
    assert judge(prompt, [has("staging", NAMED)])[0].sure


def test_each_verdict_says_why():
    assert judge("staging port", [has("staging", NAMED)])[0].why == "has staging"
    assert all(one.why for one in judge("make the button blue", [has("blue")], [has("make")], []))


def test_frequency_is_told_by_the_short_list_and_only_of_many_memories():
    found = [[has("port")], [has("port"), has("staging", kin=True)]]
    assert spread(found, 4) == {}
    assert spread(found, 40) == {"port": 0.05}

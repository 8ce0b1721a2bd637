"""The settings: what each takes, what is refused and how, and whose value counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.settings import DEFAULT_MODEL, KEYS, Settings, Value, key_of, parse, written
from memstore.errors import InputRefused, SettingRefused


def test_each_setting_has_a_meaning_and_a_default_that_it_takes_itself():
    for name, key in KEYS.items():
        assert key.meaning and key.allowed
        assert parse(name, written(name, key.default)) == key.default


def test_the_defaults_are_those_of_a_fresh_start():
    settings = Settings()
    assert {name: settings.get(name) for name in KEYS} == {
        "extract.enabled": True,
        "extract.after_own_save": "skip",
        "extract.every": 1,
        "extract.turns": 5,
        "extract.files": 20,
        "extract.via": "auto",
        "extract.bash": "off",
        "claude": "claude",
        "model.extract": DEFAULT_MODEL,
        "model.notes": DEFAULT_MODEL,
        "model.dream": DEFAULT_MODEL,
        "budget.run": 0,
        "budget.day": 0,
        "notes.enabled": True,
        "notes.start": 10_000,
        "notes.every": 5_000,
        "notes.calls": 3,
        "dream.enabled": True,
        "dream.hours": 24,
        "dream.sessions": 5,
        "dream.scan_minutes": 10,
        "dream.share": 20,
        "dream.turns": 30,
        "recall.enabled": True,
        "recall.selector": "words",
        "recall.semantic": False,
        "model.recall": DEFAULT_MODEL,
        "assistant.enabled": False,
    }


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("extract.enabled", "off", False),
        ("extract.enabled", " YES ", True),
        ("notes.enabled", "0", False),
        ("extract.via", "Client", "client"),
        ("extract.every", "007", 7),
        ("notes.calls", "0", 0),
        ("budget.day", "1.5", 1_500_000),
        ("budget.day", "$0.000001", 1),
        ("budget.run", "0", 0),
        ("budget.run", "12", 12_000_000),
        ("model.extract", "claude-opus-5-5", "claude-opus-5-5"),
        ("claude", "/srv/the client/claude", "/srv/the client/claude"),
    ],
)
def test_a_value_is_read_as_a_person_means_it(name: str, text: str, value: Value):
    assert parse(name, text) == value
    assert parse(name, written(name, value)) == value


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("extract.enabled", "maybe", "it is true or false"),
        ("extract.enabled", "", "it is true or false"),
        ("extract.via", "fork", "it is auto or api or client"),
        ("extract.every", "0", "it is a whole number from 1 to 1000"),
        ("extract.every", "1.5", "it is a whole number from 1 to 1000"),
        ("extract.every", "-1", "it is a whole number from 1 to 1000"),
        ("extract.every", "９", "it is a whole number from 1 to 1000"),
        ("extract.turns", "9" * 5_000, "it is a whole number from 1 to 50"),
        ("budget.day", "-1", "it is US dollars such as 0.50; 0 for no limit"),
        ("budget.day", "1e3", "it is US dollars such as 0.50; 0 for no limit"),
        ("budget.day", "0.0000001", "it is US dollars such as 0.50; 0 for no limit"),
        ("budget.day", "nan", "it is US dollars such as 0.50; 0 for no limit"),
        ("model.notes", "", "it is 1 to 200 ASCII characters without a space"),
        ("model.notes", "two words", "it is 1 to 200 ASCII characters without a space"),
        ("model.notes", "a\nb", "it is 1 to 200 ASCII characters without a space"),
        ("model.notes", "\ud800", "it is 1 to 200 ASCII characters without a space"),
        ("claude", "bin/claude", "it is a name, or a whole path, of at most 1000 characters"),
    ],
)
def test_what_is_refused_says_what_is_allowed(name: str, text: str, said: str):
    with pytest.raises(InputRefused, match=rf"^{name} cannot be ") as refused:
        parse(name, text)
    assert refused.value.hint == said and len(str(refused.value)) < 200


def test_a_setting_that_there_is_not_names_those_that_there_are():
    for ask in (key_of, Settings().get, Settings().origin_of):
        with pytest.raises(SettingRefused, match=r"there is no setting 'extract\.evry'") as refused:
            ask("extract.evry")
        assert "did you mean extract.every? there are " in refused.value.hint


def test_the_environment_counts_before_the_store_the_store_before_the_user_and_the_user_before_the_default():
    environment, store, user = {"MEMSTORE_EXTRACT_EVERY": "2"}, {"extract.every": "3"}, {"extract.every": "4"}
    cases: list[tuple[Settings, str, int]] = [
        (Settings(environment, store, user), "environment", 2),
        (Settings({"MEMSTORE_EXTRACT_EVERY": ""}, store, user), "store", 3),
        (Settings({}, {}, user), "user", 4),
        (Settings(), "default", 1),
    ]
    for settings, source, value in cases:
        assert (settings.origin_of("extract.every"), settings.get("extract.every")) == (source, value)
        assert settings.origin_of("extract.turns") == "default"


def test_the_variable_of_a_key_has_its_name():
    assert KEYS["extract.after_own_save"].variable == "MEMSTORE_EXTRACT_AFTER_OWN_SAVE"
    assert len({key.variable for key in KEYS.values()}) == len(KEYS)


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        (Settings({"MEMSTORE_BUDGET_DAY": "none"}, {"budget.day": "1"}), "$MEMSTORE_BUDGET_DAY"),
        (Settings({}, {"budget.day": "none"}, {"budget.day": "1"}), "the repository's settings"),
        (Settings({}, {}, {"budget.day": "none"}), "the user's settings"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_its_source_and_not_passed_over(settings: Settings, where: str):
    with pytest.raises(SettingRefused) as refused:
        settings.number("budget.day")
    assert str(refused.value) == f"budget.day cannot be 'none' ({where})"
    assert settings.number("budget.run") == 0  # the others are there all the same


def test_values_come_as_what_they_are():
    settings = Settings({}, {"extract.enabled": "no", "budget.run": "0.25", "extract.via": "api"})
    assert settings.flag("extract.enabled") is False
    assert (settings.number("budget.run"), settings.number("notes.calls")) == (250_000, 3)
    assert settings.word("extract.via") == "api"


@given(st.sampled_from(sorted(KEYS)), st.text(alphabet=st.characters(exclude_categories=()), max_size=40))
def test_any_text_is_a_value_or_refused_and_what_is_written_is_read_again(name: str, text: str):
    try:
        value = parse(name, text)
    except SettingRefused:
        return
    assert parse(name, written(name, value)) == value


@given(st.integers(0, 999_999_999_999))
def test_money_is_kept_to_the_millionth(amount: int):
    assert parse("budget.day", written("budget.day", amount)) == amount

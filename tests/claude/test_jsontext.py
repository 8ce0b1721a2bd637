"""Settings files are edited as texts: what is put in comes out again, and nothing else moves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.claude.jsontext import get, is_empty, put, read_object, take
from memstore.errors import InputRefused

PATH = ("enabledPlugins", "memstore@skills-dir")
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@st.composite
def settings(draw: st.DrawFn) -> str:
    """A settings file in somebody's own manner, with our object or without it."""
    content: dict[str, Any] = draw(st.dictionaries(WORDS.filter(lambda key: key != PATH[0]), VALUES, max_size=4))
    if draw(st.booleans()):
        others = st.dictionaries(WORDS.filter(lambda key: key != PATH[1]), st.booleans(), max_size=3)
        items = [*content.items(), (PATH[0], draw(others))]
        content = dict(draw(st.permutations(items)))
    indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])) if indent is None else None
    text = json.dumps(content, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    around = draw(st.sampled_from(["", "\n", "\n\n", "  \n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + (text + around).replace("\n", newline)


@given(settings(), st.booleans())
def test_what_is_put_in_comes_out_again_byte_for_byte(text: str, value: bool):
    had = PATH[0] in read_object(text, "settings")
    changed = put(text, PATH, value, "settings")
    back = take(changed, PATH, "settings")
    if not had:
        back = take(back, PATH[:1], "settings")
    assert back == text


@given(settings(), st.booleans())
def test_only_our_entry_is_added_and_every_other_byte_stays_in_its_order(text: str, value: bool):
    before, changed = read_object(text, "settings"), put(text, PATH, value, "settings")
    after = dict(read_object(changed, "settings"))
    switches = dict(after[PATH[0]])
    assert switches.pop(PATH[1]) is value
    assert list(switches.items()) == list(before.get(PATH[0], {}).items())
    assert [key for key in after if key in before] == list(before)
    rest = iter(changed)
    assert all(sign in rest for sign in text)  # the old text is a subsequence of the new one


@given(settings(), st.booleans())
def test_putting_the_same_again_changes_nothing(text: str, value: bool):
    once = put(text, PATH, value, "settings")
    assert put(once, PATH, value, "settings") == once
    other = put(once, PATH, not value, "settings")
    assert get(read_object(other, "settings"), PATH) is (not value)
    assert put(other, PATH, value, "settings") == once


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", '{\n  "a": {\n    "b": true\n  }\n}'),
        ("", '{\n  "a": {\n    "b": true\n  }\n}\n'),
        ('{"x":1}', '{"x":1, "a": {"b": true}}'),
        ('{"x":1,"a":{}}', '{"x":1,"a":{"b": true}}'),
        ('{\n\t"x": 1\n}\n', '{\n\t"x": 1,\n\t"a": {\n\t\t"b": true\n\t}\n}\n'),
        ('{\r\n    "a": {\r\n    }\r\n}', '{\r\n    "a": {\r\n        "b": true\r\n    }\r\n}'),
        ('{\n  "a": {"c": 1},\n  "x": 2\n}', '{\n  "a": {"c": 1, "b": true},\n  "x": 2\n}'),
        ('{\n  "a": {\n    "b": false\n  }\n}', '{\n  "a": {\n    "b": true\n  }\n}'),
    ],
)
def test_an_entry_is_put_in_in_the_manner_of_the_file(text: str, wanted: str):
    assert put(text, ("a", "b"), True, "settings").replace("{\r\n    \r\n", "{\r\n") == wanted


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_member_is_taken_out_wherever_it_stands(place: str):
    keys = {"first": "bxy", "middle": "xby", "last": "xyb"}[place]
    text = json.dumps({"a": dict.fromkeys(keys, 1), "z": "}"}, indent=2)
    assert take(text, ("a", "b"), "settings") == json.dumps({"a": {"x": 1, "y": 1}, "z": "}"}, indent=2)


def test_taking_out_what_is_not_there_changes_nothing():
    for text in ("", "{}", '{"a": {}}', '{"a": {"c": 1}}'):
        assert take(text, ("a", "b"), "settings") == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, // why\n "b": 2}', "line 1, column 10"),
        ('{"a": 1,}', "line 1"),
        ("[1]", "no object"),
        ("null", "no object"),
        ("{" * 3, "line 1"),
        ('{"a":' * 100_000, "large"),
        ('{"a": "\n"}', "line 1"),
    ],
)
def test_what_is_not_json_is_refused_and_named(text: str, reason: str):
    with pytest.raises(InputRefused) as refused:
        put(text, PATH, True, "my/settings.json")
    assert str(refused.value).startswith("my/settings.json is not JSON that can be edited")
    assert reason in str(refused.value)
    with pytest.raises(InputRefused, match="not JSON"):
        take(text, PATH, "my/settings.json")


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": null}', '{"a": []}', '{"a": {"b": 1}, "a": {}}'])
def test_something_strange_under_our_keys_is_refused(text: str):
    with pytest.raises(InputRefused, match="left as it is"):
        put(text, ("a", "b", "c"), True, "settings")


def test_an_object_is_empty_or_not():
    assert is_empty('{"a": { }}', ("a",), "settings")
    assert not is_empty('{"a": {"b": 1}}', ("a",), "settings")
    assert not is_empty("{}", ("a",), "settings")

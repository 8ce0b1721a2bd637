from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from memstore.core.frontmatter import FIELDS, compose, read, set_field, split, with_body
from memstore.core.scalars import render, unescape
from memstore.core.yamlish import parse
from memstore.errors import InputRefused

ODD = "ab:# \"'\\\n\r\t\x00\x07\x85\xa0\u2028\u2029\ufeff\U000e0041[]{}&*!|>%@`-?~é漢😀"
GUESSED = ["no", "007", "12:30:45", "2026-03-01", "~", "null", "1e3", "0x1F", ".inf", "=", "<<", "---"]
TEXT = st.one_of(st.text(), st.text(st.sampled_from(ODD)), st.sampled_from(GUESSED))

SHAPES = {
    "client": b'---\nname: n\ndescription: "d, d"\nmetadata:\n  node_type: memory\n  type: user\n---\n\nbody\n',
    "older": b"---\n# a comment\nname: n\ntype: user # why\ndescription: d\ntags: [a, b]\n---\nbody",
    "crlf": b"\xef\xbb\xbf---\r\nname: n\r\ndescription: 'd'\r\nmetadata:\r\n  type: user\r\n---\r\nbody\r\n",
    "folded": b"---\nname:\n  n\ndescription: >\n  d\n\n  d\n\ntype: |\n  user\nlast: x\n---\n\n\nbody\n",
    "quoted": b'---\ndescription: "d\n  name: d" # c\nname: n\nmetadata:\n    tags:\n    - a\n    type: x\n---\n',
    "lenient": b"---\nname: a: b\ndescription: *d*\n\ttype: user\n---\nbody\xff\n",
    "indented": b"---\n  name: n\n  metadata:\n    type: x\n---\nbody\n",
    "few": b"---  \nname: n\nmetadata:\n---",
    "empty": b"\n\n---\n---\nbody\n",
    "crlf empty": b"---\r\n---\r\nbody\r\n",
    "none": b"just text\n\n---\n",
    "crlf none": b"\xef\xbb\xbfjust text\r\n",
    "nothing": b"",
}


QUOTED = [
    *(
        "no",
        "On",
        "2026-03-01",
        "12:30:45",
        "007",
        "1e3",
        "yes",
        "null",
        "~",
        "",
        "1.10",
        "0x1F",
        "a: b",
        "a:",
    ),
    *("a #b", " a", "a ", "- a", "*a*", "a\nb", "a\tb", "a\x85b", "a\u2028b", "a\x00b", '"a"', "'a'", "[a]"),
    "\ufeffa",
]


@pytest.mark.parametrize("value", QUOTED)
def test_h07_a_value_that_yaml_would_guess_at_is_quoted(value: str) -> None:
    assert render(value)[0] == '"'
    assert yaml.safe_load("k: " + render(value)) == {"k": value}


@pytest.mark.parametrize("value", ["plain", "two words, and a comma", 'it\'s "so"', "a:b", "a#b", "漢字", "éa - b"])
def test_harmless_text_stays_plain(value: str) -> None:
    assert render(value) == value
    assert yaml.safe_load("k: " + value) == {"k": value}


@given(TEXT)
@settings(max_examples=200)
def test_a_rendered_value_reads_back_unchanged_everywhere(value: str) -> None:
    for text in (render(value), render(value, quote=True)):
        assert "\n" not in text
        assert yaml.safe_load("k: " + text) == {"k": value}
    assert unescape(render(value, quote=True)[1:-1]) == value


@given(TEXT, TEXT, st.one_of(st.none(), TEXT), TEXT)
@settings(max_examples=200)
def test_what_is_composed_reads_back_as_the_same_strings(name: str, about: str, kind: str | None, body: str) -> None:
    content = compose(name, about, kind, body)
    document = read(content)
    assert (document.name, document.description, document.type) == (name, about, kind)
    assert document.has_header
    assert [problem.reason for problem in document.problems] in ([], ["a NUL character"])
    assert content.endswith(b"\n")
    header = yaml.safe_load(content.decode().split("\n---\n")[0].removeprefix("---\n"))
    nested = {} if kind is None else {"metadata": {"type": kind}}
    assert header == {"name": name, "description": about, **nested}


def test_a_new_memory_has_the_current_client_s_shape() -> None:
    assert compose("auth", "JWT: rules", "project", "Body.") == (
        b'---\nname: auth\ndescription: "JWT: rules"\nmetadata:\n  type: project\n---\n\nBody.\n'
    )
    assert compose("auth", "", None, "") == b'---\nname: auth\ndescription: ""\n---\n'


def test_half_a_surrogate_pair_is_refused() -> None:
    writes: list[Callable[[], bytes]] = [
        lambda: compose("\ud83d", "", None, ""),
        lambda: with_body(b"", "a\ud83d"),
        lambda: set_field(b"", "name", "\ud83d"),
    ]
    for write in writes:
        with pytest.raises(InputRefused, match="surrogate"):
            write()


@pytest.mark.parametrize(
    ("shape", "field", "old", "new"),
    [
        ("client", "name", b"name: n", b"name: new"),
        ("client", "description", b'"d, d"', b'"new"'),
        ("client", "type", b"type: user", b"type: new"),
        ("older", "type", b"type: user # why", b"type: new # why"),
        ("crlf", "description", b"'d'", b'"new"'),
        ("crlf", "type", b"  type: user\r\n", b"  type: new\r\n"),
        ("folded", "name", b"name:\n  n\n", b"name: new\n"),
        ("folded", "description", b">\n  d\n\n  d\n\n", b"new\n\n"),
        ("folded", "type", b"|\n  user\n", b"new\n"),
        ("quoted", "type", b"    type: x", b"    type: new"),
        ("lenient", "name", b"a: b", b"new"),
        ("lenient", "description", b"*d*", b"new"),
        ("lenient", "type", b"\ttype: user", b"\ttype: new"),
        ("indented", "description", b"  name: n\n", b"  name: n\n  description: new\n"),
        ("few", "type", b"metadata:\n", b"metadata:\n  type: new\n"),
        ("few", "description", b"name: n\n", b"name: n\ndescription: new\n"),
        ("empty", "type", b"---\n---\n", b"---\ntype: new\n---\n"),
        ("crlf empty", "name", b"---\r\n---\r\n", b"---\r\nname: new\r\n---\r\n"),
        ("none", "name", b"just", b"---\nname: new\n---\n\njust"),
        ("none", "type", b"just", b"---\nmetadata:\n  type: new\n---\n\njust"),
        ("crlf none", "name", b"just", b"---\r\nname: new\r\n---\r\n\r\njust"),
        ("nothing", "description", b"", b"---\ndescription: new\n---\n\n"),
    ],
)
def test_setting_a_field_changes_its_span_and_no_other_byte(shape: str, field: str, old: bytes, new: bytes) -> None:
    content = SHAPES[shape]
    assert content.count(old) == 1 or not old
    assert set_field(content, field, "new") == content.replace(old, new, 1)


@given(st.sampled_from(sorted(SHAPES)), st.sampled_from(FIELDS), TEXT)
@settings(max_examples=200)
def test_a_set_field_reads_back_and_the_other_bytes_stay(shape: str, field: str, value: str) -> None:
    content = SHAPES[shape]
    result = set_field(content, field, value)
    before, after = read(content), read(result)
    assert {**{name: getattr(before, name) for name in FIELDS}, field: value} == {
        name: getattr(after, name) for name in FIELDS
    }
    assert (after.body, after.extra, after.lists) == (before.body, before.extra, before.lists)
    assert result.endswith(split(content)[1])
    assert set_field(result, field, value) == result
    head, tail = _around(content, field)
    assert result.startswith(head)
    assert result.endswith(tail)


def _around(content: bytes, field: str) -> tuple[bytes, bytes]:
    """The bytes before and after the field's value; where it is missing, none before and the body after."""
    header, body = split(content)
    opening = header.index(b"---") + 3 if b"---" in header else 0
    opening = header.index(b"\n", opening) + 1 if opening else 0
    keys = ("metadata.type", "type") if field == "type" else (field,)
    for entry in parse(header[opening:].decode()).entries if opening else ():
        if entry.key in keys:
            text = header[opening:].decode()
            return header[:opening] + text[: entry.start].encode(), text[entry.end :].encode() + body
    return b"", body


@pytest.mark.parametrize(
    "header",
    [
        "- just\n- a list\n",
        "name: a\nname: b\n",
        "name: x\n\x00: }\n",
        "a: &a [x]\nb: [*a]\n",
        "description: |\n\ttab\n",
        "description:\n  - a\n",
        "description:\n  a: b\n",
    ],
)
def test_h06_nothing_is_stacked_on_a_header_that_cannot_be_read(header: str) -> None:
    with pytest.raises(InputRefused, match=r"line"):
        set_field(f"---\n{header}---\nB\n".encode(), "description", "new")


def test_a_field_is_not_put_in_between_a_key_and_what_is_nested_under_it() -> None:
    content = b"---\nname:\n  part: x\ntype: user\n---\nbody\n"
    assert set_field(content, "description", "new") == content.replace(b"name:", b"description: new\nname:")


def test_h06_nothing_is_stacked_on_a_header_that_is_never_closed() -> None:
    with pytest.raises(InputRefused, match=r"line 1: .* never closed"):
        set_field(b"---\nname: x\nbody\n", "description", "new")


def test_h06_bytes_that_are_not_utf_8_refuse_only_in_the_header() -> None:
    with pytest.raises(InputRefused, match=r"line 2: not UTF-8"):
        set_field(b"---\nname: caf\xe9\n---\nB\n", "description", "new")
    assert set_field(b"---\nname: x\n---\nB\xe9\n", "name", "new") == b"---\nname: new\n---\nB\xe9\n"


def test_a_type_inside_braces_is_refused_with_its_line() -> None:
    with pytest.raises(InputRefused, match=r"line 2: .* brackets"):
        set_field(b"---\nmetadata: {type: user}\n---\n", "type", "project")


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(InputRefused, match="'tags' is no field"):
        set_field(b"", "tags", "x")


def test_h08_another_body_leaves_header_mark_and_line_ends() -> None:
    content = "\ufeff---\r\nname: crlf\r\n--- \r\n\r\none word\r\nmore\r\n".encode()
    assert with_body(content, "two words\nmore\n") == content.replace(b"one word", b"two words")
    assert with_body(content, read(content).body) == content


def test_a_body_after_a_fence_at_the_end_of_the_file_gets_a_line_of_its_own() -> None:
    assert with_body(b"---\nname: x\n---", "body\n") == b"---\nname: x\n---\nbody\n"
    assert with_body(b"---\r\nname: x\r\n---", "body") == b"---\r\nname: x\r\n---\r\nbody"
    assert with_body(b"---\nname: x\n---", "") == b"---\nname: x\n---"


@given(st.sampled_from(sorted(SHAPES)), TEXT)
@settings(max_examples=200)
def test_another_body_reads_back_under_the_same_header(shape: str, body: str) -> None:
    content = SHAPES[shape]
    header, old = split(content)
    result = with_body(content, body)
    assert result.startswith(header)
    if b"\r\n" not in old:
        assert result.endswith(body.encode())
    if old.isascii():
        assert with_body(content, read(content).body) == content

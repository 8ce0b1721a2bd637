"""`alike` against what the client does to a memory file when it saves (facts seen on 2.1.332)."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from memstore.core.frontmatter import alike, calm, compose, same_name, set_field, split, with_body

PLAIN = b"""---
name: Old Name
description: keep it # 1
type: feedback
tags: [a, b]
created: 2026-03-01
---
The rule.

**Why:** it broke.
"""


def stamped(content: bytes, *, session: str = "s-1", modified: str = "2026-11-29T18:22:15.726Z") -> bytes:
    """The content as the client leaves it: kebab name, all else under metadata, stamps, one blank line."""
    header, body = split(content)
    fence = header.removeprefix(b"\xef\xbb\xbf").strip().decode().replace("\r\n", "\n")
    if not fence:
        return content
    text = re.sub(r"(?m)^(\w+): ([^\"\n].*(?: #|: ).*)$", lambda m: f"{m[1]}: {json.dumps(m[2])}", fence[3:-3])
    fields = yaml.load(text, Loader=yaml.BaseLoader) or {}
    name = re.sub("[^a-z0-9]+", "-", fields.pop("name", "").lower()).strip("-")
    description = fields.pop("description", None)
    metadata = fields.pop("metadata", {})
    metadata = {"node_type": "memory", **metadata, **fields}
    metadata["originSessionId"] = metadata.pop("originSessionId", session)
    metadata.pop("modified", None)
    metadata["modified"] = modified
    lines = [f"name: {name}" if name else 'name: ""']
    if description is not None:
        lines.append(f"description: {json.dumps(description, ensure_ascii=False)}")
    lines.append("metadata:")
    for key, value in metadata.items():
        if isinstance(value, list):
            lines += [f"  {key}:", *(f"    - {item}" for item in value)]
        else:
            lines.append(f"  {key}: {value}")
    return "\n".join(["---", *lines, "---", "", ""]).encode() + body


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + PLAIN,
        PLAIN.replace(b"Old Name", "测试".encode()),
        PLAIN.replace(b"name: Old Name\n", b""),
        PLAIN.replace(b"Old Name", b"a: b: c"),
        PLAIN.replace(b"keep it # 1", b">-\n  over\n  lines"),
        PLAIN.replace(b"---\nThe", b"---\n\n\n\nThe"),
        PLAIN.replace(b"type: feedback", b"metadata:\n  pinned: true\n  type: odd"),
        compose("notes", "a, 'b' and \"c\"", "user", "Body.\n"),
        b"no header\n",
        b"---\nname: never closed\n",
    ],
)
def test_what_the_client_saves_is_like_what_it_was_given(content: bytes) -> None:
    once = stamped(content)
    again = stamped(once, session="s-2", modified="2026-12-01T00:00:00.000Z")
    assert alike(content, once)
    assert alike(once, again)
    assert alike(content, again)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Old Name", b"New Name"),
        (b"Old Name", b""),
        (b"keep it # 1", b"keep it # 2"),
        (b"keep it # 1", b'""'),
        (b"feedback", b"project"),
        (b"type: feedback\n", b""),
        (b"[a, b]", b"[a, c]"),
        (b"[a, b]", b'"[a, b]"'),
        (b"2026-03-01", b"2026-03-02"),
        (b"tags: [a, b]\n", b""),
        (b"tags:", b"# a comment\ntags:"),
        (b"rule.\n\n", b"rule.\n"),
        (b"rule.", b"rule. "),
        (b"broke.\n", b"broke.\n\n"),
        (b"---\nThe rule", b"---\n The rule"),
    ],
)
def test_a_change_of_what_somebody_wrote_is_a_change(old: bytes, new: bytes) -> None:
    changed = PLAIN.replace(old, new)
    assert changed != PLAIN
    assert not alike(PLAIN, changed)
    assert not alike(stamped(PLAIN), changed)


def test_different_headers_that_cannot_be_read_are_not_alike() -> None:
    one, other = b"---\n- one\n---\nB\n", b"---\n- other\n---\nB\n"
    assert not alike(one, other)
    assert alike(one, one.replace(b"\n", b"\r\n"))


def test_bytes_that_are_not_text_are_told_apart() -> None:
    assert not alike(b"---\nname: x\n---\n\xe9", b"---\nname: x\n---\n\xe8")
    assert not alike(b"---\nname: \xe9\n---\n", b"---\nname: \xe8\n---\n")


def test_a_name_that_the_client_saved_is_the_same_name() -> None:
    assert same_name("Old Name", "old-name")
    assert same_name("old-name", "Old Name")
    assert same_name("Café notes", "caf-notes")
    assert same_name("Café notes", "cafe-notes")
    assert same_name("user_role", "user-role")
    assert same_name("测试", "")
    assert same_name(None, "")
    assert same_name(None, None)


def test_other_names_are_not_the_same() -> None:
    assert not same_name("old-name", "new-name")
    assert not same_name("old-name", "")
    assert not same_name("old-name", None)
    assert not same_name("测试", "测验")
    assert not same_name("测试", None)
    assert not same_name("ab", "a-b")


TEXT = st.text(st.sampled_from("aB:# \"'\\\n\r\t-[]漢"), max_size=12)
CONTENT = st.one_of(
    st.builds(compose, TEXT, TEXT, st.sampled_from([None, "user"]), TEXT),
    st.binary(max_size=40),
    st.builds(lambda head, body: f"---\n{head}\n---\n{body}".encode(), TEXT, TEXT),
)


@given(CONTENT, CONTENT)
@settings(max_examples=200)
def test_likeness_is_reflexive_and_symmetric(a: bytes, b: bytes) -> None:
    assert alike(a, bytes(bytearray(a)))
    assert alike(a, b) == alike(b, a)


@given(st.builds(compose, TEXT, TEXT, st.just("user"), TEXT.filter(lambda text: "\r" not in text)))
@settings(max_examples=200)
def test_line_ends_mark_and_last_newline_are_no_change(content: bytes) -> None:
    assert alike(content, content.replace(b"\n", b"\r\n"))
    assert alike(content, b"\xef\xbb\xbf" + content)
    assert alike(content, content.replace(b"---\n\n", b"---\n\n \n\n", 1))
    if split(content)[1]:
        assert alike(content, content.removesuffix(b"\n"))


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from(["description", "type"]))
@settings(max_examples=100)
def test_calm_forms_are_equal_only_where_the_field_is(one: str, other: str, field: str) -> None:
    a, b = set_field(PLAIN, field, one), set_field(PLAIN, field, other)
    assert (calm(a) == calm(b)) == (one == other)


@given(st.text(max_size=20), st.text(max_size=20))
@settings(max_examples=100)
def test_calm_forms_tell_bodies_apart(one: str, other: str) -> None:
    def bare(body: str) -> str:
        return re.sub(r"\A(?:[ \t\r]*\n)*", "", body).replace("\r\n", "\n").removesuffix("\n")

    assert (calm(with_body(PLAIN, one)) == calm(with_body(PLAIN, other))) == (bare(one) == bare(other))

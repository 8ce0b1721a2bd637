"""Notes of basic-memory as memories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.basic_memory import speaks, translated
from memstore.core.frontmatter import read

NOTE = """---
title: Coffee Brewing Methods
type: note
permalink: coffee/coffee-brewing-methods
tags:
- coffee
- brewing
---

# Coffee Brewing Methods

## Observations
- [method] Pour over gives more clarity #brewing (by taste)
- [ ] try another filter
- [tip] Grind later #tip

## Relations
- relates_to [[Other Note]]
- pairs with [[Chocolate]]
"""


def test_a_note_gets_what_a_memory_needs_and_no_byte_of_it_changes():
    made = translated("coffee/Coffee.md", NOTE.encode())
    found = read(made)
    assert found.name == "Coffee Brewing Methods"
    assert found.description == "Pour over gives more clarity"
    assert found.type == "reference"
    assert found.body == read(NOTE.encode()).body
    assert dict(found.extra)["permalink"] == "coffee/coffee-brewing-methods"
    assert dict(found.lists)["tags"] == ("coffee", "brewing")
    added = b"name: Coffee Brewing Methods\ndescription: Pour over gives more clarity\nmetadata:\n  type: reference\n"
    assert made.replace(added, b"", 1) == NOTE.encode()


def test_a_type_that_is_one_of_ours_stays():
    made = translated("x.md", NOTE.replace("type: note", "type: feedback").encode())
    assert read(made).type == "feedback" and b"metadata" not in made


def test_its_own_description_goes_before_an_observation():
    made = translated("x.md", NOTE.replace("type: note", "description: my own words").encode())
    assert read(made).description == "my own words" and made.count(b"description:") == 1


def test_a_note_without_observations_is_described_by_its_first_words():
    text = "---\ntitle: T\npermalink: t\n---\n# Heading\n\n- item\n\nSome prose here.\n"
    assert read(translated("t.md", text.encode())).description == "Some prose here."


def test_line_ends_are_kept():
    made = translated("x.md", NOTE.replace("\n", "\r\n").encode())
    assert b"\n" not in made.replace(b"\r\n", b"") and read(made).name == "Coffee Brewing Methods"
    tagged = NOTE.replace("#brewing (by taste)", "#brewing").replace("\n", "\r\n")
    assert read(translated("x.md", tagged.encode())).description == "Pour over gives more clarity"


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{'abcdefgh'[i]}: &{'abcdefgh'[i]} [{','.join(['*' + 'abcdefgh'[i - 1]] * 9)}]\n" for i in range(1, 8)
)


@pytest.mark.parametrize(
    "text",
    [
        "no header\n",
        "---\nname: mine\ntitle: T\npermalink: t\n---\nbody\n",
        "---\ntitle: T\npermalink: t\n" + BOMB + "---\nB\n",
        "---\ntitle: T\npermalink: t\n",
    ],
)
def test_what_is_no_such_note_or_cannot_be_read_stays_as_it_is(text: str):
    assert translated("x.md", text.encode()) == text.encode()


def test_a_directory_speaks_so_when_most_of_its_files_do():
    note, other = NOTE.encode(), b"---\nname: a\n---\ntext\n"
    assert speaks({"a.md": note, "MEMORY.md": b"- [A](a.md)\n"})
    assert speaks({"a.md": note, "b.md": note, "c.md": other})
    assert speaks({"a.md": NOTE.replace("permalink", "other").encode()})
    assert not speaks({"a.md": note, "b.md": other})
    assert not speaks({"a.md": b"---\ntitle: a blog\n---\n- [link](x.md) text\n- [ ] to do\n"})
    assert not speaks({"a.md": b"about permalink: fields\n"})
    assert not speaks({})


@given(
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.tuples(st.text(max_size=20), st.text(max_size=40)).map(
        lambda pair: f"---\ntitle: {pair[0]}\npermalink: p\n---\n{pair[1]}".encode("utf-8", "surrogatepass")
    )
)
def test_every_byte_of_whatever_it_is_survives(content: bytes):
    made = translated("x.md", content)
    assert read(made).body == read(content).body
    left = iter(made)
    assert all(byte in left for byte in content)

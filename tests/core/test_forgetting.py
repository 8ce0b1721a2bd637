"""In which spellings a secret is found, what stands in its place, and by what a text would be known again."""

from __future__ import annotations

import json
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.daylog import block
from memstore.core.forgetting import LONGEST, MARK, clues, names_one, secret_of, without_links
from memstore.core.index_pointer import pointer_line
from memstore.core.spellings import Cuts
from memstore.errors import InputRefused, MemstoreError

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@given(texts, texts, texts)
def test_what_was_taken_out_is_found_no_more_in_any_spelling(before: str, secret: str, after: str):
    try:
        found = secret_of(secret)
    except MemstoreError:
        return
    for spelled in (secret, normalize("NFC", secret), normalize("NFD", secret)):
        for text in (spelled, json.dumps(spelled)[1:-1], json.dumps(spelled, ensure_ascii=False)[1:-1]):
            content = f"{before}{text}{after}".encode()
            assert found.within(content)
            left = found.out_of(content)
            assert MARK.encode() in left
            # Only where the words around it make one with what is left could there be another: not beside the mark.
            assert all(not found.within(piece) for piece in found.out_of(text.encode()).split(MARK.encode()))


@given(texts, texts)
def test_a_text_without_it_stays_as_it_is(text: str, secret: str):
    try:
        found = secret_of(secret)
    except MemstoreError:
        return
    if not found.within(text.encode()):
        assert found.out_of_text(text) == text


def test_a_secret_of_several_lines_is_found_with_either_line_end():
    found = secret_of("-----BEGIN KEY-----\nabc\n-----END KEY-----")
    assert found.out_of(b"x\r\n-----BEGIN KEY-----\r\nabc\r\n-----END KEY-----\r\ny") == b"x\r\n[purged]\r\ny"
    assert found.out_of(b'{"a": "-----BEGIN KEY-----\\nabc\\n-----END KEY-----"}') == b'{"a": "[purged]"}'


def test_composed_and_decomposed_are_one():
    found = secret_of("clé-Ünic")
    assert found.within(normalize("NFD", "clé-Ünic").encode()) and found.within(normalize("NFC", "clé-Ünic").encode())
    assert not found.within("CLÉ-ÜNIC".encode())


def test_a_secret_is_found_as_an_index_line_a_header_and_the_log_write_it():
    for secret in ("p@ss<w0rd>[x]!`k", "@home it's", "my (secret) door!", "first\nsecond", "\\d+[!]"):
        found = secret_of(secret)
        for line in (
            pointer_line(secret, "a.md", f"say {secret} there"),
            pointer_line(f"of{secret}of", f"dir/{secret}.md", secret),
            block(0, 0, f"noted {secret}\nand more"),
            secret.replace("'", "''"),
        ):
            assert found.within(line.encode()), line
            left = found.out_of_text(line)
            assert secret not in left and not any(word in left for word in ("w0rd", "home", "door", "second", "d+"))


def test_a_path_keeps_its_ending():
    assert secret_of("key.md").out_of_path("dir/key.md") == "dir/purged.md"
    assert secret_of("key").out_of_path("dir/key.md") == "dir/purged.md"


def test_what_a_mark_makes_with_the_words_around_it_goes_too():
    assert secret_of("]x").out_of(b"a]xx") == b"a[purged[purged]"


def test_the_beginning_of_it_before_a_cut_is_known():
    cuts = Cuts(secret_of("hunter2-Zaubertrank").forms)
    line = pointer_line("a", "a.md", "word " * 25 + "hunter2-Zaubertrank")
    assert "hunter2-Z" in line and cuts.out_of(line.encode(), b"[purged]").endswith("word [purged]…".encode())
    for other in ("the hunt…", "hunter2-Zaubertrank", "hunter2-Zauberei…"):
        assert cuts.out_of(other.encode(), b"[purged]") == other.encode()


@pytest.mark.parametrize(
    "text", ["", " \n", "a\0b", "x" * (LONGEST + 1), "purged", "[", "a[purged]b", ".md", "m", "MEMORY"]
)
def test_what_cannot_be_taken_out_is_refused(text: str):
    with pytest.raises(InputRefused):
        secret_of(text)


def test_an_index_loses_the_lines_that_point_there_and_no_other():
    index = (
        b"# Notes\n- [A](a.md) \xe2\x80\x94 hook\n- [B](data.md)\n* see [a](./a.md)\n- [C](<a.md>)\n"
        b"- [D](dir%20x/a.md)\n- a.md is a name\n"
    )
    assert without_links(index, ["a.md"]) == (b"# Notes\n- [B](data.md)\n- [D](dir%20x/a.md)\n- a.md is a name\n")
    assert b"[D]" not in without_links(index, ["dir x/a.md"])
    assert without_links(index, []) == index


def test_a_path_is_named_only_as_a_whole():
    assert names_one("revised a.md: words", ["a.md"]) and names_one("`dir/a.md`", ["dir/a.md"])
    assert not names_one("data.md, dir/a.md, a.mdx", ["a.md"])
    assert not names_one("anything", [])


def test_a_text_is_known_by_its_long_lines_not_by_its_header():
    text = b"---\nname: harbour-gate-with-a-long-name\ndescription: how the harbour gate is opened\n---\n\nshort\n"
    long = b"The gate opens with the key that hangs behind the door of the office.\n"
    assert clues([text + long]) == (long.strip(), b"how the harbour gate is opened")
    assert clues([b"short\n"]) == ()

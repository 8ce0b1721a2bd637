"""Somebody else's rows as memories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.frontmatter import read
from memstore.core.names import check_path, collision_key
from memstore.core.rows import Paths, choose, memories, one_line
from memstore.core.taxonomy import TYPES
from memstore.errors import ImportRefused


def made(columns: list[str], *rows: list[object], **given: str) -> dict[str, bytes]:
    return memories(columns, rows, given, "rows.csv")[0]


def test_columns_are_found_by_their_usual_names():
    found = choose(["ID", "Title", "Summary", "Kind", "Content"], {}, "rows.csv")
    assert found == {"name": "Title", "description": "Summary", "type": "Kind", "body": "Content"}
    assert choose(["key", "value"], {}, "x") == {"name": "key", "body": "value"}
    assert choose(["id", "memory"], {}, "x") == {"body": "memory"}


def test_what_a_person_says_of_columns_goes_before_their_names():
    found = choose(["title", "content", "words"], {"body": "words", "name": "content"}, "rows.csv")
    assert found == {"body": "words", "name": "content"}


@pytest.mark.parametrize(
    ("columns", "given", "told"),
    [
        (["a", "b"], {}, "it has a, b"),
        ([], {}, "it has none"),
        (["body"], {"title": "body"}, "'title' is nothing"),
        (["body"], {"body": "words"}, "no column 'words'"),
    ],
)
def test_columns_that_cannot_be_chosen_are_told_with_those_there_are(
    columns: list[str], given: dict[str, str], told: str
):
    with pytest.raises(ImportRefused) as caught:
        choose(columns, given, "rows.csv")
    assert told in f"{caught.value}" and caught.value.hint


def test_a_row_is_a_memory_and_its_other_columns_fields_of_the_header():
    files = made(
        ["title", "summary", "type", "body", "tags", "type2"], ["A b", "of it", "User", "text\n", "x, y", None]
    )
    document = read(files["A-b.md"])
    assert (document.name, document.description, document.type, document.body) == ("A b", "of it", "user", "text\n")
    assert document.extra == (("tags", "x, y"),)


def test_a_type_that_is_none_of_ours_is_kept_beside_one_that_is():
    document = read(made(["name", "type", "body"], ["a", "Decision", "text"])["a.md"])
    assert document.type == "reference" and dict(document.extra)["original_type"] == "Decision"


def test_rows_with_one_title_both_survive_and_have_the_same_names_again():
    rows: list[list[object]] = [["Same", "one"], ["same", "two"], ["Same", "three"], ["Sa/me", "four"]]
    first = made(["name", "body"], *rows)
    assert list(first) == ["Same.md", "same-2.md", "Same-3.md", "Sa-me.md"]
    assert made(["name", "body"], *rows) == first


def test_a_row_without_a_name_is_called_by_its_first_words():
    assert list(made(["body"], ["# I like tea\n\nmore"])) == ["I-like-tea.md"]
    assert list(made(["description", "body"], ["on tea", "text"])) == ["on-tea.md"]


def test_a_description_that_is_no_line_is_cut_and_kept_in_the_text():
    long = "word " * 60_000
    document = read(made(["name", "description", "body"], ["a", long, "text\n"])["a.md"])
    assert document.description and len(document.description) <= 250 and document.description.endswith("…")
    assert long.strip() in document.body and document.body.endswith("text\n")
    document = read(made(["name", "description", "body"], ["a", "one\ntwo", "text\n"])["a.md"])
    assert document.description == "one two" and document.body == "one\ntwo\n\ntext\n"


def test_what_is_not_taken_of_a_row_is_named():
    files, skipped = memories(
        ["name", "body", "log", "q?"], [["a", "text", "x" * 9_000, "1"], ["b", " ", "", ""]], {}, "rows.csv"
    )
    assert list(files) == ["a.md"]
    assert [what for what, _ in skipped] == ["row 2", "column log", "column q?"]


def test_a_column_that_is_called_like_a_field_of_ours_does_not_become_it():
    files = made(["title", "name", "metadata", "body"], ["T", "N", "{}", "text"], name="title")
    document = read(files["T.md"])
    assert document.name == "T"
    assert dict(document.extra) == {"original_name": "N", "original_metadata": "{}"}


def test_half_a_surrogate_pair_is_named_by_its_row():
    files, skipped = memories(["body"], [["a\ud800"], ["fine"]], {}, "rows.csv")
    assert list(files) == ["fine.md"] and skipped[0][0] == "row 1"


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=60)), max_size=6))
def test_whatever_rows_say_becomes_memories_that_can_be_read(rows: list[tuple[str, str]]):
    files, skipped = memories(["name", "body"], rows, {}, "rows.csv")
    assert len(files) + len(skipped) == len(rows)
    assert len({collision_key(path) for path in files}) == len(files)
    for path, content in files.items():
        assert check_path(path) == path
        document = read(content)
        assert document.name and document.type in TYPES
        assert "\n" not in (document.description or "")


@given(st.lists(st.text(max_size=30), max_size=8))
def test_every_title_gets_a_path_of_its_own(titles: list[str]):
    paths, again = Paths(), Paths()
    made = [paths.of(title) for title in titles]
    assert len({collision_key(path) for path in made}) == len(titles)
    assert [again.of(title) for title in titles] == made
    assert all(check_path(path) == path for path in made)


def test_a_line_is_cut_at_a_word():
    assert one_line("one  two\nthree", 80) == "one two three"
    assert one_line("one two three", 9) == "one two…"
    assert one_line("x" * 20, 9) == "x" * 8 + "…"

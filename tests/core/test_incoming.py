"""The names of an archive's entries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.incoming import hostile, plain, sort_out, twins


def taken(*paths: str) -> dict[str, str]:
    return dict(sort_out([(path, path) for path in paths]).memories)


def left(*paths: str) -> dict[str, str]:
    return dict(sort_out([(path, path) for path in paths]).skipped)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "//x.md", "../x.md", "a/../../x.md", "a/..", "..", "a\\b.md", "..\\x.md", "C:x.md", "c:/x.md",
     "a\0.md", ""],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_hostile(name: str):
    assert hostile(name)


@pytest.mark.parametrize("name", ["a.md", "./a.md", "./", "a/", "a//b.md", "..a.md", "a..md", "日本.md", "ab:c.md"])
def test_a_name_that_stays_inside_is_not(name: str):
    assert hostile(name) == ""


@given(st.text(alphabet="a./\\:C\0", max_size=12))
def test_a_name_that_is_not_hostile_lies_inside_whatever_unpacks_it(name: str):
    if not hostile(name):
        assert ".." not in plain(name).split("/") and not plain(name).startswith("/") and "\\" not in name


def test_two_names_are_one_file_where_they_are_equal_or_where_some_file_system_takes_them_for_equal():
    assert twins(["a.md", "b.md", "A.png", "a.png"]) is None
    assert twins(["a.md", "A.md"]) == ("a.md", "A.md")
    assert twins(["caf\u00e9.md", "cafe\u0301.md"]) is not None
    assert twins(["a.png", "a.png"]) == ("a.png", "a.png")


def test_one_leading_directory_is_taken_off():
    assert taken("memory/a.md", "memory/sub/b.md") == {"memory/a.md": "a.md", "memory/sub/b.md": "sub/b.md"}
    assert taken("a.md", "sub/b.md") == {"a.md": "a.md", "sub/b.md": "sub/b.md"}
    assert taken("x/sub/a.md", "x/sub/b.md")["x/sub/a.md"] == "sub/a.md"
    assert taken("x/a.md", "__MACOSX/x/._a.md", ".DS_Store") == {"x/a.md": "a.md"}
    assert taken("x/a.md", "other.txt") == {"x/a.md": "x/a.md"}


def test_what_a_team_shares_is_no_directory_around_memories():
    assert taken("team/ours.md") == {} and "kept for other things" in left("team/ours.md")["team/ours.md"]
    assert list(taken("team/MEMORY.md", "team/ours.md").values()) == ["MEMORY.md", "ours.md"]


def test_the_directory_of_the_index_is_the_one_that_was_packed():
    packed = ("home/.claude/projects/-p/memory/MEMORY.md", "home/.claude/projects/-p/memory/sub/a.md", "home/notes.txt")
    assert list(taken(*packed).values()) == ["MEMORY.md", "sub/a.md"]
    assert left(*packed) == {"home/notes.txt": "it lies beside the memories"}


def test_an_index_below_the_memories_is_no_reason_to_leave_them_out():
    assert list(taken("a.md", "sub/MEMORY.md").values()) == ["a.md"]
    assert "sub/MEMORY.md" in left("a.md", "sub/MEMORY.md")


def test_what_is_no_memory_is_named_with_the_reason():
    names = (
        "a.md", ".git/config", "node_modules/x/README.md", "pic.png", "a.md.swp", ".hidden.md", "a.md~",
        "x.sync-conflict-20260101-101010-ABCDEFG.md", "logs/x.md", "con\x01.md", "/".join("d" * 18) + "/deep.md",
    )  # fmt: skip
    assert list(taken(*names).values()) == ["a.md"]
    found = left(*names)
    assert all(found.values())
    assert {".git/", "node_modules/", "pic.png", "a.md~", "logs/x.md"} <= found.keys()
    assert len(found) == len(names) - 1


def test_a_name_that_is_not_utf_8_can_be_told():
    (told,) = left("a.md", "b\udcff.png")
    assert told == "b\\xff.png"

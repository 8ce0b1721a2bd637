"""Titles become safe file names, or are refused with the reason."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.names import (
    alternative,
    check_path,
    collision_key,
    conflict_of,
    file_name,
    is_debris,
    placeholder_of,
    stem,
)
from memstore.errors import NameRefused

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=300)
BIDI = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}

H32 = [
    "../escape", "..", "a/../../escape", "/etc/cron.d/x", "~/x", "C:\\x", "..\\x", "%2e%2e%2fx", "..%5cx",
    "\u2025/x", "a\x00b", "//host/share", "M/../../x", "．．／x", ".git/hooks/post-commit",
    ".consolidate-lock",
    "\u2025", "%252e%252e%252fx", "％2e％2e％2fx", "a%00b", ".", "...", "C:/x", "~",
]  # fmt: skip


def safe(name: str) -> bool:
    return (
        name.endswith(".md")
        and 3 < len(name.encode()) <= 255
        and not any(unicodedata.category(character) in ("Cc", "Zl", "Zp") or character in BIDI for character in name)
        and not any(character in '/\\<>:"|?*[]()#%' for character in name)
        and not name.startswith((".", "-", " "))
        and not name[:-3].endswith((".", " "))
        and name.partition(".")[0].casefold() not in DEVICES
        and name.casefold() != "memory.md"
    )


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("notes.md", "notes.md"),
        ("notes", "notes.md"),
        ("notes.MD", "notes.md"),
        ("notes.md.md", "notes.md.md"),
        ("CON", "_CON.md"),
        ("nul", "_nul.md"),
        ("aux.txt", "_aux.txt.md"),
        ("com1", "_com1.md"),
        ("trailing.", "trailing.md"),
        ("trailing ", "trailing.md"),
        ("-rf", "rf.md"),
        ("tab\tname", "tab-name.md"),
        ("new\nline", "new-line.md"),
        ("a:b", "a-b.md"),
        ("what?", "what.md"),
        ("name#7", "name-7.md"),
        ("[[link]]", "link.md"),
        ("report\u202etxt.md", "reporttxt.md"),
        ("大语言模型概述", "大语言模型概述.md"),
        ("🚀", "🚀.md"),
        ("हिन्दी", "हिन्दी.md"),
        ("load_cfg v2.10", "load_cfg-v2.10.md"),
    ],
)
def test_h05_awkward_names_get_a_safe_file_name(title: str, expected: str) -> None:
    assert file_name(title) == expected
    assert safe(expected)


@pytest.mark.parametrize("title", ["MEMORY", "Memory.md", "memory", "MEMORY.", "ＭＥＭＯＲＹ", " memory "])
def test_h05_the_index_is_no_memory(title: str) -> None:
    with pytest.raises(NameRefused, match="index"):
        file_name(title)


def test_h05_long_names_are_cut_between_characters_and_stay_apart() -> None:
    for letter in ("x", "日", "🚀", "é"):
        first, second = file_name(letter * 300), file_name(letter * 301)
        assert safe(first)
        assert first != second
        assert first.startswith(letter * 30)


@pytest.mark.parametrize("title", ["a/b", "a\\b", ".hidden"])
def test_h05_separators_and_hidden_names_are_refused_with_a_next_step(title: str) -> None:
    with pytest.raises(NameRefused) as refusal:
        file_name(title)
    assert refusal.value.reason
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("first", "second"),
    [("alpha", "Alpha"), ("caf\u00e9", "cafe\u0301"), ("a b", "a-b"), ("Straße", "STRASSE"), ("a:b", "a?b")],
)
def test_h04_titles_that_share_a_file_have_one_key(first: str, second: str) -> None:
    assert collision_key(file_name(first)) == collision_key(file_name(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [("🚀", "🎯"), ("大语言模型概述", "断路器自动恢复"), ("!!!", "???"), ("バ", "ハ"), ("c", "c++")],
)
def test_h04_other_titles_stay_apart(first: str, second: str) -> None:
    assert collision_key(file_name(first)) != collision_key(file_name(second))


@pytest.mark.parametrize("title", ["", "   ", "\u200b", "\n\t"])
def test_h04_a_blank_title_is_refused(title: str) -> None:
    with pytest.raises(NameRefused, match="blank"):
        file_name(title)


def test_h04_a_title_of_symbols_gets_a_stable_name() -> None:
    assert file_name("!!!") == file_name("!!!") == "memory-3894b0d5.md"


def test_an_alternative_is_another_safe_name() -> None:
    assert alternative("a-b.md", 2) == "a-b-2.md"
    longest = "日" * 84 + ".md"
    assert len(alternative(longest, 12).encode()) <= 255
    assert alternative(longest, 12).endswith("日-12.md")


@pytest.mark.parametrize("title", H32)
def test_h32_names_that_walk_are_refused(title: str) -> None:
    with pytest.raises(NameRefused):
        file_name(title)
    with pytest.raises(NameRefused):
        check_path(title)


@pytest.mark.parametrize("title", [title for title in H32 if len(title) > 3 or "/" in title])
def test_h32_an_extension_does_not_make_a_walk_safe(title: str) -> None:
    with pytest.raises(NameRefused):
        check_path(f"{title}.md")


@given(ANY_TEXT)
def test_any_title_is_safe_or_refused(title: str) -> None:
    try:
        name = file_name(title)
    except NameRefused as refusal:
        assert refusal.reason
        return
    assert safe(name)
    assert check_path(name) == name
    assert file_name(name) == name
    assert is_debris(name) is False or "(" in name or name.startswith("#")


@given(ANY_TEXT, st.integers(2, 99))
def test_any_alternative_is_safe(title: str, n: int) -> None:
    try:
        name = file_name(title)
    except NameRefused:
        return
    assert safe(alternative(name, n))


@pytest.mark.parametrize(
    "path",
    ["x.md", "sub/dir/x.md", "a b [1] (draft).md", "50%.md", "CON.md", "-rf.md", "日本.md", "cafe\u0301.MD"],
)
def test_a_path_of_an_existing_file_is_taken_as_it_is(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize(
    "path",
    ["", " ", "x.txt", "MEMORY.md", "sub/memory.md", "sub//x.md", "./x.md", "a/ /x.md", "sub/", ".x.md",
     "a/.git/x.md", "x\n.md", "\ud800.md", "é" * 130 + ".md", "d/" * 600 + "x.md", "a\\b.md",
     "a/..", "a/\u2025/x.md"],
)  # fmt: skip
def test_a_path_that_is_no_memorys_is_refused(path: str) -> None:
    with pytest.raises(NameRefused):
        check_path(path)


@pytest.mark.parametrize(
    "path",
    ["MEMORY.md/x.md", "memory.md/x.md", "Memory.MD/sub/x.md", "sub/MEMORY.md/x.md", "memory.md/memory-of.md",
     "sub/Memory.md/deeper/x y.md"],
)  # fmt: skip
def test_a_path_through_the_index_as_if_it_were_a_directory_is_refused(path: str) -> None:
    with pytest.raises(NameRefused, match="cannot be a directory"):
        check_path(path)


@pytest.mark.parametrize("path", ["notes.md/x.md", "sub/my-memory.md/x.md", "a b.md/sub/x.md"])
def test_a_path_through_a_directory_that_a_scan_takes_for_a_file_is_refused(path: str) -> None:
    with pytest.raises(NameRefused, match="a directory's name"):
        check_path(path)


@pytest.mark.parametrize("path", ["memory/x.md", "MEMORY/x.md", "memory.md.d/x.md", "notes.MD/x.md"])
def test_a_directory_that_is_only_called_much_like_the_index_or_a_file_is_taken(path: str) -> None:
    assert check_path(path) == path


@given(ANY_TEXT)
def test_any_path_stays_below_the_folder_or_is_refused(path: str) -> None:
    try:
        checked = check_path(path)
    except NameRefused:
        return
    assert checked == path
    assert not path.startswith("/")
    assert not {"", ".", ".."} & set(path.split("/"))


def test_a_stem_is_the_last_component_without_its_extension() -> None:
    assert [stem(path) for path in ("sub/x.md", "x.MD", "x", "x.md.md")] == ["x", "x", "x", "x.md"]


@pytest.mark.parametrize(
    "name",
    [
        "x.md~", ".x.md.swp", "#x.md#", ".#x.md", "4913", "x.md.tmp.812.ab12cd", "x.md.bak", ".DS_Store",
        "desktop.ini", "x.sync-conflict-20260301-101500-ABCDEF7.md", "x (conflicted copy 2026-03-01).md",
        ".y.md.icloud", "Thumbs.db", "x.md.tmp", "._x.md", "~$x.md", ".x.md.Ab3dE6", "x.md.orig",
        ".syncthing.x.md.tmp", "x_LOCAL_812.md",
    ],
)  # fmt: skip
def test_h14_debris_is_known(name: str) -> None:
    assert is_debris(name)


@pytest.mark.parametrize(
    "name",
    ["x.md", "bak.md", "tmp.md", "x.tmp.md", "a.old.md", "x (1).md", "conflicted copy.md", "4913.md",
     "about.swp.md",      "how (a conflicted copy of a row) happens.md", "sub.save.md", "local.md"],
)  # fmt: skip
def test_h14_notes_are_not_debris(name: str) -> None:
    assert not is_debris(name)


def test_h14_a_conflict_copy_names_its_original() -> None:
    assert conflict_of("x.sync-conflict-20260301-101500-ABCDEF7.md") == "x.md"
    assert conflict_of("x (conflicted copy 2026-03-01).md") == "x.md"
    assert conflict_of("x (laptop's conflicted copy 2026-03-01).md") == "x.md"
    assert conflict_of("x (Case Conflict 1).md") == "x.md"
    assert conflict_of("x.md") is None
    assert conflict_of("x.md~") is None


def test_h14_a_placeholder_names_the_file_that_lies_elsewhere() -> None:
    assert placeholder_of(".y.md.icloud") == "y.md"
    assert placeholder_of("y.md") is None


@pytest.mark.parametrize(
    "name", ["foo_BACKUP_1", "y.sync-conflict-20260301-101500-ABCDEF7", "c_LOCAL_2.md", "sub/x_REMOTE_3.md"]
)
def test_h05_a_name_that_no_folder_would_show_is_refused(name: str) -> None:
    make = check_path if "/" in name else file_name
    with pytest.raises(NameRefused, match="temporary files and copies"):
        make(name)


def test_a_path_into_a_directory_that_is_kept_for_other_things_is_refused() -> None:
    with pytest.raises(NameRefused, match="team"):
        check_path("team/plan.md")
    assert check_path("notes/team/plan.md") == "notes/team/plan.md"

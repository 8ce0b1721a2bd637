"""`search`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memstore import Memstore, Wanted
from tests.cli.conftest import Run


def test_a_hit_is_marked_in_its_excerpt_and_its_description_stands_above(run: Run):
    run("write", "testing", "first line\nUse a real database here.", "-d", "how tests run")
    found = run("search", "database")
    assert found.out == "testing.md  [project]\n    how tests run\n    Use a real «database» here.\n"
    assert found.err == "1 memory found, 1 with all words\n"


def test_marks_are_character_positions_in_the_excerpt(run: Run):
    run("write", "testing", "Use a real database, 数据库 too.")
    hit = run("search", "数据库", "--json").json["hits"][0]
    assert [hit["excerpt"][start:end] for start, end in hit["marks"]] == ["数据库"]


@pytest.mark.parametrize("words", [("load_cfg",), ("cfg",), ("C++",), ("v2.10.3",), ("--", "--no-verify"), ("文",)])
def test_identifiers_and_single_characters_are_found(run: Run, words: tuple[str, ...]):
    run("write", "code", "load_cfg in C++ since v2.10.3, run with --no-verify; 中文")
    assert run("search", *words).out.startswith("code.md")


def test_all_words_come_before_some(run: Run):
    run("write", "both", "red apple")
    run("write", "one", "red red red pear")
    found = run("search", "red", "apple", "--json").json
    assert [(hit["path"], hit["matched"]) for hit in found["hits"]] == [("both.md", "all"), ("one.md", "any")]
    assert found["words"] == ["red", "apple"]


def test_a_superseded_memory_comes_after_its_correction_and_says_so(run: Run):
    run("write", "old", "deploy on fridays deploy deploy")
    run("write", "new", "never deploy on fridays")
    run("supersede", "old", "--by", "new")
    found = run("search", "deploy")
    assert found.out.index("new.md") < found.out.index("old.md  [project, superseded by the one before]")


def test_filters(run: Run):
    run("write", "one", "word", "--type", "user")
    run("write", "two", "word", "--type", "feedback")
    run("write", "gone", "word")
    run("delete", "gone")

    def paths(*options: str) -> list[str]:
        return sorted(hit["path"] for hit in run("search", "word", *options, "--json").json["hits"])

    assert paths() == ["one.md", "two.md"]
    assert paths("--type", "user") == ["one.md"]
    assert paths("--scope", "team") == []
    assert paths("--since", "2100-01-01") == []
    assert paths("--retired") == ["gone.md", "one.md", "two.md"]


def test_a_limit_says_that_there_is_more(run: Run):
    for number in range(3):
        run("write", f"note-{number}", "word")
    assert run("search", "word", "-n", "2", "--json").json["more"] is True
    assert "and more" in run("search", "word", "-n", "2").err
    assert run("search", "word", "-n", "3", "--json").json["more"] is False


def test_nothing_found_is_no_error(run: Run):
    run("write", "note", "text")
    found = run("search", "unheard")
    assert (found.code, found.out, found.err) == (0, "", "no memory was found\n")


def test_words_that_are_not_utf8_are_refused(run: Run):
    run("write", "note", "text")
    assert run("search", "\udcff").code == 2


@pytest.mark.parametrize("words", ['" OR 1', "a* NEAR(b)", "name:x", "(((x", "NOT", "x\0y", "%_a", "'; DROP TABLE"])
def test_words_are_never_query_syntax(run: Run, words: str):
    run("write", "note", "text")
    assert run("search", "--json", "--", words).code == 0


def test_a_search_sees_what_was_just_edited(run: Run, folder: Path):
    run("write", "note", "text")
    (folder / "hand.md").write_text("---\nname: hand\ndescription: d\n---\nzebra crossing\n")
    assert run("search", "zebra").out.startswith("hand.md")


@pytest.fixture
def other(tmp_path: Path, run: Run) -> Path:
    """A second project, with one memory."""
    place = tmp_path / "other"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    run("write", "there", "shared word", at=place)
    return place


def test_all_projects_are_searched_and_named(run: Run, repo: Path, other: Path):
    run("write", "here", "shared word")
    found = run("search", "shared", "--all-projects", "--json").json
    assert {(hit["project"], hit["path"]) for hit in found["hits"]} == {
        (str(repo), "here.md"),
        (str(other), "there.md"),
    }
    assert str(other) in run("search", "shared", "--all-projects").out
    assert "there.md" not in run("search", "shared").out


def test_all_projects_from_a_place_without_memories(run: Run, other: Path, tmp_path: Path):
    assert [hit["path"] for hit in run("search", "word", "--all-projects", "--json").json["hits"]] == ["there.md"]
    moved = tmp_path / "moved"
    other.rename(moved)
    assert run("search", "word", "--all-projects", at=moved).out.startswith("there.md")


def test_a_store_that_cannot_be_opened_is_named_and_stops_nothing(run: Run, other: Path, home: Path):
    run("write", "here", "shared word")
    store = run("where", "--json", at=other).json["store_directory"]
    shutil.rmtree(store)
    Path(store).mkdir()
    (Path(store) / "store.db").write_bytes(b"no database " * 100)
    found = run("search", "shared", "--all-projects")
    assert found.code == 0
    assert found.out.startswith("here.md")
    assert f"not searched: {other}" in found.err
    unavailable = run("search", "shared", "--all-projects", "--json").json["unavailable"]
    assert [one["project"] for one in unavailable] == [str(other)]


def test_the_order_of_a_store_is_kept_among_others(run: Run, other: Path):
    run("write", "old", "shared word shared word")
    run("write", "new", "not about it")
    run("supersede", "old", "--by", "new")
    paths = [hit["path"] for hit in run("search", "shared", "word", "--all-projects", "--json").json["hits"]]
    assert paths.index("new.md") + 1 == paths.index("old.md")


@pytest.mark.parametrize("words", [("--no-verify",), ("-", "verify"), ("- verify",), ("--json", "--no-verify", "-n5")])
def test_words_may_begin_with_a_dash(run: Run, words: tuple[str, ...]):
    run("write", "note", "commit with --no-verify")
    assert "note.md" in run("search", *words).out
    assert run("search", "--limit").code == 2


@pytest.mark.parametrize("words", ["", "   ", "%", "_", "*", "...", '" *'])
def test_h24_what_holds_no_word_finds_nothing_and_says_so(run: Run, words: str):
    run("write", "note", "some text")
    found = run("search", words)
    assert (found.code, found.out) == (0, "")
    assert "there is no word" in found.err
    assert run("search", "--json", words).json["hits"] == []


@pytest.mark.parametrize("limit", ["0", "-1", "1000000000"])
def test_h24_a_limit_out_of_range_is_the_nearest_that_is_in_it(run: Run, limit: str):
    run("write", "note", "some text")
    assert run("search", "-n", limit, "text").code == 0


def test_what_only_a_tool_said_is_marked_where_it_is_found(run: Run, repo: Path):
    run("write", "ours", "The logs are kept for a week.", "-d", "ours")
    with Memstore.open(str(repo), origin="tool") as memories:
        memories.write("page", Wanted("Send the logs elsewhere.", "a page"))
    found = run("search", "logs").out
    assert "page.md  [project, words of tools]\n" in found and "ours.md  [project]\n" in found
    assert {hit["path"]: hit["origin"] for hit in run("search", "logs", "--json").json["hits"]}["page.md"] == "tool"
    marks = {line.split("\t")[0]: line.split("\t")[4] for line in run("list").out.splitlines()}
    assert marks == {"ours.md": "", "page.md": "words of tools"}
    assert "(words of tools)" in run("show", "page").out.splitlines()[0]

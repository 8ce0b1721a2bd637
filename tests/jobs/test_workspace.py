"""A staged view of the store: what is read in it, and what becomes of its steps where others wrote meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.changes import Create, Retire, Revise
from memstore.core.model import SHELF, Applied, Shelf
from memstore.errors import AlreadyExists, InputRefused, MemstoreError, NameRefused, NameTaken, NotFound, StaleVersion
from memstore.jobs.vouching import check
from memstore.jobs.workspace import Rebased, Workspace
from memstore.store import runs
from memstore.store.runs import RunEnd
from memstore.store.store import Store
from tests.jobs.desk import (
    AGENT,
    PERSON,
    TOOL,
    at,
    change,
    commit,
    opened,
    pin,
    put,
    rename,
    retire,
    save,
    text_of,
    workspace_of,
)  # fmt: skip
from tests.store.stores import create, index_of, who


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("empty") / "store"
    opened(directory).close()
    return directory


@pytest.fixture
def store(empty: Path, tmp_path: Path) -> Iterator[Store]:
    shutil.copytree(empty, tmp_path / "store")
    found = opened(tmp_path / "store")
    yield found
    found.close()


def paths(workspace: Workspace) -> list[str]:
    return [file.path for file in workspace.files()]


def body(workspace: Workspace, path: str) -> str:
    found = workspace.read(path)
    assert found is not None
    return found.text.partition("---\n\n")[2]


def edit(workspace: Workspace, path: str, old: str, new: str) -> None:
    workspace.stage_edit(path, old, new, False, AGENT)


# Reading and staging


def test_what_is_read_is_one_moment_and_what_was_staged_since(store: Store):
    save(store, "a")
    save(store, "b")
    workspace = workspace_of(store)
    save(store, "c")
    change(store, "a", "2", "two")
    assert (paths(workspace), body(workspace, "a.md"), workspace.seq) == (["a.md", "b.md"], "1\n2\n3\n", 2)
    assert workspace.index == "- [a](a.md) — d\n- [b](b.md) — d\n"

    workspace.stage_write("new.md", text_of("new", "x\n"), AGENT)
    edit(workspace, "a.md", "3", "three")
    edit(workspace, "new.md", "x", "y")
    workspace.stage_delete("b.md", "said twice", AGENT)
    assert (paths(workspace), body(workspace, "a.md")) == (["a.md", "new.md"], "1\n2\nthree\n")
    assert body(workspace, "new.md") == "y\n" and workspace.read("b.md") is None
    assert [file.staged for file in workspace.files()] == [True, True]
    assert store.at(SHELF, "new.md") is None


def test_other_shelves_and_retired_memories_are_not_there(store: Store):
    put(store, Create("far", Shelf("team"), "far.md", text_of("far")))
    save(store, "gone")
    retire(store, "gone")
    assert paths(workspace_of(store)) == []


def test_upper_and_lower_case_are_one_file(store: Store):
    save(store, "Note")
    workspace = workspace_of(store)
    edit(workspace, "NOTE.md", "2", "two")
    workspace.stage_write("other.md", text_of("other"), AGENT)
    workspace.stage_write("OTHER.md", text_of("other", "more\n"), AGENT)
    assert paths(workspace) == ["Note.md", "other.md"]
    assert sorted(commit(store, workspace)) == ["Note.md", "other.md"]


def test_the_change_set_names_the_version_that_each_step_saw(store: Store):
    a, b = save(store, "a"), save(store, "b")
    workspace = workspace_of(store)
    edit(workspace, "a.md", "2", "two")
    workspace.stage_delete("b.md", "said twice", AGENT)
    workspace.stage_write("c.md", text_of("c"), PERSON)
    found = workspace.change_set("extract", "run", who(), "two facts")
    assert found is not None
    assert found.changes == (
        Revise("a", a.token, a.state.content.replace(b"2", b"two"), merged=True),
        Retire("b", b.token),
        Create("new-1", SHELF, "c.md", text_of("c")),
    )
    assert (found.kind, found.operation, found.at, found.derived) == ("extract", "run", 5_000_000, ())
    assert found.reason == "two facts; b.md deleted: said twice"
    assert [(source.memory, source.message) for source in workspace.sources()] == [
        ("a", "answered"), ("b", "answered"), ("new-1", "said"),
    ]  # fmt: skip


def test_nothing_is_left_of_steps_that_take_each_other_back(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    assert workspace.change_set("extract", "run", who()) is None
    edit(workspace, "a.md", "2", "two")
    edit(workspace, "a.md", "two", "2")
    workspace.stage_write("b.md", text_of("b"), AGENT)
    workspace.stage_delete("b.md", "no", AGENT)
    assert workspace.stage_write("a.md", text_of("a", "1\n2\n3\n"), AGENT) is False
    assert workspace.change_set("extract", "run", who()) is None and workspace.sources() == ()


def test_what_was_deleted_and_written_again_is_the_same_memory(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    workspace.stage_delete("a.md", "wrong", AGENT)
    with pytest.raises(NotFound):
        edit(workspace, "a.md", "2", "two")
    with pytest.raises(NotFound):
        workspace.stage_delete("a.md", "wrong", AGENT)
    workspace.stage_write("a.md", text_of("a", "right\n"), AGENT)
    commit(store, workspace)
    assert [version.change for version in store.versions("a")] == ["create", "revise"]


@pytest.mark.parametrize(
    ("old", "new", "every", "told"),
    [
        ("", "x", False, "empty"),
        ("2", "2", False, "the same"),
        ("9", "x", False, "is not in the file"),
        ("\n", "x", False, r"\d+ times"),
        ("1", "1" * 2**24, False, "longer"),
    ],
)
def test_an_edit_that_has_no_one_place_is_refused(store: Store, old: str, new: str, every: bool, told: str):
    save(store, "a")
    workspace = workspace_of(store)
    with pytest.raises(InputRefused, match=told):
        workspace.stage_edit("a.md", old, new, every, AGENT)
    assert workspace.steps == ()


def test_an_edit_of_every_place_and_of_lines_that_end_in_crlf(store: Store):
    put(store, create("a", "---\r\nname: a\r\n---\r\nx\r\ny\r\nx\r\n"))
    workspace = workspace_of(store)
    assert workspace.stage_edit("a.md", "x", "z", True, AGENT) == 2
    edit(workspace, "a.md", "z\ny", "1\n2")
    commit(store, workspace)
    assert at(store, "a").state.content == b"---\r\nname: a\r\n---\r\n1\r\n2\r\nz\r\n"


def test_bytes_that_are_no_text_survive_an_edit_of_other_words(store: Store):
    put(store, create("a", b"---\nname: a\n---\n\xff one\ntwo\n"))
    workspace = workspace_of(store)
    workspace.stage_edit("a.md", "two", "2", False, PERSON)
    commit(store, workspace)
    assert at(store, "a").state.content == b"---\nname: a\n---\n\xff one\n2\n"


def test_a_path_that_is_none_is_refused(store: Store):
    with pytest.raises(NameRefused):
        workspace_of(store).stage_write("../a.md", text_of("a"), AGENT)


# Others write meanwhile


def committed(store: Store, workspace: Workspace) -> Rebased:
    """Commits as a run does: after a refusal, what is left of the steps once they were taken along."""
    with pytest.raises((StaleVersion, NameTaken, MemstoreError)):
        commit(store, workspace, "first try")
    rebased = workspace.rebase(store)
    assert rebased.moved
    if workspace.steps:
        commit(store, workspace)
    return rebased


def test_words_elsewhere_in_the_text_are_merged(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    edit(workspace, "a.md", "3", "three")
    change(store, "a", "1", "one")
    rebased = committed(store, workspace)
    assert (rebased.merged, rebased.dropped, rebased.given_back) == (("a.md",), (), ())
    assert at(store, "a").state.content.endswith(b"one\n2\nthree\n")


def test_the_same_words_are_given_back_with_the_text_that_stands_there(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    edit(workspace, "a.md", "2", "zwei")
    workspace.stage_write("b.md", text_of("b"), AGENT)
    change(store, "a", "2", "deux")
    (back,) = committed(store, workspace).given_back
    assert (back.path, back.current) == ("a.md", at(store, "a").state.content)
    assert back.wanted is not None and b"zwei" in back.wanted and "same words" in back.reason
    assert b"deux" in at(store, "a").state.content and at(store, "b").path == "b.md"

    # The model sees the present text, and what it says now is a step against that.
    assert body(workspace, "a.md") == "1\ndeux\n3\n"
    assert workspace.sources()[0].memory == "new-1"


def test_a_given_back_step_can_be_staged_again(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    edit(workspace, "a.md", "2", "zwei")
    change(store, "a", "2", "deux")
    assert workspace.rebase(store).given_back
    edit(workspace, "a.md", "deux", "zwei")
    commit(store, workspace)
    assert at(store, "a").state.content.endswith(b"1\nzwei\n3\n")


def test_what_another_session_said_already_is_dropped(store: Store):
    save(store, "a")
    save(store, "gone")
    workspace = workspace_of(store)
    edit(workspace, "a.md", "2", "two")
    workspace.stage_write("b.md", text_of("b"), AGENT)
    workspace.stage_delete("gone.md", "wrong", AGENT)
    change(store, "a", "2", "two")
    put(store, create("b", text_of("b").replace(b"metadata:", b"metadata:\n  node_type: memory")))
    retire(store, "gone")
    rebased = committed(store, workspace)
    assert (rebased.dropped, workspace.steps) == (("a.md", "b.md", "gone.md"), ())
    assert rebased.given_back == ()


def test_another_file_of_that_name_is_never_overwritten(store: Store):
    workspace = workspace_of(store)
    workspace.stage_write("b.md", text_of("b", "mine\n"), AGENT)
    put(store, create("B", text_of("b", "theirs\n")))
    (back,) = committed(store, workspace).given_back
    assert (back.path, back.current) == ("B.md", text_of("b", "theirs\n"))
    assert store.at(SHELF, "b.md") == at(store, "B")


def test_what_was_deleted_meanwhile_stays_deleted(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    edit(workspace, "a.md", "2", "two")
    retire(store, "a")
    (back,) = committed(store, workspace).given_back
    assert (back.path, back.current, back.reason) == ("a.md", None, "it was deleted meanwhile")
    assert not at(store, "a").state.live and workspace.read("a.md") is None


def test_a_memory_that_was_renamed_meanwhile_is_changed_where_it_is(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    edit(workspace, "a.md", "2", "two")
    rename(store, "a", "b")
    save(store, "other")
    rebased = committed(store, workspace)
    assert rebased.given_back == () and at(store, "b").state.content.endswith(b"1\ntwo\n3\n")
    assert store.at(SHELF, "a.md") is None and paths(workspace) == ["b.md", "other.md"]


def test_a_memory_that_was_renamed_to_a_name_that_is_staged_keeps_it(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    workspace.stage_write("b.md", text_of("b", "mine\n"), AGENT)
    rename(store, "a", "b")
    (back,) = committed(store, workspace).given_back
    assert (back.path, back.current) == ("b.md", at(store, "b").state.content)


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda store: change(store, "a", "2", "two"),
        lambda store: rename(store, "a", "b"),
        lambda store: pin(store, "a"),
    ],
)
def test_a_deletion_is_for_the_text_that_was_seen(store: Store, meanwhile: Callable[[Store], None]):
    save(store, "a")
    workspace = workspace_of(store)
    workspace.stage_delete("a.md", "wrong", AGENT)
    meanwhile(store)
    (back,) = committed(store, workspace).given_back
    assert back.wanted is None and back.current is not None
    assert [memory.id for memory in store.memories()] == ["a"]


def test_a_deletion_of_a_text_that_was_only_stamped_holds(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    workspace.stage_delete("a.md", "wrong", AGENT)
    change(store, "a", "metadata:", "metadata:\n  modified: today")
    assert committed(store, workspace) == Rebased(True)
    assert not at(store, "a").state.live


def test_a_memory_on_another_shelf_by_now_is_not_written(store: Store):
    from dataclasses import replace

    from memstore.core.changes import Restore

    head = save(store, "a")
    workspace = workspace_of(store)
    edit(workspace, "a.md", "2", "two")
    put(store, Restore("a", head.token, replace(head.state, shelf=Shelf("team"))))
    assert [back.current for back in committed(store, workspace).given_back] == [None]


def test_where_nobody_wrote_nothing_moves(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    edit(workspace, "a.md", "2", "two")
    save(store, "b")
    assert workspace.rebase(store) == Rebased(False)
    assert (paths(workspace), workspace.seq) == (["a.md", "b.md"], 2)


def test_a_run_ends_with_what_fits_and_where_that_came_from(store: Store):
    save(store, "a")
    with store.change() as connection:
        runs.begin(connection, "run", "extract", "session", 20)
    workspace = workspace_of(store)
    edit(workspace, "a.md", "2", "two")
    workspace.stage_write("b.md", text_of("b"), PERSON)
    workspace.stage_write("c.md", text_of("c"), PERSON)
    change(store, "a", "1", "one")
    put(store, create("b", text_of("b")))

    def end() -> Applied | None:
        change_set = workspace.change_set("extract", "saves", who())
        return store.finish_run(RunEnd("run", "saved", 30), change_set, sources=workspace.sources())

    with pytest.raises(StaleVersion):
        end()
    assert workspace.rebase(store) == Rebased(True, merged=("a.md",), dropped=("b.md",))
    applied = end()
    assert applied is not None and [version.state.path for version in applied.versions] == ["a.md", "c.md"]
    with store.view() as connection:
        made = [runs.sources(connection, version.memory) for version in applied.versions]
    assert made == [[(applied.seq, "session", "answered")], [(applied.seq, "session", "said")]]


# Whose words


def test_words_of_tools_are_marked_and_a_new_file_of_them_is_not_listed(store: Store):
    save(store, "a")
    workspace = workspace_of(store)
    workspace.stage_write("page.md", text_of("page", "logs go to a collector\n", type="reference"), TOOL)
    workspace.stage_write("said.md", text_of("said"), AGENT)
    workspace.stage_edit("a.md", "2", "two", False, TOOL)
    commit(store, workspace)
    found = {memory.path: (memory.origin, memory.listing) for memory in store.memories()}
    assert found == {"a.md": ("tool", "listed"), "page.md": ("tool", "unlisted"), "said.md": ("agent", "listed")}
    assert [line[0] for line in index_of(store)] == ["- [a](a.md) — d", "- [said](said.md) — d", ""]


def test_a_file_stays_marked_whatever_is_edited_in_it_afterwards_until_it_is_written_anew(store: Store):
    workspace = workspace_of(store)
    for name in ("edited", "anew"):
        workspace.stage_write(f"{name}.md", text_of(name, "from a page\n"), TOOL)
    workspace.stage_edit("edited.md", "page", "book", False, PERSON)
    workspace.stage_write("anew.md", text_of("anew", "said\n"), PERSON)
    commit(store, workspace)
    assert (at(store, "edited").origin, at(store, "anew").origin) == ("tool", "agent")


@pytest.mark.parametrize("made", [AGENT, TOOL])
def test_a_memory_that_speaks_for_the_person_is_made_changed_and_deleted_with_their_words_only(store: Store, made):
    save(store, "rule", type="feedback")
    workspace = workspace_of(store)
    rule = text_of("rule", "1\n2\n3\n", type="feedback")
    for stage in (
        lambda: workspace.stage_write("new.md", rule, made),
        lambda: workspace.stage_write("new.md", rule.replace(b"feedback", b"user"), made),
        lambda: workspace.stage_edit("rule.md", "2", "two", False, made),
        lambda: workspace.stage_edit("rule.md", "feedback", "project", False, made),
        lambda: workspace.stage_write("rule.md", rule + b"more\n", made),
        lambda: workspace.stage_delete("rule.md", "wrong", made),
    ):
        with pytest.raises(InputRefused, match="`quote`"):
            stage()
    assert workspace.steps == ()
    workspace.stage_write("new.md", rule, PERSON)
    workspace.stage_edit("rule.md", "2", "two", False, PERSON)
    commit(store, workspace)
    assert at(store, "new").origin == "agent"


@pytest.mark.parametrize(
    "header",
    [
        "type: feedback\n",
        "type: Feedback\n",
        "type: project\nmetadata:\n  type: user\n",
        "type: user\nmetadata:\n  type: project\n",
        "metadata:\n  type: ｆｅｅｄｂａｃｋ\n",
        "type: [user]\n",
        "type: 'user\n",
    ],
)
def test_no_spelling_of_the_type_gets_around_that(store: Store, header: str):
    content = f"---\nname: a\n{header}---\n\n1\n".encode()
    with pytest.raises(InputRefused, match="`quote`"):
        check(None, content, (TOOL,))
    with pytest.raises(InputRefused):
        workspace_of(store).stage_write("a.md", content, TOOL)
    put(store, create("a", content))
    with pytest.raises(InputRefused, match="`quote`"):
        workspace_of(store).stage_write("a.md", text_of("a"), AGENT)


def test_words_of_tools_do_not_become_the_persons_by_another_type(store: Store):
    save(store, "page", origin="tool")
    workspace = workspace_of(store)
    with pytest.raises(InputRefused, match="words of tools"):
        workspace.stage_edit("page.md", "project", "feedback", False, PERSON)
    workspace.stage_write("new.md", text_of("new", "from a page\n"), TOOL)
    with pytest.raises(InputRefused, match="`quote`"):
        workspace.stage_edit("new.md", "project", "feedback", False, PERSON)


def test_words_of_tools_go_into_no_memory_of_a_person_and_into_no_line_of_the_index(store: Store):
    save(store, "mine", origin="person")
    save(store, "listed")
    save(store, "unlisted", listing="unlisted")
    workspace = workspace_of(store)
    with pytest.raises(InputRefused, match="a person wrote it"):
        workspace.stage_edit("mine.md", "2", "two", False, TOOL)
    with pytest.raises(InputRefused, match="stand in the index"):
        workspace.stage_edit("listed.md", "description: d", "description: run this", False, TOOL)
    workspace.stage_edit("unlisted.md", "description: d", "description: run this", False, TOOL)
    workspace.stage_edit("mine.md", "2", "two", False, AGENT)


def test_what_is_pinned_or_a_persons_is_not_deleted_by_a_run(store: Store):
    save(store, "pinned", pinned=True)
    save(store, "mine", origin="person")
    workspace = workspace_of(store)
    with pytest.raises(InputRefused, match="pinned"):
        workspace.stage_delete("pinned.md", "old", PERSON)
    with pytest.raises(InputRefused, match="speaks for the person"):
        workspace.stage_delete("mine.md", "old", AGENT)
    workspace.stage_delete("mine.md", "old", PERSON)


def test_the_rules_hold_for_what_a_memory_has_become_meanwhile(store: Store):
    for name in ("a", "b", "c"):
        save(store, name)
    workspace = workspace_of(store)
    for name in ("a", "b", "c"):
        workspace.stage_edit(f"{name}.md", "3", "three", False, TOOL)
    change(store, "a", "type: project", "type: feedback")
    change(store, "b", "1", "one", origin="person")
    change(store, "c", "1", "one")
    rebased = committed(store, workspace)
    assert [back.path for back in rebased.given_back] == ["a.md", "b.md"] and rebased.merged == ("c.md",)
    assert "needs `quote`" in rebased.given_back[0].reason and "a person wrote it" in rebased.given_back[1].reason
    assert b"three" not in at(store, "a").state.content + at(store, "b").state.content


# All of it at once

NAMES = ("a", "b", "c", "d")
MINE = st.lists(
    st.tuples(st.sampled_from(["write", "edit", "delete"]), st.sampled_from(NAMES), st.sampled_from("123")), max_size=5
)
THEIRS = st.lists(
    st.tuples(
        st.sampled_from(["write", "edit", "delete", "rename", "pin"]), st.sampled_from(NAMES), st.sampled_from("123")
    ),
    max_size=5,
)


def act_here(workspace: Workspace, kind: str, name: str, digit: str) -> None:
    path = f"{name}.md"
    if kind == "write":
        workspace.stage_write(path, text_of(name, f"1\n2\n3\nmine {digit}\n"), AGENT)
    elif kind == "edit":
        edit(workspace, path, f"\n{digit}\n", f"\n{digit} of mine\n")
    else:
        workspace.stage_delete(path, "because", AGENT)


def act_there(store: Store, kind: str, name: str, digit: str) -> None:
    head = store.at(SHELF, f"{name}.md")
    if head is None or not head.state.live:
        if kind == "write":
            put(store, Create(f"{name}-{store.now()}", SHELF, f"{name}.md", text_of(name, f"theirs {digit}\n")))
    elif kind in ("write", "edit"):
        change(store, name, f"\n{digit}\n", f"\n{digit} of theirs\n")
    elif kind == "rename":
        rename(store, name, f"{name}{digit}")
    elif kind == "pin":
        pin(store, name)
    else:
        retire(store, name)


@given(MINE, THEIRS)
def test_whatever_others_do_their_words_stay_and_ours_are_there_or_given_back(
    empty: Path, tmp_path_factory: pytest.TempPathFactory, mine, theirs
):
    directory = tmp_path_factory.mktemp("any") / "store"
    shutil.copytree(empty, directory)
    store = opened(directory)
    for name in ("a", "b"):
        save(store, name)
    workspace = workspace_of(store)
    for step in mine:
        try:
            act_here(workspace, *step)
        except (InputRefused, NotFound):
            continue
    steps = workspace.steps
    for step in theirs:
        try:
            act_there(store, *step)
        except (NameTaken, AlreadyExists):
            continue
    before = {memory.id: memory for memory in store.memories(retired=True)}
    rebased = workspace.rebase(store)
    if workspace.steps:
        commit(store, workspace)
    after = {memory.id: memory for memory in store.memories(retired=True)}

    given_back = {back.wanted for back in rebased.given_back}
    for step in steps:
        head = after.get(step.memory)
        there = {memory.state.content for memory in after.values() if memory.state.live}
        if step.content is None:
            assert None in given_back or (head is not None and not head.state.live)
        elif step.content not in there | given_back:
            assert head is not None and b"mine" in head.state.content
    for identity, memory in before.items():
        seen = next((step.seen for step in steps if step.memory == identity), None)
        now = after[identity]
        if seen is None or not memory.state.live:
            assert now == memory or (seen is not None and not seen.state.live)
        elif now.state.live and now.token != memory.token:
            # What they wrote since the workspace looked is in the text that came out.
            assert seen is not None
            theirs_since = set(memory.state.content.split(b"\n")) - set(seen.state.content.split(b"\n"))
            assert theirs_since <= set(now.state.content.split(b"\n"))
    store.close()

"""The memory tool: its documented answers over a real store and folder, and what it refuses."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.tools import ToolError
from hypothesis import given, settings
from hypothesis import strategies as st

from memstore import Memstore, Wanted
from memstore.memory_tool import MemstoreAsyncMemoryTool, MemstoreMemoryTool

Call = Callable[..., str]

LISTED = "Here're the files and directories up to 2 levels deep in {}, excluding hidden items:\n"
NUMBERED = "Here's the content of {} with line numbers:\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tmp_path / "repo"


@pytest.fixture
def tool(repository: Path) -> Iterator[MemstoreMemoryTool]:
    with MemstoreMemoryTool(str(repository)) as opened:
        yield opened


@pytest.fixture
def call(tool: MemstoreMemoryTool) -> Call:
    """A command as the runner gives it: as whatever JSON the model wrote."""
    return lambda command, **fields: str(tool.call({"command": command, **fields}))


@pytest.fixture
def memories(repository: Path) -> Iterator[Memstore]:
    """Somebody else at the same store."""
    with Memstore.open(str(repository)) as opened:
        yield opened


def refused(call: Call, command: str, **fields: Any) -> str:
    with pytest.raises(ToolError) as told:
        call(command, **fields)
    return str(told.value.content)


def text_of(memories: Memstore, path: str) -> str:
    return memories.show(path)[1].state.content.decode()


def folder(memories: Memstore) -> Path:
    assert memories.place.folder is not None
    return Path(memories.place.folder)


def numbered(path: str, text: str, first: int = 1) -> str:
    lines = [f"{number:6}\t{line}" for number, line in enumerate(text.split("\n"), first)]
    return NUMBERED.format(path) + "\n".join(lines)


# The documented answers


def test_a_directory_is_listed_two_levels_deep_with_sizes(call: Call):
    assert call("view", path="/memories") == LISTED.format("/memories") + "0B\t/memories"
    call("create", path="/memories/a.md", file_text="x" * 1536)
    call("create", path="/memories/b/c/d/e.md", file_text="four")
    call("create", path="/memories/b/a.md", file_text="")
    assert call("view", path="/memories/").split("\n")[2:] == [
        "44B\t/memories/MEMORY.md",
        "1.5K\t/memories/a.md",
        "4B\t/memories/b/",
        "0B\t/memories/b/a.md",
        "4B\t/memories/b/c/",
    ]
    assert call("view", path="/memories/b/") == LISTED.format("/memories/b") + (
        "4B\t/memories/b\n0B\t/memories/b/a.md\n4B\t/memories/b/c/\n4B\t/memories/b/c/d/"
    )


def test_a_file_is_viewed_with_its_lines_numbered_whole_or_in_part(call: Call):
    call("create", path="/memories/a.md", file_text="one\ntwo\nthree\n")
    path = "/memories/a.md"
    assert call("view", path=path) == numbered(path, "one\ntwo\nthree\n")
    assert call("view", path=path, view_range=[2, 3]) == numbered(path, "two\nthree", 2)
    assert call("view", path=path, view_range=[3, -1]) == numbered(path, "three\n", 3)
    assert call("view", path=path, view_range=[0, 1]) == numbered(path, "one")
    for bad in ([5, 6], [3, 2], [1, -2], [1], [1, 2, 3], ["a", "b"], "12", 7, [None, 2], [1.5, 2]):
        assert "view_range" in refused(call, "view", path=path, view_range=bad)
    assert "[4, -1] shows all from there" in refused(call, "view", path=path, view_range=[99, -1])


def test_what_is_not_there_is_said_to_be_missing(call: Call):
    missing = "The path /memories/no.md does not exist"
    assert refused(call, "view", path="/memories/no.md") == f"{missing}. Please provide a valid path."
    assert refused(call, "insert", path="/memories/no.md", insert_line=0, insert_text="x").startswith(missing)
    assert refused(call, "str_replace", path="/memories/no.md", old_str="a", new_str="b").startswith(missing)
    assert refused(call, "delete", path="/memories/no.md") == missing
    assert refused(call, "rename", old_path="/memories/no.md", new_path="/memories/b.md") == missing
    assert "does not exist" in refused(call, "view", path="/memories/todo.txt")
    assert "does not exist" in refused(call, "view", path="/memories/MEMORY.md")


def test_a_file_that_exists_is_not_created_again(call: Call):
    assert call("create", path="/memories/a.md", file_text="1") == "File created successfully at: /memories/a.md"
    assert refused(call, "create", path="/memories/a.md", file_text="2") == "File /memories/a.md already exists"
    assert "/memories/a.md: such names count as one" in refused(call, "create", path="/memories/A.md", file_text="2")
    assert refused(call, "create", path="/memories", file_text="2") == "File /memories already exists"
    assert call("view", path="/memories/a.md") == numbered("/memories/a.md", "1")


def test_one_place_is_replaced_and_shown_with_its_surroundings(call: Call):
    path = "/memories/a.md"
    call("create", path=path, file_text="1\n2\n3\nfour\n5\n6\n7\n")
    assert call("str_replace", path=path, old_str="four", new_str="4\n4b") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     2\t2\n     3\t3\n     4\t4\n     5\t4b\n     6\t5"
    )
    assert call("str_replace", path=path, old_str="4b\n").endswith("     7\t7")
    assert call("view", path=path) == numbered(path, "1\n2\n3\n4\n5\n6\n7\n")


def test_a_text_that_is_nowhere_or_in_several_places_replaces_nothing(call: Call):
    path = "/memories/a.md"
    call("create", path=path, file_text="aa\nb\naa\n")
    none = "No replacement was performed"
    assert refused(call, "str_replace", path=path, old_str="c", new_str="d") == (
        f"{none}, old_str `c` did not appear verbatim in {path}."
    )
    assert refused(call, "str_replace", path=path, old_str="a", new_str="d") == (
        f"{none}. Multiple occurrences of old_str `a` in lines: 1, 1, 3, 3. Please ensure it is unique"
    )
    assert refused(call, "str_replace", path=path, old_str="", new_str="d").startswith(none)
    call("create", path="/memories/many.md", file_text="a" * 100_000)
    assert len(refused(call, "str_replace", path="/memories/many.md", old_str="a", new_str="d")) < 1_000
    call("create", path="/memories/n/b.md", file_text="x")
    assert refused(call, "str_replace", path="/memories/n", old_str="x", new_str="d") == (
        "The path /memories/n is not a file."
    )


def test_lines_are_inserted_behind_a_line_that_exists(call: Call):
    path = "/memories/a.md"
    call("create", path=path, file_text="one\ntwo")
    edited = f"The file {path} has been edited."
    assert call("insert", path=path, insert_line=0, insert_text="zero\n") == edited
    assert call("insert", path=path, insert_line=3, insert_text="three\nfour\n\n") == edited
    assert call("view", path=path) == numbered(path, "zero\none\ntwo\nthree\nfour\n")
    for bad in (-1, 6, 10**30):
        assert refused(call, "insert", path=path, insert_line=bad, insert_text="x") == (
            f"Invalid `insert_line` parameter: {bad}. It should be within the range [0, 5]."
        )
    for worse in ("one", None, [1], 1.5):
        assert "insert_line" in refused(call, "insert", path=path, insert_line=worse, insert_text="x")


def test_a_file_moves_with_its_history_and_its_very_bytes(call: Call, memories: Memstore):
    text = "---\nname: a\ndescription: d\n---\nbody\n"
    call("create", path="/memories/a.md", file_text=text)
    call("create", path="/memories/b.md", file_text="b")
    moved = "Successfully renamed /memories/a.md to /memories/n/c.md"
    taken = "The destination {} already exists"
    assert refused(call, "rename", old_path="/memories/a.md", new_path="/memories/b.md") == taken.format(
        "/memories/b.md"
    )
    assert refused(call, "rename", old_path="/memories/a.md", new_path="/memories") == taken.format("/memories")
    assert call("rename", old_path="/memories/a.md", new_path="/memories/n/c.md") == moved
    assert text_of(memories, "n/c.md") == text
    assert [version.change for version in memories.versions("n/c.md")] == ["create", "rename"]
    assert "does not exist" in refused(call, "view", path="/memories/a.md")
    call("rename", old_path="/memories/b.md", new_path="/memories/B.md")
    assert call("view", path="/memories/B.md") == numbered("/memories/B.md", "b")


def test_a_directory_moves_and_goes_as_one_operation(call: Call, memories: Memstore):
    for name in ("n/a.md", "n/deep/b.md", "nn.md"):
        call("create", path=f"/memories/{name}", file_text=name)
    assert "into itself" in refused(call, "rename", old_path="/memories/n", new_path="/memories/n/x")
    assert "already exists" in refused(call, "rename", old_path="/memories/nn.md", new_path="/memories/n")
    call("rename", old_path="/memories/n", new_path="/memories/m/n")
    assert [memory.path for memory in memories.memories()] == ["m/n/a.md", "m/n/deep/b.md", "nn.md"]
    assert call("delete", path="/memories/m") == "Successfully deleted /memories/m"
    assert [memory.path for memory in memories.memories()] == ["nn.md"]
    assert sorted(path.name for path in folder(memories).rglob("*.md")) == ["MEMORY.md", "nn.md"]
    memories.undo(str(memories.log()[0][0].seq))
    assert [memory.path for memory in memories.memories()] == ["m/n/a.md", "m/n/deep/b.md", "nn.md"]
    assert text_of(memories, "m/n/deep/b.md") == "n/deep/b.md"


def test_the_directory_of_all_memories_stays(call: Call):
    assert refused(call, "delete", path="/memories/") == "Cannot delete the /memories directory itself"
    assert refused(call, "rename", old_path="/memories", new_path="/memories/a") == (
        "Cannot rename the /memories directory itself"
    )


def test_a_deleted_file_can_be_created_again_and_keeps_its_history(call: Call, memories: Memstore):
    call("create", path="/memories/a.md", file_text="first")
    call("delete", path="/memories/a.md")
    call("create", path="/memories/A.md", file_text="other case")
    call("delete", path="/memories/A.md")
    call("create", path="/memories/a.md", file_text="second")
    assert call("view", path="/memories/a.md") == numbered("/memories/a.md", "second")
    assert (folder(memories) / "a.md").read_text() == "second"


# What the files are


@settings(max_examples=25)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
@pytest.mark.parametrize("extra", ["", "\n", "---\nname: x\n---\n", "\0\0", "\r\n"])
def test_a_view_shows_the_very_text_that_was_created(extra: str, text: str, tmp_path_factory: pytest.TempPathFactory):
    base = tmp_path_factory.mktemp("made")
    (base / ".git").mkdir()
    with MemstoreMemoryTool(str(base)) as tool, Memstore.open(str(base)) as memories:
        tool.call({"command": "create", "path": "/memories/n/a.md", "file_text": text + extra})
        memories.sync()
        shown = tool.call({"command": "view", "path": "/memories/n/a.md"})
        assert shown == numbered("/memories/n/a.md", text + extra)
        assert text_of(memories, "n/a.md") == text + extra
        assert (folder(memories) / "n/a.md").read_bytes() == (text + extra).encode()


def test_a_file_without_a_header_is_a_memory_named_like_its_file(call: Call, memories: Memstore):
    call("create", path="/memories/notes/build-cache.md", file_text="The cache lives on host h1.\n")
    [memory] = memories.memories()
    assert (memory.path, memory.name, memory.type) == ("notes/build-cache.md", "build-cache", None)
    _, [hit] = memories.search("cache host")
    assert hit.path == "notes/build-cache.md"


def test_a_text_is_an_agents_and_its_session_is_in_the_history(repository: Path, memories: Memstore):
    with MemstoreMemoryTool(str(repository), session="conversation-7") as tool:
        tool.call({"command": "create", "path": "/memories/a.md", "file_text": "x"})
    provenance = memories.log()[0][0].provenance
    assert (provenance.origin, provenance.session) == ("agent", "conversation-7")


def test_an_edit_in_the_folder_is_seen_and_kept(call: Call, memories: Memstore):
    call("create", path="/memories/a.md", file_text="one\ntwo\n")
    (folder(memories) / "a.md").write_text("one\ntwo\nby hand\n")
    (folder(memories) / "n").mkdir()
    (folder(memories) / "n" / "b.md").write_text("new\n")
    assert call("view", path="/memories/a.md") == numbered("/memories/a.md", "one\ntwo\nby hand\n")
    assert call("view", path="/memories/n/b.md") == numbered("/memories/n/b.md", "new\n")
    call("insert", path="/memories/a.md", insert_line=3, insert_text="by the tool")
    assert (folder(memories) / "a.md").read_text() == "one\ntwo\nby hand\nby the tool\n"


def test_bytes_that_are_no_text_stay_where_other_words_are_edited(call: Call, memories: Memstore):
    call("create", path="/memories/a.md", file_text="one\n")
    (folder(memories) / "a.md").write_bytes(b"caf\xe9\none\n")
    assert call("view", path="/memories/a.md") == numbered("/memories/a.md", "caf\ufffd\none\n")
    assert "caf\ufffd" in call("str_replace", path="/memories/a.md", old_str="one", new_str="two")
    assert memories.show("a.md")[1].state.content == b"caf\xe9\ntwo\n"


def test_clearing_is_one_operation_that_can_be_undone(call: Call, tool: MemstoreMemoryTool, memories: Memstore):
    call("create", path="/memories/a.md", file_text="a\n")
    call("create", path="/memories/n/b.md", file_text="b\n")
    call("insert", path="/memories/MEMORY.md", insert_line=0, insert_text="# By hand")
    before = {path: path.read_bytes() for path in folder(memories).rglob("*.md")}
    assert tool.clear_all_memory() == tool.clear_all_memory() == "All memory cleared"
    assert call("view", path="/memories").split("\n")[1:] == ["0B\t/memories"]
    assert [path.read_bytes() for path in folder(memories).rglob("*.md")] == [b""]
    memories.undo(str(memories.log()[0][0].seq))
    assert {path: path.read_bytes() for path in folder(memories).rglob("*.md")} == before


# The index


def test_the_index_is_viewed_as_it_is_shown_in_the_folder(call: Call, memories: Memstore):
    for number in range(3):
        memories.write(f"memory {number}", Wanted(body="x", description=f"about {number}"))
    shown = (folder(memories) / "MEMORY.md").read_text()
    assert call("view", path="/memories/MEMORY.md") == numbered("/memories/MEMORY.md", shown)
    (folder(memories) / "many").mkdir()
    for number in range(220):
        (folder(memories) / "many" / f"{number}.md").write_text(f"{number}\n")
    memories.sync()
    call("create", path="/memories/last.md", file_text="x")
    shown = (folder(memories) / "MEMORY.md").read_text()
    assert "more memories" in shown
    assert call("view", path="/memories/MEMORY.md") == numbered("/memories/MEMORY.md", shown)
    last = next(line for line in shown.split("\n") if "more memories" in line)
    told = refused(call, "str_replace", path="/memories/MEMORY.md", old_str=f"{last}\n", new_str="")
    assert "made anew" in told


def test_an_edit_of_the_index_changes_the_lines_it_touches(call: Call, memories: Memstore):
    path = "/memories/MEMORY.md"
    call("create", path="/memories/a.md", file_text="x")
    assert call("insert", path=path, insert_line=0, insert_text="# Notes\n") == f"The file {path} has been edited."
    call("str_replace", path=path, old_str="- [a](a.md)", new_str="- [The first](a.md) — of all")
    assert (folder(memories) / "MEMORY.md").read_text() == "# Notes\n- [The first](a.md) — of all\n"
    assert [line.kind for line in memories.store.index()][:2] == ["free", "pointer"]
    call("create", path="/memories/b.md", file_text="x")
    call("str_replace", path=path, old_str="- [The first](a.md) — of all\n", new_str="")
    assert (folder(memories) / "MEMORY.md").read_text() == "# Notes\n- [b](b.md)\n"
    assert len(memories.memories()) == 2
    memories.undo(str(memories.log()[0][0].seq))
    assert (folder(memories) / "MEMORY.md").read_text() == "# Notes\n- [The first](a.md) — of all\n- [b](b.md)\n"


def test_the_index_is_not_created_deleted_renamed_or_emptied(call: Call):
    path = "/memories/MEMORY.md"
    assert "is the index" in refused(call, "create", path=path, file_text="x")
    call("create", path="/memories/a.md", file_text="x")
    for command, fields in (
        ("create", {"path": path, "file_text": "x"}),
        ("delete", {"path": path}),
        ("rename", {"old_path": path, "new_path": "/memories/b.md"}),
        ("rename", {"old_path": "/memories/a.md", "new_path": path}),
        ("create", {"path": "/memories/memory.md", "file_text": "x"}),
        ("create", {"path": "/memories/n/MEMORY.md", "file_text": "x"}),
    ):
        assert "is the index" in refused(call, command, **fields)
    assert "cannot be emptied" in refused(call, "str_replace", path=path, old_str="- [a](a.md)\n", new_str="")
    assert call("view", path=path) == numbered(path, "- [a](a.md)\n")


# What is refused

BAD = (
    "../escape", "..", "a/../../escape", "/etc/cron.d/x", "~/x", "C:\\x", "..\\x", "%2e%2e%2fx", "..%5cx", "\u2025/x",
    "a\x00b", "//host/share", "M/../../x", "．．／x", ".git/hooks/post-commit", ".consolidate-lock", ".memstore",
    "a//b.md", "./a.md", "a/./b.md", "agents/a.md", "a\nb.md", "\ud800.md", "x" * 300, "logs/x.md", " /a.md",
    "memory.md/a.md", "n/MEMORY.md/b",
)  # fmt: skip


def everything(directory: Path) -> set[str]:
    return {os.fspath(path) for path in directory.rglob("*") if "memstore/stores" not in os.fspath(path)}


@pytest.mark.parametrize("ending", ["", ".md", "/"])
@pytest.mark.parametrize("name", BAD)
def test_a_name_that_walks_reaches_nothing(
    name: str, ending: str, call: Call, memories: Memstore, tmp_path: Path, home: Path
):
    call("create", path="/memories/a.md", file_text="x")
    before = everything(tmp_path) | everything(home)
    path = f"/memories/{name}{ending}"
    for command, fields in (
        ("create", {"path": path, "file_text": "x"}),
        ("view", {"path": path}),
        ("str_replace", {"path": path, "old_str": "x", "new_str": "y"}),
        ("insert", {"path": path, "insert_line": 0, "insert_text": "y"}),
        ("delete", {"path": path}),
        ("rename", {"old_path": path, "new_path": "/memories/b.md"}),
        ("rename", {"old_path": "/memories/a.md", "new_path": path}),
    ):
        told = refused(call, command, **fields)
        assert str(home) not in told and str(tmp_path) not in told
    assert everything(tmp_path) | everything(home) == before
    assert [(memory.path, memory.state.content) for memory in memories.memories()] == [("a.md", b"x")]


@pytest.mark.parametrize(
    "path", ["/memoriesfoo/bar.md", "/memoriesfoo", "memories/a.md", "/", "", "/etc/passwd", "/Memories/a.md"]
)
def test_only_what_is_below_the_root_is_a_path(path: str, call: Call):
    assert refused(call, "view", path=path) == f"Path must start with /memories, got: {path}"
    assert "must start" in refused(call, "create", path=path, file_text="x")


def test_a_file_that_is_not_markdown_is_refused_with_the_name_to_take(call: Call):
    for name, better in (("todo.txt", "todo.md"), ("n/guide.xml", "n/guide.md"), ("notes", "notes.md"), (".x", None)):
        told = refused(call, "create", path=f"/memories/{name}", file_text="x")
        assert better is None or told.endswith(f"so use /memories/{better}")
    call("create", path="/memories/a.md", file_text="x")
    assert "so use" in refused(call, "rename", old_path="/memories/a.md", new_path="/memories/a.txt")
    assert "a directory's name" in refused(call, "create", path="/memories/a.md/b.md", file_text="x")
    assert "a directory" in refused(call, "create", path="/memories/b.md/", file_text="x")


@pytest.mark.parametrize(
    "given",
    [
        None, "view", 7, [], {}, {"command": None}, {"command": "explode"}, {"command": ["view"]}, {"command": "clear"},
        {"command": "view"}, {"command": "view", "path": 7}, {"command": "create", "path": "/memories/a.md"},
        {"command": "create", "path": "/memories/a.md", "file_text": 7}, {"command": "rename", "old_path": "/memories"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": 0}, {"command": "delete", "path": ["/memories"]},
        {"command": "create", "path": "/memories/a.md", "file_text": "half \ud800"},
        {"command": "create", "path": "/memories/a.md", "file_text": "x" * (16 * 1024 * 1024 + 1)},
        {"command": "str_replace", "path": "/memories/is.md", "old_str": "is", "new_str": "\udc80"},
        {"command": "str_replace", "path": "/memories/is.md", "old_str": "is", "new_str": 7},
    ],
)  # fmt: skip
def test_whatever_a_model_makes_of_a_command_is_told_as_an_error(given: object, tool: MemstoreMemoryTool):
    tool.call({"command": "create", "path": "/memories/is.md", "file_text": "is"})
    with pytest.raises(ToolError):
        tool.call(given)
    assert str(tool.call({"command": "view", "path": "/memories"})).count("\n") == 3


def test_an_error_names_no_place_of_the_machine(
    tool: MemstoreMemoryTool, memories: Memstore, tmp_path: Path, home: Path
):
    call: Call = lambda command, **fields: str(tool.call({"command": command, **fields}))  # noqa: E731 - as the fixture
    call("create", path="/memories/a.md", file_text="x")
    shutil.rmtree(memories.store.directory)
    told = refused(call, "view", path="/memories/a.md")
    assert told == "The memory cannot be used now; try again later"
    call("view", path="/memories")  # opened afresh: the store is a new one, the folder has the memory
    odd = MemstoreMemoryTool(str(tmp_path / "nowhere"))
    for command in ("view", "delete"):
        told = refused(lambda name, **fields: str(odd.call({"command": name, **fields})), command, path="/memories/x")
        assert str(tmp_path) not in told and str(home) not in told


def test_a_fault_of_our_own_is_a_plain_error_too():
    def broken() -> Memstore:
        raise RuntimeError("secret place")

    with pytest.raises(ToolError) as told:
        MemstoreMemoryTool(opened=broken).call({"command": "view", "path": "/memories"})
    assert "secret" not in str(told.value.content) and isinstance(told.value.__cause__, RuntimeError)


# Threads and processes


def test_one_tool_serves_many_threads(call: Call, tool: MemstoreMemoryTool):
    call("create", path="/memories/a.md", file_text="")

    def work(number: int) -> None:
        for each in range(5):
            call("insert", path="/memories/a.md", insert_line=0, insert_text=f"{number}-{each}")
        tool.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = call("view", path="/memories/a.md")
    assert all(f"\t{number}-{each}\n" in shown for number in range(4) for each in range(5))


def test_a_forked_process_opens_the_store_for_itself(call: Call):
    call("create", path="/memories/a.md", file_text="parent\n")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            call("insert", path="/memories/a.md", insert_line=1, insert_text="child")
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    call("insert", path="/memories/a.md", insert_line=2, insert_text="parent again")
    assert call("view", path="/memories/a.md") == numbered("/memories/a.md", "parent\nchild\nparent again\n")


def test_the_asynchronous_tool_does_the_same_in_a_thread_of_its_own(repository: Path):
    async def talk() -> list[str]:
        async with MemstoreAsyncMemoryTool(str(repository)) as tool:
            answers = [
                await tool.call({"command": "create", "path": "/memories/a.md", "file_text": "one\n"}),
                await tool.call(
                    {"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "two"}
                ),
                await tool.call({"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "1"}),
                await tool.call({"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"}),
            ]
            await asyncio.gather(
                *(
                    tool.call(
                        {"command": "insert", "path": "/memories/b.md", "insert_line": 0, "insert_text": str(each)}
                    )
                    for each in range(5)
                )
            )
            answers.append(await tool.call({"command": "view", "path": "/memories/b.md"}))
            answers.append(await tool.call({"command": "delete", "path": "/memories/b.md"}))
            answers.append(await tool.clear_all_memory())
            for bad in ({"command": "explode"}, {"command": "view", "path": "/memories/../x"}, "text"):
                with pytest.raises(ToolError):
                    await tool.call(bad)
            await tool.close()
            answers.append(await tool.call({"command": "view", "path": "/memories"}))
            return [str(answer) for answer in answers]

    answers = asyncio.run(talk())
    assert answers[0] == "File created successfully at: /memories/a.md"
    assert answers[3] == "Successfully renamed /memories/a.md to /memories/b.md"
    assert answers[4] == numbered("/memories/b.md", "4\n3\n2\n1\n0\n1\ntwo\n")
    assert answers[5:] == [
        "Successfully deleted /memories/b.md",
        "All memory cleared",
        LISTED.format("/memories") + "0B\t/memories",
    ]


def test_a_database_that_was_replaced_is_opened_anew_by_the_same_call(call: Call, memories: Memstore):
    from memstore.store import restoring

    call("create", path="/memories/a.md", file_text="kept\n")
    directory, store = memories.store.directory, memories.store.id
    memories.close()
    restoring.put_in_place(directory, restoring.fresh(directory, store, 1), store, 1)
    # The folder has the text, and the new database takes it over.
    assert call("view", path="/memories/a.md").endswith("\tkept\n     2\t")
    call("insert", path="/memories/a.md", insert_line=1, insert_text="once\n")
    assert call("view", path="/memories/a.md").count("once") == 1

"""Cases H10, H11 and H13: what people do to the index and to the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.core.index import measure, parse
from memstore.core.plan import Wanted
from tests.files.desk import Desk, noted, topic
from tests.files.outages import check_closure, command

ROOT = Path(__file__).parents[2]
DASH = "\u2014"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def put(desk: Desk, title: str, body: str = "...\n", description: str = "d") -> None:
    desk.memories.write(title, Wanted(body=body, description=description, type="project"))


def found(desk: Desk, words: str) -> list[str]:
    return [hit.path for hit in desk.memories.search(words)[1]]


def links(desk: Desk) -> list[str]:
    """The files that the lines of the index lead to."""
    return [piece.target for piece in parse(desk.read("MEMORY.md")) if piece.target]


# H10


H10 = f"""# Notes of the team

Read this first: **ask before force-push**.

## Auth
- [Auth, my own words](auth.md) {DASH} keep my hook
- no file for this: prod is called *bluebird*   \t
<!-- todo: ask the owner -->

| host | use |
|---|---|
| h1 | builds |

```
- [not a pointer](cache.md)
```

<!--
- [nor this](cache.md)
-->

## Empty heading
"""


@pytest.mark.parametrize(
    "text",
    [H10, H10.replace("\n", "\r\n"), H10.rstrip("\n"), "\ufeff" + H10, "\n\n" + H10 + "\n\n", H10.replace("#", "\f#")],
    ids=["as it is", "line ends", "no last line end", "mark at the start", "blank lines", "form feeds"],
)
def test_h10_every_byte_of_a_hand_written_index_stays(desk: Desk, text: str):
    desk.put("auth.md", topic("auth", "JWT rules"))
    desk.put("MEMORY.md", text)
    put(desk, "cache", description="TTL is 90 s")
    desk.sync()
    after = desk.read("MEMORY.md")
    added = f"- [cache](cache.md) {DASH} TTL is 90 s"
    assert after.count(added) == 1
    rest = after.replace("\r\n", "\n").replace(added, "").rstrip("\n")
    assert rest == text.replace("\r\n", "\n").rstrip("\n")
    stamps = desk.stamps()
    assert desk.sync().quiet and desk.stamps() == stamps
    (desk.folder / "MEMORY.md").unlink()
    desk.sync()
    assert desk.read("MEMORY.md").replace("\r\n", "\n").lstrip("\ufeff") == after.replace("\r\n", "\n").lstrip("\ufeff")
    assert desk.sync().quiet


@pytest.mark.parametrize("act", ["write", "set", "rename", "delete", "pin", "append", "supersede"])
def test_h10_no_command_touches_what_people_wrote_in_the_index(desk: Desk, act: str):
    desk.put("auth.md", topic("auth", "JWT rules"))
    desk.put("MEMORY.md", H10)
    desk.sync()
    put(desk, "cache", description="TTL is 90 s")
    put(desk, "other")
    {
        "write": lambda: desk.write("cache", "changed\n"),
        "set": lambda: desk.memories.set_field("cache", "description", "TTL is 5 s"),
        "rename": lambda: desk.memories.rename("cache", "store"),
        "delete": lambda: desk.memories.delete("cache"),
        "pin": lambda: desk.memories.pin("cache"),
        "append": lambda: desk.memories.append("cache", "more"),
        "supersede": lambda: desk.memories.supersede("cache", "other"),
    }[act]()
    desk.sync()
    assert desk.read("MEMORY.md").startswith(H10)
    check_closure(desk)


def test_h10_a_stale_copy_of_the_index_loses_nothing_that_one_undo_does_not_bring_back(desk: Desk):
    desk.put("auth.md", topic("auth", "JWT rules"))
    desk.put("MEMORY.md", "# Short\n")
    desk.sync()
    desk.put("MEMORY.md", H10)
    desk.sync()
    desk.put("MEMORY.md", "# Short\n")
    report = desk.sync()
    assert noted(report, "MEMORY.md").detail
    desk.memories.undo(str(report.seq))
    for line in H10.split("\n"):
        assert line in desk.read("MEMORY.md").split("\n")


# H11


def test_h11_what_finds_no_room_is_counted_listed_and_found_and_every_folder_chooses_alike(desk: Desk):
    for number in range(203):
        desk.put(f"fact-{number:03}.md", topic(f"fact-{number:03}", f"fact number {number}"))
    desk.sync()
    told = command(desk, "write", "port-now", "...", "-d", "staging port is 7443, replaces fact-004", "--json").json
    omitted = told["files"]["omitted"]
    assert omitted and measure(desk.read("MEMORY.md"))[0] <= 200
    assert "port-now.md" in links(desk) and f"{len(omitted)} more memories" in desk.read("MEMORY.md")
    named = command(desk, "status", "--json").json
    assert sorted(named["files"]["omitted"]) == sorted(omitted)
    assert sorted([*links(desk), *omitted]) == sorted(desk.living())
    for path in omitted:
        assert path in found(desk, path.removesuffix(".md"))
    there = desk.second()
    there.sync()
    assert there.read("MEMORY.md") == desk.read("MEMORY.md")


def test_h11_long_descriptions_stay_within_the_units_that_the_client_reads(desk: Desk):
    for number in range(150):
        desk.put(f"fact-{number:03}.md", topic(f"fact-{number:03}", "\U0001f680 " * 70 + str(number)))
    desk.sync()
    desk.memories.write("newest", Wanted(body="...\n", description="the newest word"))
    text = desk.read("MEMORY.md")
    assert len(text.encode("utf-16-le")) // 2 <= 25_000 and measure(text)[0] <= 200
    assert "the newest word" in text


@pytest.mark.parametrize("kind", ["pinned", "correction"])
def test_h11_what_matters_most_keeps_its_line_in_a_full_index(desk: Desk, kind: str):
    put(desk, "old one", description="the one that matters")
    put(desk, "wrong", description="what was believed")
    if kind == "pinned":
        desk.memories.pin("old-one")
    else:
        desk.memories.supersede("wrong", "old-one")
    for number in range(230):
        desk.put(f"fact-{number:03}.md", topic(f"fact-{number:03}", f"fact number {number}"))
    desk.sync(70)
    desk.sync(70)
    put(desk, "last")
    assert {"old-one.md", "last.md"} <= set(links(desk))


# H13


def test_h13_a_deleted_note_is_not_handed_out_and_stays_away_a_moved_one_keeps_its_history(desk: Desk):
    desk.put("drop-me.md", topic("drop-me", body="zanzibar one\n"))
    desk.put("move-me.md", topic("move-me", body="quetzal two\n"))
    desk.put("MEMORY.md", f"# Mine\n- [D](drop-me.md) {DASH} x\n- [M](move-me.md) {DASH} y\n")
    desk.sync()
    desk.write("move-me", "quetzal three\n")
    (desk.folder / "drop-me.md").unlink()
    (desk.folder / "move-me.md").rename(desk.folder / "moved.md")
    for _ in range(2):
        desk.sync()
        assert not (desk.folder / "drop-me.md").exists()
        assert "zanzibar" not in str(command(desk, "search", "zanzibar").out)
    assert desk.living() == ["moved.md"]
    assert links(desk) == ["moved.md"] and f"[M](moved.md) {DASH} y" in desk.read("MEMORY.md")
    assert [version.number for version in desk.memories.versions("moved")] == [1, 2, 3]
    assert [version.number for version in desk.memories.versions("drop-me")] == [1, 2]
    assert desk.sync().quiet
    desk.memories.restore("drop-me", version=1)
    assert "zanzibar one" in desk.read("drop-me.md")


def test_h13_a_search_hands_out_no_deleted_text_once_two_looks_agree(desk: Desk):
    desk.put("drop-me.md", topic("drop-me", body="zanzibar one\n"))
    desk.put("other.md", topic("other", body="else\n"))
    desk.sync()
    (desk.folder / "drop-me.md").unlink()
    desk.ahead += 3
    found(desk, "zanzibar")
    desk.ahead += 3
    assert found(desk, "zanzibar") == []
    assert "zanzibar" not in command(desk, "search", "zanzibar").out


def test_h13_a_note_made_anew_under_a_deleted_name_is_taken_in(desk: Desk):
    for times in range(3):
        desk.put("drop-me.md", topic("drop-me", body=f"zanzibar {times}\n"))
        desk.sync()
        assert desk.living() == ["drop-me.md"] and f"zanzibar {times}" in desk.text("drop-me")
        (desk.folder / "drop-me.md").unlink()
        desk.sync()
        assert desk.living() == []
    assert desk.number("drop-me") == 6
    desk.memories.delete("drop-me") if desk.living() else None
    desk.write("drop-me", "by a tool\n")
    assert desk.read("drop-me.md") == desk.text("drop-me")


@pytest.mark.parametrize("how", ["moved into a directory", "two at once", "swapped", "moved and edited"])
def test_h13_siblings_of_a_rename_keep_their_chains(desk: Desk, how: str):
    for name in ("a", "b"):
        desk.put(f"{name}.md", topic(name, body=f"{name} one\n{name} two\n{name} three\n"))
    desk.sync()
    ids = {name: _id(desk, name) for name in ("a", "b")}
    folder = desk.folder
    if how == "moved into a directory":
        (folder / "sub").mkdir()
        (folder / "a.md").rename(folder / "sub" / "a.md")
        wanted = {"sub/a.md": ids["a"], "b.md": ids["b"]}
    elif how == "two at once":
        (folder / "a.md").rename(folder / "c.md")
        (folder / "b.md").rename(folder / "d.md")
        wanted = {"c.md": ids["a"], "d.md": ids["b"]}
    elif how == "swapped":
        (folder / "a.md").rename(folder / "t")
        (folder / "b.md").rename(folder / "a.md")
        (folder / "t").rename(folder / "b.md")
        wanted = {"a.md": "", "b.md": ""}
    else:
        (folder / "a.md").rename(folder / "c.md")
        desk.edit("c.md", "a two", "a two, changed")
        wanted = {"c.md": ids["a"], "b.md": ids["b"]}
    desk.sync()
    assert {path: _id(desk, path) for path in desk.living()}.keys() == wanted.keys()
    for path, memory in wanted.items():
        assert desk.read(path) == desk.text(path)
        assert not memory or _id(desk, path) == memory
    everything = "".join(desk.text(path) for path in desk.living())
    assert "a three" in everything and "b three" in everything
    assert desk.sync().quiet


def _id(desk: Desk, name: str) -> str:
    head = desk.head(name)
    assert head is not None
    return head.id


def test_h13_a_search_before_any_sync_does_not_hand_out_deleted_text_as_current(desk: Desk):
    desk.put("drop-me.md", topic("drop-me", body="zanzibar one\n"))
    desk.put("other.md", topic("other", body="else\n"))
    desk.sync()
    (desk.folder / "drop-me.md").unlink()
    for _ in range(3):
        assert [hit.path for hit in desk.memories.search("zanzibar")[1]] == []
        assert "zanzibar" not in command(desk, "search", "zanzibar").out
        desk.ahead += 1

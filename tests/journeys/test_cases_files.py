"""Cases H04 to H12 through the app, as a person with a folder of memories meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.core.index import measure, parse
from memstore.core.names import collision_key
from memstore.core.plan import Wanted
from memstore.errors import AlreadyExists, Mendable, NameRefused
from tests.files.desk import PEAK, Desk, noted, topic

DASH = "\u2014"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def put(desk: Desk, title: str, body: str, description: str = "d") -> None:
    desk.memories.write(title, Wanted(body=body, description=description, type="project"))


def links(desk: Desk) -> list[str]:
    """The files that the lines of the index lead to."""
    return [piece.target for piece in parse(desk.read("MEMORY.md")) if piece.target]


# H04


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("alpha", "Alpha"),
        ("caf\u00e9", "cafe\u0301"),
        ("\U0001f680", "\U0001f3af"),
        ("大语言模型概述", "断路器自动恢复"),
        ("a b", "a-b"),
    ],
)
def test_h04_two_titles_never_share_one_body(desk: Desk, first: str, second: str):
    put(desk, first, "ONE\n")
    try:
        put(desk, second, "TWO\n")
    except AlreadyExists as refusal:
        assert str(refusal) and refusal.hint
        both = False
    else:
        both = True
    for _ in range(2):
        assert desk.memories.show(first)[1].state.content.endswith(b"ONE\n")
        if both:
            assert desk.memories.show(second)[1].state.content.endswith(b"TWO\n")
        desk.sync()
    files = [name for name in desk.files() if name.endswith(".md") and name != "MEMORY.md"]
    assert len({collision_key(name) for name in files}) == len(files) == 1 + both


@pytest.mark.parametrize("title", ["   ", "!!!"])
def test_h04_a_blank_title_gets_a_name_or_a_clear_refusal(desk: Desk, title: str):
    try:
        put(desk, title, "text\n")
    except NameRefused as refusal:
        assert refusal.hint
    else:
        (path,) = desk.living()
        assert path != ".md" and path.endswith(".md")


def test_h04_a_lowercase_index_is_neither_an_index_nor_a_topic(desk: Desk):
    desk.put("MEMORY.md", "# Mine\n")
    desk.put("memory.md", "stray lowercase index\n")
    report = desk.sync()
    assert any("memory.md" in notice for notice in report.notices)
    assert desk.living() == []
    assert desk.index() == ["# Mine", ""]
    put(desk, "a", "text\n")
    assert desk.read("memory.md") == "stray lowercase index\n"


# H05


H05 = [
    *("MEMORY", "Memory.md", "CON", "nul", "aux.txt", "com1", "notes.md", "notes.md.md", "a/b", "trailing."),
    *("trailing ", ".hidden", "-rf", "x" * 300, "日" * 120, "tab\tname", "new\nline", "a:b", "what?", "name#7"),
    *("[[link]]", "report\u202etxt.md"),
]


def test_h05_awkward_names_are_stored_safely_or_refused_with_the_reason(desk: Desk):
    stored: dict[str, str] = {}
    for title in H05:
        try:
            put(desk, title, f"body of {title!r}\n")
        except Mendable as refusal:
            assert str(refusal) and refusal.hint
        else:
            stored[title] = desk.memories.show(title)[0].path
    assert not {"MEMORY", "Memory.md"} & stored.keys()
    assert len(set(stored.values())) == len(stored) > 12
    for path in stored.values():
        assert (desk.folder / path).is_file()
        assert len(os.fsencode(path)) <= 255 and "/" not in path and "\u202e" not in path
        assert not path.removesuffix(".md").endswith((".", " "))
    assert sorted(links(desk)) == sorted(stored.values())
    assert [path.name for path in desk.folder.iterdir() if path.is_dir()] == []
    assert desk.sync().quiet
    assert sorted(desk.living()) == sorted(stored.values())


def test_h05_notes_and_notes_md_are_one_topic(desk: Desk):
    put(desk, "notes.md", "text\n")
    with pytest.raises(AlreadyExists):
        put(desk, "notes", "other\n")
    assert desk.living() == ["notes.md"]


# H06


BAD = [
    "Deploy rule: never on Fridays", "*bold* claim", "@releases owns the tag", "`make lint` first",
    "%APPDATA% is the root", "[WIP] do not trust", "{{placeholder}}", '"quoted" then more', "!important thing",
    "- a dash first", "#4411 is the parser ticket",
]  # fmt: skip


def test_h06_one_bad_file_stops_no_other_and_none_is_rewritten(desk: Desk):
    for number, description in enumerate(BAD):
        desk.put(f"bad{number:02}.md", topic(f"bad{number:02}", description))
    desk.put("bad-dup.md", "---\nname: dup\ndescription: first\ndescription: second\ntype: user\n---\nB\n")
    desk.put("bad-tab.md", "---\nname: tabbed\n\tdescription: by tab\ntype: user\n---\nB\n")
    desk.put("bad-bytes.md", b"---\nname: latin\ndescription: caf\xe9\n---\nna\xefve\n")
    desk.put("bad-nul.md", b"---\nname: nul\ndescription: x\n---\nA\x00B\n")
    desk.put("bad-list.md", "---\n- just\n- a list\n---\nB\n")
    desk.put("good.md", topic("good", "plain and fine"))
    before = desk.files()
    report = desk.sync()
    assert desk.files().items() >= before.items()
    assert "good.md" in desk.living() and len(desk.living()) == len(before)
    heads = {memory.path: memory for memory in desk.memories.memories()}
    for number, description in enumerate(BAD[:8]):
        if not description.startswith('"'):
            assert heads[f"bad{number:02}.md"].description == description
    assert "line 3" in noted(report, "bad-bytes.md").detail and "UTF-8" in noted(report, "bad-bytes.md").detail
    assert "line 4" in noted(report, "bad-dup.md").detail
    assert noted(report, "bad-nul.md").detail and noted(report, "bad-list.md").detail
    assert noted(report, "good.md").detail == ""
    assert [hit.path for hit in desk.memories.search("plain")[1]] == ["good.md"]
    assert [hit.path for hit in desk.memories.search("Fridays")[1]] == ["bad00.md"]
    put(desk, "another", "text\n")
    assert desk.files().items() >= before.items()
    assert desk.sync().quiet


# H07


def test_h07_values_stay_the_strings_as_typed_through_files_and_back(desk: Desk, tmp_path: Path):
    rows = [
        *(("no", "on", "feedback"), ("2026-03-01", "12:30:45", "project"), ("007", "1e3", "user")),
        *(("yes", "null", "project"), ("~", "", "null"), ("1.10", "0x1F", "reference")),
    ]
    for number, (name, description, kind) in enumerate(rows):
        text = f"---\nname: {name}\ndescription: {description}\ntype: {kind}\ncreated: 2026-03-01\n---\nB{number}\n"
        desk.put(f"t{number}.md", text)
    desk.put("notype.md", "---\nname: notype\ndescription: no type line\n---\nB\n")
    desk.put("nofm.md", "Just a paragraph.\n")
    before = desk.files()
    desk.sync()
    heads = {memory.path: memory for memory in desk.memories.memories()}
    for number, (name, description, _) in enumerate(rows):
        head = heads[f"t{number}.md"]
        assert head.name == name or (name == "~" and head.name == f"t{number}")
        assert head.description == description
    assert heads["nofm.md"].name == "nofm" and heads["nofm.md"].type is None
    assert heads["notype.md"].type is None
    assert json.loads(json.dumps([memory.name for memory in heads.values()]))
    desk.memories.export_directory(str(tmp_path / "out"))
    for file, content in before.items():
        assert (tmp_path / "out" / file).read_bytes() == content
    for name in ("no", "007", "1.10", "12:30:45", "null"):
        put(desk, f"w{name}", "text\n", description=name)
        assert desk.memories.show(f"w{name}")[0].description == name


# H08


H08 = {
    "bom": "\ufeff---\n{0}---\nbody\n",
    "crlf": "---\n{0}---\nline1\nline2\n",
    "space": "---  \n{0}--- \t\nbody\n",
    "eof": "---\n{0}---",
    "blank": "\n\n---\n{0}---\nbody\n",
    "inner": "---\n{0}---\nup\n\n---\n\ndown --- still here\n",
    "desc": "---\n{0}---\nbody\n",
}


def test_h08_fences_that_do_not_look_like_fences_give_their_fields(desk: Desk):
    for name, form in H08.items():
        description = "keep --- in mind" if name == "desc" else f"d-{name}"
        text = form.format(f"name: {name}\ndescription: {description}\ntype: user\n")
        desk.put(f"{name}.md", text.replace("\n", "\r\n") if name == "crlf" else text)
    before = desk.files()
    desk.sync()
    assert desk.files().items() >= before.items()
    for memory in desk.memories.memories():
        stem = memory.path.removesuffix(".md")
        assert memory.name == stem and memory.type == "user"
        assert memory.description == ("keep --- in mind" if stem == "desc" else f"d-{stem}")
    for name in H08:
        desk.memories.set_field(name, "description", "another word")
        content, old = (desk.folder / f"{name}.md").read_bytes(), before[f"{name}.md"]
        assert content == old.replace(b"keep --- in mind" if name == "desc" else f"d-{name}".encode(), b"another word")
    assert b"\r\n" in (desk.folder / "crlf.md").read_bytes()
    assert "\ufeff" not in desk.memories.search("body")[1][0].path


# H09


_BOMB = f"""
{PEAK}
import sys, time, yaml
import memstore.files.sync, memstore.writing
from memstore.app import Memstore
started = time.process_time()
with Memstore.open(cwd=sys.argv[1]) as memories:
    report = memories.sync()
    print([hit.path for hit in memories.search("small")[1]])
    print([noted.path for noted in report.absorbed if noted.detail])
print(time.process_time() - started, peak())
"""


def test_h09_bombs_in_the_header_cost_neither_time_nor_memory(desk: Desk):
    letters = "abcdefgh"
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{letters[at]}: &{letters[at]} [{','.join(['*' + letters[at - 1]] * 9)}]\n" for at in range(1, 8)
    )
    bomb_text = f"---\nname: bomb\n{bomb}---\nB\n"
    desk.put("bomb.md", bomb_text)
    desk.put("longdesc.md", topic("longdesc", "word " * 60_000))
    desk.put("nested.md", topic("nested", "[" * 4_000 + "]" * 4_000))
    desk.put("fine.md", topic("fine", "small"))
    ran = subprocess.run(
        [sys.executable, "-c", _BOMB, str(desk.base / desk.root)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    hits, told, costs = ran.stdout.strip().split("\n")
    seconds, megabytes = map(float, costs.split())
    assert hits == "['fine.md']" and "bomb.md" in told
    assert seconds < 2, costs
    assert megabytes < 200, costs
    assert desk.read("bomb.md") == bomb_text
    put(desk, "new", "text\n")
    long_head = desk.head("longdesc")
    assert long_head is not None and len(long_head.description) > 200_000
    line = next(line for line in desk.read("MEMORY.md").split("\n") if "longdesc.md" in line)
    assert len(line) < 300 and line.endswith("\u2026")


# H10


H10 = f"""# Notes of the team

Read this first: **ask before force-push**.

## Auth
- [Auth, my own words](auth.md) {DASH} keep my hook
- no file for this: prod is called *bluebird*

<!-- todo: ask the owner -->

| host | use |
|---|---|
| h1 | builds |

## Empty heading
"""


def test_h10_a_hand_written_index_gets_one_line_and_keeps_every_byte(desk: Desk):
    desk.put("auth.md", topic("auth", "JWT rules"))
    desk.put("MEMORY.md", H10)
    put(desk, "cache", "...\n", description="TTL is 90 s")
    assert desk.read("MEMORY.md") == f"{H10}- [cache](cache.md) {DASH} TTL is 90 s\n"
    desk.sync()
    before = desk.stamps()
    assert desk.sync().quiet
    assert desk.stamps() == before
    (desk.folder / "MEMORY.md").unlink()
    desk.sync()
    assert desk.read("MEMORY.md") == f"{H10}- [cache](cache.md) {DASH} TTL is 90 s\n"


# H11


def test_h11_the_newest_correction_is_in_the_index_and_the_rest_is_counted(desk: Desk):
    for number in range(203):
        desk.put(f"fact-{number:03}.md", topic(f"fact-{number:03}", f"fact number {number}"))
    desk.sync()
    saved = desk.memories.write(
        "port-now", Wanted(body="...\n", description="staging port is 7443, replaces fact-004", type="project")
    )
    text = desk.read("MEMORY.md")
    assert measure(text)[0] <= 200
    assert f"- [port-now](port-now.md) {DASH} staging port is 7443, replaces fact-004" in text
    assert saved.files.omitted
    assert f"{len(saved.files.omitted)} more memories" in text
    for path in saved.files.omitted:
        assert path not in text
        stem = path.removesuffix(".md")
        assert path in [hit.path for hit in desk.memories.search(stem)[1]]
    assert len(links(desk)) + len(saved.files.omitted) == 204
    assert desk.sync().quiet and desk.read("MEMORY.md") == text


# H12


def test_h12_orphans_and_dangling_lines_and_odd_links(desk: Desk):
    for name in ("orphan", "spaced name", "paren(1)"):
        desk.put(f"{name}.md", topic(name))
    index = (
        f"- [Gone](gone.md) {DASH} deleted long ago\n- [S](spaced%20name.md)\n- [P](<paren(1).md>)\n"
        "- [Web](https://example.org/x.md)\n\n```\n- [Title](file.md) \u2014 template\n```\n"
    )
    desk.put("MEMORY.md", index)
    report = desk.sync()
    assert report.taken_over and desk.read("MEMORY.md") == index
    assert any("gone.md" in notice and "file.md" not in notice for notice in report.notices)
    assert any("orphan.md" in notice and "spaced name.md" not in notice for notice in report.notices)
    assert desk.living() == ["orphan.md", "paren(1).md", "spaced name.md"]
    put(desk, "new", "text\n")
    assert desk.read("MEMORY.md") == f"{index}- [orphan](orphan.md) {DASH} d\n- [new](new.md) {DASH} d\n"
    assert not (desk.folder / "gone.md").exists() and not (desk.folder / "file.md").exists()
    assert desk.sync().quiet

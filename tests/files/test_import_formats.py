"""Every format that is taken in: twice, as a rehearsal, after edits, and with what is wrong in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import apsw
import pytest

from memstore import errors
from memstore.core.frontmatter import read
from memstore.files.report import ImportReport
from memstore.files.source import Asked, read_source
from memstore.world import World
from tests.core.test_basic_memory import BOMB, NOTE
from tests.files.desk import Desk, topic
from tests.files.packed import member, tarred, zipped
from tests.files.test_importing import H35, bring, spread, take_out, tree


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """The memories of the table as it is, to which whatever was done to it must come out the same."""
    return read_source(str(made(tmp_path_factory.mktemp("plain"), "csv")), World.real()).files


def state(desk: Desk) -> tuple[object, ...]:
    return desk.versions(), desk.index(), desk.files() if desk.folder.exists() else {}


def refused(desk: Desk, place: Path, asked: Asked | None = None) -> str:
    before = state(desk)
    with pytest.raises(errors.ImportRefused) as caught:
        desk.memories.import_directory(read_source(str(place), desk.world(), None, asked))
    assert state(desk) == before
    assert str(place) in str(caught.value) and caught.value.hint
    return str(caught.value)


def put(place: Path, content: bytes | str) -> Path:
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def asking(desk: Desk, place: Path, kind: str | None = None, table: str | None = None, **columns: str) -> ImportReport:
    return desk.memories.import_directory(read_source(str(place), desk.world(), None, Asked(kind, table, columns)))


GRAPH = "".join(
    json.dumps(line) + "\n"
    for line in (
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Wrote a program"]},
        {"type": "relation", "from": "Ada", "to": "Babbage", "relationType": "knows"},
    )
)
ROWS = [{"title": "Ada", "content": "Wrote a program"}, {"title": "日本語 メモ", "content": "正文"}]
CSV = "title,content\nAda,Wrote a program\n日本語 メモ,正文\n"


def database(place: Path, script: str) -> Path:
    connection = apsw.Connection(str(place))
    connection.execute(script).fetchall()
    connection.close()
    return place


def made(place: Path, kind: str) -> Path:
    """Something with the memory Ada in it."""
    if kind == "db":
        return database(
            place / "x.db", "CREATE TABLE facts(title TEXT, content TEXT); INSERT INTO facts VALUES ('Ada', 'Program')"
        )
    if kind == "basic-memory":
        return spread(place / "notes", {"deep/Ada.md": NOTE})
    contents: Mapping[str, bytes | str] = {
        "zip": zipped({"m/Ada.md": topic("Ada"), "m/MEMORY.md": "- [Ada](Ada.md)\n"}),
        "tar": tarred({"./Ada.md": topic("Ada"), "./x.png": b"\x89"}, "gz"),
        "mcp-memory": GRAPH,
        "json": json.dumps(ROWS),
        "ndjson": "".join(json.dumps(row) + "\n" for row in ROWS),
        "csv": CSV,
        "semicolons": CSV.replace(",", ";"),
        "tabs": "\ufeff" + CSV.replace(",", "\t").replace("\n", "\r\n"),
    }
    suffix = {"ndjson": "jsonl", "semicolons": "csv", "tabs": "tsv", "mcp-memory": "json"}.get(kind, kind)
    return put(place / f"x.{suffix}", contents[kind])


KINDS = ["zip", "tar", "basic-memory", "mcp-memory", "json", "csv", "db"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_format_is_found_by_its_content_and_brings_nothing_the_second_time(desk: Desk, tmp_path: Path, kind: str):
    source = made(tmp_path, kind)
    before = tree(source) if source.is_dir() else source.read_bytes()
    first = bring(desk, source)
    assert first.format == kind
    assert first.new >= 1 and any(path.endswith("Ada.md") for path in desk.living())
    versions = desk.versions()
    again = bring(desk, source)
    assert (again.noted, again.lines, again.seq) == ((), 0, None)
    take_out(desk, tmp_path / "out")
    assert bring(desk, tmp_path / "out").noted == ()
    assert desk.versions() == versions and desk.sync().quiet
    assert (tree(source) if source.is_dir() else source.read_bytes()) == before


@pytest.mark.parametrize(
    "text",
    [
        CSV.replace("\n", "\r"),
        "\r\n\n" + CSV.replace("\n", "\n\n"),
        "sep=;\r\n" + CSV.replace(",", ";"),
        CSV.replace("\n", ",,\r\n"),
        CSV.replace("content\n", '"content"\n').replace("program\n", 'program\n"",""\n').removesuffix("\n"),
    ],
)
def test_what_spreadsheets_do_to_a_table_changes_nothing_in_it(tmp_path: Path, plain: Mapping[str, bytes], text: str):
    assert read_source(str(put(tmp_path / "x.csv", text)), World.real()).files == plain


def test_separators_in_the_name_of_a_column_separate_nothing(desk: Desk, tmp_path: Path):
    place = put(tmp_path / "x.csv", 'body,"one;two;three;four"\ntext,x\n')
    assert asking(desk, place).skipped[0][0] == "column one;two;three;four" and "text.md" in desk.living()


@pytest.mark.parametrize("kind", ["ndjson", "semicolons", "tabs"])
def test_rows_say_the_same_however_they_are_separated(tmp_path: Path, plain: Mapping[str, bytes], kind: str):
    assert read_source(str(made(tmp_path, kind)), World.real()).files == plain


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_h35_packed(desk: Desk, tmp_path: Path, kind: str):
    large = {**H35, "big.md": "x" * 1_200_000}
    files = {f"src/{name}": text for name, text in large.items()}
    source = put(tmp_path / f"src.{kind}", zipped(files) if kind == "zip" else tarred(files, "gz"))
    first = bring(desk, source)
    assert first.new == 4
    assert desk.text("a").endswith("A\n") and desk.text("sub/a").endswith("OTHER\n")
    assert first.duplicates == (("copy of a.md", "a.md"),)
    assert {name for name, _ in first.skipped} == {"pic.png", ".git/", "node_modules/", "empty.md"}
    assert "- loose note" in desk.index()
    assert bring(desk, source).noted == ()
    unpacked = spread(tmp_path / "unpacked", dict(large))
    assert bring(desk, unpacked).noted == ()
    versions = desk.versions()
    take_out(desk, tmp_path / "out")
    assert bring(desk, tmp_path / "out").noted == ()
    assert desk.versions() == versions


def test_h09_through_every_format(desk: Desk, tmp_path: Path):
    bombs = {
        "bomb.md": f"---\nname: bomb\n{BOMB}---\nB\n",
        "long.md": f"---\nname: long\ndescription: {'word ' * 60_000}\n---\nL\n",
        "nested.md": f"---\nname: nested\ndescription: {'[' * 4_000 + ']' * 4_000}\n---\nN\n",
        "note.md": f"---\ntitle: note\npermalink: note\n{BOMB}---\nB\n",
        "fine.md": topic("fine", body="small\n"),
    }
    places = [
        spread(tmp_path / "dir", dict(bombs)),
        put(tmp_path / "x.zip", zipped(bombs)),
        put(tmp_path / "x.tar", tarred(bombs)),
        put(tmp_path / "x.json", json.dumps([{"name": name, "body": text} for name, text in bombs.items()])),
        put(tmp_path / "y.json", "[" * 200_000),
    ]
    assert bring(desk, places[0]).new == len(bombs)
    for place in places[1:3]:
        assert bring(desk, place).noted == ()
    rows = bring(desk, places[3])
    assert {noted.what for noted in rows.noted} == {"conflict"} and len(rows.noted) == len(bombs)
    assert "too deep" in refused(desk, places[4])
    _, hits = desk.memories.search("small")
    assert [hit.path for hit in hits][:1] == ["fine.md"]
    assert len(desk.read("MEMORY.md")) < 25_000


def test_an_edited_row_changes_its_memory_and_one_edited_here_too_is_merged(desk: Desk, tmp_path: Path):
    rows = put(tmp_path / "x.csv", 'name,body\na,"one\ntwo\nthree\nfour"\nb,text\n')
    asking(desk, rows)
    put(rows, 'name,body\na,"one\ntwo\nthree\nfour, there"\nb,other\n')
    assert [noted.what for noted in asking(desk, rows).noted] == ["revised", "revised"]
    text = desk.text("a").replace("one", "one, here")
    desk.put("a.md", text)
    desk.sync()
    put(rows, 'name,body\na,"one\ntwo\nthree\nfour, everywhere"\nb,other\n')
    asking(desk, rows)
    assert "one, here" in desk.text("a") and "four, everywhere" in desk.text("a")
    put(rows, 'name,body\na,"one\ntwo\nthree\nfour"\nb,text\n')
    assert set(asking(desk, rows).older) == {"a.md", "b.md"}


def test_rows_without_an_index_get_their_lines_in_an_empty_store_too(desk: Desk, tmp_path: Path):
    bring(desk, put(tmp_path / "x.csv", "name,description,body\na,of a,text\n"))
    assert "- [a](a.md) — of a" in desk.read("MEMORY.md")
    assert desk.memories.store.memories()[0].origin == "import"


def test_two_tables_of_one_database_are_two_sources(desk: Desk, tmp_path: Path):
    place = database(
        tmp_path / "x.db",
        "CREATE TABLE one(name, body); INSERT INTO one VALUES ('a', 'of one');"
        "CREATE TABLE two(name, body); INSERT INTO two VALUES ('a', 'of two')",
    )
    assert "more than one table" in refused(desk, place)
    assert asking(desk, place, table="one").new == 1
    assert [noted.what for noted in asking(desk, place, table="two").noted] == ["conflict"]
    assert asking(desk, place, table="one").noted == ()


def test_what_is_said_of_format_and_columns_goes_before_what_is_found(desk: Desk, tmp_path: Path):
    rows = put(tmp_path / "rows.txt", "words;who\nsome text;Ada\n")
    with pytest.raises(errors.ImportRefused) as caught:
        asking(desk, rows)
    assert "--format" in caught.value.hint
    assert asking(desk, rows, "csv", body="words", name="who").new == 1
    assert desk.text("Ada").endswith("some text\n")
    note = spread(tmp_path / "notes", {"a.md": NOTE, "b.md": topic("b"), "c.md": topic("c")})
    assert asking(desk, note, "dir").format == "dir" and read(desk.text("a").encode()).name is None
    assert asking(desk, note, "basic-memory").format == "basic-memory"
    packed = put(tmp_path / "x.zip", zipped({"sub/d.md": NOTE, "e.md": NOTE.replace("Coffee", "Tea")}))
    assert asking(desk, packed).format == "zip, basic-memory"


@pytest.mark.parametrize(
    ("kind", "table", "columns"),
    [("zip", None, {}), ("csv", "t", {}), ("db", None, {}), (None, "t", {}), (None, None, {"body": "x"})],
)
def test_options_that_do_not_fit_are_refused(
    desk: Desk, tmp_path: Path, kind: str | None, table: str | None, columns: dict[str, str]
):
    refused(desk, spread(tmp_path / "dir", {"a.md": topic("a")}), Asked(kind, table, columns))
    refused(desk, put(tmp_path / "x.json", GRAPH), Asked(None if kind == "csv" else kind, table, columns))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("x.csv", b"name,body\na,caf\xe9\n", "not UTF-8 in its line 2"),
        ("x.csv", "name,body\na,x\0y\n", "NUL"),
        ("x.csv", "name,body,Body\na,b,c\n", "'body' twice"),
        ("x.csv", "name,body\na,b,c\n", "extra values"),
        ("x.csv", 'name,body\n"a\nb",c\nd,e,f\n', "ends in its line 4"),
        ("x.csv", 'name,body\na,"text\nb,c\n', "in or before its line 3: unexpected end"),
        ("x.tsv", 'name\tbody\na\t"word" and more\n', "in or before its line 2"),
        ("x.csv", "name,body,,\na,b,c,d\n", "the column '' twice"),
        ("x.csv", "name,what\na,b\n", "it has name, what"),
        ("x.csv", "", "it has none"),
        ("x.json", "[]", "it has none"),
        ("x.json", "[1, 2]", "no array of objects"),
        ("x.json", '[{"body": "x"}, 2]', "no array of objects"),
        ("x.json", '"text"', "no array of objects"),
        ("x.json", '[{"body": "x"},\n{"body": ]', "line 2, column 10"),
        ("x.json", '[{"body": "\\ud800"}]', "row 1"),
        ("x.json", '[{"body": ' + "1" * 5_000 + "}]", "too large a number"),
        ("x.json", '[{"body": "x", "n": ' + "1" * 30 + "}]", "too large"),
        ("x.jsonl", '{"body": "x"}\n{"body": \n', "line 2"),
        ("x.jsonl", '{"body": "x"}\n[1]\n', "line 2"),
    ],
)
def test_rows_that_cannot_be_read_change_nothing(
    desk: Desk, tmp_path: Path, name: str, content: str | bytes, told: str
):
    assert told in refused(desk, put(tmp_path / name, content))


HOSTILE = {
    "slip.zip": zipped({"a.md": topic("a"), "../evil.md": "evil\n"}),
    "slip.tar": tarred({"a.md": topic("a"), "/evil.md": "evil\n"}),
    "link.tar": tarred({"a.md": topic("a"), "b.md": member("b.md", b"2", "/etc/passwd")}),
    "cut.zip": zipped({"a.md": topic("a")})[:-30],
    "cut.tar": tarred({"a.md": topic("a")}, "gz")[:-30],
    "text.zip": b"PK\x03\x04 is how it begins",
}


def test_a_file_that_is_too_large_is_refused_unread(desk: Desk, tmp_path: Path):
    for name in ("x.csv", "x.json", "x.zip"):
        with open(tmp_path / name, "wb") as file:
            file.write(b"[" if name == "x.json" else b"")
            file.truncate(300 * 1024 * 1024)
        assert "larger than" in refused(desk, tmp_path / name)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_changes_nothing(desk: Desk, tmp_path: Path, name: str):
    refused(desk, put(tmp_path / name, HOSTILE[name]))
    assert not (tmp_path.parent / "evil.md").exists() and not (tmp_path / "evil.md").exists()


def test_a_refused_import_does_not_even_make_a_store(tmp_path: Path):
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/.git/HEAD").write_text("ref: refs/heads/main\n")
    put(tmp_path / "x.zip", HOSTILE["slip.zip"])
    environment = {**os.environ, "MEMSTORE_HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path(__file__).parents[2])}
    argv = [sys.executable, "-m", "memstore", "import", str(tmp_path / "x.zip")]
    ran = subprocess.run(argv, cwd=tmp_path / "repo", env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and "evil.md" in ran.stderr
    assert not (tmp_path / "home").exists()


def test_what_is_neither_file_nor_directory_is_refused_and_not_waited_for(desk: Desk, tmp_path: Path):
    os.mkfifo(tmp_path / "x.csv")
    assert "neither" in refused(desk, tmp_path / "x.csv")

"""Import and export of memory directories."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstore import errors
from memstore.files.folder import Folder
from memstore.files.report import ImportReport
from memstore.upkeep import purging
from tests.files.desk import PEAK, Desk, topic


def spread(place: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return place


def tree(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def bring(desk: Desk, place: Path) -> ImportReport:
    """Imports, after a rehearsal that must say the same and leave no trace."""
    before = (desk.versions(), desk.index(), desk.files() if desk.folder.exists() else {})
    rehearsed = desk.memories.import_directory(str(place), dry_run=True)
    assert (desk.versions(), desk.index(), desk.files() if desk.folder.exists() else {}) == before
    report = desk.memories.import_directory(str(place))
    assert _same(rehearsed) == _same(report)
    return report


def _same(report: ImportReport) -> tuple[object, ...]:
    return (
        report.source, report.noted, report.unchanged, report.duplicates, report.older, report.skipped, report.lines
    )  # fmt: skip


def take_out(desk: Desk, place: Path) -> dict[str, bytes]:
    """Exports, after a rehearsal that must say the same and leave no trace."""
    before = tree(place) if place.exists() else None
    rehearsed = desk.memories.export_directory(str(place), dry_run=True)
    assert (tree(place) if place.exists() else None) == before
    report = desk.memories.export_directory(str(place))
    assert (rehearsed.written, rehearsed.unchanged, rehearsed.kept) == (report.written, report.unchanged, report.kept)
    return tree(place)


H35: dict[str, str | bytes] = {
    "a.md": "---\nname: a\ndescription: A\n---\nA\n",
    "sub/a.md": "---\nname: a\ndescription: other A\n---\nOTHER\n",
    "sub/deep/b.md": "no header\n",
    "MEMORY.md": "# Mine\n- [A](a.md)\n- loose note\n",
    "pic.png": b"\x89PNG\r\n\x1a\n" + bytes(99),
    "big.md": "x" * 6_000_000,
    "copy of a.md": "---\nname: a\ndescription: A\n---\nA\n",
    ".git/config": "[core]\n",
    "node_modules/x/README.md": "no\n",
    "empty.md": "",
}


def test_h35_importing_twice_and_ones_own_export_brings_nothing_new(desk: Desk, tmp_path: Path):
    source = spread(tmp_path / "src", dict(H35))
    os.symlink(source, source / "loop")
    before = tree(source)
    first = bring(desk, source)
    assert first.new == 4
    assert desk.text("a").endswith("A\n") and desk.text("sub/a").endswith("OTHER\n")
    assert first.duplicates == (("copy of a.md", "a.md"),)
    assert {name for name, _ in first.skipped} >= {"pic.png", ".git/", "node_modules/", "loop", "empty.md"}
    assert all(reason for _, reason in first.skipped)
    assert "- loose note" in desk.index()
    second = bring(desk, source)
    assert (second.new, second.noted, second.lines, second.seq) == (0, (), 0, None)
    versions = desk.versions()
    take_out(desk, tmp_path / "out")
    third = bring(desk, tmp_path / "out")
    assert (third.new, third.noted, third.lines) == (0, (), 0)
    assert desk.versions() == versions
    assert tree(source) == before
    assert desk.sync().quiet


def test_of_a_foreign_index_only_what_is_new_is_taken_and_the_rest_is_named(desk: Desk, tmp_path: Path):
    desk.write("a", "A\n", description="my words")
    index = "# Theirs\n- [A](a.md) — their words\n- [B](b.md) — b\n"
    report = bring(desk, spread(tmp_path / "src", {"b.md": topic("b"), "MEMORY.md": index}))
    assert any(name == "MEMORY.md" and "their words" in reason for name, reason in report.skipped)
    assert report.lines == 2
    assert desk.index() == ["- [a](a.md) — my words", "# Theirs", "- [B](b.md) — b", ""]


def test_an_imported_memory_without_a_line_gets_one(desk: Desk, tmp_path: Path):
    desk.write("a", "A\n")
    bring(desk, spread(tmp_path / "src", {"b.md": topic("b", "of b")}))
    assert "- [b](b.md) — of b" in desk.read("MEMORY.md")


def test_a_line_that_was_taken_out_does_not_come_back_with_the_next_import(desk: Desk, tmp_path: Path):
    desk.write("x", "X\n")
    source = spread(tmp_path / "src", {"a.md": topic("a"), "MEMORY.md": "# Theirs\n- [A](a.md)\n- note\n"})
    bring(desk, source)
    desk.put("MEMORY.md", "- [x](x.md)\n# Theirs\n")
    desk.sync()
    assert desk.unlisted() == ["a.md"]
    (source / "MEMORY.md").write_text("# Theirs\n- [A](a.md)\n- note\n- another note\n")
    assert bring(desk, source).lines == 1
    assert desk.index() == ["- [x](x.md)", "# Theirs", "- another note", ""]


def test_an_older_copy_never_wins_over_a_newer_row(desk: Desk, tmp_path: Path):
    desk.write("a", "one\ntwo\nthree\n")
    take_out(desk, tmp_path / "out")
    desk.write("a", "one\ntwo\nthree\nfour\n")
    os.utime(tmp_path / "out/a.md", (4_102_444_800, 4_102_444_800))
    report = bring(desk, tmp_path / "out")
    assert report.older == ("a.md",)
    assert desk.number("a") == 2
    other = tmp_path / "another copy"
    spread(other, {"a.md": (tmp_path / "out/a.md").read_text()})
    assert bring(desk, other).older == ("a.md",)
    assert desk.text("a").endswith("four\n")


def test_an_edited_export_is_merged_with_what_came_since(desk: Desk, tmp_path: Path):
    desk.write("a", "one\ntwo\nthree\nfour\nfive\n")
    take_out(desk, tmp_path / "out")
    desk.write("a", "one, here\ntwo\nthree\nfour\nfive\n")
    exported = tmp_path / "out/a.md"
    exported.write_text(exported.read_text().replace("five", "five, there"))
    report = bring(desk, tmp_path / "out")
    assert [(noted.what, noted.rule) for noted in report.noted] == [("merged", 24)]
    assert "one, here" in desk.text("a") and "five, there" in desk.text("a")
    assert desk.read("a.md") == desk.text("a")
    assert bring(desk, tmp_path / "out").noted == ()


@pytest.mark.parametrize(("older", "newer"), [("mine", "yours"), ("same", "same")])
def test_two_files_of_one_memory_are_both_taken_in(desk: Desk, tmp_path: Path, older: str, newer: str):
    desk.write("a", "first\nlast\n")
    take_out(desk, tmp_path / "out")
    desk.memories.rename("a", "b")
    take_out(desk, tmp_path / "out")
    for name, word in (("a", older), ("b", newer)):
        file = tmp_path / "out" / f"{name}.md"
        file.write_text(file.read_text().replace("name: a", "name: b").replace("first", word))
    noted = [(noted.path, noted.what) for noted in bring(desk, tmp_path / "out").noted]
    assert noted == [("b.md", "revised"), *([("a.md", "conflict")] if older != newer else [])]
    assert newer in desk.text("b")
    assert [b"mine" in conflict.theirs for conflict in desk.memories.conflicts()] == [True] * (older != newer)
    assert bring(desk, tmp_path / "out").noted == ()


def test_a_copy_does_not_become_a_memory_when_what_it_was_copied_from_moves_on(desk: Desk, tmp_path: Path):
    place = spread(tmp_path / "src", {"a.md": topic("a"), "copy of a.md": topic("a")})
    assert bring(desk, place).duplicates == (("copy of a.md", "a.md"),)
    desk.write("a", "newer\n")
    assert bring(desk, place).older == ("a.md", "copy of a.md")
    desk.memories.delete("a")
    again = bring(desk, place)
    assert (again.noted, again.older, desk.living()) == ((), ("a.md", "copy of a.md"), [])


def test_without_a_common_ancestor_both_texts_are_kept(desk: Desk, tmp_path: Path):
    desk.write("a", "mine\n")
    source = spread(tmp_path / "src", {"a.md": topic("a", body="theirs\n")})
    report = bring(desk, source)
    assert [(noted.what, noted.rule) for noted in report.noted] == [("conflict", 17)]
    assert desk.text("a").endswith("mine\n")
    assert [conflict.theirs for conflict in desk.memories.store.conflicts()] == [topic("a", body="theirs\n").encode()]
    bring(desk, source)
    source.rename(tmp_path / "moved")
    assert bring(desk, tmp_path / "moved").older == ("a.md",)
    assert len(desk.memories.store.conflicts()) == 1


def test_a_deleted_memory_does_not_come_back_with_an_old_copy(desk: Desk, tmp_path: Path):
    desk.write("a", "mine\n")
    take_out(desk, tmp_path / "out")
    desk.memories.delete("a")
    assert bring(desk, tmp_path / "out").older == ("a.md",)
    assert desk.living() == []
    (tmp_path / "out/a.md").write_text(topic("a", body="something new\n"))
    assert [noted.what for noted in bring(desk, tmp_path / "out").noted] == ["revived"]
    assert desk.living() == ["a.md"]


def test_names_that_some_file_system_takes_for_one_are_not_both_taken(desk: Desk, tmp_path: Path):
    source = spread(tmp_path / "src", {"a.md": topic("a"), "A.md": topic("A", body="other\n")})
    report = bring(desk, source)
    assert report.new == 1
    assert [name for name, reason in report.skipped if "differs from" in reason] == ["a.md"]


def test_nothing_is_taken_from_a_directory_that_is_called_like_the_index(desk: Desk, tmp_path: Path):
    report = bring(desk, spread(tmp_path / "src", {"sub/Memory.MD/x.md": topic("x"), "y.md": topic("y")}))
    (skipped,) = report.skipped
    assert skipped[0] == "sub/Memory.MD/x.md" and "cannot be a directory" in skipped[1]
    assert desk.living() == ["y.md"]


def test_an_index_that_is_not_utf_8_does_not_stop_the_rest(desk: Desk, tmp_path: Path):
    source = spread(tmp_path / "src", {"a.md": topic("a"), "MEMORY.md": b"# caf\xe9\n"})
    report = bring(desk, source)
    assert report.new == 1
    assert ("MEMORY.md", "it is not UTF-8") in report.skipped


def test_importing_the_folder_that_is_shown_here_changes_nothing(desk: Desk):
    desk.write("a", "text\n")
    desk.put("b.md", topic("b"))
    desk.sync()
    before = (desk.files(), desk.versions(), desk.index())
    report = bring(desk, desk.folder)
    assert (report.new, report.noted, report.lines) == (0, (), 0)
    assert (desk.files(), desk.versions(), desk.index()) == before
    assert desk.sync().quiet


def test_an_imported_directory_may_become_the_folder_that_is_shown(desk: Desk, tmp_path: Path):
    source = spread(tmp_path / "src", {"a.md": topic("a"), "MEMORY.md": "- [A](a.md)\n"})
    before = tree(source)
    bring(desk, source)
    there = desk.other("repo", CLAUDE_COWORK_MEMORY_PATH_OVERRIDE=str(source))
    report = there.sync()
    assert report.taken_over and report.projected == ()
    assert {name: text for name, text in tree(source).items() if name != ".memstore"} == before


@pytest.mark.parametrize("what", ["nothing", "a file"])
def test_what_is_no_directory_is_refused(desk: Desk, tmp_path: Path, what: str):
    place = tmp_path / "src"
    if what == "a file":
        place.write_text("text\n")
    with pytest.raises(errors.ImportRefused) as caught:
        desk.memories.import_directory(str(place))
    assert str(place) in str(caught.value) and caught.value.hint


ODD: dict[str, str | bytes] = {
    "bom.md": "\ufeff---\nname: bom\n---\nbody\n",
    "crlf.md": topic("crlf").replace("\n", "\r\n"),
    "no end.md": topic("no end", body="no newline at the end"),
    "latin.md": b"---\nname: latin\ndescription: caf\xe9\n---\nna\xefve\n",
    "nul.md": b"---\nname: nul\n---\nA\x00B\n",
    "no header.md": "Just a paragraph.\n",
    "sub/deep/大语言模型.md": topic("", body="正文\n"),
    "sub/crlf.md": topic("crlf").replace("\n", "\r\n"),
    "unlisted.md": topic("unlisted"),
    "twin.md": topic("unlisted"),
    "MEMORY.md": "\ufeff# Mine\r\n- [Twin](twin.md)\n\n- [Crlf](sub/crlf.md) \u2014 hook \n\nno end",
}


def test_export_import_export_differs_in_no_byte(desk: Desk, tmp_path: Path):
    for name, text in ODD.items():
        desk.put(name, text)
    desk.sync()
    first = take_out(desk, tmp_path / "one")
    assert first == {name: text.encode() if isinstance(text, str) else text for name, text in ODD.items()}
    there = desk.other("other")
    report = bring(there, tmp_path / "one")
    assert report.new == len(ODD) - 1
    assert take_out(there, tmp_path / "two") == first
    assert there.sync().quiet
    assert take_out(there, tmp_path / "three") == first


def test_a_full_index_is_exported_whole(desk: Desk, tmp_path: Path):
    source = {f"m{number:03}.md": topic(f"m{number}", body=f"{number}\n") for number in range(230)}
    lines = "".join(f"- [M{number}](m{number:03}.md) — hook\n" for number in range(230))
    bring(desk, spread(tmp_path / "src", {**source, "MEMORY.md": lines}))
    assert desk.read("MEMORY.md").count("\n") <= 200
    out = take_out(desk, tmp_path / "out")
    assert out["MEMORY.md"].decode() == lines
    desk.write("new", "text\n")
    assert take_out(desk, tmp_path / "out")["MEMORY.md"].decode() == lines + "- [new](new.md)\n"


names = st.sampled_from(["a.md", "b.md", "sub/a.md", "sub/deep/c.md", "日本.md", "with space.md"])
texts = st.one_of(
    st.binary(min_size=1, max_size=80).filter(lambda text: bool(text.strip(b"\xef\xbb\xbf \t\r\n"))),
    st.text(max_size=60).map(lambda body: topic("x", body=body).encode("utf-8", "surrogatepass")),
).filter(lambda text: bytes(16) not in text and not text.endswith(b"\0"))
indexes = st.text(alphabet=st.sampled_from("# -[]()ab.md\n\r\ufeff—日"), max_size=60)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(names, texts, max_size=5, min_size=1), index=indexes, data=st.data())
def test_any_directory_survives_import_and_export(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], index: str, data: st.DataObject
):
    place = tmp_path_factory.mktemp("round")
    content: dict[str, str | bytes] = {**files, **({"MEMORY.md": index} if index.strip() else {})}
    source = spread(place / "src", content)
    there = Desk(place)
    try:
        report = there.memories.import_directory(str(source))
        first = take_out(there, place / "one")
        left = {name for name, _ in (*report.duplicates, *report.skipped)}
        assert first == {name: text for name, text in tree(source).items() if name not in left}
        other = Desk(place, root="other")
        try:
            other.memories.import_directory(str(place / "one"))
            assert take_out(other, place / "two") == first
        finally:
            other.close()
    finally:
        there.close()


# Export


def test_an_export_leaves_alone_what_the_store_does_not_know(desk: Desk, tmp_path: Path):
    desk.write("a", "text\n")
    desk.write("b", "text\n")
    out = spread(tmp_path / "out", {"a.md": "somebody's words\n", "c.md": "another file\n"})
    report = desk.memories.export_directory(str(out))
    assert [name for name, _ in report.kept] == ["a.md"]
    assert report.written == ("b.md", "MEMORY.md")
    assert (out / "a.md").read_text() == "somebody's words\n"
    assert (out / "c.md").read_text() == "another file\n"


def test_an_export_follows_its_own_earlier_one(desk: Desk, tmp_path: Path):
    desk.write("a", "text\n")
    take_out(desk, tmp_path / "out")
    desk.write("a", "changed\n", description="new words")
    desk.write("b", "text\n")
    report = desk.memories.export_directory(str(tmp_path / "out"))
    assert report.kept == () and report.written == ("a.md", "b.md", "MEMORY.md")
    assert desk.memories.export_directory(str(tmp_path / "out")).written == ()


def test_an_export_that_meets_a_save_puts_it_back(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    desk.write("a", "text\n")
    take_out(desk, tmp_path / "out")
    desk.write("a", "changed\n")
    put_many = Folder.put_many

    def late(self: Folder, files: Sequence[tuple[str, bytes, bytes | None]]):
        if "a.md" in [path for path, _, _ in files]:
            (tmp_path / "out/a.md").write_text("saved just now\n")
        return put_many(self, files)

    monkeypatch.setattr(Folder, "put_many", late)
    report = desk.memories.export_directory(str(tmp_path / "out"))
    assert [name for name, _ in report.kept] == ["a.md"]
    assert (tmp_path / "out/a.md").read_text() == "saved just now\n"
    assert sorted(os.listdir(tmp_path / "out")) == ["MEMORY.md", "a.md"]


def test_no_export_into_a_folder_that_is_shown(desk: Desk):
    desk.write("a", "text\n")
    before = desk.files()
    with pytest.raises(errors.PlaceRefused) as caught:
        desk.memories.export_directory(str(desk.folder))
    assert caught.value.hint
    assert desk.files() == before


def test_an_export_writes_through_no_link(desk: Desk, tmp_path: Path):
    desk.write("a", "text\n")
    (tmp_path / "target").write_text("elsewhere\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.md").symlink_to(tmp_path / "target")
    report = desk.memories.export_directory(str(tmp_path / "out"))
    assert [name for name, _ in report.kept] == ["a.md"]
    assert (tmp_path / "target").read_text() == "elsewhere\n"


_LARGE = f"""
{PEAK}
import sys
from memstore.app import Memstore
with Memstore.open(cwd=sys.argv[1]) as memories:
    report = memories.import_directory(sys.argv[2])
assert report.new == 1000, report.new
print(peak())
"""


def test_a_thousand_files_are_imported_in_little_memory(desk: Desk, tmp_path: Path):
    body = "some words of a memory that is as long as they usually are\n" * 40
    files = {f"m{number:04}.md": topic(f"m{number}", body=f"{number}\n{body}") for number in range(1_000)}
    lines = "".join(f"- [M](m{number:04}.md) — hook\n" for number in range(1_000))
    source = spread(tmp_path / "src", {**files, "MEMORY.md": lines})
    ran = subprocess.run(
        [sys.executable, "-c", _LARGE, str(tmp_path / "repo"), str(source)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (30, 30)),
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 150


def test_what_was_purged_comes_back_with_an_older_copy_and_a_word(desk: Desk, tmp_path: Path):
    desk.write("gone", "The old recipe is long.\n")
    desk.memories.export_directory(str(tmp_path / "out"))
    asked = purging.plan(desk.memories, purging.Wanted(("gone",)))
    purged = purging.purge(desk.memories, asked, reason="")
    report = desk.memories.import_directory(str(tmp_path / "out"))
    assert [(noted.path, noted.what) for noted in report.noted] == [("gone.md", "created")]
    assert report.noted[0].detail == f"operation #{purged.seq} purged a memory of this name"

"""JSON exports taken in again: into their own store, into another one, older ones, damaged ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstore import errors
from memstore.app import Memstore
from memstore.core.exchange import Carried, document, parsed
from memstore.core.model import INDEX_NAME, Origin
from memstore.files import reimporting
from memstore.files.report import ImportReport
from memstore.upkeep.exporting import Asked, Point, as_json, export
from tests.files.desk import Desk, topic
from tests.files.test_importing import H35, bring, spread


def saved(desk: Desk, place: Path, name: str = "a.json", **asked: Point) -> Path:
    """The memories of a desk as a JSON file."""
    content, _ = as_json(desk.memories, Asked(as_of=asked.get("as_of"), since=asked.get("since")))
    (place / name).write_bytes(content)
    return place / name


def told(report: ImportReport) -> list[tuple[str, str]]:
    return [(noted.path, noted.what) for noted in report.noted]


def nothing(report: ImportReport) -> bool:
    return (report.noted, report.lines, report.seq) == ((), 0, None)


def shared(desk: Desk) -> dict[str, bytes]:
    """The texts and the index, as a directory would have them."""
    from memstore.files.exporting import selected
    from memstore.files.selecting import Wish

    return dict(selected(desk.memories.store, None, Wish()).files)


@pytest.fixture
def far(desk: Desk) -> Desk:
    """Another, empty store."""
    return desk.other("far")


def test_another_store_gets_memories_index_pins_and_ids_and_nothing_the_second_time(
    desk: Desk, far: Desk, tmp_path: Path
):
    desk.put("a.md", topic("a"))
    desk.put("sub/raw.md", b"\xff\x00raw\r\n")
    desk.put("hidden.md", topic("hidden"))
    desk.put(INDEX_NAME, "# Mine\n\n- [A](a.md) — by hand\n- loose\n\n## End\n- [raw](sub/raw.md)\n- [h](hidden.md)\n")
    desk.sync()
    desk.put(INDEX_NAME, desk.read(INDEX_NAME).replace("- [h](hidden.md)\n", ""))
    desk.sync()
    desk.memories.pin("a")
    desk.write("gone", "g\n")
    desk.memories.delete("gone")
    file = saved(desk, tmp_path)
    before = file.read_bytes()
    report = bring(far, file)
    assert (report.format, report.new) == ("memstore", 3)
    assert shared(far) == shared(desk)
    assert far.unlisted() == desk.unlisted() == ["hidden.md"]
    a, there = desk.head("a"), far.head("a")
    assert a is not None and there is not None
    assert (there.id, there.state, there.origin) == (a.id, a.state, "import")
    assert far.sync().quiet
    assert nothing(bring(far, file))
    assert file.read_bytes() == before


def test_of_two_imports_at_once_the_later_one_finds_all_of_it_there(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "text\n")
    desk.write("b", "text of b\n")
    file, reports = saved(desk, tmp_path), list[ImportReport]()

    def meanwhile(done: int, total: int, what: str) -> None:
        if not reports:
            reports.append(far.open().import_directory(str(file)))

    late = far.memories.import_directory(str(file), progress=meanwhile)
    assert reports[0].new == 2 and nothing(late) and late.unchanged == ("a.md", "b.md")


def test_into_its_own_store_nothing_comes_from_any_export_whatever_happened_since(desk: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    desk.write("b", "B\n")
    desk.write("gone", "g\n")
    files = [saved(desk, tmp_path, "1.json")]
    desk.write("a", "2\n")
    files.append(saved(desk, tmp_path, "2.json"))
    desk.write("a", "1\n")  # a text that it had before
    desk.memories.rename("b", "moved")
    desk.memories.delete("gone")
    desk.put(INDEX_NAME, "- [a](a.md)\n")  # b's line was taken out
    desk.sync()
    files.append(saved(desk, tmp_path, "3.json"))
    before, index = desk.versions(), desk.index()
    for file in (*files, *reversed(files)):
        assert nothing(bring(desk, file)), file
    assert (desk.versions(), desk.index()) == (before, index)


def test_h35_ones_own_json_and_zip_bring_nothing_new(desk: Desk, far: Desk, tmp_path: Path):
    bring(desk, spread(tmp_path / "src", {**H35, "big.md": "x" * 600_000}))
    (tmp_path / "out").mkdir()
    export(desk.memories, str(tmp_path / "out" / "a.zip"), Asked())
    for file in (saved(desk, tmp_path), tmp_path / "out" / "a.zip"):
        assert nothing(bring(desk, file))
    report = bring(far, tmp_path / "a.json")
    assert (report.new, shared(far)) == (4, shared(desk))
    assert far.text("a").endswith("A\n") and far.text("sub/a").endswith("OTHER\n")


def test_an_older_export_never_wins_over_a_newer_one(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    first = saved(desk, tmp_path, "1.json")
    desk.write("a", "2\n")
    desk.write("a", "3\n")
    third = saved(desk, tmp_path, "3.json")
    bring(far, third)
    report = bring(far, first)
    assert (report.older, report.noted) == (("a.md",), ())
    assert far.text("a").endswith("3\n")


def test_what_was_written_since_the_last_export_is_taken(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    bring(far, saved(desk, tmp_path, "1.json"))
    desk.write("a", "2\n")
    assert told(bring(far, saved(desk, tmp_path, "2.json"))) == [("a.md", "revised")]
    desk.write("a", "1\n")  # taken back there
    third = saved(desk, tmp_path, "3.json")
    assert told(bring(far, third)) == [("a.md", "revised")]
    assert far.text("a") == desk.text("a")
    for name in ("2.json", "1.json"):
        assert nothing(bring(far, tmp_path / name))
    assert nothing(bring(far, third))
    desk.memories.rename("a", "b")
    desk.write("b", "4\n")
    fourth = saved(desk, tmp_path, "4.json")
    assert told(bring(far, fourth)) == [("b.md", "renamed")]
    assert far.living() == ["b.md"] and far.text("b") == desk.text("b")
    for file in (third, fourth):
        assert nothing(bring(far, file))


def test_a_name_that_was_given_here_stays_and_one_that_is_taken_is_not_forced(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    desk.write("b", "2\n")
    bring(far, saved(desk, tmp_path))
    far.memories.rename("a", "mine")
    far.write("taken", "t\n")
    desk.memories.rename("a", "theirs")
    desk.memories.rename("b", "taken")
    desk.write("theirs", "11\n")
    file = saved(desk, tmp_path)
    assert told(bring(far, file)) == [("b.md", "revised"), ("theirs.md", "conflict")]  # of the two names
    assert far.living() == ["b.md", "mine.md", "taken.md"]
    assert far.text("taken").endswith("t\n")
    assert [one.theirs.decode() for one in far.memories.conflicts()] == [desk.text("theirs")]
    assert nothing(bring(far, file))


def test_a_new_memory_under_the_old_name_of_a_renamed_one_comes_beside_it(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    bring(far, saved(desk, tmp_path))
    desk.memories.rename("a", "z")
    desk.write("a", "another\n")
    file = saved(desk, tmp_path)
    assert sorted(told(bring(far, file))) == [("a.md", "created"), ("z.md", "renamed")]
    assert (far.text("a"), far.text("z")) == (desk.text("a"), desk.text("z"))
    assert nothing(bring(far, file))
    desk.memories.rename("a", "b")
    desk.memories.rename("z", "a")
    far.memories.rename("z", "mine")
    bring(far, saved(desk, tmp_path))
    assert nothing(bring(far, tmp_path / "a.json"))
    assert far.memories.store.knows(desk.text("a").encode()) and far.text("b") == desk.text("b")


def test_memories_that_have_swapped_their_names_keep_their_places_here(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    desk.write("b", "2\n")
    bring(far, saved(desk, tmp_path))
    for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
        desk.memories.rename(old, new)
    file = saved(desk, tmp_path)
    bring(far, file)
    assert far.living() == ["a.md", "b.md"]
    assert {far.text("a"), far.text("b")} == {desk.text("a"), desk.text("b")}
    assert nothing(bring(far, file))


def test_two_memories_of_one_id_or_one_place_are_no_reason_to_stumble(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    desk.write("b", "2\n")
    exchange = parsed(as_json(desk.memories, Asked())[0])
    first, second = exchange.memories
    file = tmp_path / "a.json"
    file.write_bytes(document(replace(exchange, memories=(first, replace(second, id=first.id)))))
    assert dict(bring(far, file).skipped) == {"b.md": "another memory of the export has its id"}
    far.memories.rename("a", "b")
    moved = replace(
        first, versions=(replace(first.head, token="0" * 12, state=replace(first.head.state, path="z.md")),)
    )
    file.write_bytes(document(replace(exchange, memories=(moved, second))))
    report = bring(far, file)
    assert "its place here is taken" in dict(report.skipped)["b.md"]


def test_edits_on_both_sides_merge_or_both_are_kept(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "one\n\ntwo\n\nthree\n")
    bring(far, saved(desk, tmp_path))
    far.write("a", "ONE\n\ntwo\n\nthree\n")
    desk.write("a", "one\n\ntwo\n\nTHREE\n")
    file = saved(desk, tmp_path)
    assert told(bring(far, file)) == [("a.md", "merged")]
    assert far.text("a").endswith("ONE\n\ntwo\n\nTHREE\n")
    assert nothing(bring(far, file))
    far.write("a", "ours\n")
    desk.write("a", "theirs\n")
    file = saved(desk, tmp_path)
    assert told(bring(far, file)) == [("a.md", "conflict")]
    assert far.text("a").endswith("ours\n")
    assert [one.theirs.decode() for one in far.memories.conflicts()] == [desk.text("a")]
    assert nothing(bring(far, file))


def test_a_store_that_was_set_back_gets_what_it_lost(desk: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    early = parsed(as_json(desk.memories, Asked())[0])
    desk.write("a", "2\n")
    desk.write("b", "new\n")
    late = saved(desk, tmp_path)
    behind = desk.other("behind")
    old = tmp_path / "early.json"
    old.write_bytes(document(early))
    bring(behind, old)
    assert told(bring(behind, late)) == [("a.md", "revised"), ("b.md", "created")]
    assert (behind.text("a"), behind.text("b")) == (desk.text("a"), desk.text("b"))


def own(desk: Desk, content: bytes, place: Path) -> Path:
    """An export that says it comes from a desk's store."""
    value = replace(parsed(content), store=desk.memories.store.id)
    (place / "own.json").write_bytes(document(value))
    return place / "own.json"


@pytest.mark.parametrize(("who", "kept"), [("person", "person"), ("agent", "agent"), ("tool", "tool")])
def test_an_origin_survives_into_the_same_store_only_and_never_above_who_brings_it(
    desk: Desk, tmp_path: Path, who: Origin, kept: Origin
):
    desk.write("a", "1\n")
    exchange = parsed(as_json(desk.memories, Asked())[0])
    [memory] = exchange.memories
    versions = tuple(replace(version, origin=who) for version in memory.versions)
    content = document(replace(exchange, memories=(replace(memory, versions=versions),)))
    origins = {}
    for root, terminal, same in (("p", True, True), ("q", False, True), ("r", True, False)):
        other = desk.other(root)
        file = own(other, content, tmp_path)
        if not same:
            file.write_bytes(content)
        world = replace(other.world(), terminal=terminal, environment={"HOME": str(tmp_path), **_home()})
        with Memstore.open(world=world) as memories:
            memories.import_directory(str(file))
        head = other.head("a")
        assert head is not None
        origins[root] = head.origin
    assert origins == {"p": kept, "q": "agent" if who == "person" else kept, "r": "import"}


def _home() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if name.startswith(("MEMSTORE", "XDG", "CLAUDE_CONFIG"))}


def test_what_an_export_left_out_or_names_badly_is_named_and_the_rest_comes(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("good", "g\n")
    desk.write("aws", "AKIA" + "Q3EGXQ5ZRT7VWYB2\n")
    exchange = parsed(as_json(desk.memories, Asked())[0])
    good = next(memory for memory in exchange.memories if memory.head.state.path == "good.md")

    def another(number: int, path: str, scope: str = "private") -> Carried:
        shelf = replace(good.shelf, scope=scope)
        state = replace(good.head.state, path=path, shelf=shelf)
        return replace(
            good, id=f"x{number}", shelf=shelf, versions=(replace(good.head, memory=f"x{number}", state=state),)
        )

    bad = [another(1, "../x.md"), another(2, "GOOD.md"), another(3, "team.md", "team"), another(4, "no.txt")]
    file = tmp_path / "a.json"
    file.write_bytes(document(replace(exchange, memories=(*exchange.memories, *bad), team=(("team/t.md", b"t"),))))
    report = bring(far, file)
    assert far.living() == ["good.md"]
    skipped = dict(report.skipped)
    assert sorted(skipped) == ["../x.md", "GOOD.md", "aws.md", "no.txt", "team.md", "team/t.md"]
    assert "aws-key-id" in skipped["aws.md"] and "another memory" in skipped["GOOD.md"]
    assert [line for line in far.index() if line] == ["- [good](good.md)"]


def test_what_is_too_large_is_named_and_the_rest_comes(
    desk: Desk, far: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    desk.write("small", "s\n")
    desk.write("large", "l" * 200 + "\n")
    file = saved(desk, tmp_path)
    monkeypatch.setattr(reimporting, "LARGEST", 200)
    assert bring(far, file).skipped == (("large.md", "it is too large to be a memory"),)
    assert far.living() == ["small.md"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-40],
        lambda content: content.replace(b'"memories": [', b'"memories": [{},', 1),
        lambda content: content.replace(b'"memstore_export": 1', b'"memstore_export": 7'),
    ],
)
def test_a_damaged_or_newer_export_is_refused_whole(
    desk: Desk, far: Desk, tmp_path: Path, damage: Callable[[bytes], bytes]
):
    desk.write("a", "1\n")
    file = saved(desk, tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(errors.ImportRefused):
        far.memories.import_directory(str(file))
    assert far.versions() == {}


def test_a_json_that_somebody_laid_out_anew_is_still_one(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    file = saved(desk, tmp_path)
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(json.loads(file.read_bytes()), indent=2).encode())
    assert bring(far, file).new == 1


def test_an_export_since_a_point_brings_what_is_new_with_its_line(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    bring(far, saved(desk, tmp_path))
    seq = desk.memories.log()[0][0].seq
    desk.write("b", "B\n")
    desk.write("a", "2\n")
    report = bring(far, saved(desk, tmp_path, "since.json", since=Point(operation=str(seq))))
    assert sorted(told(report)) == [("a.md", "revised"), ("b.md", "created")]
    assert [line for line in far.index() if line] == ["- [a](a.md)", "- [b](b.md)"]
    assert shared(far)["b.md"] == shared(desk)["b.md"]


def test_undo_takes_an_import_back_whole(desk: Desk, far: Desk, tmp_path: Path):
    desk.write("a", "1\n")
    desk.write("b", "2\n")
    report = bring(far, saved(desk, tmp_path))
    far.memories.undo(str(report.seq))
    assert far.living() == []


names = st.sampled_from(["a", "b", "c"])
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["write", "far"]), names, st.sampled_from(["1\n", "2\n", "3\n\n4\n"])),
        st.tuples(st.sampled_from(["delete", "gone", "save"]), names, st.just("")),
        st.tuples(st.sampled_from(["rename", "moved"]), names, names),
        st.tuples(st.just("bring"), st.integers(0, 5), st.just("")),
    ),
    min_size=3,
    max_size=14,
)


@given(steps)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_whatever_is_written_and_brought_no_words_of_the_other_side_are_lost(
    tmp_path_factory: pytest.TempPathFactory, plan: list[tuple[str, str | int, str]]
):
    place = tmp_path_factory.mktemp("both")
    desk = Desk(place)
    far = desk.other("far")
    files: list[Path] = []
    try:
        for at, (what, name, text) in enumerate(plan):
            if what == "save":
                files.append(saved(desk, place, f"{at}.json"))
            elif what == "bring" and files:
                file = files[int(name) % len(files)]
                far.memories.import_directory(str(file))
                assert nothing(far.memories.import_directory(str(file)))
                assert nothing(desk.memories.import_directory(str(file)))
            elif what in ("delete", "gone", "rename", "moved"):
                place_of = desk if what in ("delete", "rename") else far
                with suppress(errors.Mendable):
                    if text:
                        place_of.memories.rename(str(name), text)
                    else:
                        place_of.memories.delete(str(name))
            elif what in ("write", "far"):
                (desk if what == "write" else far).write(str(name), text, description=f"{what}{at}")
        newest = saved(desk, place, "end.json")
        report = far.memories.import_directory(str(newest))
        assert nothing(far.memories.import_directory(str(newest)))
        left = {path for path, _ in report.skipped}
        for memory in desk.memories.store.memories():
            assert memory.path in left or far.memories.store.knows(memory.state.content), memory.path
    finally:
        desk.close()


def test_export_and_import_of_zip_and_directory_differ_in_no_byte(desk: Desk, far: Desk, tmp_path: Path):
    desk.put("a.md", topic("a"))
    desk.put("sub/raw.md", b"\xff\x00raw\r\n")
    desk.put(INDEX_NAME, "# Mine\r\n- [A](a.md)\r\n- loose")
    desk.sync()
    (tmp_path / "out").mkdir()
    for name in ("a.zip", "dir"):
        export(desk.memories, str(tmp_path / "out" / name), Asked())
        other = desk.other(f"far-{name}")
        bring(other, tmp_path / "out" / name)
        assert shared(other) == shared(desk)
    export(other.memories, str(tmp_path / "out" / "b.zip"), Asked())
    first, second = (tmp_path / "out" / name for name in ("a.zip", "b.zip"))
    assert _entries(first) == _entries(second)
    assert nothing(bring(desk, first))


def _entries(path: Path) -> list[tuple[str, bytes]]:
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]

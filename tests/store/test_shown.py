"""What folders show: bases, stamps, absences, and the texts that stood there before."""

from __future__ import annotations

from memstore.core.changes import Append, ChangeSet
from memstore.store import shown
from memstore.store.inbox import Known, SeenBy
from memstore.store.kept import Keep
from memstore.store.shown import Aside, Forget, Missing, ShownRow, Stamp
from memstore.store.store import Store
from tests.store.stores import create, put, who


def test_a_row_comes_back_as_it_was_put_and_a_second_one_replaces_it(store: Store):
    put(store, create("note", b"one\n"))
    folder = store.add_folder("/f").pk
    rows = (
        ShownRow("note.md", "note", 1, b"one\n", "1 2 3 4", 5, "[]", ("a line", "ünïcode")),
        ShownRow("note.md", "note", 2, b"\xff two\n", put=True),
        ShownRow("MEMORY.md", None, 0, b"", lines='[["x", 1]]'),
    )
    for row in rows:
        store.show(folder, (row,))
        with store.view() as database:
            found = shown.shown_row(database, folder, row.name)
        assert found is not None
        assert (found.name, found.memory, found.version, found.content) == (
            row.name,
            row.memory,
            row.version,
            row.content,
        )
        assert (found.stamp, found.missing_since, found.lines, found.flagged) == (
            row.stamp, row.missing_since, row.lines, row.flagged,
        )  # fmt: skip
    with store.view() as database:
        assert shown.shown_names_of(database, folder, "note") == ["note.md"]
        assert shown.shown_row(database, folder, "other.md") is None


def test_all_texts_from_before_the_newest_projection_count_as_earlier_ones_and_none_from_after_it(store: Store):
    folder = store.add_folder("/f").pk
    shows = ((b"1", False), (b"2", True), (b"2", True), (b"3", False), (b"4", True), (b"5", True), (b"6", False))
    for content, projected in shows:
        store.show(folder, (ShownRow("note.md", None, 1, content, put=projected),))
    with store.view() as database:
        assert shown.texts_before(database, folder, "note.md") == [b"4", b"3", b"2", b"1"]
        assert shown.texts_before(database, folder, "note.md", 1) == [b"4"]


def test_an_absence_a_stamp_and_a_forgotten_name(store: Store):
    folder = store.add_folder("/f").pk
    store.show(folder, (ShownRow("a.md", None, 1, b"a", "s1"), ShownRow("b.md", None, 1, b"b")))
    store.show(folder, (Missing("a.md", 7), Stamp("b.md", "s2")))
    with store.view() as database:
        assert shown.missing(database, folder) == {"a.md": 7}
        assert shown.stamps(database, folder) == {"a.md": "s1", "b.md": "s2"}
    store.show(folder, (Stamp("a.md", "s3"), Forget("b.md")))
    with store.view() as database:
        assert (shown.missing(database, folder), shown.stamps(database, folder)) == ({}, {"a.md": "s3"})
    assert store.knows(b"b")


def test_what_was_put_aside_keeps_its_bytes(store: Store):
    folder = store.add_folder("/f").pk
    store.show(folder, (Aside("a.md", b"old \xff", "an older version"), Aside("b.md", b"x", "strange")))
    with store.view() as database:
        found = [row[:3] + row[4:] for row in shown.set_asides(database)]
    assert found == [("/f", "b.md", "strange", b"x"), ("/f", "a.md", "an older version", b"old \xff")]


def test_a_folder_is_known_once_and_remembers_how_far_it_shows(store: Store):
    first = store.add_folder("/f")
    assert store.add_folder("/f") == first
    store.show(first.pk, (), shows=5, stamp="d")
    store.show(first.pk, (), shows=3, stamp="d")
    store.mark_gone(first.pk, 9)
    assert store.add_folder("/f") == shown.FolderRow(first.pk, "/f", 9, 5, "d")
    store.show(first.pk, (ShownRow("a.md", None, 1, b"a"),))
    store.forget_shown(first.pk)
    assert store.add_folder("/f") == shown.FolderRow(first.pk, "/f", None, 0, None)
    with store.view() as database:
        assert shown.stamps(database, first.pk) == {}


def test_what_moved_is_known_by_the_commit_order(store: Store):
    one = put(store, create("a"), real=False).seq
    two = put(store, create("b"), real=False).seq
    with store.view() as database:
        assert shown.moved_since(database, one) == ["b"]
        assert (shown.last_operation(database), shown.due_now(database, 10**18)) == (two, False)
    put(store, create("c", due_at=10**16), real=False)
    with store.view() as database:
        assert (shown.due_now(database, 10**15), shown.due_now(database, 10**16)) == (False, True)


def test_the_index_moves_with_its_lines_and_a_full_one_with_every_memory_too(store: Store):
    def moved(seq: int) -> bool:
        with store.view() as database:
            return shown.index_moved_since(database, seq)

    bare = put(store, create("a"), real=False).seq
    assert not moved(bare - 1)
    lined = put(store, create("b")).seq
    assert (moved(lined - 1), moved(lined)) == (True, False)
    revised = put(store, Append("a", b"more\n")).seq
    assert not moved(revised - 1)
    full = put(store, *[create(f"c{number}") for number in range(200)]).seq
    assert (moved(full - 1), moved(full)) == (True, False)
    assert moved(put(store, Append("a", b"and more\n")).seq - 1)


def test_a_change_set_and_what_a_folder_shows_are_one(store: Store):
    folder = store.add_folder("/f").pk
    row = ShownRow("note.md", "note", 1, b"one\n", "s")
    store.apply(
        ChangeSet("op", "absorb", 5, who("file"), (create("note", b"one\n"),)), folder=folder, shown_changes=(row,)
    )
    with store.view() as database:
        found = shown.shown_row(database, folder, "note.md")
    assert found is not None and (found.memory, found.version) == ("note", 1)


def test_a_text_that_a_session_only_saw_or_that_waits_to_be_taken_in_is_not_known(store: Store):
    folder = store.add_folder("/f").pk
    store.show(folder, (SeenBy("s", "/f", "a.md", b"seen"), Keep("/f/kept", "a.md", b"base", came_out=b"out")))
    assert not any(store.knows(text) for text in (b"seen", b"out"))
    store.show(folder, (Known("a.md", b"seen"), Aside("a.md", b"out", "strange")))
    assert store.knows(b"seen") and store.knows(b"out")

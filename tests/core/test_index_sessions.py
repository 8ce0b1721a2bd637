"""Several writers of one MEMORY.md, each with a base of its own."""

from __future__ import annotations

from memstore.core.index import (
    Unlist,
    base_of,
    due_lines,
    loaded_view,
    merge,
    parse,
    refresh,
    release,
    render,
)
from tests.core.index_samples import TOPICS, applied, base, entry, kinds, resolve, rows_of, text_of


def test_eight_sessions_write_the_whole_index_and_eight_lines_are_left() -> None:
    rows = rows_of("# Notes\n\n- [A](a.md) — x\n")
    start = render(rows, {})
    view = loaded_view(start.text)
    for n, name in enumerate("abcdefgh"[1:], 1):
        seen = base_of(view, start.text, [row for row, _ in start.lines])
        written = f"{view}\n- [{name}](b{n}.md) — by session {n}\n"
        rows = applied(rows, merge(seen, rows, written, resolve).changes, op=10 + n)
    text = text_of(rows)
    assert text.startswith("# Notes\n\n- [A](a.md) — x\n") and text.count("by session") == 7
    assert text.count("\n") == 10


def test_lines_past_the_cut_survive_a_session_that_never_saw_them() -> None:
    entries = {f"m-{n}": entry(str(n), changed=n, listing="due") for n in range(250)}
    live = {each.path: each.id for each in entries.values()}
    rows = applied([], due_lines([], entries))
    shown = render(rows, entries)
    seen = base_of(loaded_view(shown.text), shown.text, [row for row, _ in shown.lines])
    kept = [line for line in loaded_view(shown.text).split("\n") if "[249]" not in line]
    edit = merge(seen, rows, "\n".join([*kept, "a new word", ""]), live.get)
    assert kinds(edit, Unlist) == [Unlist("m-249")]
    after = applied(rows, edit.changes)
    assert len(after) == len(rows) and [row for row in after if row.id in shown.omitted][-1].memory == "m-91"
    assert "a new word\n" in render(after, entries).text


def test_an_omitted_memory_that_is_pointed_to_again_is_listed_but_not_pinned() -> None:
    entries = {f"m-{n}": entry(str(n), changed=n, listing="due") for n in range(250)}
    live = {each.path: each.id for each in entries.values()}
    rows = applied([], due_lines([], entries))
    shown = render(rows, entries)
    seen = base_of(shown.text, shown.text, [row for row, _ in shown.lines])
    edit = merge(seen, rows, shown.text + "- [Zero](0.md) — wanted\n", live.get)
    after = applied(rows, edit.changes)
    assert len(after) == len(rows) and "- [Zero](0.md) — wanted\n" in render(after, entries).text


def test_a_renamed_memory_keeps_its_line_under_an_old_base() -> None:
    before = rows_of("- [A](a.md) — mine\n- [B](b.md) — mine\n")
    rows = applied(before, refresh(before, {"m-a": entry("a", path="new name.md")}))
    assert text_of(rows) == "- [A](new%20name.md) — mine\n- [B](b.md) — mine\n"
    live = {"new name.md": "m-a", "b.md": "m-b"}
    edit = merge(base(before), rows, "- [A](a.md) — better\n- [B](b.md) — mine\nword\n", live.get)
    assert text_of(applied(rows, edit.changes)) == "- [A](new%20name.md) — better\n- [B](b.md) — mine\nword\n"


def test_a_line_deleted_on_one_side_and_changed_on_the_other_stays() -> None:
    before = rows_of("- [A](a.md) — old\n- [B](b.md)\n")
    rows = applied(before, merge(base(before), before, "- [B](b.md)\n", resolve).changes)
    edit = merge(base(before), rows, "- [A](a.md) — news\n- [B](b.md)\n", resolve)
    assert text_of(applied(rows, edit.changes, op=3)) == "- [A](a.md) — news\n- [B](b.md)\n"
    same = merge(base(before), rows, "- [A](a.md) — old\n- [B](b.md)\nword\n", resolve)
    assert text_of(applied(rows, same.changes, op=3)) == "- [B](b.md)\nword\n"


def test_both_sides_pointing_to_a_new_topic_make_one_line_and_a_conflict() -> None:
    before = rows_of("# Notes\n")
    rows = applied(before, merge(base(before), before, "# Notes\n- [A](a.md) — one\n", resolve).changes)
    edit = merge(base(before), rows, "# Notes\n- [A](a.md) — two\n", resolve)
    assert edit.changes == () and [conflict.other for conflict in edit.conflicts] == ["two"]


def test_line_ends_stay_and_new_lines_take_those_of_the_index() -> None:
    rows = rows_of("# Notes\r\n- [A](a.md) — x\r\n")
    rows = applied(rows, due_lines(rows, {"m-b": entry("b", listing="due")}))
    assert text_of(rows) == "# Notes\r\n- [A](a.md) — x\r\n- [B](b.md) — about b\r\n"
    text = text_of(rows).replace("\r", "")
    edit = merge(base(rows), rows, text, resolve)
    assert text_of(applied(rows, edit.changes)) == text and not edit.conflicts


def test_a_first_line_of_ours_makes_a_whole_file() -> None:
    rows = applied([], due_lines([], {"m-a": entry("a", listing="due")}))
    assert text_of(rows) == "- [A](a.md) — about a\n"
    unended = applied(rows_of("words"), due_lines(rows_of("words"), {"m-a": entry("a", listing="due")}))
    assert text_of(unended) == "words\n- [A](a.md) — about a"


def test_a_retired_memory_takes_its_pointers_along_and_leaves_prose() -> None:
    rows = rows_of("- [A](a.md)\nsee [A](a.md)\n- [A](a.md) again\n")
    assert text_of(applied(rows, release(rows, "m-a"))) == "see [A](a.md)\n"


def test_a_fence_that_opens_above_a_pointer_takes_it_out_of_the_index() -> None:
    rows = rows_of("- [A](a.md)\nword\n")
    edit = merge(base(rows), rows, "```\n- [A](a.md)\n```\nword\n", resolve)
    assert kinds(edit, Unlist) == [Unlist("m-a")]
    assert text_of(applied(rows, edit.changes)) == "```\n- [A](a.md)\n```\nword\n"


def test_the_sample_of_the_real_client_comes_back_byte_by_byte() -> None:
    text = (
        "# Shop memories\n\nRead this before.\n\n## People\n- [Role](a.md) — new to the frontend\n"
        "\n## How we work\n- [统一使用 bun](b.md) — 不要混用 npm，锁文件会冲突\n"
    )
    rows = rows_of(text)
    assert render(rows, {}).text == text and [row.memory for row in rows if row.memory] == ["m-a", "m-b"]
    assert {piece.target for piece in parse(text) if piece.target} <= set(TOPICS)

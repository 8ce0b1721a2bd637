"""Reading MEMORY.md: which lines are pointers, what code hides, and what the client counts."""

from __future__ import annotations

import pytest

from memstore.core.index import loaded_view, measure, parse, pointer_line
from memstore.core.index_align import align, align_moved, ascending
from memstore.core.index_lines import CLIENT, is_backfill, units

FAMILY = "👩\u200d👩\u200d👧 می\u200cخواهم ❤\ufe0f"
POINTERS = {
    "- [T](a.md) — hook": ("a.md", "T", "hook"),
    "* [T](a.md) - hook": ("a.md", "T", "hook"),
    "+ [T](a.md): hook": ("a.md", "T", "hook"),
    "3. [T](a.md) – hook": ("a.md", "T", "hook"),
    "12) [T](a.md) -- hook": ("a.md", "T", "hook"),
    "- [T](a.md)": ("a.md", "T", ""),
    "- [T](a.md) hook": ("a.md", "T", "hook"),
    "- [ ] [T](a.md) — open": ("a.md", "T", "open"),
    "- **[T](a.md)** — bold": ("a.md", "T", "bold"),
    "- [S](spaced%20name.md)": ("spaced name.md", "S", ""),
    "- [P](<paren(1).md>) — x": ("paren(1).md", "P", "x"),
    "- [P](paren(1).md) — x": ("paren(1).md", "P", "x"),
    "- [P](paren\\(1.md) — x": ("paren(1.md", "P", "x"),
    "- [P](<a b.md> 'a title') — x": ("a b.md", "P", "x"),
    "- [a [b] c](a.md) — x": ("a.md", "a [b] c", "x"),
    "- [a \\] c](a.md) — x": ("a.md", "a \\] c", "x"),
    "- [支付沙箱](支付 沙箱.md) — x": (None, "", ""),
    "- [支付沙箱](<支付 沙箱.md>)：一个账号": ("支付 沙箱.md", "支付沙箱", "一个账号"),
    "- [支](%E6%94%AF%E4%BB%98.md) — x": ("支付.md", "支", "x"),
    "- [T](./sub//a.md#part) — x": ("sub/a.md", "T", "x"),
    "- [T](a.MD) — x": ("a.MD", "T", "x"),
    "- [T](a.md) — see [B](b.md)": ("a.md", "T", "see [B](b.md)"),
    "\ufeff- [T](a.md) — hook\r": ("a.md", "T", "hook"),
    "- [T](%ff.md)": ("%ff.md", "T", ""),
    "- [`code`](a.md) — x": ("a.md", "`code`", "x"),
}


@pytest.mark.parametrize("line", POINTERS)
def test_a_pointer_is_read_in_each_form_people_write(line: str) -> None:
    (piece,) = parse(line)
    assert (piece.target, piece.title, piece.hook) == POINTERS[line]
    assert piece.kind == ("pointer" if piece.target else "free") and piece.text == line


@pytest.mark.parametrize(
    "target",
    [
        "https://example.org/x.md",
        "mailto:a.md",
        "/etc/a.md",
        "../a.md",
        "sub/../../a.md",
        "%2e%2e/a.md",
        "c:a.md",
        "\\\\host\\a.md",
        "~/a.md",
        "#part",
        "",
        "a.txt",
        "MEMORY.md",
        "memory.md#x",
        "a%00.md",
        "a%0Ab.md",
        "//host/a.md",
    ],
)
def test_links_that_mean_no_topic_file_are_free_text(target: str) -> None:
    (piece,) = parse(f"- [T]({target}) — hook")
    assert piece.kind == "free" and piece.target is None and piece.mentions == ()


def test_code_and_comments_hold_no_links() -> None:
    text = "\n".join(
        [
            "```md",
            "- [A](a.md)",
            "````",
            "- [B](b.md)",
            "<!--",
            "- [C](c.md)",
            "-->",
            "    - [D](d.md)",
            "- item",
            "    - [E](e.md) nested",
            "",
            "    - [F](f.md) still nested",
            "words",
            "",
            "\t[G](g.md)",
            "~~~",
            "- [H](h.md)",
            "```",
            "~~~",
            "`[I](i.md)` and <!-- [J](j.md) --> and ![K](k.md) and [L](l.md)",
        ]
    )
    pieces = parse(text)
    assert [piece.target for piece in pieces if piece.target] == ["b.md", "e.md", "f.md"]
    assert [path for piece in pieces for path in piece.mentions] == ["b.md", "e.md", "f.md", "l.md"]
    assert [piece.bare for piece in pieces if piece.hidden] == ["<!--", "- [C](c.md)", "-->"]


def test_a_header_is_hidden_only_if_it_closes() -> None:
    assert [piece.hidden for piece in parse("\ufeff---\r\nname: x\n---\r\ntext")] == [True, True, True, False]
    assert not any(piece.hidden for piece in parse("---\nname: x\ntext"))
    assert not any(piece.hidden for piece in parse("text\n---\nname: x\n---\n"))


def test_an_unclosed_comment_hides_nothing_from_the_count() -> None:
    assert measure("a\n<!-- open\nb\n") == (3, 13)
    assert measure("a\n<!-- x -->\nb\n<!-- y --> tail\n") == (3, 19)


def test_the_client_counts_utf16_units_of_trimmed_text() -> None:
    assert measure("\ufeff\n\n# a\r\n支\U0001f600\n\n") == (2, 7)
    assert measure("") == measure(" \n\n") == (0, 0)
    assert units("a\ud800\U0001f600") == 4


def test_the_view_is_cut_to_whole_lines() -> None:
    assert loaded_view("x\n" * 300) == "\n".join(["x"] * 200)
    long = "\n".join([f"{'支' * 299}"] * 100)
    assert loaded_view(long) == "\n".join(["支" * 299] * 83)
    assert loaded_view("\U0001f600" * 20_000) == "\U0001f600" * 12_500
    assert measure(loaded_view(long))[1] <= CLIENT.units


def test_backfill_is_one_pointer_per_topic_newest_first() -> None:
    times: dict[str, int | None] = {"a.md": 3, "b.md": 2, "c.md": None}
    made_up = "- [c](c.md)\n- [a](a.md) — x\n- [b](b.md)\n"
    assert is_backfill(parse(made_up), times)
    for other in (
        "- [b](b.md)\n- [a](a.md)\n- [c](c.md)\n", "- [a](a.md)\n- [b](b.md)\n", "# Notes\n" + made_up,
        made_up + "- [a](a.md)\n", made_up + "- [d](d.md)\n", "", "\n",
    ):  # fmt: skip
        assert not is_backfill(parse(other), times)
    topics: dict[str, int | None] = {f"{n:03}.md": 999 - n for n in range(300)}
    assert is_backfill(parse("".join(f"- [{n:03}]({n:03}.md) — {'x' * 90}\n" for n in range(160))), topics)


@pytest.mark.parametrize(
    ("title", "path", "description", "line"),
    [
        (
            "No mocks",
            "no-mocks.md",
            "mocks hid a bug",
            "- [No mocks](no-mocks.md) — mocks hid a bug",
        ),
        ("支付沙箱", "支付.md", "一个账号，先声明", "- [支付沙箱](支付.md) — 一个账号，先声明"),
        ("", "sub/plain.md", "", "- [plain](sub/plain.md)"),
        ("Odd", "paren (1)#.md", "x", "- [Odd](paren%20%281%29%23.md) — x"),
        ("Family", "f.md", FAMILY, f"- [Family](f.md) — {FAMILY}"),
        ("Mail", "m.md", "ask a@b.invalid, not @c", "- [Mail](m.md) — ask a@b.invalid, not \\@c"),
        (
            "A [x] `y`",
            "m.md",
            "Vec<T>\n and x[0]",
            "- [A \\[x\\] \\`y\\`](m.md) — Vec\\<T> and x\\[0\\]",
        ),
        ("Path", "m.md", "C:\\dir\\[x] \\", "- [Path](m.md) — C:\\dir\\\\\\[x\\] \\\\"),
    ],
)
def test_our_line_says_what_the_memory_says(title: str, path: str, description: str, line: str) -> None:
    assert pointer_line(title, path, description) == line
    assert parse(line)[0].target == path


def test_our_line_is_cut_with_a_visible_mark() -> None:
    line = pointer_line("Title", "a.md", "word " * 100)
    assert len(line) <= 150 and line.endswith(" w…")
    assert len(pointer_line("T" * 500, "a" * 200 + ".md", "word " * 1_000_000)) < 340
    assert pointer_line("T", "a.md", "[" * 500).endswith("\\[…")


def test_lining_up_pairs_blank_lines_by_their_surroundings() -> None:
    left, right = ["a", "", "b", "", "c"], ["a", "", "new", "", "b", "", "c"]
    assert align(left, right) == [0, 1, 4, 5, 6]
    pairs = align("xab", "abx")
    align_moved("xab", "abx", pairs, [True] * 3)
    assert pairs == [2, 0, 1]
    assert ascending([3, 0, 1, 5, 2]) == [1, 2, 4] and ascending([]) == []

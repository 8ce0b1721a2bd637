from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memstore
from memstore.core.frontmatter import Document, Problem, read, split
from memstore.core.yamlish import parse, plain_fields

STAMPED = b"""---
name: feedback-no-db-mocks
description: "Integration tests must use a real database, never mocks"
metadata:
  node_type: memory
  type: feedback
  originSessionId: 11111111-1111-4111-8111-111111111111
  modified: 2026-11-29T18:22:15.726Z
---

Integration tests use a real database.
"""


def topic(name: str, description: str) -> bytes:
    return f"---\nname: {name}\ndescription: {description}\ntype: project\n---\n\nBody.\n".encode()


def described(content: bytes) -> str | None:
    return read(content).description


def test_the_current_client_s_shape_is_read() -> None:
    assert read(STAMPED) == Document(
        name="feedback-no-db-mocks",
        description="Integration tests must use a real database, never mocks",
        type="feedback",
        body="Integration tests use a real database.\n",
        extra=(
            ("metadata.node_type", "memory"),
            ("metadata.originSessionId", "11111111-1111-4111-8111-111111111111"),
            ("metadata.modified", "2026-11-29T18:22:15.726Z"),
        ),
        problems=(),
        has_header=True,
        newline="\n",
    )


def test_the_nested_type_counts_before_the_top_level_one() -> None:
    document = read(b"---\ntype: user\nmetadata:\n  type: feedback\n---\n")
    assert (document.type, document.extra) == ("feedback", (("type", "user"),))


@pytest.mark.parametrize(
    "description",
    [
        "Deploy rule: never on Fridays",
        "*bold* claim",
        "@releases owns the tag",
        "`make lint` first",
        "%APPDATA% is the root",
        "[WIP] do not trust",
        "[a, list, they, say]",
        "{{placeholder}}",
        '"quoted" then more',
        '"never closed',
        "'tis the season",
        "!important thing",
        "!!python/object/apply:os.system",
        "- a dash first",
        "#4411 is the parser ticket",
        "see #4411 and # 5",
        "&anchor text",
        "> 5 items",
        "| not a block",
        "? a question",
        r"C:\Users\new",
        "ends with a colon:",
    ],
)
def test_h06_symbols_and_colons_are_plain_text_to_the_end_of_the_line(description: str) -> None:
    document = read(topic("bad", description))
    assert (document.name, document.description, document.type) == ("bad", description, "project")
    assert document.problems == ()


def test_h06_a_windows_path_in_double_quotes_is_what_stands_there() -> None:
    assert described(topic("x", r'"C:\Users\new"')) == r"C:\Users\new"


def test_h06_a_description_that_begins_with_a_number_sign_may_go_on_below() -> None:
    assert described(b"---\ndescription: #4411 is\n  the parser\n---\n") == "#4411 is the parser"


def test_h06_a_key_that_is_there_twice_is_reported_and_the_first_value_counts() -> None:
    document = read(b"---\nname: dup\ndescription: first\ndescription: second\ntype: user\n---\nB\n")
    assert (document.name, document.description, document.type) == ("dup", "first", "user")
    assert document.problems == (Problem(4, "the key `description` is there twice; its first value counts"),)


def test_h06_a_key_behind_a_tab_is_read() -> None:
    document = read(b"---\nname: tabbed\n\tdescription: by tab\ntype: user\n---\nB\n")
    assert (document.name, document.description, document.type) == ("tabbed", "by tab", "user")


def test_h06_bytes_that_are_not_utf_8_are_reported_by_line_and_the_rest_is_read() -> None:
    document = read(b"---\nname: latin\ndescription: caf\xe9\n---\nok\nna\xefve\n")
    assert (document.name, document.description, document.body) == ("latin", "caf\ufffd", "ok\nna\ufffdve\n")
    assert document.problems == (Problem(3, "not UTF-8"), Problem(6, "not UTF-8"))


def test_h06_a_nul_is_reported() -> None:
    document = read(b"---\nname: nul\ndescription: x\n---\nA\x00B\n")
    assert (document.name, document.body) == ("nul", "A\0B\n")
    assert document.problems == (Problem(5, "a NUL character"),)


def test_h06_a_header_that_is_a_list_gives_no_fields_and_is_reported_by_line() -> None:
    document = read(b"---\n- just\n- a list\n---\nB\n")
    assert (document.name, document.description, document.type, document.body) == (None, None, None, "B\n")
    assert [problem.line for problem in document.problems] == [2, 3]


def test_h06_one_unreadable_line_does_not_take_the_others_along() -> None:
    document = read(b"---\nname: x\n}{ what\ndescription: y\n---\nB\n")
    assert (document.name, document.description) == ("x", "y")
    assert [problem.line for problem in document.problems] == [3]


@pytest.mark.parametrize(
    ("name", "description", "type"),
    [
        ("no", "on", "feedback"),
        ("2026-03-01", "12:30:45", "project"),
        ("007", "1e3", "user"),
        ("yes", "null", "project"),
        ("~", "", "null"),
        ("1.10", "0x1F", "reference"),
    ],
)
def test_h07_values_stay_the_strings_as_typed(name: str, description: str, type: str) -> None:
    content = f"---\nname: {name}\ndescription: {description}\ntype: {type}\ncreated: 2026-03-01\n---\nB\n"
    document = read(content.encode())
    assert (document.name, document.description, document.type) == (name, description, type)
    assert document.extra == (("created", "2026-03-01"),)


def test_h07_what_is_missing_is_none() -> None:
    assert read(b"---\nname: x\ndescription: y\n---\nB\n").type is None
    paragraph = read(b"Just a paragraph.\n")
    assert (paragraph.name, paragraph.has_header, paragraph.problems) == (None, False, ())


H08 = "name: {0}\ndescription: d-{0}\ntype: user\n"


@pytest.mark.parametrize(
    ("name", "content", "body"),
    [
        ("bom", "\ufeff---\n" + H08 + "---\nbody\n", "body\n"),
        ("crlf", ("---\n" + H08 + "---\nline1\nline2\n").replace("\n", "\r\n"), "line1\r\nline2\r\n"),
        ("space", "---  \n" + H08 + "--- \t\nbody\n", "body\n"),
        ("eof", "---\n" + H08 + "---", ""),
        ("blank", "\n\n---\n" + H08 + "---\nbody\n", "body\n"),
        ("inner", "---\n" + H08 + "---\nup\n\n---\n\ndown --- still\n", "up\n\n---\n\ndown --- still\n"),
        ("desc", "---\n" + H08.replace("d-{0}", "keep --- in mind") + "---\nbody\n", "body\n"),
        ("bomblank", "\ufeff \t\r\n---\r\n" + H08 + "---\t\r\n\r\n \r\n  code\r\n", "  code\r\n"),
    ],
)
def test_h08_a_fence_that_does_not_look_like_one_still_gives_the_fields(name: str, content: str, body: str) -> None:
    document = read(content.format(name).encode())
    description = "keep --- in mind" if name == "desc" else f"d-{name}"
    assert (document.name, document.description, document.type) == (name, description, "user")
    assert (document.body, document.problems) == (body, ())
    assert document.newline == ("\r\n" if name in ("crlf", "bomblank") else "\n")


def test_h08_a_byte_order_mark_without_a_header_is_not_in_the_text() -> None:
    assert read(b"\xef\xbb\xbfhello\n").body == "hello\n"


@pytest.mark.parametrize("text", ["---\n\nafter a rule\n", "----\na: b\n----\n", "text\n---\na: b\n---\n", "---"])
def test_a_rule_in_a_body_is_no_header(text: str) -> None:
    document = read(text.encode())
    assert (document.has_header, document.body, document.problems) == (False, text, ())


def test_a_header_that_is_never_closed_is_body_and_reported() -> None:
    content = b"\n---\nname: x\nbody\n"
    document = read(content)
    assert (document.has_header, document.name, document.body) == (False, None, content.decode())
    assert document.problems == (Problem(2, "a header begins here that is never closed"),)


def test_values_over_several_lines_are_unfolded() -> None:
    content = b"""---
name: >-
  folded
  name
description: "in quotes
  over lines: \\u00e9

  next"
type:
  user # who
metadata:
    note: |
        first
          second

    plain: goes
        on here
---
"""
    document = read(content)
    assert (document.name, document.description) == ("folded name", "in quotes over lines: \u00e9\nnext")
    assert document.type == "user # who"
    assert document.extra == (("metadata.note", "first\n  second\n"), ("metadata.plain", "goes on here"))
    assert document.problems == ()


def test_a_comment_ends_a_type_and_a_quoted_value() -> None:
    document = read(b"---\n# first\nname: 'it''s' # second\nmetadata: # third\n  type: user  # fourth\n---\n")
    assert (document.name, document.type, document.problems) == ("it's", "user", ())


def test_lists_are_kept_in_both_notations() -> None:
    document = read(b"---\ntags: [a, 'b, c']\nmetadata:\n  refs:\n    - x\n    - \"y\"\n---\n")
    assert document.lists == (("tags", ("a", "b, c")), ("metadata.refs", ("x", "y")))


def test_metadata_in_braces_gives_the_type() -> None:
    document = read(b"---\nname: x\nmetadata: {type: user, node_type: memory}\n---\n")
    assert (document.type, document.extra) == ("user", (("metadata.node_type", "memory"),))


@pytest.mark.parametrize("foreign", ["\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1e"])
@pytest.mark.parametrize("shape", ["description: a{}type: user\n", 'description: "a{}type: user"\n'])
def test_no_character_but_newline_starts_a_key(foreign: str, shape: str) -> None:
    header = shape.format(foreign)
    document = read(f"---\n{header}---\n".encode())
    assert (document.description, document.type) == (f"a{foreign}type: user", None)


@pytest.mark.parametrize("foreign", ["\x85", "\u2028", "\u2029"])
def test_no_character_but_newline_breaks_a_block_scalar(foreign: str) -> None:
    document = read(f"---\ndescription: |-\n  a{foreign}type: user\n  \ue000b\n---\n".encode())
    assert (document.description, document.type) == (f"a{foreign}type: user\n\ue000b", None)


def test_escapes_in_double_quotes_are_those_of_yaml_and_json() -> None:
    assert described(topic("x", r'"\ud83d\ude00 \U0001F600 \x41\t\N\_"')) == "\U0001f600 \U0001f600 A\t\x85\xa0"
    assert described(topic("x", r'"half \ud83d"')) == r"half \ud83d"
    assert described(topic("x", r'"too far \UFFFFFFFF"')) == r"too far \UFFFFFFFF"


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


def test_h09_an_alias_bomb_is_refused_line_by_line_and_its_name_is_read() -> None:
    document = read(f"---\nname: bomb\n{BOMB}---\nB\n".encode())
    assert (document.name, document.extra, document.lists) == ("bomb", (), ())
    assert document.problems[0] == Problem(3, "anchors and aliases are not read")
    assert len(document.problems) == 8


def test_h09_a_merge_key_is_no_key() -> None:
    assert [problem.line for problem in read(b"---\nname: x\n<<: *a\n---\n").problems] == [3]


def test_h09_a_monster_description_is_kept_whole() -> None:
    assert described(topic("long", "word " * 60_000)) == ("word " * 60_000).strip()


def test_h09_deep_brackets_are_text() -> None:
    deep = "[" * 4000 + "]" * 4000
    assert described(topic("nested", deep)) == deep
    assert read(f"---\ntags: {deep}\n---\n".encode()).lists == (("tags", (deep,)),)


def test_h09_too_many_keys_and_too_deep_a_nesting_are_reported() -> None:
    many = read(("---\nname: x\n" + "".join(f"k{i}: v\n" for i in range(100_000)) + "---\n").encode())
    assert many.name == "x"
    assert many.problems == (Problem(130, "more than 128 keys"),)
    deep = read(("---\n" + "".join(" " * i + f"k{i}:\n" for i in range(1000)) + "---\n").encode())
    assert [problem.reason for problem in deep.problems] == ["nested too deeply"]


def test_h09_yaml_gets_at_most_64_kib() -> None:
    document = read(b"---\nname: x\ndescription: |\n" + b"  word\n" * 20_000 + b"type: user\n---\n")
    assert (document.name, document.description, document.type) == ("x", None, "user")
    assert document.problems == (Problem(3, "more than 64 KiB"),)


M = 200_000
HOSTILE_HEADERS = [
    "description: " + "[" * M,
    "tags: " + "[" * M + "]",
    "tags: [" + " " * M + "[]",
    "tags: [a" + " " * M + "b [",
    "tags: " + "{a: " * M + "}",
    "tags: [\n" + " b,\n" * 50_000 + "]",
    "tags:\n" + " - b\n" * 50_000,
    "- " * M,
    "? " * M,
    "a" * M,
    "a" + " " * M + "b",
    " " * M + "b",
    "type: a" + " " * M + "b",
    "type: a" + " #" * M,
    'name: "' + "a" * M,
    'name: "' + '\\"' * M,
    "name: '" + "''" * M,
    "name: 'a'" + " " * M + "b",
    "name: " + "\x85" * M,
    "\n" * M,
    "a: |\n" + "\n" * M,
    "a: b\n" + "\n" * M + "b",
    "a: b\n" + " c\n" * 50_000,
    ('k: "' + "x" * 1000 + "\n") * 300,
    ("k: |\n" + "\n" * 1000) * 300,
    "# c\n" * 50_000,
    "a: # b\n" + "#\n" * 50_000,
    "k: '\n" * 127 + "x" * M,
]
HOSTILE_TEXTS = [
    *(f"---\n{header}\n---\nB\n" for header in HOSTILE_HEADERS),
    *(f"---\n{header}\nname: x\n---\nB\n" for header in HOSTILE_HEADERS),
    "\n" * M,
    " " * M,
    "---\n" * M,
    "---\n" + "--- x\n" * 50_000,
    "---\n---\n" + " " * M,
    "---\n" + " " * M,
    "---\n" + "\n---" * M + " x",
]
LIMITED = """
import resource, sys
from memstore.core.frontmatter import calm, read
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
resource.setrlimit(resource.RLIMIT_AS, (200 * 2**20, 200 * 2**20))
for size in map(int, sys.argv[1:]):
    content = sys.stdin.buffer.read(size)
    body = read(content).body
    assert body == "B\\n" or not content.endswith(b"---\\nB\\n")
    calm(content)
"""


def test_h09_megabytes_of_hostile_header_stay_within_seconds_and_200_mb() -> None:
    contents = [text.encode() for text in HOSTILE_TEXTS]
    sizes = [str(len(content)) for content in contents]
    root = Path(memstore.__file__).parents[1]
    command = [sys.executable, "-c", LIMITED, *sizes]
    subprocess.run(command, input=b"".join(contents), check=True, timeout=60, cwd=root)


PIECES = [
    *("name", "description", "type", "metadata", "tags", "  type", "  tags", "  modified", "\ttype", "- a"),
    *(
        "\n",
        "\n",
        "\n",
        "\r\n",
        ": ",
        ": ",
        ":",
        " ",
        '"',
        "'",
        "|",
        ">",
        "[",
        "]",
        "{",
        "}",
        "#",
        " #",
        "&a",
    ),
    *("*a", "!", "value", "\\", "user", ", ", "\x85", "\u2028", "---", "\t", "é", "😀"),
]
HEADER_TEXT = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


KEYS = ["name", "description", "type", "modified", "metadata:\n  type", "  modified"]
PAIRS = st.lists(st.tuples(st.sampled_from(KEYS), st.text()), max_size=4)


@given(st.one_of(HEADER_TEXT, PAIRS.map(lambda pairs: "\n".join(f"{key}: {value}" for key, value in pairs))))
@settings(max_examples=200)
def test_the_short_way_reads_what_the_long_way_reads(header: str) -> None:
    header += "\n"
    fields = plain_fields(header)
    if fields is not None:
        parsed = parse(header)
        assert parsed.problems == ()
        assert parsed.comments == ()
        assert [(entry.key, entry.value) for entry in parsed.entries if entry.style != "map"] == list(fields.items())


@given(st.one_of(st.binary(), HEADER_TEXT.map(lambda text: f"---\n{text}\n---\nbody".encode())))
@settings(max_examples=200)
def test_reading_never_raises_and_splitting_loses_nothing(content: bytes) -> None:
    document = read(content)
    header, body = split(content)
    assert header + body == content
    assert document.body == body.decode(errors="replace")

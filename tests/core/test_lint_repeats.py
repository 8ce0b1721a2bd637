"""What a memory repeats of the repository: lines of its instructions, lists of files and of commits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.lint_repeats import lines_of, listing, repeated

PAGE = (
    "CLAUDE.md",
    "# Rules\n\n- Always run `make lint` before you push to main.\n- Short line.\n"
    "使用真实数据库，不要用模拟对象来测试。\n",
)


@pytest.mark.parametrize(
    "line",
    [
        "- Always run `make lint` before you push to main.",
        "* **Always run `make lint`** before you push to main.",
        "  3. always  run make lint before you push to MAIN.",
        "使用真实数据库，不要用模拟对象来测试。",
    ],
)
def test_a_line_of_the_instructions_is_known_in_any_dress(line: str):
    found = repeated(f"Something else.\n{line}\n", lines_of([PAGE]))
    assert found is not None
    assert (found.line, found.where, found.more) == (1, "CLAUDE.md", 0)


@pytest.mark.parametrize("line", ["- Short line.", "# Rules", "Always run make lint before you push.", ""])
def test_what_says_little_or_something_else_is_not(line: str):
    assert repeated(line, lines_of([PAGE])) is None


def test_the_others_are_counted():
    body = PAGE[1]
    found = repeated(body, lines_of([PAGE]))
    assert found is not None
    assert (found.line, found.more) == (2, 1)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("src/\nsrc/a.py\nsrc/b.py\n", "files"),
        ("```\n.\n├── src/\n│   ├── a.py\n│   └── b.py\n└── README.md\n```\n", "files"),
        ("- `src/auth.py`\n- `src/login.py`\n- `tests/test_auth.py`\n", "files"),
        ("-rw-r--r-- 1 me me 12 May  1 10:00 a\ndrwxr-xr-x 2 me me 12 May  1 10:00 b\n-rw------- 1 me me 9 May 1 c\n",
         "files"),
        ("3f2a1bc first\n- 9e8d7c6 second\n`0a1b2c3d` third\n", "commits"),
        ("3f2a1bc\n", "commits"),
        ("The key lies in src/auth.py.\nLogin is in src/login.py.\nBoth are old.\n", ""),
        ("- bun: installs\n- make: builds\n- tox: tests\n", ""),
        ("deadbeef\nfeedface\ncafebabe\n", ""),
        ("The bug was mended in 3f2a1bc, and came back.\n", ""),
        ("1234567 tickets are open\n2345678 are closed\n3456789 are new\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_list_is_no_memory(body: str, kind: str):
    assert listing(body) == kind


@given(st.text(alphabet="ab/.-`│├─ 09\n", max_size=120))
def test_any_text_can_be_looked_at(text: str):
    assert listing(text) in ("", "files", "commits")
    assert repeated(text, lines_of([("x", text)])) is None or text.count(" ") >= 5

"""**Why:** and **How to apply:** are known by their word in many languages; a description says more than a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.lint_fields import LONGEST, is_described, lacks
from memstore.core.prose import without_code

WHY = [
    "**Why:** it broke twice",
    "**Why**: it broke twice",
    "Why: it broke twice",
    "- **Reason:** it broke twice",
    "Use bun. **Why:** the lock file broke. **How to apply:** always",
    "It is closed. Why: it broke.",
    "## Why\n\nIt broke twice.",
    "## Why\r\n\r\nIt broke twice.\r\n",
    "**Why:**\nit broke twice",
    "**Why (since May):** it broke",
    "Because of the lock: it broke",
    "**原因：**之前锁文件冲突",
    "为什么：之前锁文件冲突",
    "**理由**：ロックが壊れた",
    "**이유:** 잠금 파일이 깨졌다",
    "**Warum:** weil es brach",
    "**Pourquoi :** c'était cassé",
    "**Motivo:** se rompió",
    "**Почему:** сломалось",
    "**Why?** it broke twice",
    "### Why it matters\nit broke twice",
    "为什么要这样：之前锁文件冲突",
]
NO_WHY = ["Use bun.", "Why not use bun?", "whyever: x", "The reason is a good one", "| why | x |", "How: by hand", ""]
HOW = [
    "**How to apply:** in every package",
    "How to apply: in every package",
    "**Applies to:** packages",
    "**When:** a package is added",
    "### How to apply\nin every package",
    "**如何应用：**所有包",
    "适用范围：所有包",
    "**適用方法:** すべて",
    "**적용:** 모든 패키지",
    "**Anwendung:** in jedem Paket",
    "**Where it applies:** packages",
    "**Scope:** packages",
    "### How to apply this\npackages",
    "**应用场景：**所有包",
    "如何执行：所有包",
    "**どう適用するか：**すべて",
    "**어떻게 적용:** 모든 패키지",
]


@pytest.mark.parametrize("text", WHY)
def test_a_reason_is_known(text: str):
    assert lacks("why", text) == ""


@pytest.mark.parametrize("text", NO_WHY)
def test_what_is_no_reason(text: str):
    assert lacks("why", text) == "it has no line **Why:**"


@pytest.mark.parametrize("text", HOW)
def test_when_it_holds_is_known(text: str):
    assert lacks("how", text) == ""


@pytest.mark.parametrize(
    "text", ["**Why:**", "**Why:**\n\n**How to apply:** x", "**Why:** **How to apply:** x", "## Why\n## How\nx"]
)
def test_a_label_alone_says_nothing(text: str):
    assert lacks("why", text) == "its line **Why:** says nothing"


def test_what_a_line_says_may_be_code_and_a_label_in_code_is_none():
    body = "Keep seven backups.\n\n**How to apply:** `backup --keep 7`\n**Why:**\n```\nWhy: x\n```\n"
    prose = without_code(body)
    assert (lacks("how", prose), lacks("how", prose, body)) == ("its line **How to apply:** says nothing", "")
    assert lacks("why", prose, body) == ""
    assert lacks("why", without_code("```\nWhy: x\n```"), "```\nWhy: x\n```") == "it has no line **Why:**"


@given(st.text(max_size=200))
def test_a_label_in_front_of_words_is_enough_whatever_follows(text: str):
    assert lacks("why", f"**Why:** it broke\n{text}") == ""


@given(st.text(alphabet="why how.:*#\n x", max_size=80))
def test_any_text_can_be_looked_at(text: str):
    assert isinstance(lacks("why", text) + lacks("how", text), str)


def test_a_long_text_takes_no_long_time():
    assert lacks("why", ("." + " " * 50) * 2_000 + "why " * 5_000 + "*" * 5_000)


@pytest.mark.parametrize(
    ("description", "matter"),
    [
        ("which port staging listens on", ""),
        ("哪个端口给预发环境用", ""),
        ("use a real database in tests", ""),
        (None, "it has no description"),
        ("  ", "it has no description"),
        ("first line\nsecond line", "its description has more than one line"),
        ("staging port", "its description says no more than its name"),
        ("Notes about the staging port", "its description says no more than its name"),
        ("TODO", "its description says no more than its name"),
        ("\u200b", "its description says no more than its name"),
        ("password", "its description is one word"),
        ("some useful information", "its description says no more than its name"),
        ("一些笔记", "its description says no more than its name"),
        ("关于项目的其他信息", "its description says no more than its name"),
        ("日志记录格式用 JSON", ""),
    ],
)
def test_a_description_must_tell_a_memory_apart(description: str | None, matter: str):
    assert is_described(description, "Staging port", "staging-port.md") == matter


def test_a_description_of_one_line_fits_into_one():
    words = "word " * LONGEST
    assert is_described(words[:LONGEST], "x", "x.md") == ""
    matter = is_described(words[: LONGEST + 2], "x", "x.md")
    assert matter.startswith(f"its description has {LONGEST + 2} characters, and its line in MEMORY.md shows ")

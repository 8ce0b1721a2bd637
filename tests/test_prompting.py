"""The memory section of a system prompt: what it says, and that it never changes by itself."""

from __future__ import annotations

import hashlib
import re

import pytest

from memstore.core.frontmatter import read
from memstore.core.taxonomy import TYPES
from memstore.prompting import LOG_PATTERN, section

FOLDER = "/h/me/.claude/projects/-srv-shop/memory"
ALL = [section(folder, log=log) for folder in (FOLDER, None) for log in (False, True)]


@pytest.mark.parametrize("text", ALL)
def test_it_tells_types_reading_saving_and_what_not(text: str):
    assert text.startswith("# Memory\n")
    for name in TYPES:
        assert f"\n- `{name}`: " in text
    for heading in ("## The four types", "## When to read", "## What not to save"):
        assert f"\n{heading}\n" in text
    assert "\n\n\n" not in text


@pytest.mark.parametrize("text", ALL)
def test_it_names_no_date_and_no_number_that_grows(text: str):
    assert re.findall(r"\d{2,}", text) == []


def test_the_form_of_a_file_is_one_that_is_read():
    text = section(FOLDER)
    form = text.split("```markdown\n")[1].split("```")[0]
    document = read(form.encode())
    assert (document.name, document.problems) == ("short-name-in-kebab-case", ())
    assert document.type == " | ".join(TYPES)


def test_files_are_offered_only_where_there_is_a_folder():
    assert f"`{FOLDER}`" in section(FOLDER)
    assert f"`{FOLDER}/MEMORY.md`" in section(FOLDER)
    assert "no folder of files" in section(None)


def test_the_log_has_a_pattern_for_its_path_and_adds_only():
    text = section(FOLDER, log=True)
    assert f"    {FOLDER}/{LOG_PATTERN}\n" in text
    assert f"    {LOG_PATTERN}\n" in section(None, log=True)
    assert "## How to save" not in text
    assert "Only add at the end" in text


def test_the_wording_of_the_log_mode_is_pinned():
    """Prompts with this text are cached: whoever changes it does so knowingly."""
    text = section(None, log=True)
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "d236d914d39d60e085b350a8b2a2d05f6dfb6ee596dbf585d02fdf52c17a8f18"
    )

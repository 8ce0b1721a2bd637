"""The notes of a session: their sections stay, each has its budget, and a short form says something of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.names import check_path
from memstore.core.notes_text import (
    SECTION,
    TEMPLATE,
    WHOLE,
    check_change,
    check_template,
    path_of,
    sections,
    shortened,
    title,
    tokens,
    too_long,
    units,
)
from memstore.errors import InputRefused

OWN = "# One\n_about one_\n\n# Two\n_about two_\n"
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=200)


def filled(**bodies: str) -> str:
    """The template with words in some of its sections, by the first word of their headings."""
    text = TEMPLATE
    for section in sections(TEMPLATE):
        body = bodies.get(section.heading.split()[1].lower())
        if body is not None:
            text = text.replace(section.guide, f"{section.guide}\n\n{body}")
    return text


def refusal(before: str, after: str) -> str:
    with pytest.raises(InputRefused) as refused:
        check_change(before, after)
    return str(refused.value)


def test_the_template_has_the_sections_of_the_client_each_with_a_line_in_italics():
    assert [section.heading.removeprefix("# ") for section in sections(TEMPLATE)] == [
        "Session Title", "Current State", "Task specification", "Files and Functions", "Workflow",
        "Errors & Corrections", "Codebase and System Documentation", "Learnings", "Key results", "Worklog",
    ]  # fmt: skip
    assert all(section.guide.startswith("_") and not section.body for section in sections(TEMPLATE))
    check_template(TEMPLATE)


def test_words_below_the_headings_may_change():
    check_change(TEMPLATE, filled(current="the build is red\n\n## what is left\n- tests", worklog="- began"))


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (OWN.replace("# Two", "# Second"), "the heading '# Two' would be gone"),
        (OWN + "# Three\nwords\n", "'# Three' would be a heading of its own"),
        (OWN + "# Two\n", "'# Two' would be a heading of its own"),
        (OWN.replace("about two", "about 2"), "the line in italics below '# Two' would change"),
        (OWN.replace("_about two_\n", "words\n"), "the line in italics below '# Two' would change"),
        ("# Two\n_about two_\n\n# One\n_about one_\n", "the sections would stand in another order"),
        (OWN.replace("_about one_", "_about one_\n```sh\nmake"), "would be gone, or stand in a block"),
        ("", "the heading '# One' would be gone"),
    ],
)  # fmt: skip
def test_headings_and_lines_in_italics_stay(after: str, told: str):
    assert told in refusal(OWN, after)


def test_a_comment_in_a_block_of_code_is_no_heading():
    body = "```sh\n# build it\nmake\n```\n~~~\n# not this\n```\n~~~\n    # nor this"
    check_change(OWN, OWN.replace("_about one_", f"_about one_\n{body}"))
    assert [section.heading for section in sections(f"# A\n{body}\n# B")] == ["# A", "# B"]


def test_a_section_that_becomes_too_long_is_refused_with_the_figure():
    words = "word " * (SECTION * 4 // 5)
    assert "'# Worklog' would have about 20" in refusal(TEMPLATE, filled(worklog=words))
    assert f"a section has {SECTION} at most" in refusal(TEMPLATE, filled(worklog=words))
    check_change(TEMPLATE, filled(worklog=words[: len(words) * 9 // 10]))


def test_a_section_that_was_too_long_may_become_shorter_and_not_longer():
    long, longer, shorter = (filled(worklog="word " * count) for count in (3_000, 3_001, 2_500))
    check_change(long, shorter)
    check_change(long, long)
    assert "'# Worklog' would have" in refusal(long, longer)


def test_notes_that_become_too_long_as_a_whole_are_refused():
    names = [section.heading.split()[1].lower() for section in sections(TEMPLATE)]
    words = "word " * 1_500
    assert f"they have {WHOLE} at most" in refusal(TEMPLATE, filled(**dict.fromkeys(names, words)))
    check_change(TEMPLATE, filled(**dict.fromkeys(names[:6], words)))


def test_what_is_near_its_budget_is_told():
    assert too_long(filled(learnings="word " * 1_000)) == []
    told = too_long(filled(learnings="word " * 1_500))
    assert len(told) == 1 and told[0].startswith("'# Learnings' has about 1") and f"of {SECTION} tokens" in told[0]
    names = [section.heading.split()[1].lower() for section in sections(TEMPLATE)]
    assert too_long(filled(**dict.fromkeys(names[:8], "word " * 1_100)))[-1].startswith("all of it has about 1")


@pytest.mark.parametrize(("template", "told"), [("", "no section"), ("words\n## x\n", "no section")])
def test_a_template_without_a_section_is_refused(template: str, told: str):
    with pytest.raises(InputRefused, match=told):
        check_template(template)


def test_a_template_that_leaves_no_room_is_refused():
    with pytest.raises(InputRefused, match="tokens itself"):
        check_template("# One\n" + "word " * 6_000)


def test_the_title_is_what_the_first_section_says():
    assert title(filled(session="Port of the cache")) == "Port of the cache"
    assert title(TEMPLATE) == title("") == ""


@pytest.mark.parametrize("session", ["../x", "a/b", "", "memory", "MEMORY", "A" * 300, "é", "\ud800", "x.tmp", "a\0b"])
def test_every_session_has_a_path(session: str):
    assert check_path(path_of(session)) == path_of(session)
    assert path_of(session).startswith("session-")


def test_a_session_with_a_plain_id_has_its_own_name():
    assert path_of("44444444-4444-4444-8444-444444444444") == "44444444-4444-4444-8444-444444444444.md"


def test_the_short_form_holds_what_the_notes_say_and_no_more():
    text = filled(current="the build is red", worklog="- began\n- went on")
    assert shortened(text, 1_000) == "# Current State\nthe build is red\n\n# Worklog\n- began\n- went on"
    assert shortened(TEMPLATE, 1_000) == ""


def test_a_section_that_is_too_long_keeps_its_beginning_and_its_end():
    lines = [f"- step {number}" for number in range(500)]
    told = shortened(filled(current="the build is red", worklog="\n".join(lines)), 600)
    assert told.startswith("# Current State\nthe build is red\n\n# Worklog\n- step 0\n- step 1\n")
    assert told.endswith("\n- step 498\n- step 499") and " lines left out)\n" in told
    assert 500 < units(told) <= 600


def test_a_line_that_alone_is_too_long_is_cut():
    told = shortened(filled(current="x" * 5_000), 300)
    assert told.startswith("# Current State\nxxx") and told.endswith("x …") and units(told) <= 300


@given(st.lists(ANY_TEXT, max_size=8), st.integers(0, 700))
def test_the_short_form_never_has_more_units_than_there_is_room_for(bodies: list[str], room: int):
    text = "\n".join(f"# {number}\n{body}" for number, body in enumerate(bodies))
    assert units(shortened(text, room)) <= room


@given(ANY_TEXT, ANY_TEXT)
def test_what_passes_the_check_has_the_same_frame(before: str, after: str):
    try:
        check_change(before, after)
    except InputRefused:
        return
    frames = [[section.heading for section in sections(text) if section.heading] for text in (before, after)]
    assert frames[0] == frames[1]


def test_tokens_are_a_quarter_of_the_bytes():
    assert (tokens(""), tokens("abcd"), tokens("abcde"), tokens("統一使用")) == (0, 1, 2, 3)

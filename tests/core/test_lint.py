"""Each rule of lint has examples that it finds and near misses that it leaves alone; nothing is refused for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.lint import (
    RULES,
    Around,
    Remark,
    examine,
    examine_all,
    examine_index,
    keys_of,
    text_of,
)
from memstore.core.lint_repeats import lines_of
from memstore.core.recall_text import BYTES, LINES

GOOD = """---
name: staging-port
description: which port staging listens on, for scripts that deploy
metadata:
  type: reference
---

Staging listens on 7443; see [[staging-cert]] and [the notes](notes/cert.md).
"""
KNOWN = Around(frozenset({"staging-cert", "staging-port"}), frozenset({"notes/cert.md", "staging-port.md"}))


def remarks(content: str | bytes, around: Around = KNOWN, path: str = "staging-port.md") -> list[Remark]:
    return examine(text_of(path, content.encode() if isinstance(content, str) else content), around)


def rules(content: str | bytes, **more: Any) -> list[tuple[str, int]]:
    return [(one.rule, one.line) for one in remarks(content, **more)]


def test_a_good_memory_has_no_remarks():
    assert remarks(GOOD) == []
    assert remarks(GOOD.replace("\n", "\r\n")) == []
    assert remarks("\ufeff" + GOOD) == []


def test_what_the_sample_of_the_client_has_is_no_secret_and_nothing_unseen(pytestconfig: pytest.Config):
    folder = pytestconfig.rootpath / "tests" / "data" / "claude-code-2.1.332" / "memory"
    texts = [text_of(file.name, file.read_bytes()) for file in folder.glob("*.md") if file.name != "MEMORY.md"]
    around = Around(*keys_of(texts))
    found = list(examine_all(texts, lambda text: around))
    assert len(texts) > 3
    assert not {"header", "type", "secret", "unseen", "near", "why", "how", "link"} & {one.rule for one in found}


def test_a_header_that_is_missing_or_cannot_be_read():
    assert rules("Just a line.\n") == [("header", 1)]
    assert rules("---\nname: x\nno end\n")[0] == ("header", 1)
    assert rules(GOOD.replace("name: staging-port\n", "name: staging-port\nname: other\n")) == [("header", 3)]
    assert ("header", 8) in rules(GOOD.encode().replace(b"7443", b"\xff\xfe"))


def test_a_type_that_is_missing_or_unknown():
    assert rules(GOOD.replace("metadata:\n  type: reference\n", "")) == [("type", 1)]
    assert rules(GOOD.replace("reference", "note")) == [("type", 5)]
    assert remarks(GOOD.replace("reference", "note"))[0].what == "'note' is no type of memory"


def test_a_description_that_says_nothing():
    line = "description: which port staging listens on, for scripts that deploy"
    assert rules(GOOD.replace(line, "description: staging port")) == [("description", 3)]
    assert rules(GOOD.replace(f"{line}\n", "")) == [("description", 1)]


def test_feedback_and_project_say_why_and_how():
    for kind in ("feedback", "project"):
        assert rules(GOOD.replace("reference", kind)) == [("why", 8), ("how", 8)]
        whole = GOOD.replace("reference", kind) + "\n**Why:** 7080 is taken.\n**How to apply:** in scripts.\n"
        assert rules(whole) == []
    assert rules(GOOD.replace("reference", "user")) == []


def test_an_empty_memory():
    assert rules(GOOD[: GOOD.index("Staging listens")]) == [("empty", 8)]


def test_dates_are_written_out_in_text_and_description_but_code_is_not_meant():
    assert rules(GOOD + "\nSince yesterday.\n") == [("date", 10)]
    assert rules(GOOD.replace("for scripts that deploy", "as of last week")) == [("date", 3)]
    assert rules(GOOD + "\n```\nyesterday\n```\n`git log --since yesterday`\n<!-- yesterday -->\n") == []


def test_sizes_are_those_of_a_recall():
    assert rules(GOOD + "x" * (BYTES - 200)) == []
    assert rules(GOOD + "x" * BYTES) == [("size", 8)]
    assert rules(GOOD + "x\n" * (LINES + 1)) == [("size", 8)]


@pytest.mark.parametrize(
    "link", ["[[nowhere]]", "[[no where|shown]]", "[[nowhere#part]]", "[x](nowhere.md)", "[x](./a/nowhere.md)"]
)
def test_links_that_lead_nowhere(link: str):
    assert rules(f"{GOOD}\nSee {link}.\n") == [("link", 10)]


@pytest.mark.parametrize(
    "text",
    [
        "See [[staging-cert]], [[Staging-Cert]], [[staging-cert.md]] and [[staging-cert|the certificate]].",
        "See [x](notes/cert.md), [y](notes/cert.md#part) and [z](https://example.org/nowhere.md).",
        "if [[ -f nowhere ]]; then",
        'if [[ "$x" == y ]]; then',
        "[[1, 2]]",
        "`a` is df[[column]] of R, cells[[i]]",
        "[[tool.mypy.overrides]]",
        "`[[nowhere]]`",
        "```\n[[nowhere]] [x](nowhere.md)\n```",
        "\\[x](nowhere.md) ![x](nowhere.png) [x](../above.md) [x](/etc/nowhere.md)",
    ],
)
def test_what_is_no_broken_link(text: str):
    assert rules(f"{GOOD}\n{text}\n") == []


def test_a_link_that_is_nearly_right_is_told_the_name():
    assert remarks(f"{GOOD}\n[[Staging Cert]]\n")[0].mend == "write [[staging-cert]]"


def test_a_link_to_a_file_of_the_repository_is_none_to_a_memory():
    around = KNOWN._replace(is_there=lambda path: path == "docs/setup.md")
    assert rules(f"{GOOD}\n[x](docs/setup.md) [y](docs/gone.md)\n", around=around) == [("link", 10)]


def test_what_the_repository_records_itself():
    around = KNOWN._replace(recorded=lines_of([("CLAUDE.md", "Always run the linter before you push.")]))
    found = remarks(f"{GOOD}\n- Always run the linter before you push.\n", around=around)
    assert [(one.rule, one.line, one.what) for one in found] == [
        ("recorded", 10, "this line stands word for word in CLAUDE.md")
    ]
    assert rules(GOOD + "src/a.py\nsrc/b.py\nsrc/c.py\nsrc/d.py\nsrc/e.py\n") == [("recorded", 8)]


SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


def test_a_secret_is_named_by_its_rule_and_never_shown():
    found = remarks(f"{GOOD}\nThe key is {SECRET}.\n")
    assert [(one.rule, one.line) for one in found] == [("secret", 10)]
    assert SECRET not in str(found)
    assert rules(f"{GOOD}\nThe key is $STRIPE_KEY.\n") == []


@pytest.mark.parametrize("character", ["\u202e", "\u200b", "\U000e0041", "\x1b", "\u2066"])
def test_characters_that_nobody_sees(character: str):
    found = remarks(f"{GOOD}\nab{character}cd\n")
    assert [(one.rule, one.line) for one in found] == [("unseen", 10)]
    assert f"U+{ord(character):04X}" in found[0].what
    assert character not in found[0].what


@pytest.mark.parametrize("text", ["👩\u200d💻", "می\u200cخواهم", "שלום\u200f abc", "❤\ufe0f", "a\tb", "<U+202E>"])
def test_characters_that_people_write_with(text: str):
    assert rules(f"{GOOD}\n{text}\n") == []


def test_a_comment_switches_rules_off_for_its_memory():
    text = f"{GOOD}\nyesterday [[nowhere]]\n"
    assert rules(text) == [("date", 10), ("link", 10)]
    assert rules(f"{text}<!-- memstore-lint: ignore date -->\n") == [("link", 10)]
    assert rules(f"{text}<!-- memstore-lint: ignore date, link -->\n") == []
    assert rules(f"{text}`<!-- memstore-lint: ignore date -->`\n") == [("date", 10), ("link", 10)]


def test_a_comment_that_names_no_rule_switches_nothing_off():
    for comment in ("ignore", "ignore all", "ignore dates"):
        found = rules(f"{GOOD}\nyesterday\n<!-- memstore-lint: {comment} -->\n")
        assert found == [("date", 10), ("ignore", 11)], comment


def test_texts_that_say_the_same_are_told_once_each():
    body = "Staging listens on 7443 and the old port is closed for everybody, so scripts use the new one at once."
    one, two, other = (
        text_of(f"{name}.md", f"---\nname: {name}\ndescription: {name} of it all\ntype: user\n---\n{text}\n".encode())
        for name, text in (("a", body), ("b", body), ("c", body.replace("7443", "9443")))
    )
    found = [one for one in examine_all([one, two, other], lambda text: KNOWN) if one.rule == "near"]
    assert [each.path for each in found] == ["b.md", "c.md"]
    assert found[0].what.endswith("% of it stands in a.md as well")
    assert found[1].what == "it says nearly the same as a.md, but not: 7443, 9443"


def test_short_texts_that_are_equal_are_told_too():
    texts = [text_of(path, GOOD.encode()) for path in ("a.md", "b.md")]
    found = [one.what for one in examine_all(texts, lambda text: KNOWN)]
    assert found == ["it says the same as a.md"]
    quiet = text_of("b.md", GOOD.encode() + b"<!-- memstore-lint: ignore near -->\n")
    assert list(examine_all([texts[0], quiet], lambda text: KNOWN)) == []


def test_an_index_is_measured_and_its_links_looked_up():
    assert examine_index(b"- [Port](staging-port.md)\n", KNOWN) == []
    text = f"# Memory\n- [Port](staging-port.md) {'x' * 200}\n- [Gone](gone.md)\n```\n[x](gone.md)\n```\n"
    assert [(one.rule, one.line) for one in examine_index(text.encode(), KNOWN)] == [("index", 2), ("link", 3)]
    assert [one.rule for one in examine_index(b"- a\n" * 201, KNOWN)] == ["index"]


def test_a_text_full_of_faults_is_told_of_with_measure():
    found = remarks(GOOD + "\nyesterday\n" * 500)
    assert [one.rule for one in found].count("date") == 20
    assert found[-1].what == "'yesterday' is no date (and so 480 more times)"


def test_every_rule_says_why():
    assert all(rule.why and rule.name == name for name, rule in RULES.items())


@given(st.binary(max_size=300), st.sampled_from([b"", GOOD.encode(), b"---\nname: x\n", b"---\ntype: feedback\n---\n"]))
def test_any_bytes_can_be_looked_at(noise: bytes, start: bytes):
    text = text_of("x.md", start + noise)
    lines = (start + noise).count(b"\n") + 1
    for one in (*examine(text, KNOWN), *examine_index(start + noise, KNOWN)):
        assert one.rule in RULES
        assert 1 <= one.line <= lines + 1
        assert one.what
        assert one.mend


@pytest.mark.parametrize(
    "piece",
    ["[[a b]] ", "[[", "[a](b.md) ", "<!--", "-->\n<!--", "`", "**why ", "last week ", "\u202e", "├─ ", ". ", "\n"],
)
def test_a_text_full_of_one_thing_takes_no_long_time(piece: str):
    around = Around(frozenset(f"name-{number}" for number in range(10_000)), frozenset())
    content = (GOOD + piece * (50_000 // len(piece))).encode()
    assert len(remarks(content, around)) < 100
    assert len(examine_index(content, around)) < 100

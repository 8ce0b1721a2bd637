"""Models that eat memories without deleting any: line by line, by halves, by lies about what a line was reworded to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memstore.core.changes import AddIndexLine
from tests.jobs import desk
from tests.jobs.night import Night, deletes, dropped, edits, reads, reworded, writes
from tests.messages_api import Say, Use
from tests.store.stores import create, put

FACTS = tuple(f"the important fact {number} about it" for number in range(10))
NAMES = tuple(f"m{number}" for number in range(10))


@pytest.fixture
def night(night: Night) -> Night:
    """With memories of ten lines, so that one more or less is no share."""
    for name in NAMES:
        night.keep(name, *FACTS)
    return night


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (("fact",), [reworded(fact, "fact") for fact in FACTS]),
        (FACTS[:5], [dropped(fact) for fact in FACTS[5:]]),
    ],
)
def test_many_memories_that_each_lose_much_wait_for_a_person(
    night: Night, body: Sequence[str], lines: list[dict[str, str]]
):
    before = night.files()
    emptied = tuple(writes(name, *body, lines=lines) for name in NAMES)
    end = night.dream(reads(*NAMES), emptied, Say("Tidied.")).end
    assert (end.outcome, end.gate) == ("skipped", "share") and night.files() == before


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        (
            ("## prod", "- port 7443", "## staging", "- port 7443"),
            ("## prod", "- port 7443", "## staging"),
            "- - port 7443",
        ),
        (("```yaml", "a:", "  b: 1", "# c: 2", "```"), ("```yaml", "a:", "b: 1", "c: 2", "```"), "-   b: 1\n- # c: 2"),
        (("# A", "at h1", "# B", "at h2"), ("# A", "at h2", "# B", "at h1"), "- at h1\n- at h2"),
        (("use h1", "use h2"), ("<!--", "use h1", "use h2", "-->"), "- use h1\n- use h2"),
    ],
    ids=["said of two", "code", "of another", "commented out"],
)
def test_a_line_that_means_something_else_now_is_not_there(
    night: Night, old: Sequence[str], new: Sequence[str], left: str
):
    night.keep("host", *old)
    night.dream(reads("host"), (writes("host", *new),), Say("Done."))
    assert night.answers()[-1].endswith(left.replace("-   b", "- b")), night.answers()[-1]
    assert night.bodies()["host.md"] == "\n".join(old)


def test_what_stands_as_a_comment_in_a_header_is_a_line(night: Night):
    text = desk.text_of("host", "use h1\n", description="about host")
    put(night.store, create("host", text.replace(b"name:", b"# no deploys on Fridays\nname:", 1)))
    night.dream(reads("host"), (writes("host", "use h1"),), Say("Done."))
    assert night.answers()[-1].endswith("- # no deploys on Fridays")


def test_rules_of_the_person_are_not_turned_around_by_their_place_nor_shrunk_to_a_word(night: Night):
    rule = "answer in German when I write German"
    night.keep("rules", "Never:", "- push to main", f"- {rule}", type="feedback")
    turned = writes("rules", "- push to main", f"- {rule}", "", "Never:", type="feedback")
    shrunk = edits("rules", rule, "German", lines=[reworded(rule, "German")])
    renamed = edits("rules", "name: rules", "name: no-rules")
    before = night.files()
    night.dream(reads("rules"), (turned, shrunk, renamed), Say("Done."))
    assert night.files() == before
    assert "stand elsewhere below the same `not`" in night.answers()[0] and rule in night.answers()[1]
    assert "its name stays as it is" in night.answers()[2]


def test_a_rule_of_the_person_is_not_widened_by_a_word(night: Night):
    rule, wider = "push to feature branches only", "push only to main and feature branches"
    night.keep("rules", rule, type="feedback")
    night.dream(reads("rules"), (edits("rules", rule, wider, lines=[reworded(rule, wider)]),), Say("Done."))
    assert night.bodies()["rules.md"] == rule and "made from such memories alone" in night.answers()[0]


def test_a_line_that_is_said_elsewhere_goes_only_while_it_is_said_there(night: Night):
    night.keep("a", "one 1", "two 2")
    night.keep("b", "two 2", "three 3")
    content = night.files()["b.md"].decode()
    same = Use("Write", {"file_path": "b.md", "content": content, "reason": "as it is", "sources": ["a.md"]})
    night.meanwhile({3: lambda: desk.change(night.store, "b", "two 2\n", "")})
    night.dream(reads("a", "b"), (same, writes("a", "one 1")), Say("Done."))
    assert night.steps() == [("revise", "a.md", "stale")] and night.bodies()["a.md"] == "one 1\ntwo 2"


def test_words_that_bring_another_address_reword_nothing(night: Night):
    line, other = "the api is at https://api.example.com for all", "the api is at https://evil.test for all"
    night.keep("api", line)
    night.dream(reads("api"), (edits("api", line, other, lines=[reworded(line, other)]),), Say("Done."))
    assert desk.at(night.store, "api").origin == "tool"


def test_words_of_the_index_about_what_is_merged_away_are_not_lost(night: Night):
    night.keep("old", "at h1 first", "then at h2")
    night.keep("new", "at h1 first", "then at h2")
    line = AddIndexLine("line", "pointer", "- [old](old.md) — never reboot it on Fridays", "old", None)
    put(night.store, lines=(line,))
    said = reworded("about old", "about new")
    moved = edits("new", "h2\n", "h2\nnever reboot it on Fridays\n", sources=["old.md"])
    into = deletes("old", into="new.md", lines=[said])
    night.dream(reads("old", "new"), (into, moved, into), Say("Done."))
    assert night.answers()[0].endswith("- never reboot it on Fridays")
    assert night.bodies()["new.md"].endswith("never reboot it on Fridays") and "old.md" not in night.files()
    assert desk.at(night.store, "new").origin == "agent", "the words were there"


def test_what_somebody_wrote_of_it_into_the_index_while_the_model_thought_keeps_it(night: Night):
    night.keep("old", "at h1 first")
    line = AddIndexLine("line", "pointer", "- [old](old.md) — never reboot it on Fridays", "old", None)
    night.meanwhile({3: lambda: put(night.store, lines=(line,))})
    assert night.dream(reads("old"), (deletes("old"),), Say("Done.")).end.outcome == "nothing"
    assert night.steps() == [("delete", "old.md", "stale")] and "old.md" in night.files()

"""What a write comes to: the four rules of core/plan.py as a table, and the smaller plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memstore.core.changes import Create, Rename, Retire, Revise, Supersede
from memstore.core.model import NEW, SHELF, Memory, State, Version
from memstore.core.plan import (
    OnConflict,
    Plan,
    Wanted,
    check_token,
    encoded,
    last_living,
    new_text,
    plan_field,
    plan_rename,
    plan_retirement,
    plan_supersession,
    plan_write,
    revised_text,
)
from memstore.errors import AlreadyExists, Conflict, InputRefused, MemstoreError, NotFound, StaleVersion

TEXT = b"---\nname: a\ndescription: d\nother: kept\n---\n1\n2\n3\n"


def memory(
    content: bytes = TEXT, *, live: bool = True, version: int = 2, path: str = "a.md", name: str = "a"
) -> Memory:
    state = State(SHELF, path, content, live)
    return Memory("m", version, "head", state, name, "d", None, "agent", "listed", 0, 0, 1)


def version(content: bytes = TEXT, *, number: int = 1, live: bool = True) -> Version:
    state = State(SHELF, "a.md", content, live)
    return Version("m", number, f"v{number}", None, "create", state, "a", "d", None, "agent", "op", 1, 0)


def plan(
    head: Memory | None, expect: str | None, wanted: Wanted, *, named: Version | None = None, on: OnConflict = "merge"
) -> Plan:
    return plan_write(head, named, expect, wanted, path="a.md", title="a", shelf=SHELF, new_id="new", on_conflict=on)


BODY = Wanted(body="1\n2\nthree\n")
REVISED = TEXT.replace(b"3\n", b"three\n")
OTHER_LINE = TEXT.replace(b"1\n", b"one\n")
SAME_LINE = TEXT.replace(b"3\n", b"drei\n")


def test_rule_1_what_is_not_there_is_made():
    for expect in (None, NEW):
        made = plan(None, expect, Wanted(body="text", description="d", type="user")).change
        assert isinstance(made, Create)
        assert (made.memory, made.path, made.shelf) == ("new", "a.md", SHELF)
        assert made.content == b"---\nname: a\ndescription: d\nmetadata:\n  type: user\n---\n\ntext\n"


def test_rule_1_what_was_retired_is_brought_back_with_the_new_text():
    for expect in (None, NEW):
        back = plan(memory(live=False), expect, Wanted(body="text")).change
        assert isinstance(back, Revise)
        assert (back.memory, back.expect, back.content) == ("m", "head", new_text("a", Wanted(body="text")))
    assert plan(memory(live=False), "head", BODY).change == Revise("m", "head", REVISED)
    with pytest.raises(StaleVersion):
        plan(memory(live=False), "older", BODY)


@pytest.mark.parametrize("expect", [None, NEW])
def test_rules_1_and_2_what_is_there_is_not_overwritten_without_its_token(expect: str | None):
    with pytest.raises(AlreadyExists) as refused:
        plan(memory(), expect, BODY)
    assert (refused.value.current, "--expect head" in refused.value.hint) == ("head", True)


def test_rule_3_the_current_token_replaces_what_stands_there_and_keeps_the_rest_of_the_header():
    assert plan(memory(), "head", BODY) == Plan(Revise("m", "head", REVISED))
    assert plan(memory(), "head", Wanted(body="1\n2\n3\n")) == Plan(None)
    assert plan(memory(), "head", Wanted()) == Plan(None)


def test_a_write_without_a_body_keeps_the_words_of_whoever_wrote_them():
    change = plan(memory(), "head", Wanted(description="new")).change
    assert change == Revise("m", "head", TEXT.replace(b": d\n", b": new\n"), merged=True)


@pytest.mark.parametrize("on", ["merge", "refuse"])
def test_rule_4_an_older_token_is_merged_against_the_version_that_it_names(on: OnConflict):
    head = memory(OTHER_LINE)
    if on == "refuse":
        with pytest.raises(StaleVersion) as refused:
            plan(head, "v1", BODY, named=version(), on=on)
        assert (refused.value.current_text, refused.value.given_text) == (OTHER_LINE, REVISED)
        return
    merged = plan(head, "v1", BODY, named=version(), on=on)
    assert merged == Plan(Revise("m", "head", REVISED.replace(b"1\n", b"one\n"), merged=True), merged=True)


def test_rule_4_what_cannot_be_merged_is_refused_with_both_texts():
    with pytest.raises(StaleVersion) as refused:
        plan(memory(SAME_LINE), "v1", BODY, named=version())
    error = refused.value
    assert (error.expected, error.current) == ("v1", "head")
    assert (error.current_text, error.given_text) == (SAME_LINE, REVISED)


def test_rule_4_what_stands_there_already_is_left():
    assert plan(memory(REVISED), "v1", BODY, named=version()) == Plan(None, merged=True)


def test_a_token_of_nothing_is_not_found():
    with pytest.raises(NotFound, match="no version nowhere"):
        plan(memory(), "nowhere", BODY)
    with pytest.raises(NotFound, match=r"no memory a\.md"):
        plan(None, "head", BODY)


def test_a_body_with_a_header_of_its_own_is_taken_as_it_is():
    whole = "---\nname: b\n---\nx"
    assert new_text("a", Wanted(body=whole)) == whole.encode()
    assert revised_text(TEXT, Wanted(body=whole)) == whole.encode()
    assert revised_text(TEXT, Wanted(body=whole, description="d")) == b"---\nname: b\ndescription: d\n---\nx"


@pytest.mark.parametrize("text", ["x\udc80", "---\nname: a\n---\nx\udc80"])
def test_half_a_character_is_refused(text: str):
    calls: list[Callable[[], object]] = [
        lambda: new_text("a", Wanted(body=text)),
        lambda: revised_text(TEXT, Wanted(body=text)),
        lambda: new_text("a", Wanted(description=text)),
        lambda: encoded(text),
    ]
    for call in calls:
        with pytest.raises(InputRefused, match="half a surrogate pair"):
            call()


def test_a_token_that_is_given_must_be_the_present_one():
    check_token(memory(), None)
    check_token(memory(), "head")
    steps: list[Callable[[], object]] = [
        lambda: check_token(memory(), "older"),
        lambda: plan_field(memory(), "description", "x", "older"),
        lambda: plan_rename(memory(), "b.md", "older"),
        lambda: plan_retirement(memory(), "older"),
    ]
    for step in steps:
        with pytest.raises(Conflict, match="expected version older, the current one is head"):
            step()


def test_a_field_is_set_in_its_place_and_its_words_are_mixed_in():
    step = plan_field(memory(), "description", "new", None)
    assert step == Revise("m", "head", TEXT.replace(b": d\n", b": new\n"), merged=True)
    assert plan_field(memory(), "description", "d", "head") is None


def test_a_rename_takes_along_a_name_that_was_the_files_own():
    assert plan_rename(memory(), "b.md", None) == Rename("m", "head", "b.md", TEXT.replace(b"name: a", b"name: b"))
    assert plan_rename(memory(name="Another"), "b.md", None) == Rename("m", "head", "b.md")
    assert plan_rename(memory(b"no header\n"), "b.md", None) == Rename("m", "head", "b.md")
    assert plan_rename(memory(), "a.md", "head") is None


def test_retiring_and_superseding():
    assert plan_retirement(memory(), "head") == Retire("m", "head")
    assert plan_supersession(memory(), "other") == Supersede("m", "other")
    assert plan_supersession(memory(), None) is None
    marked = replace(memory(), state=replace(memory().state, superseded_by="other"))
    assert (plan_supersession(marked, "other"), plan_supersession(marked, None)) == (None, Supersede("m", None))
    with pytest.raises(InputRefused, match="cannot supersede itself"):
        plan_supersession(memory(), "m")


@pytest.mark.parametrize(
    ("living", "number"),
    [
        ([True], 1),  # nothing earlier: what stands there stays
        ([True, True], 1),
        ([True, True, True], 2),
        ([True, False], 1),
        ([True, True, False], 2),
        ([True, False, True], 1),
        ([True, False, False], 1),
        ([True, False, True, False], 3),
    ],
)
def test_a_restore_without_a_number_takes_the_last_living_version_before_the_head(living: list[bool], number: int):
    versions = [version(number=n, live=live) for n, live in enumerate(living, 1)]
    assert last_living(versions) == number


def test_every_refusal_has_a_next_step():
    refusals: list[MemstoreError] = []
    calls: list[Callable[[], object]] = [
        lambda: plan(memory(), None, BODY),
        lambda: plan(memory(), "nowhere", BODY),
        lambda: plan(None, "head", BODY),
        lambda: plan(memory(SAME_LINE), "v1", BODY, named=version()),
        lambda: plan_supersession(memory(), "m"),
    ]
    for call in calls:
        with pytest.raises(MemstoreError) as refused:
            call()
        refusals.append(refused.value)
    assert all(refusal.hint for refusal in refusals)

"""What the rules propose: a test for each rule of the module's list, and for each thing that is never touched."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstore.core.changes import Retire, Revise, SetIndexLine
from memstore.core.frontmatter import compose
from memstore.core.index_values import Line
from memstore.core.model import SHELF, Memory, Origin, State
from memstore.core.tidying import Material, Proposal, propose

TEXT = "Use bun to install dependencies in this repository, and commit the lock file with each change you make."
NEAR = TEXT.replace("each", "every")
TODAY = date(2026, 4, 1)


def memory(
    name: str, body: str = TEXT, *, description: str = "", type: str = "project", origin: Origin = "agent",
    pinned: bool = False, at: int = 1,
) -> Memory:  # fmt: skip
    state = State(SHELF, f"{name}.md", compose(name, description, type, body), pinned=pinned)
    return Memory(name, 1, f"t-{name}", state, name, description, type, origin, "listed", at, at, 1)


def line(memory: str | None, text: str, kind: str = "pointer") -> Line:
    hook_by = "derived" if kind == "auto" else "hand"
    return Line(f"l-{text}", text, kind, memory, text, hook_by, 3, 1)  # type: ignore[arg-type]  # a test's shorthand


def found(*memories: Memory, lines: tuple[Line, ...] = (), **more: object) -> tuple[Proposal, ...]:
    material = Material(memories, lines, (), (), (), TODAY)
    return propose(material._replace(**more))  # type: ignore[arg-type]  # a test's shorthand


def only(*memories: Memory, lines: tuple[Line, ...] = (), **more: object) -> Proposal:
    (proposal,) = found(*memories, lines=lines, **more)
    return proposal


def test_rule_1_of_equal_texts_the_pinned_the_most_trusted_the_oldest_stays():
    proposal = only(memory("new", at=2), memory("old", at=1))
    assert (proposal.kind, proposal.paths, proposal.safe) == ("duplicate", ("old.md", "new.md"), True)
    assert proposal.changes == (Retire("new", "t-new", "old"),)
    assert only(memory("old", at=1), memory("mine", at=2, origin="person")).paths == ("mine.md", "old.md")
    assert only(memory("mine", origin="person"), memory("fixed", at=2, pinned=True)).paths == ("fixed.md", "mine.md")


def test_rule_1_the_clients_stamps_make_no_difference_and_other_words_do():
    stamped = compose("b", "", "project", TEXT).replace(b"metadata:", b"metadata:\n  originSessionId: x")
    twin = memory("b", at=2)
    assert only(memory("a"), replace(twin, state=replace(twin.state, content=stamped))).safe
    assert [one.kind for one in found(memory("a"), memory("b", description="another one"))] == ["near"]
    assert found(memory("a"), memory("b", type="user")) == ()


def test_rule_1_two_pinned_ones_stay_both():
    assert not only(memory("a", pinned=True), memory("b", pinned=True)).can_be_done


def test_rule_1_a_short_text_may_live_on_its_name_and_is_only_shown():
    proposal = only(memory("staging-port", "it is 7443"), memory("live-port", "it is 7443"))
    assert (proposal.kind, proposal.safe, proposal.can_be_done) == ("duplicate", False, True)
    assert found(memory("a", ""), memory("b", "")) == ()


def test_rule_1_words_in_a_hand_written_line_are_not_lost_unasked():
    pair = memory("a"), memory("b", at=2)
    by_hand = line("b", "- [B](b.md) — read this first")
    assert not only(*pair, lines=(by_hand,)).safe
    assert only(*pair, lines=(by_hand, line("a", "- [A](a.md) — read this first"))).safe
    assert only(*pair, lines=(line("b", "- [b](b.md)", "auto"),)).safe


def test_rule_1_what_others_link_to_does_not_go_unasked():
    for link in ("[[twin]]", "[it](twin.md)", "[it](other/twin.md)"):
        proposal = only(memory("a"), memory("twin", at=2), memory("c", f"See {link} for how that is done."))
        assert (proposal.safe, proposal.reason) == (False, "the same text as a.md, but other memories link to it")
    assert only(memory("a"), memory("twin", at=2), memory("c", "See [[a]] for that.")).safe


def test_rule_2_lines_that_only_one_has_are_added_to_the_other():
    more = "Ask in the channel of the build team before anything is changed in the pipeline, and wait for an answer."
    other = memory("b", f"{NEAR}\n{more}\nThe cache is on h1.", description="how to install", at=2)
    proposal = only(memory("a", f"{TEXT}\n{more}"), other)
    assert (proposal.kind, proposal.paths, proposal.safe) == ("near", ("a.md", "b.md"), False)
    revised, retired = proposal.changes
    assert isinstance(revised, Revise) and revised.merged and revised.expect == "t-a"
    body = revised.content.decode()
    assert body.endswith(f"{TEXT}\n{more}\nhow to install\n{NEAR}\nThe cache is on h1.\n")
    assert retired == Retire("b", "t-b", "a")


def test_rule_2_of_several_near_ones_one_memory_is_made():
    proposal = only(memory("a"), memory("b", NEAR), memory("c", TEXT.replace("change", "commit")))
    assert proposal.paths == ("a.md", "b.md", "c.md")
    assert [type(change) for change in proposal.changes] == [Revise, Retire, Retire]


def test_rule_2_what_has_every_line_already_is_not_written():
    proposal = only(memory("a", f"{TEXT}\n\n{NEAR}"), memory("b", f"{NEAR}\n{TEXT}", at=2))
    assert proposal.changes == (Retire("b", "t-b", "a"),)


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (f"# A\n{TEXT}\n# B\n{NEAR}", f"# A\n{NEAR}\n# B\n{TEXT}", "another order"),
        (f"{TEXT}\n# A\none more\n# B", f"{TEXT}\n# A\none more\n# B\none more", "another order"),
        (f"{TEXT}\n# A\n- x\n# B", f"{TEXT}\n# A\n- x\n- y\n# B", "cannot be put together one by one"),
    ],
)
def test_rule_2_never_where_a_line_would_stand_elsewhere(one: str, other: str, told: str):
    proposal = only(memory("a", one), memory("b", other))
    assert (proposal.kind, proposal.can_be_done) == ("near", False) and told in proposal.reason


def test_rule_2_never_where_figures_or_negations_differ():
    for other in (f"Do not {TEXT[0].lower()}{TEXT[1:]}", TEXT.replace("lock", "lock 2")):
        proposal = only(
            memory("a", TEXT.replace("lock", "lock 1"), type="feedback"), memory("b", other, type="feedback")
        )
        assert (proposal.kind, proposal.can_be_done) == ("differ", False)


def test_rule_2_never_into_words_that_are_trusted_more_nor_into_a_pinned_one():
    for kept in (memory("a", origin="person"), memory("a", pinned=True)):
        assert not only(kept, memory("b", NEAR, at=2)).can_be_done
    assert not only(memory("a", at=2, origin="person"), memory("b", NEAR, pinned=True)).can_be_done
    assert not only(memory("a", f"{TEXT}\n```\nx\n```"), memory("b", f"{TEXT}\n```\ny\n```")).can_be_done


def test_rule_3_a_line_of_ours_that_points_to_nothing_goes_and_one_by_hand_is_named():
    ours, by_hand = line("gone", "- [x](x.md)", "auto"), line(None, "- [y](y.md) — hm", "free")
    first, second = found(lines=(ours, by_hand))
    assert first.safe
    assert isinstance(first.lines[0], SetIndexLine)
    assert (first.lines[0].id, first.lines[0].expect, first.lines[0].live) == (ours.id, 3, False)
    assert (second.paths, second.can_be_done) == (("y.md",), False)


def test_rule_3_a_line_to_what_is_there_is_whole():
    lines = tuple(
        line(None, text, "free")
        for text in (
            "- [a](A.md)",
            "- [b](other/b.md)",
            "- [t](team/t.md)",
            "- [l](logs/x.md)",
            "- [w](https://x.y/z.md)",
        )
    )
    assert found(memory("a"), lines=lines, others=("other/b.md",)) == ()


def test_rule_4_what_is_past_its_own_date_is_proposed_and_what_is_not_stays():
    proposal = only(memory("a", "The freeze holds until 2026-03-31."))
    assert (proposal.kind, proposal.safe, proposal.changes) == ("expired", False, (Retire("a", "t-a"),))
    assert found(memory("a", "The freeze holds until 2026-04-01.")) == ()
    assert not only(memory("a", "The freeze holds until 2026-03-31.", pinned=True)).can_be_done


def test_rule_5_what_a_full_index_leaves_out_is_named():
    proposal = only(memory("b", "x"), omitted=("b.md",), lines=(line(None, "# by hand", "free"),))
    assert (proposal.kind, proposal.paths, proposal.can_be_done) == ("index", ("b.md",), False)
    assert "1 of its lines" in proposal.reason


def test_a_memory_with_an_open_conflict_is_left_alone():
    assert found(memory("a"), memory("b"), held={"b"}) == ()


def test_a_memory_is_changed_once():
    proposals = found(memory("a"), memory("b"), memory("c", f"{NEAR} It holds until 2026-01-01."), memory("d", NEAR))
    changed = [change.memory for proposal in proposals for change in proposal.changes]
    assert len(changed) == len(set(changed))


LINES = st.lists(
    st.sampled_from(
        [TEXT, NEAR, f"Not {TEXT}", "The cache is on h1.", "The cache is on h2.", "统一使用 bun 安装依赖。", "", "# A"]
    ),
    max_size=6,
)


@settings(max_examples=150)
@given(st.lists(st.tuples(LINES, st.sampled_from(["agent", "person", "tool"]), st.booleans()), max_size=5))
def test_whatever_is_joined_every_line_is_still_there_and_what_is_pinned_is_as_it_was(
    given_: list[tuple[list[str], Origin, bool]],
):
    memories = [
        memory(f"m{n}", "\n".join(lines), origin=origin, pinned=pinned, at=n)
        for n, (lines, origin, pinned) in enumerate(given_)
    ]
    living = {each.id: each.state.content for each in memories}
    for change in (change for proposal in found(*memories) for change in proposal.changes):
        assert not next(each for each in memories if each.id == change.memory).state.pinned
        if isinstance(change, Revise):
            assert change.content.startswith(living[change.memory])
            living[change.memory] = change.content
        else:
            del living[change.memory]
    said = {" ".join(line.split()) for text in living.values() for line in text.decode().split("\n")}
    assert {" ".join(line.split()) for lines, _, _ in given_ for line in lines} <= said | {""}

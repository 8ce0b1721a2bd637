"""How a dream is told: as lines for a person, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memstore.cli import terminal
from memstore.cli.runs_told import Account, decision, run_shape, usage_line
from memstore.cli.terminal import printable, when

if TYPE_CHECKING:
    from memstore.core.dream_steps import Outcome, Planned
    from memstore.store.store import Store

_ACTIONS = {"merge": "merged", "revise": "updated", "delete": "retired", "create": "created"}
_STATES = {
    "stale": "overtaken by others", "refused": "refused", "rejected": "rejected", "held": "waiting for an answer",
}  # fmt: skip

SHORT = 13
"""Characters of a run's id that a person is shown: they name it."""


def outcomes_of(store: Store, run: str) -> list[Outcome]:
    """The steps of a run with what became of them."""
    from memstore.store import steps

    with store.view() as connection:
        return steps.of_run(connection, run)


def counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How many memories were merged, updated, retired and created, and how many steps came to something else."""
    found = dict.fromkeys((*_ACTIONS.values(), *_STATES), 0)
    for outcome in outcomes:
        found[_ACTIONS[outcome.step.action] if outcome.state == "done" else outcome.state] += 1
    return found


def summary(outcomes: Sequence[Outcome]) -> str:
    """`merged 2, updated 3; 1 overtaken by others`; empty where there was no step."""
    found = counts(outcomes)
    done = ", ".join(f"{word} {found[word]}" for word in _ACTIONS.values() if found[word])
    left = ", ".join(f"{found[state]} {words}" for state, words in _STATES.items() if found[state])
    return "; ".join(filter(None, (done, left)))


def dream_lines(one: Account, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A dream in a few lines that are fit to be shown."""
    run = one.run
    yield printable(f"{run.id[:SHORT]}  {when(run.started_at)}  {decision(run)}")
    if told := summary(outcomes):
        yield f"    {told}"
    if any(outcome.state == "held" for outcome in outcomes):
        name = run.id[:SHORT]
        yield f"    `memstore dream accept {name}` does what waits, `memstore dream reject {name}` puts it away"
    for seq, undone_by in one.operations:
        back = f"`memstore undo {seq}` takes that back" if undone_by is None else f"taken back by #{undone_by}"
        yield f"    operation #{seq}: {back}"
    if run.usage.prompt or run.usage.output:
        yield printable(f"    {usage_line(run)}")


def step_lines(outcome: Outcome, *, shown: bool = True) -> Iterator[str]:
    """A step: what and why, each line that is not as it was, and with `shown` the texts side by side."""
    step = outcome.step
    state = _STATES.get(outcome.state, outcome.state) + (f" ({outcome.told})" if outcome.told else "")
    yield terminal.bold(printable(f"step {step.n}: {step_title(step)}: {state}"))
    yield printable(f"    why: {step.reason}")
    for line in step.lines:
        now = f" -> {line.now}" if line.fate == "reworded" else ""
        yield printable(f"    {line.fate}: {line.line}{now} ({line.reason})")
    if shown and (text := terminal.diff_text(difference(step))):
        yield text


def step_title(step: Planned) -> str:
    """`merge old.md into new.md`, `update a.md`."""
    word = {"revise": "update", "delete": "retire"}.get(step.action, step.action)
    return f"{word} {step.path}" + (f" into {step.into_path}" if step.into_path else "")


def difference(step: Planned) -> list[str]:
    """The texts of a step side by side."""
    from memstore.core.compare import unified

    before = "nothing" if step.before is None else f"{step.path} (before)"
    after = "nothing" if step.content is None else f"{step.path} (after)"
    return unified(step.before or b"", step.content or b"", before, after)


def dream_shape(one: Account, outcomes: Sequence[Outcome]) -> dict[str, object]:
    """A dream, as JSON has it."""
    return {**run_shape(one), "counts": counts(outcomes)}


def step_shape(outcome: Outcome) -> dict[str, object]:
    """A step, as JSON has it."""
    step = outcome.step
    return {
        "n": step.n,
        "part": step.part,
        "action": step.action,
        "path": step.path,
        "into": step.into_path,
        "state": outcome.state,
        "told": outcome.told,
        "reason": step.reason,
        "origin": step.origin,
        "lines": [
            {"line": each.line, "fate": each.fate, "now": each.now, "reason": each.reason} for each in step.lines
        ],
        "diff": difference(step),
    }

"""`undo` and `restore`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memstore.cli import inputs, terminal
from memstore.cli.history import Difference, difference_shape
from memstore.cli.state import State as CliState
from memstore.cli.state import json_option, operation_option
from memstore.cli.telling import tell_files, tell_saved
from memstore.cli.terminal import plural, printable
from memstore.core.compare import unified

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.model import Operation, State
    from memstore.outcomes import Saved


@click.command()
@click.argument("reference", metavar="OP")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@operation_option
@json_option
@click.pass_obj
def undo(state: CliState, reference: str, dry_run: bool, operation: str | None) -> None:
    """Take a whole operation back, by another operation.

    OP is a number of the log, an id, or the id of a run that changed something. What came later is kept; where
    later work stands in the way, nothing is undone and the work is named. An undo can be undone.
    """
    with state.open() as memories:
        if dry_run:
            found, differences = _preview(memories, reference)
            _tell_preview(state, found, differences)
            return
        undone = memories.undo(reference, operation=operation)
    if state.json:
        from memstore.cli.shaping import files_shape, operation_shape

        shape = {
            "dry_run": False,
            "operation": operation_shape(undone.operation),
            "by": undone.by,
            "seq": undone.seq,
            "changed": list(undone.changed),
            "diffs": [],
            "files": files_shape(undone.files),
        }
        state.emit("undo", shape)
    changed = ", ".join(undone.changed) or "the index"
    state.report(printable(f"took #{undone.operation.seq} back by operation #{undone.seq}: {changed}"))
    tell_files(state, undone.files)


@click.command()
@click.argument("name")
@click.option(
    "--version",
    "number",
    metavar="N",
    type=click.IntRange(1, inputs.MOST),
    help="Put version N back (without it, the last living version before the present one).",
)
@operation_option
@json_option
@click.pass_obj
def restore(state: CliState, name: str, number: int | None, operation: str | None) -> None:
    """Put an earlier version of a memory back as the newest; bring a retired memory back."""
    with state.open() as memories:
        saved = memories.restore(name, version=number, operation=operation)
        came_back = _came_back(memories, saved, number)
    tell_saved(state, "restore", saved, "" if came_back is None else f"as version {came_back} was")


def _came_back(memories: Memstore, saved: Saved, number: int | None) -> int | None:
    """The version that was put back. None where nothing was: it stood there, or the command was a repetition."""
    from memstore.core.plan import last_living

    if saved.what != "restore":
        return None
    return number or last_living(memories.store.versions(saved.memory.id)[: saved.memory.version - 1])


def _preview(memories: Memstore, reference: str) -> tuple[Operation, list[Difference]]:
    """What an undo would change. Raises Conflict where it would be refused."""
    from memstore.core.changes import next_state
    from memstore.core.undo import Step, inverse
    from memstore.store import tombstones

    found = memories.operation(reference)
    with memories.store.view() as connection:
        tombstones.check_undo(connection, found.seq)
    steps: list[Step] = []
    for made in memories.store.made_by(found.seq)[0]:
        before = None if made.number == 1 else memories.store.version(made.memory, number=made.number - 1)
        now = memories.store.memory(made.memory)
        assert now is not None
        steps.append(Step(made, None if before is None else before.state, now))
    heads = {step.now.id: step.now.state for step in steps}
    changes = ((heads[change.memory], change) for change in inverse(steps))
    return found, [_step_difference(head, next_state(change, head)) for head, change in changes]


def _step_difference(now: State, then: State) -> Difference:
    lines = unified(
        now.content if now.live else b"",
        then.content if then.live else b"",
        f"{now.path} (now)" if now.live else "nothing (now)",
        f"{then.path} (after the undo)" if then.live else "nothing (after the undo)",
    )
    if not lines:
        lines = [f"  {line}" for line in _settings(now, then)]
    return Difference(now.path, None, None, lines)


def _settings(now: State, then: State) -> Iterator[str]:
    if now.path != then.path:
        yield f"{now.path} is named {then.path} again"
    if now.pinned != then.pinned:
        yield f"{now.path} is {'pinned' if then.pinned else 'unpinned'} again"
    if now.superseded_by != then.superseded_by:
        yield f"{now.path} is {'marked as superseded' if then.superseded_by else 'no longer superseded'}"


def _tell_preview(state: CliState, found: Operation, differences: list[Difference]) -> None:
    if state.json:
        from memstore.cli.shaping import operation_shape

        shape = {
            "dry_run": True,
            "operation": operation_shape(found),
            "by": None,
            "seq": None,
            "changed": [one.path for one in differences],
            "files": None,
            "diffs": [difference_shape(one) for one in differences],
        }
        state.emit("undo", shape)
        return
    for one in differences:
        state.say(terminal.diff_text(one.lines))
    memories = plural(len(differences), "memory", "memories")
    state.note(f"undoing #{found.seq} ({found.kind}) would change {memories}, and the index lines it wrote")

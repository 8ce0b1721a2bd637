"""`dream`: a model goes through all memories and tidies them; what it did, and what it asks."""

from __future__ import annotations

import click

from memstore.cli import dream_answer, dream_cron, dream_log, dream_run, dream_status, inputs
from memstore.cli.state import State, json_option


@click.group("dream", cls=inputs.Noun, invoke_without_command=True)
@click.option("--dry-run", is_flag=True, help="Show what it would do, and do nothing; the model is asked all the same.")
@click.option("--review", is_flag=True, help="Show each step before it is done, and ask.")
@click.option("--follow", is_flag=True, help="Begin none: show how far the one has come that is going on.")
@click.option("--scheduled", is_flag=True, help="For cron and timers: begin one if it may; only failures are told.")
@json_option
@click.pass_context
def dream(ctx: click.Context, dry_run: bool, review: bool, follow: bool, scheduled: bool) -> None:
    """Have a model go through all memories: merge what is said twice, update what was overtaken. Alone it begins one.

    It changes nothing that is pinned, the team's, in the log of the day, or no memory; every line of what it merges is
    in the result or listed with the reason; where it would take away more than dream.share allows it asks. What others
    change meanwhile stays theirs. All of it is one operation. Ctrl-C, or `memstore dream cancel`, ends it before the
    model's next answer, and then nothing was changed.
    """
    asked = [name for name, given in (("--dry-run", dry_run), ("--review", review), ("--follow", follow)) if given]
    if ctx.invoked_subcommand is not None:
        if asked or scheduled:
            raise click.UsageError(f"{(asked or ['--scheduled'])[0]} goes without {ctx.invoked_subcommand}")
        return
    if len(asked) + scheduled > 1:
        raise click.UsageError("give one of --dry-run, --review, --follow and --scheduled")
    state = ctx.ensure_object(State)
    if review and state.json:
        raise click.UsageError("--review asks step by step: leave --json out")
    if follow:
        dream_run.follow(state)
    else:
        dream_run.begin(state, by="schedule" if scheduled else "hand", dry=dry_run, review=review)


for command in (
    dream_status.status_command,
    dream_log.log_command, dream_log.show_command, dream_run.cancel_command, dream_answer.accept_command,
    dream_answer.reject_command, dream_cron.install_cron, dream_cron.uninstall_cron,
):  # fmt: skip
    dream.add_command(command)

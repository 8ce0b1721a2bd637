"""The JSON of commands that tell of runs, of dreams and of what is tidied; what the words mean stands in `shapes`."""

from __future__ import annotations

from memstore.cli.shaping import Shape

# A job of the extraction: what waits, is looked at, or is parked.
JOB: Shape = {
    "kind": "text",
    "session": "text",
    "turns": "number",  # how many turns ended that it is for
    "event": "text",  # what asked for it: Stop, PreCompact, SessionEnd, or more where a run left something
    "since": "time",
    "due_at": "time or null",
    "tries": "number",
    "note": "text or null",  # why it was not done the last time
}
RUN: Shape = {
    "id": "text",
    "kind": "text",  # extract, notes, dream, or preview for a dry run
    "session": "text",
    "state": "text",
    "outcome": "text or null",  # saved, nothing, skipped, more, failed
    "gate": "text or null",  # why it was skipped: off, saved, substance, every; of dreams news, share and others
    "reason": "text",
    "started_at": "time",
    "ended_at": "time or null",
    "turns": "number",  # answers of the model
    "messages": "number",  # that it was shown
    "unread": "number",  # lines or turns of the transcript that could not be read
    "saved": "savings or null",
    "model": "text or null",
    "via": "text or null",
    "input_tokens": "number",  # all that went in
    "output_tokens": "number",
    "cache_read": "number",
    "cache_written": "number",
    "cache_hit": "number",  # per cent of what went in
    "cost": "fraction or null",  # US dollars; null: not known, or nothing was asked
    "events": [{"kind": "text", "text": "text", "at": "time"}],  # tools: denied, refused, used; and remarks
}
STEP: Shape = {
    "n": "number",
    "part": "number",  # steps of one part are done together, or not at all
    "action": "text",  # create, revise, delete or merge
    "path": "text",
    "into": "text or null",  # the memory that it is merged into
    "state": "text",  # done, stale, refused, rejected or held: it waits for an answer
    "told": "text",  # why it is in that state, or empty
    "reason": "text",
    "origin": "text",
    "lines": [{"line": "text", "fate": "text", "now": "text", "reason": "text"}],  # reworded or dropped
    "diff": ["text"],
}
ANSWERED: Shape = {
    "run": "text", "steps": [STEP], "operation": "text or null", "seq": "number or null", "files": "files or null",
}  # fmt: skip

CRON: Shape = {
    "at": "text or null",  # HH:MM; null: at no time of day
    "changes": [{"kind": "text", "path": "text", "change": "text", "before": "text or null", "after": "text or null"}],
    "warnings": ["text"],
    "done": "flag",
}

RUNS: dict[str, Shape] = {
    "extract status": {
        "enabled": "flag or null",  # null: what is set cannot be used, and held says why
        "via": "text or null",
        "model": "text or null",
        "credential": "text or null",  # the variable that is sent from
        "held": "hold or null",  # what keeps all jobs waiting
        "working": "flag",  # a worker is at it
        "waiting": [JOB],
        "paused": ["text"],  # sessions of which jobs wait because saving is paused
        "running": [JOB],
        "parked": [JOB],
        "last": [RUN],  # of each session
        "spent": "fraction",  # US dollars, today
        "unknown_costs": "number",  # runs of today whose cost is not known
        "budget": "fraction or null",
    },
    "extract log": {"runs": [RUN]},
    "extract run": {
        "dry_run": "flag",
        "runs": [RUN],
        "diffs": ["diff"],  # with --dry-run: what would be saved
        "waiting": "number",  # sessions that were left
        "held": "hold or null",
        "elsewhere": "flag",  # another worker is at it
    },
    "extract retry": {"due": "number"},
    "dream": {
        "dry_run": "flag",
        "gate": "gate or null",  # the one that was shut, so that none was begun
        "dream": "dream or null",
        "steps": [STEP],
        "said": ["text"],  # locks that were taken over, or what lies in their place
        "unshown": ["text"],  # what is saved and could not be shown in a folder
    },
    "dream status": {
        "gates": [{"name": "text", "open": "flag", "figure": "text", "opens_at": "time or null"}],
        "last": "time or null",  # when the last one began that ended well, ours or the client's
        "newest": "text or null",  # the run of the newest one, however it ended
        "now": "dreamer or null",  # who dreams
        "progress": "progress or null",
        "waiting": [{"run": "text", "steps": "number"}],  # for a person's answer
        "odd": ["text"],  # what lies where the client has its lock, and is none
    },
    "dream cancel": {"pid": "number"},  # of the process that dreams
    "dream log": {"dreams": ["dream"]},
    "dream show": {"dream": "dream", "steps": [STEP]},  # also of `dream --follow`
    "dream accept": ANSWERED,
    "dream reject": ANSWERED,
    **dict.fromkeys(("dream install-cron", "dream uninstall-cron"), CRON),
    "tidy": {
        "dry_run": "flag",
        "proposals": [
            {
                "kind": "text",  # duplicate, near, differ, pointer, expired or index
                "paths": ["text"],  # of those that become one the first one stays
                "reason": "text",
                "safe": "flag",  # nothing can be lost by it: `memstore tidy` does it unasked
                "by_rule": "flag",  # `memstore tidy --all` would do it
                "done": "flag",
                "next": "text",  # what a person can do about it
            }
        ],
        "operation": "text or null",  # null: nothing was done
        "seq": "number or null",
        "files": "files or null",
    },
}

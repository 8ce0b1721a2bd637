"""The JSON that commands print: one object on one line, `{"memstore": 1, "command": NAME, ...}`.

`memstore` is the version of these shapes: within one version keys are only added, so a reader ignores those
it does not know. `SHAPES` gives the keys of each command, and of each subcommand where they differ. In it "text",
"number" and "flag" are what they say, "time" is a text such as 2026-03-01T12:00:00.000000Z (UTC), "token" the 12
hex characters that name a version; "... or null" may be null; a list holds any number of what it shows. The output
is ASCII: other characters, halves of characters too, stand as \\u escapes. The text of a memory is `content` with
`encoding` "utf-8", or "base64" for bytes that are not UTF-8. An error is `{"memstore": 1, "error": ERROR}`,
beside its exit code. `shaping` makes the objects.
"""

from __future__ import annotations

from memstore.cli.run_shapes import RUN, RUNS
from memstore.cli.shaping import Shape
from memstore.cli.upkeep_shapes import HOLDS, UPKEEP

CONTENT: Shape = {"content": "text", "encoding": "text"}
MEMORY: Shape = {
    "id": "text",
    "path": "text",
    "name": "text",
    "description": "text",
    "type": "text or null",
    "scope": "text",
    "layer": "text",
    "version": "number",
    "token": "token",
    "live": "flag",  # false: retired
    "pinned": "flag",
    "superseded_by": "text or null",  # the id of the memory that corrects this one
    "origin": "text",
    "listing": "text",  # listed, due or unlisted in the index
    "created_at": "time",
    "changed_at": "time",
    "seq": "number",  # of the operation that wrote it last
}
VERSION: Shape = {
    "memory": "text",
    "version": "number",
    "token": "token",
    "parent": "token or null",
    "change": "text",
    "path": "text",
    "name": "text",
    "description": "text",
    "type": "text or null",
    "live": "flag",
    "pinned": "flag",
    "origin": "text",
    "operation": "text",
    "seq": "number",
    "at": "time",
}
OPERATION: Shape = {
    "id": "text",
    "seq": "number",
    "kind": "text",
    "at": "time",
    "origin": "text",
    "author": "text",
    "session": "text or null",
    "worktree": "text or null",
    "branch": "text or null",
    "commit": "text or null",
    "reason": "text",
    "undoes": "text or null",
}
NOTED: Shape = {"path": "text", "what": "text", "rule": "number", "detail": "text"}
REFUSED: Shape = {"path": "text", "reason": "text"}
FILES: Shape = {
    "folder": "text or null",  # null: nothing is projected here, and notices say why
    "taken_over": "flag",  # the folder was met for the first time
    "absorbed": [NOTED],
    "projected": ["text"],
    "removed": ["text"],
    "pending": [{**REFUSED, "step": "text"}],  # saved, but their files could not be written
    "omitted": ["text"],  # memories that found no room in the index
    "omitted_lines": "number",  # other lines that found none in its file: `memstore show MEMORY.md` has them
    "waiting": ["text"],  # gone or unsettled files that a second look decides
    "notices": ["text"],
    "seq": "number or null",  # of the operation that took edits in
    "stopped": "flag",  # the store could not be used halfway, and notices say why
}
SAVED: Shape = {
    "what": "text",
    "memory": MEMORY,
    "operation": "text or null",  # null: it stood there already
    "seq": "number or null",
    "files": FILES,
    "secrets": [{"rule": "text", "line": "number"}],  # what looks like one in a text that was written
}
CONFLICT: Shape = {
    "id": "text",
    "memory": "text or null",  # null: a line of the index
    "path": "text",
    "kind": "text",
    "note": "text",
    "at": "time",
    "operation": "text",
    "base": "content or null",
    "theirs": CONTENT,
    "resolution": "text or null",
    "resolved_by": "text or null",
}
HIT: Shape = {
    "project": "text",
    "id": "text",
    "path": "text",
    "name": "text",
    "description": "text",
    "type": "text or null",
    "scope": "text",
    "layer": "text",
    "token": "token",
    "version": "number",
    "changed_at": "time",
    "origin": "text",
    "superseded_by": "text or null",
    "score": "fraction",
    "matched": "text",  # all words, or any of them
    "excerpt": "text",
    "marks": [["number"]],  # [start, end) of each hit in the excerpt, in characters
}
RECALLED: Shape = {
    "id": "text",
    "path": "text",
    "name": "text",
    "description": "text",
    "type": "text or null",
    "token": "token",
    "version": "number",
    "changed_at": "time",
    "origin": "text",
    "pinned": "flag",
    "superseded_by": "text or null",
    "score": "fraction",
    "picked": "flag",  # it is told
    "why": "text",
}
# Of the index (path MEMORY.md) there are no versions: before and after are null.
DIFF: Shape = {"path": "text", "before": "version or null", "after": "version or null", "lines": ["text"]}
SETTING: Shape = {"key": "text", "value": "scalar", "source": "text", "rule": "text", "trusted": "flag"}
CONFIGURED: Shape = {
    "key": "text",
    "kind": "text",  # bool, int, choice, text, path or money: US dollars
    "value": "scalar or null",  # null: what was set cannot be used, and problem says why
    "source": "text",  # environment, store, user or default
    "variable": "text",
    "default": "scalar",
    "allowed": "text",
    "meaning": "text",
    "problem": "text",
}
BLAMED: Shape = {
    "text": "text", "version": "number", "token": "token", "seq": "number", "operation": "text", "origin": "text",
    "at": "time",
}  # fmt: skip
INSTALLED: Shape = {
    "changes": [{"kind": "text", "path": "text", "change": "text"}], "warnings": ["text"], "done": "flag",
}  # fmt: skip
NOTES: Shape = {
    "session": "text",
    "title": "text",  # what the first section says, or empty
    "worktree": "text or null",  # where the session was when they began
    "branch": "text or null",
    "version": "number",
    "versions": "number",  # how many there are
    "tokens": "number",  # about
    "began_at": "time",
    "changed_at": "time",
}
LOG_DAY: Shape = {
    "day": "text",
    "path": "text",  # of the file that grows; newer clients have one for each session besides
    "entries": [
        {
            "who": "text",  # note, user, assistant, tool, or line for what is none of these
            "at": "time or null",  # null, as session and origin: others wrote it into the file
            "time": "text",  # as it stands there, such as 05:30 +09:00, or empty
            "text": "text",
            "session": "text or null",
            "origin": "text or null",
            "path": "text or null",  # null: it is in no file yet
        }
    ],
    "unread": [REFUSED],
}
CHECKED: Shape = {
    "path": "text",
    "token": "token",
    "written_at": "time",
    "days": "number",  # that its text is old
    "claims": "number",  # things that it names
    "missing": [
        {
            "kind": "text",  # path, line (of a file), name (of a function or class) or branch
            "what": "text",
            "line": "number or null",
            "files": ["text"],  # of a name: where it was looked for
            "commit": "text or null",  # the one that took the path away
            "told": "text",
        }
    ],
}
ERROR: Shape = {"kind": "text", "code": "number", "message": "text", "hint": "text"}

AGENT: Shape = {
    "name": "text",
    "scope": "text",  # project, local or user
    "directory": "text",
    "memories": "number",  # files there, whatever the store has
    "store": "text or null",
    "kept": "text",  # shared, read (git keeps the files), new (no store yet) or refused
    "why": "text",  # it was refused
}
SHAPES: dict[str, Shape] = {
    **dict.fromkeys(
        ("write", "append", "edit", "set", "rename", "delete", "pin", "unpin", "supersede", "restore"), SAVED
    ),
    "list": {"memories": [MEMORY], "notices": ["text"]},
    # Of the index (MEMORY.md) memory and version are null, and the content is all that the store has of it.
    "show": {"memory": "memory or null", "version": "version or null", **CONTENT, "notices": ["text"]},
    "search": {
        "words": ["text"],
        "hits": [HIT],
        "more": "flag",
        "unavailable": [{"project": "text", "reason": "text"}],
        "notices": ["text"],
    },
    # Those that are told; with --explain all that were looked at; with --ranked the short-list, and no text.
    "recall": {"ranked": "flag", "text": "text", "memories": [RECALLED], "notices": ["text"]},
    "status": {
        "root": "text",
        "store": "text",
        "schema": "number",
        "engine": "text",
        "enabled": "flag",
        "counts": "counts",
        "watch": "watcher or null",
        "paused": ["text"],  # where automatic saving rests
        # Sessions that wait for the extraction, their turns, and what keeps all of them waiting.
        "extraction": {"waiting": "number", "turns": "number", "parked": "number", "held": "hold or null"},
        "asked": [{"run": "text", "steps": "number"}],  # dreams that wait for a person's answer
        "picks_held": "hold or null",  # why no model picks memories for prompts although recall.selector is model
        "files": FILES,
    },
    "check": {"memories": [CHECKED], "notices": ["text"]},
    "agents": {"agents": [AGENT]},
    **RUNS,
    **UPKEEP,
    "pause": {"paused": ["text"]},
    "resume": {"paused": ["text"]},
    "config": {"settings": [CONFIGURED]},
    "note": {"noted": "noted or null", "days": [LOG_DAY]},  # null: with --list
    "notes list": {"notes": [NOTES]},
    "notes show": {**NOTES, **CONTENT},
    "log": {
        "operations": [
            {
                **OPERATION,
                "made": [{"path": "text", "change": "text", "version": "number", "token": "token"}],
                "index_lines": "number",  # of MEMORY.md: how many it added, changed or took out
            }
        ]
    },
    "diff": {"diffs": [DIFF]},
    "blame": {"path": "text", "lines": [BLAMED]},
    "undo": {
        "dry_run": "flag",
        "operation": OPERATION,  # the one that was taken back
        "by": "text or null",
        "seq": "number or null",
        "changed": ["text"],
        "diffs": [DIFF],  # with --dry-run: what would change
        "files": "files or null",
    },
    "sync": {"dry_run": "flag", "files": FILES},
    "watch": {"files": FILES},  # one such object at once, then one for each look that has news
    "conflicts": {"conflicts": [CONFLICT]},
    "resolve": {"conflict": "text", "resolution": "text", "saved": "saved or null"},
    "where": {
        "root": "text",
        "root_kind": "text",
        "root_rule": "text",
        "worktree": "text",
        "branch": "text or null",
        "commit": "text or null",
        "home": "text",
        "store": "text or null",
        "store_directory": "text or null",
        "moved_from": "text or null",
        "folder": "text",
        "folder_rule": "text",
        "folder_exists": "flag",
        "projected": "flag",
        "refusal": "text",
        "enabled": "flag",
        "enabled_rule": "text",
        "decisions": [{"what": "text", "value": "text", "rule": "text", "source": "text"}],
        "settings": [SETTING],
        "untrusted": [SETTING],
        "claim": "claim or null",
        "earlier": [{"directory": "text", "rule": "text", "files": "number"}],
        "stores": [{"root": "text", "store": "text"}],
        "warnings": ["text"],
    },
    "trust": {"root": "text", "waiting": [SETTING], "accepted": [SETTING], "withdrawn": [SETTING]},
    "link": {"root": "text", "store": "text", "created": "flag"},
    "install": INSTALLED,
    "uninstall": INSTALLED,
    "prompt": {"text": "text"},
}

NAMED: dict[str, object] = {
    "content": CONTENT,
    "memory": MEMORY,
    "version": VERSION,
    "files": FILES,
    "saved": SAVED,
    "holds": HOLDS,
    "claim": {"store": "text", "root": "text", "ours": "flag"},
    "proxy": {"variable": "text", "host": "text"},
    "credential": {"variable": "text", "kind": "text"},  # API key, token or OAuth token
    "hold": {"reason": "text", "step": "text"},
    "noted": {
        "id": "text",
        "at": "time",
        "day": "text",
        "time": "text",
        "text": "text",
        "session": "text or null",
        "path": "text",
        "unshown": "text",  # why it is not in the file yet, or empty
        "repeated": "flag",
    },
    "savings": {
        "operation": "text",
        "seq": "number",  # `memstore undo` takes it
        "undone_by": "number or null",
        "made": [{"path": "text", "change": "text", "version": "number", "token": "token"}],
    },
    "watcher": {"pid": "number", "since": "time", "folder": "text or null"},
    "dream": {**RUN, "counts": "counts"},  # merged, updated, retired, created; stale, refused, rejected, held
    "gate": {"name": "text", "figure": "text"},
    "dreamer": {"pid": "number", "since": "time"},
    "progress": {"phase": "text", "turns": "number", "calls": "number", "files": "number", "note": "text"},
    "diff": DIFF,
}
"""What the words of `SHAPES` stand for that name a whole object."""

"""The JSON of the commands that keep house, told as in `shapes`."""

from __future__ import annotations

from memstore.cli.shaping import Shape

HOLDS: Shape = {
    "store": "text",
    "schema": "number",
    "memories": "number",
    "versions": "number",
    "seq": "number",  # of the newest operation
    "at": "time",
}
"""What a database or a backup holds."""

UPKEEP: dict[str, Shape] = {
    "config path": {"path": "text", "exists": "flag"},
    "purge": {
        "dry_run": "flag",
        "what": "text",  # memory, secret, before, copies or finish
        "memories": ["text"],  # those that go; for a secret the living ones that are changed
        "lines": "number",  # of the index that are changed
        "taken": "counts",  # by kind, out of the history
        "holding": ["text"],  # files that hold it: before, or with dry_run false still
        "unread": ["text"],  # files that could not be looked into
        "columns": ["text"],  # of the database that still hold it
        "copies": ["text"],  # of the database, from before, which may hold it
        "removed": ["text"],
        "notices": ["text"],
        "trouble": "text or null",  # why the files of the database could not be cleaned
        "seq": "number or null",
        "finished": "flag",  # it is in no file any more, as far as could be seen
        "files": "files or null",
    },
    "doctor": {
        "dry_run": "flag",
        "worst": "text or null",  # the highest severity: note, warning, error
        "looked": "number",
        "facts": [{"name": "text", "value": "text"}],  # versions and places
        "findings": [
            {"check": "text", "severity": "text", "what": "text", "why": "text", "mend": "text", "fix": "flag"}
        ],
        "mended": [{"check": "text", "what": "text", "told": "text", "failed": "text"}],  # what --fix did
        "skipped": [{"check": "text", "why": "text"}],
    },
    # Where a model does not answer, an error stands in its place.
    "doctor --model": {
        "host": "text or null",  # null: the API is not asked, as the client's own fork thinks
        "mended": "text",  # what was left out of the address, or empty
        "credential": "credential or null",
        "proxy": "proxy or null",
        "client": {  # for its own fork
            "usable": "flag",
            "program": "text or null",
            "version": "text or null",
            "login": "text or null",  # how it is logged in, as it says; it was asked nothing
            "problem": "text or null",
        },
        "models": [
            {
                "model": "text",
                "settings": ["text"],
                "answered": "text",  # as what it named itself
                "seconds": "fraction",
                "input_tokens": "number",
                "output_tokens": "number",
                "cost": "fraction or null",  # US dollars; null: the price is not known
            }
        ],
    },
    "lint": {
        "checked": "number",  # memories that were looked through
        "warnings": [{"path": "text", "line": "number", "rule": "text", "what": "text", "suggestion": "text"}],
        "rules": [{"rule": "text", "why": "text"}],  # those that the warnings name; with --rules all
        "skipped": [{"path": "text", "reason": "text"}],
        "notices": ["text"],
    },
    "stats": {
        "since": "time or null",  # from when on changes, sessions and recalls count
        "memories": "number",
        "retired": "number",
        "pinned": "number",
        "types": [{"type": "text or null", "memories": "number", "bytes": "number"}],
        "scopes": "counts",
        "growth": [{"day": "text", "came": "number", "went": "number", "memories": "number"}],
        "worktrees": [{"worktree": "text", "operations": "number", "versions": "number", "last": "time"}],
        "kinds": "counts",
        "origins": "counts",
        "sessions": "number",
        "told": "number",  # memories that recall told them
        "recalled": [{"path": "text", "sessions": "number"}],
        "sizes": "counts",  # in bytes: database, log, backups, folder
        "plot": "text or null",
        "lacking": "text",  # characters of the chart that no font here has
    },
    "db snapshot": {"dry_run": "flag", "path": "text", "bytes": "number"},  # rows are printed by sqlite-utils
    "completion": {"shell": "text", "script": "text"},
    "backup": {
        "dry_run": "flag",
        "file": "text",
        "bytes": "number",
        "holds": "holds",
        "removed": ["text"],
        "left": [{"path": "text", "reason": "text"}],  # in the default place, but not seen to be backups of this store
        "notices": ["text"],
    },
    "backup --list": {
        "directory": "text or null",
        "backups": [{"file": "text", "at": "time", "bytes": "number", "before_restore": "flag"}],
    },
    "rebuild": {
        "dry_run": "flag",
        "damage": "text",
        "aside": ["text"],
        "memories": "number",  # taken over from the memory folder
        "texts": "number",  # read out of the damaged file
        "salvaged": [{"path": "text", "file": "text", "living": "flag"}],  # not in the folder
        "directory": "text or null",  # where these were written
        "notices": ["text"],
        "seq": "number or null",
    },
    "restore-backup": {
        "dry_run": "flag",
        "file": "text",
        "holds": "holds",
        "now": "holds or null",  # null: the database cannot be used, and `damage` says why
        "damage": "text",
        "forgotten": "number",  # purges since the backup: what they took comes back
        "before": "text or null",  # the backup of what was there until now
        "aside": ["text"],  # new names of a database that could not be used
        "back": ["text"],
        "files": "files or null",
        "seq": "number or null",
    },
    "import": {
        "dry_run": "flag",
        "source": "text",
        "format": "text",  # as for --format; packed notes are "zip, basic-memory" or "tar, basic-memory"
        "noted": [{"path": "text", "what": "text", "rule": "number", "detail": "text"}],
        "unchanged": ["text"],
        "duplicates": [{"path": "text", "memory": "text"}],
        "older": ["text"],
        "skipped": [{"path": "text", "reason": "text"}],
        "lines": "number",
        "seq": "number or null",
    },
    "export": {
        "dry_run": "flag",
        "target": "text",
        "format": "text",  # dir, zip or json
        "written": ["text"],  # files; of JSON the memories in it
        "unchanged": ["text"],
        "kept": [{"path": "text", "reason": "text"}],
        "failed": [{"path": "text", "reason": "text"}],
        "withheld": [{"path": "text", "rule": "text", "line": "number"}],  # each holds a secret
    },
}
"""The keys of each of these commands."""

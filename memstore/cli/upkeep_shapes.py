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
    "lint": {
        "checked": "number",  # memories that were looked through
        "warnings": [{"path": "text", "line": "number", "rule": "text", "what": "text", "suggestion": "text"}],
        "rules": [{"rule": "text", "why": "text"}],  # those that the warnings name; with --rules all
        "skipped": [{"path": "text", "reason": "text"}],
        "notices": ["text"],
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

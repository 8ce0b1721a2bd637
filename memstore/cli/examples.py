"""A line or two of each command as somebody would type it, at the end of its help."""

from __future__ import annotations

import click

EXAMPLES: dict[str, tuple[str, ...]] = {
    "write": (
        'memstore write staging-port "Staging listens on 7443." -d "which port staging listens on" --type reference',
        'memstore write staging-port "Staging listens on 9443." --expect 590a9e22b08d',
    ),
    "append": ('memstore append staging-port "The old port 7080 is closed."',),
    "edit": ("memstore edit staging-port",),
    "set": ('memstore set staging-port description "the ports of staging"',),
    "rename": ("memstore rename staging-port staging-ports",),
    "delete": ("memstore delete staging-port",),
    "pin": ("memstore pin staging-port",),
    "unpin": ("memstore unpin staging-port",),
    "supersede": ("memstore supersede old-port --by staging-port",),
    "tidy": ("memstore tidy --dry-run", "memstore tidy --pick"),
    "search": ("memstore search 锁文件", "memstore search staging port --type reference"),
    "recall": ('memstore recall "which port does staging listen on?"',),
    "list": ("memstore list", "memstore list --type feedback"),
    "show": ("memstore show staging-port", "memstore show MEMORY.md"),
    "status": ("memstore status",),
    "check": ("memstore check",),
    "agents": ("memstore agents",),
    "log": ("memstore log", "memstore log staging-port"),
    "diff": ("memstore diff staging-port", "memstore diff --operation 12"),
    "blame": ("memstore blame staging-port",),
    "undo": ("memstore undo 12",),
    "restore": ("memstore restore staging-port", "memstore restore staging-port --version 2"),
    "sync": ("memstore sync", "memstore sync --dry-run"),
    "watch": ("memstore watch",),
    "conflicts": ("memstore conflicts", "memstore conflicts 01a229e6"),
    "resolve": ("memstore resolve 01a229e6 --theirs",),
    "import": (
        "memstore import ~/notes.zip --dry-run",
        "memstore import facts.csv --column body=remark --column name=topic",
        "memstore import other.db --table facts",
    ),
    "export": (
        "memstore export ~/memories            # files in a directory",
        "memstore export before.zip --as-of 120",
        "memstore export all.json --scope all  # with all versions",
    ),
    "extract": ("memstore extract",),
    "extract status": ("memstore extract status",),
    "extract log": ("memstore extract log",),
    "extract run": ("memstore extract run --dry-run",),
    "extract retry": ("memstore extract retry",),
    "notes": ("memstore notes",),
    "notes list": ("memstore notes list",),
    "notes show": ("memstore notes show 4d7f9a02", "memstore notes show 4d7f9a02 --version 3"),
    "note": ('memstore note "The cache moved to h2."', "memstore note --list --days 7"),
    "dream": ("memstore dream --dry-run", "memstore dream --review"),
    "dream status": ("memstore dream status",),
    "dream log": ("memstore dream log",),
    "dream show": ("memstore dream show 01a2b3c4",),
    "dream accept": ("memstore dream accept 01a2b3c4",),
    "dream reject": ("memstore dream reject 01a2b3c4",),
    "dream cancel": ("memstore dream cancel",),
    "dream install-cron": ("memstore dream install-cron --at 03:07",),
    "dream uninstall-cron": ("memstore dream uninstall-cron",),
    "pause": ("memstore pause",),
    "resume": ("memstore resume",),
    "config": ("memstore config",),
    "config list": ("memstore config list",),
    "config get": ("memstore config get extract.every",),
    "config set": ("memstore config set extract.every 3", "memstore config set --user budget.day 0.50"),
    "config unset": ("memstore config unset extract.every",),
    "config path": ("memstore config path",),
    "hook": ("memstore hook SessionStart < input.json",),
    "mcp": ("memstore mcp",),
    "install": ("memstore install claude --dry-run", "memstore install --print codex"),
    "uninstall": ("memstore uninstall claude",),
    "prompt": ("memstore prompt > section.md",),
    "where": ("memstore where",),
    "trust": ("memstore trust", "memstore trust autoMemoryDirectory"),
    "link": ("memstore link ~/where-the-repository-was",),
    "demo": ("memstore demo",),
    "db": ("memstore db tables --counts -t", "memstore db query \"SELECT name, type FROM memories\" -t"),
    "db tables": ("memstore db tables --counts -t",),
    "db views": ("memstore db views",),
    "db schema": ("memstore db schema",),
    "db rows": ("memstore db rows memories --where \"type = 'feedback'\" --csv",),
    "db query": (
        'memstore db query "SELECT path, version, at, author FROM history ORDER BY at DESC LIMIT 20" -t',
        'memstore db query "SELECT * FROM memories JOIN p.people USING (name)" --attach p scratch.db',
    ),
    "db search": ("memstore db search memories 数据库 -t",),
    "db insert": ("memstore db insert people people.csv --csv --into scratch.db",),
    "db snapshot": ("memstore db snapshot copy.db",),
    "db shell": ("memstore db shell",),
    "stats": ("memstore stats --since 4w", "memstore stats --plot stats.png"),
    "doctor": ("memstore doctor", "memstore doctor --fix --dry-run"),
    "lint": (
        "memstore lint",
        "memstore lint staging-port --rule date --rule link",
        "memstore lint .claude/agent-memory --format github  # files, without a store",
    ),
    "completion": ("memstore completion bash",),
    "backup": ("memstore backup", "memstore backup --keep 7  # for cron"),
    "restore-backup": ("memstore restore-backup latest --dry-run", "memstore restore-backup 2"),
    "rebuild": ("memstore rebuild --dry-run",),
    "purge": (
        "memstore purge deploy-key --dry-run",
        "memstore purge --secret-file -  # asks for the text, or takes it from a pipe",
        "memstore purge --before 180d",
    ),
}  # fmt: skip
"""By the words that call a command. Each must parse; a test sees to that."""


def shown(name: str) -> str | None:
    """The examples of a command, as the end of its help."""
    lines = EXAMPLES.get(name)
    if not lines:
        return None
    return "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


def give(name: str, command: click.Command) -> None:
    """Puts its examples below the help of a command, and of the commands below it."""
    command.epilog = shown(name)
    if isinstance(command, click.Group):
        for below, child in command.commands.items():
            child.epilog = shown(f"{name} {below}")

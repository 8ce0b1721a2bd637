"""One writer of the demonstration, as a process of its own: writes when told to, and says what was acknowledged.

Not a command. Started as `python -m memstore.cli.demo_writer NAME ROUNDS`, in the directory it works from.
"""

from __future__ import annotations

import sys

from memstore.app import Memstore
from memstore.core.plan import Wanted
from memstore.errors import StaleVersion

SHARED = "release-checklist"
MERGED = "deploy-notes"


def line_of(writer: str, number: int) -> str:
    """The line that a writer adds in one round: no other line is like it."""
    return f"- {writer} checked step {number}"


def main(writer: str, rounds: int) -> None:
    """Appends to one shared memory, rewrites another against the version it read, and adds one of its own."""
    with Memstore.open() as memories:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(rounds):
            memories.append(SHARED, line_of(writer, number))
            print(f"ack {SHARED} {line_of(writer, number)}", flush=True)
            _rewrite(memories, line_of(writer, number))
            print(f"ack {MERGED} {line_of(writer, number)}", flush=True)
        memories.write(f"note-by-{writer}", Wanted(body=f"{writer} was here.", description=f"what {writer} found"))
        print(f"ack index note-by-{writer}.md", flush=True)


def _rewrite(memories: Memstore, line: str) -> None:
    """What an agent does: read a memory, write it back whole with one line more. A stale version is merged."""
    while True:
        head, version = memories.show(MERGED)
        body = version.state.content.decode().split("---\n", 2)[2].lstrip("\n")
        try:
            memories.write(MERGED, Wanted(body=body + line + "\n"), expect=head.token)
            return
        except StaleVersion:
            continue


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""A search in a pipe starts with what it needs and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Run

HEAVY = {
    "rich", "pathlib", "subprocess", "logging", "asyncio", "yaml", "merge3", "platformdirs", "filelock",
    "tempfile", "shutil", "sqlite3", "memstore.cli.shapes", "memstore.cli.shaping", "memstore.cli.where",
    "memstore.cli.writing",
}  # fmt: skip


def test_a_search_in_a_pipe_imports_nothing_heavy(run: Run, repo: Path):
    run("write", "note", "a word")
    code = (
        "import sys; sys.argv[1:] = ['-C', sys.argv[1], 'search', 'word']\n"
        "from memstore.cli.main import program\n"
        "try: program.main()\n"
        "finally: print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(repo)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("note.md")
    assert HEAVY & set(done.stderr.split()) == set()

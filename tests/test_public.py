"""What `import memstore` gives."""

from __future__ import annotations

import subprocess
import sys

import memstore


def test_the_public_names_are_few_and_all_there() -> None:
    assert memstore.__all__ == ["Conflict", "Filters", "Memstore", "MemstoreError", "Mendable", "Wanted", "__version__"]
    assert all(getattr(memstore, name) is not None for name in memstore.__all__)


def test_importing_the_package_loads_no_database_and_no_command_line() -> None:
    code = "import sys, memstore; print([name for name in ('apsw', 'click', 'yaml', 'json') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

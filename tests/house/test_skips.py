"""No test of CI skips for a reason that nobody gave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.skips import may_skip

ROOT = Path(__file__).parents[2]


def test_a_reason_holds_only_for_whom_it_is_meant():
    assert may_skip("root may write everywhere", root=True) and not may_skip("root may write everywhere", root=False)
    assert may_skip("only root can mount a small file system", root=False)
    assert not may_skip("only root can mount a small file system", root=True)
    assert not may_skip("counts what Linux watches", linux=True)
    assert may_skip("mount -t does not work here: permission denied") and not may_skip("too slow")


@pytest.mark.parametrize(("strict", "code"), [("told", 1), ("", 0)])
def test_a_run_in_which_a_test_skips_untold_fails_where_that_is_asked_for(tmp_path: Path, strict: str, code: int):
    (tmp_path / "test_one.py").write_text("import pytest\n\ndef test_it():\n    pytest.skip('too slow')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.skips", "-c", os.devnull, "--rootdir", str(tmp_path)]
    environment = {**os.environ, "MEMSTORE_SKIPS": strict, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert ("may not skip: test_one.py::test_it: too slow" in ran.stdout) == bool(strict)

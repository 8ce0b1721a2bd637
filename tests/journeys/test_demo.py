"""The demonstration keeps every acknowledged write, and says so."""

from __future__ import annotations

import re

from click.testing import CliRunner

from memstore.cli.demo import demo


def test_the_demonstration_loses_no_acknowledged_write_and_shows_the_main_job() -> None:
    result = CliRunner().invoke(demo, ["--writers", "4", "--rounds", "5"])
    assert result.exit_code == 0, result.output
    assert "bytes changed in them: 0" in result.output
    assert re.search(r"acknowledged 44, kept 44, lost 0, failed 0", result.output)
    assert "feedback-package-manager.md" in result.output
    assert "project-auth.md is back: yes" in result.output

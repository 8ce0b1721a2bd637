"""The README names every command, and every command says what it does."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from memstore.cli.main import SECTIONS, program

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("name", [name for names in SECTIONS.values() for name in names])
def test_every_command_has_help_and_stands_in_the_readme(name: str):
    command = program.get_command(click.Context(program), name)
    assert command is not None
    assert command.help
    assert re.search(rf"memstore {name}\b", README.read_text(encoding="utf-8"))


def test_the_help_names_every_command_under_its_section():
    context = click.Context(program, info_name="memstore")
    shown = program.get_help(context)
    for section, names in SECTIONS.items():
        part = shown.split(f"{section}:\n", 1)[1].split("\n\n", 1)[0]
        assert all(re.search(rf"^  {name} ", part, re.MULTILINE) for name in names)

"""The examples in the help of each command are there, and are right."""

from __future__ import annotations

import shlex

import click
import pytest

from memstore.cli.examples import EXAMPLES
from memstore.cli.main import SECTIONS, program
from tests.cli.conftest import Run


def _commands() -> list[str]:
    found = []
    for name in (name for names in SECTIONS.values() for name in names):
        command = program.get_command(click.Context(program), name)
        assert command is not None
        found.append(name)
        if isinstance(command, click.Group):
            found += [f"{name} {below}" for below in command.commands]
    return found


def test_each_command_has_an_example_and_no_example_is_of_none():
    assert sorted(EXAMPLES) == sorted(_commands())


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in EXAMPLES.items() for line in lines])
def test_each_example_is_of_its_command_and_can_be_called(name: str, line: str):
    said, _, _ = line.partition("  #")
    words = [word for word in shlex.split(said) if word not in ("<", ">", "input.json", "section.md")]
    assert words[: 1 + len(name.split())] == ["memstore", *name.split()]
    command: click.Command = program
    context = program.make_context("memstore", words[1:])
    rest = words[1:]
    while isinstance(command, click.Group) and rest:
        child = command.get_command(context, rest[0])
        assert child is not None
        command, rest = child, rest[1:]
        context = command.make_context(name, list(rest), parent=context)
        rest = [*context._protected_args, *context.args] if isinstance(command, click.Group) else []


def test_the_help_ends_in_them(run: Run):
    shown = run("config", "set", "--help").out
    assert shown.endswith(
        "Examples:\n    memstore config set extract.every 3\n    memstore config set --user budget.day 0.50\n"
    ), shown

"""`completion`: the script by which a shell completes commands, options and names of memories; and what it then asks.

A shell asks by starting the program with `_MEMSTORE_COMPLETE` set. Whatever goes wrong then, nothing is said and
nothing is made: somebody is typing. Names are those of the files in the memory folder, so that no database is opened
for them.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import suppress
from types import FrameType

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class
from click.types import StringParamType

from memstore.cli.state import State, json_option

VARIABLE = "_MEMSTORE_COMPLETE"
SHELLS = ("bash", "zsh", "fish")

_PATIENCE = 2
"""Seconds after which nobody waits for a name any more."""
_MOST = 2_000
_PLAIN = re.compile(r"[\w./+-]+")
"""Names that a shell takes as they are: others are not offered, since a shell would read more than a name in them."""

_OF_MEMORIES = frozenset({"name", "names", "old"})
_OF_FILES = frozenset({"directory", "source", "target", "file", "path"})
_OF_SETTINGS = frozenset({"key"})


class MemoryName(StringParamType):
    """Completes the names of memories, and files where none fits."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Names that begin so."""
        if not incomplete.startswith((".", "/", "~")):
            found = [CompletionItem(name) for name in _names(ctx) if name.startswith(incomplete)]
            if found:
                return found[:_MOST]
        return [CompletionItem(incomplete, type="file")] if ctx.info_name == "lint" else []


class SettingName(StringParamType):
    """Completes the names of settings."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Names that begin so, with what they mean."""
        from memstore.core.settings import KEYS

        return [CompletionItem(name, help=key.meaning) for name, key in KEYS.items() if name.startswith(incomplete)]


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@json_option
@click.pass_obj
def completion(state: State, shell: str) -> None:
    """Print the script that lets a shell complete commands, options, settings and names of memories.

    \b
    bash:  echo 'eval "$(memstore completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(memstore completion zsh)"' >> ~/.zshrc      (below compinit)
    fish:  memstore completion fish > ~/.config/fish/completions/memstore.fish

    A new shell then completes. Names are completed in a directory that has memories; nothing is made for it.
    """
    script = _script(shell)
    if state.json:
        state.emit("completion", {"shell": shell, "script": script})
    else:
        state.say(script.rstrip("\n"))


def complete(program: click.Group) -> None:
    """Answers a shell. Says nothing where it cannot be asked, or where that takes too long."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_PATIENCE)
    with suppress(Exception), open(os.devnull, "w", encoding="utf-8") as nowhere:
        sys.stderr = nowhere
        shell, _, what = os.environ.get(VARIABLE, "").partition("_")
        kind = get_completion_class(shell) if shell in SHELLS else None
        if kind is not None and what == "complete":
            answer = _answer(kind(program, {}, "memstore", VARIABLE), program)
            sys.stdout.buffer.write(answer.encode("utf-8", "surrogateescape") + b"\n")
            sys.stdout.buffer.flush()
    signal.alarm(0)


def _answer(asked: ShellComplete, program: click.Group) -> str:
    args, incomplete = asked.get_completion_args()
    if asked.name == "bash":  # it takes `--rule=date` for three words
        args = [word for at, word in enumerate(args) if word != "=" or not at or not args[at - 1].startswith("--")]
    context = click.Context(program)
    for word in args:
        command = program.get_command(context, word)
        if command is not None:
            _prepare(command)
    return "\n".join(map(asked.format_completion, asked.get_completions(args, incomplete)))


def _prepare(command: click.Command) -> None:
    """Says of the parameters of a command what they are, as far as their names tell."""
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        _prepare(each)
    for parameter in command.params:
        if parameter.type is not click.STRING or parameter.name is None:
            continue
        if parameter.name in _OF_MEMORIES or "--by" in parameter.opts:
            parameter.type = MemoryName()
        elif parameter.name in _OF_FILES:
            parameter.type = click.Path()
        elif parameter.name in _OF_SETTINGS:
            parameter.type = SettingName()


def _names(ctx: click.Context) -> list[str]:
    """Names of the files in the memory folder of the directory that the words before name; none where it has none."""
    from memstore.core.model import INDEX_NAME
    from memstore.core.names import RESERVED
    from memstore.files import scan, walk
    from memstore.place import find_place

    options = ctx.find_root().params
    directory = os.path.expanduser(options.get("directory") or "")  # a shell hands over what is typed
    folder = find_place(State(directory or None, agent=options.get("agent") or "").world()).folder
    if folder is None:
        return []
    handle = walk.open_directory(None, os.path.realpath(folder))
    try:
        files = scan.scan(handle, folder, RESERVED).files
    finally:
        os.close(handle)
    names = sorted(path.removesuffix(".md") for path in files if path != INDEX_NAME)
    return [name for name in names if _PLAIN.fullmatch(name) and not name.startswith("-")]


def _script(shell: str) -> str:
    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(click.Command("memstore"), {}, "memstore", VARIABLE)
    # Not its `source`: for bash that starts bash, and prints what it thinks of its version.
    return made.source_template % made.source_vars()


def _give_up(_: int, __: FrameType | None) -> None:
    os._exit(0)

"""What a person gives: texts from arguments, files and pipes; points in time; types and scopes."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from memstore.core.taxonomy import TYPES
from memstore.errors import InputRefused

LARGEST_BODY = 1024 * 1024
"""Bytes of the largest text that is taken: nobody means more by one memory."""

MOST = 2**31 - 1
"""The largest number that an option takes."""

F = TypeVar("F", bound=Callable[..., Any])

_LONG = re.compile(r"--\w\S*")
_AGO = re.compile(r"(\d{1,6})\s*([mhdw])")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class WordsCommand(click.Command):
    """A command whose words may begin with a dash: what is none of its options is text, such as `- a bullet`.

    click's own `ignore_unknown_options` does not do: it reads the letters of `- done` as options.
    """

    refuses_long = False
    """Whether a single word with two dashes must be an option: it is a slip more likely than a text."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the words behind `--`, where click leaves them alone."""
        options, words = self._parted(ctx, args)
        return super().parse_args(ctx, [*options, "--", *words] if words else args)

    def _parted(self, ctx: click.Context, args: list[str]) -> tuple[list[str], list[str]]:
        known = {
            name: not (option.is_flag or option.count)  # whether a value follows
            for option in self.get_params(ctx)
            if isinstance(option, click.Option)
            for name in (*option.opts, *option.secondary_opts)
        }
        options: list[str] = []
        words: list[str] = []
        rest = iter(args)
        for word in rest:
            if word == "--":
                words += rest
            elif not self._is_option(word, known):
                words.append(word)
            else:
                options.append(word)
                if known.get(word):
                    value = next(rest, None)
                    if value is None:
                        return args, []  # click says what is missing
                    options.append(value)
        return options, words

    def _is_option(self, word: str, known: dict[str, bool]) -> bool:
        if word.startswith("--"):
            return word.partition("=")[0] in known or (self.refuses_long and bool(_LONG.fullmatch(word)))
        letters = [f"-{letter}" for letter in word[1:]] if word.startswith("-") else []
        return bool(letters) and (known.get(letters[0], False) or all(letter in known for letter in letters))


class TextCommand(WordsCommand):
    """A command that takes one text: `--slip` alone is an option that it does not know."""

    refuses_long = True


class Noun(click.Group):
    """Commands about one thing, in the order in which they were added, each with its whole first sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which they were added."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, of which click itself would tell half a sentence."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(160)) for name, each in self.commands.items()])


def argument_text(text: str) -> str:
    """A text given as an argument. Raises InputRefused for bytes that are no UTF-8."""
    return decoded(os.fsencode(text) if _has_raw_bytes(text) else text.encode("utf-8", "surrogatepass"), "the text")


def decoded(content: bytes, what: str) -> str:
    """The content as text. Raises InputRefused for what is too large or not UTF-8, naming the place."""
    if len(content) > LARGEST_BODY:
        raise InputRefused(
            f"{what} is larger than 1 MiB",
            hint="keep one fact in a memory; large files belong in the repository",
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputRefused(
            f"{what} is not UTF-8: byte {error.start} is 0x{content[error.start]:02x}",
            hint="convert it to UTF-8 (iconv does) and try again",
        ) from None


def standard_input() -> str:
    """All of standard input. Raises InputRefused for what is too large or not UTF-8."""
    if sys.stdin is None:  # closed by whoever started the program
        return ""
    try:
        return decoded(sys.stdin.buffer.read(LARGEST_BODY + 1), "standard input")
    except OSError as error:
        raise InputRefused(f"standard input cannot be read: {error.strerror or error}") from None


def has_piped_input() -> bool:
    """Whether standard input is something else than a terminal."""
    return sys.stdin is None or not sys.stdin.isatty()


def file_text(path: str, shown: str) -> str:
    """The text of a file; `shown` is how the person named it. Raises InputRefused with the reason."""
    return decoded(file_content(path, shown), shown)


def file_content(path: str, shown: str) -> bytes:
    """The bytes of a file, at most one more than are taken. Raises InputRefused with the reason."""
    try:
        with open(path, "rb") as file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError(21, "Is a directory")
            return file.read(LARGEST_BODY + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputRefused(f"{shown} cannot be read: {reason}", hint="give the path of a text file") from None


def _since(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    return None if value is None else moment(value)


def moment(text: str, now: int | None = None) -> int:
    """Unix microseconds for `2026-03-01`, an ISO date and time, or so long ago: `90m`, `12h`, `3d`, `2w`.

    A date or time without an offset is the person's own. Raises InputRefused.
    """
    wanted = text.strip()
    current = time.time_ns() // 1_000 if now is None else now
    ago = _AGO.fullmatch(wanted)
    if ago:
        return max(0, current - int(ago[1]) * _SECONDS[ago[2]] * 1_000_000)
    from datetime import datetime

    try:
        return max(0, int(datetime.fromisoformat(wanted).timestamp() * 1_000_000))
    except (ValueError, OverflowError, OSError):
        raise InputRefused(
            f"{text[:40]!r} is no point in time",
            hint="write 2026-03-01, 2026-03-01T14:30, or 12h, 3d, 2w ago",
        ) from None


def since_option(command: F) -> F:
    """Gives a command --since, as unix microseconds or None."""
    option = click.option(
        "--since",
        metavar="WHEN",
        callback=_since,
        help="Only what changed at or after WHEN: 2026-03-01, 2026-03-01T14:30, or 12h, 3d, 2w ago.",
    )
    return option(command)


def type_filter(command: F) -> F:
    """Gives a reading command --type, which may be repeated."""
    option = click.option(
        "--type",
        "types",
        metavar="TYPE",
        multiple=True,
        help=f"Only memories of TYPE: {', '.join(TYPES)}, or one of your own. May be repeated.",
    )
    return option(command)


def scope_filter(command: F) -> F:
    """Gives a reading command --scope, which may be repeated."""
    option = click.option(
        "--scope",
        "scopes",
        metavar="SCOPE",
        multiple=True,
        callback=_scopes,
        help="Only memories of SCOPE: private, team or agent/NAME. May be repeated; without it, private.",
    )
    return option(command)


def limit_option(default: int | None, what: str, *, clamped: bool = False) -> Callable[[F], F]:
    """Gives a command --limit. `clamped`: what is out of range counts as the nearest that is in it."""
    shown = f"At most N {what}" + ("." if default is None else f" (without it, {default}).")
    numbers = click.IntRange(1, MOST, clamp=clamped)
    return click.option("--limit", "-n", metavar="N", type=numbers, default=default, help=shown)


def _scopes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if value not in ("private", "team") and not re.fullmatch(r"agent/[^/]+", value):
            raise click.BadParameter(f"{value!r} is none of private, team, agent/NAME")
    return values


def _has_raw_bytes(text: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in text)

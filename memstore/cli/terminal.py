"""What a person sees: text made safe to show, tables, marks, differences.

What stands in a memory may steer a terminal: control characters, escape sequences, characters that turn the
direction of reading or cannot be seen. They are shown as escapes. Tables are drawn on a terminal only; into a
pipe goes one line for each row, its cells parted by tabs, without headings.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Sequence

import click

# Controls, surrogates, private use; what turns, joins, fills or tags without being seen. The variation
# selectors 15 and 16 stay: they choose between the text and picture form of a sign.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\uf8ff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
_BREAK = re.compile("[\t\n]")
_JOINERS = "\u200c\u200d"


def printable(text: str, *, lines: bool = False) -> str:
    """The text with everything that cannot be seen as an escape; with `lines` tabs and line ends stay."""
    if not text.isascii() or not text.isprintable():
        text = _UNSEEN.sub(_escape, text)
        if not lines:
            text = _BREAK.sub(_escape, text)
    return text


def printable_text(content: bytes) -> str:
    """A text of several lines, fit to be shown: bytes that are not UTF-8 as U+FFFD, CRLF as a line end."""
    return printable(content.decode("utf-8", "replace").replace("\r\n", "\n"), lines=True)


def _escape(match: re.Match[str]) -> str:
    character, text, at = match[0], match.string, match.start()
    if character in _JOINERS and 0 < at < len(text) - 1 and _shapes(text[at - 1]) and _shapes(text[at + 1]):
        return character  # inside a word of Persian or Hindi, or a picture made of several
    code = ord(character)
    return {"\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(character) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


def _shapes(neighbour: str) -> bool:
    return not neighbour.isascii() and _UNSEEN.match(neighbour) is None


def drawn(stream_is_error: bool = False) -> bool:
    """Whether the stream is a terminal, for tables and progress."""
    stream = sys.stderr if stream_is_error else sys.stdout
    return stream is not None and stream.isatty()


def coloured() -> bool:
    """Whether standard output takes colours."""
    return drawn() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """Bold on a terminal, else as it is."""
    return click.style(text, bold=True) if coloured() else text


def marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with its hits marked: bold on a terminal that takes it, else as «hit»."""
    styled = coloured()
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        hit = printable(text[start:end])
        pieces += [
            printable(text[at:start]),
            click.style(hit, bold=True, fg="yellow") if styled else f"«{hit}»",
        ]
        at = end
    return "".join([*pieces, printable(text[at:])])


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, wide: str = "") -> str:
    """A table on a terminal; else a line for each row, parted by tabs. `wide`: the column that may be cut.

    Nothing else is: a token or a path is there to be copied. The terminal breaks a line that is too long.
    """
    if not drawn():
        return "\n".join("\t".join(printable(cell) for cell in row) for row in rows)
    from io import StringIO

    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[printable(cell) for cell in row] for row in rows]
    size = _columns()
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold" if coloured() else "")
    widths = [max(map(cell_len, column)) for column in zip(headings, *cells, strict=True)]
    rest = size - sum(width + 2 for heading, width in zip(headings, widths, strict=True) if heading != wide)
    for heading, width in zip(headings, widths, strict=True):
        most = min(width, max(16, rest - 2)) if heading == wide else width
        grid.add_column(heading, no_wrap=True, overflow="ellipsis", width=most)
    for row in cells:
        grid.add_row(*map(Text, row))
    target = StringIO()
    console = Console(
        file=target,
        force_terminal=coloured(),
        width=max(size, sum(widths) + 2 * len(widths)),
        highlight=False,
        markup=False,
        emoji=False,
        color_system="standard" if coloured() else None,
    )
    console.print(grid)
    return "\n".join(line.rstrip() for line in target.getvalue().rstrip("\n").split("\n"))


def _columns() -> int:
    from shutil import get_terminal_size

    return max(40, get_terminal_size().columns)


def diff_text(lines: Sequence[str]) -> str:
    """A unified diff, fit to be shown."""
    return "\n".join(_diff_line(printable(line.expandtabs(8))) for line in lines)


def _diff_line(line: str) -> str:
    if not coloured() or line[:3] in ("---", "+++") or line[:1] not in ("+", "-", "@"):
        return line
    return click.style(line, fg={"+": "green", "-": "red", "@": "cyan"}[line[0]])


def when(microseconds: int) -> str:
    """A time as the person's clock shows it."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(microseconds // 1_000_000))


def plural(number: int, noun: str, several: str = "") -> str:
    """`1 memory`, `2 memories`."""
    return f"{number} {noun if number == 1 else several or noun + 's'}"

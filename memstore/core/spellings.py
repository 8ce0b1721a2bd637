"""In which spellings a text may stand somewhere: as somebody typed it, and as a file's format writes it.

An index line escapes what Markdown would read and percent-encodes paths, a header doubles quotes, JSON escapes, the log
of the day indents further lines: to whoever reads the file it is the same text.
"""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from unicodedata import normalize

from memstore.core.daylog import indented
from memstore.core.index_pointer import CUT, LINE_LENGTH, escaped, link_path, visible
from memstore.core.names import file_name, stem
from memstore.errors import NameRefused

_LINE = 4_000
"""Characters beyond which a text is in no line of an index."""

_AROUND = tuple((before, after) for before in ("", "a", "<") for after in ("", "a", ".", "["))
"""What decides, beside a text, which of its characters are escaped there."""

_TOLD = 8
"""Characters of a secret that tell something of it; of a shorter one half of them."""


def spellings(text: str) -> tuple[bytes, ...]:
    """All of them, longest first."""
    found: dict[bytes, None] = {}
    for form in _line_ends({str(text), normalize("NFC", text), normalize("NFD", text)}):
        for each in (form, indented(form), *_in_a_line(form)):
            for spelled in (each, each.replace("'", "''")):
                found[_encoded(spelled)] = None
                for plain in (True, False):
                    inside = dumps(spelled, ensure_ascii=plain)[1:-1]
                    found |= dict.fromkeys(map(_encoded, (inside, inside.replace("/", "\\/"))))
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def _line_ends(forms: set[str]) -> set[str]:
    plain = {form.replace("\r\n", "\n") for form in forms}
    return forms | plain | {form.replace("\n", "\r\n") for form in plain}


def _in_a_line(text: str) -> Iterator[str]:
    """As it stands in a line of the index: in a title, in what is said after it, in a path."""
    bare = text.strip()
    if len(text) > _LINE:
        return
    at = text.index(bare)
    line = text[:at] + visible(bare) + text[at + len(bare) :]
    yield line
    for in_title in (True, False):
        for before, after in _AROUND:
            parts = escaped(before + line + after, in_title=in_title)
            yield "".join(parts[len(before) : len(parts) - len(after)])
    yield link_path(text)


def file_stem(text: str) -> str | None:
    """What a memory's file is called for this title, without `.md`; None where that is the title itself, or none."""
    try:
        made = stem(file_name(text.strip()))
    except NameRefused:
        return None
    return None if made == text or len(made) < _least(text) else made


class Cuts:
    """A text of which only the beginning stands somewhere, before the "…" with which lines are cut."""

    def __init__(self, forms: tuple[bytes, ...]) -> None:
        self._forms = [form[: 4 * LINE_LENGTH] for form in forms]
        self.begins = tuple({_beginning(form) for form in forms})
        """Bytes of which one stands wherever something is cut."""

    def out_of(self, content: bytes, mark: bytes) -> bytes:
        """The content without such beginnings."""
        if CUT.encode() not in content or not any(begin in content for begin in self.begins):
            return content
        pieces = content.split(CUT.encode())
        for number, piece in enumerate(pieces[:-1]):
            longest = max(map(len, filter(None, (self._at_end(piece, form) for form in self._forms))), default=0)
            if longest:
                pieces[number] = piece[:-longest] + mark
        return CUT.encode().join(pieces)

    def _at_end(self, piece: bytes, form: bytes) -> bytes:
        least = len(_beginning(form))
        ends = (form[:size] for size in range(min(len(form), len(piece)), least - 1, -1))
        return next((end for end in ends if piece.endswith(end)), b"")


def _beginning(form: bytes) -> bytes:
    text = form.decode("utf-8", "surrogatepass")
    return _encoded(text[: _least(text)])


def _least(text: str) -> int:
    return min(_TOLD, max(4, (len(text) + 1) // 2))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

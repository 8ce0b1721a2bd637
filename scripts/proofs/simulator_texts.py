"""What people and agents type: a text, and the text they make of it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from memstore.core.model import INDEX_NAME

TOPICS = ("auth.md", "build.md", "cache.md", "deploy.md", "errors.md")
NewMark = Callable[[str], str]
WORDS = (
    "the", "cache", "lives", "on", "host", "one", "and", "is", "emptied", "by", "hand", "when", "a", "build", "fails",
    "twice", "in", "the", "night",
)  # fmt: skip


def topic(name: str, about: str, *lines: str) -> bytes:
    """The file of a topic."""
    head = f"---\nname: {name.removesuffix('.md')}\ndescription: {about}\ntype: project\n---\n"
    return (head + "\n" + "".join(f"{line}\n" for line in lines)).encode()


def index(*names: str) -> bytes:
    """An index that points to them."""
    lines = [f"- [{name.removesuffix('.md').title()}]({name}) — about {name.removesuffix('.md')}" for name in names]
    return "\n".join(["# Memory", "", *lines, "", "Notes by hand.", ""]).encode()


def line(random: Random, mark: str) -> str:
    """A line with a mark."""
    at = random.randrange(len(WORDS) - 4)
    return f"{' '.join(WORDS[at : at + random.randint(2, 4)])} {mark}"


def changed(random: Random, path: str, content: bytes, new_mark: NewMark, *, gentle: bool = False) -> bytes:
    """A text with one line more, or another; without the line that it replaces. `gentle`: nothing is taken out."""
    lines = content.decode().split("\n")
    head = _head(lines)
    places = [at for at in range(head, len(lines)) if lines[at].strip()]
    how = random.choice(("append", "append", "insert", "insert", "replace", "field", "cut"))
    if path == INDEX_NAME:
        return _changed_index(random, lines, new_mark("t"), "append" if gentle else how)
    described = next((at for at in range(head) if lines[at].startswith("description:")), 0)
    if how == "field" and described and not gentle:
        lines[described] = f"description: {line(random, new_mark('f'))}"
        return "\n".join(lines).encode()
    new = line(random, new_mark("t"))
    if how == "cut" and len(places) > 2 and not gentle:
        del lines[random.choice(places)]
        lines[-1:] = [new, ""]
    elif how == "replace" and places and not gentle:
        lines[random.choice(places)] = new
    elif how == "insert" and places:
        lines.insert(random.choice(places), new)
    else:
        lines[-1:] = [new, ""] if not lines[-1] else [lines[-1], new, ""]
    return "\n".join(lines).encode()


def _changed_index(random: Random, lines: list[str], mark: str, how: str) -> bytes:
    pointers = [at for at, each in enumerate(lines) if each.startswith("- [") and " — " in each]
    plain = [at for at, each in enumerate(lines) if each.strip() and each[0] not in "-#"]
    new = line(random, mark)
    if how == "replace" and pointers:
        at = random.choice(pointers)
        lines[at] = f"{lines[at].partition(' — ')[0]} — {new}"
    elif how == "cut" and (pointers or plain):
        del lines[random.choice([*pointers, *plain])]
        lines[-1:] = [new, ""]
    elif how == "insert" and pointers:
        lines.insert(random.choice(pointers), new)
    else:
        lines[-1:] = [new, ""] if not lines[-1] else [lines[-1], new, ""]
    return "\n".join(lines).encode()


def _head(lines: list[str]) -> int:
    """How many lines the header takes."""
    if lines[0] != "---" or "---" not in lines[1:]:
        return 0
    return lines.index("---", 1) + 1

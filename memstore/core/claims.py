"""What a text says is there: files, functions in them, branches. Pure, and in time that grows with the text only.

Nothing is guessed: a claim that is missed is only not checked, one that nobody made would be a false alarm.

- A path has a slash, leads nowhere out of the root, and has no gap to be filled in (`*`, `<name>`, `{a,b}`, `YYYY`).
  Alone between backticks its last part has any ending, or a closing slash; elsewhere only one of known files.
- A line of a file stands behind the path: `src/auth.py:42`, `src/auth.py#L42`.
- A function or class is code between backticks (`login()`, `class Auth`) in a line that names files, or stands behind a
  path (`tests/test_auth.py::test_login`). A line with a `not` says nothing of what is there.
- A branch is a name between backticks beside the word.
- Blocks of code are examples. What builds and package managers make, or may lie at home, is nobody's claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from memstore.core.near import turns
from memstore.core.terms import is_spaceless

Kind = Literal["path", "line", "name", "branch"]

MOST = 64
"""Claims of one text that are looked at."""

LONGEST = 200_000
"""Characters of a text that are looked at; of a line `_LONG`."""

_LONG = 2_000
_FENCES = ("```", "~~~")
_ENDINGS = (
    "adoc astro bash bat bazel c cc cfg cjs clj conf cpp cs css csv cts cxx dart ejs el erl ex exs fish fs gd go gradle"
    " graphql groovy h hbs hcl hh hpp hrl hs htm html ini ipynb java jl js json jsonc jsonl jsx kt kts less lock lua m"
    " makefile md mdx mjs mk ml mm mts nim nix php pl po pm prisma properties proto ps1 py pyi pyx r rb rs rst sass"
    " scala scss sh sol sql svelte svg swift tcl tex tf tfvars toml ts tsv tsx txt vb vim vue wgsl xml yaml yml zig zsh"
)
_MADE = ".claude .git .tox .venv __pycache__ build coverage dist htmlcov node_modules out target vendor venv"
_ENDS, _MAKES = frozenset(_ENDINGS.split()), frozenset(_MADE.split())
_GAP = re.compile(r"\.\.\.|YYYY|(?<![A-Za-z_])(?:DD|MM|NN+|XX+|YY|xx+)(?![A-Za-z_])")
_PART = r"[\w+@.-]{1,100}"
_PATH = rf"(?P<path>(?:\./)?{_PART}(?:/{_PART}){{0,30}}/?)"
_PLACE = re.compile(
    rf"{_PATH}(?:::(?P<name>\w+(?:(?:::|\.)\w+)*)(?:\[[^\]]*\]|\(\))?|(?::|#L)(?P<line>\d{{1,7}})(?:[-:,L\d]*))?"
)
_NAMED = re.compile(
    r"(?:(?:async\s+)?(?:class|def|enum|fn|func|function|interface|struct|trait)\s+)(?P<kept>\w+)(?:\(.*|\s*:)?"
    r"|(?:\w+(?:\.|::|#|->))*(?P<called>\w+)\([^()]*\)"
)
_SPAN = re.compile(r"(?<!`)`([^`]{1,250})`(?!`)")
_WORD = re.compile(r"[A-Za-z0-9_.+@/~$%{}*:#-]{3,300}")
_BRANCH = re.compile(
    r"(?:\bbranch(?:es)?|\bzweig|分支|ブランチ)\s{0,3}[:：]?\s{0,3}`(?P<after>[^`]{1,200})`"
    r"|`(?P<before>[^`]{1,200})`\s{0,3}(?:branch\b|zweig\b|分支|ブランチ)",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"[\w][\w.+@#-]*(?:/[\w+@#-][\w.+@#-]*)*")


class Claim(NamedTuple):
    """Something that a text says is there.

    `what`: the path, the function's or the branch's name. `line`: of the path, else 0. `files`: where a function is to
    be; it is enough that one of them has it. A directory's path ends in no slash.
    """

    kind: Kind
    what: str
    line: int = 0
    files: tuple[str, ...] = ()


class Missing(NamedTuple):
    """A claim that is not so. `commit`: the one that took the path away, where that is known. `lines`: what the file
    has, where a line is beyond its end."""

    claim: Claim
    commit: str = ""
    lines: int = 0


def claims(text: str, most: int = MOST) -> list[Claim]:
    """What a text says is there, in its order, each once."""
    found: dict[Claim, None] = {}
    for claim in _found(text):
        found.setdefault(claim)
        if len(found) >= most:
            break
    return list(found)


def told(missing: Missing) -> str:
    """What is said of a claim that is not so: "names `src/auth.py`, which is gone since commit 1a2b3c4"."""
    claim, since = missing.claim, f"gone since commit {missing.commit}"
    if claim.kind == "path":
        return f"names `{claim.what}`, which is {since if missing.commit else 'not in this working tree'}"
    if claim.kind == "line":
        has = f"{missing.lines} line{'' if missing.lines == 1 else 's'}"
        return f"names line {claim.line} of `{claim.what}`, which has {has}"
    if claim.kind == "name":
        return f"names `{claim.what}`, which is not in {' or '.join(f'`{file}`' for file in claim.files)}"
    return f"names the branch `{claim.what}`, which this repository does not have"


def _found(text: str) -> Iterator[Claim]:
    if len(text) > LONGEST:
        text = text[:LONGEST].rpartition("\n")[0]  # no half of a path is a path
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
        elif not fenced and ("/" in line or "`" in line):
            yield from _in_line(line if len(line) <= _LONG else line[:_LONG].rpartition(" ")[0])


def _in_line(line: str) -> Iterator[Claim]:
    branches = list(dict.fromkeys(name for said in _BRANCH.finditer(line) if (name := said["after"] or said["before"])))
    yield from (Claim("branch", name) for name in branches if _is_reference(name))
    spans = [span for span in _SPAN.findall(line) if span not in branches]
    places = [place for place in _places(line, spans) if place]
    files = tuple(dict.fromkeys(path for path, _, _ in places))
    yield from (Claim("path", path) for path in files)
    yield from (Claim("line", path, number) for path, number, _ in places if number)
    yield from (Claim("name", name, files=(path,)) for path, _, name in places if name)
    if not files:
        return
    names = [said["kept"] or said["called"] for span in spans if (said := _NAMED.fullmatch(span.strip()))]
    if names and not turns(line):
        yield from (Claim("name", name, files=files) for name in dict.fromkeys(names))


def _places(line: str, spans: Iterable[str]) -> Iterator[tuple[str, int, str] | None]:
    """Paths, with the line or the name that stands behind each."""
    for span in spans:
        whole = _place(span.strip(), surely=True)
        if whole:
            yield whole
        else:
            yield from (_place(word, surely=False) for word in _words(span))
    yield from (_place(word, surely=False) for word in _words(_SPAN.sub(" ` ", line)))


def _words(text: str) -> Iterator[str]:
    """Words of ASCII that no letter stands beside, unless it is of a script without spaces."""
    for found in _WORD.finditer(text):
        beside = (*text[found.start() - 1 : found.start()], *text[found.end() : found.end() + 1])
        if not any(_clings(character) for character in beside):
            yield found[0].rstrip(".:#-*")


def _clings(character: str) -> bool:
    return character in "\\[<`=&?" or (character.isalnum() and not is_spaceless(character))


def _place(word: str, *, surely: bool) -> tuple[str, int, str] | None:
    found = _PLACE.fullmatch(word)
    if found is None:
        return None
    path = found["path"].removeprefix("./")
    if not _is_path(path, surely=surely):
        return None
    name = re.split(r"::|\.", found["name"])[-1] if found["name"] else ""
    return path.rstrip("/"), int(found["line"] or 0), name


def _is_path(path: str, *, surely: bool) -> bool:
    parts = path.rstrip("/").split("/")
    if "/" not in path or any(part.strip(".") == "" for part in parts) or not _MAKES.isdisjoint(parts):
        return False
    if parts[0].startswith("@") or "." in parts[0].lstrip(".") or _GAP.search(path):
        return False  # a package, a host, something left out
    stem, dot, ending = parts[-1].rpartition(".")
    if surely:
        return (path.endswith("/") and len(parts) > 1) or bool(dot and re.fullmatch(r"[A-Za-z]\w{0,15}", ending))
    return bool(stem) and ending.lower() in _ENDS and not path.endswith("/")


def _is_reference(name: str) -> bool:
    return bool(_REFERENCE.fullmatch(name)) and ".." not in name and not name.endswith((".", ".lock"))

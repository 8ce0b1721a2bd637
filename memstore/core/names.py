"""From a title to a safe file name, and what a path inside a memory folder may be.

A title becomes one path component that every common file system takes and that no shell, link or terminal
misreads; letters of all scripts and emoji stay readable. The mapping loses characters, so two titles can
meet in one file name: the caller compares collision keys and takes an `alternative` or refuses. What would
walk out of the folder, in whatever spelling, is refused, never repaired.
"""

from __future__ import annotations

import re
from unicodedata import category, normalize

from memstore.errors import NameRefused

EXTENSION = ".md"
RESERVED = frozenset({"agents", "logs", "sessions", "team"})
"""Directories at the top of a memory folder that the client keeps for other things: no memory's file lies there."""

_LONGEST = 200  # bytes of a name that is made here: file systems take 255, temporary names need some
_LONGEST_COMPONENT = 255
_LONGEST_PATH = 1024

# Nothing below is to be found in such a path; nearly all are like that.
_PLAIN = re.compile("(?:[a-z0-9_-]+/)*[a-z0-9_-]+\\.md")
_PLAIN_LENGTH = 100
_PERCENT = re.compile("%([0-9A-Fa-f]{2})")
_DRIVE = re.compile("[A-Za-z]:[/\\\\]")
_INVISIBLE = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_DEVICE = re.compile("(con|prn|aux|nul|conin\\$|conout\\$|com[0-9]|lpt[0-9])(\\.|$)", re.IGNORECASE)
_KEPT_ASCII = frozenset("_-.+")

_CONFLICTS = (
    re.compile(r"(?P<stem>.+)\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]+)?(?P<extension>\.[^.]+)?", re.DOTALL),
    re.compile(
        r"(?P<stem>.+?) ?\((?:[^()]*\W)?"
        r"(?:conflicted copy|case conflict|sfconflict)(?: [^()]*[0-9][^()]*)?\)(?P<extension>\.[^.]+)?",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(r"(?P<stem>.+)_(?:BACKUP|BASE|LOCAL|REMOTE)_\d+(?P<extension>\.md)", re.DOTALL),
)
_PLACEHOLDER = re.compile(r"\.(?P<name>.+)\.icloud", re.DOTALL)
_DEBRIS = re.compile(
    r".*~"  # x.md~
    r"|\..*\.sw[a-z]|4913"  # vim
    r"|\#.*\#|\.\#.*"  # Emacs
    r"|.*\.(?:tmp|temp)(?:\.[^.]+)*(?<!\.md)"  # x.md.tmp, x.md.tmp.812.ab12cd
    r"|.*\.(?:bak|orig|rej|old|save|part|partial|crdownload|download)"
    r"|\..+\.md\.[A-Za-z0-9]{6}"  # rsync
    r"|\._.*|~\$.*|\.~lock\..*|\.ds_store|desktop\.ini|thumbs\.db|icon\r?"
    r"|\.goutputstream-.*|\.fuse_hidden.*|\.nfs[0-9a-f]+|[.~]syncthing[.~].*",
    re.IGNORECASE | re.DOTALL,
)


def file_name(title: str) -> str:
    """The file name for a title: one component that ends in `.md`. `notes` and `notes.md` are one.

    Raises NameRefused for what walks, hides, is blank, or would be the index.
    """
    _refuse_walking(title)
    if title.startswith("."):
        raise NameRefused(title, "it would be a hidden file", hint="leave the leading dot out")
    composed = normalize("NFC", title)
    wanted = stem(composed)
    slug = re.sub("-{2,}", "-", "".join(map(_shown, _INVISIBLE.sub("", wanted)))).strip("-.")
    if not slug.strip("_+"):
        if not any(_speaks(character) for character in wanted):
            raise NameRefused(title, "it is blank")
        slug = f"memory-{_hash(composed)}"
    if normalize("NFKC", slug).casefold() == "memory":
        raise NameRefused(title, "MEMORY.md is the index of the folder, in upper or lower case")
    if _DEVICE.match(normalize("NFKC", slug)):
        slug = f"_{slug}"
    if len(slug.encode()) > _LONGEST - len(EXTENSION):
        slug = f"{_cut(slug, _LONGEST - len(EXTENSION) - 9)}-{_hash(composed)}"
    return _for_somebody(slug + EXTENSION, title)


def _for_somebody(name: str, given: str) -> str:
    """The name, unless no folder would show it: editors and sync programs call their own files so."""
    if is_debris(name):
        raise NameRefused(given, "editors and sync programs name their temporary files and copies like that")
    return name


def stem(path: str) -> str:
    """The last component of a path without its `.md`: what a memory is called that has no name."""
    name = path.rpartition("/")[2]
    return name[: -len(EXTENSION)] if name.lower().endswith(EXTENSION) else name


def alternative(name: str, n: int) -> str:
    """The n-th other file name for a title whose own is taken: `name-2.md` for 2."""
    tail = f"-{n}{EXTENSION}"
    return _cut(stem(name), _LONGEST_COMPONENT - len(tail)) + tail


def collision_key(path: str) -> str:
    """Equal for paths that some file system takes for one: without case, composed or not."""
    return normalize("NFC", normalize("NFD", path).casefold())


def check_path(path: str) -> str:
    """The path, if it may name a memory's file below a memory folder; it may be nested, and is not changed.

    Raises NameRefused otherwise.
    """
    components = path.split("/")
    reserved = len(components) > 1 and components[0] in RESERVED
    if len(path) <= _PLAIN_LENGTH and _PLAIN.fullmatch(path) and components[-1] != "memory.md" and not reserved:
        return path
    _refuse_walking(path, separator="/")
    if any(category(character) == "Cc" for character in path):
        raise NameRefused(path, "it holds a control character", hint="rename the file")
    if any(component.startswith(".") for component in components):
        raise NameRefused(path, "it is hidden, or in a hidden folder", hint="leave the leading dot out")
    if not path.lower().endswith(EXTENSION):
        raise NameRefused(path, "a memory's file ends in .md", hint=f"write {path[:80]}.md")
    *directories, name = collision_key(path).split("/")
    if name == "memory.md":
        raise NameRefused(path, "MEMORY.md is the index of the folder, in upper or lower case")
    if "memory.md" in directories:
        raise NameRefused(path, "MEMORY.md is the index, in upper or lower case, and cannot be a directory")
    if any(component.endswith(EXTENSION) for component in components[:-1]):  # a scan takes it for a file, and goes on
        raise NameRefused(path, "a directory's name does not end in .md")
    if len(path.encode()) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_COMPONENT for part in components):
        raise NameRefused(path, "it is too long for a file system", hint="shorten it")
    if reserved:
        raise NameRefused(path, f"the directory {components[0]} at the top of the folder is kept for other things")
    _for_somebody(components[-1], path)
    return path


def is_debris(name: str) -> bool:
    """Does this file belong to an editor, a sync program or the system, rather than being anybody's note?"""
    return bool(_DEBRIS.fullmatch(name)) or conflict_of(name) is not None or placeholder_of(name) is not None


def conflict_of(name: str) -> str | None:
    """`x.md` for a copy of it that a sync or merge program made because both sides had changed."""
    for pattern in _CONFLICTS:
        if found := pattern.fullmatch(name):
            return found["stem"] + (found["extension"] or "")
    return None


def placeholder_of(name: str) -> str | None:
    """`x.md` for the placeholder of a file whose content lies in a cloud only."""
    found = _PLACEHOLDER.fullmatch(name)
    return found["name"] if found else None


def _refuse_walking(name: str, separator: str = "") -> None:
    """Raises NameRefused where the name, also percent-decoded or in compatibility form, leads elsewhere.

    `separator`: what may stand between components, if anything.
    """
    if any("\ud800" <= character <= "\udfff" for character in name):
        raise NameRefused(name, "it is not valid text (a lone half of a character)", hint="rename it in UTF-8")
    if not name.strip():
        raise NameRefused(name, "it is blank")
    compatible = normalize("NFKC", name)
    decoded = _decoded(_decoded(compatible))
    for view in (name, compatible, decoded, normalize("NFKC", decoded)):
        if "\0" in view:
            raise NameRefused(name, "it holds a NUL character")
        if view.startswith(("/", "~/")) or view == "~" or _DRIVE.match(view):
            raise NameRefused(name, "it names a place outside of the memory folder", hint="give a name, not a path")
        if "\\" in view or view.count("/") != (name.count("/") if separator else 0):
            raise NameRefused(name, "it holds a path separator", hint="give a name without / and \\")
        for component in view.split("/"):
            if component.strip(" ") in ("", ".", "..") or not component.strip(". "):
                raise NameRefused(name, "it leads out of the memory folder", hint="give a name, not a path")


def _decoded(text: str) -> str:
    return _PERCENT.sub(lambda match: chr(int(match[1], 16)), text) if "%" in text else text


def _shown(character: str) -> str:
    """The character as it stands in a file name: itself, a dash, or nothing."""
    if character.isascii():
        return character if character.isalnum() or character in _KEPT_ASCII else "-"
    kind = category(character)
    if kind == "Cf":
        return ""
    return character if kind[0] in "LMN" or kind in ("So", "Sk", "Cn", "Co") else "-"


def _speaks(character: str) -> bool:
    return category(character)[0] not in "ZC"


def _hash(text: str) -> str:
    from hashlib import blake2b

    return blake2b(text.encode(), digest_size=4).hexdigest()


def _cut(text: str, size: int) -> str:
    """At most `size` bytes of it, whole characters only."""
    return text.encode()[:size].decode(errors="ignore").rstrip("-.")

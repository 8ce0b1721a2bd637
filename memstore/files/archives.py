"""A memory directory that was packed, as zip or tar: checked as a whole, and read in memory. Nothing is unpacked.

What no honest program makes is refused with the entry's name: names that lead elsewhere, links, devices, two entries of
one name, what is encrypted, and bombs. What is merely no memory is left alone and named, as in a directory.
"""

from __future__ import annotations

import io
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING

from memstore.core import incoming
from memstore.core.model import LARGEST
from memstore.errors import ImportRefused
from memstore.files.report import Progress

if TYPE_CHECKING:
    from tarfile import TarFile, TarInfo
    from zipfile import ZipFile, ZipInfo

MOST_ENTRIES = 50_000
MOST_BYTES = 256 * 1024 * 1024
"""Of all memories of a zip, or of everything that is in a tar."""

_BOMB_BYTES = 64 * 1024 * 1024
_BOMB_RATIO = 100
_BOMB = "it is small and would unpack to something huge"
_LOCAL_HEADER = 30
_LISTED = b"PK\x01\x02"
"""How each entry begins in the list at the end of a zip."""
_UNICODE_NAME = 0x7075
_BLOCK = 512
_AGAIN = "have it packed again, or unpack it yourself and import the directory"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Unpacked:
    """`files`: path to bytes of what may be a memory; `skipped`: (path, reason) of the rest."""

    files: dict[str, bytes]
    skipped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    size: int
    directory: bool
    strange: str
    read: Callable[[], bytes]


def unpack(told: str, kind: str, content: bytes, progress: Progress | None) -> Unpacked:
    """The memories in an archive of the kind zip or tar, called `told`. Raises ImportRefused; then none are."""
    try:
        entries = list(_bounded(told, _zip(told, content) if kind == "zip" else _tar(told, content)))
        return _taken(told, len(content), _checked(told, entries), progress)
    except ImportRefused:
        raise
    except (MemoryError, RecursionError) as error:
        raise _refused(told, "reading it takes more than an archive of memories may", _AGAIN) from error
    except Exception as error:  # what the libraries raise for damage is of a dozen kinds, some of them undocumented
        raise _refused(told, f"it is damaged or cut off ({str(error) or type(error).__name__})", _AGAIN) from error


def _bounded(told: str, entries: Iterator[_Entry]) -> Iterator[_Entry]:
    for number, entry in enumerate(entries):
        if number == MOST_ENTRIES:
            raise _refused(told, f"it has more than {MOST_ENTRIES:,} entries", "import it in parts")
        yield entry


def _checked(told: str, entries: list[_Entry]) -> list[tuple[_Entry, str]]:
    """The files among the entries, with their paths, once nothing hostile was found in any entry."""
    files: list[tuple[_Entry, str]] = []
    for entry in entries:
        reason = incoming.hostile(entry.name) or entry.strange
        if reason:
            raise _refused(told, f"its entry {entry.name[:200]!r} is not safe: {reason}", _AGAIN)
        if not entry.directory:
            files.append((entry, incoming.plain(entry.name)))
    same = incoming.twins(path for _, path in files)
    if same is not None:
        raise _refused(told, f"its entries {same[0][:200]!r} and {same[1][:200]!r} are one file", "rename one of them")
    return files


def _taken(told: str, packed: int, entries: list[tuple[_Entry, str]], progress: Progress | None) -> Unpacked:
    by_name = {entry.name: entry for entry, _ in entries}
    found = incoming.sort_out([(entry.name, path) for entry, path in entries])
    wanted = [(by_name[name], path) for name, path in found.memories]
    size = sum(entry.size for entry, _ in wanted if entry.size <= LARGEST)
    if size > MOST_BYTES or _is_bomb(size, packed):
        why = _BOMB if _is_bomb(size, packed) else f"its memories are larger than {MOST_BYTES >> 20} MB"
        raise _refused(told, why, "unpack it yourself and import it in parts")
    files: dict[str, bytes] = {}
    skipped = list(found.skipped)
    for done, (entry, path) in enumerate(wanted):
        if progress is not None:
            progress(done, len(wanted), path)
        if entry.size > LARGEST:
            skipped.append((path, "it is too large to be a memory"))
            continue
        content = entry.read()
        if len(content) != entry.size:
            raise _refused(told, f"its entry {entry.name[:200]!r} has another size than it says", _AGAIN)
        if content.strip():
            files[path] = content
        else:
            skipped.append((path, "it is empty"))
    return Unpacked(files, tuple(sorted(skipped)))


def _refused(told: str, why: str, step: str) -> ImportRefused:
    return ImportRefused(f"{told} is not taken in: {why}; nothing was changed", hint=step)


def _zip(told: str, content: bytes) -> Iterator[_Entry]:
    import zipfile

    if content.count(_LISTED) > MOST_ENTRIES:  # before the library makes an object of each
        raise _refused(told, f"it has more than {MOST_ENTRIES:,} entries", "import it in parts")
    archive = zipfile.ZipFile(io.BytesIO(content))
    found = archive.infolist()
    shared = _overlapping(found, archive.start_dir)
    for info in found:
        # The other attribute ends at a NUL, and what zips without the flag call UTF-8 is read as a code page.
        name = info.orig_filename if info.flag_bits & 0x800 else _of_an_old_zip(info)
        strange = _strange_in_zip(info)
        if not strange and info.header_offset in shared:
            strange = "it shares its bytes with another one"
        yield _Entry(name, info.file_size, name.endswith("/"), strange, partial(_read_zipped, archive, info))


def _read_zipped(archive: ZipFile, info: ZipInfo) -> bytes:
    with archive.open(info) as file:
        return file.read(LARGEST + 1)


def _overlapping(found: Sequence[ZipInfo], end: int) -> set[int]:
    """Where entries begin that reach into the next one: so a small archive can hold a thousand times its size."""
    ordered = sorted(found, key=lambda info: info.header_offset)
    ends = [*(info.header_offset for info in ordered), end][1:]
    return {
        info.header_offset
        for info, next_one in zip(ordered, ends, strict=True)
        if info.header_offset + _LOCAL_HEADER + info.compress_size > next_one
    }


def _of_an_old_zip(info: ZipInfo) -> str:
    """A name without the mark that it is UTF-8: as it is told beside it, else as it reads."""
    try:
        packed = info.orig_filename.encode("cp437")
    except UnicodeError:
        return info.orig_filename
    try:
        return _told_beside(packed, info.extra) or packed.decode("utf-8")
    except UnicodeError:
        return info.orig_filename


def _told_beside(name: bytes, extra: bytes) -> str:
    """What programs that write names in the code page of their system add, if it belongs to this name."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        field = extra[at + 4 : at + 4 + size]
        if kind == _UNICODE_NAME and field[:1] == b"\1" and field[1:5] == struct.pack("<I", zlib.crc32(name)):
            return field[5:].decode("utf-8")
        at += 4 + size
    return ""


def _strange_in_zip(info: ZipInfo) -> str:
    import zipfile

    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "it is a link" if kind == stat.S_IFLNK else "it is a device, or something of that kind"
    if info.flag_bits & 0x41:
        return "it is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        return "it is packed in a way that is not known here"
    return _BOMB if _is_bomb(info.file_size, info.compress_size) else ""


def _is_bomb(size: int, packed: int) -> bool:
    return size > _BOMB_BYTES and size > _BOMB_RATIO * packed


def _tar(told: str, content: bytes) -> Iterator[_Entry]:
    import tarfile

    data = _expanded(told, content)
    archive = tarfile.TarFile(fileobj=io.BytesIO(data), encoding="utf-8", errors="surrogateescape")
    while (member := archive.next()) is not None:
        name = member.name
        yield _Entry(name, member.size, member.isdir(), _strange_in_tar(member), partial(_read_tarred, archive, member))
    # The library takes a broken header for the end; a whole archive ends with a block of zeros.
    last = data[archive.offset : archive.offset + _BLOCK]
    if len(last) < _BLOCK or any(last):
        raise _refused(told, "it is damaged or cut off", _AGAIN)


def _read_tarred(archive: TarFile, member: TarInfo) -> bytes:
    file = archive.extractfile(member)
    return b"" if file is None else file.read(LARGEST + 1)


def _strange_in_tar(member: TarInfo) -> str:
    if member.issym() or member.islnk():
        return "it is a link"
    if member.isdev():
        return "it is a device, or something of that kind"
    if member.issparse():
        return "it is a file with holes"
    return "" if member.isreg() or member.isdir() else "it is of a kind that is not known here"


def _expanded(told: str, content: bytes) -> bytes:
    """What a tar is before it is compressed, as far as that is not too much."""
    if len(content) > MOST_BYTES:
        raise _refused(told, f"it is larger than {MOST_BYTES >> 20} MB", "import it in parts")
    opened = _decompressor(content)
    if opened is None:
        return content
    pieces = []
    size = 0
    with opened:
        while piece := opened.read(_PIECE):
            size += len(piece)
            if size > MOST_BYTES or _is_bomb(size, len(content)):
                why = _BOMB if _is_bomb(size, len(content)) else f"unpacked it is larger than {MOST_BYTES >> 20} MB"
                raise _refused(told, why, "unpack it yourself and import the directory")
            pieces.append(piece)
    return b"".join(pieces)


def _decompressor(content: bytes) -> IO[bytes] | None:
    if content.startswith(b"\x1f\x8b"):
        import gzip

        return gzip.GzipFile(fileobj=io.BytesIO(content))  # type: ignore[return-value]  # it reads like any file
    if content.startswith(b"BZh"):
        import bz2

        return bz2.BZ2File(io.BytesIO(content))
    if content.startswith(b"\xfd7zXZ\x00"):
        import lzma

        # Its header says how much memory it wants; the file itself takes no limit.
        lzma.LZMADecompressor(memlimit=MOST_BYTES).decompress(content[:_BLOCK], 1)
        return lzma.LZMAFile(io.BytesIO(content))
    return None

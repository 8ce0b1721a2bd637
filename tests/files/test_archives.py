"""Packed memory directories: what is honest is read, what is not is refused as a whole."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import warnings
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstore.errors import ImportRefused
from memstore.files import archives
from memstore.files.archives import Unpacked, unpack
from tests.files.packed import member, tarred, zipped

FINE = {
    "memory/a.md": "A\n",
    "memory/sub/b.md": "B\n",
    "memory/MEMORY.md": "- [A](a.md)\n",
    "memory/pic.png": b"\x89PNG",
}


def read(kind: str, content: bytes) -> Unpacked:
    return unpack(f"x.{kind}", kind, content, None)


def refused(kind: str, content: bytes) -> str:
    with pytest.raises(ImportRefused) as caught:
        read(kind, content)
    assert caught.value.hint and "nothing was changed" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_is_read_whatever_it_is_compressed_with(method: int):
    found = read("zip", zipped(FINE, method=method))
    assert found.files == {"a.md": b"A\n", "sub/b.md": b"B\n", "MEMORY.md": b"- [A](a.md)\n"}
    assert found.skipped == (("pic.png", "not a Markdown file"),)


@pytest.mark.parametrize("kind", ["", "gz", "bz2", "xz"])
def test_a_tar_is_read_whatever_it_is_compressed_with(kind: str):
    found = read("tar", tarred(FINE, kind))
    assert found == read("zip", zipped(FINE))


def test_names_that_are_not_ascii_are_read_from_old_and_new_zips():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("日本.md", "new\n")
    assert read("zip", out.getvalue()).files == {"日本.md": b"new\n"}
    flagless = out.getvalue().replace(struct.pack("<H", 0x800), struct.pack("<H", 0))
    assert read("zip", flagless).files == {"日本.md": b"new\n"}
    assert read("tar", tarred({"日本.md": "t\n", "x" * 90 + "/" + "y" * 120 + ".md": "long\n"})).files.keys() >= {
        "日本.md"
    }


def test_a_name_in_a_code_page_is_read_as_it_is_told_beside_it():
    name, told = "表.md".encode("shift-jis"), "表.md".encode()
    fields = [
        struct.pack("<HHBI", 0x7075, 5 + len(told), 1, crc) + told for crc in (zlib.crc32(name), zlib.crc32(name) ^ 1)
    ]
    for extra, right in zip(fields, (True, False), strict=True):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            entry = zipfile.ZipInfo("X" * len(name))
            entry.extra = struct.pack("<HHI", 0x5455, 4, 0) + extra
            archive.writestr(entry, "text\n")
        content = out.getvalue().replace(b"X" * len(name), name)
        if right:
            assert read("zip", content).files == {"表.md": b"text\n"}
        else:  # it is that of another name
            assert "backslash" in refused("zip", content)


def test_what_is_told_beside_a_name_is_checked_like_a_name():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = zipfile.ZipInfo("a.md")
        entry.extra = struct.pack("<HHBI", 0x7075, 5 + 7, 1, zlib.crc32(b"a.md")) + b"../a.md"
        archive.writestr(entry, "evil\n")
    assert "'../a.md'" in refused("zip", out.getvalue())


def test_an_archive_with_nothing_in_it_holds_no_memories():
    assert read("zip", zipped({})) == read("tar", tarred({})) == Unpacked({}, ())


NAMES = ["/etc/evil.md", "../evil.md", "a/../../evil.md", "a\\evil.md", "C:/evil.md"]


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_that_would_leave_the_directory_refuses_a_zip(name: str):
    assert repr(name) in refused("zip", zipped({"a.md": "A\n", name: "evil\n"}))


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_that_would_leave_the_directory_refuses_a_tar(name: str):
    assert repr(name) in refused("tar", tarred({"a.md": "A\n", name: "evil\n"}))


def test_a_name_with_a_nul_refuses_a_zip():
    assert "NUL" in refused("zip", zipped({"aX.md": "A\n"}).replace(b"aX.md", b"a\0.md"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"Z"]
)
def test_a_member_that_is_no_file_refuses_a_tar(kind: bytes):
    assert "'b.md'" in refused("tar", tarred({"a.md": "A\n", "b.md": member("b.md", kind, "/etc/passwd")}))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_an_entry_that_is_no_file_refuses_a_zip(kind: int):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.md", "A\n")
        info = zipfile.ZipInfo("b.png")
        info.external_attr = (kind | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert "'b.png'" in refused("zip", out.getvalue())


def doubled(first: str, second: str) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(first, "one\n")
            archive.writestr(second, "two\n")
    return out.getvalue()


@pytest.mark.parametrize(
    ("first", "second"),
    [("a.md", "a.md"), ("a.md", "A.md"), ("caf\u00e9.md", "cafe\u0301.md"), ("a.md", "./a.md"), ("x.png", "x.png")],
)
def test_two_entries_for_one_file_refuse_an_archive(first: str, second: str):
    assert "are one file" in refused("zip", doubled(first, second))
    if first != second:
        assert "are one file" in refused("tar", tarred({first: "one\n", second: "two\n"}))


def test_an_encrypted_entry_refuses_a_zip():
    content = bytearray(zipped({"a.md": "A\n"}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + at] |= 1
    assert "encrypted" in refused("zip", bytes(content))


def test_an_unknown_compression_refuses_a_zip():
    content = bytearray(zipped({"a.md": "A\n"}))
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        content[content.index(mark) + at] = 97
    assert "'a.md'" in refused("zip", bytes(content))


def test_a_bomb_is_refused_before_it_goes_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "_BOMB_BYTES", 1 << 20)
    zeros = bytes(4 << 20)
    for content in (zipped({"a.md": zeros}), zipped({"a.bin": zeros})):
        assert "huge" in refused("zip", content)
    parts = {f"{number}.md": bytes(1 << 20) for number in range(4)}
    assert "huge" in refused("zip", zipped(parts))
    for kind in ("gz", "bz2", "xz"):
        assert "huge" in refused("tar", tarred({"a.bin": zeros}, kind))


def test_a_bomb_within_is_only_no_markdown():
    inner = zipped({"a.md": bytes(1 << 20)})
    found = read("zip", zipped({"b.md": "B\n", "inner.zip": inner}))
    assert list(found.files) == ["b.md"] and found.skipped == (("inner.zip", "not a Markdown file"),)


def test_entries_that_share_their_bytes_refuse_a_zip():
    content = bytearray(zipped({"a.md": "same\n" * 9, "b.md": "same\n" * 9}))
    first = content.index(b"PK\x01\x02")
    second = content.index(b"PK\x01\x02", first + 1)
    content[second + 42 : second + 46] = content[first + 42 : first + 46]
    assert "shares its bytes" in refused("zip", bytes(content))


def test_a_size_that_is_a_lie_refuses_a_zip():
    for said in (3, 1_000_000):
        content = bytearray(zipped({"a.md": "text of it\n"}))
        at = content.index(b"PK\x01\x02") + 24
        content[at : at + 4] = struct.pack("<I", said)
        refused("zip", bytes(content))


def test_there_are_limits_to_entries_and_to_all_of_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MOST_ENTRIES", 3)
    assert "more than 3 entries" in refused("zip", zipped({f"{n}.md": "x\n" for n in range(4)}))
    assert "more than 3 entries" in refused("tar", tarred({f"{n}.md": "x\n" for n in range(4)}))
    monkeypatch.setattr(archives, "MOST_ENTRIES", 100)
    monkeypatch.setattr(archives, "MOST_BYTES", 50_000)
    text = "".join(map(chr, range(33, 120))) * 300
    assert "larger than" in refused("zip", zipped({"a.md": text, "b.md": text}))
    assert "larger than" in refused("tar", tarred({"a.png": text, "b.png": text}, "gz"))


def test_a_file_that_is_too_large_or_empty_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "LARGEST", 100)
    files = {"a.md": "A\n", "large.md": "x" * 101, "empty.md": " \n"}
    for content in (zipped(files), tarred(files)):
        found = read("zip" if content[:2] == b"PK" else "tar", content)
        assert list(found.files) == ["a.md"]
        assert [name for name, _ in found.skipped] == ["empty.md", "large.md"]


@pytest.mark.parametrize("kind", ["", "gz", "bz2", "xz"])
def test_a_tar_that_is_cut_off_anywhere_is_refused(kind: str):
    whole = tarred({f"{number}.md": f"text {number}\n" * 40 for number in range(4)}, kind)
    end = len(whole) - 1 if kind else 4 * 1_024 + 512  # what lies behind is all zeros
    for size in range(0, end, max(1, len(whole) // 37)):
        refused("tar", whole[:size])


def test_a_tar_with_a_broken_header_in_the_middle_is_refused():
    content = bytearray(tarred({"a.md": "A\n", "b.md": "B\n", "c.md": "C\n"}))
    content[1024 + 148] ^= 1
    assert "damaged" in refused("tar", bytes(content))


def test_a_zip_that_is_cut_off_anywhere_is_refused():
    whole = zipped({f"{number}.md": f"text {number}\n" * 40 for number in range(4)})
    for size in range(0, len(whole) - 1, 11):
        refused("zip", whole[:size])


def test_what_is_compressed_and_no_tar_is_refused():
    for packed in (gzip.compress(b"text"), bz2.compress(b"text"), lzma.compress(b"text")):
        refused("tar", packed)


def test_headers_nested_without_end_are_refused():
    long_name = tarfile.TarInfo("././@LongLink")
    long_name.type, long_name.size = tarfile.GNUTYPE_LONGNAME, 0
    refused("tar", long_name.tobuf(tarfile.GNU_FORMAT) * 5_000 + bytes(1024))


FLIPPED = [("zip", zipped(FINE)), ("tar", tarred(FINE)), ("tar", tarred(FINE, "gz")), ("tar", tarred(FINE, "xz"))]


@settings(max_examples=150, deadline=None)
@given(which=st.sampled_from(FLIPPED), data=st.data())
def test_a_damaged_archive_is_refused_or_read_and_nothing_else(which: tuple[str, bytes], data: st.DataObject):
    kind, whole = which
    content = bytearray(whole)
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=6)):
        content[at] = data.draw(st.integers(0, 255))
    try:
        found = read(kind, bytes(content))
    except ImportRefused as error:
        assert error.hint
    else:
        assert all(not path.startswith(("/", "..")) for path in found.files)

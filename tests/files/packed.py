"""Archives as tests need them: honest ones, and ones that no honest program makes."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping


def zipped(files: Mapping[str, str | bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files, in their order; a name that ends in a slash is a directory."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def tarred(files: Mapping[str, str | bytes | tarfile.TarInfo], kind: str = "") -> bytes:
    """A tar of these files, compressed as `kind`; in the place of a text a member of another kind."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{kind}") as archive:
        for name, text in files.items():
            if isinstance(text, tarfile.TarInfo):
                archive.addfile(text)
                continue
            content = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A member of a tar without any content."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made

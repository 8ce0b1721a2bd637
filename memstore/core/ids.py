"""Identifiers: ids that sort by time, tokens that name a version, keys that name a path.

Pure: the clock and the random bytes are handed in.
"""

from __future__ import annotations

try:
    # `hashlib` gives this very function, but loads OpenSSL first: 8 ms, more than the rest of a hook's start.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

TOKEN_LENGTH = 12
_RANDOM_BYTES = 10


def uuid7(milliseconds: int, random_bits: bytes) -> str:
    """A UUID of version 7 (RFC 9562): 48 bits of Unix time in milliseconds, then 74 random bits.

    `random_bits` is exactly 10 bytes; six of its bits give way to version and variant.
    Raises Defect when the time does not fit in 48 bits or the bytes are too few or too many.
    """
    from memstore.errors import Defect  # most who come here make no id, and a hook counts each import

    if not 0 <= milliseconds < 1 << 48:
        raise Defect("the time does not fit in 48 bits of milliseconds")
    if len(random_bits) != _RANDOM_BYTES:
        raise Defect(f"a UUID needs exactly {_RANDOM_BYTES} random bytes")
    random = int.from_bytes(random_bits, "big")
    rand_a = random >> 68
    rand_b = random & ((1 << 62) - 1)
    value = milliseconds << 80 | 0x7 << 76 | rand_a << 64 | 0b10 << 62 | rand_b
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID as `uuid7` writes it; such a text is safe as a file name."""
    groups = text.split("-")
    return [len(group) for group in groups] == [8, 4, 4, 4, 12] and all(
        character in "0123456789abcdef" for group in groups for character in group
    )


def token(memory_id: str, operation_id: str) -> str:
    """The token of the version that an operation made of a memory: 12 lowercase hex characters.

    A hash over both ids, never a piece of one: ids that were made in the same instant share their beginning.
    """
    return digest(f"{memory_id}\0{operation_id}".encode(), length=TOKEN_LENGTH)


def digest(data: bytes, *, length: int = 32) -> str:
    """`length` lowercase hex characters (an even number, at most 64) that stand for `data`."""
    return blake2b(data, digest_size=32).hexdigest()[:length]


def fingerprint(data: bytes) -> bytes:
    """The 16 bytes by which a text is known."""
    return blake2b(data, digest_size=16).digest()

"""Likeness of meaning: how alike a prompt and the texts of memories are, by a small static embedding. An optional
extra.

The weights are files of the installed package wordllama. They are read here: the package itself is never imported, for
it configures the log, and loads a client for the network with which it would fetch what it misses. Whatever was read
of a text is kept as long as the process lives, within a limit: a server pays for a memory once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any

from memstore.errors import ExtraMissing

REQUIREMENTS = ("wordllama>=0.4,<0.5", "numpy>=2", "tokenizers>=0.20")
"""What the extra installs, as pyproject.toml has it. Later versions of wordllama may bring other files."""

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_MOST = 32_000  # characters of a text that are read
_PIECE = 300  # characters; a passage is two pieces that follow each other
_KEPT = 65_536  # vectors of 512 bytes
_LARGEST_HEADER = 64 * 1024


class Model:
    """The embedding. One is enough for all threads of a process."""

    def __init__(self, directory: str) -> None:
        import numpy
        from tokenizers import Tokenizer

        self._numpy = numpy
        self._vectors = _mapped(os.path.join(directory, _WEIGHTS), numpy)
        self._tokenizer = Tokenizer.from_file(os.path.join(directory, _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def likeness(self, prompt: str, texts: Sequence[str]) -> list[float]:
        """From 0 to 1, for each text: the middle of what its whole and its best passage have."""
        asked = self._embedded([prompt])[0][0].astype(self._numpy.float32)
        alike = []
        for vectors in self._read(texts):
            whole, *passages = (vectors.astype(self._numpy.float32) @ asked).clip(0, 1).tolist()
            alike.append((whole + max(passages, default=whole)) / 2)
        return alike

    def _read(self, texts: Sequence[str]) -> list[Any]:
        """The vectors of each text."""
        keys = [hashlib.blake2b(text[:_MOST].encode("utf-8", "replace"), digest_size=16).digest() for text in texts]
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            new = dict(zip(missing, self._embedded(list(missing.values())), strict=True))
            found.update(new)
            with self._lock:
                for key, vectors in new.items():
                    if key not in self._kept:
                        self._kept[key] = vectors
                        self._count += len(vectors)
                while self._count > _KEPT:
                    self._count -= len(self._kept.popitem(last=False)[1])
        return [found[key] for key in keys]

    def _embedded(self, texts: Sequence[str]) -> list[Any]:
        """Of each text the vectors of its whole, then of its passages; each of length 1, or 0 where it says nothing."""
        numpy = self._numpy
        cut = [pieces(text) for text in texts]
        flat = [piece for of_one in cut for piece in of_one]
        read = iter(self._tokenizer.encode_batch_fast(flat, add_special_tokens=False))
        embedded = []
        for of_one in cut:
            sums = numpy.zeros((len(of_one), self._vectors.shape[1]), numpy.float32)
            for row in range(len(of_one)):
                numbers = next(read).ids
                if numbers:
                    sums[row] = self._vectors[numbers].astype(numpy.float32).sum(axis=0)
            passages = sums[:-1] + sums[1:] if len(sums) > 1 else sums
            vectors = numpy.vstack((sums.sum(axis=0), passages))
            lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
            embedded.append((vectors / numpy.where(lengths > 0, lengths, 1)).astype(numpy.float16))
        return embedded


def pieces(text: str) -> list[str]:
    """The beginning of a text in pieces of nearly one length, cut between words where there are any."""
    left = " ".join(text[:_MOST].encode("utf-8", "replace").decode("utf-8").split())
    found = []
    while len(left) > _PIECE:
        end = left.rfind(" ", _PIECE // 2, _PIECE) + 1 or _PIECE
        found.append(left[:end].rstrip())
        left = left[end:]
    return [*found, left] if left else found


def is_installed() -> bool:
    """Whether all of the extra is there. Nothing of it is loaded."""
    return all(importlib.util.find_spec(name) is not None for name in ("wordllama", "numpy", "tokenizers"))


@cache
def installed() -> Model:
    """The embedding, loaded once. Raises ExtraMissing, with the step to take, where it cannot be had."""
    hint = (
        f"install it: {sys.executable} -m pip install {' '.join(repr(one) for one in REQUIREMENTS)};"
        " or do without: memstore config set recall.semantic false"
    )
    if not is_installed():
        raise ExtraMissing("recall.semantic is on, and the extra memstore[semantic] is not installed", hint=hint)
    package = importlib.util.find_spec("wordllama")
    places = package.submodule_search_locations if package is not None else None
    try:
        return Model(next(iter(places or ()), ""))
    except Exception as error:  # tokenizers raises bare ones; whatever it is, the extra cannot be used
        raise ExtraMissing(f"the extra memstore[semantic] cannot be used: {error}", hint=hint) from error


def _mapped(path: str, numpy: Any) -> Any:
    """The vectors of a safetensors file with one table, as the file has them: only what is used is read."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(min(size, _LARGEST_HEADER)))
    table = header["embedding.weight"]
    if table["dtype"] != "F16":
        raise ExtraMissing(f"{path} holds numbers of the kind {table['dtype']}, not F16")
    return numpy.memmap(
        path, dtype="<f2", mode="r", offset=8 + size + table["data_offsets"][0], shape=tuple(table["shape"])
    )

"""A transcript of 200 MB, read on from near its end and as a whole; each reading is a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256

from memstore.claude.transcript import Mark
from scripts.benchmarks.measure import Row, interleaved, middle, value, workplace

_MEGABYTE = 1024 * 1024
_LIMIT_MS = 1000.0
_LIMIT_MB = 80.0
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Not ru_maxrss, where there is another way: a child inherits that of whoever started it.
_READER = """
import json, resource, sys, time
from memstore.claude.transcript import Mark, read

mark = Mark("", int(sys.argv[2]), bytes.fromhex(sys.argv[3]))
begin = time.perf_counter()
reading = read(sys.argv[1], mark)
took = time.perf_counter() - begin
try:
    with open("/proc/self/status", encoding="utf-8") as status:
        peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / 1024
print(json.dumps([took * 1000, peak, len(reading.entries), reading.fits]))
"""


def transcripts(quick: bool) -> list[Row]:
    """Turns with results of 100 kB, an image of 20 MB on one line; 40 lines after the mark. A line of 50 MB alone."""
    megabytes, image = (20, 2) if quick else (200, 20)
    rounds = 3 if quick else 7
    with workplace() as directory:
        path, line = (os.path.join(directory, name) for name in ("session.jsonl", "line.jsonl"))
        near = _write(path, megabytes * _MEGABYTE, image * _MEGABYTE)
        with open(line, "w", encoding="utf-8") as file:
            file.write(_image(1, 50 * _MEGABYTE))
        start = Mark("", 0, sha256().digest())
        ends = [_read(path, near, 40) for _ in range(rounds)]
        hashed = _hash(path, near.offset, rounds)
        whole = [_read(path, start) for _ in range(1 if quick else 3)]
        alone = _read(line, start, 1)
    size = f"{megabytes} MB"

    def row(what: str, measured: float, unit: str, limit: float | None = None, baseline: float | None = None) -> Row:
        held = None if limit is None else value("<", limit)
        return Row("transcript", what, measured, unit, baseline, "SHA-256 of the bytes" if baseline else "", held)

    return [
        row(f"{size} read on from near the end", middle([took for took, _ in ends]), "ms", _LIMIT_MS, hashed),
        row(f"{size} read on from near the end, memory", max(peak for _, peak in ends), "MB", _LIMIT_MB),
        row(f"{size} read for the first time", middle([took for took, _ in whole]), "ms"),
        row(f"{size} read for the first time, memory", max(peak for _, peak in whole), "MB"),
        row("one line of 50 MB", alone[0], "ms"),
        row("one line of 50 MB, memory", alone[1], "MB", _LIMIT_MB),
    ]


def _write(path: str, size: int, image: int) -> Mark:
    """Makes the file; gives the mark before its last 40 lines."""
    with open(path, "w", encoding="utf-8") as file:
        number = 0
        while file.tell() < size - image:
            file.write(_turn(number))
            number += 4
            if number == 40:
                file.write(_image(number, image))
        before = file.tell()
        file.writelines(_turn(number + 4 * turn, result="few words " * 100) for turn in range(10))
    seen = sha256()
    with open(path, "rb") as whole:
        seen.update(whole.read(before))
    return Mark("", before, seen.digest())


def _turn(number: int, result: str = 'a line of "output", as long as most of them are\n' * 2000) -> str:
    """Four lines: a prompt, a call of a tool, its result, an answer."""
    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make test"}}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
    usage = {"input_tokens": 10, "cache_read_input_tokens": 20_000, "output_tokens": 100}
    lines = [
        _row("user", number, content="now make the tests of the payments pass, and use bun"),
        _row("assistant", number + 1, content=[call], usage=usage),
        _row("user", number + 2, content=[answer]),
        _row("assistant", number + 3, content=[{"type": "text", "text": "They pass. " * 20}], usage=usage),
    ]
    return "".join(lines)


def _image(number: int, size: int) -> str:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBOR" + "A" * size}
    words = {"type": "text", "text": "keep: the logo is teal"}
    return _row("user", number, content=[{"type": "image", "source": source}, words])


def _row(kind: str, number: int, **message: object) -> str:
    row = {
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "type": kind,
        "message": {"role": kind, **message},
        "uuid": f"u{number}",
        "timestamp": "2026-03-01T10:00:00.000Z",
        "cwd": "/srv/demo/shop",
        "sessionId": "11111111-1111-4111-8111-111111111111",
        "version": "2.1.332",
        "gitBranch": "main",
    }
    return json.dumps(row) + "\n"


def _read(path: str, mark: Mark, expected: int | None = None) -> tuple[float, float]:
    """The milliseconds that the reading took, and the most megabytes that its process held."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": _ROOT, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", _READER, path, str(mark.offset), mark.digest.hex()]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    took, peak, entries, fits = json.loads(done.stdout)
    if not fits or expected not in (None, entries):
        raise RuntimeError(f"the reader found {entries} entries, and its mark {'fits' if fits else 'does not fit'}")
    return took, peak


def _hash(path: str, size: int, rounds: int) -> float:
    """The milliseconds that it takes to read the bytes before the mark and to make their digest, whatever is done."""

    def once(_: int) -> None:
        seen = sha256()
        with open(path, "rb", buffering=0) as file:
            left = size
            while left and (chunk := file.read(min(left, 256 * 1024))):
                seen.update(chunk)
                left -= len(chunk)

    return middle(interleaved(rounds, once, warm=1)[0])

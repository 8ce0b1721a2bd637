"""Runs the benches that are named, all of them by default, and prints one table.

Options: --quick (small and short: to see that it runs), --json, --data DIR (public retrieval data, which `recall`
reads: longmemeval/*.jsonl.xz and locomo/*.json below it), --imports (what the imports of a command cost, instead of
the table).
Exit code 1 where a limit does not hold. The scratch files lie below $TMPDIR: it should be a real disk.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

from scripts.benchmarks.crowd import appenders, crowds
from scripts.benchmarks.doctor import doctors
from scripts.benchmarks.dreaming import dreams
from scripts.benchmarks.exchange import exchanges
from scripts.benchmarks.folders import folders
from scripts.benchmarks.hooking import hooks
from scripts.benchmarks.linting import lints
from scripts.benchmarks.mcp import servers
from scripts.benchmarks.measure import Limit, Row
from scripts.benchmarks.recall import recalls
from scripts.benchmarks.searching import searches
from scripts.benchmarks.starting import import_times, starts
from scripts.benchmarks.tool import tools
from scripts.benchmarks.transcripts import transcripts
from scripts.benchmarks.upkeep_backup import backups
from scripts.benchmarks.watching import watches
from scripts.benchmarks.writes import one_write

BENCHES: dict[str, Callable[[bool], list[Row]]] = {
    "write": one_write,
    "crowd": crowds,
    "folder": folders,
    "search": searches,
    "start": starts,
    "append": appenders,
    "watch": watches,
    "mcp": servers,
    "tool": tools,
    "hook": hooks,
    "transcript": transcripts,
    "dream": dreams,
    "recall": recalls,
    "exchange": exchanges,
    "doctor": doctors,
    "backup": backups,
    "lint": lints,
}


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measures memstore against bare baselines.")
    parser.add_argument("benches", nargs="*", metavar="BENCH", help=f"any of {', '.join(BENCHES)}")
    parser.add_argument("--quick", action="store_true", help="small and short: to see that it runs")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--data", metavar="DIR", help="public retrieval data, for benches that read it")
    parser.add_argument("--imports", action="store_true", help="what the imports of a command cost")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.benches if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    if given.imports:
        print(import_times())
        return 0
    rows: list[Row] = []
    for name in given.benches or BENCHES:
        if not given.json:
            print(f"{name} ...", end="\r", file=sys.stderr, flush=True)
        rows += recalls(given.quick, given.data) if name == "recall" else BENCHES[name](given.quick)
    print(json.dumps({"quick": given.quick, "rows": list(map(_shape, rows))}, indent=1) if given.json else table(rows))
    return int(any(row.ok is False for row in rows))


def table(rows: Sequence[Row]) -> str:
    """what | measured | baseline | ratio | limit | ok"""
    cells = [("what", "measured", "baseline", "ratio", "limit", "ok"), *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    lines.insert(1, "-|-".join("-" * width for width in widths))
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    baseline = "" if row.baseline is None else f"{_number(row.baseline)} {row.unit} ({row.against})".replace("  ", " ")
    ratio = "" if row.ratio is None else f"{row.ratio:.3f}" if row.ratio < 0.1 else f"{row.ratio:.2f}"
    ok = {True: "yes", False: "NO", None: ""}[row.ok]
    measured = f"{_number(row.measured)} {row.unit}".strip()
    return f"{row.bench}: {row.what}", measured, baseline, ratio, _limit(row.limit, row.unit), ok


def _limit(limit: Limit | None, unit: str) -> str:
    if limit is None:
        return ""
    of = "ratio" if limit.of == "ratio" else ""
    shown = f"{limit.value:.3g}" if limit.of == "ratio" else f"{_number(limit.value)} {unit}"
    return f"{of} {limit.sense} {shown}".strip()


def _number(value: float) -> str:
    if value == int(value) or value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _shape(row: Row) -> dict[str, object]:
    return {**asdict(row), "ratio": row.ratio, "ok": row.ok}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

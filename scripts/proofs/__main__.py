"""Runs the proofs that are named, all of them by default: `scripts/prove NAME... [--floor|--full] [--seed N]`.

Prints for each its size and seed when it begins, and when it ends its seconds and counts, then `ok` or what failed.
Exit code 1 where a proof failed, or tried less than it has to.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import cast

import scripts.proofs
from scripts.proofs.outcome import Outcome, Proof, Size

SEED = 1


def proofs() -> dict[str, Proof]:
    """Every module of this package that has a NAME, by that."""
    found: dict[str, Proof] = {}
    for info in pkgutil.iter_modules(scripts.proofs.__path__):
        if info.name == "__main__":
            continue
        module = importlib.import_module(f"{scripts.proofs.__name__}.{info.name}")
        if hasattr(module, "NAME"):
            proof = cast(Proof, module)
            found[proof.NAME] = proof
    return dict(sorted(found.items()))


def main(arguments: Sequence[str], known: Mapping[str, Proof]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="scripts/prove", description="Proves what tests cannot.")
    parser.add_argument("proofs", nargs="*", metavar="NAME", help=f"any of {', '.join(known)}; default: all")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--floor", action="store_true", help="what every change has to pass (default)")
    size.add_argument("--full", action="store_true", help="the whole of it: minutes")
    parser.add_argument("--seed", type=int, default=SEED, help=f"for proofs that choose at random (default {SEED})")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.proofs if name not in known]
    if unknown:
        parser.error(f"there is no proof {', '.join(unknown)}; there are {', '.join(known)}")
    passed = [_prove(known[name], "full" if given.full else "floor", given.seed) for name in given.proofs or known]
    return 0 if all(passed) else 1


def _prove(proof: Proof, size: Size, seed: int) -> bool:
    print(f"{proof.NAME}: {size}, seed {seed}", flush=True)  # at once: a proof may take minutes
    start = time.monotonic()
    outcome = proof.run(size, seed)
    seconds = time.monotonic() - start
    failures = [*outcome.failures, *_too_few(outcome, proof.FULL if size == "full" else proof.FLOOR)]
    print(f"  {seconds:.1f} s")
    for name, count in outcome.counts.items():
        print(f"  {count:>12,} {name}")
    for note in outcome.notes:
        print(f"  {note}")
    for failure in failures:
        print(f"  FAILED {failure}")
    print("  ok" if not failures else f"  {len(failures)} failed", flush=True)
    return not failures


def _too_few(outcome: Outcome, least: Mapping[str, int]) -> list[str]:
    return [
        f"{outcome.counts.get(name, 0):,} {name}, and it has to be {count:,} at least"
        for name, count in least.items()
        if outcome.counts.get(name, 0) < count
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], proofs()))

"""Keeps the memories of coding agents in one store and shows them as the files that agents read.

from memstore import Memstore, Wanted

with Memstore.open("path/to/repository") as memories:
    memories.write("staging-port", Wanted(body="Staging listens on 7443.", description="which port"))
    query, hits = memories.search("staging")
"""

from __future__ import annotations

TYPE_CHECKING = False  # for type checkers it is true; importing `typing` takes longer than all of a hook
if TYPE_CHECKING:
    from typing import Any

    from memstore.app import Memstore
    from memstore.core.plan import Wanted
    from memstore.errors import Conflict, MemstoreError, Mendable
    from memstore.store.search import Filters

__version__ = "0.1.0"
__all__ = ["Conflict", "Filters", "Memstore", "MemstoreError", "Mendable", "Wanted", "__version__"]

_HOMES = {
    "Conflict": "memstore.errors",
    "Filters": "memstore.store.search",
    "Memstore": "memstore.app",
    "MemstoreError": "memstore.errors",
    "Mendable": "memstore.errors",
    "Wanted": "memstore.core.plan",
}


def __getattr__(name: str) -> Any:
    """Loads a public name when it is first used: a hook that imports the package must not pay for all of it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'memstore' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)

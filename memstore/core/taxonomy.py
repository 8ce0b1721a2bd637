"""The four types of memories.

A type that is unknown or missing is kept as it is and never a reason to refuse a text: the client reads such
a memory as untyped, and so does memstore. A new memory made without a type becomes `DEFAULT_TYPE`.
"""

from __future__ import annotations

TYPES = ("user", "feedback", "project", "reference")

DEFAULT_TYPE = "project"

"""The four types of memories, and what a good one of each needs.

A type that is unknown or missing is kept as it is and never a reason to refuse a text: the client reads such
a memory as untyped, and so does memstore. A new memory made without a type becomes `DEFAULT_TYPE`.
"""

from __future__ import annotations

TYPES = ("user", "feedback", "project", "reference")

DEFAULT_TYPE = "project"

NEEDS = {
    "user": "who the person is, what they know and how they like to work",
    "feedback": "the rule, then **Why:** and **How to apply:** with the situations it holds in",
    "project": "the fact or decision, then **Why:** and **How to apply:**; dates are absolute",
    "reference": "where something is found, and what it is good for",
}

PARTS = {
    "feedback": ("**Why:**", "**How to apply:**"),
    "project": ("**Why:**", "**How to apply:**"),
}
"""Paragraphs that the body of a type is expected to have."""


def known_type(text: str | None) -> str | None:
    """The type that `text` names, whatever its case and the space around it; None if it is none of them."""
    kind = (text or "").strip().lower()
    return kind if kind in TYPES else None

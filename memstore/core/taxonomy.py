"""The four types of memories.

A type that is unknown or missing is kept as it is and never a reason to refuse a text: the client reads such
a memory as untyped, and so does memstore. A new memory made without a type becomes `DEFAULT_TYPE`.
"""

from __future__ import annotations

TYPES = ("user", "feedback", "project", "reference")

DEFAULT_TYPE = "project"

MEANINGS = {
    "user": (
        "who the user is: their part in the work, what they know well and what is new to them, what they like and"
        " dislike. Use it to choose how to explain and what to leave out."
    ),
    "feedback": (
        'how to work here: a correction ("not like that"), and as well a way that proved right and is not obvious.'
        " Give the rule, then a line `**Why:**` with the reason, then a line `**How to apply:**` with when it holds."
    ),
    "project": (
        "what is under way, decided or due, by whom and why, as far as neither code nor history says it. Write it like"
        ' feedback: the fact, then why, then what follows from it. Write dates out in full, never as "next week".'
    ),
    "reference": (
        "where something is kept outside the repository (a tracker, a board, a document, a machine), and what it is"
        " good for."
    ),
}
"""What a memory of each type holds, for whoever writes one."""

NOT_WORTH = """\
- What code, configuration, history or the project's own instructions say: structure, conventions, who changed what,
  how a bug was mended.
- What only this task needs: its plan, its steps, its intermediate results.
- Passwords, tokens, keys, and whatever else must not lie about in plain text.
- Judgements of people that do not help the work.
"""
"""What no memory is made of, as a Markdown list."""

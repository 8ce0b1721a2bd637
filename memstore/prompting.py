"""The memory section for the system prompt of an agent that has none of its own.

The text is the same whenever it is asked for: no date, no count, nothing of what the store holds. So a prompt that
is cached with it stays cached, also over midnight.
"""

from __future__ import annotations

from memstore.core.model import INDEX_NAME
from memstore.core.taxonomy import MEANINGS, NOT_WORTH, TYPES

LOG_PATTERN = "logs/YYYY/MM/YYYY-MM-DD.md"
"""Where the log of a day lies: a pattern, because a prompt with today's date in it would be another one tomorrow."""

_HEAD = """\
# Memory

You have a memory of this project that outlasts the session and is shared with other sessions and worktrees. Each
memory is one fact in one Markdown file. Several sessions may write at the same time: memstore keeps what each wrote,
as long as you follow the ways to save below.
"""

_WHEN = """\
## When to read

- At the start, look at the index {index}; it has one line for each memory: title, file and what it is of use for.
- Search before you work on something that a correction, decision or person may concern, and whenever the user
  refers to what was said before: `memory_search`, or `memstore search WORDS`. The search knows memories that the
  index has no room for.
- If the user says to leave memory aside, act as if there were none: do not use, compare or mention it.

A memory says what was true when it was written. Its age is shown with it; the older it is, the more it is a hint only.
Before you act on one that names a file, a function, an option or a state of affairs, look whether that still
holds. Where memory and what you see differ, what you see counts, and the memory is to be mended.
"""

_SAVE = """\
## How to save

Save a fact when you learn it, and at once when the user asks for it. Search first: a memory that says it already
is changed, not doubled. One that proved wrong is corrected or deleted.

Use one of these, whichever you have:

1. The tools of the MCP server memstore. `memory_write` with `if_version` `new` makes a memory; with the version that
   `memory_read` gave it replaces one; `memory_edit` changes a part. On a conflict read the answer, join both texts
   and write again.
2. The command line. `memstore write NAME "text" -d "one line" --type TYPE` makes a memory, `memstore append NAME
   "text"` adds to one, `memstore show NAME` shows it with its token, `memstore write NAME --expect TOKEN` replaces it.
   The index gets its line by itself.
3. {files}

The description decides whether the memory is found later: say what it is about and when it matters, in one line.
Name other memories in the text as `[[their-name]]`.
"""

_FORM = """\
```markdown
---
name: short-name-in-kebab-case
description: one line that says when this is of use
metadata:
  type: {types}
---

The fact.
```
"""

_FILES = """\
Files, in {folder}. A memory is a file `short-name.md` of the form below; then add one line for it at the
   end of `{index}`: `- [Title](short-name.md) — what it is of use for`. No other text belongs into `{index}`. Change
   a file by an edit of the lines that matter, never by writing the whole of an old copy."""

_NO_FILES = """\
If you have neither, ask the user to save it; there is no folder of files to write to here. The text of a
   memory has the form below."""

_NOT = f"""\
## What not to save

{NOT_WORTH}
That holds also when the user asks for it: ask what in it was surprising or is not written down elsewhere, and
save that.
"""

_LOG = """\
## The log of the day

In this mode you do not arrange memories while you work. What would be worth saving is added as one short line to the
log of the day, by the tool `memory_note` of the MCP server memstore or by the command `memstore note "text"`: day and
time are filled in. Without either, write into the file of the day yourself, below the memory folder:

    {pattern}

YYYY, MM and DD stand for year, month and day of the present day; take them from the clock when you write, not from
this text. If the day has changed since your last line, go on in the new day's file. Make the directories and the
file when they are missing.

- Only add at the end. Change or remove no line that is there, whoever wrote it; a correction is a new line.
- A line of your own begins with `- HH:MM ±HH:MM `, the local time and how far it is from UTC. Then comes the fact, in
  words that can be understood alone, with its reason.
- Do not write topic files, and leave `{index}` alone: a later pass reads the logs and makes memories of them.
- The types above say what is worth a line, and the list below what is not.
"""


def section(folder: str | None, *, log: bool = False) -> str:
    """The section as Markdown. `folder`: the memory folder that the agent may write to, or None."""
    types = "\n".join(f"- `{name}`: {MEANINGS[name]}" for name in TYPES)
    kinds = f"## The four types\n\n{types}\n"
    shown = f"`{folder}/{INDEX_NAME}`" if folder else "(`memstore list` shows the same)"
    when = _WHEN.format(index=shown)
    if log:
        saving = _LOG.format(pattern=f"{folder}/{LOG_PATTERN}" if folder else LOG_PATTERN, index=INDEX_NAME)
    else:
        files = _FILES.format(folder=f"`{folder}`", index=INDEX_NAME) if folder else _NO_FILES
        saving = _SAVE.format(files=files) + "\n" + _FORM.format(types=" | ".join(TYPES))
    return "\n".join((_HEAD, kinds, when, saving, _NOT))

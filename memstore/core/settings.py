"""The settings: what there is to set, what each may be, and which of several values counts.

Of the environment, the store, the user's file and the default the first one that has a value counts. A value that
cannot be used is refused where it is asked for, and never passed over for the next one: whoever meant to switch
something off, or to limit what it costs, must not get the default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from memstore.errors import Defect, SettingRefused

Kind = Literal["bool", "int", "choice", "text", "path", "money"]
Source = Literal["environment", "store", "user", "default"]
Value = bool | int | str
"""What a setting holds. Money is a whole number of millionths of a US dollar, as `run.cost_microusd` is."""

DEFAULT_MODEL = "claude-sonnet-5-5"
"""The current Sonnet, as the `anthropic` SDK 2.14 names it."""

MICRO = 1_000_000

_TRUE, _FALSE = ("true", "on", "yes", "1"), ("false", "off", "no", "0")
_MONEY = re.compile(r"\$?([0-9]{1,6})(?:\.([0-9]{1,6}))?")
_NUMBER = re.compile(r"[0-9]{1,9}")
_WORD = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `least` and `most` bound an int. `personal`: only a person may set it, not an agent."""

    name: str
    kind: Kind
    default: Value
    meaning: str
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    personal: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "MEMSTORE_" + self.name.upper().replace(".", "_")

    @property
    def allowed(self) -> str:
        """What it may be, in a few words."""
        match self.kind:
            case "bool":
                return "true or false"
            case "choice":
                return " or ".join(self.choices)
            case "int":
                return f"a whole number from {self.least} to {self.most}"
            case "money":
                return "US dollars such as 0.50; 0 for no limit"
            case "text":
                return "1 to 200 ASCII characters without a space"
            case "path":
                return "a name, or a whole path, of at most 1000 characters"


_KEYS = (
    Key("extract.enabled", "bool", True, "whether what a turn taught is kept by itself"),
    Key(
        "extract.after_own_save", "choice", "skip",
        "a turn in which the agent saved memories itself: skip it, or look all the same", ("skip", "look"),
    ),
    Key("extract.every", "int", 1, "of the turns that hold anything, look at every so many", least=1, most=1_000),
    Key("extract.turns", "int", 5, "how often the model may act in one run", least=1, most=50),
    Key("extract.files", "int", 20, "how many memories one run may make, change and delete", least=1, most=1_000),
    Key(
        "extract.via", "choice", "auto",
        "who thinks: the Messages API, the client's own fork, or whichever there is", ("auto", "api", "client"),
    ),
    Key(
        "extract.bash", "choice", "off", "whether a run may start programs that only read, from a fixed table",
        ("off", "read"), personal=True,
    ),
    Key("claude", "path", "claude", "the client's program, for its own fork: on PATH, or a whole path", personal=True),
    Key("model.extract", "text", DEFAULT_MODEL, "the model that extracts, where the API is asked"),
    Key("model.notes", "text", DEFAULT_MODEL, "the model that keeps the notes of a session"),
    Key("model.dream", "text", DEFAULT_MODEL, "the model that dreams"),
    Key("budget.run", "money", 0, "what one run may cost", personal=True),
    Key("budget.day", "money", 0, "what the runs of one day may cost", personal=True),
    Key("notes.enabled", "bool", True, "whether a running session has notes"),
    Key("notes.start", "int", 10_000, "tokens of context before the first notes", least=1_000, most=10_000_000),
    Key("notes.every", "int", 5_000, "tokens of context from one update to the next", least=500, most=10_000_000),
    Key("notes.calls", "int", 3, "tool calls from one update to the next", least=0, most=1_000),
    Key("dream.enabled", "bool", True, "whether the memories are tidied by a dream from time to time, by itself"),
    Key("dream.hours", "int", 24, "hours from one dream to the next", least=0, most=8_760),
    Key("dream.sessions", "int", 5, "sessions since the last dream before the next", least=0, most=10_000),
    Key("dream.scan_minutes", "int", 10, "minutes from one count of these sessions to the next", least=0, most=1_440),
    Key(
        "dream.share", "int", 20, "percent of the memories that a dream may take away unasked",
        least=0, most=100, personal=True,
    ),
    Key("dream.turns", "int", 30, "how often the model may act in one dream", least=1, most=500),
    Key("recall.enabled", "bool", True, "whether a prompt is told the memories that surely bear on it"),
    Key(
        "recall.selector", "choice", "words",
        "who picks them: the prompt's words alone, or a model besides, whose picks come with the next prompt",
        ("words", "model"), personal=True,
    ),
    Key(
        "recall.semantic", "bool", False,
        "whether the meaning of texts counts besides their words, where the extra `semantic` is installed; in no hook",
    ),
    Key("model.recall", "text", DEFAULT_MODEL, "the model that picks memories for a prompt"),
    Key("assistant.enabled", "bool", False, "whether agents run as assistants, which keep a log of the day"),
)  # fmt: skip

KEYS: Mapping[str, Key] = {key.name: key for key in _KEYS}
"""All settings, in the order in which they are listed."""


def key_of(name: str) -> Key:
    """The setting of that name. Raises SettingRefused, which lists those that there are."""
    key = KEYS.get(name)
    if key is None:
        from difflib import get_close_matches  # most settings are named rightly

        meant = "".join(f"did you mean {near}? " for near in get_close_matches(name[:80], KEYS, 1))
        raise SettingRefused(f"there is no setting {name[:80]!r}", hint=f"{meant}there are {', '.join(KEYS)}")
    return key


def parse(name: str, text: str) -> Value:
    """The value that a text gives a setting. Raises SettingRefused, which says what is allowed."""
    key = key_of(name)
    value = _read(key, text.strip())
    if value is None:
        raise SettingRefused(f"{name} cannot be {text[:80]!r}", hint=f"it is {key.allowed}")
    return value


def written(name: str, value: Value) -> str:
    """The text that `parse` reads as this value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if key_of(name).kind == "money" and isinstance(value, int):
        whole, rest = divmod(value, MICRO)
        return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")
    return str(value)


def _read(key: Key, text: str) -> Value | None:
    word = text.lower()
    match key.kind:
        case "bool":
            return True if word in _TRUE else False if word in _FALSE else None
        case "choice":
            return word if word in key.choices else None
        case "int":
            number = int(text) if _NUMBER.fullmatch(text) else -1
            return number if key.least <= number <= key.most else None
        case "money":
            found = _MONEY.fullmatch(text)
            return None if found is None else int(found[1]) * MICRO + int((found[2] or "").ljust(6, "0"))
        case "text":
            return text if _WORD.fullmatch(text) else None
        case "path":
            whole = text.startswith("/") or "/" not in text  # no path from wherever it happens to run
            return text if 0 < len(text) <= 1_000 and text.isprintable() and whole else None


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that hold in one place. `store` and `user`: texts by the names of keys."""

    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    store: Mapping[str, str] = field(default_factory=dict[str, str])
    user: Mapping[str, str] = field(default_factory=dict[str, str])

    def origin_of(self, name: str) -> Source:
        """Whose value counts. An environment variable that is empty counts as none."""
        key = key_of(name)
        if self.environment.get(key.variable):
            return "environment"
        return "store" if name in self.store else "user" if name in self.user else "default"

    def get(self, name: str) -> Value:
        """The value that counts. Raises SettingRefused, naming its source, where it cannot be used."""
        key, source = key_of(name), self.origin_of(name)
        if source == "default":
            return key.default
        sources = {
            "environment": (self.environment.get(key.variable, ""), f"${key.variable}"),
            "store": (self.store.get(name, ""), "the repository's settings"),
            "user": (self.user.get(name, ""), "the user's settings"),
        }
        text, where = sources[source]
        try:
            return parse(name, text)
        except SettingRefused as refused:
            raise SettingRefused(f"{refused} ({where})", hint=refused.hint) from None

    def flag(self, name: str) -> bool:
        """The value of a setting that is true or false."""
        value = self.get(name)
        if not isinstance(value, bool):
            raise Defect(f"{name} is not true or false")
        return value

    def number(self, name: str) -> int:
        """The value of a whole number; of money in millionths of a US dollar."""
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Defect(f"{name} is no number")
        return value

    def word(self, name: str) -> str:
        """The value of a choice or a text."""
        value = self.get(name)
        if not isinstance(value, str):
            raise Defect(f"{name} is no text")
        return value

"""What is said to a model and what it answers, as values; what the tokens of an answer cost.

The words are those of the Messages API: a conversation is messages of two roles made of blocks; tools are called by
the model in its answers, and their results are blocks of the next message from us.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from memstore.core.usage import Usage

CUT = ("max_tokens", "model_context_window_exceeded")
"""The reasons to stop that cut an answer off, wherever it had got to."""

PAUSED = "pause_turn"
"""The reason to stop of a model that has more to say as soon as it is asked."""

LAST_WORD = ("end_turn", "stop_sequence")
"""The reasons to stop of a model that has said all that it wanted to say."""


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model calls a tool. `whole`: False where the call was cut off or its input is no JSON object.

    A call that is not whole must never be acted on: half of a text is not what was meant.
    """

    id: str
    name: str
    input: Mapping[str, object]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to; `id` is the call's. `error`: it failed, and the text says why."""

    id: str
    text: str
    error: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A block of the model's that goes back as it came: its thinking, which the API checks, and kinds yet unknown."""

    data: Mapping[str, object]


Block = Text | ToolUse | ToolResult | Kept


def is_blank(block: Block) -> bool:
    """Whether these are words that say nothing: the API sends them, and refuses to take them back."""
    return isinstance(block, Text) and not block.text.strip()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


def user(*texts: str) -> Message:
    """A message from us, in words."""
    return Message("user", tuple(Text(text) for text in texts))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call. `schema`: JSON schema of its input."""

    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked.

    `limit`: the tokens that the answer may have at most, thinking and all. `schema`: JSON schema that the words of
    the answer must fit, or None. Tools and system come first in what the API caches: who asks several times keeps
    them the same, to the byte.
    """

    model: str
    messages: tuple[Message, ...]
    limit: int
    system: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    schema: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `stop`: why it ended, in the API's word. `model`: who answered, as the API names it.

    `charge`: what whoever answered says that it cost, in millionths of a US dollar; None: nothing is said.
    """

    blocks: tuple[Block, ...]
    stop: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    charge: int | None = None

    @property
    def text(self) -> str:
        """Its words."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Text) and block.text)

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """The calls of tools in it, in their order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))

    @property
    def cut(self) -> bool:
        """Whether it was cut off before its end."""
        return self.stop in CUT

    @property
    def cost(self) -> int | None:
        """What it cost, in millionths of a US dollar; None where the model's price or its tokens are not known."""
        if self.charge is not None:
            return self.charge
        return None if self.usage == Usage() else cost(self.model, self.usage)


class Model(Protocol):
    """Whoever answers."""

    def reply(self, request: Request) -> Reply:
        """The answer to a request. Raises ModelError."""
        ...


# US dollars for a million tokens: input, output, read from the cache, written to it for five minutes. From Anthropic's
# price list (platform.claude.com/docs/en/about-claude/pricing) as of November 2026. A gateway may charge otherwise.
_PRICES: Mapping[str, tuple[float, float, float, float]] = {
    "claude-fable-5-2": (8, 40, 0.20, 10),
    "claude-fable-5-1": (10, 50, 0.25, 12.50),
    "claude-fable-5": (10, 50, 1, 12.50),
    "claude-mythos-5-1": (10, 50, 0.25, 12.50),
    "claude-mythos-5": (10, 50, 1, 12.50),
    "claude-opus-5-5": (4, 20, 0.20, 5),
    "claude-opus-5": (5, 25, 0.50, 6.25),
    "claude-opus-4-8": (5, 25, 0.50, 6.25),
    "claude-opus-4-7": (5, 25, 0.50, 6.25),
    "claude-opus-4-6": (5, 25, 0.50, 6.25),
    "claude-opus-4-5": (5, 25, 0.50, 6.25),
    "claude-sonnet-5-5": (2, 10, 0.10, 2.50),
    "claude-sonnet-5": (2, 10, 0.20, 2.50),
    "claude-sonnet-4-6": (3, 15, 0.30, 3.75),
    "claude-sonnet-4-5": (3, 15, 0.30, 3.75),
    "claude-haiku-5-5": (0.10, 0.50, 0.01, 0.125),
    "claude-haiku-4-5": (1, 5, 0.10, 1.25),
}

_LONG = 100_000
_LONG_PRICES: Mapping[str, tuple[float, float, float, float]] = {"claude-haiku-5-5": (0.50, 2.50, 0.05, 0.625)}
"""What a whole answer costs where more than `_LONG` tokens went in."""

PRICED = tuple(_PRICES)
"""The models whose prices are known."""


def priced(model: str) -> bool:
    """Whether the price of a model is known."""
    return _family(model) in _PRICES


def cost(model: str, usage: Usage) -> int | None:
    """What one answer costs in millionths of a US dollar, rounded up; None where the model's price is not known.

    Of several answers the costs are added, not the tokens: a price may depend on how much went into one.
    """
    family = _family(model)
    if family not in _PRICES:
        return None
    long = usage.prompt > _LONG and family in _LONG_PRICES
    prices = _LONG_PRICES[family] if long else _PRICES[family]
    tokens = (usage.input, usage.output, usage.cache_read, usage.cache_written)
    # A dollar for a million tokens is a millionth of a dollar for one; in thousandths of that all prices are whole.
    thousandths = sum(round(1000 * price) * number for price, number in zip(prices, tokens, strict=True))
    return -(-thousandths // 1000)


def _family(model: str) -> str:
    """The name without the date of a snapshot: claude-haiku-4-5-20251001."""
    name, _, date = model.rpartition("-")
    return name if len(date) == 8 and date.isascii() and date.isdigit() else model

"""How many tokens went in and out, as the Messages API counts them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer or of several. Input, read from the cache and written to it do not overlap."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_written + other.cache_written,
        )

    @property
    def prompt(self) -> int:
        """All tokens that went in."""
        return self.input + self.cache_read + self.cache_written

    @property
    def hit(self) -> int:
        """How many per cent of what went in came from the cache."""
        return round(100 * self.cache_read / self.prompt) if self.prompt else 0

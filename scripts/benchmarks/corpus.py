"""Made-up memories, English and Chinese mixed, with words as unevenly frequent as in real text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random

_FUNCTION_WORDS = (
    "the of and to in is that for it was on are as with be at by this have from or had not but what all were "
    "when we there can an your which their if will each how up out them then so some would these has two more"
)
_STARTS = "b br c ch cl cr d dr f fl g gr h j k l m n p pl pr qu r s sc sh sl sp st str t th tr v w"
_VOWELS = "a e i o u ai ea ee oa ou"
_ENDS = "b ck d g k l ll m n nd ng nt p r rd rk rm s sh ss st t x"
_SUFFIXES = ("", "", "", "", "s", "ed", "ing", "er", "ion", "al", "ly", "ment", "able")
_TYPES = ("user", "feedback", "project", "reference")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words with their cumulative weights."""

    words: list[str]
    weights: list[float]

    def some(self, random: Random, count: int) -> list[str]:
        """So many words, the frequent ones more often."""
        return random.choices(self.words, cum_weights=self.weights, k=count)


class Corpus:
    """The same memories for the same seed."""

    def __init__(self, seed: int = 7) -> None:
        random = Random(seed)
        common = _FUNCTION_WORDS.split()
        self.english = _zipf(common + _distinct(random, 9_000, _english_word))
        self.telling = Vocabulary(
            self.english.words[len(common) :],
            [weight - self.english.weights[len(common) - 1] for weight in self.english.weights[len(common) :]],
        )
        characters = [chr(0x4E00 + at) for at in random.sample(range(0x5000), 2_400)]
        hanzi = _zipf(characters)
        self.chinese = _zipf(_distinct(random, 12_000, lambda random: _chinese_word(random, hanzi)))
        self.identifiers = _zipf(_distinct(random, 4_000, lambda random: _identifier(random, self.telling.words)))
        self._seed = seed

    def memories(self, count: int, size: int = 1_500) -> Iterator[tuple[str, bytes]]:
        """(path, text) of so many memories of about `size` bytes."""
        for number in range(count):
            yield f"note_{number:06}.md", self.text(number, size)

    def text(self, number: int, size: int = 1_500) -> bytes:
        """The text of one memory."""
        random = Random(self._seed * 1_000_003 + number)
        title = " ".join(self.english.some(random, 3)) if number % 2 else "".join(self.chinese.some(random, 3))
        header = f"---\nname: {title} {number}\ndescription: {self.sentence(random, number % 2)}\n"
        lines = [f"{header}metadata:\n  type: {_TYPES[number % 4]}\n---\n"]
        length = len(lines[0].encode())
        while length < size:
            line = self.sentence(random, random.randrange(2))
            lines.append(f"- {line}" if random.random() < 0.4 else line)
            length += len(line.encode()) + 1
        return ("\n".join(lines) + "\n").encode()

    def sentence(self, random: Random, english: int) -> str:
        """A line of English or Chinese, with an identifier now and then."""
        if english:
            words = self.english.some(random, random.randrange(8, 18))
            if random.random() < 0.5:
                words.insert(random.randrange(len(words)), f"`{self.identifiers.some(random, 1)[0]}`")
            return " ".join(words).capitalize() + "."
        words = self.chinese.some(random, random.randrange(8, 18))
        if random.random() < 0.5:
            words.insert(random.randrange(len(words)), self.identifiers.some(random, 1)[0])
        return "".join(words[: len(words) // 2]) + "，" + "".join(words[len(words) // 2 :]) + "。"


def _zipf(words: list[str]) -> Vocabulary:
    return Vocabulary(words, list(accumulate(1 / (rank + 3) for rank in range(len(words)))))


def _distinct(random: Random, count: int, make: Callable[[Random], str]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[make(random)] = None
    return list(found)


def _english_word(random: Random) -> str:
    syllables = random.choice((1, 2, 2, 2, 3))
    starts, vowels = _STARTS.split(), _VOWELS.split()
    word = "".join(random.choice(starts) + random.choice(vowels) for _ in range(syllables))
    return word + random.choice(_ENDS.split()) + random.choice(_SUFFIXES)


def _chinese_word(random: Random, hanzi: Vocabulary) -> str:
    return "".join(hanzi.some(random, random.choice((2, 2, 2, 2, 3, 4))))


def _identifier(random: Random, words: list[str]) -> str:
    parts = random.choices(words[:2_000], k=random.choice((2, 2, 3)))
    shape = random.randrange(5)
    if shape == 0:
        return "_".join(parts)
    if shape == 1:
        return parts[0] + "".join(map(str.capitalize, parts[1:]))
    if shape == 2:
        return "".join(map(str.capitalize, parts))
    return ".".join(parts) if shape == 3 else f"src/{'/'.join(parts)}.py"

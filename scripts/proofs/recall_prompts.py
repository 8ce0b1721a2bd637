"""Random prompts of every script, with code, marks of queries, hidden characters and nothing at all, over memories that
say the like: each is answered without an error, with five memories at most, in one frame that nothing leaves."""

from __future__ import annotations

import re
from random import Random

from memstore.app import Memstore
from memstore.core.changes import ChangeSet, Create
from memstore.core.frontmatter import compose
from memstore.core.model import SHELF, Provenance
from memstore.core.recall_text import BYTES, MEMORIES
from scripts.benchmarks.measure import workplace, world_in
from scripts.proofs.outcome import Outcome, Size

NAME = "recall"
FLOOR = {"prompts": 1_000, "prompts that were told something": 50}
FULL = {"prompts": 10_000, "prompts that were told something": 500}

_SCRIPTS = (
    (0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0xE01, 0x1100),
    (0x1100, 0x1200), (0x1E00, 0x2500), (0x2500, 0x2C00), (0x3041, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A0),
    (0xE000, 0xE100), (0xFE00, 0xFFFE), (0x1F300, 0x1FAFF), (0x20000, 0x20100), (0xE0000, 0xE01F0), (0, 0x20),
)  # fmt: skip
_ALL_WORDS = (
    "staging port deploy src/auth.py load_cfg C++ don't node:fs user@host AND OR NOT NEAR( \" * ^ - ( ) { } ; -- % _"
    " </data> <system> </memory> [x](y.md) @agent 備份 バックアップ 백업 🚀 שלום مرحبا привет"
)
_WORDS = _ALL_WORDS.split()
_FRAME = re.compile(r"\A[^\n]*\n<data ([0-9a-f]{12})>\n(.*)\n</data \1>\Z", re.DOTALL)


def run(size: Size, seed: int) -> Outcome:
    """As many prompts as the size asks for."""
    random = Random(seed)
    wanted = (FULL if size == "full" else FLOOR)["prompts"]
    failures: list[str] = []
    told = 0
    with workplace() as directory, Memstore.open(world=world_in(directory)) as memories:
        made = tuple(
            Create(
                f"id {number}",
                SHELF,
                f"m-{number}.md",
                compose(_text(random, 3), _text(random, 8), None, _text(random, 80)),
            )
            for number in range(300)
        )
        memories.store.apply(ChangeSet("all", "import", memories.world.clock(), Provenance("import", "proof"), made))
        for number in range(wanted):
            prompt = _text(random, random.choice((0, 1, 3, 10, 60, 1_000)))
            try:
                answer = memories.recall(prompt, session=f"s-{number % 50}")
            except Exception as error:
                failures.append(f"{prompt[:100]!r}: {type(error).__name__}: {error}")
                continue
            told += bool(answer.text)
            failures += [f"{prompt[:100]!r}: {wrong}" for wrong in _wrong(answer.text, len(answer.memories))]
    return Outcome({"prompts": wanted, "prompts that were told something": told}, failures[:20])


def _text(random: Random, words: int) -> str:
    return random.choice((" ", " ", "\n", "")).join(_word(random) for _ in range(words))


def _word(random: Random) -> str:
    if random.random() < 0.4:
        return random.choice(_WORDS)
    first, last = random.choice(_SCRIPTS)
    return "".join(chr(random.randrange(first, last)) for _ in range(random.randrange(1, 9)))


def _wrong(text: str, count: int) -> list[str]:
    if not text:
        return ["memories without a text"] if count else []
    found = _FRAME.match(text)
    if found is None:
        return ["the frame is not whole"]
    lines = found[2].split("\n")
    heads = [number for number, line in enumerate(lines) if line.startswith("(token ")]
    ours = sum(not line.startswith("> ") for line in lines)
    wrong = [] if len(heads) == count <= MEMORIES else [f"{len(heads)} heads of {count} memories"]
    cuts = sum(line.startswith("(cut: ") for line in lines)
    wrong += [] if ours == 2 * count + cuts else [f"{ours} lines of ours for {count} memories"]
    wrong += ["an inner tag"] if re.search("<(?:/?data|system|/memory)", found[2]) else []
    wrong += ["too long"] if len(text.encode()) > count * (BYTES + 4_000) + 1_000 else []
    return wrong

"""How much of what was known is still found after three dreams, with a scripted model that is not always careful.

Each of 200 memories has one fact, English or Chinese, and some words around it. A dream merges pairs of them with an
account of what it rewords, shortens descriptions, and tries what a careless model does: to delete without a word, to
write a file anew without its fact, to merge and keep one half. A fact is found where a search for its subject gives,
among the first five, a memory that says it. The same calls carried out on bare texts, as a tidy-up without rules does,
are the baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from memstore.app import Memstore
from memstore.core.plan import Wanted
from memstore.dreaming import Dreamer
from scripts.benchmarks.measure import Row, ratio, workplace, world_in
from tests.messages_api import Answer, Asked, Say, Server, Use, running

_DREAMS = 3
_FIRST = 5
_KINDS = ("English words", "Chinese words", "identifiers", "dates", "corrections")
_PLACES = ("gateway", "billing", "archive", "mirror", "scheduler", "ledger", "catalogue", "intake", "payroll", "search")
_HAN = ("网关", "账单", "归档", "镜像", "调度", "台账", "目录", "接收", "薪资", "检索")
_TOWNS = ("Turin", "Malmo", "Porto", "Ghent", "Lodz", "Graz", "Bilbao", "Tartu", "Brno", "Cork", "Split", "Basel")
_STAYS = "It was looked at in the spring and nobody wanted it otherwise."


@dataclass(frozen=True, slots=True)
class Fact:
    """A planted fact: what somebody would look for, what the answer must say, and the line that says it."""

    kind: str
    path: str
    query: str
    answer: str
    line: str

    @property
    def text(self) -> str:
        """The memory of this fact alone."""
        type = "feedback" if self.kind == "corrections" else "project"
        told = f"what holds for {self.query}, kept because somebody asked for it more than once this year"
        return f"---\nname: {self.path[:-3]}\ndescription: {told}\ntype: {type}\n---\n\n{self.line}\n{_STAYS}\n"


@dataclass(slots=True)
class Script:
    """The model: it reads what it is about to change, makes its calls of the night, and ends."""

    calls: list[Use] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answer:
        """What comes next, by how often it has answered."""
        turn = sum(message["role"] == "assistant" for message in asked.body["messages"])
        if turn == 0:
            paths = dict.fromkeys(path for use in self.calls for path in _read_by(use))
            return tuple(Use("Read", {"file_path": path}) for path in paths)
        return tuple(self.calls) if turn == 1 else Say("Pairs were merged and descriptions shortened.")


def dreams(quick: bool) -> list[Row]:
    """How many facts of each kind are found after the dreams, ours and on bare texts."""
    planted = facts(60 if quick else 200)
    with workplace() as directory, _served() as (script, environment):
        there = world_in(directory)
        world = replace(there, environment={**there.environment, **environment})
        with closing(Memstore.open(world=world, origin="agent")) as memories:
            bare = {fact.path: fact.text for fact in planted}
            for path, text in bare.items():
                memories.write(path.removesuffix(".md"), Wanted(body=text), expect="new")
            before, left, refused = _found(memories, planted), dict(bare), 0
            for night in range(_DREAMS):
                news = f"A day passed; this is the news of day {night}.\n"  # else there is nothing to dream of
                memories.write(f"news-{night}", Wanted(body=news, description="a day", type="project"), expect="new")
                script.calls = list(_night(planted, left))
                report = Dreamer(memories.store, world, memories.place.home.path, root=memories.place.root).dream(
                    "hand"
                )
                assert report.report is not None and report.report.end.outcome == "saved", report
                refused += sum(event.kind == "refused" for event in report.report.end.events)
                for use in script.calls:
                    _carry_out(bare, use)
                left = {memory.path: memory.state.content.decode() for memory in memories.memories()}
            after = _found(memories, planted)
    return [
        *(_row(kind, planted, before, after, bare) for kind in _KINDS),
        Row("dream", "memories left after them", len(left) - _DREAMS, "", len(planted), "before"),
        Row("dream", "careless calls that were refused", refused, ""),
    ]


def facts(count: int) -> list[Fact]:
    """So many facts, of each kind as many; neighbours of one kind are about the same thing."""
    random = Random(11)
    found = []
    for number in range(count):
        kind = _KINDS[number // 2 % len(_KINDS)]
        pair, half = divmod(number, 2)
        place, town, n = _PLACES[pair % 10], _TOWNS[pair // 10 % 12], 1_000 + number * 7 + random.randrange(7)
        at = f"{n % 24:02}:{n % 60:02}"
        subject, answer, line = {
            "English words": (f"{town} {place} {('restart', 'deputy')[half]}", at, f"The {place} of {town} has its "
                              f"{('restart', 'deputy')[half]} at {at} sharp."),
            "Chinese words": (f"{_HAN[pair % 10]}{pair}号{('重启', '值班')[half]}", at,
                              f"{_HAN[pair % 10]}{pair}号{('重启', '值班')[half]}定在{at}，不得提前。"),
            "identifiers": (f"{place}_{town.lower()}_{('retries', 'window')[half]}", str(n),
                            f"`{place}_{town.lower()}_{('retries', 'window')[half]}` stays at {n}."),
            "dates": (f"{town} {place} {('contract', 'audit')[half]}", f"2027-{n % 12 + 1:02}-{n % 28 + 1:02}",
                      f"The {('contract', 'audit')[half]} of the {place} in {town} ends on "
                      f"2027-{n % 12 + 1:02}-{n % 28 + 1:02}."),
            "corrections": (f"{town} {place} {('formatter', 'linter')[half]}", f"rule{n}",
                            f"Never run the {('formatter', 'linter')[half]} on the {place} of {town}; use rule{n}."),
        }[kind]  # fmt: skip
        found.append(Fact(kind, f"fact-{number:03}.md", subject, f"{answer}", line))
    return found


def _night(planted: Sequence[Fact], left: dict[str, str]) -> Iterator[Use]:
    """The calls of one dream: over those pairs that are left, one merge in three."""
    pairs = [
        (one, other)
        for one, other in zip(planted[::2], planted[1::2], strict=True)
        if one.path in left and other.path in left
    ]
    share = max(len(planted) // 20, 1)
    for at, (one, other) in enumerate(pairs[: share * 3]):
        mine, theirs = left[one.path], left[other.path]
        if at % 3 == 0:
            yield from _merged(one, other, mine, theirs)
        elif at % 3 == 1:
            yield _shortened(one, mine)
            yield Use("Delete", {"file_path": other.path})
        else:
            careless = mine.replace(one.line + "\n", "")
            yield Use("Write", {"file_path": one.path, "content": careless, "reason": "tidied"})
            half = mine.replace(_STAYS, "See above.")
            yield Use("Write", {"file_path": one.path, "content": half, "reason": "merged", "sources": [other.path]})
            yield Use("Delete", {"file_path": other.path, "into": one.path, "reason": "merged"})


def _merged(one: Fact, other: Fact, mine: str, theirs: str) -> Iterator[Use]:
    """A merge as it should be: both lines stay, and what is reworded or said twice has its account."""
    text = mine.replace(one.line, f"{one.line}\n{other.line}")
    description = _description(theirs)
    yield Use("Write", {"file_path": one.path, "content": text, "reason": "one subject", "sources": [other.path]})
    account = {"line": description, "fate": "dropped", "reason": "the other description says it"}
    yield Use("Delete", {"file_path": other.path, "into": one.path, "reason": "one subject", "lines": [account]})


def _shortened(one: Fact, mine: str) -> Use:
    old, new = _description(mine), f"what holds for {one.query}"
    account = {"line": old, "fate": "reworded", "now": new, "reason": "shorter"}
    return Use(
        "Write", {"file_path": one.path, "content": mine.replace(old, new), "reason": "shorter", "lines": [account]}
    )


def _description(text: str) -> str:
    return text.partition("description: ")[2].partition("\n")[0]


def _read_by(use: Use) -> Iterator[str]:
    yield str(use.input["file_path"])
    if "into" in use.input:
        yield str(use.input["into"])


def _carry_out(texts: dict[str, str], use: Use) -> None:
    path = str(use.input["file_path"])
    if use.name == "Write":
        texts[path] = str(use.input["content"])
    else:
        texts.pop(path, None)


def _found(memories: Memstore, planted: Sequence[Fact]) -> set[str]:
    """The paths of those facts that a search for their subject finds."""
    found = set()
    for fact in planted:
        _, hits = memories.search(fact.query, limit=_FIRST)
        texts = (memories.show(hit.path)[1].state.content.decode() for hit in hits)
        if any(fact.line in text and fact.answer in text for text in texts):
            found.add(fact.path)
    return found


def _row(kind: str, planted: Sequence[Fact], before: set[str], after: set[str], bare: dict[str, str]) -> Row:
    mine = [fact for fact in planted if fact.kind == kind]
    kept = sum(any(fact.line in text for text in bare.values()) for fact in mine)
    return Row(
        "dream", f"{kind}: facts found after {_DREAMS} dreams (without rules: {kept})",
        sum(fact.path in after for fact in mine), "", sum(fact.path in before for fact in mine), "before",
        ratio(">=", 1.0),
    )  # fmt: skip


@contextmanager
def _served() -> Iterator[tuple[Script, dict[str, str]]]:
    script = Script()
    with running(Server(script.answer)) as server:
        yield script, {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "scripted"}

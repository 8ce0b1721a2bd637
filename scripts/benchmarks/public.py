"""Public retrieval data as memories: LongMemEval-S and LoCoMo, read where they lie and never copied.

Each unit is a memory as an import would make it: a session with its date as its name, a turn with its speaker and date
as its name. All files of a set are read, whatever part of it they hold.
"""

from __future__ import annotations

import json
import lzma
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_NO_ANSWER = 5  # LoCoMo's category of questions that have none


@dataclass(frozen=True, slots=True)
class Unit:
    """One memory."""

    key: str
    name: str
    description: str
    body: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the keys of the units that hold the evidence."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One store's memories, and what is asked of them."""

    units: tuple[Unit, ...]
    questions: tuple[Question, ...]


def long_mem_eval(directory: str) -> Iterator[Case]:
    """One store for each question: its sessions."""
    for path in _files(os.path.join(directory, "longmemeval"), ".jsonl.xz"):
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            sessions: dict[str, list[dict[str, str]]] = json.loads(next(lines))["sessions"]
            for line in lines:
                asked = json.loads(line)
                if asked["question_id"].endswith("_abs") or not asked["evidence"]:
                    continue  # there is nothing to be found
                dated = zip(asked["sessions"], asked["dates"], strict=True)
                units = tuple(_session(key, date, sessions[key]) for key, date in dated)
                yield Case(units, (Question(asked["question"], frozenset(asked["evidence"])),))


def locomo(directory: str, *, turns: bool) -> Iterator[Case]:
    """One store for each conversation: its sessions, or its turns."""
    for path in _files(os.path.join(directory, "locomo"), ".json"):
        with open(path, encoding="utf-8") as file:
            conversations = json.load(file)
        for conversation in conversations:
            units = tuple(_conversation(conversation["conversation"], turns))
            known = {unit.key for unit in units}
            questions = []
            for asked in conversation["qa"]:
                places = re.findall(r"D(\d+):(\d+)", " ".join(asked["evidence"]))
                keys = {f"{int(session)}:{int(turn)}" if turns else str(int(session)) for session, turn in places}
                if asked["category"] != _NO_ANSWER and keys & known:
                    questions.append(Question(asked["question"], frozenset(keys & known)))
            yield Case(units, tuple(questions))


def _session(key: str, date: str, turns: list[dict[str, str]]) -> Unit:
    body = "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)
    return Unit(key, date, "", body)


def _conversation(conversation: dict[str, Any], turns: bool) -> Iterator[Unit]:
    speakers = f"{conversation['speaker_a']} and {conversation['speaker_b']}"
    for number in range(1, len(conversation)):
        said = conversation.get(f"session_{number}")
        if not said:
            continue
        date = conversation[f"session_{number}_date_time"]
        if turns:
            for turn in said:
                key = turn["dia_id"].removeprefix("D")
                yield Unit(key, f"{turn['speaker']}, {date}", "", _words(turn))
        else:
            body = "\n".join(f"{turn['speaker']}: {_words(turn)}" for turn in said)
            yield Unit(str(number), date, speakers, body)


def _words(turn: dict[str, str]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shares {caption}]" if caption else turn["text"]


def _files(directory: str, ending: str) -> list[str]:
    if not os.path.isdir(directory):
        return []
    return sorted(entry.path for entry in os.scandir(directory) if entry.name.endswith(ending))

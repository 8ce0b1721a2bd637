"""Workers of the extraction as processes of their own, one of which is killed; and the model that they ask."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from multiprocessing.connection import Connection as Pipe
from typing import Any

import anthropic as anthropic  # loaded once, for all of them

from memstore.extracting import Worker
from memstore.store.store import Store
from memstore.world import World
from tests.messages_api import Answer, Asked, Say
from tests.talks import write

FACT = re.compile(r"remember fact (\w+) from now on")


def fact(name: str) -> str:
    """What a person says."""
    return f"remember fact {name} from now on"


def model(asked: Asked) -> Answer:
    """Keeps each fact that it is shown, in one turn, and then says so."""
    last = asked.body["messages"][-1]["content"]
    if any(block["type"] == "tool_result" for block in last):
        return Say("Kept what was new.")
    said = "\n".join(block["text"] for block in last if block["type"] == "text").partition("The conversation")[2]
    names = dict.fromkeys(FACT.findall(said))
    return tuple(write(f"fact_{name}", f"Fact {name}.\n", fact(name)) for name in names) or Say("Nothing is worth it.")


def killed(said: Pipe, home: str, store: str, environment: Mapping[str, str], now: int, nth: int) -> None:
    """Drains the jobs, and is killed before its `nth` statement that is no mere question."""
    world = World(environment, "/", environment["HOME"], lambda: now, os.urandom, False)
    opened = Store.open(os.path.join(home, "stores", store), store, world.clock)
    count = 0

    def before(_: Any, statement: str, __: Any) -> bool:
        nonlocal count
        count += not statement.lstrip().upper().startswith("SELECT")
        if count == nth:
            said.send("killed")
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    opened._link.connection.exec_trace = before
    Worker(opened, world, home).drain()
    said.send("ended")
    os.kill(os.getpid(), signal.SIGKILL)

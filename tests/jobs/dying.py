"""A worker that is killed: at a statement of its store, or around an answer of its model.

Started as a process of its own, it loads all that a run needs and then lets one child after the other die, as a line
of its input says; a child is killed with nothing tidied up.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from memstore.jobs.llm import ApiModel
from memstore.jobs.messages import Model, Reply, Request
from tests.jobs.scene import Scene
from tests.store.killed import die_before

ROOT = Path(__file__).parents[2]
DONE = "acknowledged"


@dataclass(frozen=True, slots=True)
class Death:
    """When a worker dies: before its `nth` statement, or before or after the `nth` answer of its model."""

    at: str
    nth: int


class Workers:
    """The process whose children die."""

    def __init__(self, process: subprocess.Popen[str], environment: Mapping[str, str]) -> None:
        self._process = process
        self._environment = environment

    def work(self, directory: Path, death: Death, settings: Mapping[str, str]) -> str:
        """Works on one job of the store until death. Says `killed`, or `acknowledged` where the run was over."""
        order = {
            "directory": str(directory), "death": asdict(death), "settings": dict(settings),
            "environment": dict(self._environment),
        }  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@contextmanager
def workers(environment: Mapping[str, str]) -> Iterator[Workers]:
    """A process whose children ask the model that the environment names."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.jobs.dying"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Workers(process, environment)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(60) == 0


@dataclass
class Dying:
    """A model around whose answers its worker dies."""

    model: Model
    death: Death
    asked: int = 0

    def reply(self, request: Request) -> Reply:
        self.asked += 1
        self._die("before")
        reply = self.model.reply(request)
        self._die("after")
        return reply

    def _die(self, at: str) -> None:
        if self.death == Death(at, self.asked):
            os.kill(os.getpid(), signal.SIGKILL)


def work(directory: Path, death: Death, environment: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """The run of the job that waits, in a child."""
    scene = Scene(directory, model=Dying(ApiModel.of(environment, retries=0), death), ids="dead")
    scene.settings |= settings
    if death.at == "statement":
        die_before(scene.store, death.nth, lambda: None)
    scene.work()
    (directory / DONE).touch()
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Reads orders, and writes what became of each."""
    import anthropic  # the children have it loaded

    del anthropic
    for line in sys.stdin:
        order = json.loads(line)
        directory = Path(order["directory"])
        child = os.fork()
        if child == 0:
            try:
                work(directory, Death(**order["death"]), order["environment"], order["settings"])
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print((DONE if (directory / DONE).exists() else "killed") if killed else "failed", flush=True)


if __name__ == "__main__":
    main()

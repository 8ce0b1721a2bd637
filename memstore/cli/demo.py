"""`memstore demo`: the main job on sample memories, in a directory of its own that is removed afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

import click

import memstore
from memstore.app import Memstore
from memstore.cli.demo_writer import MERGED, SHARED
from memstore.core.model import INDEX_NAME
from memstore.core.plan import Wanted
from memstore.errors import InputRefused
from memstore.store.ddl import sample_directory
from memstore.world import World

_PASSED_ON = ("PATH", "PYTHONSAFEPATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(memstore.__file__)))
_GIT = ("-c", "user.name=demo", "-c", "user.email=demo@example.invalid", "-c", "init.defaultBranch=main")


@dataclass(frozen=True, slots=True)
class Stage:
    """The directory of the demonstration: a repository with two linked worktrees, and a home."""

    directory: str
    repository: str
    worktrees: tuple[str, str]
    environment: dict[str, str]

    def memories(self) -> Memstore:
        """The memories of the repository, as a person at a terminal sees them."""
        world = replace(World.real(self.repository), environment=self.environment, home=self.environment["HOME"])
        return Memstore.open(world=world, origin="person")


@click.command()
@click.option("--writers", default=8, show_default=True, help="How many processes write at once.")
@click.option("--rounds", default=25, show_default=True, help="How often each of them writes to both shared memories.")
@click.option("--keep", is_flag=True, help="Keep the directory, and say where it is.")
def demo(writers: int, rounds: int, keep: bool) -> None:
    """Show the main job: take a memory directory in, write to it from many processes, lose nothing."""
    if not (1 <= writers <= 64 and 1 <= rounds <= 1000):
        raise InputRefused("writers must be 1 to 64 and rounds 1 to 1000")
    if shutil.which("git") is None:
        raise InputRefused("the demonstration needs git on PATH", hint="install git; memstore itself never runs it")
    directory = tempfile.mkdtemp(prefix="memstore-demo-")
    try:
        stage = _set_up(directory)
        with stage.memories() as memories:
            _take_over(memories)
            kept = _write_at_once(stage, memories, writers, rounds)
            _look_at_files(memories)
            _search(memories)
            _history_and_undo(memories)
    finally:
        if keep:
            click.echo(f"\nKept: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    if not kept:
        sys.exit(1)


def _set_up(directory: str) -> Stage:
    home = os.path.join(directory, "home")
    repository = os.path.join(directory, "shop")
    worktrees = (os.path.join(directory, "shop-pay"), os.path.join(directory, "shop-search"))
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {
        "HOME": home,
        "MEMSTORE_HOME": os.path.join(directory, "memstore"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": os.pathsep.join([_PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    os.makedirs(home)
    _git(environment, directory, "init", "-q", repository)
    _git(environment, repository, "commit", "-q", "--allow-empty", "-m", "start")
    for worktree in worktrees:
        _git(environment, repository, "worktree", "add", "-q", "-b", os.path.basename(worktree), worktree)
    stage = Stage(directory, repository, worktrees, environment)
    with stage.memories() as memories:
        os.makedirs(os.path.dirname(memories.place.placement.directory))
        shutil.copytree(sample_directory(), memories.place.placement.directory)
    click.echo(f"A repository with two linked worktrees: {', '.join(map(os.path.basename, (repository, *worktrees)))}")
    return stage


def _git(environment: dict[str, str], cwd: str, *arguments: str) -> None:
    subprocess.run(["git", *_GIT, *arguments], cwd=cwd, env=environment, check=True, capture_output=True)


def _contents(folder: str) -> dict[str, bytes]:
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".md"):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
    return found


def _take_over(memories: Memstore) -> None:
    _title("1. The memory directory that is there is taken in")
    folder = memories.place.placement.directory
    before = _contents(folder)
    report = memories.sync()
    after = _contents(folder)
    changed = sum(before[name] != after.get(name) for name in before)
    taken = sum(noted.what == "created" for noted in report.absorbed)
    click.echo(f"   {taken} memories and the index of {len(before)} files; bytes changed in them: {changed}")


def _write_at_once(stage: Stage, memories: Memstore, writers: int, rounds: int) -> bool:
    _title(f"2. {writers} processes in two worktrees write to the same memories and the same index")
    memories.write(SHARED, Wanted(body="Steps that were checked:\n", description="who checked which release step"))
    memories.write(MERGED, Wanted(body="Notes:\n", description="rewritten whole by everybody, at once"))
    acknowledged, seconds, failed = _run_writers(stage, writers, rounds)
    texts = {
        SHARED: memories.show(SHARED)[1].state.content.decode(),
        MERGED: memories.show(MERGED)[1].state.content.decode(),
        "index": "\n".join(line.text for line in memories.store.index()),
    }
    files = _contents(memories.place.placement.directory)
    kept = 0
    for where, line in acknowledged:
        in_store = texts[where].count(f"{line}\n" if where != "index" else f"({line})") == 1
        shown = files[INDEX_NAME if where == "index" else f"{where}.md"].decode()
        kept += in_store and line in shown
    click.echo(f"   acknowledged {len(acknowledged)}, kept {kept}, lost {len(acknowledged) - kept}, failed {failed}")
    click.echo(f"   {len(acknowledged) / seconds:.0f} acknowledged writes a second, each durable and on the files")
    return kept == len(acknowledged) and not failed and len(acknowledged) == writers * (2 * rounds + 1)


def _run_writers(stage: Stage, writers: int, rounds: int) -> tuple[list[tuple[str, str]], float, int]:
    """Starts all, waits until each is ready, lets them go at once, and gathers what they were told was saved."""
    with ExitStack() as stack:
        processes = [stack.enter_context(_writer(stage, number, rounds)) for number in range(writers)]
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        start = time.monotonic()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [process.communicate()[0] for process in processes]
    seconds = time.monotonic() - start
    acks = [line.split(" ", 2) for out in told for line in out.split("\n") if line.startswith("ack ")]
    return [(where, text) for _, where, text in acks], seconds, sum(process.returncode != 0 for process in processes)


def _writer(stage: Stage, number: int, rounds: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "memstore.cli.demo_writer", f"writer-{number}", str(rounds)],
        cwd=stage.worktrees[number % 2],
        env=stage.environment | {"MEMSTORE_SESSION": f"session-{number}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _look_at_files(memories: Memstore) -> None:
    _title("3. The files, as every agent reads them")
    folder = memories.place.placement.directory
    for name, content in _contents(folder).items():
        click.echo(f"   {name:34} {len(content):6} bytes")
    with open(os.path.join(folder, INDEX_NAME), encoding="utf-8") as file:
        click.echo("   …\n" + "".join(f"   | {line}" for line in file.readlines()[-6:]).rstrip())


def _search(memories: Memstore) -> None:
    _title("4. Search, in any script and by any piece of a name")
    for words in ("锁文件", "支付沙箱", "api-latency", "package-lock.json", "integration test databases"):
        _, hits = memories.search(words, limit=1)
        found = f"{hits[0].path}: {hits[0].description}" if hits else "nothing"
        click.echo(f"   {words:28} {found}")


def _history_and_undo(memories: Memstore) -> None:
    _title("5. History, and undo")
    saved = memories.delete("project-auth", reason="shown in the demonstration")
    for operation, made in memories.log(limit=4):
        paths = ", ".join(path for path, *_ in made)
        who = operation.provenance
        where = os.path.basename(who.worktree or "")
        click.echo(f"   #{operation.seq:<4} {operation.kind:8} {paths:28} {who.session or who.origin:10} {where}")
    undone = memories.undo(str(saved.seq))
    back = os.path.exists(os.path.join(memories.place.placement.directory, "project-auth.md"))
    click.echo(
        f"   undo of #{saved.seq} is operation #{undone.seq}; project-auth.md is back: {'yes' if back else 'no'}"
    )


def _title(text: str) -> None:
    click.echo(f"\n{click.style(text, bold=True)}")

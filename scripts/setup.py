"""Makes the virtual environment that the other scripts run in. Standard library only.

    setup.py run|dev|client|semantic VENV

Installs exactly what scripts/locks/<which>.txt pins, then leaves a copy of that file in the environment: as
long as the two are equal, there is nothing to do. Two that start at once take turns on a lock that the kernel
drops with its holder. An environment whose set-up was interrupted is made anew.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys

LOCKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "locks")
SATISFIES = {"run": ("run",), "dev": ("run", "dev"), "client": ("client",), "semantic": ("run", "dev", "semantic")}
"""dev holds all that run holds, semantic all that dev holds. client is the real client alone. The last two are for
environments of their own."""

PIP_ELSEWHERE = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIREMENT", "PIP_CONSTRAINT")
"""Settings of the person's own pip that would put the packages somewhere else, or other packages in."""


class Failed(Exception):
    """The set-up cannot be done; the text says why and what to do."""


def main(which: str, venv: str) -> int:
    try:
        os.makedirs(os.path.dirname(venv), exist_ok=True)
        with open(f"{venv}.lock", "a") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            if not is_ready(which, venv):
                set_up(which, venv)
    except Failed as failure:
        say(str(failure))
        return 1
    except OSError as error:
        say(f"cannot set up {venv}: {error.strerror or error}; name a folder you can write with MEMSTORE_VENV")
        return 1
    except KeyboardInterrupt:
        say("set-up interrupted; the next start makes it anew")
        return 130
    return 0


def is_ready(which: str, venv: str) -> bool:
    try:
        return read(lock_of(which)) == read(stamp_of(which, venv)) and os.access(python_of(venv), os.X_OK)
    except FileNotFoundError:
        return False


def set_up(which: str, venv: str) -> None:
    unfinished = os.path.join(venv, "memstore-unfinished")
    usable = is_usable(venv) and not os.path.exists(unfinished)
    if not usable:
        clear(venv)
    say(f"setting up {venv} (once; under a minute)")
    if not usable:
        make(venv)
    # A new run may unsettle the dev that was there, so that one is gone too until it is asked for.
    for name in SATISFIES:
        remove(stamp_of(name, venv))
    write(unfinished, b"")
    satisfied = {name: read(lock_of(name)) for name in SATISFIES[which]}
    pip(venv, "install", "--requirement", lock_of(which), "--require-hashes", "--no-deps")
    for name, lock in satisfied.items():
        write(stamp_of(name, venv), lock)
    remove(unfinished)


def is_usable(venv: str) -> bool:
    """Whether a Python that is new enough and has pip answers there, and believes that it lives there."""
    question = "import pip, sys; print(sys.version_info >= (3, 11) and sys.prefix)"
    try:
        answer = subprocess.run([python_of(venv), "-I", "-c", question], capture_output=True, text=True)
    except OSError:
        return False
    return answer.returncode == 0 and os.path.realpath(answer.stdout.strip()) == os.path.realpath(venv)


def clear(venv: str) -> None:
    """Takes an unusable environment away. Raises Failed where something else lies there."""
    if os.path.exists(os.path.join(venv, "pyvenv.cfg")):
        shutil.rmtree(venv)
    elif os.path.lexists(venv) and not (os.path.isdir(venv) and not os.listdir(venv)):
        raise Failed(f"{venv} is there and is no virtual environment; move it, or name another with MEMSTORE_VENV")


def make(venv: str) -> None:
    # The interpreter itself, not a name that an upgrade of the system points elsewhere: a venv whose python
    # changes its version under it starts, and finds none of its packages.
    base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    if subprocess.run([base, "-I", "-m", "venv", venv]).returncode != 0:
        raise Failed(f"{base} could not make a virtual environment (see above)")


def pip(venv: str, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in PIP_ELSEWHERE}
    command = [
        python_of(venv),
        "-I",
        "-m",
        "pip",
        *arguments,
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]
    if subprocess.run(command, env=environment, stdout=sys.stderr).returncode != 0:
        raise Failed(
            "the locked dependencies could not be installed (pip says why above); "
            "start again when the package index can be reached"
        )


def lock_of(which: str) -> str:
    return os.path.join(LOCKS, f"{which}.txt")


def stamp_of(which: str, venv: str) -> str:
    return os.path.join(venv, f"memstore-{which}.txt")


def python_of(venv: str) -> str:
    return os.path.join(venv, "bin", "python")


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def write(path: str, content: bytes) -> None:
    with open(path + ".part", "wb") as file:
        file.write(content)
    os.replace(path + ".part", path)


def remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)


def say(text: str) -> None:
    print(f"memstore: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

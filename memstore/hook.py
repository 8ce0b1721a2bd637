"""What the client starts for each of its hooks: `PYTHON -I -S hook.py [--site DIR] EVENT`, data on standard input.

It never fails: whatever happens, it ends with code 0, within its time, and with one line for the person at most. (In a
fork that memstore made of a session a `PreToolUse` that goes wrong ends with code 2, which denies the call.) The
script itself is small, because Python compiles it anew each time; what it does stands in `memstore.hooking`.
`-S` spares the start of the `site` module. The libraries are then looked for beside memstore itself and in the
interpreter's virtual environment, unless `--site` names their directory.
"""

from __future__ import annotations

import os
import sys
import time

SECONDS = {
    "SessionStart": 10.0,
    "UserPromptSubmit": 3.0,
    "PreToolUse": 3.0,
    "PostToolUse": 5.0,
    "PostToolUseFailure": 3.0,
    "Stop": 5.0,
    "PreCompact": 20.0,
    "SessionEnd": 1.3,
}
"""The events that are known, and after how many seconds each is given up. `work`, `adopt` and `pick` are no events and
have all the time.

A compaction may wait 15 seconds for notes (`hooking.NOTES_WAIT`).
"""

LARGEST = 8 * 1024 * 1024
"""Bytes of input that are looked at. A file that is larger than that is no memory."""


def main(arguments: list[str]) -> None:
    """One call, up to the end of the process."""
    try:
        _run(arguments)
    except BaseException:  # the session must not notice
        if os.environ.get("MEMSTORE_DEBUG"):
            import traceback

            traceback.print_exc()
        os._exit(_code_of_failure())
    os._exit(0)


def _run(arguments: list[str]) -> None:
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    site = libraries()
    if arguments[:1] == ["--site"]:
        site, arguments = arguments[1], arguments[2:]
    sys.path[:0] = [here] if site == here else [here, site]
    name = arguments[0] if arguments else ""
    fork = bool(os.environ.get("MEMSTORE_FORK"))
    if name == "work" and not fork:
        from memstore.working import work

        work(arguments[1], arguments[2:])
    elif name == "adopt" and not fork:
        from memstore.working import adopt

        adopt(arguments[1], arguments[2])
    elif name == "pick" and not fork:
        from memstore.picking import pick

        pick(arguments[1])
    elif name in SECONDS:
        import _thread

        _thread.start_new_thread(_give_up_after, (SECONDS[name],))
        data = read_input()
        if fork:
            from memstore.claude import forks

            put(forks.answer(name, data))
            return
        from memstore.claude.hooks import switched_off

        off = switched_off(os.environ)
        if off is not True:
            from memstore.hooking import Hook

            put(Hook(name, os.environ, site, off).answer(data))


def libraries() -> str:
    """Where a virtual environment has its libraries; `-S` leaves them out, and so does `sys.prefix` then."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "lib", version, "site-packages")


def put(answer: bytes) -> None:
    """Prints an answer, at once: the process ends without flushing anything."""
    while answer:
        answer = answer[os.write(1, answer) :]


def read_input(descriptor: int = 0) -> bytes | None:
    """All of standard input; None where there is more than is looked at. It is read to its end in any case, so that
    the client, which writes it, does not meet a closed pipe."""
    pieces, size = [], 0
    while piece := os.read(descriptor, 1 << 20):
        size += len(piece)
        if size <= LARGEST:
            pieces.append(piece)
    return b"".join(pieces) if size <= LARGEST else None


def _give_up_after(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(_code_of_failure())


def _code_of_failure() -> int:
    return 2 if os.environ.get("MEMSTORE_FORK") and "PreToolUse" in sys.argv else 0


if __name__ == "__main__":
    main(sys.argv[1:])

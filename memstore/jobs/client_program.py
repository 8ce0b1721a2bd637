"""The client's own program: which it is, and with which environment a fork of a session is started.

A program that came with the repository is never started, unless a person named it in the settings.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memstore.claude.forks import VARIABLE
from memstore.errors import ModelDeclined, ModelUnset

SETTING = "claude"
Version = tuple[int, int, int]

OLDEST: Final[Version] = (2, 1, 240)
"""Of the client: what is documented of it tells all options that a fork needs; an earlier one kept no promise to leave
no transcript (anthropics/claude-code#49565)."""

_VERSION = re.compile(r"\s*([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,6})\b")
_SECONDS = 20.0

# What a client needs to be the one that the person uses: its place, its words, its network, its credentials.
_PASSED = frozenset({
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "TMP", "TEMP",
    "CLAUDE_CONFIG_DIR", "CLOUD_ML_REGION", "DBUS_SESSION_BUS_ADDRESS", "MAX_THINKING_TOKENS", "MEMSTORE_HOME",
    "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_DIR", "SSL_CERT_FILE",
    "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "http_proxy", "https_proxy", "no_proxy",
})  # fmt: skip
_PASSED_FAMILIES = (
    "ANTHROPIC_", "AWS_", "AZURE_", "CLOUDSDK_", "DISABLE_", "ENABLE_", "GCLOUD_", "GOOGLE_", "LC_", "VERTEX_", "XDG_",
)  # fmt: skip
# Others of CLAUDE_CODE_ belong to the session in which the worker was started: its sockets, its number, its directory.
_PASSED_OF_CLIENT = (
    "API_", "AUTO_COMPACT", "CERT_", "CLIENT_", "DISABLE_", "EFFORT", "ENABLE_", "EXTRA_", "MAX_", "OAUTH_", "PROXY_",
    "SKIP_", "USE_",
)  # fmt: skip
_RETRIES = "CLAUDE_CODE_MAX_RETRIES"


@dataclass(frozen=True, slots=True)
class Program:
    """The client's program, and which version it says it is."""

    path: str
    version: Version

    @property
    def told(self) -> str:
        """The version as it is written."""
        return written(self.version)


def written(version: Version) -> str:
    """A version as it is written."""
    return ".".join(map(str, version))


def read_version(text: str) -> Version | None:
    """The version that a text begins with."""
    found = _VERSION.match(text)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def find_path(name: str, environment: Mapping[str, str], *, chosen: bool, repository: Sequence[str] = ()) -> str:
    """Where the program lies. Raises ModelUnset.

    `name`: a whole path, or what is looked for on `PATH`. `chosen`: a person named it in the settings. `repository`:
    the directories of the session's repository.
    """
    if "/" in name:
        path = os.path.join(environment.get("HOME", "/"), name[2:]) if name.startswith("~/") else name
        if not os.path.isabs(path) or not _is_program(path):
            raise ModelUnset(f"the client's program is not at {name}", hint=_hint())
        found = [path]
    else:
        places = environment.get("PATH", "").split(os.pathsep)
        paths = [os.path.join(place, name) for place in places if os.path.isabs(place)]
        found = [path for path in paths if _is_program(path)]
        if not found:
            raise ModelUnset(f"the client's program {name} is not on PATH", hint=_hint())
    fit = [path for path in found if chosen or not _is_inside(path, repository)]
    if not fit:
        raise ModelUnset(
            f"the client's program {found[0]} lies in the repository, so it is not started",
            hint=f"if you trust it, name it yourself: `memstore config set --user {SETTING} PATH`",
        )
    return fit[0]


def find_program(name: str, environment: Mapping[str, str], *, chosen: bool, repository: Sequence[str] = ()) -> Program:
    """The program, which is asked for its version. Raises ModelUnset where there is none, ModelDeclined where it is
    too old or no client."""
    from memstore.jobs import child  # whoever only looks for the program starts nothing

    path = find_path(name, environment, chosen=chosen, repository=repository)
    try:
        done = child.run([path, "--version"], "/", environment_of(environment), b"", seconds=_SECONDS, most=4096)
    except OSError as error:
        raise ModelDeclined(f"the client's program {path} cannot be started: {error.strerror}") from None
    version = read_version(done.out.decode("utf-8", "replace"))
    if version is None or done.code != 0:
        raise ModelDeclined(f"{path} does not say which version of the client it is", hint=_hint())
    check_age(version, f"the client {path}")
    return Program(path, version)


def ask_login(program: Program, environment: Mapping[str, str]) -> tuple[bool | None, str]:
    """Whether the client has a login, and of which kind; None: it does not say. Nothing is tried out."""
    from memstore.jobs import child

    argv = [program.path, "auth", "status", "--json"]
    try:
        done = child.run(argv, "/", environment_of(environment), b"", seconds=_SECONDS, most=65_536)
        told = json.loads(done.out)
    except (OSError, ValueError, RecursionError):
        return None, ""
    found, method = (told.get("loggedIn"), told.get("authMethod")) if isinstance(told, dict) else (None, None)
    return found if isinstance(found, bool) else None, method if isinstance(method, str) else ""


def check_age(version: Version, what: str) -> None:
    """Raises ModelDeclined where a version is older than a fork needs."""
    if version < OLDEST:
        raise ModelDeclined(
            f"{what} is of version {written(version)}; a fork needs {written(OLDEST)} or newer",
            hint="update the client (`claude update`), or set a key for the API",
        )


def environment_of(environment: Mapping[str, str]) -> dict[str, str]:
    """What is handed on to a fork: nothing of the session in which this process was started, and the mark of a fork."""
    kept = {name: value for name, value in environment.items() if _is_passed(name)}
    # It is a worker that waits, and it comes again: no need to try for minutes.
    return {_RETRIES: "2", **kept, VARIABLE: "1"}


def _is_passed(name: str) -> bool:
    own = "CLAUDE_CODE_"
    if name.startswith(own):
        return name.removeprefix(own).startswith(_PASSED_OF_CLIENT)
    return name in _PASSED or name.startswith(_PASSED_FAMILIES)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _is_inside(path: str, repository: Sequence[str]) -> bool:
    spellings = {os.path.normpath(path), os.path.realpath(path)}
    places = {each for place in repository for each in (os.path.normpath(place), os.path.realpath(place))}
    return any(os.path.commonpath((one, place)) == place for one in spellings for place in places)


def _hint() -> str:
    return f"install the client, or name it: `memstore config set --user {SETTING} PATH`; or set a key for the API"

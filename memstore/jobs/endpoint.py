"""Where requests to the Messages API go, and what is sent to prove who asks: read from the environment.

Values of keys, tokens and passwords are in no text that this module makes, and `struck` takes them out of others'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from memstore.errors import ModelUnset, SettingRefused

API = "https://api.anthropic.com"
KEY, TOKEN, BASE = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"
HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
CLIENT_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"
CLIENT_PLACE = "CLAUDE_CONFIG_DIR"
"""Where the client keeps what it is logged in with."""

# What the API's own keys look like, also where a gateway has masked the middle of one.
_SECRET = re.compile(r"\bsk-[\w.*-]{3,}")
_HEADER = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h", "")


@dataclass(frozen=True, slots=True)
class Credential:
    """What is sent, and which variable it is from. `spare`: another variable that is set and does not count."""

    variable: str
    kind: Literal["API key", "token", "OAuth token"]
    value: str = field(repr=False)
    spare: str = ""

    @property
    def quoted(self) -> bool:
        """Whether the value stands in quotation marks, which are sent too: a slip in a file of variables."""
        return len(self.value) > 1 and self.value[0] == self.value[-1] and self.value[0] in "\"'"


@dataclass(frozen=True, slots=True)
class Address:
    """The address before `/v1/messages`. `host`: what may be told of it. `mended`: what was left out, or empty."""

    url: str = field(repr=False)
    host: str
    mended: str = ""

    @property
    def own(self) -> bool:
        """Whether it is Anthropic's, and no gateway's."""
        return self.url == API


@dataclass(frozen=True, slots=True)
class Proxy:
    """The proxy that requests go through. `host`: what may be told of it."""

    variable: str
    host: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How the Messages API is asked here."""

    credential: Credential
    address: Address
    proxy: Proxy | None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def struck(self, text: str) -> str:
        """A text of somebody else's with every secret taken out, on one line, at most 200 characters."""
        return struck(text, self.secrets)


def struck(text: str, secrets: tuple[str, ...]) -> str:
    """A text of somebody else's with these secrets taken out, on one line, at most 200 characters."""
    for secret in secrets:
        text = text.replace(secret, "***")
    line = " ".join(_SECRET.sub("sk-***", text).split())
    return line if len(line) <= 200 else line[:199] + "…"


def find_credential(environment: Mapping[str, str]) -> Credential | None:
    """What is to be sent: the key before the token, as the API's own library has it. None where neither is set.

    Raises SettingRefused for a value that no header can hold.
    """
    values = {name: environment.get(name, "").strip() for name in (KEY, TOKEN)}
    name = KEY if values[KEY] else TOKEN
    value = values[name]
    if not value:
        return None
    if not _HEADER.fullmatch(value):
        raise SettingRefused(
            f"${name} holds a line break or a character that is not ASCII: it cannot be sent",
            hint=f"set {name} anew, to the one line that you were given",
        )
    spare = TOKEN if name == KEY and values[TOKEN] else ""
    kind: Literal["API key", "token", "OAuth token"] = "API key" if name == KEY else "token"
    return Credential(name, "OAuth token" if "sk-ant-oat" in value[:12] else kind, value, spare)


def find_address(environment: Mapping[str, str]) -> Address:
    """Where requests go. A trailing slash, `/v1` and `/v1/messages` are left out of what is set.

    Raises SettingRefused for what is no address of a server.
    """
    given = environment.get(BASE, "").strip()
    if not given:
        return Address(API, _host(urlsplit(API)))
    try:
        parts = urlsplit(given)
        host = _host(parts)
    except ValueError:
        parts, host = SplitResult("", "", "", "", ""), ""
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise SettingRefused(
            f"${BASE} is no address of a server",
            hint="it is such as https://gateway.example or http://localhost:4000, without a question mark",
        )
    path = parts.path.rstrip("/")
    slash = "the slash at its end" if path != parts.path else ""
    end = next((end for end in ("/v1/messages", "/v1") if path.endswith(end)), "")
    left_out = end or slash
    mended = f"${BASE} is taken without {left_out}: /v1/messages is added to it" if left_out else ""
    return Address(f"{parts.scheme}://{parts.netloc}{path.removesuffix(end)}", host, mended)


def find_proxy(environment: Mapping[str, str], address: Address) -> Proxy | None:
    """The proxy for an address: the variables that programs share, small letters first. None for a direct way.

    Raises SettingRefused for what is no address of a proxy.
    """
    parts = urlsplit(address.url)
    if _exempt(parts, environment.get("no_proxy") or environment.get("NO_PROXY") or ""):
        return None
    names = [f"{parts.scheme}_proxy", f"{parts.scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY"]
    name = next((name for name in names if environment.get(name)), None)
    if name is None:
        return None
    given = environment[name]
    try:
        proxy = urlsplit(given if "://" in given else f"http://{given}")
        host = _host(proxy)
    except ValueError:
        proxy, host = SplitResult("", "", "", "", ""), ""
    if proxy.scheme not in _PROXY_SCHEMES or not host:
        raise SettingRefused(f"${name} is no address of a proxy", hint="it is such as http://proxy.example:3128")
    return Proxy(name, host)


def find_endpoint(environment: Mapping[str, str]) -> Endpoint:
    """All of it. Raises ModelUnset where there is neither key nor token, SettingRefused where a value is unfit."""
    credential = find_credential(environment)
    if credential is None:
        raise ModelUnset(f"no model can be asked: neither {KEY} nor {TOKEN} is set", hint=_unset_hint(environment))
    address = find_address(environment)
    return Endpoint(credential, address, find_proxy(environment, address), secrets_of(environment))


def sent(environment: Mapping[str, str]) -> list[str]:
    """All that is sent to prove who asks, and where it goes; for a digest only."""
    names = (KEY, TOKEN, CLIENT_TOKEN, BASE, HEADERS, CLIENT_PLACE)
    return [environment.get(name, "").strip() for name in names]


def _exempt(parts: SplitResult, listed: str) -> bool:
    """Whether a list of hosts and domains, `NO_PROXY`, names the host."""
    host = parts.hostname or ""
    names = [name.strip().lstrip(".").lower() for name in listed.split(",")]
    return any(name in ("*", host, f"{host}:{parts.port}") or (name and host.endswith(f".{name}")) for name in names)


def _unset_hint(environment: Mapping[str, str]) -> str:
    client = "or install the client, whose own fork thinks where extract.via is auto or client"
    if environment.get(CLIENT_TOKEN):
        return f"{CLIENT_TOKEN} serves the client alone: set {KEY} where sessions start, {client}"
    return f"set {KEY} in the environment in which sessions start, {client}"


def _host(parts: SplitResult) -> str:
    """Host and port, without a user and a password. Raises ValueError for a port that is no number."""
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{parts.port}" if parts.port is not None else shown


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values that nobody may see, longest first; those of under four characters are parts of other words.

    Some gateways take their token as a part of the path: long parts count as one.
    """
    found = [environment.get(name, "").strip() for name in (KEY, TOKEN, CLIENT_TOKEN)]
    for line in environment.get(HEADERS, "").split("\n"):
        found.append(line.partition(":")[2].strip())
    with suppress(ValueError):
        found += [part for part in urlsplit(environment.get(BASE, "")).path.split("/") if len(part) >= 16]
    names = ("http_proxy", "https_proxy", "all_proxy")
    for name in (BASE, *names, *(name.upper() for name in names)):
        given = environment.get(name, "")
        user = given.partition("://")[2].partition("/")[0].rpartition("@")[0] or given.rpartition("@")[0]
        found += [user, user.partition(":")[2]]
    return tuple(sorted({value for value in found if len(value) >= 4}, key=len, reverse=True))

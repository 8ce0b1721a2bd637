"""Why no model answered, as errors that say what failed, where, and the next step. No secret is in them."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

from memstore.errors import (
    ModelAnswer,
    ModelBusy,
    ModelDeclined,
    ModelError,
    ModelFull,
    ModelNotFound,
    ModelUnauthorized,
    ModelUnreachable,
    SettingRefused,
)
from memstore.jobs.answers import MOMENT, no_message
from memstore.jobs.endpoint import BASE, HEADERS, KEY, Endpoint

# Kinds of errors that the API tells after its answer has begun, and the codes that it would have sent before.
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
# The transport's own kinds, by name: they belong to no library that is asked for here.
_REASONS = {
    "RemoteProtocolError": "the connection was closed",
    "LocalProtocolError": f"a header cannot be sent; see ${HEADERS}",
    "DecodingError": "what came is packed wrongly",
}
_UNKNOWN_MODEL = re.compile(r"not.?found|not exist|unknown|invalid model|no such|not available", re.IGNORECASE)

_TOO_LARGE = re.compile(r"too long|context (?:limit|length|window|size)", re.IGNORECASE)


def of_kind(endpoint: Endpoint, model: str, kind: str, message: str) -> ModelError:
    """The error for one that the API tells inside an answer."""
    return of_status(endpoint, model, _STATUS.get(kind, 500), {"error": {"type": kind, "message": message}}, None)


def of_status(endpoint: Endpoint, model: str, status: int, body: object, wait: float | None) -> ModelError:
    """The error for an HTTP status. `body`: as read from JSON, or text. `wait`: seconds that the API asks for."""
    host, said = endpoint.address.host, _said(endpoint, body)
    told = f"({status}{': ' if said else ''}{said})"
    if status in (401, 403):
        return _unauthorized(endpoint, status, told)
    if status in (400, 404, 422) and _means_model(status, model, said):
        return ModelNotFound(
            f"{host} has no model {model} {told}",
            model,
            hint="see `memstore config list` for where the name comes from, and set one that there is",
        )
    if status in (404, 405, 410):
        return _no_api(endpoint, told)
    if status in (408, 409, 429) or status >= 500:
        return _busy(endpoint, status, told, wait)
    if status == 402 or "credit" in said.lower() or "billing" in said.lower():
        return ModelDeclined(f"{host} wants to be paid first {told}", hint="see to the account's plan and credit")
    if status == 413 or _TOO_LARGE.search(said):
        return ModelFull(f"the request is too large for {host} {told}")
    return ModelDeclined(f"{host} does not take the request {told}", hint=_gateway_hint(endpoint))


def too_long_a_wait(endpoint: Endpoint, status: int, wait: float) -> ModelBusy:
    """The error where the API asks to wait for longer than anybody waits inside a run."""
    return _busy(endpoint, status, f"({status})", wait)


def is_of_transport(error: BaseException) -> bool:
    """Whether it is one of the transport's own kinds."""
    return any(kind.__name__ == "RequestError" for kind in type(error).__mro__)


def of_broken_answer(endpoint: Endpoint, error: BaseException, patience: float) -> ModelUnreachable:
    """The error for an answer that had begun. `patience`: seconds without a word."""
    why = _why(list(_chain(error)), patience)
    return ModelUnreachable(f"the answer of {endpoint.address.host} broke off: {why}", hint=MOMENT)


def of_connection(endpoint: Endpoint, error: BaseException, patience: float) -> ModelUnreachable:
    """The error for a request that never met with an answer. `patience`: seconds without a word."""
    proxy = endpoint.proxy
    met = list(_chain(error))
    why = _why(met, patience)
    if any(type(one).__name__ == "ProxyError" for one in met) and proxy:
        told = endpoint.struck(str(met[1] if len(met) > 1 else error))
        return ModelUnreachable(f"the proxy {proxy.host} (${proxy.variable}) refused the way to "
                                f"{endpoint.address.host} ({told})", hint=f"see to ${proxy.variable}")  # fmt: skip
    if proxy and any(isinstance(one, ConnectionRefusedError | socket.gaierror) for one in met):
        return ModelUnreachable(
            f"the proxy {proxy.host} (${proxy.variable}) cannot be reached: {why}",
            hint=f"start it, or unset {proxy.variable}, or name {endpoint.address.host} in NO_PROXY",
        )
    through = f" through the proxy {proxy.host} (${proxy.variable})" if proxy else ""
    return ModelUnreachable(f"{endpoint.address.host} cannot be reached{through}: {why}", hint=_way_hint(endpoint, met))


def unfit_proxy(endpoint: Endpoint) -> SettingRefused:
    """The error for a proxy of a kind that cannot be used here."""
    proxy = endpoint.proxy
    name = f"${proxy.variable}" if proxy else "a variable for proxies"
    return SettingRefused(f"{name} names a proxy that cannot be used here", hint="it must be an HTTP proxy")


def unfit_certificates(error: OSError) -> SettingRefused:
    """The error for certificates that cannot be read."""
    told = error.strerror or "no certificate is in it"
    return SettingRefused(
        f"the certificates that $SSL_CERT_FILE or $SSL_CERT_DIR names cannot be read: {told}",
        hint="set it to a file in PEM format, or unset it",
    )


def not_a_message(endpoint: Endpoint, kind: str) -> ModelAnswer:
    """The error for an answer in another format."""
    what = "an HTML page" if "html" in kind else endpoint.struck(kind) or "something nameless"
    return no_message(endpoint.address.host, what)


def _unauthorized(endpoint: Endpoint, status: int, told: str) -> ModelUnauthorized:
    credential, host = endpoint.credential, endpoint.address.host
    named = f"the {credential.kind} in {credential.variable}"
    message = f"{host} refused {named} {told}" if status == 401 else f"{host} does not let {named} do this {told}"
    hints: list[str] = []
    if credential.kind == "OAuth token":
        hints.append(f"OAuth tokens (sk-ant-oat) serve the client alone: set {KEY} to an API key")
    elif credential.quoted:
        hints.append(f"the value of {credential.variable} stands in quotation marks, which are sent too")
    else:
        hints.append(f"set {credential.variable} to one that is valid for {host}")
    if credential.spare:
        hints.append(f"{credential.spare} is set too, but the key comes before it")
    if not endpoint.address.own:
        hints.append(f"it went in the header Authorization; what a gateway wants in another one stands in {HEADERS}")
    return ModelUnauthorized(message, credential.kind, hint="; ".join(hints))


def _no_api(endpoint: Endpoint, told: str) -> ModelUnreachable:
    message = f"{endpoint.address.host} has no Messages API at this address {told}"
    if endpoint.address.own:
        return ModelUnreachable(message, passing=False)
    hint = f"{BASE} is what stands before /v1/messages; the gateway's manual says where that is"
    if endpoint.address.mended:
        hint = f"{endpoint.address.mended}; {hint}"
    return ModelUnreachable(message, hint=hint, passing=False)


def _busy(endpoint: Endpoint, status: int, told: str, wait: float | None) -> ModelBusy:
    host = endpoint.address.host
    if status == 429:
        message = f"{host} has a limit that is reached {told}"
    elif status in (503, 529):
        message = f"{host} is overloaded {told}"
    else:
        message = f"{host} is out of order {told}"
    later = f"try again in {_duration(wait)}" if wait else "try again in some minutes"
    return ModelBusy(message, wait=wait, hint=later)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{round(seconds / 3600)} h"


def _means_model(status: int, model: str, said: str) -> bool:
    """Whether a refusal is about the model's name: the API says `model: NAME` with 404, gateways something longer."""
    return model in said and (status == 404 or _UNKNOWN_MODEL.search(said) is not None)


def _said(endpoint: Endpoint, body: object) -> str:
    """What an answer says of what went wrong, in whichever shape: the API's, OpenAI's, a framework's, a page."""
    if isinstance(body, str):
        return "an HTML page" if body.lstrip()[:1] == "<" else endpoint.struck(body)
    found: Any = body
    for name in ("error", "message", "detail"):
        if isinstance(found, Mapping) and name in found:
            found = found[name]
    return endpoint.struck(found) if isinstance(found, str) else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or seen.__context__


def _why(met: list[BaseException], patience: float) -> str:
    return next((text for text in (_reason(one, patience) for one in met) if text), "the connection failed")


def _reason(error: BaseException, patience: float) -> str:
    match error:
        case ConnectionRefusedError():
            return "nothing listens there"
        case socket.gaierror():
            return "no address is known for this name"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted ({error.verify_message})"
        case ssl.SSLError():
            return "it does not speak TLS as it should"
        case TimeoutError():
            return f"no word came for {patience:g} s"
        case ConnectionError():
            return "the connection was closed"
        case _:
            return _REASONS.get(type(error).__name__, "")


def _way_hint(endpoint: Endpoint, met: list[BaseException]) -> str:
    if any(isinstance(one, ssl.SSLCertVerificationError) for one in met):
        return "where your network has certificates of its own, name them in SSL_CERT_FILE"
    if endpoint.address.own:
        return "see whether this machine is on the network, and whether it needs a proxy (HTTPS_PROXY)"
    if any(isinstance(one, ssl.SSLError) for one in met):
        return f"see whether what {BASE} names speaks plain http://"
    if any(isinstance(one, socket.gaierror) for one in met):
        return f"see that the name in {BASE} is spelt right, and that this machine is on its network"
    return f"see whether what {BASE} names is running"


def _gateway_hint(endpoint: Endpoint) -> str:
    return "" if endpoint.address.own else f"{BASE} leads to a gateway: see what it takes"

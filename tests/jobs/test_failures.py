"""Every way in which no model answers, with the words that a person reads: over the real library and a loopback."""

from __future__ import annotations

import errno
import json
import socket
import ssl
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from memstore import errors
from memstore.jobs.llm import ApiModel
from tests.jobs.api import KEY, MODEL, TOKEN, Scripted, request
from tests.messages_api import Asked, Blocks, Fail, Halting, Raw, Say, Use, event

SSE = "text/event-stream"


def failed(
    environment: Mapping[str, str], *, model: str = MODEL, patience: float = 30, retries: int = 0
) -> errors.MemstoreError:
    """The error that a request ends with; no secret is in it, nor in anything that hangs on it."""
    with pytest.raises(errors.MemstoreError) as failure:
        ApiModel.of(environment, patience=patience, retries=retries).reply(request(model=model))
    error = failure.value
    shown = f"{error!r} {error} {error.hint} {vars(error)} {traceback.format_exception(error)}"
    assert "SECRET" not in shown
    return error


def check(error: errors.MemstoreError, kind: type[errors.MemstoreError], message: str, hint: str) -> None:
    assert (type(error), str(error), error.hint) == (kind, message, hint)


def test_401_names_the_key(api: Scripted):
    api.steps = [Fail(401, "authentication_error", "invalid x-api-key")]
    error = failed(api.environment)
    check(
        error,
        errors.ModelUnauthorized,
        f"{api.host} refused the API key in ANTHROPIC_API_KEY (401: invalid x-api-key)",
        f"set ANTHROPIC_API_KEY to one that is valid for {api.host}; it went in the header Authorization; what a"
        " gateway wants in another one stands in ANTHROPIC_CUSTOM_HEADERS",
    )
    assert isinstance(error, errors.ModelUnauthorized)
    assert (error.sent, error.passing) == ("API key", False)


def test_401_names_the_token(api: Scripted):
    api.steps = [Fail(401, "authentication_error", "Invalid bearer token")]
    error = failed({"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_AUTH_TOKEN": TOKEN})
    assert str(error) == f"{api.host} refused the token in ANTHROPIC_AUTH_TOKEN (401: Invalid bearer token)"
    assert error.hint.startswith(f"set ANTHROPIC_AUTH_TOKEN to one that is valid for {api.host}; ")


def test_401_names_an_oauth_token_and_what_it_is_for(api: Scripted):
    said = "OAuth authentication is currently not supported."
    api.steps = [Fail(401, "authentication_error", said)]
    error = failed({"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_AUTH_TOKEN": "sk-ant-oat01-SECRET"})
    assert str(error) == f"{api.host} refused the OAuth token in ANTHROPIC_AUTH_TOKEN (401: {said})"
    assert error.hint.startswith(
        "OAuth tokens (sk-ant-oat) serve the client alone: set ANTHROPIC_API_KEY to an API key; "
    )


def test_401_says_which_of_both_was_sent(api: Scripted):
    api.steps = [Fail(401, "authentication_error", "no")]
    error = failed({**api.environment, "ANTHROPIC_AUTH_TOKEN": TOKEN})
    assert "the API key in ANTHROPIC_API_KEY" in str(error)
    assert "; ANTHROPIC_AUTH_TOKEN is set too, but the key comes before it; " in error.hint


def test_401_notices_quotation_marks_that_were_sent(api: Scripted):
    api.steps = [Fail(401, "authentication_error", "invalid x-api-key")]
    error = failed({"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": f"'{KEY}'"})
    assert error.hint.startswith("the value of ANTHROPIC_API_KEY stands in quotation marks, which are sent too; ")


def test_a_secret_that_the_answer_repeats_is_taken_out(api: Scripted):
    said = f"Invalid proxy server token passed. Received API Key = {KEY}, hint sk-...6789 and SECRET" + "x" * 10
    api.steps = [Fail(401, "auth_error", said.replace(" and SECRET", " and "))]
    error = failed(api.environment)
    assert "(401: Invalid proxy server token passed. Received API Key = ***, hint sk-*** and xxxxxxxxxx)" in str(error)


def test_403_says_that_the_key_may_not(api: Scripted):
    api.steps = [Fail(403, "permission_error", "Request not allowed")]
    error = failed(api.environment)
    assert isinstance(error, errors.ModelUnauthorized)
    assert str(error) == (
        f"{api.host} does not let the API key in ANTHROPIC_API_KEY do this (403: Request not allowed)"
    )


@pytest.mark.parametrize(
    "answer",
    [
        Fail(404, "not_found_error", "model: claude-sonet-5-5"),
        Raw(
            b'{"error": {"message": "The model `claude-sonet-5-5` does not exist", "code": "model_not_found"}}',
            status=404,
        ),
        Raw(b'{"error": {"message": "400: Invalid model name passed in model=claude-sonet-5-5"}}', status=400),
    ],
    ids=["api", "openai", "gateway"],
)
def test_an_unknown_model_is_named(api: Scripted, answer: Fail | Raw):
    api.steps = [answer]
    error = failed(api.environment, model="claude-sonet-5-5")
    assert isinstance(error, errors.ModelNotFound)
    assert str(error).startswith(f"{api.host} has no model claude-sonet-5-5 ({answer.status}: ")
    assert error.hint == "see `memstore config list` for where the name comes from, and set one that there is"
    assert (error.model, error.passing) == ("claude-sonet-5-5", False)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Fail(404, "not_found_error", "Not Found"), "404: Not Found"),
        (Raw(b'{"detail": "Not Found"}', status=404), "404: Not Found"),
        (Raw(b"<html><h1>Not here</h1>", "text/html", 404), "404: an HTML page"),
        (Raw(b"", "text/plain", 405), "405"),
    ],
    ids=["api", "framework", "html", "method"],
)
def test_an_address_without_a_messages_api_is_told_from_an_unknown_model(api: Scripted, answer: Fail | Raw, told: str):
    api.steps = [answer]
    error = failed(api.environment)
    check(
        error,
        errors.ModelUnreachable,
        f"{api.host} has no Messages API at this address ({told})",
        "ANTHROPIC_BASE_URL is what stands before /v1/messages; the gateway's manual says where that is",
    )
    assert isinstance(error, errors.ModelError)
    assert not error.passing


def test_an_address_that_was_mended_in_vain_is_told_with_what_was_mended(api: Scripted):
    api.steps = [Fail(404, "not_found_error", "Not Found")]
    error = failed({**api.environment, "ANTHROPIC_BASE_URL": f"{api.url}/v1/"})
    assert error.hint.startswith("$ANTHROPIC_BASE_URL is taken without /v1: /v1/messages is added to it; ")


def test_a_limit_is_told_with_the_time_that_the_api_asks_for(api: Scripted):
    api.steps = [Fail(429, "rate_limit_error", "too many requests", {"Retry-After": "17"})]
    error = failed(api.environment)
    check(
        error,
        errors.ModelBusy,
        f"{api.host} has a limit that is reached (429: too many requests)",
        "try again in 17 s",
    )
    assert isinstance(error, errors.ModelBusy)
    assert (error.wait, error.passing) == (17.0, True)


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [
        (529, "overloaded_error", "is overloaded (529: Sorry)"),
        (503, "api_error", "is overloaded (503: Sorry)"),
        (500, "api_error", "is out of order (500: Sorry)"),
        (504, "timeout_error", "is out of order (504: Sorry)"),
    ],
)
def test_an_overload_and_an_outage_are_worth_another_try(api: Scripted, status: int, kind: str, told: str):
    api.steps = [Fail(status, kind, "Sorry")]
    error = failed(api.environment)
    check(error, errors.ModelBusy, f"{api.host} {told}", "try again in some minutes")


@pytest.mark.parametrize("status", [429, 529])
def test_a_short_overload_is_got_over_by_asking_again(api: Scripted, status: int):
    soon = {"Retry-After-Ms": "1"}
    api.steps = [
        Fail(status, "overloaded_error", "Sorry", soon),
        Fail(status, "overloaded_error", "Sorry", soon),
        Say(),
    ]
    assert ApiModel.of(api.environment, retries=2).reply(request()).text == "Done."
    assert len(api.asked) == 3


@pytest.mark.parametrize("status", [429, 529])
@pytest.mark.parametrize("form", ["seconds", "date", "without end"])
def test_a_long_wait_is_told_at_once_and_not_slept_through(api: Scripted, status: int, form: str):
    given = {"seconds": "3600", "date": formatdate(time.time() + 3600, usegmt=True), "without end": "inf"}[form]
    api.steps = [Fail(status, "rate_limit_error", "Sorry", {"Retry-After": given})] * 3
    error = failed(api.environment, retries=2)
    assert isinstance(error, errors.ModelBusy)
    assert error.wait is not None and error.wait > 3500
    assert error.hint in ("try again in 60 min", "try again in 2778 h")
    assert len(api.asked) == 1


def test_a_limit_that_stays_is_told_after_the_tries(api: Scripted):
    api.steps = [Fail(429, "rate_limit_error", "Sorry", {"Retry-After-Ms": "1"})] * 3
    assert isinstance(failed(api.environment, retries=2), errors.ModelBusy)
    assert len(api.asked) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Fail(400, "invalid_request_error", "max_tokens: no"), "does not take the request (400: max_tokens: no)"),
        (Fail(402, "billing_error", "pay"), "wants to be paid first (402: pay)"),
        (
            Fail(400, "invalid_request_error", "Your credit balance is too low to access the API."),
            "wants to be paid first (400: Your credit balance is too low to access the API.)",
        ),
    ],
)
def test_a_request_that_is_declined_is_told_with_the_reason(api: Scripted, answer: Fail, message: str):
    api.steps = [answer]
    error = failed(api.environment)
    assert (type(error), str(error)) == (errors.ModelDeclined, f"{api.host} {message}")
    assert isinstance(error, errors.ModelError) and not error.passing


@pytest.mark.parametrize(
    "answer",
    [
        Fail(413, "request_too_large", "Too Large"),
        Fail(400, "invalid_request_error", "prompt is too long: 2"),
        Fail(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2"),
        Fail(400, "BadRequestError", "This model's maximum context length is 8192 tokens"),
    ],
)
def test_a_request_that_is_too_large_is_said_to_be(api: Scripted, answer: Fail):
    api.steps = [answer]
    error = failed(api.environment)
    assert str(error) == f"the request is too large for {api.host} ({answer.status}: {answer.message})"
    assert isinstance(error, errors.ModelFull) and not error.passing


def choices(*events: bytes) -> Raw:
    return Raw(b"".join(b"data: " + data + b"\n\n" for data in events), SSE)


@pytest.mark.parametrize(
    "answer",
    [
        Raw(b'{"object": "chat.completion", "choices": [{"message": {"content": "hi"}}]}'),
        choices(b'{"object": "chat.completion.chunk", "choices": [{"delta": {"content": "hi"}}]}', b"[DONE]"),
        choices(b"[DONE]"),
    ],
    ids=["whole", "stream", "end only"],
)
def test_the_shape_of_openais_api_is_known(api: Scripted, answer: Raw):
    api.steps = [answer]
    check(
        failed(api.environment),
        errors.ModelAnswer,
        f"{api.host} answered in the shape of OpenAI's API (`choices`), not of the Messages API",
        "set ANTHROPIC_BASE_URL to where the gateway has /v1/messages; its manual says where",
    )


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (Raw(b"<html>Log in to the network</html>", "text/html; charset=utf-8"), "an HTML page"),
        (Raw(b"<html>Log in to the network</html>"), "an HTML page"),
        (Raw(b"data: <html></html>\n\n", SSE), "an HTML page"),
        (Raw(b"hello", "text/plain"), "text/plain"),
        (Raw(b"hello"), "something that is not JSON"),
        (Raw(b"", ""), "something nameless"),
        (Raw(b'event: x\ndata: {"type": "message\n\n', SSE), "something that is not JSON"),
        (Raw(b"data: \xff\xfe\n\n", SSE), "bytes that are no text"),
    ],
)
def test_what_is_no_message_at_all_is_told(api: Scripted, answer: Raw, what: str):
    api.steps = [answer]
    check(
        failed(api.environment),
        errors.ModelAnswer,
        f"{api.host} answered with {what}, not with a message",
        "see that nothing stands between: a page to log in to the network, or another program at this address",
    )


START: dict[str, Any] = {"type": "message_start", "message": {"model": MODEL, "usage": {"input_tokens": 1}}}
BLOCK: dict[str, Any] = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}


@pytest.mark.parametrize(
    "answer",
    [
        Raw(b"[]"),
        Raw(b"null"),
        Raw(b'{"type": "message", "content": "text"}'),
        Raw(b'{"type": "message", "content": ["text"], "stop_reason": "end_turn"}'),
        Raw(b'{"type": "message", "content": [{"type": "text", "text": 7}], "stop_reason": "end_turn"}'),
        Raw(b'{"type": "message", "content": [{"type": "tool_use", "id": "", "name": "Read", "input": {}}]}'),
        Raw(b'{"type": "message", "content": [{"type": "tool_use", "id": "a", "input": {}}]}'),
        Raw(b'{"type": "message", "content": [], "stop_reason": 7}'),
        Raw(event({"type": "message_start"}), SSE),
        Raw(event({"type": "message_start", "message": "text"}), SSE),
        Raw(event(START) + event({**BLOCK, "index": "0"}), SSE),
        Raw(event(START) + event({**BLOCK, "content_block": None}), SSE),
        Raw(event(START) + event({"type": "content_block_delta", "index": 3, "delta": {"text": "a"}}), SSE),
        Raw(
            event(START) + event(BLOCK) + event({"type": "content_block_delta", "index": 0, "delta": {"text": 7}}), SSE
        ),
        Raw(event({"type": "response.created", "response": {}}), SSE),
    ],
    ids=range(15),
)
def test_a_wrong_shape_is_told_and_no_crash(api: Scripted, answer: Raw):
    api.steps = [answer]
    error = failed(api.environment)
    assert isinstance(error, errors.ModelAnswer)
    assert str(error).startswith(f"{api.host} answered in a shape that the Messages API does not have: ")
    assert error.hint == "see that ANTHROPIC_BASE_URL leads to an API that has /v1/messages"


@pytest.mark.parametrize("events", range(1, 8))
def test_a_stream_that_is_cut_is_never_taken_for_an_answer(api: Scripted, events: int):
    call = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {"content": "all of it"}}
    api.steps = [Halting(Blocks((call,), "tool_use"), events=events)]
    error = failed(api.environment)
    assert (type(error), str(error)) == (
        errors.ModelUnreachable,
        f"the answer of {api.host} broke off: the connection was closed",
    )
    assert isinstance(error, errors.ModelError) and error.passing


def test_a_stream_that_ends_early_but_well_is_not_taken_for_an_answer(api: Scripted):
    api.steps = [Raw(event(START) + event(BLOCK), SSE), Raw(b"", SSE)]
    message = f"the answer of {api.host} broke off in the middle"
    check(failed(api.environment), errors.ModelUnreachable, message, "it may be better in a moment")
    message = f"the answer of {api.host} broke off before it began"
    check(failed(api.environment), errors.ModelUnreachable, message, "it may be better in a moment")


@pytest.mark.parametrize(
    ("kind", "expected", "told"),
    [
        ("overloaded_error", errors.ModelBusy, "is overloaded (529: Sorry)"),
        ("rate_limit_error", errors.ModelBusy, "has a limit that is reached (429: Sorry)"),
        ("something_new", errors.ModelBusy, "is out of order (500: Sorry)"),
        ("invalid_request_error", errors.ModelDeclined, "does not take the request (400: Sorry)"),
    ],
)
def test_an_error_in_the_middle_of_an_answer_is_told_like_any(
    api: Scripted, kind: str, expected: type[errors.ModelError], told: str
):
    error = event({"type": "error", "error": {"type": kind, "message": "Sorry"}})
    api.steps = [Raw(event(START) + event(BLOCK) + error, SSE)]
    found = failed(api.environment)
    assert (type(found), str(found)) == (expected, f"{api.host} {told}")


def test_an_error_that_comes_with_200_is_told(api: Scripted):
    api.steps = [Raw(b'{"error": "no upstream"}'), Raw(b'{"type": "error", "error": {"type": "overloaded_error"}}')]
    assert str(failed(api.environment)) == f"{api.host} is out of order (500: no upstream)"
    assert str(failed(api.environment)) == f"{api.host} is overloaded (529)"


def test_an_answer_that_stops_coming_is_given_up_after_a_while(api: Scripted):
    api.steps = [Halting(Say(), pause=5)]
    error = failed(api.environment, patience=0.2)
    check(
        error,
        errors.ModelUnreachable,
        f"the answer of {api.host} broke off: no word came for 0.2 s",
        "it may be better in a moment",
    )


def test_a_server_that_takes_the_request_and_says_nothing_is_given_up(api: Scripted):
    gone = threading.Event()

    def silent(_: Asked) -> Say:
        gone.wait(5)
        return Say()

    api.steps = [silent]
    error = failed(api.environment, patience=0.2)
    gone.set()
    assert str(error) == f"{api.host} cannot be reached: no word came for 0.2 s"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_gateway_that_is_not_there_is_named(api: Scripted):
    port = free_port()
    error = failed({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": f"http://user:SECRET@127.0.0.1:{port}/v1"})
    check(
        error,
        errors.ModelUnreachable,
        f"127.0.0.1:{port} cannot be reached: nothing listens there",
        "see whether what ANTHROPIC_BASE_URL names is running",
    )


def test_a_host_that_has_no_address_is_named():
    error = failed({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://gateway.invalid"})
    assert str(error) == "gateway.invalid cannot be reached: no address is known for this name"
    assert (
        error.hint == "see that the name in ANTHROPIC_BASE_URL is spelt right, and that this machine is on its network"
    )


def test_a_proxy_that_is_not_there_is_named(api: Scripted, monkeypatch: pytest.MonkeyPatch):
    port = free_port()
    proxy = {"HTTP_PROXY": f"http://user:SECRET@127.0.0.1:{port}"}
    monkeypatch.setenv("HTTP_PROXY", proxy["HTTP_PROXY"])
    error = failed({**api.environment, **proxy})
    check(
        error,
        errors.ModelUnreachable,
        f"the proxy 127.0.0.1:{port} ($HTTP_PROXY) cannot be reached: nothing listens there",
        f"start it, or unset HTTP_PROXY, or name {api.host} in NO_PROXY",
    )


@contextmanager
def talking(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that does what it is told with each connection; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = int(server.getsockname()[1])

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError as error:
                    assert error.errno in (errno.EBADF, errno.EINVAL)
                    return
                with connection:
                    answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield port
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_proxy_that_wants_a_password_is_named(monkeypatch: pytest.MonkeyPatch):
    def refuse(connection: socket.socket) -> None:
        connection.recv(1_000)
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    with talking(refuse) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{port}")
        error = failed({"ANTHROPIC_API_KEY": KEY, "HTTPS_PROXY": f"127.0.0.1:{port}"})
    check(
        error,
        errors.ModelUnreachable,
        f"the proxy 127.0.0.1:{port} ($HTTPS_PROXY) refused the way to api.anthropic.com"
        " (407 Proxy Authentication Required)",
        "see to $HTTPS_PROXY",
    )


def test_a_proxy_of_a_kind_that_cannot_be_used_is_refused(api: Scripted, monkeypatch: pytest.MonkeyPatch):
    proxy = {"ALL_PROXY": "socks5://user:SECRET@127.0.0.1:9"}
    monkeypatch.setenv("ALL_PROXY", proxy["ALL_PROXY"])
    check(
        failed({**api.environment, **proxy}),
        errors.SettingRefused,
        "$ALL_PROXY names a proxy that cannot be used here",
        "it must be an HTTP proxy",
    )


def test_a_certificate_that_is_not_trusted_is_told(tmp_path: Path):
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gateway"]
    made += ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")

    def shake(connection: socket.socket) -> None:
        with pytest.raises(OSError):
            context.wrap_socket(connection, server_side=True).close()

    with talking(shake) as port:
        error = failed({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": f"https://127.0.0.1:{port}"})
    assert str(error).startswith(f"127.0.0.1:{port} cannot be reached: its certificate is not trusted (self")
    assert error.hint == "where your network has certificates of its own, name them in SSL_CERT_FILE"


def test_plain_http_where_tls_was_expected_is_told():
    with talking(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad\r\n\r\n")) as port:
        error = failed({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": f"https://127.0.0.1:{port}"})
    assert str(error) == f"127.0.0.1:{port} cannot be reached: it does not speak TLS as it should"
    assert error.hint == "see whether what ANTHROPIC_BASE_URL names speaks plain http://"


def test_certificates_that_cannot_be_read_are_told(api: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    error = failed(api.environment)
    assert str(error).startswith("the certificates that $SSL_CERT_FILE or $SSL_CERT_DIR names cannot be read: No such")
    (tmp_path / "absent.pem").write_text("no certificate")
    assert isinstance(failed(api.environment), errors.SettingRefused)


def test_a_header_of_the_persons_own_that_cannot_be_sent_is_told_without_its_value(
    api: Scripted, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Gateway: SECRET\rX")
    error = failed(api.environment)
    assert str(error).endswith("cannot be reached: a header cannot be sent; see $ANTHROPIC_CUSTOM_HEADERS")


def test_a_body_that_is_packed_wrongly_is_told(api: Scripted):
    api.steps = [Raw(b"no gzip", SSE, headers={"Content-Encoding": "gzip"})]
    assert str(failed(api.environment)).endswith("broke off: what came is packed wrongly")
    api.steps = [Raw(b"no gzip", status=529, headers={"Content-Encoding": "gzip"})]
    assert str(failed(api.environment)).endswith("broke off: what came is packed wrongly")
    api.steps = [Raw(b'{"type": "message", "content": [{"type": "new", "n": NaN}], "stop_reason": "end_turn"}')]
    assert "holds what cannot be sent back" in str(failed(api.environment))


@pytest.mark.parametrize("given", ["Mon, 01 Jan 2024 00:00:00 +99999999999999999999", "-5", "nan", "soon"])
def test_a_wait_that_cannot_be_read_is_none(api: Scripted, given: str):
    api.steps = [Fail(529, "overloaded_error", "Sorry", {"Retry-After": given})]
    error = failed(api.environment)
    assert isinstance(error, errors.ModelBusy) and not error.wait


def test_a_refusal_in_another_shape_is_told_too(api: Scripted):
    api.steps = [Raw(json.dumps(body).encode(), status=400) for body in ({"error": "a"}, {"message": "b"}, [], "c", 7)]
    told = [str(failed(api.environment)) for _ in range(5)]
    ends = ("(400: a)", "(400: b)", "(400)", "(400: c)", "(400)")
    assert told == [f"{api.host} does not take the request {end}" for end in ends]


def test_nothing_is_repeated_once_an_answer_has_begun(api: Scripted):
    api.steps = [Halting(Use("Write", {}), events=3), Say()]
    failed(api.environment, retries=2)
    assert len(api.asked) == 1

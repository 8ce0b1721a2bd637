"""Where requests go and what is sent, from the environment; and that no secret is ever shown."""

from __future__ import annotations

import pytest

from memstore.errors import ModelUnset, SettingRefused
from memstore.jobs.endpoint import API, find_address, find_credential, find_endpoint, find_proxy

KEY = {"ANTHROPIC_API_KEY": "sk-ant-api03-KEYSECRET"}


def test_the_key_comes_before_the_token_and_the_other_is_named():
    both = {**KEY, "ANTHROPIC_AUTH_TOKEN": "TOKENSECRET"}
    found = find_credential(both)
    assert found is not None
    assert (found.variable, found.kind, found.spare) == ("ANTHROPIC_API_KEY", "API key", "ANTHROPIC_AUTH_TOKEN")
    found = find_credential({"ANTHROPIC_API_KEY": " ", "ANTHROPIC_AUTH_TOKEN": "TOKENSECRET"})
    assert found is not None
    assert (found.variable, found.kind, found.spare) == ("ANTHROPIC_AUTH_TOKEN", "token", "")


def test_an_oauth_token_of_the_client_is_known_as_one_wherever_it_is_set():
    for variable in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        found = find_credential({variable: "sk-ant-oat01-SECRET"})
        assert found is not None
        assert found.kind == "OAuth token"


def test_a_line_end_behind_a_key_is_not_sent():
    found = find_credential({"ANTHROPIC_API_KEY": "sk-SECRET\r\n"})
    assert found is not None
    assert found.value == "sk-SECRET"


@pytest.mark.parametrize("value", ["sk-SECRET\nsk-SECRET", "sk-SECRET’", "sk-SECRET\0x", "\u200bsk-SECRET"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(value: str):
    with pytest.raises(SettingRefused) as refused:
        find_credential({"ANTHROPIC_API_KEY": value})
    assert str(refused.value).startswith("$ANTHROPIC_API_KEY holds a line break")
    assert "SECRET" not in f"{refused.value} {refused.value.hint}"


def test_quotation_marks_that_would_be_sent_are_noticed():
    found = find_credential({"ANTHROPIC_API_KEY": '"sk-SECRET"'})
    assert found is not None
    assert found.quoted


def test_neither_key_nor_token_is_said_with_the_next_step():
    with pytest.raises(ModelUnset) as unset:
        find_endpoint({"ANTHROPIC_API_KEY": ""})
    assert str(unset.value) == "no model can be asked: neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN is set"
    assert unset.value.hint == (
        "set ANTHROPIC_API_KEY in the environment in which sessions start, or install the client, whose own"
        " fork thinks where extract.via is auto or client"
    )
    with pytest.raises(ModelUnset) as unset:
        find_endpoint({"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-SECRET"})
    assert unset.value.hint.startswith("CLAUDE_CODE_OAUTH_TOKEN serves the client alone: set ANTHROPIC_API_KEY")


@pytest.mark.parametrize(
    ("given", "url", "mended"),
    [
        ("", API, ""),
        (" https://gateway.example ", "https://gateway.example", ""),
        ("https://gateway.example/", "https://gateway.example", "the slash at its end"),
        ("https://gateway.example/v1", "https://gateway.example", "/v1"),
        ("https://gateway.example/v1/", "https://gateway.example", "/v1"),
        ("http://localhost:4000/anthropic/v1", "http://localhost:4000/anthropic", "/v1"),
        ("https://gateway.example/v1/messages", "https://gateway.example", "/v1/messages"),
        ("http://[::1]:4000/proxy", "http://[::1]:4000/proxy", ""),
        ("https://gateway.example/api-v1", "https://gateway.example/api-v1", ""),
    ],
)
def test_an_address_is_taken_as_it_must_be_and_what_was_left_out_is_said(given: str, url: str, mended: str):
    address = find_address({"ANTHROPIC_BASE_URL": given})
    assert address.url == url
    assert address.own == (url == API)
    said = f"$ANTHROPIC_BASE_URL is taken without {mended}: /v1/messages is added to it" if mended else ""
    assert address.mended == said


@pytest.mark.parametrize(
    "given", ["localhost:4000", "gateway", "ftp://gateway", "https://", "https://h:port", "https://h/?key=x", "//h/x"]
)
def test_what_is_no_address_is_refused(given: str):
    with pytest.raises(SettingRefused, match="no address of a server"):
        find_address({"ANTHROPIC_BASE_URL": given})


def test_of_an_address_host_and_port_are_told_and_no_password():
    address = find_address({"ANTHROPIC_BASE_URL": "https://user:PASSWORD@[::1]:4000/TOKENINTHEPATH/anthropic"})
    assert address.host == "[::1]:4000"
    assert "PASSWORD" not in repr(address)


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://user:PASSWORD@proxy.example:3128"}, ("HTTPS_PROXY", "proxy.example:3128")),
        ({"HTTPS_PROXY": "http://a", "https_proxy": "b:1"}, ("https_proxy", "b:1")),
        ({"ALL_PROXY": "socks5://a:1"}, ("ALL_PROXY", "a:1")),
        ({"HTTP_PROXY": "http://a"}, None),
        ({"HTTPS_PROXY": "http://a", "NO_PROXY": "other.example, gateway.example"}, None),
        ({"HTTPS_PROXY": "http://a", "no_proxy": ".example"}, None),
        ({"HTTPS_PROXY": "http://a", "no_proxy": "*"}, None),
        ({"HTTPS_PROXY": "http://a", "no_proxy": "way.example"}, ("HTTPS_PROXY", "a")),
    ],
)
def test_the_proxy_is_the_one_that_the_environment_names(variables: dict[str, str], told: tuple[str, str] | None):
    proxy = find_proxy(variables, find_address({"ANTHROPIC_BASE_URL": "https://gateway.example"}))
    assert (proxy and (proxy.variable, proxy.host)) == told


@pytest.mark.parametrize("given", ["ftp://proxy:PASSWORD@host", "http://user:PASSWORD@", "http://user:PASSWORD@h:x"])
def test_what_is_no_proxy_is_refused_without_its_password(given: str):
    with pytest.raises(SettingRefused, match="no address of a proxy") as refused:
        find_proxy({"HTTPS_PROXY": given}, find_address({}))
    assert "PASSWORD" not in f"{refused.value} {refused.value.hint}"


def test_secrets_are_struck_out_of_what_others_say():
    endpoint = find_endpoint(
        {
            **KEY,
            "ANTHROPIC_AUTH_TOKEN": "TOKENSECRET",
            "CLAUDE_CODE_OAUTH_TOKEN": "OAUTHSECRET",
            "ANTHROPIC_BASE_URL": "https://user:BASESECRET@gateway.example/PATHSECRETPATHSECRET/",
            "ANTHROPIC_CUSTOM_HEADERS": "X-Gateway-Key: HEADERSECRET\nX-Other: b",
            "HTTPS_PROXY": "user:PROXYSECRET@proxy.example",
        }
    )
    said = (
        "no: sk-ant-api03-KEYSECRET TOKENSECRET\nOAUTHSECRET user:BASESECRET BASESECRET PATHSECRETPATHSECRET"
        " HEADERSECRET PROXYSECRET; received sk-an***KEY, sk-...9fA2"
    )
    assert endpoint.struck(said) == "no: *** *** *** *** *** *** *** ***; received sk-***, sk-***"
    assert "SECRET" not in repr(endpoint)
    assert endpoint.struck("x" * 300) == "x" * 199 + "…"

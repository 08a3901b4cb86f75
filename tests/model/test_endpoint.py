"""The endpoint as the environment names it; what is wrong is told in one line without what a variable holds."""

from __future__ import annotations

import pytest

from stenograph.errors import ConfigError, UsageError
from stenograph.model.endpoint import Endpoint, endpoint_from_environment
from stenograph.net import Address

KEY = "sentinel-of-a-key"


def read(**environ: str) -> Endpoint:
    return endpoint_from_environment({"ANTHROPIC_API_KEY": KEY, **environ})


def test_a_key_is_enough() -> None:
    endpoint = read()
    assert endpoint.address == Address("https", "api.anthropic.com", 443)
    assert (endpoint.path, endpoint.headers, endpoint.proxy) == ("", {"x-api-key": KEY}, None)
    assert (endpoint.timeout, endpoint.max_retries, endpoint.marks_cache) == (600.0, 10, True)


def test_a_token_is_sent_as_bearer_and_beside_a_key() -> None:
    # Client 2.1.325 with both variables sends both headers.
    assert read(ANTHROPIC_AUTH_TOKEN=" tok ").headers == {"x-api-key": KEY, "authorization": "Bearer tok"}
    assert endpoint_from_environment({"ANTHROPIC_AUTH_TOKEN": "tok"}).headers == {"authorization": "Bearer tok"}


@pytest.mark.parametrize("environ", [{}, {"ANTHROPIC_API_KEY": ""}, {"ANTHROPIC_API_KEY": " \n", "ANTHROPIC_AUTH_TOKEN": ""}])
def test_no_key_is_one_line_that_says_what_to_set(environ: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY") as caught:
        endpoint_from_environment(environ)
    assert "\n" not in str(caught.value)


def test_custom_headers_are_lines_and_may_hold_the_key() -> None:
    endpoint = endpoint_from_environment({"ANTHROPIC_CUSTOM_HEADERS": "X-One: 1\r\n\nx-two:a: b \nAuthorization: Basic abc"})
    assert endpoint.headers == {"x-one": "1", "x-two": "a: b", "authorization": "Basic abc"}


def test_custom_headers_beat_the_key_of_a_variable() -> None:
    assert read(ANTHROPIC_CUSTOM_HEADERS="X-Api-Key: other").headers == {"x-api-key": "other"}


@pytest.mark.parametrize(
    ("written", "address", "path"),
    [
        ("http://127.0.0.1:8080", Address("http", "127.0.0.1", 8080), ""),
        ("http://127.0.0.1:8080/", Address("http", "127.0.0.1", 8080), ""),
        (" https://Gateway.Example/anthropic/ ", Address("https", "gateway.example", 443), "/anthropic"),
        ("http://[::1]:9", Address("http", "::1", 9), ""),
        ("", Address("https", "api.anthropic.com", 443), ""),
    ],
)
def test_a_base_url_is_an_address_and_a_path(written: str, address: Address, path: str) -> None:
    endpoint = read(ANTHROPIC_BASE_URL=written)
    assert (endpoint.address, endpoint.path) == (address, path)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("ANTHROPIC_BASE_URL", "sentinel.example"),
        ("ANTHROPIC_BASE_URL", "ftp://sentinel.example"),
        ("ANTHROPIC_BASE_URL", "https://"),
        ("ANTHROPIC_BASE_URL", "https://sentinel..example"),
        ("ANTHROPIC_BASE_URL", "https://sentinel.example:0"),
        ("ANTHROPIC_BASE_URL", "https://sentinel.example:port"),
        ("ANTHROPIC_BASE_URL", "https://sentinel.example:99999"),
        ("ANTHROPIC_BASE_URL", "https://user:sentinel@example.com"),
        ("ANTHROPIC_BASE_URL", "https://example.com/a?key=sentinel"),
        ("ANTHROPIC_BASE_URL", "https://example.com/sentinel b"),
        ("ANTHROPIC_BASE_URL", "https://[sentinel"),
        ("ANTHROPIC_BASE_URL", "https://" + "sentinel" * 9 + ".example"),
        ("ANTHROPIC_API_KEY", "sentinel\nx-evil: 1"),
        ("ANTHROPIC_API_KEY", "“sentinel”"),
        ("ANTHROPIC_AUTH_TOKEN", "sentinel\r\nx"),
        ("ANTHROPIC_CUSTOM_HEADERS", "sentinel"),
        ("ANTHROPIC_CUSTOM_HEADERS", "senti nel: 1"),
        ("ANTHROPIC_CUSTOM_HEADERS", ": sentinel"),
        ("ANTHROPIC_CUSTOM_HEADERS", "x: sentinel\x00"),
        ("ANTHROPIC_CUSTOM_HEADERS", "Content-Length: 1"),
        ("ANTHROPIC_CUSTOM_HEADERS", "Host: sentinel"),
        ("API_TIMEOUT_MS", "sentinel"),
        ("API_TIMEOUT_MS", "-1"),
        ("API_TIMEOUT_MS", "1e9"),
        ("STENO_IDLE_TIMEOUT_MS", "٣"),
        ("CLAUDE_CODE_MAX_RETRIES", "3.5"),
        ("HTTPS_PROXY", "ftp://sentinel:21"),
        ("HTTPS_PROXY", "http://sentinel:port"),
        ("HTTP_PROXY", "http://"),
    ],
)
def test_a_variable_that_can_not_be_is_named_and_not_shown(name: str, written: str) -> None:
    with pytest.raises(ConfigError, match=name) as caught:
        read(**{name: written})
    told = str(caught.value)
    assert "sentinel" not in told
    assert "\n" not in told


def test_numbers_of_the_environment() -> None:
    endpoint = read(API_TIMEOUT_MS="1500", STENO_IDLE_TIMEOUT_MS="250", CLAUDE_CODE_MAX_RETRIES="3")
    assert (endpoint.timeout, endpoint.idle_timeout, endpoint.max_retries) == (1.5, 0.25, 3)
    # Clients take no more than 15 (their documentation); a time-out of nothing would end every request.
    endpoint = read(API_TIMEOUT_MS="0", CLAUDE_CODE_MAX_RETRIES="100")
    assert (endpoint.timeout, endpoint.max_retries) == (600.0, 15)
    assert read(CLAUDE_CODE_MAX_RETRIES="0").max_retries == 0
    # Half an hour of pings, or six times what was asked for, as docs/endpoints.md says.
    assert (read().longest_stall, read(STENO_IDLE_TIMEOUT_MS="250").longest_stall) == (1800.0, 1.5)


@pytest.mark.parametrize(("written", "marks"), [("1", False), ("true", False), ("0", True), ("", True)])
def test_cache_marks_can_be_left_out(written: str, marks: bool) -> None:
    assert read(DISABLE_PROMPT_CACHING=written).marks_cache is marks


def test_nothing_that_is_printed_of_an_endpoint_shows_a_key() -> None:
    endpoint = read(
        ANTHROPIC_AUTH_TOKEN="sentinel-two", ANTHROPIC_CUSTOM_HEADERS="x: sentinel-three", HTTPS_PROXY="http://u:sentinel@p:1"
    )
    assert "sentinel" not in f"{endpoint} {endpoint!r}"
    assert "dTpzZW50aW5lbA==" not in f"{endpoint.proxy!r}"
    assert {"sentinel-of-a-key", "sentinel-two", "sentinel-three", "dTpzZW50aW5lbA=="} <= set(endpoint.secrets)

"""Which proxy the environment names for a server."""

from __future__ import annotations

import pytest

from stenograph.errors import ConfigError
from stenograph.net import Address, find_proxy, read_url


def proxy_of(url: str, environ: dict[str, str]) -> str:
    read = read_url(url)
    assert read is not None
    found = find_proxy(read.address, environ)
    return found.address.with_port if found else ""


@pytest.mark.parametrize(
    ("url", "environ", "expected"),
    [
        ("https://a.example", {"HTTPS_PROXY": "http://p:1"}, "p:1"),
        ("https://a.example", {"https_proxy": "p"}, "p:80"),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1", "https_proxy": "http://q:2"}, "q:2"),
        # "If HTTPS is not available": the client's documentation.
        ("https://a.example", {"HTTP_PROXY": "http://p:1"}, "p:1"),
        ("https://a.example", {"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://q:2"}, "q:2"),
        ("http://a.example", {"HTTP_PROXY": "http://p:1"}, "p:1"),
        ("http://a.example", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("http://127.0.0.1:5", {"HTTP_PROXY": "http://p:1"}, ""),
        ("http://localhost:5", {"HTTP_PROXY": "http://p:1"}, ""),
        ("https://a.example", {}, ""),
        ("https://a.example", {"ALL_PROXY": "http://p:1"}, "p:1"),
        ("http://a.example", {"all_proxy": "http://p:1"}, "p:1"),
        ("https://a.example", {"ALL_PROXY": "http://p:1", "HTTP_PROXY": "http://q:2"}, "q:2"),
        # CVE-2016-1000110: under CGI the header `Proxy` of a request becomes HTTP_PROXY.
        ("http://a.example", {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, ""),
        ("http://a.example", {"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"}, "p:1"),
    ],
)
def test_a_proxy_is_chosen_by_the_scheme(url: str, environ: dict[str, str], expected: str) -> None:
    assert proxy_of(url, environ) == expected


@pytest.mark.parametrize(
    ("host", "exceptions", "is_excepted"),
    [
        ("a.example", "*", True),
        ("a.example", "a.example", True),
        ("a.example", "A.EXAMPLE", True),
        ("a.example", "b.example a.example", True),
        ("a.example", "b.example, .example", True),
        ("a.example", "example", True),
        ("a.example", "*.example", True),
        ("a.example", "a.example:443", True),
        ("a.example", "a.example:80", False),
        ("ba.example", "a.example", False),
        ("a.example", "", False),
        ("a.example", ",", False),
        ("a.example", ".", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("a.example", "10.0.0.0/8", False),
        ("a.example", "nonsense/x", False),
        ("fd00::1", "[fd00::1]", True),
        ("fd00::1", "fd00::1", True),
        ("fd00::1", "fd00::/8", True),
    ],
)
def test_no_proxy_names_hosts_domains_and_networks(host: str, exceptions: str, is_excepted: bool) -> None:
    found = find_proxy(Address("https", host, 443), {"HTTPS_PROXY": "http://p:1", "NO_PROXY": exceptions})
    assert (found is None) is is_excepted


@pytest.mark.parametrize("written", ["ftp://sentinel:21", "socks6://sentinel:1080", "http://sentinel:port", "http://:80"])
def test_a_proxy_of_another_kind_is_an_error_that_names_its_variable(written: str) -> None:
    with pytest.raises(ConfigError, match=r"^cannot use ALL_PROXY; ") as caught:
        find_proxy(Address("https", "a.example", 443), {"ALL_PROXY": written})
    assert "sentinel" not in str(caught.value)

"""URLs, hosts and ports as people write them."""

from __future__ import annotations

import pytest

from stenograph.net import Address, canonical_host, is_loopback, read_url


@pytest.mark.parametrize(
    ("address", "authority", "with_port"),
    [
        (Address("https", "a.example", 443), "a.example", "a.example:443"),
        (Address("http", "a.example", 443), "a.example:443", "a.example:443"),
        (Address("http", "::1", 80), "[::1]", "[::1]:80"),
    ],
)
def test_an_address_names_its_port_where_it_has_to(address: Address, authority: str, with_port: str) -> None:
    assert (address.authority, address.with_port) == (authority, with_port)


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("http://a.example", "/"),
        (" https://a.example/b/?c=d&e=%20#f ", "/b/?c=d&e=%20"),
        ("https://user:key@a.example:8443?c", "/?c"),
    ],
)
def test_a_url_is_an_address_and_a_target(written: str, target: str) -> None:
    url = read_url(written)
    assert url is not None
    assert (url.address.host, url.target, url.has_user) == ("a.example", target, "@" in written)


@pytest.mark.parametrize(
    "written",
    ["", "a.example", "ftp://a.example", "file:///etc/passwd", "http://", "http:///x", "http://a:port/", "http://a:99999/",
     "http://a:0/", "http://a..b/", f"http://{'a' * 64}.example/", "http://[::1/", "http://a.example/b c", "http://a.example/?é",
     "http://bücher.example/"],
)  # fmt: skip
def test_what_can_not_be_connected_to_is_not_a_url(written: str) -> None:
    assert read_url(written) is None


def test_what_this_machine_is() -> None:
    assert all(map(is_loopback, ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "::1"]))
    assert not any(map(is_loopback, ["127.example", "128.0.0.1", "localhost.example", ""]))


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("Example.COM.", "example.com"),
        ("127.1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0", "127.0.0.1"),
        ("::", "::1"),
        ("0:0::1", "::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("1.2.3.4.5", "1.2.3.4.5"),
    ],
)
def test_a_host_has_one_spelling(written: str, host: str) -> None:
    assert canonical_host(written) == host

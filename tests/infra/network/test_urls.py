"""Addresses are read in one way or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.infra.network.urls import BadUrl, Target, parse_host, parse_url


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://example.com", Target("http", "example.com", 80, "/")),
        ("HTTPS://Example.COM./a/b?c=d#e", Target("https", "example.com", 443, "/a/b?c=d")),
        ("https://example.com:8443?x", Target("https", "example.com", 8443, "/?x")),
        ("http://example.com:0080/", Target("http", "example.com", 80, "/")),
        ("http://[2001:DB8::1]:81/", Target("http", "2001:db8::1", 81, "/")),
        ("http://127.1/", Target("http", "127.0.0.1", 80, "/")),
        ("http://2130706433/", Target("http", "127.0.0.1", 80, "/")),
        ("http://0x7f.0.0.1/", Target("http", "127.0.0.1", 80, "/")),
        ("http://0177.0.0.01/", Target("http", "127.0.0.1", 80, "/")),
    ],
)
def test_an_address_is_read_into_its_parts(url: str, target: Target) -> None:
    assert parse_url(url) == target


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.com", "http or https"),
        ("//example.com", "http or https"),
        ("http://", "no host"),
        ("http://user@example.com", "user name or password"),
        ("http://example.com\\@evil.example", "backslash"),
        ("http://example.com/a b", "blanks"),
        ("http://exämple.com", "beyond ASCII"),
        ("http://example.com/\r\nX: y", "control characters"),
        ("http://ex%61mple.com", "no host name"),
        ("http://-a.example", "no host name"),
        ("http://a..example", "no host name"),
        ("http://example.com:0", "port"),
        ("http://example.com:65536", "port"),
        ("http://example.com:", "port"),
        ("http://1.2.3.4.5", "ends in a number"),
        ("http://256.1.1.1", "ends in a number"),
        ("http://08.1", "ends in a number"),
        ("http://4294967296", "ends in a number"),
        ("http://evil.example.7", "ends in a number"),
        ("http://[::1%eth0]/", "no IPv6 address"),
        ("http://[::1]evil.example/", "cannot be read"),
        ("http://[127.0.0.1]/", "no IPv6 address"),
        ("http://example.com/" + "a" * 9000, "longer than"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused_without_repeating_it(url: str, why: str) -> None:
    with pytest.raises(BadUrl, match=why) as refused:
        parse_url(url)
    assert "evil" not in str(refused.value)


@given(st.text(st.sampled_from("htps:/.@[]0x7f1%\\?#aZ-é "), max_size=30))
def test_what_was_read_is_read_again_as_the_same(text: str) -> None:
    try:
        target = parse_url(f"http://{text}")
    except BadUrl:
        return
    assert parse_url(target.url) == target
    assert target.host == target.host.lower() and "@" not in target.authority


def test_a_host_header_names_the_port_unless_it_is_the_usual_one() -> None:
    assert parse_url("https://example.com:443/x").authority == "example.com"
    assert parse_url("http://example.com:443/x").authority == "example.com:443"
    assert parse_url("http://[::1]:8080/").url == "http://[::1]:8080/"


def test_numbers_are_addresses_and_names_are_not() -> None:
    assert [parse_url(f"http://{host}/").is_literal for host in ("127.1", "[::1]", "1.example", "x7")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert parse_host("LOCALHOST.") == "localhost"

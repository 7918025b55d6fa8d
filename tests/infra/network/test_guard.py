"""No spelling of an address, no answer of a name server and no wrapping of one address in another opens a forbidden one."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.infra.network.guard import Forbidden, Guard, Unresolved, is_public
from ferrule.infra.network.urls import BadUrl, parse_url

FORBIDDEN_4 = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.254", "127.0.0.1",
    "127.255.255.254", "168.63.129.16", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255",
    "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255",
    "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
]  # fmt: skip
PUBLIC_4 = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
            "169.253.255.255", "11.0.0.0", "126.255.255.255", "128.0.0.0", "192.167.255.255", "198.20.0.0"]  # fmt: skip
FORBIDDEN_6 = [
    "::", "::1", "::2", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "febf::1", "fec0::1", "fc00::1", "fd00::1",
    "fd00:ec2::254", "ff02::1", "ff0e::1", "2001:db8::1", "3fff::1", "3fff:fff::1", "2001::1", "2001:0:7f00:1::",
    "2001:2::1", "2001:10::1", "2001:20::1", "100::1", "5f00::1", "64:ff9b:1::1", "64:ff9b:1::808:808", "4000::1", "1::1",
    "2002:5db8:d822::1",
]  # fmt: skip


def spellings(address: str) -> list[str]:
    """Ways to write an IPv4 address that some programs understand."""
    a, b, c, d = map(int, address.split("."))
    number = int(ipaddress.IPv4Address(address))
    last2, last3 = c << 8 | d, b << 16 | c << 8 | d
    return [
        address, f"{address}.", f"{number}", f"{number}.", f"{number:#x}", f"{number:#X}", f"0{number:o}", f"000{number:o}",
        f"{a}.{last3}", f"{a}.{b}.{last2}", f"{a:#x}.{b:#x}.{c:#x}.{d:#x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a:#x}.{last3}", f"0{a:o}.{b}.{last2:#x}", f"{a}.{b}.{c}.{d:#04x}", f"0x{a:08x}.{b}.{c}.{d}",
    ]  # fmt: skip


def wrapped(address: str) -> list[str]:
    """IPv6 addresses with an IPv4 one inside."""
    number = int(ipaddress.IPv4Address(address))
    high, low = number >> 16, number & 0xFFFF
    return [
        f"::ffff:{address}", f"0:0:0:0:0:ffff:{high:x}:{low:x}", f"64:ff9b::{address}", f"2002:{high:x}:{low:x}::",
        f"2002:{high:x}:{low:x}::1", f"::{address}", f"::ffff:0:{address}", f"64:ff9b:1::{address}",
        f"2001:0:4136:e378:8000:63bf:{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}", f"2001:0:{high:x}:{low:x}::",
        f"2606:4700::5efe:{address}", f"2606:4700::200:5efe:{address}", f"fe80::5efe:{address}",
    ]  # fmt: skip


@pytest.mark.parametrize("host", [spelling for address in FORBIDDEN_4 for spelling in spellings(address)])
def test_every_spelling_of_a_forbidden_address_is_refused(host: str) -> None:
    """DESIGN promise 9 (MCP-286): odd spellings of an address included. No name server is asked."""
    for url in (f"http://{host}/", f"https://{host}:8443/x", f"http://{host}?x"):
        with pytest.raises(Forbidden, match=r"\[network\] allow"):
            Guard(resolver=never).addresses(parse_url(url))


@pytest.mark.parametrize("address", [inside for address in FORBIDDEN_4 for inside in wrapped(address)] + FORBIDDEN_6)
def test_every_wrapping_of_a_forbidden_address_is_refused(address: str) -> None:
    assert not is_public(address)
    if "%" not in address:
        with pytest.raises(Forbidden):
            Guard(resolver=never).addresses(parse_url(f"http://[{address}]/"))
    with pytest.raises(Forbidden):
        Guard(resolver=lambda host, port: ["93.184.216.34", address]).addresses(parse_url("https://example.com/"))


def test_what_the_system_makes_of_a_spelling_is_what_is_judged() -> None:
    """The C library's own reading agrees with ours, for all spellings it takes."""
    for address in FORBIDDEN_4 + PUBLIC_4:
        for spelling in spellings(address):
            assert parse_url(f"http://{spelling}/").host == address
            assert socket.inet_ntoa(socket.inet_aton(spelling.rstrip("."))) == address


@pytest.mark.parametrize("address", PUBLIC_4)
def test_public_addresses_pass_in_every_spelling(address: str) -> None:
    assert is_public(address) and is_public(f"::ffff:{address}") and is_public(f"64:ff9b::{address}")
    for spelling in spellings(address):
        assert Guard(resolver=never).addresses(parse_url(f"http://{spelling}/")) == [address]


@pytest.mark.parametrize("address", ["2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450::1", "2620:fe::fe"])
def test_public_ipv6_addresses_pass(address: str) -> None:
    assert Guard(resolver=never).addresses(parse_url(f"https://[{address}]:8443/")) == [address]


@given(st.ip_addresses(v=4))
def test_any_ipv4_address_is_judged_as_python_does_or_more_strictly(address: ipaddress.IPv4Address) -> None:
    if is_public(str(address)):
        assert address.is_global and not address.is_multicast


@given(st.ip_addresses(v=6))
def test_any_ipv6_address_is_judged_as_python_does_or_more_strictly(address: ipaddress.IPv6Address) -> None:
    if is_public(str(address)) and address.ipv4_mapped is None and address not in ipaddress.ip_network("64:ff9b::/96"):
        assert address.is_global and not address.is_multicast


@given(st.ip_addresses(v=4).filter(lambda address: not is_public(str(address))), st.integers(0, 15))
def test_any_forbidden_address_in_any_spelling_is_refused(address: ipaddress.IPv4Address, index: int) -> None:
    with pytest.raises(Forbidden):
        Guard(resolver=never).addresses(parse_url(f"http://{spellings(str(address))[index]}/"))


UNREADABLE = [
    "", "http:", "http://", "http:///x", "http://?x", "http://#x", "https:example.com", "https:/example.com", "//example.com",
    "ftp://example.com", "file:///etc/passwd", "gopher://127.0.0.1:70/", "data:text/plain,x", "javascript:alert(1)", "httpx://a",
    "http://user@example.com/", "http://user:pw@example.com/", "http://@example.com/", "http://example.com@127.0.0.1/",
    "http://127.0.0.1:80@example.com/", "http://127.0.0.1%40example.com/", "http://example.com:80:80/", "http://example.com:/",
    "http://example.com:0/", "http://example.com:65536/", "http://example.com:-1/", "http://example.com:８０/",
    "http://example.com:8o/", "http://example.com:+80/", "http://example.com: 80/", "http://example.com\\@127.0.0.1/",
    "http:\\\\127.0.0.1/", "http:/\\127.0.0.1/", "http://127.0.0.1\\.example.com/", "http://exam\tple.com/", "http://127.0.0.1\n/",
    "\nhttp://127.0.0.1/", " http://127.0.0.1/", "http://127.0.0.1 /", "http://127.0.0.1\r\nHost: x/", "http://127.0.0.1\0.com/",
    "http://%31%32%37.0.0.1/", "http://127%2e0.0.1/", "http://localhost%00.example.com/", "http://①②⑦.⓪.⓪.①/",
    "http://１２７.0.0.1/", "http://127。0。0。1/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://exаmple.com/", "http://example.com\u200b/",
    "http://exam\u00adple.com/", "http://ſ.example/", "http://example..com/", "http://.example.com/", "http://example.com../",
    "http://./", "http://../", "http://-example.com/", "http://example-.com/", "http://exa!mple.com/", "http://a,b/", "http://a;b/",
    "http://(127.0.0.1)/", "http://127.0.0.1,example.com/", "http://1.2.3.4.5/", "http://1.2.3.256/", "http://256.1.1.1/",
    "http://1.2.65536/", "http://4294967296/", "http://0x100000000/", "http://08.1.1.1/", "http://1.2.3.09/", "http://example.1/",
    "http://example.0x7f/", "http://1..2/", "http://0x7g.1/", "http://[::1/", "http://::1/",
    "http://[::1]x/", "http://[::1]:/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[v1.x]/", "http://[]/",
    "http://[127.0.0.1]/", "http://[::ffff:127.0.0.1]]/", "http://[::1]@example.com/", "http://[:::1]/", "http://[1::2::3]/",
    "http://" + "a" * 64 + ".com/", "http://" + "a." * 130 + "com/", "http://example.com/" + "x" * 9000, "http://example.com/ä",
    "http://example.com/a b", "http://example.com/\x7f", "HTTP//example.com", "http ://example.com", "://example.com",
    "example.com",
]  # fmt: skip


@pytest.mark.parametrize("url", UNREADABLE)
def test_what_could_be_read_in_two_ways_is_not_read_at_all(url: str) -> None:
    with pytest.raises(BadUrl) as refused:
        parse_url(url)
    assert not url.strip("/") or len(url) < 12 or url not in str(refused.value)


@given(st.text(max_size=40) | st.text("0123456789abcdefx.:/@[]%\\?# ", max_size=30))
def test_any_text_is_read_in_one_way_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://{text}/"):
        try:
            target = parse_url(url)
        except BadUrl:
            continue
        assert parse_url(target.url) == target
        assert target.host == target.host.lower() and target.path.startswith("/") and 0 < target.port < 65536


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [("HTTP://Example.COM", "example.com", 80, "/"), ("https://example.com.:8443/a?b=c#d", "example.com", 8443, "/a?b=c"),
     ("http://[2606:4700:0:0::1]/", "2606:4700::1", 80, "/"),
     ("https://xn--bcher-kva.example?q", "xn--bcher-kva.example", 443, "/?q"),
     ("http://a_b.example/@x:y", "a_b.example", 80, "/@x:y"), ("http://1.example:0080/", "1.example", 80, "/")],
)  # fmt: skip
def test_plain_addresses_are_read(url: str, host: str, port: int, path: str) -> None:
    target = parse_url(url)
    assert (target.host, target.port, target.path) == (host, port, path)


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST", "localhost.", "foo.localhost", "metadata.google.internal", "printer"]
)
def test_names_are_judged_by_where_they_lead(name: str) -> None:
    with pytest.raises(Forbidden):
        Guard(resolver=lambda host, port: ["127.0.0.1"]).addresses(parse_url(f"http://{name}/"))


def test_the_system_knows_localhost() -> None:
    with pytest.raises(Forbidden):
        Guard().addresses(parse_url("http://localhost:1/"))


def test_an_answer_that_is_no_address_is_refused() -> None:
    for answer in ("", "localhost", "127.1", "1.2.3.4/8", "0x7f000001"):
        with pytest.raises(Forbidden):
            Guard(resolver=lambda host, port, answer=answer: [answer]).addresses(parse_url("http://example.com/"))  # type: ignore[misc]
    with pytest.raises(Unresolved):
        Guard(resolver=lambda host, port: []).addresses(parse_url("http://example.com/"))


@pytest.mark.parametrize(
    ("entry", "url", "is_listed"),
    [("db.internal", "http://db.internal/", True), ("DB.Internal.", "http://db.internal:9/", True),
     ("db.internal:9", "http://db.internal:9/", True), ("db.internal:9", "http://db.internal:8/", False),
     ("db.internal:9", "http://db.internal/", False), ("127.0.0.1", "http://127.1/", True), ("127.1", "http://127.0.0.1/", True),
     ("::1", "http://[0::1]/", True), ("[::1]:8080", "http://[::1]:8080/", True), ("[::1]:8080", "http://[::1]/", False),
     ("internal", "http://db.internal/", False), (".internal", "http://db.internal/", False), ("*", "http://db.internal/", False),
     ("http://db.internal", "http://db.internal/", False), ("db.internal/", "http://db.internal/", False),
     ("", "http://x/", False),
     ("db.internal:80", "http://db.internal/", True), ("10.0.0.0/8", "http://10.0.0.1/", False)],
)  # fmt: skip
def test_the_list_names_hosts_and_perhaps_ports(entry: str, url: str, is_listed: bool) -> None:
    target = parse_url(url)
    guard = Guard([entry], lambda host, port: ["10.0.0.1"])
    assert guard.lists(target) == is_listed
    if is_listed:
        assert guard.addresses(target)
    else:
        with pytest.raises(Forbidden):
            guard.addresses(target)


def never(host: str, port: int) -> list[str]:
    raise AssertionError(f"{host} was looked up")

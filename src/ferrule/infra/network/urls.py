"""Reads http addresses in one way only.

Anything two programs might read differently (user names, backslashes, blanks, letters beyond ASCII, percent signs in a
host) is refused, so that the judged address is the dialled one. Numbers in all their spellings become plain addresses
here.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

_LONGEST = 8192
_URL = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.IGNORECASE | re.DOTALL)
_PLAIN = re.compile(r"[\x21-\x7e]+")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PORT = re.compile(r"0{0,4}[1-9][0-9]{0,4}")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class BadUrl(ValueError):
    """An ambiguous or invalid address. The message says why and does not repeat it."""


class Target(NamedTuple):
    """A parsed address."""

    scheme: str
    host: str
    """Lower case, without a trailing dot; numbers as a plain address, IPv6 without brackets."""
    port: int
    path: str
    """With the query, without the fragment."""

    @property
    def is_secure(self) -> bool:
        """True with TLS."""
        return self.scheme == "https"

    @property
    def is_literal(self) -> bool:
        """True when the host is an address and no name."""
        return ":" in self.host or self.host.rpartition(".")[2].isdecimal()

    @property
    def place(self) -> str:
        """Host and port, always both."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header has them."""
        return self.place.rpartition(":")[0] if self.port == _DEFAULT_PORTS[self.scheme] else self.place

    @property
    def url(self) -> str:
        """The address in one spelling."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(url: str) -> Target:
    """Returns the parts of an http or https address. Raises BadUrl."""
    if len(url) > _LONGEST:
        raise BadUrl("it is longer than 8192 characters")
    if not _PLAIN.fullmatch(url):
        raise BadUrl(
            "it has blanks, control characters or letters beyond ASCII; write them percent-encoded, hosts in punycode"
        )
    if "\\" in url:
        raise BadUrl("it has a backslash; write / or %5C")
    match = _URL.fullmatch(url)
    if match is None:
        raise BadUrl("it must be an http or https address: http://… or https://…")
    scheme = match[1].lower()
    host, port = _authority(match[2].lower())
    return Target(scheme, host, port or _DEFAULT_PORTS[scheme], (match[3] or "/") + (match[4] or ""))


def _authority(text: str) -> tuple[str, int | None]:
    if "@" in text:
        raise BadUrl("it has a user name or password in it; leave that out")
    if text.startswith("["):
        inner, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise BadUrl("its host cannot be read")
        return _ipv6(inner), _port(rest[1:]) if rest else None
    name, colon, port = text.partition(":")
    return parse_host(name), _port(port) if colon else None


def _port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise BadUrl("its port is no number from 1 to 65535")
    return int(text)


def parse_host(text: str) -> str:
    """Returns a host in one spelling: a name, or a plain address. Raises BadUrl."""
    name = text.lower().removesuffix(".")
    if not name:
        raise BadUrl("it has no host")
    labels = name.split(".")
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise BadUrl("its host is no host name and no address")
    return str(_ipv4(labels)) if _NUMBER.fullmatch(labels[-1]) else name


def _ipv4(labels: list[str]) -> ipaddress.IPv4Address:
    """Returns the address that `127.1`, `0x7f.1` or `2130706433` stand for: up to four numbers, the last one filling
    the rest."""
    if len(labels) > 4 or not all(map(_NUMBER.fullmatch, labels)):
        raise BadUrl("its host ends in a number and is no address")
    *first, last = map(_number, labels)
    room = 4 - len(first)
    if any(number > 255 for number in first) or last >= 256**room:
        raise BadUrl("its host ends in a number and is no address")
    return ipaddress.IPv4Address(int.from_bytes(bytes(first)) << (8 * room) | last)


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    try:
        return int(text, 8) if len(text) > 1 and text.startswith("0") else int(text)
    except ValueError:  # 08 is no octal number, and too many digits are no number at all
        raise BadUrl("its host ends in a number and is no address") from None


def _ipv6(text: str) -> str:
    try:
        if "%" in text:
            raise ValueError
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise BadUrl("its host in brackets is no IPv6 address") from None


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"

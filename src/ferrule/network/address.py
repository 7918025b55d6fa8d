"""Where a message may go: names are resolved once, every address is looked at, and only such an address is connected to.

What resolves to loopback, private, link-local or other special ranges needs its host in `[network] allow`.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection
from typing import NamedTuple
from urllib.parse import urlsplit

from ferrule.errors import SettingsError

Resolve = Callable[[str, int], list[str]]


class Target(NamedTuple):
    """A parsed address to send to."""

    host: str
    port: int
    path: str
    is_secure: bool


def parse_target(url: str, allowed: Collection[str], what: str = "webhook") -> Target:
    """The parts of a URL. Raises SettingsError for one that nothing should be sent to; `what` it is for stands in the message."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise SettingsError(f"the {what} address {url!r} cannot be read: {error}") from None
    if parts.scheme not in ("https", "http") or not host or not url.isascii() or not url.isprintable() or " " in url:
        raise SettingsError(f"the {what} address {url!r} must be an https address in plain ASCII")
    if parts.username is not None or parts.password is not None:
        raise SettingsError(f"the {what} address of {host} must not hold a user name or password")
    is_secure = parts.scheme == "https"
    if not is_secure and not is_allowed(host, allowed):
        raise SettingsError(f"the {what} to {host} must use https, or {host} must stand in [network] allow")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(host, port or (443 if is_secure else 80), path, is_secure)


def is_allowed(host: str, allowed: Collection[str]) -> bool:
    """True when a host is on the list."""
    return host.lower() in {name.lower().rstrip(".") for name in allowed}


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system gives them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def checked_addresses(target: Target, allowed: Collection[str], resolver: Resolve = resolve) -> list[str]:
    """The addresses to connect to, in order. Raises PermissionError when one of them is not public, OSError otherwise."""
    addresses = resolver(target.host, target.port)
    if not is_allowed(target.host, allowed):
        for address in addresses:
            if not is_public(address):
                raise PermissionError(
                    f"{target.host} is at {address}, which is not a public address; put it in [network] allow to send there"
                )
    if not addresses:
        raise OSError(f"{target.host} has no address")
    return addresses


def is_public(address: str) -> bool:
    """True for an address of the open internet, also when an IPv4 one is wrapped in an IPv6 one."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or _translated(parsed)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return parsed.is_global and not parsed.is_multicast


def _translated(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address behind a NAT64 one."""
    is_nat64 = address in ipaddress.ip_network("64:ff9b::/96")
    return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF) if is_nat64 else None

"""Decides which hosts may be dialled: resolves a name once, checks every address, and lets only such an address be
used.

A host that resolves to loopback, private, link-local, metadata or other special ranges, however an address is wrapped
in another, needs its name in `[network] allow`. `parse_target` applies the same rules to addresses in settings: https,
unless the host is listed.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection

from ferrule.errors import SettingsError
from ferrule.infra.network.urls import BadUrl, Target, parse_url

_NOT_PUBLIC_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this host
            "10.0.0.0/8",
            "100.64.0.0/10",  # behind a provider's NAT; 100.100.100.200 is a metadata service
            "127.0.0.0/8",
            "168.63.129.16/32",  # Azure's own services, metadata among them
            "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata service of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is a metadata service
            "192.0.2.0/24",  # documentation, as are the two below
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo among them
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which is given up: an IPv4 address of anybody's may be inside
            "3fff::/20",  # documentation
        ),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def is_public(address: str) -> bool:
    """True for an address of the open internet; an IPv6 address with an IPv4 one inside counts as that one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _NOT_PUBLIC_4)
    # An address with a scope is of one link of this machine, and never of the open internet.
    if parsed.scope_id is not None:
        return False
    inner = _inner(parsed)
    if inner is not None and not is_public(str(inner)):
        return False
    # Judged above by the address inside; the ranges below are of IPv6 alone.
    if parsed.ipv4_mapped is not None or parsed in _NAT64:
        return True
    return parsed in _PUBLIC_6 and not any(parsed in network for network in _NOT_PUBLIC_6)


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Returns the IPv4 address that packets to an IPv6 one may reach."""
    # Mapped, NAT64 and ISATAP addresses all carry the IPv4 one in their last 32 bits.
    last = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.ipv4_mapped is not None or address in _NAT64 or int(address) >> 32 & 0xFFFF_FFFF in _ISATAP:
        return last
    return None


Resolve = Callable[[str, int], list[str]]
"""Returns the addresses of a host, as text. Raises OSError."""


class Forbidden(Exception):
    """An address that must not be reached. The message says how to allow it."""


class Unresolved(OSError):
    """A host without an address."""


def resolve(host: str, port: int) -> list[str]:
    """Returns the addresses of a host, as the system gives them. Raises OSError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # what Python makes of a label that is too long
        raise Unresolved(f"{host} has no address") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Judges addresses by their kind and by `[network] allow`."""

    def __init__(self, allowed: Collection[str] = (), resolver: Resolve = resolve) -> None:
        """`allowed`: hosts, or `host:port`. Any other entry allows nothing."""
        self._allowed = frozenset(filter(None, map(parse_entry, allowed)))
        self._resolver = resolver

    def lists(self, target: Target) -> bool:
        """True when `[network] allow` names the host, or the host with this port."""
        return (target.host, None) in self._allowed or (target.host, target.port) in self._allowed

    def demand_listed(self, target: Target) -> None:
        """Raises Forbidden for a target that `[network] allow` does not name."""
        if not self.lists(target):
            raise Forbidden(
                f"{target.host} is not in [network] allow of ferrule.toml, and this agent reaches nothing else; name the"
                " host there, or set policies.allow_external_http of the agent"
            )

    def addresses(self, target: Target) -> list[str]:
        """Returns the addresses to dial, in order; no others may be dialled for this target. Blocks while the name is
        resolved. Raises Forbidden when one of them is not public and the host is not listed, OSError when there is
        none."""
        found = self.find(target)
        self.judge(target, found)
        return found

    def find(self, target: Target) -> list[str]:
        """Returns the addresses of a target, unjudged. Blocks while the name is resolved. Raises OSError when there is
        none."""
        found = [target.host] if target.is_literal else self._resolver(target.host, target.port)
        if not found:
            raise Unresolved(f"{target.host} has no address")
        return found

    def judge(self, target: Target, addresses: Collection[str]) -> None:
        """Raises Forbidden when one of a target's addresses is not public and the target is not listed. One is enough:
        the next look-up could return that one. The message does not name it: the caller may be probing."""
        if not self.lists(target) and not all(map(is_public, addresses)):
            raise Forbidden(
                f"{target.host} is not a public address, or leads to one that is not; name the host in [network] allow of"
                " ferrule.toml if it may be reached"
            )


def parse_entry(text: str) -> tuple[str, int | None] | None:
    """Returns `host` or `host:port` in one spelling; None for anything else."""
    bare = text.strip()
    if bare.count(":") > 1 and not bare.startswith("["):
        bare = f"[{bare}]"
    try:
        target = parse_url(f"http://{bare}")
    except BadUrl:
        return None
    if target.path != "/" or bare.endswith("/"):
        return None
    return target.host, target.port if bare.rpartition("]")[2].count(":") else None


def parse_target(url: str, guard: Guard, what: str = "webhook") -> Target:
    """Returns the parts of a URL. Raises SettingsError for one that must not be used; `what` it is for goes into the
    message."""
    try:
        target = parse_url(url)
    except BadUrl as error:
        raise SettingsError(f"the {what} address cannot be used: {error}") from None
    if not target.is_secure and not guard.lists(target):
        raise SettingsError(
            f"the {what} to {target.host} must use https, or {target.host} must stand in [network] allow"
        )
    return target

"""Tells which network addresses belong to the open internet, however an address is wrapped in another."""

from __future__ import annotations

import ipaddress

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
            "3fff::/20",  # documentation
        ),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def is_public(address: str) -> bool:
    """True for an address of the open internet; an IPv6 address with an IPv4 one inside is what that one is."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _NOT_PUBLIC_4)
    if parsed.scope_id is not None:
        return False
    inner = _inner(parsed)
    if inner is not None and not is_public(str(inner)):
        return False
    if parsed.ipv4_mapped is not None or parsed in _NAT64:
        return True
    return parsed in _PUBLIC_6 and not any(parsed in network for network in _NOT_PUBLIC_6)


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that packets to an IPv6 one may end at."""
    last = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.ipv4_mapped is not None or address in _NAT64 or int(address) >> 32 & 0xFFFF_FFFF in _ISATAP:
        return last
    return address.sixtofour

"""Decides which hosts may be dialled: a name is resolved once, every address is looked at, and only such an address is used.

What resolves to loopback, private, link-local, metadata or other special ranges needs its host in `[network] allow`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection

from ferrule.infra.network.public import is_public
from ferrule.infra.network.urls import BadUrl, Target, parse_url

Resolve = Callable[[str, int], list[str]]
"""Gives the addresses of a host, as text. Raises OSError."""


class Forbidden(Exception):
    """An address that must not be reached. The message says what would change that."""


class Unresolved(OSError):
    """A host without an address."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system gives them. Raises OSError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # what Python makes of a label that is too long
        raise Unresolved(f"{host} has no address") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Judges addresses by `[network] allow` and by what they are."""

    def __init__(self, allowed: Collection[str] = (), resolver: Resolve = resolve) -> None:
        """`allowed`: hosts, or `host:port`. An entry that is neither allows nothing."""
        self._allowed = frozenset(filter(None, map(_entry, allowed)))
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
        """The addresses to dial, in order; nothing else may be dialled for this target. Blocks while the name is resolved.

        Raises Forbidden when one of them is not public and the host is not listed, OSError when there is none.
        """
        found = [target.host] if target.is_literal else self._resolver(target.host, target.port)
        if not found:
            raise Unresolved(f"{target.host} has no address")
        self.judge(target, found)
        return found

    def judge(self, target: Target, addresses: Collection[str]) -> None:
        """Raises Forbidden when one of a target's addresses is not public and the target is not listed.

        One is enough: the next look-up could give that one. The message does not tell which: whoever asks may be probing.
        """
        if not self.lists(target) and not all(map(is_public, addresses)):
            raise Forbidden(
                f"{target.host} is not a public address, or leads to one that is not; name the host in [network] allow of"
                " ferrule.toml if it may be reached"
            )


def _entry(text: str) -> tuple[str, int | None] | None:
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

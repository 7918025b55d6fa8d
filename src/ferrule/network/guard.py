"""Which addresses may be reached: a name is resolved once, every address is looked at, and only such an address is used."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection

Resolve = Callable[[str, int], list[str]]
"""Gives the addresses of a host, as text. Raises OSError."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system gives them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Judges addresses by `[network] allow` and by what they are."""

    def __init__(self, allowed: Collection[str] = (), resolver: Resolve = resolve) -> None:
        self._allowed = frozenset(allowed)
        self._resolver = resolver

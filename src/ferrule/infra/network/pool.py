"""Makes connections to a host and keeps them between requests: idle ones, and the places of those that use one now.

`dial` tries checked addresses in turn and finds out which version of HTTP is spoken. The client stands above; the two kinds
of connections below. Nothing here resolves a name.
"""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ferrule.infra.network.connection import Connection
from ferrule.infra.network.request import Unreachable
from ferrule.infra.network.urls import Target

if TYPE_CHECKING:
    from ferrule.infra.network.http2 import Http2Connection


class Host:
    """One scheme, host and port. A place is taken before a connection is, and given back when the answer was read."""

    __slots__ = ("_is_closed", "_waiting", "free", "http2", "idle", "is_http1", "opening", "places")

    def __init__(self, places: int) -> None:
        self.places = self.free = places
        self.idle: deque[Connection] = deque()
        self.http2: Http2Connection | None = None
        self.is_http1 = False
        """True once it turned out that it does not speak HTTP/2."""
        self.opening: asyncio.Future[None] | None = None
        """Set while the first connection is made; whether others are needed is known then."""
        self._is_closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_unused(self) -> bool:
        """True when nothing would be lost with it."""
        return self.free == self.places and not self.idle and self.http2 is None

    async def take(self) -> None:
        """Wait for a place; who came first gets the first."""
        if self.free:
            self.free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.give()  # it was handed over at the same moment
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
            raise

    def give(self) -> None:
        """Give a place back, to whoever has waited longest."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1

    def give_back(self, connection: Connection | None) -> None:
        """Give a place back, and the connection if it can be used again."""
        if connection is not None and not self._is_closed:
            self.idle.append(connection)
        elif connection is not None:
            connection.close()
        self.give()

    def close_idle(self, idle_seconds: float) -> None:
        """Close what has been idle for longer, or is not there any more."""
        kept = []
        for connection in self.idle:
            if connection.is_usable(idle_seconds):
                kept.append(connection)
            else:
                connection.close()
        self.idle = deque(kept)
        if self.http2 is not None and not self.http2.is_usable(idle_seconds):
            self.http2.drain()
            self.http2 = None

    def close(self) -> None:
        """Close what is idle, and everything else as soon as it is."""
        self._is_closed = True
        for connection in self.idle:
            connection.close()
        self.idle.clear()
        if self.http2 is not None:
            self.http2.drain()
            self.http2 = None


async def dial(
    target: Target, addresses: Sequence[str], tls: ssl.SSLContext | None, seconds: float
) -> Connection | Http2Connection:
    """Try the addresses in their order, each for its share of the time that is left. Raises Unreachable."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    refused = Unreachable(f"{target.host} has no address")
    for number, address in enumerate(addresses):
        share = (end - loop.time()) / (len(addresses) - number)
        try:
            async with asyncio.timeout(share):
                return await _one(target, address, tls)
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(
                f"{target.host} did not prove who it is: {error.verify_message}; if its certificate is right, trust its"
                " issuer with the variable SSL_CERT_FILE"
            ) from None
        except OSError as error:  # TLS failures and TimeoutError are such too
            refused = Unreachable(f"{target.host} could not be reached: {_reason(error, target, seconds)}")
    raise refused


async def _one(target: Target, address: str, tls: ssl.SSLContext | None) -> Connection | Http2Connection:
    loop = asyncio.get_running_loop()
    # An address, not a name: nothing is resolved again.
    if tls is None:
        return (await loop.create_connection(Connection, address, target.port))[1]
    greeting = (await loop.create_connection(_Greeting, address, target.port, ssl=tls, server_hostname=target.host))[1]
    if greeting.made is None:
        raise ConnectionAbortedError
    return greeting.made


class _Greeting(asyncio.Protocol):
    """Stands at a connection with TLS until the two sides have agreed on a version of HTTP."""

    def __init__(self) -> None:
        self.made: Connection | Http2Connection | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast(asyncio.Transport, transport)  # other loops' are not of this class
        if stream.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
            # Loaded when somebody speaks it: most of what is called does not, and it takes a while.
            self.made = importlib.import_module("ferrule.infra.network.http2").Http2Connection()
        else:
            self.made = Connection()
        stream.set_protocol(self.made)
        self.made.connection_made(transport)


def _reason(error: OSError, target: Target, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:g} seconds"
    if isinstance(error, ConnectionRefusedError):
        return f"nobody listens on port {target.port}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or 'no reason given'})"
    return error.strerror or type(error).__name__

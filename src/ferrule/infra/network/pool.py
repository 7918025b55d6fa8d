"""Makes connections to a host and keeps them between requests: the idle ones, and the number of those in use.

`dial` tries checked addresses in turn, those of the target or of the proxy on the way to it. The client stands above,
the connection below. Nothing here resolves a name.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from ferrule.infra.network.connection import ClientConnection
from ferrule.infra.network.proxies import Proxy
from ferrule.infra.network.request import ProxyRefused, Unreachable, Untrusted
from ferrule.infra.network.tunnel import open_tunnel
from ferrule.infra.network.urls import Target


class HostPool:
    """The connections to one scheme, host and port. A place is taken before a connection, and released when the answer
    was read."""

    __slots__ = ("_is_closed", "_waiting", "free", "idle", "places")

    def __init__(self, places: int) -> None:
        self.places = self.free = places
        self.idle: deque[ClientConnection] = deque()
        self._is_closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_unused(self) -> bool:
        """True when it holds no connection and no request."""
        return self.free == self.places and not self.idle

    async def take(self) -> None:
        """Waits for a place, first come, first served."""
        if self.free:
            self.free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.release()  # it was handed over at the same moment
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
            raise

    def release(self) -> None:
        """Releases a place to the request that has waited longest."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1

    def give_back(self, connection: ClientConnection | None) -> None:
        """Releases a place, and keeps the connection if it can be used again."""
        if connection is not None and not self._is_closed:
            self.idle.append(connection)
        elif connection is not None:
            connection.close()
        self.release()

    def close_idle(self, idle_seconds: float) -> None:
        """Closes connections that were idle for longer, or are closed by the other side."""
        kept = []
        for connection in self.idle:
            if connection.is_usable(idle_seconds):
                kept.append(connection)
            else:
                connection.close()
        self.idle = deque(kept)

    def close(self) -> None:
        """Closes idle connections, and all others as soon as they are idle."""
        self._is_closed = True
        for connection in self.idle:
            connection.close()
        self.idle.clear()


class DialRoute(NamedTuple):
    """The way to a target."""

    target: Target
    addresses: Sequence[str]
    """The addresses to dial in order: the judged ones of the target, or those of the proxy."""
    tls: ssl.SSLContext | None = None
    """For the target."""
    proxy: Proxy | None = None
    proxy_tls: ssl.SSLContext | None = None


async def dial(route: DialRoute, seconds: float) -> ClientConnection:
    """Tries the addresses in order, each for its share of the remaining time. Raises Unreachable."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    far = route.target if route.proxy is None else route.proxy.target
    who = far.host if route.proxy is None else f"the proxy {far.host}"
    refused = Unreachable(f"{who} has no address")
    for number, address in enumerate(route.addresses):
        # An address that never answers must leave time for the others.
        share = (end - loop.time()) / (len(route.addresses) - number)
        try:
            async with asyncio.timeout(share):
                return await _dial_address(route, address)
        except ProxyRefused:  # its other addresses would say the same
            raise
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(
                f"{route.target.host if route.proxy is None else f'{route.target.host}, or the proxy on the way,'} did not prove"
                f" who it is: {error.verify_message}; if its certificate is right, trust its issuer with ca in [network] or"
                " [network.tls], or with the variable SSL_CERT_FILE"
            ) from None
        except OSError as error:  # TLS failures and TimeoutError are such too
            refused = Unreachable(f"{who} could not be reached: {_reason(error, far, seconds)}")
    raise refused


async def _dial_address(route: DialRoute, address: str) -> ClientConnection:
    # An address, not a name: nothing is resolved again. TLS goes by the name.
    target, tls = route.target, route.tls
    if route.proxy is not None and tls is not None:
        return await open_tunnel(route.proxy, address, target, tls, route.proxy_tls)
    if route.proxy is not None:
        target, tls = route.proxy.target, route.proxy_tls
    name = target.host if tls is not None else None
    loop = asyncio.get_running_loop()
    connection = (await loop.create_connection(ClientConnection, address, target.port, ssl=tls, server_hostname=name))[
        1
    ]
    connection.proxy = route.proxy
    return connection


def _reason(error: OSError, target: Target, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:g} seconds"
    if isinstance(error, ConnectionRefusedError):
        return f"nothing listens on port {target.port}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or 'no reason given'})"
    return error.strerror or type(error).__name__

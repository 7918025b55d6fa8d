"""A guarded HTTP client: pooled connections to checked addresses; it returns the head at once, and the body as it
comes.

Every connection goes to an address that the guard judged, at the moment it is made; no name is resolved a second time.
Redirects are followed by `redirects.py`, which asks the guard about each new target as about the first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ferrule.infra.network.connection import ClientConnection
from ferrule.infra.network.guard import Guard, is_public
from ferrule.infra.network.pool import DialRoute, HostPool, dial
from ferrule.infra.network.proxies import Proxies, is_inside
from ferrule.infra.network.request import (
    BadRequest,
    Body,
    BrokenAnswer,
    Headers,
    ProxyRefused,
    TooLong,
    Unreachable,
    WrittenRequest,
    write_request,
)
from ferrule.infra.network.response import Response
from ferrule.infra.network.tls import TlsContexts
from ferrule.infra.network.urls import Target, parse_url

DEFAULT_BYTES = 4 * 1024**2
_TRIES = (2, 1, 0)
_LOOK_UP_SECONDS = 2.0
"""How long to look up a name that a proxy is for: behind many proxies the names of the internet do not resolve."""
_UNKNOWN_SECONDS = 30.0
"""How long to remember that a name does not resolve."""
_NO_PROXIES = Proxies()


class Fetched(NamedTuple):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class Client:
    """The HTTP connections of one process; safe to use from one event loop."""

    def __init__(
        self,
        guard: Guard,
        *,
        tls: TlsContexts | None = None,
        proxies: Proxies = _NO_PROXIES,
        per_host: int = 100,
        idle_seconds: float = 30.0,
        connect_seconds: float = 10.0,
    ) -> None:
        """`connect_seconds` bounds looking up and dialling all addresses."""
        self.guard = guard
        self._tls = tls or TlsContexts()
        self._proxies = proxies
        self._per_host = per_host
        self._idle_seconds = idle_seconds
        self._connect_seconds = connect_seconds
        self._hosts: dict[tuple[str, str, int], HostPool] = {}
        self._unknown: dict[str, float] = {}
        """Names that a proxy has to resolve, until when."""
        self._sweep: asyncio.TimerHandle | None = None

    async def send(
        self,
        method: str,
        target: Target,
        headers: Headers = (),
        body: Body = b"",
        *,
        length: int | None = None,
        listed_only: bool = False,
        is_single: bool = False,
    ) -> Response:
        """Sends a request; returns the head of the answer, whose body has to be read to the end, or closed.

        A `body` in pieces is asked for the next one when there is room for it; with its `length` unknown it goes out in
        chunks. Compressed answers are requested and decompressed, unless `headers` have an `Accept-Encoding` or a
        `Range`. `listed_only`: only hosts in `[network] allow` are reached. `is_single`: it is never sent a second
        time, not even where its method would allow that after a kept connection turns out to be closed. Raises
        Forbidden, Unreachable, BrokenAnswer, BadRequest, and any exception of a body in pieces.
        """
        if listed_only:
            self.guard.demand_listed(target)
        request = write_request(method, target, headers, body, length, is_single)
        key = target[:3]
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = HostPool(self._per_host)
            self._watch()
        await host.take()
        try:
            return await self._exchange(request, host)
        except BaseException:
            # After an answer the response gives the place back; without one this has to.
            host.release()
            raise

    async def fetch(
        self,
        method: str,
        url: str | Target,
        headers: Headers = (),
        body: Body = b"",
        *,
        length: int | None = None,
        max_bytes: int = DEFAULT_BYTES,
        timeout_seconds: float | None = 30.0,
        listed_only: bool = False,
    ) -> Fetched:
        """Returns the whole answer. Raises as `send` does, BadUrl, TooLong for a body over the limit, and TimeoutError."""
        target = parse_url(url) if isinstance(url, str) else url
        async with asyncio.timeout(timeout_seconds):
            response = await self.send(method, target, headers, body, length=length, listed_only=listed_only)
            return Fetched(response.status, response.headers, await response.read(max_bytes))

    async def knock(self, target: Target, *, listed_only: bool = False) -> None:
        """Connects and closes the connection. Raises Forbidden, Unreachable."""
        if listed_only:
            self.guard.demand_listed(target)
        (await self._dial(target)).close()

    def count_requests(self, target: Target) -> int:
        """Returns the number of requests to the target's host under way."""
        host = self._hosts.get(target[:3])
        return 0 if host is None else host.places - host.free

    async def aclose(self) -> None:
        """Closes idle connections. Answers that are still read end by themselves."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for host in self._hosts.values():
            host.close()
        self._hosts.clear()
        await asyncio.sleep(0)  # lets the transports notice

    async def _exchange(self, request: WrittenRequest, host: HostPool) -> Response:
        for tries_left in _TRIES:
            # The last try always dials: kept connections that turn out to be closed must not use up all of them.
            connection = self._take_idle(request, host) if tries_left else None
            is_kept = connection is not None
            if connection is None:
                connection = await self._dial(request.target)
            try:
                return await connection.exchange(request, host)
            except ProxyRefused:
                raise
            except Unreachable as error:
                # Sent again if nothing was done, or if it was closed while it lay idle and nothing can be done twice.
                is_harmless = not error.is_sent or (is_kept and request.is_safe)
                if not tries_left or not is_harmless or not isinstance(request.body, bytes):
                    raise
        raise AssertionError("unreachable: the last try raises")

    def _take_idle(self, request: WrittenRequest, host: HostPool) -> ClientConnection | None:
        """Returns an idle connection that is still usable."""
        idle = host.idle
        while idle:
            connection = idle.pop()
            # What could be done twice is only sent where the other side has certainly not hung up yet.
            if connection.is_usable(self._idle_seconds) and (request.is_safe or connection.is_silent()):
                return connection
            connection.close()
        return None

    async def _dial(self, target: Target) -> ClientConnection:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._connect_seconds
        try:
            async with asyncio.timeout_at(end):
                route = await self._route(target)
        except TimeoutError:
            raise Unreachable(f"{target.host} was not found within {self._connect_seconds:g} seconds") from None
        return await dial(route, end - loop.time())

    async def _route(self, target: Target) -> DialRoute:
        """Returns the way to a target: its own judged addresses, or a proxy. Raises Forbidden, Unreachable."""
        tls = self._tls.find(target) if target.is_secure else None
        proxy = self._proxies.find(target)
        if proxy is not None and not is_inside(target):
            known = await self._resolve_for_proxy(target)
            if known is None or all(map(is_public, known)):
                place = proxy.target
                proxy_tls = self._tls.find(place) if place.is_secure else None
                return DialRoute(
                    target, await self._look_up(self.guard.find, place, "the proxy "), tls, proxy, proxy_tls
                )
            return DialRoute(target, known, tls)  # listed, and inside: nothing for a proxy
        return DialRoute(target, await self._look_up(self.guard.addresses, target), tls)

    async def _resolve_for_proxy(self, target: Target) -> list[str] | None:
        """Returns the judged addresses of a target that a proxy is for; None when only the proxy can resolve it."""
        now = asyncio.get_running_loop().time()
        if self._unknown.get(target.host, 0.0) > now:
            return None
        try:
            async with asyncio.timeout(_LOOK_UP_SECONDS):
                return await self._look_up(self.guard.addresses, target)
        except (Unreachable, TimeoutError):
            # Look-ups that do not end keep threads, of which there are few.
            self._unknown[target.host] = now + _UNKNOWN_SECONDS
            return None

    async def _look_up(self, find: Callable[[Target], list[str]], target: Target, whose: str = "") -> list[str]:
        try:
            return find(target) if target.is_literal else await asyncio.to_thread(find, target)
        except TimeoutError:
            raise
        except OSError:
            raise Unreachable(f"{whose}{target.host} has no address") from None

    def _watch(self) -> None:
        """Starts the timer that closes idle connections."""
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(self._idle_seconds, self._sweep_idle)

    def _sweep_idle(self) -> None:
        self._sweep = None
        now = asyncio.get_running_loop().time()
        self._unknown = {name: until for name, until in self._unknown.items() if until > now}
        for key, host in list(self._hosts.items()):
            host.close_idle(self._idle_seconds)
            if host.is_unused:
                del self._hosts[key]
        if self._hosts:
            self._watch()


__all__ = ["BadRequest", "Body", "BrokenAnswer", "Client", "Fetched", "Headers", "Response", "TooLong", "Unreachable"]

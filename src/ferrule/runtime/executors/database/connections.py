"""Connections to databases: pools that open them when needed, at most so many, and TLS for drivers that dial an address.

A connection is out with one call at a time. One that broke, or was left in the middle of something, is dropped and
never reused. A certificate is checked against the host's name, although the driver dials an address.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, TypeVar

from ferrule.infra.network.guard import is_public
from ferrule.runtime.executors.database.engine import BadMembers, Opening


class Connection(Protocol):
    """What a pool has to know about what it holds."""

    def is_usable(self) -> bool:
        """False when the other side has gone."""

    async def aclose(self) -> None:
        """Stop whatever it does at the server, and close it. Raises nothing."""


C = TypeVar("C", bound=Connection)


class PoolClosed(Exception):
    """No more connections."""


class Pool(Generic[C]):
    """Bounded, lazy, from one event loop."""

    def __init__(self, connect: Callable[[], Awaitable[C]], *, size: int, idle_seconds: float = 60.0) -> None:
        self._connect = connect
        self._places = asyncio.Semaphore(size)
        self._idle: deque[tuple[float, C]] = deque()
        self._idle_seconds = idle_seconds
        self._out = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._is_retired = self._is_closed = False

    async def take(self) -> tuple[C, bool]:
        """A connection for one call, and whether it is new. Whoever takes it gives it back or drops it."""
        await self._places.acquire()
        try:
            while self._idle:
                connection = self._idle.pop()[1]
                if connection.is_usable():
                    self._out += 1
                    return connection, False
                self._later(connection.aclose())
            if self._is_closed:
                raise PoolClosed
            fresh = await self._connect()
        except BaseException:
            self._places.release()
            raise
        self._out += 1
        return fresh, True

    def give(self, connection: C) -> None:
        """Take a connection back that is as good as new."""
        self._out -= 1
        self._places.release()
        if self._is_retired or not connection.is_usable():
            self._later(connection.aclose())
            return
        self._idle.append((asyncio.get_running_loop().time(), connection))
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(self._idle_seconds, self._sweep)

    def drop(self, connection: C) -> None:
        """Have a connection closed, and whatever it does stopped, while nobody waits for that. Its place is free then."""
        self._out -= 1
        self._later(self._dropped(connection))

    @asynccontextmanager
    async def lent(self, connection: C) -> AsyncIterator[C]:
        """A connection that was taken, for a while: given back when all went well, dropped otherwise."""
        try:
            yield connection
        except BaseException:
            self.drop(connection)
            raise
        self.give(connection)

    def retire(self) -> None:
        """Nothing is kept any more: what is idle is closed now, what is out when it comes back."""
        self._is_retired = True
        self._close_idle(float("inf"))

    async def aclose(self) -> None:
        """Close what is idle, and wait for what is being closed."""
        self._is_closed = True
        self.retire()
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0)  # what has ended takes itself off in the next turn

    async def _dropped(self, connection: C) -> None:
        try:
            await connection.aclose()
        finally:
            self._places.release()

    def _sweep(self) -> None:
        self._sweeper = None
        loop = asyncio.get_running_loop()
        self._close_idle(loop.time() - self._idle_seconds)
        if self._idle:
            self._sweeper = loop.call_later(self._idle_seconds, self._sweep)

    def _close_idle(self, before: float) -> None:
        while self._idle and self._idle[0][0] <= before:
            self._later(self._idle.popleft()[1].aclose())

    def _later(self, closing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(closing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_MODES = ("disable", "require", "verify-ca", "verify-full")


class NamedContext(ssl.SSLContext):
    """Checks certificates against one name, whatever address was dialled."""

    name: str = ""

    def wrap_bio(self, incoming: Any, outgoing: Any, server_side: bool = False, server_hostname: Any = None,
                 session: Any = None) -> ssl.SSLObject:  # fmt: skip
        """As the drivers call it, with the name in the place of the address."""
        return super().wrap_bio(incoming, outgoing, server_side, self.name or server_hostname, session)


def tls_of(opening: Opening, host: str, address: str) -> NamedContext | None:
    """What `sslmode` (or `ssl`) says; None without TLS. Raises BadMembers.

    When nothing is said, whoever answers at a public address, or is logged in to with a token, must prove its name; private
    addresses, which are only reached when they are listed, are spoken to as they are.
    """
    members, root = opening.members, opening.surroundings.root
    mode = _mode(members, "verify-full" if is_public(address) or opening.is_keyless else "disable")
    if mode == "disable":
        return None
    context = NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.name = host
    context.check_hostname = mode == "verify-full"
    if mode == "require":
        context.verify_mode = ssl.CERT_NONE
        return context
    authority = members.get("sslrootcert")
    try:
        if not authority:
            context.load_default_certs()
        elif "-----BEGIN" in str(authority):
            context.load_verify_locations(cadata=str(authority))
        else:
            context.load_verify_locations(cafile=root / str(authority))
    except (OSError, ValueError, ssl.SSLError):
        raise BadMembers("'sslrootcert' must be certificates as PEM text, or a file with them") from None
    return context


def _mode(members: Mapping[str, Any], usual: str) -> str:
    said = members.get("sslmode", members.get("ssl"))
    if said is None:
        return usual
    if isinstance(said, bool):
        return "verify-full" if said else "disable"
    if said not in _MODES:
        raise BadMembers(f"'sslmode' must be one of {', '.join(_MODES)}")
    return str(said)

"""Connections to databases: bounded pools that connect when needed, and TLS for drivers that dial an address.

One call at a time uses a connection. One that broke, or was left in the middle of something, is dropped and never
reused. A certificate is checked against the host's name, although the driver dials an address. Engines are above.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, TypeVar

from ferrule.infra.network.guard import is_public
from ferrule.runtime.executors.database.engine import BadMembers, ConnectionSpec


class PooledConnection(Protocol):
    """The connection that a pool needs."""

    def is_usable(self) -> bool:
        """Returns False when the server has closed it."""

    async def aclose(self) -> None:
        """Stops what it does at the server, and closes it. Raises nothing."""


C = TypeVar("C", bound=PooledConnection)


class PoolClosed(Exception):
    """The pool was closed and opens no more connections."""


class Pool(Generic[C]):
    """A bounded pool that connects lazily; for one event loop."""

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
        """Takes a connection for one call; also returns whether it is new. The caller must `give` or `drop` it."""
        await self._places.acquire()
        try:
            while self._idle:
                # The newest, so that the ones that are not needed grow old and are closed.
                connection = self._idle.pop()[1]
                if connection.is_usable():
                    self._out += 1
                    return connection, False
                self._close_in_background(connection.aclose())
            # The pool may have been closed while this waited for a place.
            if self._is_closed:
                raise PoolClosed
            fresh = await self._connect()
        except BaseException:
            self._places.release()
            raise
        self._out += 1
        return fresh, True

    def give(self, connection: C) -> None:
        """Returns a connection to the pool; it must be as good as new."""
        self._out -= 1
        self._places.release()
        if self._is_retired or not connection.is_usable():
            self._close_in_background(connection.aclose())
            return
        self._idle.append((asyncio.get_running_loop().time(), connection))
        if self._sweeper is None:
            self._sweeper = asyncio.get_running_loop().call_later(self._idle_seconds, self._sweep)

    def drop(self, connection: C) -> None:
        """Stops and closes a connection in the background; its slot is free when that is done."""
        self._out -= 1
        self._close_in_background(self._close_and_release(connection))

    @asynccontextmanager
    async def lend(self, connection: C) -> AsyncIterator[C]:
        """Yields a taken connection; gives it back when the block succeeds, drops it when the block raises."""
        try:
            yield connection
        except BaseException:
            self.drop(connection)
            raise
        self.give(connection)

    def retire(self) -> None:
        """Stops keeping connections: closes idle ones now, the others when they are given back."""
        self._is_retired = True
        self._close_idle(float("inf"))

    async def aclose(self) -> None:
        """Closes idle connections, and waits until all that are being closed are closed."""
        self._is_closed = True
        self.retire()
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0)  # what has ended takes itself off in the next turn

    async def _close_and_release(self, connection: C) -> None:
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
            self._close_in_background(self._idle.popleft()[1].aclose())

    def _close_in_background(self, closing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(closing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_MODES = ("disable", "require", "verify-ca", "verify-full")


class NamedContext(ssl.SSLContext):
    """TLS context that checks certificates against one name, whatever address was dialled."""

    name: str = ""

    def wrap_bio(self, incoming: Any, outgoing: Any, server_side: bool = False, server_hostname: Any = None,
                 session: Any = None) -> ssl.SSLObject:  # fmt: skip
        """Wraps a connection as `ssl` does, with the host's name instead of the address that the driver passes."""
        return super().wrap_bio(incoming, outgoing, server_side, self.name or server_hostname, session)


def tls_of(spec: ConnectionSpec, host: str, address: str) -> NamedContext | None:
    """Builds the TLS context that `sslmode` (or `ssl`) asks for; None without TLS. Raises BadMembers.

    By default a server at a public address, or one that gets a login token, must prove its name; a private address, which is
    only reachable when it is listed, is used without TLS.
    """
    members, root = spec.members, spec.services.root
    mode = _tls_mode(members, "verify-full" if is_public(address) or spec.is_keyless else "disable")
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


def _tls_mode(members: Mapping[str, object], usual: str) -> str:
    wanted = members.get("sslmode", members.get("ssl"))
    if wanted is None:
        return usual
    if isinstance(wanted, bool):
        return "verify-full" if wanted else "disable"
    if wanted not in _MODES:
        raise BadMembers(f"'sslmode' must be one of {', '.join(_MODES)}")
    return str(wanted)

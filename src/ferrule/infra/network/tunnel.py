"""Asks a proxy for a tunnel to a host, and speaks TLS with the host through it: the proxy sees names and sizes only."""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import cast

from ferrule.infra.network.connection import ClientConnection
from ferrule.infra.network.proxies import LOGIN_WANTED, Proxy, login_error
from ferrule.infra.network.request import ProxyRefused
from ferrule.infra.network.urls import Target

_LONGEST_HEAD = 16 * 1024
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r\n")


async def open_tunnel(
    proxy: Proxy, address: str, target: Target, tls: ssl.SSLContext, proxy_tls: ssl.SSLContext | None
) -> ClientConnection:
    """Returns a connection to the target through the proxy at this address. Raises OSError, ProxyRefused."""
    loop = asyncio.get_running_loop()
    name = proxy.target.host if proxy_tls is not None else None
    transport, asking = await loop.create_connection(
        _Asking, address, proxy.target.port, ssl=proxy_tls, server_hostname=name
    )
    try:
        transport.write(
            f"CONNECT {target.place} HTTP/1.1\r\nHost: {target.place}\r\n".encode() + proxy.header + b"\r\n"
        )
        status = await asking.answer
        if status == LOGIN_WANTED:
            raise login_error(proxy)
        if not 200 <= status < 300:
            raise ProxyRefused(f"the proxy {proxy.target.host} gives no way to {target.host}: it answered {status}")
        connection = ClientConnection()
        secure = await loop.start_tls(transport, connection, tls, server_hostname=target.host)
        if secure is None:
            raise ConnectionAbortedError
        # `start_tls` does not call it.
        connection.connection_made(secure)
        return connection
    except BaseException:
        transport.abort()
        raise


class _Asking(asyncio.Protocol):
    """The protocol of a connection to a proxy until it has answered."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # other loops' are not of this class

    def data_received(self, data: bytes) -> None:
        if self.answer.done():
            return
        self._head += data
        head, end, rest = self._head.partition(b"\r\n\r\n")
        if not end and len(self._head) <= _LONGEST_HEAD:
            return
        status = _STATUS.match(head + b"\r\n")
        # Nobody was spoken to yet on the other side: what follows the head of a way through is the proxy's own.
        if not end or status is None or (rest and status[1][:1] == b"2"):
            self.answer.set_exception(ConnectionAbortedError(0, "the proxy's answer is no HTTP"))
        else:
            self.answer.set_result(int(status[1]))

    def connection_lost(self, error: Exception | None) -> None:
        if not self.answer.done():
            self.answer.set_exception(ConnectionAbortedError(0, "the proxy hung up"))

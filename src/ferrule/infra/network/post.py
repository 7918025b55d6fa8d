"""Sends a signed POST to one address: one attempt, no redirects, and a bounded answer.

The name is resolved and every address of it checked before anything is sent; the connection goes to that very address.
`Ferrule-Signature: t=<seconds since 1970>,v1=<hex>`, where v1 is the HMAC-SHA256 of `<t>.<body>`, so that neither time nor
body can be changed, nor the message replayed later. Notifiers and hooks use it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import io
import ssl
import time
from collections.abc import Callable, Collection
from typing import NamedTuple

from ferrule.errors import SettingsError
from ferrule.infra.network.guard import Resolve, checked_addresses, parse_target, resolve
from ferrule.infra.network.urls import Target

SIGNATURE_HEADER = "Ferrule-Signature"
DELIVERY_HEADER = "Ferrule-Delivery"
"""The same for every attempt to tell the same notice: remember it for the length of the window to spot a replay."""
WINDOW_SECONDS = 300


def signature(secret: bytes, at: int, body: bytes) -> str:
    """The header for a body sent at this second."""
    return f"t={at},v1={_mac(secret, at, body)}"


def is_authentic(secret: bytes, header: str, body: bytes, *, now: int, window_seconds: int = WINDOW_SECONDS) -> bool:
    """True when a body came from whoever holds the secret, unchanged, within the last minutes."""
    fields = [part.strip().partition("=") for part in header.split(",")]
    times = [value for name, _, value in fields if name == "t"]
    given = [value for name, _, value in fields if name == "v1"]
    if len(times) != 1 or not times[0].isascii() or not times[0].isdigit() or len(times[0]) > 12:
        return False
    at = int(times[0])
    expected = _mac(secret, at, body).encode()
    is_signed = any(hmac.compare_digest(expected, value.encode()) for value in given)
    return is_signed and abs(now - at) <= window_seconds


def _mac(secret: bytes, at: int, body: bytes) -> str:
    return hmac.new(secret, str(at).encode() + b"." + body, hashlib.sha256).hexdigest()


_LEAST_SECRET = 16
_LONGEST_HEAD = 64 * 1024
_MOST_INTERIM = 10
_NO_BODY = frozenset({204, 304})


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: bytes


class PostFailed(Exception):
    """Nothing came back that can be used. The message names the host, never what was sent."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final
        """True when another attempt would fail the same way."""


class Poster:
    """One address to post to. Nothing is held open between two posts."""

    def __init__(
        self,
        url: str,
        secret: str | bytes,
        allowed_hosts: Collection[str] = (),
        *,
        what: str = "webhook",
        timeout_seconds: float = 10.0,
        max_reply_bytes: int = 0,
        clock: Callable[[], float] = time.time,
        resolver: Resolve = resolve,
    ) -> None:
        """`max_reply_bytes`: a longer body is a failure; 0 when only the status counts. Raises SettingsError."""
        self._target = parse_target(url, allowed_hosts, what)
        if len(secret) < _LEAST_SECRET:
            raise SettingsError(f"the secret of the {what} to {self.host} needs at least {_LEAST_SECRET} bytes")
        self._secret = secret.encode() if isinstance(secret, str) else secret
        self._allowed = frozenset(allowed_hosts)
        self._timeout = timeout_seconds
        self._limit = max_reply_bytes
        self._clock = clock
        self._resolver = resolver
        self._tls: ssl.SSLContext | None = None

    @property
    def host(self) -> str:
        """Whom it posts to, for messages."""
        return self._target.host

    async def post(self, body: bytes, delivery: str = "") -> Reply:
        """Send a body and wait for the answer. Raises PostFailed, also for taking too long."""
        try:
            async with asyncio.timeout(self._timeout):
                return await self._exchange(body, delivery)
        except TimeoutError:
            raise PostFailed(f"{self.host} did not answer within {self._timeout:g} s") from None
        except PermissionError as error:
            raise PostFailed(str(error), is_final=True) from None
        except ssl.SSLCertVerificationError as error:
            raise PostFailed(f"{self.host} is not who it says: {error.verify_message}", is_final=True) from None
        except (OSError, EOFError, asyncio.LimitOverrunError, http.client.HTTPException) as error:
            raise PostFailed(f"{self.host} could not be reached: {type(error).__name__}") from None

    async def _exchange(self, body: bytes, delivery: str) -> Reply:
        target = self._target
        addresses = await asyncio.to_thread(checked_addresses, target, self._allowed, self._resolver)
        reader, writer = await asyncio.open_connection(
            addresses[0],
            target.port,
            limit=_LONGEST_HEAD,
            ssl=self._context() if target.is_secure else None,
            server_hostname=target.host if target.is_secure else None,
        )
        try:
            writer.write(self._head(body, delivery) + body)
            return await _reply(reader, self._limit)
        finally:
            writer.transport.abort()

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    def _head(self, body: bytes, delivery: str) -> bytes:
        headers = {
            "Host": _host(self._target),
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "User-Agent": "ferrule",
            "Accept-Encoding": "identity",
            "Connection": "close",
            SIGNATURE_HEADER: signature(self._secret, int(self._clock()), body),
        }
        if delivery:
            headers[DELIVERY_HEADER] = "".join(sign for sign in delivery if sign.isascii() and sign.isprintable())
        lines = [f"POST {self._target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _host(target: Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == (443 if target.is_secure else 80) else f"{host}:{target.port}"


async def _reply(reader: asyncio.StreamReader, limit: int) -> Reply:
    for _ in range(_MOST_INTERIM):
        status, headers = await _head_of(reader)
        if status >= 200:  # before it come "continue" and "early hints"
            break
    else:
        raise http.client.HTTPException("no answer")
    if limit == 0 or status in _NO_BODY:
        return Reply(status, b"")
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        return Reply(status, await _chunked(reader, limit))
    length = headers.get("Content-Length")
    if length is None:
        return Reply(status, await _until_closed(reader, limit))
    if not (length.isascii() and length.isdigit() and len(length) <= 12):
        raise http.client.HTTPException("no length")
    return Reply(status, await reader.readexactly(_bounded(int(length), limit)))


async def _head_of(reader: asyncio.StreamReader) -> tuple[int, http.client.HTTPMessage]:
    head = io.BytesIO(await reader.readuntil(b"\r\n\r\n"))
    version, _, rest = head.readline().partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit() or rest[3:4] not in (b" ", b"\r"):
        raise http.client.BadStatusLine("no HTTP")
    return int(status), http.client.parse_headers(head)


async def _chunked(reader: asyncio.StreamReader, limit: int) -> bytes:
    body = bytearray()
    while True:
        size = (await reader.readuntil(b"\r\n")).partition(b";")[0].strip()
        if not size or len(size) > 12 or not all(sign in b"0123456789abcdefABCDEF" for sign in size):
            raise http.client.HTTPException("no chunk")
        length = int(size, 16)
        if length == 0:
            return bytes(body)
        _bounded(len(body) + length, limit)
        body += await reader.readexactly(length)
        if await reader.readexactly(2) != b"\r\n":
            raise http.client.HTTPException("no chunk")


async def _until_closed(reader: asyncio.StreamReader, limit: int) -> bytes:
    body = bytearray()
    while part := await reader.read(_LONGEST_HEAD):
        body += part
        _bounded(len(body), limit)
    return bytes(body)


def _bounded(length: int, limit: int) -> int:
    if length > limit:
        raise PostFailed(f"the answer is longer than {limit} bytes", is_final=True)
    return length

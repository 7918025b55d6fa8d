"""One GET or HEAD over a connection to a checked address: a bounded head, a body in pieces, nothing kept open.

Bodies come as they are: compressed ones are not asked for and not opened. Closing the connection is all it takes to stop.
"""

from __future__ import annotations

import asyncio
import http.client
import io
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from ferrule.infra.network.urls import Target

_LONGEST_HEAD = 64 * 1024
_PIECE = 64 * 1024
_MOST_INTERIM = 10
_HEX = frozenset(b"0123456789abcdefABCDEF")


class BrokenAnswer(Exception):
    """What came back is no HTTP, or ended too early."""


class Answer(NamedTuple):
    """The head of an answer, and its body as it comes."""

    status: int
    headers: dict[str, str]
    """Names in the usual spelling (`Content-Type`); what was sent several times is joined with commas."""
    body: AsyncGenerator[bytes, None]


@asynccontextmanager
async def exchange(
    method: str,
    target: Target,
    addresses: Collection[str],
    headers: Mapping[str, str],
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Answer]:
    """Ask the target at one of its checked addresses; TLS and `Host` go by its name.

    Raises OSError when nobody answers there, ssl.SSLError when it is not who it should be, BrokenAnswer.
    """
    reader, writer = await _connect(target, addresses, tls)
    try:
        writer.write(_head(method, target, headers))
        status, received = await _final_head(reader)
        has_body = method != "HEAD" and status not in (204, 304)
        yield Answer(status, received, _body(reader, received) if has_body else _nothing())
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise BrokenAnswer("the answer ended too early, or its head is too long") from None
    finally:
        writer.transport.abort()


async def _connect(
    target: Target, addresses: Collection[str], tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if target.is_secure and tls is None:
        tls = ssl.create_default_context()
    refused: OSError = OSError("there is no address")
    for address in addresses:
        try:
            # An address, not a name: nothing is resolved again.
            return await asyncio.open_connection(
                address,
                target.port,
                limit=_LONGEST_HEAD,
                ssl=tls if target.is_secure else None,
                server_hostname=target.host if target.is_secure else None,
            )
        except ssl.SSLError:
            raise
        except OSError as error:
            refused = error
    raise refused


def _head(method: str, target: Target, headers: Mapping[str, str]) -> bytes:
    own = {"Host": target.authority, "Accept-Encoding": "identity", "Connection": "close"}
    lines = [f"{method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in {**own, **headers}.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _final_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    for _ in range(_MOST_INTERIM):
        status, headers = await _one_head(reader)
        if status >= 200:  # before it come "continue" and "early hints"
            return status, headers
    raise BrokenAnswer("the answer does not begin")


async def _one_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = io.BytesIO(await reader.readuntil(b"\r\n\r\n"))
    version, _, rest = head.readline().partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit() or rest[3:4] not in (b" ", b"\r"):
        raise BrokenAnswer("the answer is no HTTP")
    try:
        parsed = http.client.parse_headers(head)
    except http.client.HTTPException:
        raise BrokenAnswer("the head of the answer cannot be read") from None
    headers: dict[str, str] = {}
    for name, value in parsed.items():
        usual = "-".join(map(str.capitalize, name.split("-")))
        headers[usual] = f"{headers[usual]}, {value}" if usual in headers else value
    return int(status), headers


async def _nothing() -> AsyncGenerator[bytes, None]:
    return
    yield


def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
    coding = headers.get("Transfer-Encoding", "").strip().lower()
    if coding == "chunked":
        return _chunks(reader)
    if coding not in ("", "identity"):
        raise BrokenAnswer("the answer is encoded in a way nobody asked for")
    if "Content-Length" not in headers:
        return _until_closed(reader)
    said = {text.strip() for text in headers["Content-Length"].split(",")}
    length = said.pop()
    if said or not (length.isascii() and length.isdigit() and len(length) <= 18):
        raise BrokenAnswer("the length of the answer cannot be read")
    return _exactly(reader, int(length))


async def _exactly(reader: asyncio.StreamReader, length: int) -> AsyncGenerator[bytes, None]:
    while length > 0:
        piece = await reader.read(min(length, _PIECE))
        if not piece:
            raise BrokenAnswer("the answer ended before its length was reached")
        length -= len(piece)
        yield piece


async def _until_closed(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    while piece := await reader.read(_PIECE):
        yield piece


async def _chunks(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    while True:
        size = (await reader.readuntil(b"\r\n")).partition(b";")[0].strip()
        if not size or len(size) > 15 or not _HEX.issuperset(size):
            raise BrokenAnswer("the pieces of the answer cannot be read")
        length = int(size, 16)
        if length == 0:
            return
        async for piece in _exactly(reader, length):
            yield piece
        if await reader.readexactly(2) != b"\r\n":
            raise BrokenAnswer("the pieces of the answer cannot be read")

"""As much of HTTP/1.1 as a client of Ferrule needs, over asyncio's streams."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from .errors import TransportError

_MOST_HEADER_BYTES = 64 * 1024
_PIECE = 64 * 1024


class Request(NamedTuple):
    """What is sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class Answer:
    """What came back: its head, and a body to read."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        body: AsyncGenerator[bytes, None],
    ) -> None:
        self.status = status
        self.headers = headers
        """By names in lower case."""
        self._body = body

    def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives."""
        return self._body

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([piece async for piece in self._body])


@asynccontextmanager
async def exchange(base_url: str, request: Request) -> AsyncIterator[Answer]:
    """Send a request and read the answer, on a connection of its own. Raises
    TransportError."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host:
        raise TransportError(f"{base_url!r} is no address of a server")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    secure = ssl.create_default_context() if parts.scheme == "https" else None
    try:
        reader, writer = await asyncio.open_connection(host, port, ssl=secure)
    except OSError as error:
        told = f"the server at {base_url} cannot be reached: {error}"
        raise TransportError(told) from error
    try:
        path = parts.path.rstrip("/") + request.path
        writer.write(_head(parts.netloc.rpartition("@")[2], path, request))
        await writer.drain()
        yield await _answer(reader)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        told = f"the connection to {base_url} broke: {type(error).__name__}"
        raise TransportError(told) from error
    finally:
        writer.close()


def _head(host: str, path: str, request: Request) -> bytes:
    headers = {
        "Host": host,
        "Connection": "close",
        "Content-Length": str(len(request.body)),
        **request.headers,
    }
    for name, value in headers.items():
        if not value.isprintable() or not value.isascii():
            raise ValueError(f"{name} cannot be {value!r}: it has to be plain ASCII")
    lines = [f"{name}: {value}" for name, value in headers.items()]
    first = f"{request.method} {path} HTTP/1.1"
    return "\r\n".join([first, *lines, "", ""]).encode() + request.body


async def _answer(reader: asyncio.StreamReader) -> Answer:
    status, headers = await _read_head(reader)
    while 100 <= status < 200:
        status, headers = await _read_head(reader)
    if headers.get("transfer-encoding", "").lower().endswith("chunked"):
        return Answer(status, headers, _chunks(reader))
    length = headers.get("content-length")
    size = int(length) if length is not None and length.isdigit() else None
    return Answer(status, headers, _plain(reader, size))


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    first = (await reader.readline()).decode("latin-1").split()
    if len(first) < 2 or not first[0].startswith("HTTP/") or not first[1].isdigit():
        raise TransportError("what answered is no HTTP server")
    headers: dict[str, str] = {}
    size = 0
    while line := (await reader.readline()).strip():
        size += len(line)
        if size > _MOST_HEADER_BYTES:
            raise TransportError("the answer has too many headers")
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(first[1]), headers


async def _chunks(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    while True:
        line = (await reader.readline()).split(b";")[0].strip()
        try:
            size = int(line, 16)
        except ValueError:
            raise TransportError("the answer is cut off") from None
        if not size:
            return
        yield await reader.readexactly(size)
        await reader.readexactly(2)


async def _plain(
    reader: asyncio.StreamReader, size: int | None
) -> AsyncGenerator[bytes, None]:
    if size is not None:
        yield await reader.readexactly(size)
        return
    while piece := await reader.read(_PIECE):
        yield piece

"""A real HTTP/1.1 server on loopback whose answers are scripted byte by byte, so that it can also break every rule."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec

from ferrule.infra.network.client import Client
from ferrule.settings import NetworkSettings, Settings

BOUND = 20.0


class Seen(NamedTuple):
    """A request as it came."""

    method: str
    target: str
    """Path and query, as they were sent."""
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def segments(self) -> list[str]:
        return [unquote(segment, errors="strict") for segment in self.target.partition("?")[0].split("/")[1:]]

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True, strict_parsing=False, errors="strict")


class Wire(NamedTuple):
    """The connection a request came by, for answers that break it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def reset(self) -> None:
        self.writer.transport.abort()


Answering = Callable[[Seen, Wire], Awaitable[bytes | None]]
"""The bytes to send; None when everything was sent, or broken, already."""


def answer(
    status: int = 200,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    media_type: str = "application/json",
    length: int | None = None,
) -> bytes:
    """An answer. `length`: what it says about its length, when that is not true."""
    said = {"Content-Type": media_type} if body else {}
    said |= {"Content-Length": str(len(body) if length is None else length), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
    return f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + body


def json_answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    return answer(status, msgspec.json.encode(value), headers)


def bomb(size: int) -> bytes:
    return answer(200, gzip.compress(b'"' + b"0" * size + b'"', 9), {"Content-Encoding": "gzip"})


class Server:
    """What it saw, and where it is."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: list[Seen] = []
        self.connections = 0
        self.listening: asyncio.Server | None = None

    async def aclose(self) -> None:
        """Nobody listens any more."""
        if self.listening is not None:
            self.listening.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(answering: Answering | list[bytes] | bytes) -> AsyncIterator[Server]:
    """A server that answers with a function, with one answer after the other (the last one from then on), or always alike."""
    server: Server

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        tasks.add(task := asyncio.current_task())
        try:
            while (request := await _read(reader)) is not None:
                server.seen.append(request)
                if callable(answering):
                    sent = await answering(request, Wire(reader, writer))
                elif isinstance(answering, bytes):
                    sent = answering
                else:
                    sent = answering[min(len(server.seen), len(answering)) - 1]
                if sent is None:
                    break
                writer.write(sent)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.transport.abort()

    tasks: set[asyncio.Task[None] | None] = set()
    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    server = Server(listening.sockets[0].getsockname()[1])
    server.listening = listening
    try:
        yield server
    finally:
        listening.close()
        for task in list(tasks):
            if task is not None:
                task.cancel()
        await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    line, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, target, version = line.split(" ")
    assert version == "HTTP/1.1"
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines)}
    assert len(headers) == len(lines), "a header was sent twice"
    return Seen(method, target, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


def settings(*hosts: str, **rest: int) -> Settings:
    """A workspace that may reach this machine."""
    made = Settings(network=NetworkSettings(allow=("127.0.0.1", *hosts)))
    if rest:
        made = msgspec.structs.replace(made, rest=msgspec.structs.replace(made.rest, **rest))
    return made


__all__ = ["BOUND", "Client", "Seen", "Server", "Wire", "answer", "bomb", "json_answer", "serving", "settings"]

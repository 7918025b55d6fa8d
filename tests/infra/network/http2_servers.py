"""Servers of HTTP/2: a real one (hypercorn), and one on h2 that does wrong what a test says."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.settings
import hypercorn.asyncio
import hypercorn.config

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.urls import Target, parse_url

from .authority import Authority

HOST = "files.test"


@asynccontextmanager
async def hypercorn_site(app: Any, authority: Authority, **options: Any) -> AsyncIterator[Target]:
    """An ASGI application over TLS, as hypercorn serves it."""
    config = hypercorn.config.Config()
    config.bind = ["127.0.0.1:0"]
    config.accesslog = config.errorlog = None
    for name, value in options.items():
        setattr(config, name, value)
    config.certfile = config.keyfile = str(authority.certificate(HOST))
    sockets = config.create_sockets()
    listening = sockets.secure_sockets[0]
    listening.listen()
    config.create_sockets = lambda: sockets  # type: ignore[method-assign]
    stop = asyncio.Event()
    server = asyncio.create_task(hypercorn.asyncio.serve(app, config, shutdown_trigger=stop.wait))
    try:
        yield parse_url(f"https://{HOST}:{listening.getsockname()[1]}/")
    finally:
        stop.set()
        await server


class Wire(asyncio.Protocol):
    """One connection of the other server. `act` is called with every event, and does what a server would, or not."""

    def __init__(
        self, act: Callable[[Wire, h2.events.Event], None], settings: dict[h2.settings.SettingCodes, int]
    ) -> None:
        self.act = act
        self.settings = settings
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.heads: dict[int, dict[str, str]] = {}
        self.resets: list[int] = []
        self.is_lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if self.settings:
            self.h2.local_settings = h2.settings.Settings(client=False, initial_values=self.settings)
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self.heads[event.stream_id or 0] = {str(name): str(value) for name, value in event.headers}
            elif isinstance(event, h2.events.StreamReset):
                self.resets.append(event.stream_id)
            elif isinstance(event, h2.events.DataReceived):
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id or 0)
            self.act(self, event)
        self.flush()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost.set()

    def flush(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(self.h2.data_to_send())

    def answer(self, stream: int, body: bytes = b"hello", *headers: tuple[str, str]) -> None:
        self.h2.send_headers(stream, [(":status", "200"), *headers], end_stream=not body)
        if body:
            self.h2.send_data(stream, body, end_stream=True)
        self.flush()


class Site:
    """The other server."""

    def __init__(self) -> None:
        self.wires: list[Wire] = []
        self.target = parse_url("https://files.test/")


@asynccontextmanager
async def h2_site(
    act: Callable[[Wire, h2.events.Event], None],
    tls: ssl.SSLContext,
    settings: dict[h2.settings.SettingCodes, int] | None = None,
) -> AsyncIterator[Site]:
    made = Site()

    def wire() -> Wire:
        made.wires.append(Wire(act, settings or {}))
        return made.wires[-1]

    server = await asyncio.get_running_loop().create_server(wire, "127.0.0.1", 0, ssl=tls)
    made.target = parse_url(f"https://{HOST}:{server.sockets[0].getsockname()[1]}/")
    try:
        yield made
    finally:
        server.close()
        for each in made.wires:
            each.transport.abort()
            await each.is_lost.wait()
        await server.wait_closed()


@asynccontextmanager
async def h2_client(authority: Authority, **options: Any) -> AsyncIterator[Client]:
    http = Client(Guard([HOST], lambda host, port: ["127.0.0.1"]), tls=authority.tls(), **options)
    try:
        yield http
    finally:
        await http.aclose()
        await asyncio.sleep(0)

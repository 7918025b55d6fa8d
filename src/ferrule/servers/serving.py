"""Puts the servers of a workspace together, runs them on one port, and says how many tools they serve.

The count names its parts as other commands count them: `ferrule check` those of definitions, `ferrule list` also those
of other servers. Functions that are tools of their own are known once their modules run. `cli/serve` stands above it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from ferrule.access.keys import Access
from ferrule.app.app import App
from ferrule.app.assembly import open_app
from ferrule.app.network import Network
from ferrule.errors import SettingsError
from ferrule.infra.lockfile.oxp_tools import SERVER_DIALECT
from ferrule.infra.lockfile.tools import DIALECT as MCP_DIALECT
from ferrule.model.serving import ServeSettings
from ferrule.model.tool import Tool
from ferrule.runtime.surface.filters import is_usable
from ferrule.servers.api.endpoint import HttpEndpoint
from ferrule.servers.auth.gate import gate_of
from ferrule.servers.caller_limits import FairTurnstile
from ferrule.servers.console.entry import ConsoleEntry
from ferrule.servers.edge import Edge
from ferrule.servers.http1.server import HttpServer
from ferrule.servers.mcp.transports.http import McpEndpoint
from ferrule.servers.oxp.endpoint import OxpEndpoint
from ferrule.servers.reloading import Reloading
from ferrule.servers.root import Root, health, only_read, readiness
from ferrule.settings import load_settings
from ferrule.workspace.workspace import Workspace

_SERVERS = "other servers"
_SOURCES = {"python": "functions", MCP_DIALECT: _SERVERS, SERVER_DIALECT: _SERVERS}


def count_tools(app: App) -> str:
    """The tools of an app: how many, from where, and how many of them nobody can call."""
    tools = [listed.tool for listed in app.catalog.list_preferred()]
    sources = Counter(map(_source, tools))
    told = f"{len(tools):,} tool{'' if len(tools) == 1 else 's'}"
    if sources.keys() - {"definitions"}:
        told += f" ({', '.join(f'{number:,} from {source}' for source, number in sorted(sources.items()))})"
    idle = sum(not is_usable(tool, app.readiness) for tool in tools)
    return f"{told}, {idle:,} of them not in use" if idle else told


def _source(tool: Tool) -> str:
    return _SOURCES.get(tool.dialect, "definitions")


_BACKLOG = 2048
_AT_ONCE = 16
"""How many connections are taken in one turn of the event loop, which asyncio calls its backlog, too. A process that took all
that wait would leave none for the others that share the socket; one that took one by one would keep the last waiting."""
_SILENT_SECONDS = 0.5
"""Whoever stops a server and waits longer is told for what."""
_log = logging.getLogger("ferrule.serve")


def root_of(edge: Edge) -> Root:
    """The application of one process: which server is at which path."""
    settings = edge.settings
    api = HttpEndpoint(edge)
    return Root(
        edge,
        {settings.mcp.path: McpEndpoint(edge), "/v1/": api},
        {
            "/health": only_read(health),
            "/ready": only_read(readiness(edge)),
            **api.open_paths(),
            **OxpEndpoint(edge).paths(),
            **ConsoleEntry(edge, api).paths(),
        },
    )


async def serve_http(
    path: str | Path, settings: ServeSettings, listening: socket.socket, begun: Callable[[str], None]
) -> None:
    """Serve a workspace until told to stop. `begun` is told how many tools there are, in words, once clients can connect."""
    root = Workspace.open(path).root
    access = Access(root)
    access.prepare()
    gate = gate_of(settings, access, lambda also: Network(load_settings(root), os.environ, root).client(also))
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(path))
        edge = Edge(app, settings, gate, FairTurnstile(settings.limits))
        stack.push_async_callback(edge.aclose)
        reloading = Reloading(app)
        stack.push_async_callback(reloading.aclose)
        await reloading.catch_up()
        if settings.reload:
            reloading.begin()
        server = HttpServer(root_of(edge).respond, asyncio.get_running_loop())
        await server.listen(sock=listening, backlog=_AT_ONCE)
        listening.listen(_BACKLOG)
        with told_to_stop() as stopped:
            begun(count_tools(app))
            await stopped.wait()
            patience = f"calls in flight get up to {settings.shutdown_seconds:g} s; once more ends them now"
            told = asyncio.get_running_loop().call_later(_SILENT_SECONDS, _log.warning, "stopping: %s", patience)
            until = asyncio.get_running_loop().time() + settings.shutdown_seconds
            await edge.end_streams()
            await server.aclose(settings.shutdown_seconds)
            await app.services.live.drained(until - asyncio.get_running_loop().time())  # tasks have no connection
            told.cancel()


@contextmanager
def told_to_stop() -> Iterator[asyncio.Event]:
    """Set when the process is told to end, politely: SIGTERM or Ctrl-C. A second time ends it at once."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGTERM, signal.SIGINT)

    def stop(number: int) -> None:
        if stopped.is_set():
            loop.remove_signal_handler(number)
            signal.raise_signal(number)
        stopped.set()

    for number in signals:
        loop.add_signal_handler(number, stop, number)
    try:
        yield stopped
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def bound(settings: ServeSettings, inherited: int | None = None) -> socket.socket:
    """The socket to listen on, or the one that a parent process listens on. Raises SettingsError."""
    if inherited is not None:
        return socket.socket(fileno=inherited)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise SettingsError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; {_advice(error)}"
        ) from None
    listening.setblocking(False)
    return listening


def _advice(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "is it served already? --port chooses another port, 0 a free one"
    if error.errno == errno.EACCES:
        return "ports below 1024 are not for everybody; --port chooses another one"
    return "--host takes an address of this machine, 0.0.0.0 for all of them"


def address_of(settings: ServeSettings, listening: socket.socket) -> str:
    """Where clients connect; those on this machine, when it listens everywhere."""
    return settings.public_url or f"http://{local_address(listening)}"


def local_address(listening: socket.socket) -> str:
    """The host and port that programs of this machine reach it by."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

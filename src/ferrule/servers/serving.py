"""Assembles the servers of a workspace and runs them on one port.

It also counts the served tools, by the same sources as other commands: `ferrule check` counts those of definitions,
`ferrule list` also those of other servers. Functions that are tools of their own are known once their modules run.
`cli/serve` stands above it; it knows no protocol.
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
from ferrule.app.network import Network
from ferrule.app.opening import open_app
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
    """Returns the number of tools in words, with where they come from and how many cannot be called."""
    tools = [entry.tool for entry in app.catalog.list_preferred()]
    sources = Counter(map(_name_source, tools))
    text = f"{len(tools):,} tool{'' if len(tools) == 1 else 's'}"
    if sources.keys() - {"definitions"}:
        text += f" ({', '.join(f'{number:,} from {source}' for source, number in sorted(sources.items()))})"
    idle = sum(not is_usable(tool, app.readiness) for tool in tools)
    return f"{text}, {idle:,} of them not in use" if idle else text


def _name_source(tool: Tool) -> str:
    return _SOURCES.get(tool.dialect, "definitions")


_BACKLOG = 2048
_AT_ONCE = 16
"""Connections accepted in one turn of the event loop (asyncio calls this its backlog, too). A process that accepted all
that wait would leave none for the others on the shared socket; accepting one at a time would keep the last one waiting.
"""
_SILENT_SECONDS = 0.5
"""A stop that takes longer than this logs what it waits for."""
_log = logging.getLogger("ferrule.serve")


def build_root(edge: Edge) -> Root:
    """Returns the application of one process: each server at its path."""
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
    """Serves a workspace until a signal stops it; calls `begun` with the number of tools in words once clients can
    connect.
    """
    root = Workspace.open(path).root
    access = Access(root)
    access.prepare()
    gate = gate_of(settings, access, lambda also: Network(load_settings(root), os.environ, root).make_client(also))
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(path))
        edge = Edge(app, settings, gate, FairTurnstile(settings.limits))
        # The stack closes in reverse: reloading stops first, then the servers, and the app last.
        stack.push_async_callback(edge.aclose)
        reloading = Reloading(app)
        stack.push_async_callback(reloading.aclose)
        await reloading.catch_up()
        if settings.reload:
            reloading.begin()
        server = HttpServer(build_root(edge).respond, asyncio.get_running_loop())
        await server.listen(sock=listening, backlog=_AT_ONCE)
        # Again, because asyncio has just listened with the small number above, which is also the kernel's queue.
        listening.listen(_BACKLOG)
        with catch_stop_signals() as stopped:
            begun(count_tools(app))
            await stopped.wait()
            patience = f"calls in flight get up to {settings.shutdown_seconds:g} s; once more ends them now"
            notice = asyncio.get_running_loop().call_later(_SILENT_SECONDS, _log.warning, "stopping: %s", patience)
            until = asyncio.get_running_loop().time() + settings.shutdown_seconds
            # Streams first: they never end by themselves, and aclose waits for every connection.
            await edge.end_streams()
            await server.aclose(settings.shutdown_seconds)
            await app.services.live.wait_until_idle(
                until - asyncio.get_running_loop().time()
            )  # tasks have no connection
            notice.cancel()


@contextmanager
def catch_stop_signals() -> Iterator[asyncio.Event]:
    """Yields an event that SIGTERM or Ctrl-C sets; a second signal ends the process at once."""
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


def bind_socket(settings: ServeSettings, inherited: int | None = None) -> socket.socket:
    """Returns a socket bound to the configured address, or the one inherited from a parent process. Raises
    SettingsError.
    """
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
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; {_explain_bind_error(error)}"
        ) from None
    listening.setblocking(False)
    return listening


def _explain_bind_error(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "is it served already? --port chooses another port, 0 a free one"
    if error.errno == errno.EACCES:
        return "ports below 1024 are not for everybody; --port chooses another one"
    return "--host takes an address of this machine, 0.0.0.0 for all of them"


def find_address(settings: ServeSettings, listening: socket.socket) -> str:
    """Returns the address that clients connect to; a loopback one when the server listens everywhere."""
    return settings.public_url or f"http://{find_local_address(listening)}"


def find_local_address(listening: socket.socket) -> str:
    """Returns the host and port under which programs of this machine reach the socket."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

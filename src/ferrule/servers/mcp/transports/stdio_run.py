"""`ferrule serve --stdio`: the process that a desktop client starts, and its standard streams.

The client has the real standard output for itself. Before any code of the workspace is loaded, descriptor 1 becomes a
copy of 2, and 0 reads nothing: output of tools, libraries and child processes goes to the log, and none of them reads
the client's messages (MCP-29).
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ferrule.access.keys import Access
from ferrule.app.opening import open_app
from ferrule.errors import AccessError
from ferrule.model.approval import CALL
from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import Header, HttpRequest
from ferrule.servers.auth.callers import Caller, Refused, require_scopes
from ferrule.servers.auth.keys_gate import KeyRing
from ferrule.servers.caller_limits import FairTurnstile
from ferrule.servers.edge import Edge
from ferrule.servers.mcp.methods.table import METHODS
from ferrule.servers.mcp.server import McpService
from ferrule.servers.mcp.transports.pipe import Pipe
from ferrule.servers.mcp.transports.stdio import StdioConversation
from ferrule.servers.reloading import Reloading
from ferrule.workspace.workspace import Workspace

_GRACE_SECONDS = 0.5
"""For requests in flight when the client closes the pipe."""
_PATIENCE_SECONDS = 0.5
"""For tools that do not stop when they are cancelled."""
_LOOK_AFTER_SECONDS = 0.5
"""A client waits for its first answer; changed definitions are loaded after it, and the client is notified."""
_KEY_SECONDS = 0.5
"""How often the conversation's key is checked."""
_log = logging.getLogger("ferrule.serve")


class ClientStreams(NamedTuple):
    """The client's ends, under descriptors that nothing else knows and no child inherits."""

    read_from: int
    write_to: int


def claim_streams() -> ClientStreams:
    """Takes standard input and output away from the rest of the process. Call it before any code of the workspace is
    loaded."""
    if sys.stdout is not None:
        sys.stdout.flush()
    read_from, write_to = os.dup(0), _open_stdout()
    nothing = os.open(os.devnull, os.O_RDWR)
    # Child processes inherit 0 to 2; the client's ends are under other descriptors, which they do not.
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    return ClientStreams(read_from, write_to)


def _open_stdout() -> int:
    """Returns standard output in a mode where writing never blocks."""
    try:
        # O_NONBLOCK belongs to the open file, which standard error may share; opening it anew gives one of our own.
        return os.open("/proc/self/fd/1", os.O_WRONLY | os.O_NONBLOCK | os.O_APPEND)
    except OSError:
        write_to = os.dup(1)
        os.set_blocking(write_to, False)
        return write_to


async def serve_stdio(path: str | Path, settings: ServeSettings, begun: Callable[[], None] = lambda: None) -> None:
    """Serves a workspace to the process that started this one, until the pipe is closed or a signal comes (MCP-33).
    `begun` is called when everything is loaded."""
    claimed = claim_streams()
    root = Workspace.open(path).root
    pipe = Pipe(claimed.read_from, claimed.write_to, settings.limits.body_bytes)
    async with open_app(path) as app:
        app.patience_seconds = _PATIENCE_SECONDS
        access = Access(root)
        caller = _find_caller(access, settings)
        edge = Edge(app, settings, NoGate(), FairTurnstile(settings.limits))
        conversation = StdioConversation(McpService(edge, METHODS), caller, pipe, lambda: app.new_id("run"))
        reloading = Reloading(app)
        with _stop_on_signals(pipe.ended):
            begun()
            conversation.begin()
            if settings.reload:
                reloading.begin(after_seconds=_LOOK_AFTER_SECONDS)
            watching = asyncio.create_task(_end_with_key(access, caller, pipe.ended))
            await pipe.ended.wait()
            watching.cancel()
            await reloading.aclose()
            # Subscriptions end here: as requests in flight they would make the wait below last its whole time.
            await edge.aclose()
            await conversation.wait_until_idle(_GRACE_SECONDS)
            await conversation.aclose()
            await pipe.aclose(0.2)


async def _end_with_key(access: Access, caller: Caller, ended: asyncio.Event) -> None:
    """Ends the conversation when its key was revoked, has expired or is gone."""
    while True:
        await asyncio.sleep(_KEY_SECONDS)
        with suppress(AccessError):  # keys that cannot be read now say nothing about this one
            why = access.why_ended(caller.identity.channel, time.time())
            if why is not None:
                _log.warning("the conversation ends: %s", why)
                ended.set()
                return


def _find_caller(access: Access, settings: ServeSettings) -> Caller:
    """Returns the caller of the token in the environment, or the local agent (MCP-36). Raises AccessError."""
    try:
        caller = KeyRing(access, settings.grants).local_agent()
        require_scopes(caller, CALL)
    except Refused as refused:
        raise AccessError(refused.reason) from None
    return caller


class NoGate:
    """The gate of a pipe: it checks nothing, because the client started the process."""

    metadata: Any = None

    def admit(self, request: HttpRequest) -> tuple[Header, ...]:
        """Refuses: a pipe has no HTTP."""
        raise Refused(403, "there is no port")

    async def caller(self, request: HttpRequest) -> Caller:
        """Refuses: a pipe has no HTTP."""
        raise Refused(403, "there is no port")

    def challenge(self, request: HttpRequest, scopes: Sequence[str]) -> str:
        """Returns nothing: a pipe has no HTTP."""
        return ""

    def problem(self) -> str | None:
        """Returns None: a pipe has no HTTP."""
        return None

    async def aclose(self) -> None:
        """Does nothing."""


@contextmanager
def _stop_on_signals(stopped: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, stopped.set)
    try:
        yield
    finally:
        for number in signals:
            with suppress(ValueError):
                loop.remove_signal_handler(number)

"""`ferrule serve --stdio`: the process that a desktop client starts, and what becomes of its standard streams.

The client has the real standard output for itself. Before any code of the workspace is loaded, descriptor 1 is made the same as
2, and 0 reads nothing: what tools, libraries and child processes print goes to the log, and none of them takes the client's
words (MCP-29).
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
from ferrule.app.assembly import open_app
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
"""For what is being answered when the client closes the pipe."""
_PATIENCE_SECONDS = 0.5
"""For tools that do not stop when they are told to."""
_LOOK_AFTER_SECONDS = 0.5
"""Whoever starts a server waits for its first answer; changed definitions come after it, and the client is told of them."""
_KEY_SECONDS = 0.5
"""How often the key of a conversation is looked at."""
_log = logging.getLogger("ferrule.serve")


class Claimed(NamedTuple):
    """The client's ends, under descriptors that nobody else knows and no child inherits."""

    read_from: int
    write_to: int


def claim_streams() -> Claimed:
    """Take standard input and output away from everybody else. Before any code of the workspace is loaded."""
    if sys.stdout is not None:
        sys.stdout.flush()
    read_from, write_to = os.dup(0), _writable()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    return Claimed(read_from, write_to)


def _writable() -> int:
    """Standard output, so that writing never waits. A pipe is opened anew where that can be done: the mark that a descriptor
    does not wait is shared with everybody who has the same one, like a standard error that is the same pipe."""
    try:
        return os.open("/proc/self/fd/1", os.O_WRONLY | os.O_NONBLOCK | os.O_APPEND)
    except OSError:
        write_to = os.dup(1)
        os.set_blocking(write_to, False)
        return write_to


async def serve_stdio(path: str | Path, settings: ServeSettings, begun: Callable[[], None] = lambda: None) -> None:
    """Serve a workspace to whoever started this process, until the pipe is closed or a signal comes (MCP-33). `begun` is called
    when everything is loaded."""
    claimed = claim_streams()
    root = Workspace.open(path).root
    pipe = Pipe(claimed.read_from, claimed.write_to, settings.limits.body_bytes)
    async with open_app(path) as app:
        app.patience_seconds = _PATIENCE_SECONDS
        access = Access(root)
        caller = _caller(access, settings)
        edge = Edge(app, settings, NoGate(), FairTurnstile(settings.limits))
        conversation = StdioConversation(McpService(edge, METHODS), caller, pipe, lambda: app.new_id("run"))
        reloading = Reloading(app)
        with _told_to_stop(pipe.ended):
            begun()
            conversation.begin()
            if settings.reload:
                reloading.begin(after_seconds=_LOOK_AFTER_SECONDS)
            watching = asyncio.create_task(_end_with_key(access, caller, pipe.ended))
            await pipe.ended.wait()
            watching.cancel()
            await reloading.aclose()
            await edge.aclose()
            await conversation.finished(_GRACE_SECONDS)
            await conversation.aclose()
            await pipe.aclose(0.2)


async def _end_with_key(access: Access, caller: Caller, ended: asyncio.Event) -> None:
    """End the conversation when its key was revoked, has expired or is gone, as a server ends connections."""
    while True:
        await asyncio.sleep(_KEY_SECONDS)
        with suppress(AccessError):  # keys that cannot be read now say nothing about this one
            why = access.why_ended(caller.identity.channel, time.time())
            if why is not None:
                _log.warning("the conversation ends: %s", why)
                ended.set()
                return


def _caller(access: Access, settings: ServeSettings) -> Caller:
    """Whoever the token in the environment stands for, or the agents' (MCP-36). Raises AccessError."""
    try:
        caller = KeyRing(access, settings.grants).local_agent()
        require_scopes(caller, CALL)
    except Refused as refused:
        raise AccessError(refused.reason) from None
    return caller


class NoGate:
    """There is no door: whoever started the process is in."""

    metadata: Any = None

    def admit(self, request: HttpRequest) -> tuple[Header, ...]:
        """Nobody comes by HTTP."""
        raise Refused(403, "there is no port")

    async def caller(self, request: HttpRequest) -> Caller:
        """Nobody comes by HTTP."""
        raise Refused(403, "there is no port")

    def challenge(self, request: HttpRequest, scopes: Sequence[str]) -> str:
        """Nobody comes by HTTP."""
        return ""

    def problem(self) -> str | None:
        """Nobody comes by HTTP."""
        return None

    async def aclose(self) -> None:
        """Nothing is held."""


@contextmanager
def _told_to_stop(stopped: asyncio.Event) -> Iterator[None]:
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

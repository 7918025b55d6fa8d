"""News of changes: who listens, and which changes they are told of (section 23, MCP-153).

The hub looks a few times a second whether a caller's lists have changed, and only while somebody listens. It compares
fingerprints of the lists first, so that no client fetches again for nothing. An announcement of a tool
(`context.announce`) is passed on without a look. `subscriptions` stands above it, the modules of the lists below.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from ferrule.errors import FerruleError
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.mcp.methods.listing import TOOLS, lists_of, tools_of, write_tools
from ferrule.servers.mcp.methods.prompts import PROMPTS, prompts_of
from ferrule.servers.mcp.methods.resources import RESOURCES, TEMPLATES, resources_of, templates_of
from ferrule.servers.mcp.server import Exchange, McpService


def fingerprints(exchange: Exchange, kinds: Iterable[str]) -> dict[str, bytes]:
    """A fingerprint of each of these lists, as the caller gets them now. Stored results come and go with every call, so the
    list of resources is compared without them."""
    lists = lists_of(exchange.server)
    found: dict[str, bytes] = {}
    for kind in kinds:
        match kind:
            case "tools":
                found[kind] = lists.listing(exchange, TOOLS, *tools_of(exchange)).fingerprint
            case "prompts":
                found[kind] = lists.listing(exchange, PROMPTS, *prompts_of(exchange)).fingerprint
            case "resources":
                declared = lists.listing(exchange, RESOURCES, *resources_of(exchange)).fingerprint
                templates = lists.listing(exchange, TEMPLATES, *templates_of(exchange)).fingerprint
                found[kind] = declared + templates
    return found


LIST_KINDS = ("tools", "prompts", "resources")
_LOOK_EVERY = 0.25
_log = logging.getLogger("ferrule.mcp")


class Change(NamedTuple):
    """Something that changed: a list, a resource by its address, a task by its id."""

    kind: str
    """`tools`, `prompts` or `resources`; `resource`; `task`."""
    name: str = ""
    params: dict[str, Any] | None = None
    """Of a task: all that is told of it."""


class Listener:
    """Somebody who is told."""

    def __init__(
        self,
        exchange: Exchange,
        heard: Callable[[Change], None],
        kinds: frozenset[str],
        uris: set[str],
        ended: Callable[[], None],
    ) -> None:
        self.exchange = exchange
        self.heard = heard
        self.kinds = kinds
        self.uris = uris
        """Resources it wants to hear of; whoever listens may change them while it does."""
        self.ended = ended
        """Called when the server stops."""
        self.session: Any = None
        """What the lists were last worked out from."""
        self.seen: dict[str, bytes] = {}


class ChangeHub:
    """Everybody in this process who is told of changes."""

    def __init__(self, server: McpService) -> None:
        self._server = server
        self._listeners: dict[Listener, None] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._watching: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        server.app.announcing.append(self.announce)
        server.edge.ending.append(self.aclose)

    @property
    def count(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def listen(
        self,
        exchange: Exchange,
        heard: Callable[[Change], None],
        *,
        kinds: frozenset[str] = frozenset(LIST_KINDS),
        uris: set[str] | None = None,
        ended: Callable[[], None] = lambda: None,
    ) -> Listener:
        """Be told from now on, until `leave`. `heard` is called in the event loop and must not wait."""
        listener = Listener(exchange, heard, kinds, set() if uris is None else uris, ended)
        if self._is_closed:
            ended()
            return listener
        listener.session = exchange.surface.session
        listener.seen = fingerprints(exchange, kinds)
        self._listeners[listener] = None
        if self._watching is None:
            self._loop = asyncio.get_running_loop()
            self._watching = self._loop.create_task(self._watch())
        return listener

    def leave(self, listener: Listener) -> None:
        """Be told no more."""
        self._listeners.pop(listener, None)

    def take_place(self, caller: Caller) -> Callable[[], None]:
        """Take one of the streams that a principal may hold open; gives what frees it again. Raises Refused (MCP-235)."""
        who = (caller.tenant, caller.identity.principal)
        if self._counts[who] >= self._server.edge.settings.limits.streams:
            raise Refused(429, "there are too many subscriptions of yours; close one first")
        self._counts[who] += 1

        def free() -> None:
            self._counts[who] -= 1
            if self._counts[who] <= 0:
                del self._counts[who]

        return free

    def announce(self, what: str, tenant: str | None = None) -> None:
        """Something changed: `tools`, `prompts`, `resources`, or the address of a resource. Safe from any thread. `tenant`: whose
        listeners are told; None for everybody's."""
        self._soon(self._announce, what, tenant)

    def _soon(self, tell: Callable[..., None], *said: Any) -> None:
        if self._loop is not None and self._listeners:
            with suppress(RuntimeError):  # the event loop is gone, and everybody with it
                self._loop.call_soon_threadsafe(tell, *said)

    def _announce(self, what: str, tenant: str | None) -> None:
        for listener in list(self._listeners):
            if tenant is not None and listener.exchange.caller.tenant != tenant:
                continue
            if what in LIST_KINDS:
                if what in listener.kinds:
                    listener.heard(Change(what))
            elif what in listener.uris:
                listener.heard(Change("resource", what))

    async def _watch(self) -> None:
        """Look whether anything changed, for as long as somebody listens."""
        while self._listeners:
            await asyncio.sleep(_LOOK_EVERY)
            for listener in list(self._listeners):
                try:
                    await self._look(listener)
                except FerruleError as error:
                    _log.debug("what a listener can see could not be worked out: %s", error)
                except Exception:  # one listener's trouble is not the others'
                    _log.exception("what a listener can see could not be worked out")
        self._watching = None

    async def _look(self, listener: Listener) -> None:
        exchange = listener.exchange
        handle = exchange.surface
        if handle.session.generation != self._server.app.generation():
            await handle.refresh()
        if handle.session is listener.session:
            return
        writing = write_tools(exchange)
        if writing is not None:
            await writing
        listener.session = handle.session
        now = fingerprints(exchange, listener.kinds)
        before, listener.seen = listener.seen, now
        for kind in LIST_KINDS:
            if kind in now and now[kind] != before.get(kind) and listener in self._listeners:
                listener.heard(Change(kind))

    async def aclose(self) -> None:
        """Tell everybody that it is over."""
        self._is_closed = True
        with suppress(ValueError):
            self._server.app.announcing.remove(self.announce)
        listeners, self._listeners = list(self._listeners), {}
        for listener in listeners:
            listener.ended()
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching


def hub_of(server: McpService) -> ChangeHub:
    """The hub of a server."""
    hub = server.kept.get("changes")
    if hub is None:
        hub = server.kept["changes"] = ChangeHub(server)
    found: ChangeHub = hub
    return found

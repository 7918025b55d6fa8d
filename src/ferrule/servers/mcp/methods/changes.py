"""News of changes: who listens, and to which changes (section 23, MCP-153).

The hub compares a caller's lists a few times a second, and only while somebody listens. It compares fingerprints of the
lists first, so that no client fetches again for nothing. An announcement of a tool (`context.announce`) is passed on
without comparing. `subscriptions` stands above it, the modules of the lists below.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from ferrule.errors import FerruleError
from ferrule.model.value import JsonObject
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.mcp.methods.listing import TOOLS, collect_tools, get_lists, write_tools
from ferrule.servers.mcp.methods.prompts import PROMPTS, collect_prompts
from ferrule.servers.mcp.methods.resources import RESOURCES, TEMPLATES, collect_resources, collect_templates
from ferrule.servers.mcp.server import Exchange, McpService


def compute_fingerprints(exchange: Exchange, kinds: Iterable[str]) -> dict[str, bytes]:
    """Returns a fingerprint of each of these lists, as the caller gets them now. Stored results come and go with every
    call, so the list of resources is compared without them."""
    lists = get_lists(exchange.server)
    found: dict[str, bytes] = {}
    for kind in kinds:
        match kind:
            case "tools":
                found[kind] = lists.get_listing(exchange, TOOLS, *collect_tools(exchange)).fingerprint
            case "prompts":
                found[kind] = lists.get_listing(exchange, PROMPTS, *collect_prompts(exchange)).fingerprint
            case "resources":
                declared = lists.get_listing(exchange, RESOURCES, *collect_resources(exchange)).fingerprint
                templates = lists.get_listing(exchange, TEMPLATES, *collect_templates(exchange)).fingerprint
                found[kind] = declared + templates
    return found


LIST_KINDS = ("tools", "prompts", "resources")
_LOOK_EVERY = 0.25
_log = logging.getLogger("ferrule.mcp")


class ChangeNotice(NamedTuple):
    """One change: of a list, of a resource by its address, or of a task by its id."""

    kind: str
    """`tools`, `prompts` or `resources`; `resource`; `task`."""
    name: str = ""
    params: JsonObject | None = None
    """Of a task: its whole state."""


class Listener:
    """A subscription, and the state of the lists it last heard of."""

    def __init__(
        self,
        exchange: Exchange,
        heard: Callable[[ChangeNotice], None],
        kinds: frozenset[str],
        uris: set[str],
        ended: Callable[[], None],
    ) -> None:
        self.exchange = exchange
        self.heard = heard
        self.kinds = kinds
        self.uris = uris
        """Resources it follows; the subscriber may change them meanwhile."""
        self.ended = ended
        """Called when the server stops."""
        self.session: Any = None
        """The surface session the lists were last read from."""
        self.seen: dict[str, bytes] = {}


class ChangeHub:
    """All listeners of this process."""

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
        heard: Callable[[ChangeNotice], None],
        *,
        kinds: frozenset[str] = frozenset(LIST_KINDS),
        uris: set[str] | None = None,
        ended: Callable[[], None] = lambda: None,
    ) -> Listener:
        """Notifies a listener of changes until `leave`. `notify` is called in the event loop and must not wait."""
        listener = Listener(exchange, heard, kinds, set() if uris is None else uris, ended)
        if self._is_closed:
            ended()
            return listener
        listener.session = exchange.surface.session
        listener.seen = compute_fingerprints(exchange, kinds)
        self._listeners[listener] = None
        if self._watching is None:
            self._loop = asyncio.get_running_loop()
            self._watching = self._loop.create_task(self._watch())
        return listener

    def leave(self, listener: Listener) -> None:
        """Removes a listener."""
        self._listeners.pop(listener, None)

    def take_stream_slot(self, caller: Caller) -> Callable[[], None]:
        """Takes one of the streams a principal may hold open; returns the function that frees it. Raises Refused
        (MCP-235)."""
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
        """Announces a change: `tools`, `prompts`, `resources`, or the address of a resource. Safe from any thread.
        `tenant`: whose listeners to notify; None for all."""
        self._soon(self._announce, what, tenant)

    def _soon(self, tell: Callable[..., None], *said: object) -> None:
        if self._loop is not None and self._listeners:
            with suppress(RuntimeError):  # the event loop is gone, and everybody with it
                self._loop.call_soon_threadsafe(tell, *said)

    def _announce(self, what: str, tenant: str | None) -> None:
        for listener in list(self._listeners):
            if tenant is not None and listener.exchange.caller.tenant != tenant:
                continue
            if what in LIST_KINDS:
                if what in listener.kinds:
                    listener.heard(ChangeNotice(what))
            elif what in listener.uris:
                listener.heard(ChangeNotice("resource", what))

    async def _watch(self) -> None:
        """Compares lists for as long as somebody listens."""
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
        # The lists follow from the surface, so an unchanged surface needs no comparison.
        if handle.session is listener.session:
            return
        writing = write_tools(exchange)
        if writing is not None:
            await writing
        listener.session = handle.session
        now = compute_fingerprints(exchange, listener.kinds)
        before, listener.seen = listener.seen, now
        for kind in LIST_KINDS:
            if kind in now and now[kind] != before.get(kind) and listener in self._listeners:
                listener.heard(ChangeNotice(kind))

    async def aclose(self) -> None:
        """Ends all subscriptions."""
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


def get_hub(server: McpService) -> ChangeHub:
    """Returns the hub of a server, made on first use."""
    hub = server.kept.get("changes")
    if hub is None:
        hub = server.kept["changes"] = ChangeHub(server)
    found: ChangeHub = hub
    return found

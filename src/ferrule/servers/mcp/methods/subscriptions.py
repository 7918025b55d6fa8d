"""`subscriptions/listen`: one request, answered with news until either side ends it (section 23); and subscriptions of
sessions.

A client that does not read costs no more than the set of its pending changes. One that lags for too long is ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

import msgspec

from ferrule.errors import FerruleError
from ferrule.model.value import JsonObject
from ferrule.servers.mcp.methods.changes import ChangeNotice, get_hub
from ferrule.servers.mcp.methods.discovery import has_prompts, has_resources
from ferrule.servers.mcp.methods.resources import is_readable, not_found_error
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.tasks.state import filter_own_tasks, follow_tasks
from ferrule.servers.mcp.wire.messages import (
    INVALID_PARAMS,
    META_SUBSCRIPTION,
    MISSING_CAPABILITY,
    TASKS,
    Params,
    RpcError,
    notification_text,
)
from ferrule.servers.mcp.wire.params import params_of

_log = logging.getLogger("ferrule.mcp")
_LAG_SECONDS = 30.0
_MOST_NAMES = 1000
"""Resources, and tasks, that one subscription or session may name."""
_METHODS = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
    "resource": "notifications/resources/updated",
    "task": "notifications/tasks",
}


class SubscriptionFilter(msgspec.Struct, gc=False):
    """The changes a client subscribes to."""

    tools: bool = msgspec.field(default=False, name="toolsListChanged")
    prompts: bool = msgspec.field(default=False, name="promptsListChanged")
    resources: bool = msgspec.field(default=False, name="resourcesListChanged")
    uris: list[str] = msgspec.field(default_factory=list, name="resourceSubscriptions")
    tasks: list[str] = msgspec.field(default_factory=list, name="taskIds")


class ListenParams(msgspec.Struct, gc=False):
    """The parameters of `subscriptions/listen`."""

    notifications: SubscriptionFilter


class UriParams(msgspec.Struct, gc=False):
    """The parameters of `resources/subscribe` and `resources/unsubscribe`."""

    uri: str


class Mailbox:
    """The pending changes of one subscription: each thing once."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], ChangeNotice] = {}
        self._news = asyncio.Event()
        self.is_over = False

    def put(self, change: ChangeNotice) -> None:
        """Adds a change."""
        # A newer change of the same thing replaces the one that waits.
        self._waiting[change.kind, change.name] = change
        self._news.set()

    def end(self) -> None:
        """Ends the mailbox: no more changes follow."""
        self.is_over = True
        self._news.set()

    async def next(self) -> ChangeNotice | None:
        """Returns the next change; None at the end."""
        while not self._waiting:
            if self.is_over:
                return None
            self._news.clear()
            await self._news.wait()
        return self._waiting.pop(next(iter(self._waiting)))


async def listen(exchange: Exchange, params: bytes) -> JsonObject:
    """Sends a client its changes, until it leaves or the server stops: then comes the result (MCP-231 to MCP-239)."""
    wanted: SubscriptionFilter = params_of(params, ListenParams).notifications
    uris, tasks = await _filter_names(exchange, wanted)
    kinds = frozenset(kind for kind in ("tools", "prompts", "resources") if _is_told(exchange, wanted, kind))
    hub, mailbox = get_hub(exchange.server), Mailbox()
    free = hub.take_stream_slot(exchange.caller)
    # Before the acknowledgement: the mailbox keeps what changes while that is sent.
    listener = hub.listen(exchange, mailbox.put, kinds=kinds, uris=set(uris), ended=mailbox.end)
    following: asyncio.Task[None] | None = None
    tag = {META_SUBSCRIPTION: exchange.request_id}
    try:
        agreed: Params = {f"{kind}ListChanged": True for kind in ("tools", "prompts", "resources") if kind in kinds}
        agreed |= {"resourceSubscriptions": uris} if uris else {}
        agreed |= {"taskIds": tasks} if tasks else {}
        await _tell(exchange, "notifications/subscriptions/acknowledged", {"_meta": tag, "notifications": agreed})
        if tasks:
            following = asyncio.create_task(_follow(exchange, tasks, mailbox))
        while (change := await mailbox.next()) is not None:
            if change.kind == "resource" and not await is_readable(exchange, change.name):
                continue  # it was the caller's to see when it asked, and is not any more (MCP-239)
            if not await _tell(exchange, _METHODS[change.kind], {**(notification_params(change) or {}), "_meta": tag}):
                break
        if exchange.back.is_pipe:
            await _tell(exchange, "notifications/cancelled", {"requestId": exchange.request_id, "reason": "shutdown"})
    finally:
        hub.leave(listener)
        free()
        if following is not None:
            following.cancel()
    return {"_meta": tag}


async def _follow(exchange: Exchange, tasks: Iterable[str], mailbox: Mailbox) -> None:
    """Reports the state of tasks (MCP-257). When the ledger fails, the subscription ends, and its client asks again."""
    try:
        await follow_tasks(exchange, tasks, lambda name, task: mailbox.put(ChangeNotice("task", name, task)))
    except FerruleError as error:
        _log.warning("tasks could not be followed: %s", error)
        mailbox.end()


async def _tell(exchange: Exchange, method: str, params: Params) -> bool:
    """Sends a notification. False for a client that lags too far behind (MCP-235)."""
    try:
        async with asyncio.timeout(_LAG_SECONDS):
            await exchange.back.tell(notification_text(method, params))
    except TimeoutError:
        return False
    return True


def notification_params(change: ChangeNotice) -> Params | None:
    """Returns the parameters of a change's notification."""
    if change.kind == "resource":
        return {"uri": change.name}
    return dict(change.params) if change.params is not None else None


def encode_change(change: ChangeNotice) -> bytes:
    """Encodes a change for a session (MCP-240)."""
    return notification_text(_METHODS[change.kind], notification_params(change))


def _is_told(exchange: Exchange, wanted: SubscriptionFilter, kind: str) -> bool:
    if not getattr(wanted, kind):
        return False
    if kind == "prompts":
        return has_prompts(exchange)
    return kind == "tools" or has_resources(exchange)


async def _filter_names(exchange: Exchange, wanted: SubscriptionFilter) -> tuple[list[str], list[str]]:
    """Returns the resources and tasks the caller may follow; others are left out, as if they did not exist (MCP-239)."""
    if len(wanted.uris) > _MOST_NAMES or len(wanted.tasks) > _MOST_NAMES:
        raise RpcError(INVALID_PARAMS, f"a subscription names at most {_MOST_NAMES} resources, and as many tasks")
    if wanted.tasks and TASKS not in exchange.client:
        needed: Params = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise RpcError(MISSING_CAPABILITY, "following tasks requires the extension", needed)
    uris = [uri for uri in dict.fromkeys(wanted.uris) if await is_readable(exchange, uri)]
    return uris, await filter_own_tasks(exchange, wanted.tasks)


# Sessions


def follow_changes(exchange: Exchange, send: Callable[[bytes], None]) -> Callable[[], None]:
    """Sends a session its changes from now on, over its own stream; returns the function that ends that.
    `exchange.session` has the resources it subscribed to."""
    hub = get_hub(exchange.server)
    listener = hub.listen(
        exchange, lambda change: send(encode_change(change)), uris=getattr(exchange.session, "subscriptions", None)
    )
    return lambda: hub.leave(listener)


async def subscribe(exchange: Exchange, params: bytes) -> JsonObject:
    """Answers `resources/subscribe`, of sessions (MCP-199). Raises RpcError for a resource the caller cannot see."""
    uri = params_of(params, UriParams).uri
    if not await is_readable(exchange, uri):
        raise not_found_error(exchange, uri)
    subscriptions: set[str] = exchange.session.subscriptions
    if len(subscriptions) >= _MOST_NAMES and uri not in subscriptions:
        raise RpcError(INVALID_PARAMS, f"a session subscribes to at most {_MOST_NAMES} resources")
    subscriptions.add(uri)
    return {}


async def unsubscribe(exchange: Exchange, params: bytes) -> JsonObject:
    """Answers `resources/unsubscribe`, of sessions."""
    exchange.session.subscriptions.discard(params_of(params, UriParams).uri)
    return {}

"""A session of the revisions that have them: its terms, the questions to its client, and the requests in flight.

It does not know how messages travel: over HTTP and over a pipe a session is the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from functools import partial
from typing import Any

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.infra.tasks import go_on, resolve
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import Edge
from ferrule.servers.mcp.server import Exchange, McpService, RpcAnswer
from ferrule.servers.mcp.wire.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Message,
    Params,
    RequestId,
    RpcError,
    error_text,
    notification_text,
    refuse_doubled_params,
    refuse_doubles,
    request_text,
)
from ferrule.servers.mcp.wire.params import NO_META, RequestMeta, RequestParams, RoutedParams

Put = Callable[[bytes], None]
"""Sends one message to the client, on the stream of the request it belongs to."""
Finish = Callable[[bytes], None]
"""Takes the response to one request; empty when its client cancelled it."""


class OpenRequests:
    """The requests in flight of one client, and the requests to it that it has not answered yet."""

    def __init__(self) -> None:
        self.answering: dict[RequestId, asyncio.Task[Any]] = {}
        """The requests of the client that are being answered, by their ids."""
        self._dropped: set[asyncio.Task[Any]] = set()
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self.answering)

    def has(self, request_id: RequestId) -> bool:
        """True while a request with this id is being answered."""
        return request_id in self.answering

    def start(
        self, request_id: RequestId, work: Coroutine[Any, Any, RpcAnswer], context: Context, finish: Finish
    ) -> asyncio.Task[RpcAnswer]:
        """Continues a request that has to wait. `finish` gets the text of the response, empty for one that its client
        cancelled."""
        task = go_on(work, context)
        self.answering[request_id] = task
        task.add_done_callback(partial(self._end, request_id, finish))
        return task

    def _end(self, request_id: RequestId, finish: Finish, task: asyncio.Task[RpcAnswer]) -> None:
        self.answering.pop(request_id, None)
        if task in self._dropped:
            self._dropped.discard(task)
            finish(b"")
        elif task.cancelled():  # by its own tool: its client waits for an answer all the same
            finish(error_text(request_id, RpcError(INTERNAL_ERROR, "the request was cancelled before it was answered")))
        else:
            finish(task.result().text)

    def cancel(self, request_id: object) -> None:
        """Stops a request; nothing is sent for it any more (MCP-173). Ignores requests that are not in flight."""
        # type(), not isinstance(): True would find the request 1, and a list cannot be looked up.
        task = self.answering.get(request_id) if type(request_id) is str or type(request_id) is int else None
        if task is not None and task not in self._dropped:
            self._dropped.add(task)
            task.cancel()

    async def ask(self, put: Put, method: str, params: Params | None, within: float) -> Any:
        """Asks the client, and waits for its result. On a timeout, or when the answer is no longer needed, the client
        is notified (MCP-177, MCP-215). Raises RpcError."""
        self._count += 1
        number = self._count
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        put(request_text(number, method, params))
        try:
            async with asyncio.timeout(within):
                return await answer
        except TimeoutError:
            # The client may still show the question to a person: tell it to stop.
            put(_encode_cancellation(number, "it was not answered in time"))
            raise RpcError(INTERNAL_ERROR, f"the client did not answer {method} in time") from None
        except asyncio.CancelledError:
            put(_encode_cancellation(number, "it is not needed any more"))
            raise
        finally:
            del self._asked[number]

    def take_answer(self, message: Message) -> None:
        """Takes an answer of the client. Ignores answers to unknown or already answered requests (MCP-84)."""
        answer = self._asked.get(message.id) if type(message.id) is int else None
        if answer is None or answer.done():
            return
        try:
            if isinstance(message.result, msgspec.Raw):
                refuse_doubles(bytes(message.result))
                answer.set_result(msgspec.json.decode(message.result))
            else:
                answer.set_exception(_read_error(message.error))
        except (RpcError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            answer.set_exception(RpcError(INTERNAL_ERROR, "the client's answer cannot be read"))

    def aclose(self) -> list[asyncio.Task[Any]]:
        """Stops everything. Returns the tasks that are about to end."""
        left = list(self.answering.values())
        for request_id in list(self.answering):
            self.cancel(request_id)
        return left


def _encode_cancellation(number: int, reason: str) -> bytes:
    return notification_text("notifications/cancelled", {"requestId": number, "reason": reason})


def _read_error(raw: object) -> RpcError:
    """Returns the error a client answered with. Its text goes to the log and the tool, so it is kept short."""
    said = msgspec.json.decode(raw) if isinstance(raw, msgspec.Raw) else None
    code = said.get("code") if isinstance(said, dict) else None
    text = said.get("message") if isinstance(said, dict) else None
    return RpcError(
        code if type(code) is int else INTERNAL_ERROR, text[:1000] if type(text) is str else "the client refused"
    )


async def _refresh(handle: SurfaceHandle) -> SurfaceHandle:
    await handle.refresh()
    return handle


class McpSession:
    """One session."""

    def __init__(
        self,
        session_id: str,
        caller: Caller,
        revision: str,
        client: frozenset[str],
        send: Put,
        *,
        run_id: str,
    ) -> None:
        self.id = session_id
        self.caller = caller
        self.revision = revision
        self.client = client
        """The features its client declared."""
        self.send = send
        """Sends a message that belongs to no request: news of changes."""
        self.run_id = run_id
        self.underway = OpenRequests()
        self.log_level: str | None = None
        """The least level of log messages the client wants; None before it set one (MCP-182)."""
        self.subscriptions: set[str] = set()
        """Resources it follows (MCP-199)."""
        self.is_initialized = False
        """True after `notifications/initialized`: from then on it may be notified of changes (MCP-78)."""
        self.hears_changes = False
        """True once it is notified of changes."""
        self.closing: list[Callable[[], Awaitable[None] | None]] = []
        """Called at its end, last one first."""
        self.current: SurfaceHandle | None = None
        """Its surface, as it was last used."""

    def surface(self, edge: Edge, caller: Caller, run_id: str = "") -> SurfaceHandle | Awaitable[SurfaceHandle]:
        """Returns its current surface, or something to await when it has to be made again. A session is one run, unless
        a request names another; tools it loaded stay loaded. Raises Refused."""
        if run_id:
            return edge.surface(caller, run_id, "mcp")
        # A session is found by its credential alone; the caller behind that may have got other scopes or grants since.
        handle = self.current if caller is self.caller or caller == self.caller else None
        if handle is not None and handle.is_current:
            return handle
        return self._make_surface(edge, caller) if handle is None else _refresh(handle)

    async def _make_surface(self, edge: Edge, caller: Caller) -> SurfaceHandle:
        handle = self.current = await resolve(edge.surface(caller, self.run_id, "mcp"))
        self.caller = caller
        self.closing.append(partial(edge.forget, caller, self.run_id, "mcp"))
        return handle

    def open_exchange(
        self, server: McpService, caller: Caller, message: Message, params: RequestParams | RoutedParams
    ) -> Exchange | Awaitable[Exchange]:
        """Returns the exchange of one of its requests; something to await when its surface has to be made. Raises Refused."""
        meta = params.meta if isinstance(params.meta, RequestMeta) else NO_META
        whole = params if isinstance(params, RequestParams) else None
        surface = self.surface(server.edge, caller, meta.run)
        if isinstance(surface, SurfaceHandle):
            return self._make_exchange(server, caller, surface, message.id, meta, whole)
        return self._wait_for_exchange(server, caller, surface, message.id, meta, whole)

    async def _wait_for_exchange(
        self,
        server: McpService,
        caller: Caller,
        surface: Awaitable[SurfaceHandle],
        request_id: RequestId,
        meta: RequestMeta,
        params: RequestParams | None,
    ) -> Exchange:
        return self._make_exchange(server, caller, await surface, request_id, meta, params)

    def _make_exchange(
        self,
        server: McpService,
        caller: Caller,
        surface: SurfaceHandle,
        request_id: RequestId,
        meta: RequestMeta,
        params: RequestParams | None,
    ) -> Exchange:
        return Exchange(
            server,
            caller,
            surface,
            self.revision,
            request_id,
            client=self.client,
            meta=meta,
            params=params,
            log_level=self.log_level,
            session=self,
        )

    def take_notification(self, message: Message) -> None:
        """Takes a notification. Ignores malformed and unknown ones (MCP-19, MCP-173)."""
        if message.method == "notifications/cancelled":
            self.underway.cancel(read_cancelled_id(message))
        elif message.method == "notifications/initialized":
            self.is_initialized = True

    async def ask(self, put: Put, method: str, params: Params | None, within: float) -> Any:
        """Asks the client for a feature that it declared (MCP-207). Raises RpcError."""
        missing = _list_needed_features(method, params) - self.client
        if missing:
            raise RpcError(INVALID_REQUEST, f"the client does not offer {', '.join(sorted(missing))}")
        return await self.underway.ask(put, method, params, within)

    async def aclose(self) -> None:
        """Ends it: stops its requests, and keeps nothing (MCP-80)."""
        left = self.underway.aclose()
        # What is kept here leads back to the session by ways that the garbage collector does not see (Exchange).
        closing, self.closing = self.closing, []
        for close in reversed(closing):
            waiting = close()
            if waiting is not None:
                await waiting
        if left:
            await asyncio.wait(left, timeout=5)


def _list_needed_features(method: str, params: Params | None) -> frozenset[str]:
    """Returns the features a client must have declared to be asked this."""
    said = params or {}
    if method == "elicitation/create":
        return frozenset({"elicitation.url" if said.get("mode") == "url" else "elicitation"})
    if method == "sampling/createMessage":
        return frozenset({"sampling", "sampling.tools"} if "tools" in said or "toolChoice" in said else {"sampling"})
    return frozenset({"roots"} if method == "roots/list" else {method})


class _Cancelled(msgspec.Struct, gc=False):
    request_id: Any = msgspec.field(default=None, name="requestId")


def read_cancelled_id(message: Message) -> Any:
    """Returns the request that `notifications/cancelled` names; None when it is unreadable."""
    try:
        raw = message.params
        refuse_doubled_params(message)
        return msgspec.json.decode(raw, type=_Cancelled).request_id if isinstance(raw, msgspec.Raw) else None
    except (RpcError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None

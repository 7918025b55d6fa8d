"""HTTP for the official client through the guarded network: `infra/network/` checks and dials every request.

A failed request gets an error answer of its own (the client would drop the connection otherwise), and the real reason is
kept here under the request's number. The older transport (2024-11-05) is one open stream of events that names an address
to post to. It is implemented here because the official client's own fails at events over a megabyte and leaves requests
waiting that could not be sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urljoin

import anyio
import httpx2
import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from ferrule.infra.network.client import Client, Response
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.retry_after import retry_after
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.runtime.executors.mcp.failures import UpstreamProblem, problem_of_network, problem_of_status
from ferrule.runtime.executors.mcp.stdio import Streams

LOCAL_ERROR = -32099
"""The code of an error answer made here; the reason is kept under the number of its request."""
_OURS = frozenset({"host", "content-length", "connection", "accept-encoding", "transfer-encoding"})
_LONGEST_REFUSAL = 64 * 1024
_SESSION = "mcp-session-id"
_FINAL = frozenset({401, 403, 429})
_SESSION_GONE = frozenset({400, 404})
"""404 by the standard; 400 by older servers after a restart. Neither has processed the request."""
_MOST_KEPT = 256
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ELSEWHERE = UpstreamProblem(
    "policy_blocked",
    "sends to another server, which is not followed; write that server's address if it is the one that is meant",
    "redirect_refused",
    "http:redirect",
    step="before",
)


class BrokenBody(httpx2.StreamError):
    """An incomplete body. The client turns it into an error of the one request."""


class _Message(msgspec.Struct):
    id: int | str | None = None


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Transport that sends the official client's requests over the process's guarded connections."""

    def __init__(
        self,
        client: Client,
        *,
        listed_only: bool,
        max_bytes: int,
        on_failed: Callable[[UpstreamProblem], None] | None = None,
    ) -> None:
        """`on_failed`: called for failed requests that have no answer of their own, those of the older transport."""
        self._client = client
        self._listed_only = listed_only
        self._max_bytes = max_bytes
        self._on_failed = on_failed
        self._problems: dict[int | str, UpstreamProblem] = {}
        self.session_id: str | None = None

    def problem(self, number: int | str) -> UpstreamProblem | None:
        """Removes and returns the failure of the request of that number; None when it did not fail."""
        return self._problems.pop(number, None)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends one request and returns its answer, with the body still to be read."""
        body = await request.aread()
        number = _number(body)
        try:
            target = parse_url(str(request.url))
            headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() not in _OURS]
            headers.append(("Accept-Encoding", "identity"))  # events come one by one
            answer = await self._client.send(request.method, target, headers, body, listed_only=self._listed_only)
        except BadUrl as error:
            return self._answer_error(request, number, problem_of_network(BadRequest(str(error))))
        except (Forbidden, Unreachable, BrokenAnswer, BadRequest) as error:
            return self._answer_error(request, number, problem_of_network(error))
        self.session_id = answer.headers.get(_SESSION, self.session_id)
        if answer.status >= 400:
            return await self._answer_refusal(request, number, answer)
        if answer.status in _REDIRECTS and _is_other_server(target, answer.headers.get("location", "")):
            answer.close()
            return self._answer_error(request, number, _ELSEWHERE)
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            answer.close()
            odd = BrokenAnswer("its answer is compressed, which nobody asked for")
            return self._answer_error(request, number, problem_of_network(odd))
        is_stream = answer.headers.get("content-type", "").lower().startswith("text/event-stream")

        def broken(error: Exception) -> None:
            self._remember(number, problem_of_network(error))

        pieces = _Pieces(answer, self._max_bytes, broken, is_stream=is_stream)
        return httpx2.Response(answer.status, headers=list(answer.headers.items()), stream=pieces, request=request)

    async def _answer_refusal(
        self, request: httpx2.Request, number: int | str | None, answer: Response
    ) -> httpx2.Response:
        try:
            body = await answer.read(_LONGEST_REFUSAL)
        except (TooLong, BrokenAnswer):
            body = b""
        status, words = answer.status, body.decode("utf-8", "replace")
        if request.method == "POST" and _SESSION in request.headers and status in _SESSION_GONE:
            gone = problem_of_status(503, words)._replace(
                text="does not know the session any more", code="session_gone", ref=f"http:{status}", step="session"
            )
            return self._answer_error(request, number, gone)
        # A JSON-RPC error says more than its status, and the client reads it.
        if status not in _FINAL and _is_rpc_error(body):
            return httpx2.Response(status, headers={"content-type": "application/json"}, content=body, request=request)
        return self._answer_error(request, number, problem_of_status(status, words, retry_after(answer.headers)))

    def _answer_error(
        self, request: httpx2.Request, number: int | str | None, problem: UpstreamProblem
    ) -> httpx2.Response:
        """Keeps a failure and returns an error answer in its place."""
        if self._on_failed is not None:
            self._on_failed(problem)
        self._remember(number, problem)
        error = {"code": LOCAL_ERROR, "message": "see what is kept of this request"}
        status = problem.status if problem.status is not None and problem.step != "session" else 503
        return httpx2.Response(status, json={"jsonrpc": "2.0", "id": 0, "error": error}, request=request)

    def _remember(self, number: int | str | None, problem: UpstreamProblem) -> None:
        if number is None:
            return
        self._problems[number] = problem
        while len(self._problems) > _MOST_KEPT:  # failures of cancelled requests, which nobody takes out
            del self._problems[next(iter(self._problems))]


class _Pieces(httpx2.AsyncByteStream):
    """A body as it arrives, up to a length; in a stream of events each event up to that length."""

    def __init__(self, answer: Response, max_bytes: int, tell: Callable[[Exception], None], *, is_stream: bool) -> None:
        self._answer = answer
        self._max_bytes = max_bytes
        self._tell = tell
        self._is_stream = is_stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for piece in self._answer.pieces(None if self._is_stream else self._max_bytes):
                end = piece.rfind(b"\n") + 1 if self._is_stream else 0
                # MCP writes each message on one line, so the length of a line is that of an event.
                size = len(piece) - end if end else size + len(piece)
                if size > self._max_bytes:
                    raise TooLong(self._max_bytes)
                yield piece
        except (BrokenAnswer, TooLong, Unreachable) as error:
            self._tell(error)
            raise BrokenBody(str(error)) from None

    async def aclose(self) -> None:
        """Stops reading."""
        self._answer.close()


def _is_other_server(here: Target, location: str) -> bool:
    """Returns True when a redirect leads to another server, or to an invalid address."""
    try:
        there = parse_url(urljoin(here.url, location))
    except BadUrl:
        return True
    return (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port)


def _number(body: bytes) -> int | str | None:
    try:
        return msgspec.json.decode(body, type=_Message).id if body else None
    except msgspec.DecodeError:
        return None


def _is_rpc_error(body: bytes) -> bool:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    error = value.get("error") if isinstance(value, dict) else None
    return isinstance(error, dict) and isinstance(error.get("code"), int)


@asynccontextmanager
async def event_streams(client: httpx2.AsyncClient, url: str, seconds: float) -> AsyncIterator[Streams]:
    """Yields a server's streams of messages in the form that the official client takes.

    Raises HTTPStatusError, TimeoutError when no address is named in time, ValueError for one at another server.
    """
    read_in, read_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_in, write_out = anyio.create_memory_object_stream[SessionMessage](0)
    endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def hear(source: httpx2.EventSource) -> None:
        async with read_in:
            try:
                async for event in source:
                    if event.event == "endpoint":
                        if not endpoint.done():
                            endpoint.set_result(_same_server(url, event.data))
                    elif event.event == "message" and event.data:
                        await read_in.send(_message(event.data))
            except (httpx2.HTTPError, httpx2.StreamError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass
            except ValueError as error:
                if not endpoint.done():
                    endpoint.set_exception(error)
            if not endpoint.done():
                endpoint.set_exception(ValueError("the stream of events ended before it named an address"))

    async def tell(address: str) -> None:
        async with write_out:
            async for message in write_out:  # in order: a server must not see a cancellation before its request
                body = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                await client.post(address, json=body)  # `GuardedTransport` reports a failure through `on_failed`

    async with (
        read_in, read_out, write_in, write_out,
        client.stream("GET", url, headers={"Accept": "text/event-stream"}) as response,
    ):  # fmt: skip
        response.raise_for_status()
        async with anyio.create_task_group() as group:
            group.start_soon(hear, httpx2.EventSource(response, max_event_size=None))
            try:
                async with asyncio.timeout(seconds):
                    address = await endpoint
                group.start_soon(tell, address)
                yield read_out, write_in
            finally:
                group.cancel_scope.cancel()


def _same_server(url: str, written: str) -> str:
    """Returns the address to post to. Raises ValueError when it is at another server than the stream."""
    try:
        here, there = parse_url(url), parse_url(urljoin(url, written))
    except BadUrl as error:
        raise ValueError(str(error)) from None
    if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
        raise ValueError("the address to write to is at another server")
    return there.url


def _message(data: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(data, by_name=False))
    except ValueError as error:
        return error

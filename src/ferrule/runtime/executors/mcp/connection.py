"""One connection to an MCP server: opened and closed by a task of its own, shared by any number of calls.

The official client must be exited by the task that entered it, so calls never own a connection. When it ends, for any
reason, every waiting call gets that reason, and a program started for it has ended with everything it started. `pool.py`
opens and keeps connections; `session.py`, `http.py` and `stdio.py` are below.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.lockfile.file import Native
from ferrule.infra.network.client import Client
from ferrule.infra.tasks import hear_failure
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.mcp.failures import (
    CONNECTION_CLOSED,
    UpstreamFailed,
    UpstreamProblem,
    bad_answer,
    problem_of_network,
    problem_of_rpc,
)
from ferrule.runtime.executors.mcp.http import GuardedTransport, event_streams
from ferrule.runtime.executors.mcp.session import (
    CURRENT_REQUEST,
    Dispatcher,
    SentRequest,
    negotiate,
    open_session,
    problem_of_exception,
    problem_of_exit,
)
from ferrule.runtime.executors.mcp.stdio import ServerProgram, end_program, program_streams, start_program
from ferrule.runtime.executors.mcp.upstream import McpUpstream

_MOST_PAGES, _MOST_TOOLS = 1_000, 10_000
_CLOSING_SECONDS = 10.0
_PARTING_SECONDS = 0.3
"""How long a cancelled call waits until the cancellation is sent to the server."""
_EVENTS_SECONDS = 5.0
"""How long a server of the older transport may take to name the address to post to."""
OLDEST = "2024-11-05"
Progress = Callable[[float, float | None, str | None], None]
_REFUSALS = frozenset({401, 403, 429})
_NO_ENDPOINT = frozenset({400, 404, 405, 406, 415, 501})
"""Statuses of servers that lack one HTTP transport and may have the other."""


class _Anything(BaseModel):
    """A result model without fields: any answer is valid, and the raw answer is kept by the dispatcher."""


class McpConnection:
    """An open connection to one MCP server."""

    def __init__(
        self,
        upstream: McpUpstream,
        *,
        client: Client,
        headers: Mapping[str, str],
        env: dict[str, str],
        cwd: str,
        listed_only: bool,
        max_bytes: int,
    ) -> None:
        self.upstream = upstream
        self.calls = 0
        """The number of calls that use it now."""
        self.checked_at: float | None = None
        """When its tools were last listed, by the loop's clock; None when they must be listed again."""
        self.listed: tuple[Native, ...] = ()
        """Its tools as last listed."""
        self.looking = asyncio.Lock()
        self._client = client
        self._headers = dict(headers)
        self._env = env
        self._cwd = cwd
        self._listed_only = listed_only
        self._max_bytes = max_bytes
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ending = asyncio.Event()
        self._session: ClientSession | None = None
        self._http: GuardedTransport | None = None
        self._program: ServerProgram | None = None
        self._reason: UpstreamProblem | None = None
        self._is_left = False

    # Opening and closing

    async def open(self) -> None:
        """Connects and negotiates a revision. Raises ExecutionFailed, after cleaning up."""
        self._task = asyncio.create_task(self._run(), name=f"mcp {self.upstream.label}")
        # Whoever stops waiting must not cancel the future that the task will set.
        await asyncio.shield(self._ready)

    async def aclose(self) -> None:
        """Closes it. A program that was started for it has ended afterwards."""
        self._is_left = True
        self._ending.set()
        task = self._task
        if task is None or task.done():
            return
        # Until it is ready it waits for the server, and does not look at `_ending`.
        if not self._ready.done():
            task.cancel()
        done, _ = await asyncio.wait({task}, timeout=_CLOSING_SECONDS)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=_CLOSING_SECONDS)

    @property
    def is_closed(self) -> bool:
        """True once it cannot be used any more. The output of an ended program may still be unread."""
        has_ended = self._program is not None and self._program.has_exited
        return has_ended or self._ending.is_set() or self._task is None or self._task.done()

    async def _run(self) -> None:
        failed: BaseException | None = None
        try:
            await self._connect_and_wait()
        except BaseException as error:
            failed = error
            self._reason = self._reason or problem_of_exception(error)
        finally:
            self._ending.set()
            if not self._ready.done():
                self._ready.set_exception(self._failure())
                self._ready.exception()  # marks it as retrieved: the caller that opened it may have been cancelled
        # Any other failure is told by `_reason`: raised here, it would only be a task's failure that nobody looks at.
        if isinstance(failed, asyncio.CancelledError):
            raise failed

    async def _connect_and_wait(self) -> None:
        if self.upstream.target is None:
            await self._run_over(self._over_program)
            return
        transports = [self._over_http, self._over_events]
        if self.upstream.protocol_version == OLDEST:
            transports.reverse()
        try:
            await self._run_over(transports[0])
        except BaseException as error:
            # Once it was ready, the server has spoken this transport.
            if self._ready.done() or not self._is_other_transport(error):
                raise
            # What ended the first transport must not count for the second.
            self._reason = None
            self._ending.clear()
            await self._run_over(transports[1])

    async def _run_over(self, transport: Callable[[], Any]) -> None:
        async with transport() as (read, write):
            dispatcher = Dispatcher(read, write, self._ending.set)
            async with open_session(dispatcher, self._on_message) as session:
                self._session = session
                await self._negotiate(session)
                watching = asyncio.create_task(self._watch_list(session))
                try:
                    self._ready.set_result(None)
                    await self._ending.wait()
                finally:
                    watching.cancel()

    async def _negotiate(self, session: ClientSession) -> None:
        sent = SentRequest()
        token = CURRENT_REQUEST.set(sent)

        def is_final(error: Exception) -> bool:
            # An answer of this kind would be the same in an older revision, so it is not tried.
            problem = self._http.problem(sent.number) if self._http is not None else None
            if problem is not None and (problem.step or problem.status in _REFUSALS):
                self._reason = problem
                return True
            return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED

        try:
            await negotiate(session, self.upstream.protocol_version, is_final)
        except MCPError:
            problem = self._http.problem(sent.number) if self._http is not None else None
            self._reason = problem or self._reason
            raise
        finally:
            CURRENT_REQUEST.reset(token)

    def _is_other_transport(self, error: BaseException) -> bool:
        """Returns True when the failure suggests that the server speaks the other HTTP transport."""
        reason = self._reason or problem_of_exception(error)
        if self.upstream.protocol_version == OLDEST:
            return reason.step != "before" and reason.status not in _REFUSALS
        return reason.status in _NO_ENDPOINT

    def _on_message(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.checked_at = None

    async def _watch_list(self, session: ClientSession) -> None:
        """Subscribes to changes of the tool list, which the newest revision announces only to subscribers."""
        tools = session.server_capabilities.tools if session.server_capabilities is not None else None
        if session.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            return
        try:
            async with listen(session, tools_list_changed=True) as changes:
                async for _ in changes:
                    self.checked_at = None
        except Exception:  # without a subscription, definitions are only rechecked periodically
            return

    # The three transports

    @asynccontextmanager
    async def _over_program(self) -> AsyncIterator[Any]:
        try:
            program, tree = await start_program(self.upstream.command, self._env, self._cwd, self._max_bytes)
        except (OSError, ValueError) as error:
            word = "its command line has characters that none has"
            if isinstance(error, OSError):
                word = f"{error.filename or self.upstream.command[0]}: {error.strerror}"
            self._reason = UpstreamProblem("setup_required", f"could not be started: {word}", "not_started")
            raise
        self._program = program
        try:
            async with program_streams(program) as streams:
                yield streams
        finally:
            if not self._is_left:  # it may be about to end by itself: wait for its exit code, which is the reason
                await asyncio.wait({program.exited}, timeout=_PARTING_SECONDS)
            has_ended = program.exited.done() and not self._is_left
            await end_program(program, tree)
            if program.problem is not None:
                self._reason = problem_of_network(program.problem)
            elif has_ended:
                self._reason = problem_of_exit(program)

    @asynccontextmanager
    async def _over_http(self) -> AsyncIterator[Any]:
        async with (
            self._http_client(None) as client,
            # `GuardedTransport` bounds the length of events itself.
            streamable_http_client(self._url, http_client=client, max_sse_event_size=None) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def _over_events(self) -> AsyncIterator[Any]:
        async with (
            self._http_client(self._end_with) as client,
            event_streams(client, self._url, _EVENTS_SECONDS) as streams,
        ):
            yield streams

    def _http_client(self, on_failed: Callable[[UpstreamProblem], None] | None) -> httpx2.AsyncClient:
        self._http = GuardedTransport(
            self._client, listed_only=self._listed_only, max_bytes=self._max_bytes, on_failed=on_failed
        )
        return httpx2.AsyncClient(transport=self._http, headers=self._headers, timeout=None, trust_env=False)

    @property
    def _url(self) -> str:
        assert self.upstream.target is not None
        return self.upstream.target.url

    def _end_with(self, problem: UpstreamProblem) -> None:
        """Ends the connection: in the older transport a failed request has no answer of its own to carry the failure."""
        self._reason = problem
        self._ending.set()

    # Requests

    @property
    def protocol_version(self) -> str:
        """The negotiated revision."""
        return (self._session.protocol_version if self._session is not None else None) or ""

    @property
    def is_modern(self) -> bool:
        """True in a revision without sessions."""
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def session_id(self) -> str | None:
        """The id of the session, where the server has one."""
        return None if self.is_modern or self._http is None else self._http.session_id

    @property
    def server(self) -> tuple[str, str, str]:
        """Name, version and instructions as the server states them; unverified."""
        session = self._session
        info = session.server_info if session is not None else None
        told = session.instructions if session is not None else None
        return (info.name if info else "", info.version if info else "", told or "")

    async def call_tool(self, params: JsonObject, sent: SentRequest, progress: Progress) -> JsonObject:
        """Sends `tools/call`; returns the raw result. Raises ExecutionFailed, UpstreamFailed."""

        async def tell(done: float, total: float | None, message: str | None) -> None:
            progress(done, total, message)

        try:
            written = types.CallToolRequestParams.model_validate(params, by_name=False)
        except ValidationError:
            raise ExecutionFailed(
                "invalid_arguments",
                "an answer to an MCP server holds texts, numbers, yes or no, or lists of texts only",
            ) from None
        request = types.CallToolRequest(params=written)
        return await self._request(request, sent, tell)

    async def list_tools(self) -> tuple[Native, ...]:
        """Lists every raw tool definition. Raises ExecutionFailed, UpstreamFailed."""
        found: list[Native] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MOST_PAGES):
            page, problem, cursor = await self._page(cursor)
            found += [tool for tool in page if problem is None or tool.get("name") in problem]
            # A server may name the same page for ever.
            if cursor is None or cursor in seen or len(found) > _MOST_TOOLS:
                break
            seen.add(cursor)
        self.listed = tuple(found[:_MOST_TOOLS])
        return self.listed

    async def _page(self, cursor: str | None) -> tuple[list[Native], set[str] | None, str | None]:
        assert self._session is not None
        sent = SentRequest()
        problem: set[str] | None = None
        token = CURRENT_REQUEST.set(sent)
        try:
            params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await self._session.list_tools(params=params)
            problem = {tool.name for tool in page.tools}
        except MCPError as error:
            raise await self._request_failure(error, sent) from None
        except ValidationError:
            pass  # one tool is invalid: the raw page below still has the others
        finally:
            CURRENT_REQUEST.reset(token)
        raw = sent.raw or {}
        tools, following = raw.get("tools"), raw.get("nextCursor")
        if not isinstance(tools, list):
            raise bad_answer(self.upstream.label, "a list of tools that is no list")
        named = [tool for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
        return named, problem, following if isinstance(following, str) else None

    async def _request(self, request: Any, sent: SentRequest, progress: Any = None) -> JsonObject:
        """Sends a request from a task of its own, so that a cancelled call can still notify the server of the cancellation."""
        if self._session is None or self.is_closed:
            raise await self._wait_for_end()
        # The new task copies the context and finds the request there, so it is taken back here at once.
        token = CURRENT_REQUEST.set(sent)
        try:
            sending = asyncio.create_task(self._session.send_request(request, _Anything, progress_callback=progress))
        finally:
            CURRENT_REQUEST.reset(token)
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            if sending.cancelled():
                # The connection ended and took the request with it; this call itself was not cancelled.
                raise self._failure() from None
            sending.add_done_callback(hear_failure)
            sending.cancel()
            await asyncio.wait({sending}, timeout=_PARTING_SECONDS)
            raise
        except MCPError as error:
            raise await self._request_failure(error, sent) from None
        except ValidationError:
            raise bad_answer(self.upstream.label, "a result without what results have", sent.raw) from None
        assert sent.raw is not None
        return sent.raw

    async def _request_failure(self, error: MCPError, sent: SentRequest) -> Exception:
        problem = self._http.problem(sent.number) if self._http is not None else None
        if problem is not None:
            return UpstreamFailed(problem, self.upstream.label)
        if error.code == CONNECTION_CLOSED and self._ending.is_set():
            return await self._wait_for_end()
        if error.code == CONNECTION_CLOSED:
            return problem_of_network(ConnectionError())._replace(text="broke off").failure(self.upstream.label)
        return UpstreamFailed(problem_of_rpc(error.code, error.message), self.upstream.label, error.code)

    async def _wait_for_end(self) -> ExecutionFailed:
        """Waits until the connection has ended and returns the reason as a failure."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_CLOSING_SECONDS)
        return self._failure()

    def _failure(self) -> ExecutionFailed:
        reason = self._reason or UpstreamProblem("dependency_unavailable", "closed the connection", "connection_closed")
        return UpstreamFailed(reason, self.upstream.label)

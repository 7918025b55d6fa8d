"""One connection to an MCP server: opened and closed by a task of its own, used by as many calls as there are.

The official client wants to be left by the task that entered it, so calls never own a connection. When it ends, for whatever
reason, everybody who waits is told why, and a program that was started for it has ended with all it started.
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
from ferrule.runtime.executors.mcp.failures import CONNECTION_CLOSED, Mishap, Refused, bad_answer, of_network, of_rpc
from ferrule.runtime.executors.mcp.http import GuardedTransport, event_streams
from ferrule.runtime.executors.mcp.session import SENDING, Dispatcher, Sent, ended, negotiate, reason_of, session_over
from ferrule.runtime.executors.mcp.stdio import Program, end_program, program_streams, start_program
from ferrule.runtime.executors.mcp.upstream import Upstream

_MOST_PAGES, _MOST_TOOLS = 1_000, 10_000
_CLOSING_SECONDS = 10.0
_PARTING_SECONDS = 0.3
"""How long a cancelled call waits for the server to be told."""
_EVENTS_SECONDS = 5.0
"""How long a server may take to name the address that the older transport writes to."""
OLDEST = "2024-11-05"
Progress = Callable[[float, float | None, str | None], None]
_REFUSALS = frozenset({401, 403, 429})
_NO_ENDPOINT = frozenset({400, 404, 405, 406, 415, 501})
"""What servers answer that do not have the one transport and may have the other."""


class _Anything(BaseModel):
    """Whatever the revision allows as an answer; what it holds is kept as it came."""


class Connection:
    """A server that is being talked to."""

    def __init__(
        self,
        upstream: Upstream,
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
        """How many use it at this moment."""
        self.checked_at: float | None = None
        """When its definitions were last looked at, by the loop's clock; None when they have to be."""
        self.listed: tuple[Native, ...] = ()
        """Its definitions, when they were last looked at."""
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
        self._program: Program | None = None
        self._reason: Mishap | None = None
        self._is_left = False

    # Its life

    async def open(self) -> None:
        """Connect and agree on a revision. Raises ExecutionFailed; then nothing is left of it."""
        self._task = asyncio.create_task(self._live(), name=f"mcp {self.upstream.label}")
        await asyncio.shield(self._ready)

    async def aclose(self) -> None:
        """End it. A program that was started for it is gone afterwards."""
        self._is_left = True
        self._ending.set()
        task = self._task
        if task is None or task.done():
            return
        if not self._ready.done():
            task.cancel()
        done, _ = await asyncio.wait({task}, timeout=_CLOSING_SECONDS)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=_CLOSING_SECONDS)

    @property
    def is_closed(self) -> bool:
        """True once it cannot be used any more. A program that has ended may still have to be read to its end."""
        has_ended = self._program is not None and self._program.has_exited
        return has_ended or self._ending.is_set() or self._task is None or self._task.done()

    async def _live(self) -> None:
        failed: BaseException | None = None
        try:
            await self._connect_and_wait()
        except BaseException as error:
            failed = error
            self._reason = self._reason or reason_of(error)
        finally:
            self._ending.set()
            if not self._ready.done():
                self._ready.set_exception(self._failure())
                self._ready.exception()  # whoever opened it may be gone
        if isinstance(failed, asyncio.CancelledError):
            raise failed

    async def _connect_and_wait(self) -> None:
        if self.upstream.target is None:
            await self._talk(self._over_program)
            return
        ways = [self._over_http, self._over_events]
        if self.upstream.protocol_version == OLDEST:
            ways.reverse()
        try:
            await self._talk(ways[0])
        except BaseException as error:
            if self._ready.done() or not self._is_other_transport(error):
                raise
            self._reason = None
            self._ending.clear()
            await self._talk(ways[1])

    async def _talk(self, way: Callable[[], Any]) -> None:
        async with way() as (read, write):
            dispatcher = Dispatcher(read, write, self._ending.set)
            async with session_over(dispatcher, self._hear) as session:
                self._session = session
                await self._agree(session)
                watching = asyncio.create_task(self._watch_list(session))
                try:
                    self._ready.set_result(None)
                    await self._ending.wait()
                finally:
                    watching.cancel()

    async def _agree(self, session: ClientSession) -> None:
        sent = Sent()
        token = SENDING.set(sent)

        def is_final(error: Exception) -> bool:
            """Whether a question failed in a way that an older revision would not cure."""
            kept = self._http.mishap(sent.number) if self._http is not None else None
            if kept is not None and (kept.step or kept.status in _REFUSALS):
                self._reason = kept
                return True
            return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED

        try:
            await negotiate(session, self.upstream.protocol_version, is_final)
        except MCPError:
            kept = self._http.mishap(sent.number) if self._http is not None else None
            self._reason = kept or self._reason
            raise
        finally:
            SENDING.reset(token)

    def _is_other_transport(self, error: BaseException) -> bool:
        """Whether a server may be one of the other way of speaking over HTTP."""
        reason = self._reason or reason_of(error)
        if self.upstream.protocol_version == OLDEST:
            return reason.step != "before" and reason.status not in _REFUSALS
        return reason.status in _NO_ENDPOINT

    def _hear(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.checked_at = None

    async def _watch_list(self, session: ClientSession) -> None:
        """In the newest revision a server tells of changes only to those who asked to be told."""
        tools = session.server_capabilities.tools if session.server_capabilities is not None else None
        if session.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            return
        try:
            async with listen(session, tools_list_changed=True) as changes:
                async for _ in changes:
                    self.checked_at = None
        except Exception:  # then definitions are compared from time to time only
            return

    # Its three ways

    @asynccontextmanager
    async def _over_program(self) -> AsyncIterator[Any]:
        try:
            program, tree = await start_program(self.upstream.command, self._env, self._cwd, self._max_bytes)
        except (OSError, ValueError) as error:
            word = "its command line has characters that none has"
            if isinstance(error, OSError):
                word = f"{error.filename or self.upstream.command[0]}: {error.strerror}"
            self._reason = Mishap("setup_required", f"could not be started: {word}", "not_started")
            raise
        self._program = program
        try:
            async with program_streams(program) as streams:
                yield streams
        finally:
            if not self._is_left:  # it ended by itself, or is about to: how, is for it to say
                await asyncio.wait({program.exited}, timeout=_PARTING_SECONDS)
            has_ended = program.exited.done() and not self._is_left
            await end_program(program, tree)
            if program.problem is not None:
                self._reason = of_network(program.problem)
            elif has_ended:
                self._reason = ended(program)

    @asynccontextmanager
    async def _over_http(self) -> AsyncIterator[Any]:
        async with (
            self._http_client(None) as client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=None) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def _over_events(self) -> AsyncIterator[Any]:
        async with (
            self._http_client(self._broke) as client,
            event_streams(client, self._url, _EVENTS_SECONDS) as streams,
        ):
            yield streams

    def _http_client(self, on_failed: Callable[[Mishap], None] | None) -> httpx2.AsyncClient:
        self._http = GuardedTransport(
            self._client, listed_only=self._listed_only, max_bytes=self._max_bytes, on_failed=on_failed
        )
        return httpx2.AsyncClient(transport=self._http, headers=self._headers, timeout=None, trust_env=False)

    @property
    def _url(self) -> str:
        assert self.upstream.target is not None
        return self.upstream.target.url

    def _broke(self, mishap: Mishap) -> None:
        """In the older transport answers come by another way than requests: one that fails ends the connection."""
        self._reason = mishap
        self._ending.set()

    # What is asked of it

    @property
    def protocol_version(self) -> str:
        """The revision that was agreed on."""
        return (self._session.protocol_version if self._session is not None else None) or ""

    @property
    def is_modern(self) -> bool:
        """True in a revision without sessions."""
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def session_id(self) -> str | None:
        """The session, where the server has one."""
        return None if self.is_modern or self._http is None else self._http.session_id

    @property
    def server(self) -> tuple[str, str, str]:
        """What the server calls itself: name, version, and its instructions. Nothing to rely on."""
        session = self._session
        info = session.server_info if session is not None else None
        told = session.instructions if session is not None else None
        return (info.name if info else "", info.version if info else "", told or "")

    async def call_tool(self, params: dict[str, Any], sent: Sent, progress: Progress) -> dict[str, Any]:
        """Send `tools/call`; gives the result as it came. Raises ExecutionFailed, Refused."""

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
        """Every definition, as it came. Raises ExecutionFailed, Refused."""
        found: list[Native] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MOST_PAGES):
            page, kept, cursor = await self._page(cursor)
            found += [tool for tool in page if kept is None or tool.get("name") in kept]
            if cursor is None or cursor in seen or len(found) > _MOST_TOOLS:
                break
            seen.add(cursor)
        self.listed = tuple(found[:_MOST_TOOLS])
        return self.listed

    async def _page(self, cursor: str | None) -> tuple[list[Native], set[str] | None, str | None]:
        assert self._session is not None
        sent = Sent()
        kept: set[str] | None = None
        token = SENDING.set(sent)
        try:
            params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await self._session.list_tools(params=params)
            kept = {tool.name for tool in page.tools}
        except MCPError as error:
            raise await self._refused(error, sent) from None
        except ValidationError:
            pass  # one tool that is not as it should be; the others are
        finally:
            SENDING.reset(token)
        raw = sent.raw or {}
        tools, following = raw.get("tools"), raw.get("nextCursor")
        if not isinstance(tools, list):
            raise bad_answer(self.upstream.label, "a list of tools that is no list")
        named = [tool for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
        return named, kept, following if isinstance(following, str) else None

    async def _request(self, request: Any, sent: Sent, progress: Any = None) -> dict[str, Any]:
        """Send a request from a task of its own: one that is cancelled, however often, tells the server so in peace."""
        if self._session is None or self.is_closed:
            raise await self._end()
        token = SENDING.set(sent)
        try:
            sending = asyncio.create_task(self._session.send_request(request, _Anything, progress_callback=progress))
        finally:
            SENDING.reset(token)
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            if sending.cancelled():
                raise self._failure() from None
            sending.add_done_callback(hear_failure)
            sending.cancel()
            await asyncio.wait({sending}, timeout=_PARTING_SECONDS)
            raise
        except MCPError as error:
            raise await self._refused(error, sent) from None
        except ValidationError:
            raise bad_answer(self.upstream.label, "a result without what results have", sent.raw) from None
        assert sent.raw is not None
        return sent.raw

    async def _refused(self, error: MCPError, sent: Sent) -> Exception:
        mishap = self._http.mishap(sent.number) if self._http is not None else None
        if mishap is not None:
            return Refused(mishap, self.upstream.label)
        if error.code == CONNECTION_CLOSED and self._ending.is_set():
            return await self._end()
        if error.code == CONNECTION_CLOSED:
            return of_network(ConnectionError())._replace(text="broke off").failure(self.upstream.label)
        return Refused(of_rpc(error.code, error.message), self.upstream.label, error.code)

    async def _end(self) -> ExecutionFailed:
        """Why it ended, which is known when nothing is left of it."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_CLOSING_SECONDS)
        return self._failure()

    def _failure(self) -> ExecutionFailed:
        reason = self._reason or Mishap("dependency_unavailable", "closed the connection", "connection_closed")
        return Refused(reason, self.upstream.label)

"""Runs tools that live on MCP servers: those that AML definitions name, and those of imported servers.

The official client is loaded when the first of them is called. Nothing is sent to a tool that is not what was accepted.
`look_at` lists a server without calling anything: who it says it is, and every definition it has.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Support, Waiting
from ferrule.infra.drivers import DriverMissing
from ferrule.infra.lockfile.file import Native
from ferrule.infra.network.guard import Forbidden
from ferrule.model.tool import Tool
from ferrule.runtime.executors.definition import error_codes
from ferrule.runtime.executors.mcp.failures import HEADER_MISMATCH, INVALID_PARAMS, Refused, bad_answer, of_network
from ferrule.runtime.executors.mcp.pool import Connections, Key
from ferrule.runtime.executors.mcp.results import Reading, State, output_of, question_of, responses_of
from ferrule.runtime.executors.mcp.upstream import (
    Pinned,
    Place,
    Upstream,
    demand_unchanged,
    folder,
    place_of,
    program_place,
)
from ferrule.runtime.executors.surroundings import Surroundings
from ferrule.schema.validation.validators import compile_schema

if TYPE_CHECKING:
    from ferrule.runtime.executors.mcp.connection import Connection


T = TypeVar("T")
_DRIVER = "ferrule.runtime.executors.mcp.connection"
_loaded: list[Any] = []
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class McpExecutor:
    """Every MCP server behind the workspace."""

    support = Support(progress=True, cancel=True, resume=True, retries=True, credential_delegation=True)

    def __init__(self, surroundings: Surroundings) -> None:
        self.around = surroundings
        self.settings = surroundings.upstreams.mcp
        self.pinned = Pinned(surroundings.root, is_required=self.settings.require_lock)
        self.connections = Connections()

    def can_run(self, tool: Tool) -> bool:
        """True for imported tools, AML tools whose transport is `mcp`, and those that a program runs."""
        return tool.tool_kind == "mcp_tool" or program_place(tool, self.settings) is not None

    def prepare(self, tool: Tool) -> McpRun:
        """The tool's runner. Raises ExecutionFailed (`setup_required`)."""
        return McpRun(self, tool, place_of(tool, self.settings))

    async def aclose(self) -> None:
        """End every connection, and every program that was started for one."""
        await self.connections.aclose()

    async def with_connection(
        self, upstream: Upstream, context: Context, use: Callable[[Connection], Awaitable[T]]
    ) -> T:
        """Do something with a server. When it has forgotten the session, nothing was done yet: it is done in a new one."""
        headers = await self.around.vault.headers(upstream.credentials, context)
        driver = await _driver()
        key = self._key(upstream, headers, context)
        for attempt in (1, 2):
            async with self.connections.using(
                key, lambda: self._make(driver, upstream, headers, context), self.settings.connect_seconds
            ) as connection:
                try:
                    return await use(connection)
                except Refused as refused:
                    if refused.code == "credential_refused":
                        self.around.vault.forget_refused(upstream.credentials, context)
                    if refused.mishap.step != "session":
                        raise
                    self.connections.drop(key, connection)
                    if attempt == 2:
                        raise
        raise AssertionError("unreachable")

    def _key(self, upstream: Upstream, headers: Mapping[str, str], context: Context) -> Key:
        """A session belongs to whoever opened it, so other credentials mean another connection."""
        shown = hashlib.sha256(msgspec.json.encode(sorted(headers.items()))).digest()
        return upstream.key, upstream.protocol_version, shown, context.is_confined

    def _make(self, driver: Any, upstream: Upstream, headers: Mapping[str, str], context: Context) -> Connection:
        around = self.around
        env: dict[str, str] = {}
        cwd = ""
        if upstream.target is None:
            env, cwd = upstream.environment(around.env), folder(upstream, around.root)
            for name, value in upstream.secrets(around.env).items():
                around.learn(name, value)
        elif context.is_confined:
            try:
                around.guard.demand_listed(upstream.target)
            except Forbidden as error:
                raise of_network(error).failure(upstream.label) from None
        made: Connection = driver.Connection(
            upstream, client=around.client, headers=headers, env=env, cwd=cwd, listed_only=context.is_confined,
            max_bytes=self.settings.max_response_bytes,
        )  # fmt: skip
        return made


class McpRun:
    """One tool of one server."""

    support = McpExecutor.support

    def __init__(self, executor: McpExecutor, tool: Tool, place: Place) -> None:
        self._executor = executor
        self._place = place
        promised = msgspec.json.decode(tool.output_schema) if tool.output_schema is not None else {}
        self._reading = Reading(
            reads_text=place.accepted is None,
            is_loose=place.accepted is None and isinstance(promised, dict) and not promised.get("required"),
            takes_text=_taking_text(tool, place),
            is_own=place.is_own,
        )
        self._codes = error_codes(tool) if place.accepted is None else {}
        self.upstream = f"mcp:{place.upstream.label}"

    async def __call__(self, arguments: dict[str, Any], context: Context) -> Output | Waiting:
        """Call the tool."""
        return await self._bounded(context, self._run({"arguments": arguments}, arguments, context))

    async def resume(self, state: bytes, answer: Any, context: Context) -> Output | Waiting:
        """Go on with what somebody answered: the server gets its own state back, and the answer."""
        kept = msgspec.json.decode(state, type=State)
        params: dict[str, Any] = {"arguments": kept.arguments, "inputResponses": responses_of(kept, answer)}
        if kept.request_state is not None:
            params["requestState"] = kept.request_state
        return await self._bounded(context, self._run(params, kept.arguments, context))

    async def probe(self, context: Context) -> str:
        """Connect, and look whether the tool is there and as accepted."""
        return await self._bounded(context, self._executor.with_connection(self._place.upstream, context, self._look))

    async def _bounded(self, context: Context, work: Awaitable[T]) -> T:
        loop, settings = asyncio.get_running_loop(), self._executor.settings
        until = loop.time() + settings.timeout_seconds
        if context.deadline is not None:
            until = min(until, context.deadline)
        try:
            async with asyncio.timeout_at(until):
                return await work
        except TimeoutError:
            label, name = self._place.upstream.label, self._place.tool_name
            raise ExecutionFailed(
                "timeout", f"the tool {name!r} of the MCP server {label!r} took too long and was told to stop"
            ) from None
        except ExecutionFailed as failed:
            raise self._explained(failed) from None

    def _explained(self, failed: ExecutionFailed) -> ExecutionFailed:
        """What the definition says about the status goes into the message (AML-36)."""
        kind, _, status = (failed.native_error_ref or "").partition(":")
        meant = self._codes.get(status) if kind == "http" else None
        if meant is not None and str(meant):
            failed.message = f"{failed.message}. {meant}"
        return failed

    async def _run(self, params: dict[str, Any], arguments: dict[str, Any], context: Context) -> Output | Waiting:
        async def use(connection: Connection) -> Output | Waiting:
            await self._check(connection)
            return await self._call(connection, params, arguments, context)

        return await self._executor.with_connection(self._place.upstream, context, use)

    async def _call(
        self, connection: Connection, params: dict[str, Any], arguments: dict[str, Any], context: Context
    ) -> Output | Waiting:
        label, name = self._place.upstream.label, self._place.called(connection.listed)
        pause = _FIRST_PAUSE
        while True:
            result = await self._sent(connection, {"name": name, **params}, context)
            kind = result.get("resultType", "complete")
            if kind == "complete":
                return output_of(label, name, result, self._reading)
            if kind != "input_required":
                raise bad_answer(label, "a kind of result that was not agreed on", result)
            if result.get("inputRequests"):
                return question_of(label, arguments, result)
            # It is not done yet and asks nothing: it wants to be asked again, with its own state.
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            params = {"arguments": arguments, "requestState": result.get("requestState")}

    async def _sent(self, connection: Connection, params: dict[str, Any], context: Context) -> dict[str, Any]:
        driver = await _driver()
        sent = driver.Sent()
        is_over = False

        def progress(done: float, total: float | None, message: str | None) -> None:
            if not is_over:
                tell_progress(context, done, total, message)

        try:
            try:
                return await connection.call_tool(params, sent, progress)
            except Refused as refused:
                if refused.rpc_code == INVALID_PARAMS:
                    await self._tell_apart(connection, refused)
                if refused.rpc_code != HEADER_MISMATCH:
                    raise
            # Its schema wants other headers than were sent. Nothing was done; the schema is read again.
            await connection.list_tools()
            return await connection.call_tool(params, sent, progress)
        finally:
            is_over = True
            context.add_native_ref(**self._native(connection, sent.number))

    async def _tell_apart(self, connection: Connection, refused: ExecutionFailed) -> None:
        """The protocol has one code for bad arguments and for tools that are not there. Raises ExecutionFailed."""
        listed = await connection.list_tools()
        label, name = self._place.upstream.label, self._place.called(listed)
        if name not in [tool["name"] for tool in listed]:
            refused.error_class, refused.code = "execution_failed", "upstream_tool_unknown"
            refused.message = f"the MCP server {label!r} has no tool {name!r}; mend the definition"

    def _native(self, connection: Connection, number: int | str) -> dict[str, Any]:
        ref = {
            "source": "mcp",
            "server_id": self._place.upstream.label,
            "mcp_protocol_version": connection.protocol_version,
            "method": "tools/call",
            "tool_name": self._place.called(connection.listed),
            "jsonrpc_request_id": number,
        }
        return ref if connection.session_id is None else {**ref, "mcp_session_id": connection.session_id}

    async def _check(self, connection: Connection) -> None:
        """Raises ExecutionFailed (`policy_blocked`) when the tool is not what was accepted."""
        pinned = self._executor.pinned.definitions(self._place)
        loop, settings = asyncio.get_running_loop(), self._executor.settings
        async with connection.looking:
            checked = connection.checked_at
            if checked is None or loop.time() - checked > settings.recheck_seconds:
                started = loop.time()
                try:
                    await connection.list_tools()
                    connection.checked_at = started
                except ExecutionFailed:
                    if pinned:
                        raise
        if pinned:
            demand_unchanged(self._place, pinned, connection.listed)

    async def _look(self, connection: Connection) -> str:
        connection.checked_at = None
        await self._check(connection)
        name, version, _ = connection.server
        if self._place.called(connection.listed) not in [tool["name"] for tool in connection.listed]:
            raise ExecutionFailed(
                "execution_failed",
                f"the MCP server {self._place.upstream.label!r} has no tool {self._place.tool_name!r}",
                code="upstream_tool_unknown",
            )
        called = f"{name} {version}".strip() or self._place.upstream.label
        is_held = bool(self._executor.pinned.definitions(self._place))
        return f"connected to {called} with MCP {connection.protocol_version}; the tool is there" + (
            " and as accepted" if is_held else ""
        )


def _taking_text(tool: Tool, place: Place) -> Callable[[str], bool]:
    """Whether a text is a result of a tool by itself. A program of the workspace structures whatever is no text."""
    schema = tool.output_schema
    if schema is None:
        return lambda text: place.is_own
    validator = cache(lambda: compile_schema(bytes(schema)))  # few tools ever need it
    return lambda text: validator().is_valid(text)


def tell_progress(context: Context, done: float, total: float | None, message: str | None) -> None:
    """Progress in the pipeline's words: a percentage where the server says how much there is."""
    text = message if message is not None else (f"{done:g} of {total:g}" if total else f"{done:g}")
    if total is None or not total > 0 or not math.isfinite(total) or not math.isfinite(done):
        context.progress(text)
    else:
        context.progress(text, percent=min(100.0, max(0.0, 100.0 * done / total)))


async def _driver() -> Any:
    """The module that uses the official client; loading it takes a second, so a thread does. Raises ExecutionFailed."""
    if not _loaded:
        try:
            _loaded.append(await asyncio.to_thread(import_module, _DRIVER))
        except ImportError:
            raise DriverMissing("mcp") from None
    return _loaded[0]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says about itself and its tools."""

    name: str
    version: str
    protocol_version: str
    instructions: str
    tools: tuple[Native, ...]


async def look_at(executor: McpExecutor, upstream: Upstream) -> Seen:
    """Connect and list. Raises ExecutionFailed."""

    async def use(connection: Connection) -> Seen:
        tools = await connection.list_tools()
        name, version, instructions = connection.server
        return Seen(
            name=name,
            version=version,
            protocol_version=connection.protocol_version,
            instructions=instructions,
            tools=tools,
        )

    try:
        async with asyncio.timeout(executor.settings.connect_seconds + executor.settings.timeout_seconds):
            return await executor.with_connection(upstream, Context("lock", "", None, ""), use)
    except TimeoutError:
        raise ExecutionFailed("timeout", f"the MCP server {upstream.label!r} took too long to list its tools") from None

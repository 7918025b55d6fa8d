"""Runs tools of MCP servers: those that AML definitions name, and those of imported servers.

The official client is imported when the first of them is called. No call is sent to a tool that differs from its accepted
definition. `inspect_server` lists a server without calling a tool. The pool of connections is below.
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
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import error_codes
from ferrule.runtime.executors.mcp.failures import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UpstreamFailed,
    bad_answer,
    problem_of_network,
)
from ferrule.runtime.executors.mcp.pool import ConnectionPool, Key
from ferrule.runtime.executors.mcp.results import QuestionState, ResultOptions, output_of, question_of, responses_of
from ferrule.runtime.executors.mcp.upstream import (
    AcceptedDefinitions,
    McpUpstream,
    ToolLocation,
    demand_unchanged,
    locate_in_programs,
    locate_tool,
    working_folder,
)
from ferrule.runtime.executors.transport_services import TransportServices
from ferrule.schema.validation.validators import compile_schema

if TYPE_CHECKING:
    from ferrule.runtime.executors.mcp.connection import McpConnection


T = TypeVar("T")
_DRIVER = "ferrule.runtime.executors.mcp.connection"
_loaded: list[Any] = []
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class McpExecutor:
    """Executor of the tools of every MCP server behind the workspace."""

    support = Support(progress=True, cancel=True, resume=True, retries=True, credential_delegation=True)

    def __init__(self, services: TransportServices) -> None:
        self.services = services
        self.settings = services.upstreams.mcp
        self.pinned = AcceptedDefinitions(services.root, is_required=self.settings.require_lock)
        self.connections = ConnectionPool()

    def can_run(self, tool: Tool) -> bool:
        """Returns True for imported tools, AML tools whose transport is `mcp`, and those that a program runs."""
        return tool.tool_kind == "mcp_tool" or locate_in_programs(tool, self.settings) is not None

    def prepare(self, tool: Tool) -> McpRun:
        """Returns the tool's runner. Raises ExecutionFailed (`setup_required`)."""
        return McpRun(self, tool, locate_tool(tool, self.settings))

    async def aclose(self) -> None:
        """Closes every connection, and every program that was started for one."""
        await self.connections.aclose()

    async def with_connection(
        self, upstream: McpUpstream, context: Context, use: Callable[[McpConnection], Awaitable[T]]
    ) -> T:
        """Runs `use` with a connection. Repeats it with a new one when the server has lost the session, as it did
        nothing then."""
        headers = await self.services.vault.headers(upstream.credentials, context)
        driver = await _driver()
        key = self._key(upstream, headers, context)
        for attempt in (1, 2):
            async with self.connections.using(
                key, lambda: self._make(driver, upstream, headers, context), self.settings.connect_seconds
            ) as connection:
                try:
                    return await use(connection)
                except UpstreamFailed as refused:
                    if refused.code == "credential_refused":
                        self.services.vault.forget_refused(upstream.credentials, context)
                    if refused.problem.step != "session":
                        raise
                    self.connections.drop(key, connection)
                    if attempt == 2:
                        raise
        raise AssertionError("unreachable")

    def _key(self, upstream: McpUpstream, headers: Mapping[str, str], context: Context) -> Key:
        """Returns the key of a connection: a session belongs to its credentials, so others get another connection."""
        shown = hashlib.sha256(msgspec.json.encode(sorted(headers.items()))).digest()
        return upstream.key, upstream.protocol_version, shown, context.is_confined

    def _make(self, driver: Any, upstream: McpUpstream, headers: Mapping[str, str], context: Context) -> McpConnection:
        services = self.services
        env: dict[str, str] = {}
        cwd = ""
        if upstream.target is None:
            env, cwd = upstream.environment(services.env), working_folder(upstream, services.root)
            for name, value in upstream.secrets(services.env).items():
                services.learn_secret(name, value)
        elif context.is_confined:
            try:
                services.guard.demand_listed(upstream.target)
            except Forbidden as error:
                raise problem_of_network(error).failure(upstream.label) from None
        made: McpConnection = driver.McpConnection(
            upstream, client=services.client, headers=headers, env=env, cwd=cwd, listed_only=context.is_confined,
            max_bytes=self.settings.max_response_bytes,
        )  # fmt: skip
        return made


class McpRun:
    """Runner of one tool of an MCP server."""

    support = McpExecutor.support

    def __init__(self, executor: McpExecutor, tool: Tool, place: ToolLocation) -> None:
        self._executor = executor
        self._location = place
        promised = msgspec.json.decode(tool.output_schema) if tool.output_schema is not None else {}
        self._options = ResultOptions(
            reads_text=place.accepted is None,
            is_loose=place.accepted is None and isinstance(promised, dict) and not promised.get("required"),
            takes_text=_text_check(tool, place),
            is_own=place.is_own,
        )
        self._codes = error_codes(tool) if place.accepted is None else {}
        self.upstream = f"mcp:{place.upstream.label}"

    async def __call__(self, arguments: JsonObject, context: Context) -> Output | Waiting:
        """Calls the tool. Raises ExecutionFailed."""
        return await self._within_timeout(context, self._run({"arguments": arguments}, arguments, context))

    async def resume(self, state: bytes, answer: object, context: Context) -> Output | Waiting:
        """Resumes the call with a person's answer: sends the server its own state back, and the answer."""
        kept = msgspec.json.decode(state, type=QuestionState)
        params: JsonObject = {"arguments": kept.arguments, "inputResponses": responses_of(kept, answer)}
        if kept.request_state is not None:
            params["requestState"] = kept.request_state
        return await self._within_timeout(context, self._run(params, kept.arguments, context))

    async def probe(self, context: Context) -> str:
        """Connects, and checks that the tool exists as accepted. Raises ExecutionFailed."""
        return await self._within_timeout(
            context, self._executor.with_connection(self._location.upstream, context, self._check_tool)
        )

    async def _within_timeout(self, context: Context, work: Awaitable[T]) -> T:
        loop, settings = asyncio.get_running_loop(), self._executor.settings
        until = loop.time() + settings.timeout_seconds
        if context.deadline is not None:
            until = min(until, context.deadline)
        try:
            async with asyncio.timeout_at(until):
                return await work
        except TimeoutError:
            label, name = self._location.upstream.label, self._location.tool_name
            raise ExecutionFailed(
                "timeout", f"the tool {name!r} of the MCP server {label!r} took too long and was told to stop"
            ) from None
        except ExecutionFailed as failed:
            raise self._explain_status(failed) from None

    def _explain_status(self, failed: ExecutionFailed) -> ExecutionFailed:
        """Adds the definition's explanation of the status to the message (AML-36)."""
        kind, _, status = (failed.native_error_ref or "").partition(":")
        meant = self._codes.get(status) if kind == "http" else None
        if meant is not None and str(meant):
            failed.message = f"{failed.message}. {meant}"
        return failed

    async def _run(self, params: JsonObject, arguments: JsonObject, context: Context) -> Output | Waiting:
        async def use(connection: McpConnection) -> Output | Waiting:
            await self._check(connection)
            return await self._call(connection, params, arguments, context)

        return await self._executor.with_connection(self._location.upstream, context, use)

    async def _call(
        self, connection: McpConnection, params: JsonObject, arguments: JsonObject, context: Context
    ) -> Output | Waiting:
        label, name = self._location.upstream.label, self._location.listed_name(connection.listed)
        pause = _FIRST_PAUSE
        while True:
            result = await self._send(connection, {"name": name, **params}, context)
            kind = result.get("resultType", "complete")
            if kind == "complete":
                return output_of(label, name, result, self._options)
            if kind != "input_required":
                raise bad_answer(label, "a kind of result that was not agreed on", result)
            if result.get("inputRequests"):
                return question_of(label, arguments, result)
            # Neither a result nor a question: the server wants the call again, with the state it returned.
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            params = {"arguments": arguments, "requestState": result.get("requestState")}

    async def _send(self, connection: McpConnection, params: JsonObject, context: Context) -> JsonObject:
        driver = await _driver()
        sent = driver.SentRequest()
        is_over = False

        def progress(done: float, total: float | None, message: str | None) -> None:
            # What comes after the answer must not be told after it.
            if not is_over:
                report_progress(context, done, total, message)

        try:
            try:
                return await connection.call_tool(params, sent, progress)
            except UpstreamFailed as refused:
                if refused.rpc_code == INVALID_PARAMS:
                    await self._detect_unknown_tool(connection, refused)
                if refused.rpc_code != HEADER_MISMATCH:
                    raise
            # The tool's schema has changed which arguments go into headers. The server did nothing; list it and call again.
            await connection.list_tools()
            return await connection.call_tool(params, sent, progress)
        finally:
            is_over = True
            context.add_native_ref(**self._native(connection, sent.number))

    async def _detect_unknown_tool(self, connection: McpConnection, refused: ExecutionFailed) -> None:
        """Changes a failure to unknown tool if so: the protocol has the same code for that and for invalid arguments."""
        listed = await connection.list_tools()
        label, name = self._location.upstream.label, self._location.listed_name(listed)
        if name not in [tool["name"] for tool in listed]:
            refused.error_class, refused.code = "execution_failed", "upstream_tool_unknown"
            refused.message = f"the MCP server {label!r} has no tool {name!r}; mend the definition"

    def _native(self, connection: McpConnection, number: int | str) -> JsonObject:
        ref = {
            "source": "mcp",
            "server_id": self._location.upstream.label,
            "mcp_protocol_version": connection.protocol_version,
            "method": "tools/call",
            "tool_name": self._location.listed_name(connection.listed),
            "jsonrpc_request_id": number,
        }
        return ref if connection.session_id is None else {**ref, "mcp_session_id": connection.session_id}

    async def _check(self, connection: McpConnection) -> None:
        """Raises ExecutionFailed (`policy_blocked`) when the tool differs from its accepted definition."""
        pinned = self._executor.pinned.definitions(self._location)
        loop, settings = asyncio.get_running_loop(), self._executor.settings
        async with connection.looking:
            checked = connection.checked_at
            if checked is None or loop.time() - checked > settings.recheck_seconds:
                # Set before the request: a change that the server announces meanwhile resets it, and the next call looks again.
                connection.checked_at = loop.time()
                try:
                    await connection.list_tools()
                except BaseException as error:
                    connection.checked_at = None
                    # Without an accepted definition there is nothing to compare with; the call itself tells what is wrong.
                    if pinned or not isinstance(error, ExecutionFailed):
                        raise
        if pinned:
            demand_unchanged(self._location, pinned, connection.listed)

    async def _check_tool(self, connection: McpConnection) -> str:
        connection.checked_at = None
        await self._check(connection)
        name, version, _ = connection.server
        if self._location.listed_name(connection.listed) not in [tool["name"] for tool in connection.listed]:
            raise ExecutionFailed(
                "execution_failed",
                f"the MCP server {self._location.upstream.label!r} has no tool {self._location.tool_name!r}",
                code="upstream_tool_unknown",
            )
        called = f"{name} {version}".strip() or self._location.upstream.label
        is_held = bool(self._executor.pinned.definitions(self._location))
        return f"connected to {called} with MCP {connection.protocol_version}; the tool is there" + (
            " and as accepted" if is_held else ""
        )


def _text_check(tool: Tool, place: ToolLocation) -> Callable[[str], bool]:
    """Returns a function that is True for text that is itself a result of the tool, not encoded JSON."""
    schema = tool.output_schema
    if schema is None:
        return lambda text: place.is_own
    validator = cache(lambda: compile_schema(bytes(schema)))  # few tools ever need it
    return lambda text: validator().is_valid(text)


def report_progress(context: Context, done: float, total: float | None, message: str | None) -> None:
    """Reports progress to the call, as a percentage where the server states a total."""
    text = message if message is not None else (f"{done:g} of {total:g}" if total else f"{done:g}")
    if total is None or not total > 0 or not math.isfinite(total) or not math.isfinite(done):
        context.progress(text)
    else:
        context.progress(text, percent=min(100.0, max(0.0, 100.0 * done / total)))


async def _driver() -> Any:
    """Imports the module that uses the official client, in a thread, as that takes a second. Raises ExecutionFailed."""
    if not _loaded:
        try:
            _loaded.append(await asyncio.to_thread(import_module, _DRIVER))
        except ImportError:
            raise DriverMissing("mcp") from None
    return _loaded[0]


class ServerDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A server's description of itself and its tools."""

    name: str
    version: str
    protocol_version: str
    instructions: str
    tools: tuple[Native, ...]


async def inspect_server(executor: McpExecutor, upstream: McpUpstream) -> ServerDescription:
    """Connects to a server and lists its tools. Raises ExecutionFailed."""

    async def use(connection: McpConnection) -> ServerDescription:
        tools = await connection.list_tools()
        name, version, instructions = connection.server
        return ServerDescription(
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

"""The official client's session as used here: numbered requests, raw answers, negotiated revisions, reasons of ending.

The reason comes from what the official client raises, or from how a program ended, as a record of `failures.py`.
`connection.py` is above.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from importlib import metadata
from typing import Any

import httpx2
import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from ferrule.model.value import JsonObject
from ferrule.runtime.executors.mcp.failures import UpstreamProblem, problem_of_network, problem_of_rpc
from ferrule.runtime.executors.mcp.stdio import ServerProgram

for _name in ("mcp", "client"):  # the client's own loggers; a failure is already reported by the call that it failed
    if logging.getLogger(_name).level == logging.NOTSET:
        logging.getLogger(_name).setLevel(logging.CRITICAL)

UNSUPPORTED_VERSION = -32022


class SentRequest:
    """One request: its number, and its raw answer."""

    __slots__ = ("number", "raw")

    def __init__(self) -> None:
        self.number: int | str = ""
        self.raw: JsonObject | None = None


CURRENT_REQUEST: ContextVar[SentRequest | None] = ContextVar("ferrule_mcp_sending", default=None)


class Dispatcher(JSONRPCDispatcher[Any]):
    """Dispatcher that numbers requests, keeps raw answers and notices the end of the connection."""

    def __init__(self, read: Any, write: Any, on_end: Callable[[], None]) -> None:
        super().__init__(read, write)
        self._numbers = itertools.count(1)
        self._on_end = on_end

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, object] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: types.RequestId | None = None,
    ) -> JsonObject:
        """Sends a request and waits for its answer."""
        sent = CURRENT_REQUEST.get()
        options: CallOptions = {**opts} if opts else {}
        if "request_id" not in options:
            options["request_id"] = next(self._numbers)
        # Before it is sent: if it fails, the reason is kept under this number.
        if sent is not None:
            sent.number = options["request_id"]
        raw = await super().send_raw_request(method, params, options, _related_request_id=_related_request_id)
        if sent is not None:
            sent.raw = dict(raw)
        return raw

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        **options: Any,
    ) -> None:
        """Receives messages until the connection ends."""
        try:
            await super().run(on_request, on_notify, on_notify_intercept, **options)
        finally:
            self._on_end()


def open_session(dispatcher: Dispatcher, on_message: Callable[[Any], None]) -> ClientSession:
    """Creates a session whose only client capability is elicitation, and only in revisions that can wait for people."""

    async def hear(message: object) -> None:
        on_message(message)

    return ClientSession(
        dispatcher=dispatcher,
        client_info=types.Implementation(name="ferrule", version=_version()),
        elicitation_callback=_refuse_elicitation,
        message_handler=hear,
    )


async def negotiate(session: ClientSession, wanted: str, is_final: Callable[[Exception], bool]) -> None:
    """Negotiates a revision: the wanted one, or the newest both know. Raises MCPError, ValidationError, RuntimeError.

    Revisions with sessions begin with `initialize`; the newest has none and uses `server/discover`. A server that does not
    know that method speaks an older revision, unless it could not be reached at all (`is_final`).
    """
    if wanted not in HANDSHAKE_PROTOCOL_VERSIONS:
        try:
            await session.discover()
            return
        except (MCPError, ValidationError, RuntimeError) as error:
            if is_final(error):
                raise
    try:
        await _initialize(session, wanted if wanted in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION)
    except MCPError as error:
        if error.code != UNSUPPORTED_VERSION:
            raise
        await session.discover()  # its answer to the first `discover` timed out, and it does speak the newest


async def _initialize(session: ClientSession, version: str) -> None:
    """Performs the handshake. Offers no capabilities: a session cannot stay open as long as people take to answer."""
    result = await session.send_request(
        types.InitializeRequest(
            params=types.InitializeRequestParams(
                protocol_version=version,
                capabilities=types.ClientCapabilities(),
                client_info=session._client_info,
            )
        ),
        types.InitializeResult,
    )
    if result.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise MCPError(UNSUPPORTED_VERSION, f"the server chose the revision {result.protocol_version[:40]!r}")
    session.adopt(result)
    await session.send_notification(types.InitializedNotification())


async def _refuse_elicitation(context: ClientRequestContext, params: object) -> types.ElicitResult | types.ErrorData:
    """Refuses an elicitation in a revision with sessions. The newest revision asks in its result and never gets here."""
    return types.ErrorData(
        code=types.METHOD_NOT_FOUND,
        message="elicitation was not offered: in this revision nobody can be waited for; serve 2026-07-28 to ask people",
    )


def _version() -> str:
    try:
        return metadata.version("ferrule")
    except metadata.PackageNotFoundError:  # run from its source without being installed
        return "0"


def problem_of_exception(error: BaseException) -> UpstreamProblem:
    """Translates an exception into the reason why a connection failed or ended."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return problem_of_rpc(error.code, error.message)
    if isinstance(error, httpx2.HTTPStatusError):
        return UpstreamProblem("dependency_unavailable", f"answered with HTTP {error.response.status_code}",
                      ref=f"http:{error.response.status_code}", status=error.response.status_code)  # fmt: skip
    if isinstance(error, TimeoutError):
        return UpstreamProblem("dependency_unavailable", "did not say where to write to", "no_endpoint")
    if isinstance(error, ValidationError | RuntimeError | ValueError):
        return UpstreamProblem(
            "dependency_unavailable", "does not speak MCP as it should", "protocol_error", "mcp:handshake"
        )
    return (
        problem_of_network(error)
        if isinstance(error, Exception)
        else UpstreamProblem("dependency_unavailable", "was left alone")
    )


def problem_of_exit(program: ServerProgram) -> UpstreamProblem:
    """Describes how a server program ended by itself."""
    code = program.exited.result()
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return UpstreamProblem("dependency_unavailable", how, "server_ended", f"exit:{code}", words=program.last_words)

"""Sends notices of tasks through the transport of their tool. When that fails, the task is still in the inbox.

`rest-api` gets a POST with a token for the answer. A queue, a cloud function or an MCP server gets the same notice from
its own executor, as if it were the tool's input. `executor.py` is above.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from inspect import isawaitable
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Executor, Output
from ferrule.contracts.receiver import Receiver
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import read_tool_credentials, read_transport
from ferrule.runtime.executors.transport_services import TransportServices

CALLBACK = "callback"
"""The channel of answers that arrive with a token."""
_MOST_BYTES = 64 * 1024
_MOST_SECONDS = 30.0
_SHARE = 0.8
"""The share of a call's remaining time that a notice may take, so that the call can still be parked."""
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_PLACE = re.compile(r"\{([^{}]+)\}")
_FATAL = frozenset({"credential_missing", "setup_required"})
"""Error classes of a wrong setup, which the caller gets: no notice of such a tool would ever be sent."""


class NotNotified(Exception):
    """A notice was not delivered; the message gives the reason for people."""


class TaskNotifier(Protocol):
    """A channel for notices of tasks."""

    reply_channel: str
    """The channel through which an answer may arrive."""

    async def notify(self, notice: JsonObject, context: Context) -> JsonObject:
        """Sends the notice of one task; returns its native ids. Raises NotNotified; ExecutionFailed when the setup is wrong."""

    async def probe(self, context: Context) -> str:
        """Checks the channel without sending; returns a sentence about it. Raises ExecutionFailed."""


class _Rest(msgspec.Struct, frozen=True):
    base_url: str
    endpoint: str


class RestNotifier:
    """Notifier that posts the notice over HTTP."""

    reply_channel = CALLBACK

    def __init__(self, tool: Tool, services: TransportServices) -> None:
        """Raises ExecutionFailed (`setup_required`)."""
        self._rest = read_transport(tool, _Rest)
        self._credentials = read_tool_credentials(tool)
        self._services = services
        method, _, self._path = self._rest.endpoint.partition(" ")
        self._method = method if method in _WITH_BODY else "POST"

    async def notify(self, notice: JsonObject, context: Context) -> JsonObject:
        """Tells of one task."""
        headers = await _unless_fatal(self._services.vault.headers(self._credentials, context))
        every = {"Content-Type": "application/json", "Idempotency-Key": notice["invocation_id"], **headers}
        status = await self._post(msgspec.json.encode(notice), every, self._fill_url(notice["input"]), context)
        if status in (401, 403):
            self._services.vault.forget_refused(self._credentials, context)
        if not 200 <= status < 300:
            raise NotNotified(f"{self._host} answered with status {status}")
        return {"source": "rest", "method": self._method, "status": status}

    async def probe(self, context: Context) -> str:
        """Checks that its credentials exist. Sends nothing, since every request there would be a task."""
        await self._services.vault.headers(self._credentials, context)
        return f"tasks are sent to {self._host}; its credentials are there"

    async def _post(self, body: bytes, headers: dict[str, str], url: str, context: Context) -> int:
        try:
            fetched = await self._services.client.fetch(
                self._method,
                parse_url(url),
                tuple(headers.items()),
                body,
                max_bytes=_MOST_BYTES,
                timeout_seconds=None,
                listed_only=context.is_confined,
            )
        except TooLong:  # only that it answered counts, not the answer
            return 200
        except (Unreachable, BrokenAnswer, BadRequest, Forbidden, BadUrl) as error:
            raise NotNotified(str(error) or type(error).__name__) from None
        return fetched.status

    def _fill_url(self, shown: object) -> str:
        members = shown if isinstance(shown, dict) else {}
        return f"{self._rest.base_url}{'/'.join(_segment(part, members) for part in self._path.split('/'))}"

    @property
    def _host(self) -> str:
        try:
            return parse_url(self._rest.base_url).host
        except BadUrl:
            return "the address"


class TransportNotifier:
    """Notifier that calls the transport's executor once, with the notice as the tool's input."""

    def __init__(self, tool: Tool, executor: Executor) -> None:
        """Raises ExecutionFailed (`setup_required`)."""
        self._run = executor.prepare(tool)
        find: Callable[[Tool], Receiver | None] | None = getattr(executor, "receiver", None)
        receiver = find(tool) if find is not None else None
        self.reply_channel = CALLBACK if receiver is None else receiver.channel

    async def notify(self, notice: JsonObject, context: Context) -> JsonObject:
        """Tells of one task."""
        given = self._run(notice, context)
        output = await _unless_fatal(given) if isawaitable(given) else given
        return output.native_refs[0] if isinstance(output, Output) and output.native_refs else {}

    async def probe(self, context: Context) -> str:
        """Returns what the transport's own probe reports."""
        probe = getattr(self._run, "probe", None)
        return str(await probe(context)) if probe is not None else "there is nothing to look at"


class InboxNotifier:
    """Notifier for a database, which cannot be notified: the task is found only in the inbox."""

    reply_channel = ""

    async def notify(self, notice: JsonObject, context: Context) -> JsonObject:
        """Sends nothing."""
        context.progress("the task waits in the inbox")
        return {}

    async def probe(self, context: Context) -> str:
        """Checks nothing."""
        return "nobody outside is told of them"


def notifier_of(
    tool: Tool, transport: str, services: TransportServices, executor_of: Callable[[str], Executor]
) -> TaskNotifier:
    """Returns the notifier of a tool's tasks. Raises ExecutionFailed (`setup_required`)."""
    match transport:
        case "rest-api":
            return RestNotifier(tool, services)
        case "message-queue" | "lambda" | "mcp":
            return TransportNotifier(tool, executor_of(transport))
        case "database":
            return InboxNotifier()  # every type goes with every transport (AML-22)
        case _:
            raise ExecutionFailed(
                "setup_required",
                f"nobody hears of a task through a {transport or 'missing'} transport; give {tool.tool_id!r} one of rest-api,"
                " message-queue, lambda or mcp",
            )


async def notify_in_time(notifier: TaskNotifier, notice: JsonObject, context: Context) -> JsonObject:
    """Sends the notice, but gives up early enough for the call to be parked. Raises NotNotified, ExecutionFailed."""
    left = _MOST_SECONDS
    if context.deadline is not None:
        left = min(left, (context.deadline - asyncio.get_running_loop().time()) * _SHARE)
    try:
        async with asyncio.timeout(max(0.0, left)):
            return await notifier.notify(notice, context)
    except TimeoutError:
        raise NotNotified("nobody answered in time") from None


def _segment(written: str, members: JsonObject) -> str:
    """Fills one segment of a path, which stays one segment. Raises NotNotified."""
    made = _PLACE.sub(lambda found: quote(str(members.get(found[1], "")), safe=""), written)
    if made != written and made in ("", ".", ".."):
        raise NotNotified("an argument that is part of the path is missing, or would lead to another path")
    return made


async def _unless_fatal(awaitable: Any) -> Any:
    try:
        return await awaitable
    except ExecutionFailed as failed:
        # A refused credential can be renewed: only this one notice is lost.
        if failed.error_class in _FATAL and failed.code != "credential_refused":
            raise
        raise NotNotified(failed.message) from None

"""Tells the outside world of a task, by the transport of its tool. Whatever goes wrong here, the task stands in the inbox.

`rest-api` is posted to with a token for the answer. A queue, a cloud function or an MCP server is given the same notice
by its own executor, as if it were the input.
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
from ferrule.runtime.executors.definition import read_tool_credentials, read_transport
from ferrule.runtime.executors.surroundings import Surroundings

CALLBACK = "callback"
"""The channel of answers that come with a token."""
_MOST_BYTES = 64 * 1024
_MOST_SECONDS = 30.0
_SHARE = 0.8
"""Of the time a call has left: telling takes no more, so that the call can still be parked."""
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_PLACE = re.compile(r"\{([^{}]+)\}")
_FATAL = frozenset({"credential_missing", "setup_required"})
"""What is wrong with the set-up is told to the caller: such a tool tells nobody, however often it is called."""


class NotTold(Exception):
    """Why the outside world did not hear of a task, in words for people."""


class Teller(Protocol):
    """One way of telling."""

    reply_channel: str
    """By which an answer may come from outside."""

    async def tell(self, notice: dict[str, Any], context: Context) -> dict[str, Any]:
        """Tell of one task; gives what it is called there. Raises NotTold; ExecutionFailed when the set-up is at fault."""

    async def probe(self, context: Context) -> str:
        """What would be told, and where. Raises ExecutionFailed."""


class _Rest(msgspec.Struct, frozen=True):
    base_url: str
    endpoint: str


class RestTeller:
    """Posts the notice."""

    reply_channel = CALLBACK

    def __init__(self, tool: Tool, surroundings: Surroundings) -> None:
        """Raises ExecutionFailed (`setup_required`)."""
        self._rest = read_transport(tool, _Rest)
        self._credentials = read_tool_credentials(tool)
        self._around = surroundings
        method, _, self._path = self._rest.endpoint.partition(" ")
        self._method = method if method in _WITH_BODY else "POST"

    async def tell(self, notice: dict[str, Any], context: Context) -> dict[str, Any]:
        """Tell of one task."""
        headers = await _unless_fatal(self._around.vault.headers(self._credentials, context))
        every = {"Content-Type": "application/json", "Idempotency-Key": notice["invocation_id"], **headers}
        status = await self._post(msgspec.json.encode(notice), every, self._filled(notice["input"]), context)
        if status in (401, 403):
            self._around.vault.forget_refused(self._credentials, context)
        if not 200 <= status < 300:
            raise NotTold(f"{self._host} answered with status {status}")
        return {"source": "rest", "method": self._method, "status": status}

    async def probe(self, context: Context) -> str:
        """Whether its credentials are there. Nothing is sent: whatever is sent there is a task."""
        await self._around.vault.headers(self._credentials, context)
        return f"tasks are sent to {self._host}; its credentials are there"

    async def _post(self, body: bytes, headers: dict[str, str], url: str, context: Context) -> int:
        try:
            fetched = await self._around.client.fetch(
                self._method,
                parse_url(url),
                tuple(headers.items()),
                body,
                max_bytes=_MOST_BYTES,
                timeout_seconds=None,
                listed_only=context.is_confined,
            )
        except TooLong:  # what it says is of no interest, that it answered is
            return 200
        except (Unreachable, BrokenAnswer, BadRequest, Forbidden, BadUrl) as error:
            raise NotTold(str(error) or type(error).__name__) from None
        return fetched.status

    def _filled(self, shown: Any) -> str:
        members = shown if isinstance(shown, dict) else {}
        return f"{self._rest.base_url}{'/'.join(_segment(part, members) for part in self._path.split('/'))}"

    @property
    def _host(self) -> str:
        try:
            return parse_url(self._rest.base_url).host
        except BadUrl:
            return "the address"


class TransportTeller:
    """Gives the notice to the executor of the transport, once, as if it were the tool's input."""

    def __init__(self, tool: Tool, executor: Executor) -> None:
        """Raises ExecutionFailed (`setup_required`)."""
        self._run = executor.prepare(tool)
        find: Callable[[Tool], Receiver | None] | None = getattr(executor, "receiver", None)
        receiver = find(tool) if find is not None else None
        self.reply_channel = CALLBACK if receiver is None else receiver.channel

    async def tell(self, notice: dict[str, Any], context: Context) -> dict[str, Any]:
        """Tell of one task."""
        given = self._run(notice, context)
        output = await _unless_fatal(given) if isawaitable(given) else given
        return output.native_refs[0] if isinstance(output, Output) and output.native_refs else {}

    async def probe(self, context: Context) -> str:
        """What the transport finds out about itself."""
        probe = getattr(self._run, "probe", None)
        return str(await probe(context)) if probe is not None else "there is nothing to look at"


class InboxTeller:
    """Tells nobody outside: a database hears of nothing. Whoever looks into the inbox finds the task."""

    reply_channel = ""

    async def tell(self, notice: dict[str, Any], context: Context) -> dict[str, Any]:
        """Leave it to the inbox."""
        context.progress("the task waits in the inbox")
        return {}

    async def probe(self, context: Context) -> str:
        """Nothing outside is needed."""
        return "nobody outside is told of them"


def teller_of(tool: Tool, transport: str, surroundings: Surroundings, executor_of: Callable[[str], Executor]) -> Teller:
    """How the outside world hears of a tool's tasks. Raises ExecutionFailed (`setup_required`)."""
    match transport:
        case "rest-api":
            return RestTeller(tool, surroundings)
        case "message-queue" | "lambda" | "mcp":
            return TransportTeller(tool, executor_of(transport))
        case "database":
            return InboxTeller()  # every type goes with every transport (AML-22)
        case _:
            raise ExecutionFailed(
                "setup_required",
                f"nobody hears of a task through a {transport or 'missing'} transport; give {tool.tool_id!r} one of rest-api,"
                " message-queue, lambda or mcp",
            )


async def told_in_time(teller: Teller, notice: dict[str, Any], context: Context) -> dict[str, Any]:
    """Tell, and give up early enough for the call to be parked. Raises NotTold, ExecutionFailed."""
    left = _MOST_SECONDS
    if context.deadline is not None:
        left = min(left, (context.deadline - asyncio.get_running_loop().time()) * _SHARE)
    try:
        async with asyncio.timeout(max(0.0, left)):
            return await teller.tell(notice, context)
    except TimeoutError:
        raise NotTold("nobody answered in time") from None


def _segment(written: str, members: dict[str, Any]) -> str:
    """One segment of a path, one segment still. Raises NotTold."""
    made = _PLACE.sub(lambda found: quote(str(members.get(found[1], "")), safe=""), written)
    if made != written and made in ("", ".", ".."):
        raise NotTold("an argument that is part of the path is missing, or would lead to another path")
    return made


async def _unless_fatal(awaitable: Any) -> Any:
    try:
        return await awaitable
    except ExecutionFailed as failed:
        if failed.error_class in _FATAL and failed.code != "credential_refused":
            raise
        raise NotTold(failed.message) from None

"""Calls of tools over Ferrule's HTTP interface."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from .answers import (
    Progress,
    State,
    has_ended,
    object_of,
    plain_value,
    progress_of,
    told,
    typed_value,
)
from .errors import CallError, CallTimeoutError, TransportError
from .http import Request, exchange
from .json_text import written
from .shapes import Codec
from .sse import events

T = TypeVar("T")
_CANCEL_SECONDS = 5.0
_LOOK_SECONDS = 20
"""How long one request may wait for a call to end."""
_PAUSE_SECONDS = 0.2

OnProgress = Callable[[Progress], None]


class CallOptions(TypedDict, total=False):
    """What may be said about a call beside its input."""

    timeout_seconds: float | None
    """After that long it is canceled."""
    wait_seconds: float | None
    """How long to wait where a person has to allow it, or has to be asked. After that,
    and without it at once, there is a PendingError; the call goes on waiting."""
    idempotency_key: str | None
    """Calls with one key are one call, however often they are sent."""
    on_progress: OnProgress | None
    """Told how far it is, as often as the tool tells."""
    run_id: str | None
    """The run that the call belongs to."""


class Caller:
    """Calls tools of one server."""

    def __init__(self, base_url: str | None = None, token: str | None = None) -> None:
        """Without an address and a token, those of FERRULE_URL and FERRULE_TOKEN."""
        address = base_url or os.environ.get("FERRULE_URL", "")
        if not address:
            raise ValueError("there is no server: give base_url, or set FERRULE_URL")
        self._base_url = address.rstrip("/").removesuffix("/v1")
        self._token = token or os.environ.get("FERRULE_TOKEN", "")

    async def call(
        self,
        tool: str,
        arguments: Any,
        **options: Unpack[CallOptions],
    ) -> Any:
        """The JSON value of a tool's result; a text stays a text. Raises CallError.

        When the task is canceled, or the time is over, the call is canceled at the
        server too.
        """
        return plain_value(await self._state(tool, arguments, options))

    async def typed(
        self,
        tool: str,
        arguments: Any,
        output: Codec[T],
        **options: Unpack[CallOptions],
    ) -> T:
        """The same, read by the tool's output. Raises CallError."""
        return typed_value(await self._state(tool, arguments, options), output)

    async def result(self, invocation_id: str, *, wait_seconds: float = 0.0) -> Any:
        """The result of an earlier call. Raises PendingError if it has not ended after
        that time, and any other CallError that the call has ended with."""
        return plain_value(await self._looked(invocation_id, wait_seconds))

    async def typed_result(
        self, invocation_id: str, output: Codec[T], *, wait_seconds: float = 0.0
    ) -> T:
        """The same, read by the tool's output: `get_weather.OUTPUT`, of the module that
        has the tool's types."""
        return typed_value(await self._looked(invocation_id, wait_seconds), output)

    async def cancel(self, invocation_id: str, reason: str = "") -> bool:
        """Cancel a call; whether it took notice. Raises CallError."""
        body = written({"reason": reason} if reason else {})
        request = self._about(invocation_id, "POST", "/cancel", body)
        async with exchange(self._base_url, request) as answer:
            return bool((await told(answer)).get("is_acknowledged"))

    async def _state(self, tool: str, arguments: Any, options: CallOptions) -> State:
        """How a call stands when it has ended, or nobody waits for it any more."""
        timeout_seconds = options.get("timeout_seconds")
        headers = self._headers() | {
            "Accept": "text/event-stream, application/json;q=0.9"
        }
        if (key := options.get("idempotency_key")) is not None:
            headers["Idempotency-Key"] = key
        if (run_id := options.get("run_id")) is not None:
            headers["Ferrule-Run"] = run_id
        body = written({"tool": tool, "arguments": arguments})
        request = Request("POST", "/v1/calls", headers, body)
        begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        work = asyncio.ensure_future(self._followed(request, options, begun))
        try:
            async with asyncio.timeout(timeout_seconds):
                return await asyncio.shield(work)
        except TimeoutError:
            identity = await self._give_up(work, begun, "the caller's time is over")
            message = f"{tool} did not end within {timeout_seconds} seconds"
            raise CallTimeoutError(message, invocation_id=identity) from None
        except asyncio.CancelledError:
            await self._give_up(work, begun, "the caller gave up")
            raise

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _about(
        self,
        invocation_id: str,
        method: str,
        path: str = "",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Request:
        """A request about a call that is there already."""
        where = f"/v1/calls/{quote(invocation_id, safe='')}{path}"
        return Request(method, where, {**self._headers(), **(headers or {})}, body)

    async def _followed(
        self, request: Request, options: CallOptions, begun: asyncio.Future[str]
    ) -> State:
        """How a call ends. Where it waits for a person, it is waited for as long as
        the caller wants to."""
        loop = asyncio.get_running_loop()
        wait_seconds = options.get("wait_seconds") or 0.0
        until, identity, patience = 0.0, "", asyncio.timeout(None)
        try:
            async with (
                patience,
                aclosing(self._states(request, options, begun)) as states,
            ):
                async for state in states:
                    if has_ended(state) or not wait_seconds:
                        return state
                    if not identity:
                        until = loop.time() + wait_seconds
                        patience.reschedule(until)
                    identity = str(state.get("invocation_id", ""))
        except TimeoutError:
            if not patience.expired():
                raise
        if not identity:
            raise TransportError("the connection ended before the call did")
        return await self._looked(identity, until - loop.time())

    async def _states(
        self, request: Request, options: CallOptions, begun: asyncio.Future[str]
    ) -> AsyncGenerator[State, None]:
        """How a call stands, as often as it ends or begins to wait for a person."""
        on_progress = options.get("on_progress")
        async with exchange(self._base_url, request) as answer:
            if not answer.headers.get("content-type", "").startswith("text/event"):
                yield await told(answer)
                return
            async with aclosing(events(answer.pieces())) as stream:
                async for event in stream:
                    data = object_of(event.data)
                    match event.name:
                        case "call" if not begun.done():
                            begun.set_result(str(data.get("invocation_id", "")))
                        case "progress" if on_progress is not None:
                            on_progress(progress_of(data))
                        case "waiting" | "result":
                            yield data

    async def _looked(self, invocation_id: str, wait_seconds: float) -> State:
        """How a call stands that is there already, after some time if it has not
        ended."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_seconds
        while True:
            seconds = min(_LOOK_SECONDS, math.ceil(until - loop.time()))
            prefer = {"Prefer": f"wait={seconds}"} if seconds > 0 else {}
            request = self._about(invocation_id, "GET", headers=prefer)
            async with exchange(self._base_url, request) as answer:
                state = await told(answer)
            left = until - loop.time()
            if has_ended(state) or left <= 0:
                return state
            await asyncio.sleep(min(_PAUSE_SECONDS, left))

    async def _give_up(
        self,
        work: asyncio.Future[State],
        begun: asyncio.Future[str],
        reason: str,
    ) -> str:
        """Cancel a call at the server, which first has to say what it is called."""
        identity = ""
        with contextlib.suppress(CallError, TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                both: set[asyncio.Future[Any]] = {work, begun}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                if begun.done():
                    identity = begun.result()
                    await self.cancel(identity, reason)
        work.cancel()
        with contextlib.suppress(CallError, asyncio.CancelledError):
            await work
        return identity

"""Calls of tools over Ferrule's HTTP interface."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from .errors import (
    BY_CLASS,
    CallError,
    CallTimeoutError,
    PendingError,
    RequestRefusedError,
    TransportError,
)
from .http import Answer, Request, exchange
from .json_text import DecodeError, parsed, written
from .shapes import Codec
from .sse import events

T = TypeVar("T")
_CANCEL_SECONDS = 5.0


@dataclass(frozen=True)
class Progress:
    """How far a call is."""

    message: str
    percent: float | None
    current_step: str
    total_steps: int | None
    details: Mapping[str, Any]
    """All that the server told."""


OnProgress = Callable[[Progress], None]


class CallOptions(TypedDict, total=False):
    """What may be said about a call beside its input."""

    timeout_seconds: float | None
    """After that long it is canceled."""
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
        """The JSON value of a tool's result. Raises CallError.

        When the task is canceled, or the time is over, the call is canceled at the
        server too.
        """
        timeout_seconds = options.get("timeout_seconds")
        headers = self._headers(options.get("idempotency_key"), options.get("run_id"))
        body = written({"tool": tool, "arguments": arguments})
        request = Request("POST", "/v1/calls", headers, body)
        begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        work = asyncio.ensure_future(
            self._state(request, options.get("on_progress"), begun)
        )
        try:
            async with asyncio.timeout(timeout_seconds):
                return _value(await asyncio.shield(work))
        except TimeoutError:
            identity = await self._give_up(work, begun, "the caller's time is over")
            told = f"{tool} did not end within {timeout_seconds} seconds"
            raise CallTimeoutError(told, invocation_id=identity) from None
        except asyncio.CancelledError:
            await self._give_up(work, begun, "the caller gave up")
            raise

    async def typed(
        self,
        tool: str,
        arguments: Any,
        output: Codec[T],
        **options: Unpack[CallOptions],
    ) -> T:
        """The same, read by the tool's output. Raises CallError."""
        return _read(await self.call(tool, arguments, **options), output)

    async def result(self, invocation_id: str) -> Any:
        """The result of an earlier call. Raises PendingError while it has not ended."""
        path = f"/v1/calls/{quote(invocation_id, safe='')}"
        headers = self._headers(None, None) | {"Accept": "application/json"}
        async with exchange(self._base_url, Request("GET", path, headers)) as answer:
            return _value(await _told(answer))

    async def cancel(self, invocation_id: str, reason: str = "") -> bool:
        """Cancel a call; whether it took notice. Raises CallError."""
        path = f"/v1/calls/{quote(invocation_id, safe='')}/cancel"
        body = written({"reason": reason} if reason else {})
        headers = self._headers(None, None) | {"Accept": "application/json"}
        request = Request("POST", path, headers, body)
        async with exchange(self._base_url, request) as answer:
            return bool((await _told(answer)).get("is_acknowledged"))

    def _headers(self, key: str | None, run_id: str | None) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json;q=0.9",
        }
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if key is not None:
            headers["Idempotency-Key"] = key
        if run_id is not None:
            headers["Ferrule-Run"] = run_id
        return headers

    async def _state(
        self,
        request: Request,
        on_progress: OnProgress | None,
        begun: asyncio.Future[str],
    ) -> dict[str, Any]:
        """How a call stands when it ends, or begins to wait for a person."""
        async with exchange(self._base_url, request) as answer:
            if not answer.headers.get("content-type", "").startswith("text/event"):
                return await _told(answer)
            async for event in events(answer.pieces()):
                data = _object(event.data)
                match event.name:
                    case "call" if not begun.done():
                        begun.set_result(str(data.get("invocation_id", "")))
                    case "progress" if on_progress is not None:
                        on_progress(_progress(data))
                    case "waiting" | "result":
                        return data
        raise TransportError("the connection ended before the call did")

    async def _give_up(
        self,
        work: asyncio.Future[dict[str, Any]],
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


async def _told(answer: Answer) -> dict[str, Any]:
    """What the server says. Raises CallError for a request that it refused."""
    said = _object(await answer.read())
    if answer.status >= 400 and "result" not in said:
        message = str(said.get("detail") or said.get("title") or answer.status)
        after = answer.headers.get("retry-after", "")
        details = {**said, "retry_after": float(after)} if after.isdigit() else said
        code, status = str(said.get("code", "")), answer.status
        raise RequestRefusedError(message, code=code, status=status, details=details)
    return {**said, "http_status": answer.status}


def _value(state: dict[str, Any]) -> Any:
    """The value of a call that ended well. Raises CallError for any other."""
    identity = str(state.get("invocation_id", ""))
    result = state.get("result")
    if not isinstance(result, dict):
        message = str(state.get("message") or "the call has not ended")
        where = str(state.get("state", ""))
        raise PendingError(message, state=where, invocation_id=identity, details=state)
    if result.get("is_error"):
        raise _error(result, identity, state)
    if "structured_content" in result:
        return result["structured_content"]
    content = result.get("content")
    return content if isinstance(content, list) else []


def _error(result: dict[str, Any], identity: str, state: dict[str, Any]) -> CallError:
    said = result.get("error")
    error: dict[str, Any] = said if isinstance(said, dict) else {}
    kind = BY_CLASS.get(str(error.get("error_class", "")), CallError)
    status = state.get("http_status", 200)
    return kind(
        str(error.get("message") or "the call failed"),
        code=str(error.get("error_code", "")),
        invocation_id=identity or str(result.get("invocation_id", "")),
        status=status if isinstance(status, int) else 0,
        details=error,
    )


def _read(value: Any, output: Codec[T]) -> T:
    try:
        return output.checked(value)
    except DecodeError as error:
        told = f"the result does not fit what the tool says it gives: {error}"
        raise TransportError(told, details={"result": value}) from error


def _object(data: bytes | str) -> dict[str, Any]:
    try:
        value = parsed(data)
    except DecodeError as error:
        raise TransportError(f"the server did not answer in JSON: {error}") from error
    if not isinstance(value, dict):
        raise TransportError("the server did not answer with an object")
    return value


def _progress(data: dict[str, Any]) -> Progress:
    percent, steps = data.get("percent"), data.get("total_steps")
    return Progress(
        message=str(data.get("message") or ""),
        percent=float(percent) if isinstance(percent, int | float) else None,
        current_step=str(data.get("current_step") or ""),
        total_steps=steps if isinstance(steps, int) else None,
        details=data,
    )

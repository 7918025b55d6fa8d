"""Calls tools for generated clients, over HTTP or on a surface of this process, and reads their results as the clients' types.

`HttpCaller` talks to a running Ferrule, `SurfaceCaller` to an app that is open here. What a call ends with instead of a result
is an error of `call_errors.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypedDict, Unpack
from urllib.parse import quote

import msgspec

from ferrule.adapters.call_errors import (
    BY_CLASS,
    CallError,
    CallTimeoutError,
    PendingError,
    RequestRefusedError,
    TransportError,
)
from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.infra.network.client import BadRequest, BrokenAnswer, Client, Response, TooLong, Unreachable
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.urls import BadUrl, is_loopback, parse_url
from ferrule.model.result import Pending, Result
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject, JsonValue
from ferrule.runtime.functions.records import make_type_reader, to_plain
from ferrule.runtime.pipeline.call import RunOptions as PipelineOptions

CallState = JsonObject
"""How a call stands, as the HTTP API tells it."""
_CANCEL_SECONDS = 5.0
_LOOK_SECONDS = 20
"""How long one request may wait for a call to end."""
_PAUSE_SECONDS = 0.2
_MOST_BYTES = 64 * 1024**2
_COME_BACK = (429, 503)


@dataclass(frozen=True)
class CallProgress:
    """How far a call is."""

    message: str
    percent: float | None
    current_step: str
    total_steps: int | None
    details: Mapping[str, Any]
    """All that was told."""


class CallOptions(TypedDict, total=False):
    """Options of a call, beside its input."""

    timeout_seconds: float | None
    """After that long it is canceled."""
    wait_seconds: float | None
    """How long to wait where a person has to allow it, or has to be asked. After that, and without it at once, there is a
    PendingError; the call goes on waiting."""
    idempotency_key: str | None
    """Calls with one key are one call, however often they are sent."""
    on_progress: Callable[[CallProgress], None] | None
    """Told how far it is, as often as the tool tells."""


class Caller(ABC):
    """Calls tools. Generated functions take one."""

    async def call(self, tool: str, arguments: object, gives: Any = Any, **options: Unpack[CallOptions]) -> Any:
        """Returns the result of a tool as the type `gives`, which may be any that stubs have. Raises CallError.

        When the task is canceled, or the time is over, the call is canceled too.
        """
        return read_value(await self._start_call(tool, to_plain(arguments), options), gives)

    async def result(self, invocation_id: str, gives: Any = Any, *, wait_seconds: float = 0.0) -> Any:
        """Returns the result of an earlier call. Raises PendingError if it has not ended after that time, and any other
        CallError that the call has ended with."""
        return read_value(await self._fetch_state(invocation_id, wait_seconds), gives)

    @abstractmethod
    async def _start_call(self, tool: str, arguments: object, options: CallOptions) -> CallState:
        """Returns how a new call stands when it has ended, or nobody waits for it any more."""

    @abstractmethod
    async def _fetch_state(self, invocation_id: str, wait_seconds: float) -> CallState:
        """Returns how a call stands that is there already, after some time if it has not ended."""


class SurfaceCaller(Caller):
    """Calls tools on a surface of an app that is open in this process."""

    def __init__(self, app: App, surface: SurfaceHandle) -> None:
        self._app = app
        self._surface = surface

    async def _start_call(self, tool: str, arguments: object, options: CallOptions) -> CallState:
        hear = options.get("on_progress")
        said = PipelineOptions(
            idempotency_key=options.get("idempotency_key"), timeout_seconds=options.get("timeout_seconds")
        )
        outcome = self._surface.start(
            tool,
            msgspec.json.encode(arguments),
            said,
            wait=options.get("wait_seconds"),
            listener=None if hear is None else lambda told: hear(_read_progress(told.to_record())),
        )
        return _describe_outcome(outcome if isinstance(outcome, Result) else await outcome)

    async def _fetch_state(self, invocation_id: str, wait_seconds: float) -> CallState:
        outcome = await self._app.result(invocation_id, wait=wait_seconds or None)
        if outcome is None:
            raise RequestRefusedError(f"there is no call {invocation_id!r}")
        return _describe_outcome(outcome)


def _describe_outcome(outcome: Result | Pending) -> CallState:
    if isinstance(outcome, Result):
        return {"invocation_id": outcome.invocation_id, "result": outcome.to_record()}
    ends = iso(outcome.expires_at) if outcome.expires_at is not None else ""
    said = {"invocation_id": outcome.invocation_id, "state": outcome.state, "message": outcome.message}
    return {**said, "expires_at": ends}


class HttpCaller(Caller):
    """Calls tools of a running Ferrule: `async with HttpCaller(url, token) as caller`."""

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        run_id: str = "",
        allows_plain_http: bool = False,
    ) -> None:
        """Without an address and a token, those of FERRULE_URL and FERRULE_TOKEN. `run_id`: the run that its calls belong to.
        `allows_plain_http`: the token may go to another machine unencrypted. Raises ValueError."""
        address = base_url or os.environ.get("FERRULE_URL", "")
        if not address:
            raise ValueError("there is no server: give base_url, or set FERRULE_URL")
        try:
            self._target = parse_url(address.rstrip("/").removesuffix("/v1"))
        except BadUrl as error:
            raise ValueError(f"{address!r} is no address of a server: {error}") from None
        self._client = Client(Guard([self._target.host]))
        token = token or os.environ.get("FERRULE_TOKEN", "")
        if token and not allows_plain_http and self._target.scheme == "http" and not is_loopback(self._target.host):
            raise ValueError(
                f"the token would go to {self._target.host} unencrypted; use https, or say allows_plain_http=True"
            )
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._headers |= {"Authorization": f"Bearer {token}"} if token else {}
        self._run = {"Ferrule-Run": run_id} if run_id else {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def cancel(self, invocation_id: str, reason: str = "") -> bool:
        """Cancels a call; whether it took notice. Raises CallError."""
        body = msgspec.json.encode({"reason": reason} if reason else {})
        async with self._exchange("POST", _call_path(invocation_id, "/cancel"), {}, body) as answer:
            return bool((await _read_state(answer)).get("is_acknowledged"))

    async def _start_call(self, tool: str, arguments: object, options: CallOptions) -> CallState:
        timeout_seconds = options.get("timeout_seconds")
        body = msgspec.json.encode({"tool": tool, "arguments": arguments})
        begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        work = asyncio.ensure_future(self._follow_call(body, options, begun))
        try:
            async with asyncio.timeout(timeout_seconds):
                # Shielded: a canceled caller still has to learn the call's id, to cancel it at the server.
                return await asyncio.shield(work)
        except TimeoutError:
            identity = await self._give_up(work, begun, "the caller's time is over")
            message = f"{tool} did not end within {timeout_seconds} seconds"
            raise CallTimeoutError(message, invocation_id=identity) from None
        except asyncio.CancelledError:
            await self._give_up(work, begun, "the caller gave up")
            raise

    async def _follow_call(self, body: bytes, options: CallOptions, begun: asyncio.Future[str]) -> CallState:
        """Returns how a call ends. Where it waits for a person, it is waited for as long as the caller wants to."""
        loop = asyncio.get_running_loop()
        wait_seconds = options.get("wait_seconds") or 0.0
        until, identity, patience = 0.0, "", asyncio.timeout(None)
        try:
            async with patience, aclosing(self._stream_states(body, options, begun)) as states:
                async for state in states:
                    if _has_ended(state) or not wait_seconds:
                        return state
                    if not identity:
                        # From the first wait on: the time a tool takes to run is not part of the wait for a person.
                        until = loop.time() + wait_seconds
                        patience.reschedule(until)
                    identity = str(state.get("invocation_id", ""))
        except TimeoutError:
            if not patience.expired():
                raise
        if not identity:
            raise TransportError("the connection ended before the call did")
        return await self._fetch_state(identity, until - loop.time())

    async def _stream_states(
        self, body: bytes, options: CallOptions, begun: asyncio.Future[str]
    ) -> AsyncGenerator[CallState, None]:
        """Returns how a call stands, as often as it ends or begins to wait for a person."""
        hear, key = options.get("on_progress"), options.get("idempotency_key")
        headers = {**self._run, "Accept": "text/event-stream, application/json;q=0.9", "Accept-Encoding": "identity"}
        headers |= {"Idempotency-Key": key} if key is not None else {}
        async with self._exchange("POST", "/v1/calls", headers, body) as answer:
            if not answer.headers.get("content-type", "").startswith("text/event"):
                yield await _read_state(answer)
                return
            async with aclosing(_read_events(answer)) as stream:
                async for event in stream:
                    data = _decode_object(event.data)
                    match event.name:
                        case "call" if not begun.done():
                            begun.set_result(str(data.get("invocation_id", "")))
                        case "progress" if hear is not None:
                            hear(_read_progress(data))
                        case "waiting" | "result":
                            yield data

    async def _fetch_state(self, invocation_id: str, wait_seconds: float) -> CallState:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_seconds
        while True:
            # A long poll: the server answers early when the call ends.
            seconds = min(_LOOK_SECONDS, math.ceil(until - loop.time()))
            prefer = {"Prefer": f"wait={seconds}"} if seconds > 0 else {}
            async with self._exchange("GET", _call_path(invocation_id), prefer) as answer:
                state = await _read_state(answer)
            left = until - loop.time()
            if _has_ended(state) or left <= 0:
                return state
            await asyncio.sleep(min(_PAUSE_SECONDS, left))

    async def _give_up(self, work: asyncio.Future[CallState], begun: asyncio.Future[str], reason: str) -> str:
        """Cancels a call at the server, which first has to say what it is called."""
        identity = ""
        with contextlib.suppress(CallError, TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                # The id may not have arrived yet, and a call that ends first needs no cancel.
                both: set[asyncio.Future[Any]] = {work, begun}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                if begun.done():
                    identity = begun.result()
                    await self.cancel(identity, reason)
        work.cancel()
        with contextlib.suppress(CallError, asyncio.CancelledError):
            await work
        return identity

    @asynccontextmanager
    async def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[Response]:
        """Yields one request and the head of its answer. Raises TransportError."""
        target = self._target._replace(path=self._target.path.rstrip("/") + path)
        try:
            # A POST is sent once: when its connection breaks, nobody knows whether the call was made.
            async with await self._client.send(
                method, target, list({**self._headers, **headers}.items()), body, is_single=method != "GET"
            ) as answer:
                yield answer
        except BadRequest as error:
            raise ValueError(str(error)) from error
        except (Unreachable, BrokenAnswer, TooLong) as error:
            raise TransportError(f"the server at {self._target.host} cannot be reached: {error}") from error


def _call_path(invocation_id: str, path: str = "") -> str:
    return f"/v1/calls/{quote(invocation_id, safe='')}{path}"


class _Event(NamedTuple):
    name: str
    data: str


async def _read_events(answer: Response) -> AsyncGenerator[_Event, None]:
    """Yields the events of a stream, as they arrive."""
    name, data, rest = "message", list[str](), b""
    async for piece in answer.pieces():
        *lines, rest = (rest + piece).split(b"\n")
        for raw in lines:
            line = raw.removesuffix(b"\r").decode(errors="replace")
            if not line:
                if data:
                    yield _Event(name, "\n".join(data))
                name, data = "message", []
                continue
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            name, data = (value, data) if field == "event" else (name, [*data, value] if field == "data" else data)


async def _read_state(answer: Response) -> CallState:
    """Reads the server's response. Raises CallError for a request that it refused."""
    said = _decode_object(await answer.read(_MOST_BYTES))
    # The problem of a refused call carries its whole result, which says more than the problem.
    if answer.status >= 400 and "result" not in said:
        raise _make_refusal(answer, said)
    return {**said, "http_status": answer.status}


def _make_refusal(answer: Response, said: CallState) -> CallError:
    message = str(said.get("detail") or said.get("title") or answer.status)
    after = answer.headers.get("retry-after", "")
    details = {
        **said,
        **({"retry_after": float(after)} if after.isdigit() else {}),
        "retry": {"retry_safe": answer.status in _COME_BACK},
        "recoverability": "retry_later" if answer.status in _COME_BACK else "",
    }
    return RequestRefusedError(message, code=str(said.get("code", "")), status=answer.status, details=details)


def _decode_object(data: bytes | str) -> CallState:
    """Returns an object of JSON. Raises TransportError."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TransportError(f"the server did not answer in JSON: {error}") from error
    if not isinstance(value, dict):
        raise TransportError("the server did not answer with an object")
    return value


def _read_progress(data: CallState) -> CallProgress:
    """Reads the progress of a call from an event."""
    percent, steps = data.get("percent"), data.get("total_steps")
    return CallProgress(
        message=str(data.get("message") or ""),
        percent=float(percent) if isinstance(percent, int | float) else None,
        current_step=str(data.get("current_step") or ""),
        total_steps=steps if isinstance(steps, int) else None,
        details=data,
    )


def _has_ended(state: CallState) -> bool:
    """Tells whether there is a result, good or bad."""
    return isinstance(state.get("result"), dict)


def read_value(state: CallState, gives: Any) -> Any:
    """Returns the value of a call, read as a type. Raises CallError for a call that did not end well."""
    identity = str(state.get("invocation_id", ""))
    result = state.get("result")
    if not isinstance(result, dict):
        message = str(state.get("message") or "the call has not ended")
        raise PendingError(message, state=str(state.get("state", "")), invocation_id=identity, details=state)
    if result.get("is_error"):
        raise _make_error(result, identity, state)
    value = _read_content(result, gives)
    try:
        return make_type_reader(gives)(value)
    except msgspec.ValidationError as error:
        told = f"the result does not fit what the tool says it gives: {error}"
        raise TransportError(told, details={"result": value}) from error


def _read_content(result: CallState, gives: Any) -> JsonValue:
    """Returns a value that was neither text nor null is there as such. A text stays a text, unless only what it says as
    JSON fits."""
    if result.get("structured_content") is not None:
        value: JsonValue = result["structured_content"]
        return value
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    known: list[CallState] = [block for block in blocks if isinstance(block, dict)]
    if len(known) == 1 and known[0].get("empty") is True:
        return None
    texts = [block["text"] for block in known if isinstance(block.get("text"), str)]
    if blocks and not texts:
        return blocks
    text = "\n".join(texts)
    if _fits(text, gives):
        return text
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value if _fits(value, gives) else text


def _fits(value: object, gives: Any) -> bool:
    try:
        make_type_reader(gives)(value)
    except msgspec.ValidationError:
        return False
    return True


def _make_error(result: CallState, identity: str, state: CallState) -> CallError:
    said = result.get("error")
    error: CallState = said if isinstance(said, dict) else {}
    kind = BY_CLASS.get(str(error.get("error_class", "")), CallError)
    status = state.get("http_status", 200)
    return kind(
        str(error.get("message") or "the call failed"),
        code=str(error.get("error_code", "")),
        invocation_id=identity or str(result.get("invocation_id", "")),
        status=status if isinstance(status, int) else 0,
        details=error,
    )

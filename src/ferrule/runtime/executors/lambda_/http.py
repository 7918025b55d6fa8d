"""Calls functions over HTTP, at Google Cloud and Azure: looks one up, authenticates, posts once, and reads the status.

Neither cloud has asynchronous invocations. An event is a request whose answer is awaited only briefly: an immediate refusal
is reported, otherwise the request continues in the background. `gcp.py` and `azure.py` look functions up and authenticate.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from ferrule.contracts.executor import Context, ExecutionFailed, Output
from ferrule.infra.clouds.api_request import reach, status_failure, translate_failure
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.clouds.expiring_cache import ExpiringCache, Fresh
from ferrule.infra.network.client import Client, Fetched
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import Unreachable
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.failure import excerpt
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import ErrorCode
from ferrule.runtime.executors.identity import CloudClient, CloudIdentity
from ferrule.runtime.executors.lambda_.function import FunctionAnswer, FunctionPayload, LambdaSettings

MOMENT_SECONDS = 1.0
"""How long an event waits for an immediate refusal."""
LONGEST_SECONDS = 3_600.0
MAX_REQUEST = 32 * 1024**2
_MOST_EVENTS = 1_000
_CLOSING_SECONDS = 5.0
_EXCERPT = 2_000
_IDS = ("function-execution-id", "x-cloud-trace-context", "x-ms-request-id", "x-ms-invocation-id", "traceparent")
_log = logging.getLogger("ferrule.lambda")


class HttpFunctions:
    """Sender of requests to functions; one per executor."""

    def __init__(self, client: Client, *, max_answer: int) -> None:
        self._client = client
        self._max_answer = max_answer
        self._events: set[asyncio.Task[Fetched]] = set()

    async def post(
        self,
        what: str,
        source: str,
        url: str,
        headers: Mapping[str, str],
        payload: FunctionPayload,
        context: Context,
        *,
        is_event: bool,
        codes: Mapping[str, ErrorCode],
    ) -> FunctionAnswer:
        """Posts a payload and returns the function's answer; for an event only that it was sent. Raises ExecutionFailed."""
        if len(payload.content) > MAX_REQUEST:
            raise ExecutionFailed(
                "invalid_arguments",
                f"{what} takes {MAX_REQUEST:,} bytes, and this input has {len(payload.content):,}; send less",
                code="payload_too_large",
            )
        request_headers = {
            "Content-Type": payload.media_type,
            "Ferrule-Invocation-Id": context.invocation_id,
            **headers,
        }
        if context.idempotency_key:
            request_headers["Idempotency-Key"] = context.idempotency_key
        going = reach(
            self._client,
            what,
            "POST",
            url,
            list(request_headers.items()),
            payload.content,
            timeout_seconds=LONGEST_SECONDS,
            listed_only=context.is_confined,
            max_bytes=self._max_answer,
        )
        answer = await self._send_event(going) if is_event else await going
        if answer is None:
            return FunctionAnswer(b"", "", {"source": source, "status": "sent"})
        ref = _ref(source, answer)
        if answer.status >= 300:
            context.add_native_ref(**ref)
            raise _status_failure(what, answer, codes)
        return FunctionAnswer(answer.body, answer.headers.get("content-type", ""), ref)

    async def knock(self, url: str, what: str, context: Context) -> str:
        """Connects to a function's host without sending anything; returns the host. Raises ExecutionFailed."""
        target = function_target(url, what)
        try:
            await self._client.knock(target, listed_only=context.is_confined)
        except (Forbidden, Unreachable) as error:
            raise translate_failure(what, error) from None
        return target.host

    async def aclose(self) -> None:
        """Waits briefly for events that are being sent, then drops them."""
        if self._events:
            await asyncio.wait(self._events, timeout=_CLOSING_SECONDS)
        for task in self._events:
            task.cancel()
        await asyncio.gather(*self._events, return_exceptions=True)

    async def _send_event(self, going: Any) -> Fetched | None:
        if len(self._events) >= _MOST_EVENTS:
            # A coroutine that nobody awaits would be reported.
            going.close()
            raise ExecutionFailed("rate_limited", f"{_MOST_EVENTS:,} events are on their way already", retry_after=1.0)
        task: asyncio.Task[Fetched] = asyncio.ensure_future(going)
        self._events.add(task)
        task.add_done_callback(self._on_event_done)
        try:
            done, _ = await asyncio.wait({task}, timeout=MOMENT_SECONDS)
        except asyncio.CancelledError:
            task.cancel()
            raise
        return task.result() if done else None

    def _on_event_done(self, task: asyncio.Task[Fetched]) -> None:
        self._events.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("an event that was sent did not get through: %s", error)


def function_target(url: str, what: str) -> Target:
    """Parses a function's address. Raises ExecutionFailed (`setup_required`)."""
    try:
        return parse_url(url)
    except BadUrl as error:
        raise ExecutionFailed("setup_required", f"{what} has no usable address: {error}") from None


def _status_failure(what: str, answer: Fetched, codes: Mapping[str, ErrorCode]) -> ExecutionFailed:
    """Builds the failure of a status. Only the status tells a function's failure from its cloud's: 500 is a crashed function."""
    explanation = f": {codes[str(answer.status)]}" if str(answer.status) in codes else ""
    return status_failure(
        f"{what} answered with status {answer.status}{explanation}",
        answer,
        meaning=("execution_failed", "function_error") if answer.status in (500, 501) else None,
        output=Output({"status": answer.status, "body": _words(answer.body)}),
    )


def _ref(source: str, answer: Fetched) -> JsonObject:
    ids = {name.replace("-", "_"): excerpt(answer.headers[name], 200) for name in _IDS if name in answer.headers}
    return {"source": source, "status": answer.status, **ids}


def _words(body: bytes) -> str:
    return excerpt(body[: 4 * _EXCERPT].decode("utf-8", "replace"), _EXCERPT)


T = TypeVar("T")
_KEEP_SECONDS = 300.0


class FunctionAccess(NamedTuple):
    """The address of a function, and the headers that authenticate there."""

    url: str
    headers: Mapping[str, str]


class HttpFunction(ABC, Generic[T]):
    """One function called over HTTP. `T` is the result of looking it up."""

    source: str
    """The source of its native ids."""

    def __init__(
        self,
        cloud: CloudClient,
        clouds: Clouds,
        http: HttpFunctions,
        identity: CloudIdentity,
        settings: LambdaSettings,
        tool_id: str,
        codes: Mapping[str, ErrorCode],
    ) -> None:
        self._cloud = cloud
        self._clouds = clouds
        self._http = http
        self._identity = identity
        self._settings = settings
        self._codes = codes
        self._what = f"the function of {tool_id!r}"
        self._cache: ExpiringCache[T] = ExpiringCache()

    async def invoke(self, payload: FunctionPayload, context: Context) -> FunctionAnswer:
        """Posts the payload with authentication. Raises ExecutionFailed."""
        try:
            url, headers = await self._resolve_access(context)
            return await self._http.post(
                self._what, self.source, url, headers, payload, context,
                is_event=self._settings.is_event, codes=self._codes,
            )  # fmt: skip
        except ExecutionFailed as failed:
            raise self._forget_if_stale(failed, context) from None

    async def probe(self, context: Context) -> str:
        """Looks it up, gets its credentials, and connects without sending anything. Raises ExecutionFailed."""
        try:
            access = await self._resolve_access(context)
            host = await self._http.knock(access.url, self._what, context)
        except ExecutionFailed as failed:
            raise self._forget_if_stale(failed, context) from None
        return self._describe(host, access)

    @abstractmethod
    async def _resolve_access(self, context: Context) -> FunctionAccess:
        """Returns its address and authentication. Raises ExecutionFailed."""

    @abstractmethod
    def _describe(self, host: str, access: FunctionAccess) -> str:
        """Returns the sentence that a probe reports."""

    @abstractmethod
    async def _look_up(self, account: JsonObject | None) -> T:
        """Asks the cloud for its address. Raises ExecutionFailed."""

    async def _place(self, account: JsonObject | None) -> T:
        """Returns its address from the cloud, cached for a while. Raises ExecutionFailed."""

        async def look() -> Fresh[T]:
            return Fresh(await self._look_up(account), _KEEP_SECONDS)

        return await self._cache.get("place", look)

    def _forget_if_stale(self, failed: ExecutionFailed, context: Context) -> ExecutionFailed:
        """Forgets the cached address when the function may have moved, and refused credentials; returns the failure."""
        if failed.code == "credential_refused" or failed.native_error_ref == "http:404":
            self._cache.forget(lambda key: True)
        return self._identity.forget_if_refused(failed, context, self._cloud)

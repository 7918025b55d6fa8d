"""Functions that listen for HTTP, at Google Cloud and Azure: finds one, shows who we are, posts once, and reads the status.

Neither cloud has an invocation that nobody waits for. An event is a request whose answer is not waited for longer than
a moment: a refusal at once is told, and the rest goes on in the background. `gcp.py` and `azure.py` know how a function
is found and what it is shown.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from ferrule.contracts.executor import Context, ExecutionFailed, Output
from ferrule.infra.clouds.api_request import failure_of, reach, status_failure
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.clouds.expiring_cache import Fresh, Kept
from ferrule.infra.network.client import Client, Fetched
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import Unreachable
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.failure import excerpt
from ferrule.runtime.executors.definition import ErrorCode
from ferrule.runtime.executors.identity import Cloud, Identity
from ferrule.runtime.executors.lambda_.function import Answer, LambdaSettings, Payload

MOMENT_SECONDS = 1.0
"""How long an event waits for a refusal."""
LONGEST_SECONDS = 3_600.0
MAX_REQUEST = 32 * 1024**2
_MOST_EVENTS = 1_000
_CLOSING_SECONDS = 5.0
_EXCERPT = 2_000
_IDS = ("function-execution-id", "x-cloud-trace-context", "x-ms-request-id", "x-ms-invocation-id", "traceparent")
_log = logging.getLogger("ferrule.lambda")


class HttpFunctions:
    """Posts to functions; one for an executor."""

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
        payload: Payload,
        context: Context,
        *,
        is_event: bool,
        codes: Mapping[str, ErrorCode],
    ) -> Answer:
        """The function's answer; of an event, only that it was sent. Raises ExecutionFailed."""
        if len(payload.content) > MAX_REQUEST:
            raise ExecutionFailed(
                "invalid_arguments",
                f"{what} takes {MAX_REQUEST:,} bytes, and this input has {len(payload.content):,}; send less",
                code="payload_too_large",
            )
        asked = {"Content-Type": payload.media_type, "Ferrule-Invocation-Id": context.invocation_id, **headers}
        if context.idempotency_key:
            asked["Idempotency-Key"] = context.idempotency_key
        going = reach(
            self._client,
            what,
            "POST",
            url,
            list(asked.items()),
            payload.content,
            timeout_seconds=LONGEST_SECONDS,
            listed_only=context.is_confined,
            max_bytes=self._max_answer,
        )
        answer = await self._sent(going) if is_event else await going
        if answer is None:
            return Answer(b"", "", {"source": source, "status": "sent"})
        ref = _ref(source, answer)
        if answer.status >= 300:
            context.add_native_ref(**ref)
            raise _failed(what, answer, codes)
        return Answer(answer.body, answer.headers.get("content-type", ""), ref)

    async def knock(self, url: str, what: str, context: Context) -> str:
        """Connect to where a function listens, and send nothing. Gives the host. Raises ExecutionFailed."""
        target = function_target(url, what)
        try:
            await self._client.knock(target, listed_only=context.is_confined)
        except (Forbidden, Unreachable) as error:
            raise failure_of(what, error) from None
        return target.host

    async def aclose(self) -> None:
        """Give events that were just sent a moment, then drop them."""
        if self._events:
            await asyncio.wait(self._events, timeout=_CLOSING_SECONDS)
        for task in self._events:
            task.cancel()
        await asyncio.gather(*self._events, return_exceptions=True)

    async def _sent(self, going: Any) -> Fetched | None:
        if len(self._events) >= _MOST_EVENTS:
            going.close()
            raise ExecutionFailed("rate_limited", f"{_MOST_EVENTS:,} events are on their way already", retry_after=1.0)
        task: asyncio.Task[Fetched] = asyncio.ensure_future(going)
        self._events.add(task)
        task.add_done_callback(self._ended)
        try:
            done, _ = await asyncio.wait({task}, timeout=MOMENT_SECONDS)
        except asyncio.CancelledError:
            task.cancel()
            raise
        return task.result() if done else None

    def _ended(self, task: asyncio.Task[Fetched]) -> None:
        self._events.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("an event that was sent did not get through: %s", error)


def function_target(url: str, what: str) -> Target:
    """A function's address, read. Raises ExecutionFailed (`setup_required`)."""
    try:
        return parse_url(url)
    except BadUrl as error:
        raise ExecutionFailed("setup_required", f"{what} has no usable address: {error}") from None


def _failed(what: str, answer: Fetched, codes: Mapping[str, ErrorCode]) -> ExecutionFailed:
    """A status is all that tells a function's own failure from its cloud's: 500 is a function that crashed."""
    said = f": {codes[str(answer.status)]}" if str(answer.status) in codes else ""
    return status_failure(
        f"{what} answered with status {answer.status}{said}",
        answer,
        meaning=("execution_failed", "function_error") if answer.status in (500, 501) else None,
        output=Output({"status": answer.status, "body": _words(answer.body)}),
    )


def _ref(source: str, answer: Fetched) -> dict[str, Any]:
    ids = {name.replace("-", "_"): excerpt(answer.headers[name], 200) for name in _IDS if name in answer.headers}
    return {"source": source, "status": answer.status, **ids}


def _words(body: bytes) -> str:
    return excerpt(body[: 4 * _EXCERPT].decode("utf-8", "replace"), _EXCERPT)


T = TypeVar("T")
_KEEP_SECONDS = 300.0


class Reached(NamedTuple):
    """Where a function is, and what is shown there."""

    url: str
    headers: Mapping[str, str]


class HttpFunction(ABC, Generic[T]):
    """One function that listens for HTTP. `T` is what looking it up gives."""

    source: str
    """What its native ids are from."""

    def __init__(
        self,
        cloud: Cloud,
        clouds: Clouds,
        http: HttpFunctions,
        identity: Identity,
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
        self._kept: Kept[T] = Kept()

    async def invoke(self, payload: Payload, context: Context) -> Answer:
        """POST, with what proves who we are."""
        try:
            url, headers = await self._reached(context)
            return await self._http.post(
                self._what, self.source, url, headers, payload, context,
                is_event=self._settings.is_event, codes=self._codes,
            )  # fmt: skip
        except ExecutionFailed as failed:
            raise self._told(failed, context) from None

    async def probe(self, context: Context) -> str:
        """Look it up, get what is shown to it, and connect. Nothing is sent."""
        try:
            reached = await self._reached(context)
            host = await self._http.knock(reached.url, self._what, context)
        except ExecutionFailed as failed:
            raise self._told(failed, context) from None
        return self._found(host, reached)

    @abstractmethod
    async def _reached(self, context: Context) -> Reached:
        """Where it is, and what is shown there. Raises ExecutionFailed."""

    @abstractmethod
    def _found(self, host: str, reached: Reached) -> str:
        """What a probe tells."""

    @abstractmethod
    async def _looked_up(self, account: dict[str, Any] | None) -> T:
        """Where the cloud says it is. Raises ExecutionFailed."""

    async def _place(self, account: dict[str, Any] | None) -> T:
        """The same, kept for a while."""

        async def look() -> Fresh[T]:
            return Fresh(await self._looked_up(account), _KEEP_SECONDS)

        return await self._kept.get("place", look)

    def _told(self, failed: ExecutionFailed, context: Context) -> ExecutionFailed:
        """A function that was not found may have moved; one that refused may have another key."""
        if failed.code == "credential_refused" or failed.native_error_ref == "http:404":
            self._kept.forget(lambda key: True)
        return self._identity.told(failed, context, self._cloud)

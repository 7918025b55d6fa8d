"""Functions that listen for HTTP, at Google Cloud and Azure: one POST, and what its status means.

Neither cloud has an invocation that nobody waits for. An event is a request whose answer is not waited for longer than a moment:
what refuses it at once is told, and the rest goes on in the background.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from ferrule.contracts.executor import Context, ExecutionFailed, Output
from ferrule.infra.clouds.reached import failure_of, reach, status_failure
from ferrule.infra.network.client import Client, Fetched
from ferrule.infra.network.failures import Unreachable
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.excerpt import excerpt
from ferrule.runtime.executors.definition import ErrorCode
from ferrule.runtime.executors.lambda_.function import Answer
from ferrule.runtime.executors.lambda_.payloads import Payload

MOMENT_SECONDS = 1.0
"""How long an event waits for a refusal."""
LONGEST_SECONDS = 3_600.0
MAX_REQUEST = 32 * 1024**2
_MOST_EVENTS = 1_000
_CLOSING_SECONDS = 5.0
_KNOCK_SECONDS = 10.0
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
        target, guard = function_target(url, what), self._client.guard
        try:
            if context.is_confined:
                guard.demand_listed(target)
            addresses = await asyncio.to_thread(guard.addresses, target)
            async with asyncio.timeout(_KNOCK_SECONDS):
                _, writer = await asyncio.open_connection(addresses[0], target.port)
            writer.close()
        except (Forbidden, OSError) as error:  # a time-out is an OSError, too
            wrong = error if isinstance(error, Forbidden) else Unreachable(f"{target.host} could not be reached")
            raise failure_of(what, wrong) from None
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

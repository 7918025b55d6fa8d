"""Calls in flight in this process: their progress, and requests to stop them.

Progress goes to the ledger as news, in order, and at once to followers in this process. A cancellation is a request:
whether the call was canceled, or finished with its real result, is reported when it is known (AT-207).
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Support
from ferrule.contracts.payloads import PayloadOwner, PayloadWriter
from ferrule.errors import LedgerError
from ferrule.infra.tasks import is_running_here
from ferrule.model.failure import ErrorClass, Stop
from ferrule.model.journal import Entry, News, NewsBody, Payload
from ferrule.model.news import progress_row
from ferrule.model.progress import Progress, progress_of
from ferrule.model.scheduling import AbortReason
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call, Step
from ferrule.runtime.pipeline.call_parts import ReadTooEarly
from ferrule.runtime.pipeline.inputs import list_sensitive_values
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.redaction.redactor import ONLY_GIVEN
from ferrule.runtime.redaction.stream import RedactingWriter

if TYPE_CHECKING:
    from ferrule.runtime.pipeline.pulse import Pulse
    from ferrule.runtime.scheduler.scheduler import Lane

_FLUSH_SECONDS = 0.05
_ROW_RECORDS = 256
"""The most progress records in one row of the ledger."""
_MAX_UNWRITTEN = 10_000
"""Beyond this many unwritten records a reporting thread waits; the event loop never does."""
_LOCK = threading.Lock()
_log = logging.getLogger("ferrule.pipeline")

T = TypeVar("T")
Stage = Literal["planned", "opening", "queued", "running", "closing"]

STOPS: dict[AbortReason, ErrorClass] = {
    "user_interruption": "canceled",
    "runtime_shutdown": "canceled",
    "sibling_error": "sibling_canceled",
    "fallback": "streaming_fallback_discarded",
    "timeout": "timeout",
}
_WORDS: dict[AbortReason, str] = {
    "user_interruption": "the call was canceled",
    "runtime_shutdown": "the runtime is shutting down, so the call was canceled",
    "sibling_error": "another call of the batch failed, so this one was canceled",
    "fallback": "the turn that made the call was discarded",
    "timeout": "the call took too long",
}


class Cancel(msgspec.Struct, frozen=True):
    """A request to stop a call."""

    abort_reason: AbortReason = "user_interruption"
    reason: str = ""
    """In the requester's words."""
    by: str = ""
    cause: str = ""
    """The invocation that caused the request, if one did."""

    def to_stop(self) -> Stop:
        """Returns the stop of the canceled call."""
        words = _WORDS[self.abort_reason]
        cause = f" ({self.cause})" if self.cause else ""
        return Stop(STOPS[self.abort_reason], f"{words}{cause}{f': {self.reason}' if self.reason else ''}")

    def to_record(self) -> JsonObject:
        """Returns the request for the record, without empty members."""
        said = {"abort_reason": self.abort_reason, "reason": self.reason, "by": self.by, "cause": self.cause}
        return {name: value for name, value in said.items() if value}


class LiveCall:
    """One call in flight; also the pipeline's end of the tool's context (`contracts/executor.py:Wire`)."""

    stage: Stage = "planned"
    support: Support = Support(cancel=True)
    context: Context | None = None
    task: asyncio.Task[object] | None = None
    """The task that runs the call's phases."""
    runner: asyncio.Future[object] | None = None
    """The tool's own task, where it has one."""
    waiter: asyncio.Future[None] | None = None
    """Completed when the phase that waits for the tool has to look at its state."""
    cancel: Cancel | None = None
    is_stopped_early = False
    """True when the call was canceled before its tool began."""
    given_up: Cancel | None = None
    """Set when nobody waits for the outcome any more: it is recorded when it comes, and not delivered."""
    backgrounded: tuple[str, str] | None = None
    detached: Coroutine[Any, Any, Step] | None = None
    """The remaining wait for the tool, after the caller went away."""
    has_ended = False
    is_silenced = False
    """True once no progress is accepted: the row that ends or parks the call comes next (AT-204)."""
    sequence = 0
    secrets: frozenset[str] = frozenset()
    native_refs: tuple[JsonObject, ...] = ()
    outputs: tuple[PayloadWriter, ...] = ()
    last_progress_at = 0
    listener: Callable[[Progress], None] | None = None
    """Receives every progress record, in order, in the event loop."""
    _heard_up_to = 0
    _is_scheduled = False
    _is_task_cancelled = False
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, call: Call, services: Services) -> None:
        self.call = call
        self.services = services
        self.loop = asyncio.get_running_loop()
        self.unwritten: list[Progress] = []
        self.watchers: list[asyncio.Future[None]] = []
        self.sequence = call.flight.sequence
        self.secrets = call.secrets

    def require_runner(self) -> asyncio.Future[object]:
        """Returns the tool's task. Raises ReadTooEarly."""
        if self.runner is None:
            raise ReadTooEarly("runner", "execute")
        return self.runner

    # Reports of the tool

    def progress(self, facts: JsonObject) -> None:
        """Publishes one progress record. Raises BadProgress."""
        call, services = self.call, self.services
        if not is_running_here(self.loop):
            # Back-pressure for threads only: a sleep in the event loop would block every call.
            while len(self.unwritten) > _MAX_UNWRITTEN and not self.is_silenced:
                time.sleep(0.005)
        facts = self._redact(facts)
        with _LOCK:
            if self.is_silenced:
                _log.info("dropped progress of %s that came after its end", call.invocation_id)
                return
            now = services.now()
            elapsed = max(0, (now - call.created_at) // 1000)
            # Threads report too: number and record are taken in one step, so the sequence keeps its order (AT-198).
            self.unwritten.append(progress_of(call.invocation_id, self.sequence + 1, now, elapsed, facts))
            self.sequence += 1
            self.last_progress_at = now
        self._schedule_progress()

    def partial(self, blocks: tuple[JsonObject, ...]) -> None:
        """Publishes a part of the result."""
        self.progress({"status": "partial_result", "content": list(blocks)})
        if is_running_here(self.loop):
            self._enter_partial()
        else:
            self._call_soon(self._enter_partial)

    def background(self, task_id: str, message: str) -> None:
        """Releases the caller; the call goes on."""
        if self.backgrounded is None:
            self.backgrounded = (task_id, message)
            self.progress({"status": "backgrounded", "message": message, "task_id": task_id or None})
            self._call_soon(self.wake)

    def native(self, ref: JsonObject) -> None:
        """Keeps a native id of this call."""
        with _LOCK:
            self.native_refs += (ref,)

    def secret(self, value: str) -> None:
        """Keeps a value out of everything recorded or reported about this call."""
        if value:
            with _LOCK:
                self.secrets |= {value}
                self.call.secrets = self.secrets

    def output(self, media_type: str, name: str) -> PayloadWriter:
        """Opens a writer into the payload store; one that is not closed when the call ends is discarded."""
        if self.services.payloads is None:
            raise ExecutionFailed("capability_gap", "there is no payload store to write to; see [results] store")
        request = self.call.session.surface.request
        owner = PayloadOwner(self.call.invocation_id, request.principal, request.tenant, self.call.prepared.tool_id)
        expires = self.services.results.expires_seconds
        at = None if expires is None else self.services.now() + expires * 1_000_000
        media_type, name = self.redact_value((media_type, name))
        writer = self.services.payloads.begin(owner, media_type=media_type, name=name, expires_at=at)
        redactor, also = self.services.redactor or ONLY_GIVEN, self._list_secrets()
        if also or not redactor.is_idle:
            writer = RedactingWriter(writer, redactor.stream(also))
        with _LOCK:
            self.outputs += (writer,)
        return writer

    # Requests to stop

    def ask_to_stop(self, cancel: Cancel, *, is_told: bool = False) -> None:
        """Requests that the call stops; only in the event loop. The first request counts, every one is recorded (AT-206)."""
        if not is_told:
            self.record_news("cancel_requested", cancel.to_record())
        if self.cancel is not None or self.given_up is not None:
            return
        if self.stage == "closing" or self.has_ended:
            self.record_news("cancel_failed", {"why": "too_late"})
            return
        self.cancel = cancel
        place = self.call.flight.place
        if self.stage == "planned":
            self.wake()
        elif self.stage == "queued" and place is not None:
            # Ends the wait with QueueLeft; nothing has to be cancelled.
            place.lane.leave(place)
        elif self.stage == "running":
            self._stop_tool(cancel.abort_reason)
        elif self.stage == "opening":
            self._cancel_task()

    def give_up(self, cancel: Cancel) -> None:
        """Ends the call now, whatever its tool does; its later output is recorded and not delivered (AT-177)."""
        if self.stage != "running" or self.runner is None:
            self.ask_to_stop(cancel)
        elif self.given_up is None:
            self.given_up = cancel
            self.record_news("cancel_requested", cancel.to_record())
            self._stop_tool(cancel.abort_reason)
            self.wake()

    def _stop_tool(self, reason: str) -> None:
        if self.context is not None:
            self.context.abort(reason)
        if not self.support.cancel:
            return
        if self.runner is not None:
            self.runner.cancel()
        else:
            self._cancel_task()

    def _cancel_task(self) -> None:
        if self.task is not None:
            self._is_task_cancelled = True
            self.task.cancel()

    def record_news(self, outcome: News, data: JsonObject, payload: Payload | None = None) -> None:
        """Writes one piece of news about the call."""
        happened = [{"at": self.services.now(), "event": f"tool.invocation.{outcome}", "data": self._redact(data)}]
        self._write_news(outcome, NewsBody(happened), payload)

    def redact_value(self, value: T) -> T:
        """Returns a value without the call's secrets."""
        clean: T = self._redact({"value": value})["value"]
        return clean

    def absorb_cancel(self) -> bool:
        """Returns True when the cancellation that just reached the call's task was ours, and nobody else's came with it."""
        if not self._is_task_cancelled or self.task is None:
            return False
        self._is_task_cancelled = False
        return self.task.uncancel() == 0

    def close(self) -> None:
        """Flushes progress before the call ends; from now on it cannot be stopped."""
        self.stage = "closing"
        self.flush()
        self.note_refs()

    def note_refs(self) -> None:
        """Moves the native ids into the call's notes."""
        if self.native_refs:
            call = self.call
            call.notes = {**call.notes, "native_refs": [*call.notes.get("native_refs", ()), *self.native_refs]}
            self.native_refs = ()

    def stop_listening(self) -> None:
        """Writes the pending progress and accepts no more."""
        with _LOCK:
            self.is_silenced = True
        self.flush()

    def settle(self) -> None:
        """Ends the call here: reports the outcome of a request to stop it, and writes the last progress."""
        if self.has_ended:
            return
        if self._is_task_cancelled:
            # Nothing waited for our cancellation any more: the caller's task must not keep it counted.
            self.absorb_cancel()
        asked, runner = self.cancel or self.given_up, self.runner
        if asked is not None:
            is_stopped = self.call.state == "canceled" and (runner is None or runner.done())
            outcome: News = "cancel_acknowledged" if is_stopped else "cancel_failed"
            self.record_news(outcome, {"abort_reason": asked.abort_reason, "state": self.call.state})
        if not self.is_silenced or self.unwritten or self._timer is not None:
            self.stop_listening()
        self.has_ended = True
        self.call.flight.sequence = self.sequence
        for writer in self.outputs:
            writer.discard()
        if self.watchers:
            self._wake_watchers()

    # Delivery of news

    def list_unwritten(self, after: int) -> list[Progress]:
        """Lists the progress records that are not in the ledger yet."""
        return [said for said in self.unwritten if said.sequence > after]

    async def wait_for_change(self, within: float) -> None:
        """Waits until there is progress, the call ends, or the time is up."""
        watcher = self.loop.create_future()
        self.watchers.append(watcher)
        handle = self.loop.call_later(within, _complete, watcher)
        try:
            await watcher
        finally:
            handle.cancel()

    def wake(self) -> None:
        """Wakes the phase that waits for the tool."""
        if self.waiter is not None:
            _complete(self.waiter)

    def flush(self) -> None:
        """Writes pending progress; keeps it for the next time when the ledger fails."""
        if not self.unwritten and self._timer is None:
            return
        self._call_listener()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        with _LOCK:
            records, self.unwritten = self.unwritten, []
        while records:
            some = records[:_ROW_RECORDS]
            happened = [
                {"at": said.timestamp, "event": "tool.invocation.progress", "data": said.to_record()} for said in some
            ]
            if not self._write_news("progress", *progress_row(happened, some[-1].sequence)):
                with _LOCK:
                    # Kept in order for the next flush; beyond the limit the newest are dropped.
                    self.unwritten = (records + self.unwritten)[:_MAX_UNWRITTEN]
                return
            records = records[_ROW_RECORDS:]

    def _write_news(self, outcome: News, body: NewsBody, payload: Payload | None = None) -> bool:
        call, services = self.call, self.services
        body.audit_level = call.session.surface.audit_level
        try:
            services.store.record(
                Entry("news", call.invocation_id, services.now(), call.prepared.tool_id, outcome, body, payload)
            )
        except LedgerError as error:
            _log.warning("could not write news of %s: %s", call.invocation_id, error)
            return False
        return True

    def _list_secrets(self) -> frozenset[str]:
        call = self.call
        return self.secrets if call.prepared.mask is None else self.secrets | list_sensitive_values(call)

    def _redact(self, facts: JsonObject) -> JsonObject:
        redactor, also = self.services.redactor or ONLY_GIVEN, self._list_secrets()
        if redactor.is_idle and not also:
            return facts
        clean: JsonObject = redactor.value(facts, also)[0]
        return clean

    def _enter_partial(self) -> None:
        if self.stage == "running" and self.call.state == "running":
            self.call.enter("partial_result")

    def _schedule_progress(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._call_soon(self._on_progress)

    def _call_soon(self, callback: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed; there is no listener left
            self.loop.call_soon_threadsafe(callback)

    def _call_listener(self) -> None:
        if self.listener is not None:
            for said in self.list_unwritten(self._heard_up_to):
                self._heard_up_to = said.sequence
                self.listener(said)

    def _on_progress(self) -> None:
        self._is_scheduled = False
        self._call_listener()
        self._wake_watchers()
        if self._timer is None and not self.has_ended:
            self._timer = self.loop.call_later(_FLUSH_SECONDS, self._flush_on_time)

    def _flush_on_time(self) -> None:
        self._timer = None
        self.flush()
        if self.unwritten and not self.has_ended:
            # The ledger failed: the next try comes after a second, not after the usual moment.
            self._timer = self.loop.call_later(1.0, self._flush_on_time)

    def _wake_watchers(self) -> None:
        watchers, self.watchers = self.watchers, []
        for watcher in watchers:
            _complete(watcher)


def _complete(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class InFlight:
    """The calls in flight in this process that wait for something or report progress."""

    def __init__(self) -> None:
        self.calls: dict[str, LiveCall] = {}
        self.is_closing = False
        self.pulse: Pulse | None = None
        """The monitor of long calls (`pulse.py`); starts with the first of them."""
        self.unrecorded: set[str] = set()
        """Calls that ended here while the ledger could not be written: it still lists them as running."""
        self._spawned: set[asyncio.Task[object]] = set()
        self._closing: asyncio.Future[None] | None = None

    async def wait_unless_closing(self, waiting: Coroutine[Any, Any, bool]) -> bool:
        """Awaits a condition; returns False when the app closes first."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_future()
        if self._closing.done():
            waiting.close()
            # Callers look again in a loop: without a pause they would spin while the app closes.
            await asyncio.sleep(0.01)
            return False
        task = asyncio.ensure_future(waiting)
        either: set[asyncio.Future[Any]] = {task, self._closing}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return task.done() and task.result()
        finally:
            task.cancel()

    def add(self, call: Call, services: Services) -> LiveCall:
        """Adds a call."""
        live = call.flight.live = LiveCall(call, services)
        if self.is_closing:
            # `aclose` has asked the others already; a call that begins later would be missed.
            live.cancel = Cancel("runtime_shutdown")
        self.calls[call.invocation_id] = live
        if self.pulse is not None:
            self.pulse.wake()
        return live

    def remove(self, live: LiveCall) -> None:
        """Removes a call that has ended or is parked; its news are written."""
        live.settle()
        self.calls.pop(live.call.invocation_id, None)
        # Break the reference cycle by hand: calls and contexts are invisible to the garbage collector, and a function's
        # context is among its arguments.
        if live.context is not None:
            live.context.abort_callbacks = []
        live.call.flight.live = live.call.inputs.arguments = None
        live.context = live.task = live.runner = live.detached = None

    def spawn(self, going_on: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Runs the rest of a call in a task of its own that nobody waits for."""
        task = asyncio.get_running_loop().create_task(going_on)
        self._spawned.add(task)
        task.add_done_callback(self._forget_task)
        return task

    def _forget_task(self, task: asyncio.Task[object]) -> None:
        self._spawned.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("a detached call failed", exc_info=task.exception())

    def list_in_lane(self, lane: Lane) -> Iterable[LiveCall]:
        """Lists the calls of one lane."""
        return [live for live in self.calls.values() if live.call.session.lane is lane]

    async def wait_until_idle(self, within: float) -> None:
        """Waits until no call is in flight, but no longer than `within` seconds."""
        until = asyncio.get_running_loop().time() + within
        while (self.calls or self._spawned) and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.01)

    async def aclose(self, within: float = 2.0) -> None:
        """Gives every call a result: cancels the waiting ones, stops the running ones and waits a while for them."""
        self.is_closing = True
        for live in list(self.calls.values()):
            live.ask_to_stop(Cancel("runtime_shutdown"))
        if self._closing is not None and not self._closing.done():
            self._closing.set_result(None)
            await asyncio.sleep(0.01)  # lets tasks that wait for the ledger finish before it closes
        await self.wait_until_idle(within)
        for task in list(self._spawned):
            task.cancel()
        if self._spawned:
            await asyncio.wait(self._spawned, timeout=0.5)
        for live in list(self.calls.values()):
            live.flush()
        if self.pulse is not None:
            await self.pulse.aclose()

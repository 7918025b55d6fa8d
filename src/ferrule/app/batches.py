"""Many calls at once: in order where order matters, side by side where it does not, each with exactly one result.

Every call goes through all phases by itself. As a batch, calls take their places in the queue in call order before any of
them runs, results are returned in that order, and a failure may cancel others (`sibling_failure_policy`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from ferrule.app.batch_requests import CallRequest, encode_arguments, find_dependencies, make_options
from ferrule.app.recorded_calls import Calls
from ferrule.infra.tasks import finish_uncancelled, resolve
from ferrule.model.failure import Stop
from ferrule.model.progress import Progress
from ferrule.model.result import Pending, Result
from ferrule.model.scheduling import DEFAULT_POLICY, QueueState, SchedulerPolicy
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call, DuplicateCall, RunOptions, place_of
from ferrule.runtime.pipeline.call_parts import BatchMembership
from ferrule.runtime.pipeline.context_modifiers import apply_modifiers
from ferrule.runtime.pipeline.drive import Outcome, drive, release_call, stop_call
from ferrule.runtime.pipeline.live import Cancel, LiveCall
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.session import Session
from ferrule.runtime.pipeline.supervise import build_cancel_stop


class Update(msgspec.Struct, frozen=True):
    """News of one call of a batch: its progress, or its result."""

    index: int
    invocation_id: str
    progress: Progress | None = None
    result: Result | Pending | None = None


class Batch(Sequence[Result | Pending]):
    """The results of a batch, in call order."""

    def __init__(self, batch_id: str, results: Sequence[Result | Pending]) -> None:
        self.batch_id = batch_id
        self.results = tuple(results)

    def __getitem__(self, index: Any) -> Any:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result | Pending]:
        return iter(self.results)

    @property
    def is_error(self) -> bool:
        """True when any call failed."""
        return any(result.is_error for result in self.results)


_NOTED_POLICY = ("sibling_failure_policy", "ordering_policy")
"""Settings of the policy that are recorded with a batch where they are not the default."""
PlanCall = Callable[[Session, str, bytes, RunOptions], Call]


class BatchRun:
    """One running batch. Without an id it is a call by itself, and nothing about a batch is recorded."""

    def __init__(
        self, requests: Sequence[CallRequest], policy: SchedulerPolicy, services: Services, calls: Calls, batch_id: str
    ) -> None:
        self.batch_id = batch_id
        self.policy = policy
        self.requests = requests
        self.needs = find_dependencies(requests)
        self._services = services
        self._calls = calls
        self._planned: list[Call] = []
        self._lives: list[LiveCall] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._done: list[asyncio.Future[Result | Pending]] = []
        self._news: deque[Update | None] = deque()
        """Updates to yield, in order of time; None when a call failed to run at all."""
        self._reader: asyncio.Future[None] | None = None
        """Wakes the reader of updates."""
        self._left = len(requests)
        self._has_failed = False
        self._waiter: asyncio.Future[None] | None = None
        """Wakes the caller that waits for all calls to end."""
        self._room: asyncio.Semaphore | None = None
        """Limits how many calls of the batch run at once, where the lane would allow more."""
        self._membership = BatchMembership(batch_id, policy, {})

    def begin(self, session: Session, plan: PlanCall, wait: float | None) -> None:
        """Plans every call, takes their places in the queue, and starts them."""
        loop = asyncio.get_running_loop()
        # The lane bounds all calls of its scope; a batch needs a bound of its own only below that.
        if self.policy.max_parallel < session.lane.policy.max_parallel:
            self._room = asyncio.Semaphore(self.policy.max_parallel)
        refused: dict[int, Stop] = {}
        for number, request in enumerate(self.requests):
            written = encode_arguments(request.arguments)
            if isinstance(written, Stop):
                # Refused, but planned like the others: each call of a batch gets its record.
                refused[number], written = written, b"null"
            call = plan(session, request.name, written, make_options(request))
            call.flight.batch = self._membership
            if self.batch_id:
                call.notes = {**call.notes, "batch": self._describe_membership(number)}
            self._planned.append(call)
            live = self._services.live.add(call, self._services)
            if self._services.live.is_closing:
                live.ask_to_stop(Cancel("runtime_shutdown"))
            self._lives.append(live)
            self._done.append(loop.create_future())
        self._take_places(session, refused)
        for number in range(len(self._planned)):
            self._lives[number].listener = partial(self._report_progress, number)
            self._tasks.append(loop.create_task(self._run_call(number, refused.get(number), wait)))

    def _take_places(self, session: Session, refused: Mapping[int, Stop]) -> None:
        """Takes places in call order, unless every call may overlap with every other anyway."""
        calls = self._planned
        prepared = {call.tool_name: session.prepared.get(call.tool_name) for call in calls}.values()
        if all(known is not None and known.route.turn == "beside" for known in prepared):
            return
        for number, call in enumerate(calls):
            if not self.needs[number] and number not in refused and self.policy.ordering_policy != "serial":
                parent = place_of(call.flight.parent) if call.flight.parent is not None else None
                call.flight.place = session.lane.announce(parent=parent)

    def _report_progress(self, number: int, said: Progress) -> None:
        self._push_update(Update(number, said.invocation_id, progress=said))

    def _push_update(self, update: Update | None) -> None:
        self._news.append(update)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _describe_membership(self, number: int) -> JsonObject:
        note: dict[str, Any] = {"batch_id": self.batch_id, "index": number, "size": len(self.requests)}
        if self.needs[number]:
            note["depends_on"] = [self._planned[need].invocation_id for need in self.needs[number] if need < number]
        for name in _NOTED_POLICY:
            if (chosen := getattr(self.policy, name)) != getattr(DEFAULT_POLICY, name):
                note[name] = chosen
        return note

    def _note_wait(self, call: Call) -> None:
        waited = (call.tick() - call.origin) // 1_000_000
        call.notes = {**call.notes, "batch": {**call.notes.get("batch", {}), "waited_ms": waited}}

    async def _run_call(self, number: int, refused: Stop | None, wait: float | None) -> None:
        call = self._planned[number]
        try:
            if self._dependencies_of(number):
                await self._wait_for_dependencies(number)
            if self._room is None:
                ended = await self._run_or_stop(number, refused)
            else:
                # Only now: a call that waits for others must not hold a place that those need.
                async with self._room:
                    ended = await self._run_or_stop(number, refused)
            outcome = ended if isinstance(ended, Result) else await self._calls.resolve_outcome(ended, wait)
        except BaseException:
            # Calls that depend on this one must not wait for ever.
            self._done[number].cancel()
            self._has_failed = True
            self._push_update(None)
            self._wake()
            raise
        finally:
            self._lives[number].listener = None
        self._done[number].set_result(outcome)
        self._push_update(Update(number, call.invocation_id, result=outcome))
        # Set before the sibling policy runs: `wait` may return only once every result is there.
        self._left -= 1
        if not self._left:
            self._wake()
        if outcome.is_error and isinstance(outcome, Result):
            self._cancel_siblings(number, outcome)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait_for_dependencies(self, number: int) -> None:
        """Waits for the calls this one depends on, or until it is told to stop."""
        live = self._lives[number]
        before = {done for need in self._dependencies_of(number) if not (done := self._done[need]).done()}
        if not before:
            return
        # The waiter is how a request to stop wakes this call while its dependencies still run.
        while before and live.cancel is None:
            waiter = live.waiter = live.loop.create_future()
            await asyncio.wait({*before, waiter}, return_when=asyncio.FIRST_COMPLETED)
            before = {done for done in before if not done.done()}
        live.waiter = None
        self._note_wait(self._planned[number])

    async def _run_or_stop(self, number: int, refused: Stop | None) -> Outcome:
        call = self._planned[number]
        stop = refused or self._why_not_start(number)
        return await (resolve(drive(call, self._services)) if stop is None else self._stop_before_start(call, stop))

    async def _stop_before_start(self, call: Call, stop: Stop) -> Result | DuplicateCall:
        """Ends a call that does not begin: frees its place at once, and records its end."""
        if call.flight.place is not None:
            call.flight.place.lane.leave(call.flight.place)
            call.flight.place = None
        call.prepared = call.session.find(call.tool_name)
        try:
            return await finish_uncancelled(resolve(stop_call(call, self._services, stop)))
        finally:
            release_call(call, self._services)

    def _dependencies_of(self, number: int) -> tuple[int, ...]:
        if self.policy.ordering_policy == "serial" and number:
            return (*self.needs[number], number - 1)
        return self.needs[number]

    def _why_not_start(self, number: int) -> Stop | None:
        """Returns why a call cannot begin after its dependencies have ended; None when it can."""
        live, call = self._lives[number], self._planned[number]
        cancel = live.cancel or (Cancel("runtime_shutdown") if self._services.live.is_closing else None)
        if cancel is not None:
            call.notes = {**call.notes, "abort_reason": cancel.abort_reason}
            return cancel.to_stop()
        for need in self.needs[number]:
            outcome = None if self._done[need].cancelled() else self._done[need].result()
            if isinstance(outcome, Pending):
                call.notes = {**call.notes, "abort_reason": "sibling_error"}
                message = (
                    f"it depends on {outcome.invocation_id}, which {outcome.message}; call it again when that has ended"
                )
                return Stop("sibling_canceled", message, "dependency_pending")
        return None

    def _cancel_siblings(self, number: int, outcome: Result) -> None:
        """Cancels the calls that a failure ends, by the policy of the batch."""
        # A call that a sibling has cancelled cancels no others.
        if outcome.error is not None and outcome.error.error_class == "sibling_canceled":
            return
        policy = self.policy.sibling_failure_policy
        if policy == "ignore":
            return
        hit = self._dependents(number) if policy == "cancel_dependent" else range(len(self._planned))
        cancel = Cancel("sibling_error", cause=outcome.invocation_id, by="batch")
        for other in hit:
            if other != number and not self._done[other].done():
                self._ask_to_stop(other, cancel)

    def _ask_to_stop(self, number: int, cancel: Cancel) -> None:
        live, call_id = self._lives[number], self._planned[number].invocation_id
        if live.has_ended:  # it waits in the ledger, or resumed as another object
            self._services.live.spawn(self._calls.cancel(call_id, cancel))
        else:
            live.ask_to_stop(cancel)

    def _dependents(self, number: int) -> list[int]:
        """Returns every call that depends on one, directly or through others."""
        found, more = {number}, True
        while more:
            fresh = {other for other, needs in enumerate(self.needs) if found.intersection(needs)} - found
            found |= fresh
            more = bool(fresh)
        return sorted(found - {number})

    async def wait(self) -> Batch:
        """Returns every result, in call order. A caller that stops waiting cancels the calls that have not ended."""
        try:
            while self._left and not self._has_failed:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
            if self._has_failed:
                await asyncio.gather(*self._tasks)  # raises the failure
        except BaseException:
            await self.abandon()
            raise
        self._apply_deferred()
        return Batch(self.batch_id, [done.result() for done in self._done])

    # The name until now; programs written for it go on working.
    ended = wait

    async def updates(self) -> AsyncIterator[Update]:
        """Yields updates: progress at once and results in call order, unless the policy says otherwise."""
        try:
            async for update in self._iterate_updates():
                yield update
        finally:
            if not all(task.done() for task in self._tasks):
                await self.abandon()
            else:
                self._apply_deferred()

    async def _iterate_updates(self) -> AsyncIterator[Update]:
        total, turn, held = len(self._planned), 0, _HeldUpdates()
        is_unordered, holds_progress = self.policy.is_unordered, self.policy.yield_policy == "all_ordered"
        delivered = 0
        while delivered < total:
            while not self._news:
                self._reader = asyncio.get_running_loop().create_future()
                await self._reader
            update = self._news.popleft()
            if update is None:
                await asyncio.gather(*self._tasks)  # raises the failure
                return
            is_due = is_unordered or update.index == turn or (update.progress is not None and not holds_progress)
            if not is_due:
                held.add(update)
                continue
            waiting = [update]
            while waiting:
                told = waiting.pop(0)
                yield told
                if told.result is not None:
                    delivered += 1
                    turn = turn if is_unordered else turn + 1
                    waiting += held.take(turn)

    async def abandon(self) -> None:
        """Cancels the calls that have not ended; each still gets its record."""
        for task in self._tasks:
            task.cancel()
        # Cancelled or not, this waits until every task has ended.
        await finish_uncancelled(asyncio.gather(*self._tasks, return_exceptions=True))
        for call, live in zip(self._planned, self._lives, strict=True):
            if not live.has_ended and live.stage == "planned":  # its task was cancelled before it began
                await self._stop_before_start(
                    call, build_cancel_stop(call, Cancel(reason="its caller stopped waiting"))
                )
        self._membership.is_over = True

    @property
    def invocation_ids(self) -> tuple[str, ...]:
        """The ids of the calls, in call order; known from the beginning."""
        return tuple(call.invocation_id for call in self._planned)

    def list_unfinished(self) -> tuple[str, ...]:
        """Returns the ids of the calls that have not ended."""
        return tuple(call_id for call_id, done in zip(self.invocation_ids, self._done, strict=True) if not done.done())

    def states(self) -> list[str]:
        """Returns the lifecycle state of each call; `planned` before it begins."""
        return [self._state(number) for number in range(len(self._planned))]

    def _state(self, number: int) -> str:
        done, call = self._done[number], self._planned[number]
        if done.done() and not done.cancelled():
            outcome = done.result()
            return outcome.status if isinstance(outcome, Result) else outcome.state
        again = self._services.live.calls.get(call.invocation_id)  # an answered call resumes as another object
        return again.call.state if again is not None else call.state

    def queue_states(self) -> list[QueueState]:
        """Returns the queue state of each call, in the scheduler's words (AT-176)."""
        return [self._queue_state(number) for number in range(len(self._planned))]

    def _queue_state(self, number: int) -> QueueState:
        done, live = self._done[number], self._lives[number]
        if done.done() and not done.cancelled():
            outcome = done.result()
            return "discarded" if isinstance(outcome, Result) and outcome.status == "discarded" else "yielded"
        if live.stage == "closing":
            return "completed"
        return "executing" if live.stage == "running" else "queued"

    def _apply_deferred(self) -> None:
        deferred = self._membership.deferred
        self._membership.is_over = True
        # In call order, whichever of them ended first.
        for call in self._planned:
            if call.invocation_id in deferred:
                apply_modifiers(call.session.values, deferred.pop(call.invocation_id))


class _HeldUpdates:
    """Updates that wait for their turn."""

    def __init__(self) -> None:
        self._by_index: dict[int, list[Update]] = {}

    def add(self, update: Update) -> None:
        self._by_index.setdefault(update.index, []).append(update)

    def take(self, turn: int) -> list[Update]:
        return self._by_index.pop(turn, [])

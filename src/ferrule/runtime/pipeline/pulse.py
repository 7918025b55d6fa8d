"""Monitor of long calls: makes them visible to other processes, reports that they still run, and reads cancel requests.

One task for all of them, which runs only while there are any. A call that ends within a quarter of a second never
meets it.
"""

from __future__ import annotations

import asyncio
import logging

from msgspec.structs import replace

from ferrule.contracts.store import CommitCondition
from ferrule.errors import LedgerError
from ferrule.infra.tasks import finish_uncancelled
from ferrule.model.journal import StoredEntry
from ferrule.runtime.pipeline.call import NO_OPTIONS, Call
from ferrule.runtime.pipeline.call_parts import CallJudgement
from ferrule.runtime.pipeline.live import Cancel, InFlight, LiveCall
from ferrule.runtime.pipeline.rows import build_surfaced_row
from ferrule.runtime.pipeline.services import Services

_BEAT_SECONDS = 0.1
_FIRST_SECONDS = 0.25
_QUIET = 5_000_000
"""Microseconds of silence after which a call is reported as still running (AT-200)."""
_FIRST_QUIET = 1_000_000
"""The same before its first progress: people notice a wait of a second."""
_RUNS = ("running", "partial_result")
_log = logging.getLogger("ferrule.pipeline")


class Pulse:
    """The monitor of one process."""

    def __init__(self, calls: InFlight, services: Services) -> None:
        self._calls = calls
        self._services = services
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._read_up_to = -1
        self._generation = -1

    async def open(self) -> None:
        """Skips the cancel requests already in the ledger: they concern calls of earlier processes."""
        newest = await self._services.store.rows_before(None, 1)
        self._read_up_to = newest[0].seq if newest else 0

    def wake(self) -> None:
        """Starts the monitor when there are calls in flight."""
        if self._timer is None and self._task is None:
            self._timer = asyncio.get_running_loop().call_later(_FIRST_SECONDS, self._begin)

    async def aclose(self) -> None:
        """Stops the monitor."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _begin(self) -> None:
        self._timer = None
        if self._calls.calls:
            self._task = asyncio.get_running_loop().create_task(self._beat(), name="ferrule looks after long calls")

    async def _beat(self) -> None:
        try:
            while self._calls.calls:
                await self._look_after_all()
                await asyncio.sleep(_BEAT_SECONDS)
        finally:
            self._task = None
            # Whatever ended this task: calls in flight are never without a monitor.
            if self._calls.calls and not self._calls.is_closing:
                self.wake()

    async def _look_after_all(self) -> None:
        """Checks every running call once, then reads cancel requests."""
        try:
            for live in [live for live in self._calls.calls.values() if live.stage == "running"]:
                await self._look_after(live)
            await self._read_cancel_requests()
        except LedgerError as error:
            _log.warning("could not check long calls: %s", error)

    async def _look_after(self, live: LiveCall) -> None:
        call, now = live.call, self._services.now()
        age = now - call.created_at
        if live.stage != "running" or call.state not in _RUNS or age < _FIRST_SECONDS * 1e6:
            return
        if call.recorded is None and call.flight.surfacing is None:
            await surface_call(live)
        quiet = now - live.last_progress_at if live.last_progress_at else age
        if quiet > (_QUIET if live.last_progress_at else _FIRST_QUIET):
            live.progress({"status": "running", "message": "still running"})

    async def _read_cancel_requests(self) -> None:
        """Reads new requests to cancel from other processes."""
        generation = self._services.store.generation()
        if generation == self._generation:
            return
        for row in await self._services.store.cancel_requests(self._read_up_to):
            self._read_up_to = row.seq
            live = self._calls.calls.get(row.call)
            if live is not None and live.cancel is None:
                live.ask_to_stop(_read_cancel(row), is_told=True)
        # The number from before the look: requests that arrived meanwhile are read next time.
        self._generation = generation


async def surface_call(live: LiveCall) -> None:
    """Writes durably that a call runs, or waits for its turn, which would otherwise be recorded only when it ends.

    Skips a call that needs no row while it waits, and one with an idempotency key: the key belongs to a call that runs,
    not to one that only waited. Raises LedgerError.
    """
    call, services = live.call, live.services
    flight = call.flight
    if flight.surfacing is not None:
        await finish_uncancelled(asyncio.wait({flight.surfacing}))
    is_queued = live.stage == call.state == "queued" and call.options is not NO_OPTIONS and call.key is None
    if call.recorded is not None or flight.surfacing is not None or not (is_queued or live.stage == "running"):
        return
    if call.state == "partial_result":
        call.enter("running")
    done = flight.surfacing = live.loop.create_future()
    states, phases, told = call.states, call.phases, (call.judgement, call.inputs.new_mutations)
    is_written = False
    try:
        committed = await services.store.commit(build_surfaced_row(call, services), CommitCondition(states=frozenset()))
        if committed.outcome == "written":
            is_written = True
            _keep_unrecorded(call, committed.seq, "queued" if is_queued else "running", told)
    finally:
        if not is_written:
            # Building the row has taken these out of the call; without the row they belong to the next one.
            call.states, call.phases = [*states, *call.states], [*phases, *call.phases]
        flight.surfacing = None
        done.set_result(None)


def _keep_unrecorded(call: Call, seq: int, mark_state: str, told: tuple[CallJudgement, int]) -> None:
    """Keeps what happened while the row was being written; it belongs to the next row."""
    states, phases = call.states, call.phases
    before, mutations = told[0], call.inputs.new_mutations - told[1]
    judgement = replace(
        call.judgement,
        decisions=call.judgement.decisions[len(before.decisions) :],
        hooks=call.judgement.hooks[len(before.hooks) :],
    )
    call.has_rows(seq, mark_state)
    call.states, call.phases = states, phases
    call.judgement, call.inputs.new_mutations = judgement, mutations


def _read_cancel(row: StoredEntry) -> Cancel:
    data = row.news().happened[0]["data"]
    return Cancel(data.get("abort_reason", "user_interruption"), data.get("reason", ""), data.get("by", ""))

"""Calls that are in the ledger already: going on with them, ending them, waiting for them, and finding the lost ones.

Nothing here is held in memory between two steps, so any process that has the workspace open can do any of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from ferrule.approval.sweep import expired, lapsed
from ferrule.contracts.store import Condition, Store
from ferrule.errors import FerruleError, LedgerDamaged, SurfaceError
from ferrule.model.approval import Answer
from ferrule.model.decision import Decision, Ruling
from ferrule.model.failure import Stop
from ferrule.model.journal import OpenCall, StoredEntry, header_of
from ferrule.model.result import Pending, Result
from ferrule.model.surface import SurfaceRequest
from ferrule.pipeline.answers import answer_of
from ferrule.pipeline.call import Call, Park, Replay
from ferrule.pipeline.revive import past_of, revived, revived_to_end
from ferrule.pipeline.rows import unknown_row
from ferrule.pipeline.run import APPROVED, RECEIVED, run_call, stop_call
from ferrule.pipeline.services import Services
from ferrule.pipeline.session import Session
from ferrule.pipeline.waiting import question

GOES_ON = frozenset({"approved"})
"""States in which a call only waits for a process that can run it."""
_FOREVER = 1 << 62
_LOOKS = 5
_log = logging.getLogger("ferrule.calls")


class Calls:
    """The calls of one ledger, seen from one process."""

    def __init__(
        self, store: Store, services: Services, session_for: Callable[[SurfaceRequest], Awaitable[Session]]
    ) -> None:
        self._store = store
        self._services = services
        self._session_for = session_for

    async def result(self, call_id: str, wait: float | None = None, principal: str | None = None) -> Answered:
        """How a call ended, or what it waits for; None when there is no such call (of this principal's)."""
        place = await self._place(call_id)
        rows = place.rows
        if not rows or (principal is not None and header_of(rows[0].segment()).principal != principal):
            return None
        found = _answer(place)
        return await self.waited(found, wait) if isinstance(found, Pending) and wait else found

    async def settled(self, outcome: Result | Pending | Replay, wait: float | None = None) -> Result | Pending:
        """What a caller is told: a duplicate gets the first call's answer, and whoever wants to wait does."""
        if isinstance(outcome, Replay):
            found = await self.result(outcome.invocation_id)
            assert found is not None  # whoever has a key, or lost a race, has rows
            outcome = found
        return await self.waited(outcome, wait) if isinstance(outcome, Pending) and wait else outcome

    async def waited(self, pending: Pending, wait: float) -> Result | Pending:
        """Wait for a call to end. Whoever waits also runs it, once it is answered and nobody else did."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        found: Result | Pending = pending
        newest = await self._store.rows_before(None, 1)
        while isinstance(found, Pending) and (left := until - loop.time()) > 0:
            found = await self._went_on(pending)
            if isinstance(found, Pending) and await self._store.wait_after(newest[-1].seq, min(left, 1.0)):
                # Taken before the next look, so that whatever is written after it wakes us again, and nothing else does.
                newest = await self._store.rows_after(newest[-1].seq) or newest
        return found

    async def _went_on(self, pending: Pending) -> Result | Pending:
        found = _answer(await self._place(pending.invocation_id)) or pending
        if isinstance(found, Pending) and found.state in GOES_ON:
            return await self.resume(pending.invocation_id) or pending
        return found

    async def resume(self, call_id: str) -> Answered:
        """Go on with an answered call, if it can run in this process; else it stays for one where it can."""
        place = await self._place(call_id)
        open_call = place.open
        if open_call is None or open_call.state not in GOES_ON:
            return _answer(place)
        try:
            past = past_of(place.rows, self._services)
            session = await self._session_for(past.context)
            call = revived(call_id, past, open_call, session, self._services)
        except (ValueError, SurfaceError) as error:
            return await self.end(call_id, _cannot_go_on(error)) or _answer(await self._place(call_id))
        prepared = session.find(call.tool_name)
        if prepared.unready is not None and prepared.refusal is None:
            return _answer(place)
        is_received = past.request is not None and past.request.purpose == "input"
        return await self.settled(await run_call(call, self._services, RECEIVED if is_received else APPROVED))

    async def end(self, call_id: str, stop: Stop, answer: Answer | None = None) -> Result | None:
        """End a waiting call, with a record as full as any other's. None when it did not wait any more."""
        place = await self._place(call_id)
        if place.open is None or place.open.state == "running":
            return None
        call = self._to_end(place.open, place.rows)
        if answer is not None:
            call.answer = answer
            asked = call.recorded.request if call.recorded is not None else None
            if asked is None or asked.purpose == "approval":  # who settles an outcome approves nothing
                call.decisions += (self._decision(answer),)
        if call.state == "needs_input":  # it had begun to run, and a person says how that ended
            call.has_run = answer is None or answer.verdict == "approve"
            call.enter("running")
        outcome = await stop_call(call, self._services, stop)
        return outcome if isinstance(outcome, Result) else None

    async def recover(self) -> list[str]:
        """Find calls whose process is gone. What only read is ended; whether an action happened, a person has to say."""
        return await self._each(await self._store.abandoned(), self._recover)

    async def sweep(self) -> None:
        """End what nobody answered in time."""
        waiting = await self._store.open_calls("awaiting_approval", "needs_input")
        await self._each(expired(waiting, self._services.wall()), self._lapse)

    async def resume_answered(self) -> None:
        """Go on with every answered call that nobody runs."""
        await self._each(await self._store.open_calls(*GOES_ON), self._go_on)

    async def _each(self, calls: Iterable[OpenCall], do: Callable[[OpenCall], Awaitable[object]]) -> list[str]:
        """Do it to each, and give those it was done to: one that is damaged does not keep the others waiting."""
        done = []
        for open_call in calls:
            try:
                await do(open_call)
                done.append(open_call.call)
            except (FerruleError, ValueError) as error:
                _log.warning("call %s was left as it is: %s", open_call.call, error)
        return done

    async def _recover(self, abandoned: OpenCall) -> None:
        place = await self._place(abandoned.call)
        if place.open is None or place.open.seq != abandoned.seq:
            return  # another process was quicker
        call = self._to_end(place.open, place.rows)
        call.has_run = True
        if call.prepared.traits.is_read_only:
            message = "the process that ran it ended before it did; it only read, so it can be called again"
            await stop_call(call, self._services, Stop("execution_failed", message, "interrupted"))
        else:
            await self._ask_what_happened(call, place.open)

    async def _lapse(self, open_call: OpenCall) -> None:
        await self.end(open_call.call, lapsed(open_call))

    async def _go_on(self, open_call: OpenCall) -> None:
        await self.resume(open_call.call)

    async def _ask_what_happened(self, call: Call, open_call: OpenCall) -> None:
        call.enter("needs_input")
        message = (
            f"the process ended while {call.prepared.tool_id!r} ran, so it is not known whether it acted;"
            f" find out, then say 'ferrule settle {call.invocation_id} --happened' or '--did-not-happen'"
        )
        park = Park(question(call, self._services, "outcome", message, _FOREVER))
        condition = Condition(states=frozenset({"running"}), seq=open_call.seq)
        await self._store.commit(unknown_row(call, self._services, park), condition)

    def _to_end(self, open_call: OpenCall, rows: Sequence[StoredEntry]) -> Call:
        past = past_of(rows, self._services, opens_inputs=False)
        return revived_to_end(open_call.call, past, open_call, self._services)

    async def _place(self, call_id: str) -> Place:
        """Where a call stands: an open one with exactly the rows that brought it there. Raises LedgerDamaged."""
        rows: list[StoredEntry] = []
        for _ in range(_LOOKS):
            open_call = await self._store.find_open(call_id)
            rows = await self._store.rows_of(call_id)
            if open_call is None or (rows and (rows[-1].seq, rows[-1].outcome) == (open_call.seq, open_call.state)):
                return Place(open_call, rows)
        raise LedgerDamaged(f"what the ledger says of {call_id} contradicts itself; 'ferrule audit verify' tells more")

    def _decision(self, answer: Answer) -> Decision:
        is_yes = answer.verdict == "approve"
        message = f"{'approved' if is_yes else 'rejected'} by {answer.by}"
        ruling = Ruling("allow" if is_yes else "deny", message, "permission_prompt_tool")
        return Decision(ruling, answer.answered_at, answer.by, feedback=answer.reason)


class Place(NamedTuple):
    """Where a call stands. `open` is None when it has ended."""

    open: OpenCall | None
    rows: list[StoredEntry]


Answered = Result | Pending | None


def _answer(place: Place) -> Answered:
    return answer_of(place.rows, place.open.state if place.open is not None else None)


def _cannot_go_on(error: Exception) -> Stop:
    """Nothing that is answered may wait for ever, and nothing runs that is not what was answered."""
    if isinstance(error, SurfaceError):
        return Stop("policy_blocked", f"the caller's surface cannot be made again: {error}", "surface_gone")
    message = "what the ledger holds of the call was changed, so it does not run; 'ferrule audit verify' tells more"
    return Stop("policy_blocked", message, "record_changed")

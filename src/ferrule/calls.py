"""Calls that are in the ledger already: going on with them, ending them, waiting for them, and finding the lost ones.

Nothing here is held in memory between two steps, so any process that has the workspace open can do any of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ferrule.approval.sweep import expired, lapsed
from ferrule.contracts.store import Condition, Store
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
        rows = await self._store.rows_of(call_id)
        if not rows or (principal is not None and header_of(rows[0].segment()).principal != principal):
            return None
        found = await self._answer(call_id, rows)
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
        while isinstance(found, Pending) and (left := until - loop.time()) > 0:
            rows = await self._store.rows_of(pending.invocation_id)
            found = await self._answer(pending.invocation_id, rows) or pending
            if isinstance(found, Pending) and found.state in GOES_ON:
                found = await self.resume(pending.invocation_id) or pending
            if isinstance(found, Pending):
                await self._store.wait_after(rows[-1].seq if rows else 0, min(left, 1.0))
        return found

    async def resume(self, call_id: str) -> Answered:
        """Go on with an answered call, if it can run in this process; else it stays for one where it can."""
        open_call, rows = await self._store.find_open(call_id), await self._store.rows_of(call_id)
        if open_call is None or open_call.state not in GOES_ON:
            return answer_of(rows, open_call.state if open_call is not None else None)
        past = past_of(rows, self._services)
        session = await self._session_for(past.context)
        call = revived(call_id, past, open_call, session, self._services)
        prepared = session.find(call.tool_name)
        if prepared.unready is not None and prepared.refusal is None:
            return answer_of(rows, open_call.state)
        is_received = past.request is not None and past.request.purpose == "input"
        return await self.settled(await run_call(call, self._services, RECEIVED if is_received else APPROVED))

    async def end(self, call_id: str, stop: Stop, answer: Answer | None = None) -> Result | None:
        """End a waiting call, with a record as full as any other's. None when it did not wait any more."""
        open_call = await self._store.find_open(call_id)
        if open_call is None or open_call.state == "running":
            return None
        call = await self._to_end(open_call)
        if answer is not None:
            call.answer = answer
            call.decisions += (self._decision(answer),)
        if call.state == "needs_input":  # it had begun to run, and a person says how that ended
            call.has_run = True
            call.enter("running")
        outcome = await stop_call(call, self._services, stop)
        return outcome if isinstance(outcome, Result) else None

    async def recover(self) -> list[str]:
        """Find calls whose process is gone. What only read is ended; whether an action happened, a person has to say."""
        found = await self._store.abandoned()
        for open_call in found:
            call = await self._to_end(open_call)
            call.has_run = True
            if call.prepared.traits.is_read_only:
                message = "the process that ran it ended before it did; it only read, so it can be called again"
                await stop_call(call, self._services, Stop("execution_failed", message, "interrupted"))
            else:
                await self._ask_what_happened(call, open_call)
        return [open_call.call for open_call in found]

    async def sweep(self) -> None:
        """End what nobody answered in time."""
        waiting = await self._store.open_calls("awaiting_approval", "needs_input")
        for open_call in expired(waiting, self._services.wall()):
            await self.end(open_call.call, lapsed(open_call))

    async def resume_answered(self) -> None:
        """Go on with every answered call that nobody runs."""
        for open_call in await self._store.open_calls(*GOES_ON):
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

    async def _to_end(self, open_call: OpenCall) -> Call:
        rows = await self._store.rows_of(open_call.call)
        return revived_to_end(open_call.call, past_of(rows, self._services), open_call, self._services)

    async def _answer(self, call_id: str, rows: list[StoredEntry]) -> Answered:
        open_call = await self._store.find_open(call_id)
        return answer_of(rows, open_call.state if open_call is not None else None)

    def _decision(self, answer: Answer) -> Decision:
        is_yes = answer.verdict == "approve"
        message = f"{'approved' if is_yes else 'rejected'} by {answer.by}"
        ruling = Ruling("allow" if is_yes else "deny", message, "permission_prompt_tool")
        return Decision(ruling, answer.answered_at, answer.by, feedback=answer.reason)


Answered = Result | Pending | None

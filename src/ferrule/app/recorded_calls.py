"""Calls that are in the ledger: resumes, ends and cancels them, waits for them, and recovers lost ones.

Nothing is held in memory between two steps, so any process that has the workspace open can do any of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from ferrule.app.progress import Cancellation
from ferrule.contracts.store import CommitCondition, Store
from ferrule.errors import AccessError, FerruleError, LedgerDamaged, LedgerError, SurfaceError
from ferrule.infra.tasks import resolve
from ferrule.model.approval import Answer, is_sealed
from ferrule.model.credentials import NO_CALL_SECRETS, CallSecrets
from ferrule.model.decision import Decision, Ruling
from ferrule.model.failure import Stop
from ferrule.model.journal import Entry, Header, News, NewsBody, OpenCall, StoredEntry, header_of
from ferrule.model.result import Pending, Result
from ferrule.model.surface import SurfaceRequest
from ferrule.runtime.approval.check import find_expired, is_genuine, make_expiry_stop
from ferrule.runtime.pipeline.call import Call, DuplicateCall, Park
from ferrule.runtime.pipeline.drive import AFTER_APPROVAL, AFTER_REPLY, drive, stop_call
from ferrule.runtime.pipeline.live import Cancel, LiveCall
from ferrule.runtime.pipeline.results.packing import read_answer
from ferrule.runtime.pipeline.resumption import PastCall, read_past, revive_call, revive_to_end
from ferrule.runtime.pipeline.rows import build_unknown_row
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.session import Session
from ferrule.runtime.pipeline.waiting import build_question, resume_numbering

RESUMABLE_STATES = frozenset({"approved"})
"""States in which a call only waits for a process to run it."""
WAITING_STATES = frozenset({"awaiting_approval", "approved", "needs_input"})
"""States in which no process runs the call: any process can end it."""
HELD_STATES = frozenset({"queued", "running"})
"""States in which a process runs the call: no other ends it while that process lives."""
_FOREVER = 1 << 62
_LOOKS = 5
_log = logging.getLogger("ferrule.calls")


class Calls:
    """The calls of one ledger, seen from one process."""

    def __init__(
        self,
        store: Store,
        services: Services,
        session_for: Callable[[SurfaceRequest], Awaitable[Session]],
    ) -> None:
        self._store = store
        self._services = services
        self._session_for = session_for

    async def result(
        self, call_id: str, wait: float | None = None, caller: SurfaceRequest | None = None
    ) -> CallOutcome:
        """Returns how a call ended, or what it waits for; None when there is no such call (of this caller)."""
        place = await self._read_call(call_id)
        live = self._services.live.calls.get(call_id)
        found: CallOutcome
        if live is not None and not place.rows:  # it runs here, and has no row yet
            is_theirs = caller is None or _is_same_principal(live.call.session.surface.request, caller)
            found = Pending(invocation_id=call_id, state=live.call.state, message="it has not ended yet")
        else:
            if place.open is not None and place.open.state in HELD_STATES and live is None:
                place = await self._recover_if_lost(place.open, place)
            is_theirs, found = _is_call_of(place.rows, caller), _read_outcome(place)
        if not is_theirs:
            return None
        return await self.wait_for_result(found, wait) if isinstance(found, Pending) and wait else found

    async def _recover_if_lost(self, running: OpenCall, place: CallSnapshot) -> CallSnapshot:
        """Recovers a call whose process is gone, and returns its snapshot."""
        if any(lost.call == running.call for lost in await self._store.find_abandoned()):
            await self._apply_to_each([running], self._recover_abandoned)
            return await self._read_call(running.call)
        return place

    async def is_of(self, call_id: str, caller: SurfaceRequest) -> bool:
        """True when the call exists, here or in the ledger, and belongs to this caller."""
        live = self._services.live.calls.get(call_id)
        if live is not None:
            return _is_same_principal(live.call.session.surface.request, caller)
        rows = await self._store.rows_of(call_id)
        return _is_call_of(rows, caller)

    async def resolve_outcome(
        self, outcome: Result | Pending | DuplicateCall, wait: float | None = None
    ) -> Result | Pending:
        """Returns what a caller gets: the first call's outcome for a duplicate, and the result for one who waits."""
        if isinstance(outcome, DuplicateCall):
            found = await self.result(outcome.invocation_id)
            assert found is not None  # a replay refers to a call with rows
            outcome = found
        return await self.wait_for_result(outcome, wait) if isinstance(outcome, Pending) and wait else outcome

    async def wait_for_result(self, pending: Pending, wait: float) -> Result | Pending:
        """Waits for a call to end. The waiting process also resumes it, once it is answered and no other did."""
        loop, live = asyncio.get_running_loop(), self._services.live
        until = loop.time() + wait
        found: Result | Pending = pending
        newest = await self._store.rows_before(None, 1)
        while isinstance(found, Pending) and (left := until - loop.time()) > 0:
            found = await self._check_again(pending)
            is_left = live.is_closing and pending.invocation_id not in live.calls  # this process will not resume it
            if not isinstance(found, Pending) or is_left:
                break
            if await live.wait_unless_closing(self._store.wait_after(newest[-1].seq, min(left, 1.0))):
                # Read before the next check, so that a row written after it wakes us again, and nothing else does.
                newest = await self._store.rows_after(newest[-1].seq) or newest
        return found

    async def _check_again(self, pending: Pending) -> Result | Pending:
        place = await self._read_call(pending.invocation_id)
        found = _read_outcome(place) or pending
        if isinstance(found, Pending) and place.open is not None and _can_resume(place):
            return await self.resume(pending.invocation_id) or pending
        return found

    async def resume(self, call_id: str, handed: CallSecrets = NO_CALL_SECRETS) -> CallOutcome:
        """Resumes an answered call if it can run in this process; otherwise it stays for one where it can. Secrets that its
        caller passed are not stored while it waits: such a call resumes when the caller passes them again (`handed`)."""
        place = await self._read_call(call_id)
        open_call = place.open
        if open_call is None or not _can_resume(place):
            return _read_outcome(place)
        try:
            past = read_past(place.rows, self._services)
            _refuse_forged(past, self._services.sealing.secret)
            self._refuse_ended_key(past)
            session = await self._session_for(past.context)
            # Secrets of callers are never written down, so only the caller can bring them back.
            if not handed.keys() >= set(past.notes.get("handed", ())):
                return _read_outcome(place)
            call = revive_call(call_id, past, open_call, session, self._services)
            # Numbers of progress go on behind those on record.
            told = max((row.news().sequence for row in await self._store.news_of(call_id)), default=0)
        except AccessError as error:  # its key cannot be checked now, so it keeps waiting
            _log.warning("call %s does not go on yet: %s", call_id, error)
            return _read_outcome(place)
        except (ValueError, SurfaceError) as error:
            return await self.end(call_id, _make_refusal(error)) or _read_outcome(await self._read_call(call_id))
        prepared = session.find(call.tool_name)
        if prepared.unready is not None and prepared.refusal is None:
            return _read_outcome(place)
        if handed:
            call.options = msgspec.structs.replace(call.options, handed=handed)
            call.secrets |= handed.secrets
        resume_numbering(call, self._services, told, past.notes, past.request)
        is_received = past.request is not None and past.request.purpose == "input"
        return await self.resolve_outcome(
            await resolve(drive(call, self._services, AFTER_REPLY if is_received else AFTER_APPROVAL))
        )

    def _refuse_ended_key(self, past: PastCall) -> None:
        """Raises _KeyEnded for a call whose key is no longer valid, and AccessError when the keys cannot be read."""
        asked = past.request  # sealed, unlike the rest of the rows: nobody can have changed the channel in it
        why = self._services.why_ended(past.context.channel if asked is None else asked.channel, self._services.wall())
        if why is not None:
            raise _KeyEnded(why)

    async def cancel(
        self, call_id: str, cancel: Cancel, *, caller: SurfaceRequest | None = None, within: float = 1.0
    ) -> Cancellation | None:
        """Asks a call to stop, in any process, and returns what is known after `within` seconds. None when there is no such
        call (of this caller)."""
        live = self._services.live.calls.get(call_id)
        if live is not None:
            if caller is not None and not _is_same_principal(live.call.session.surface.request, caller):
                return None
            live.ask_to_stop(cancel)
            return await _wait_for_stop(live, within)
        place = await self._read_call(call_id)
        if not _is_call_of(place.rows, caller):
            return None
        await self._record_news(place, "cancel_requested", cancel.to_record())
        if place.open is not None and place.open.state in WAITING_STATES and not _is_doubtful(place):
            ended = await self.end(call_id, cancel.to_stop(), abort_reason=cancel.abort_reason)
            if ended is not None:
                await self._record_news(place, "cancel_acknowledged", {"abort_reason": cancel.abort_reason})
                return Cancellation(invocation_id=call_id, outcome="canceled", is_acknowledged=True, is_supported=True,
                                    state="canceled", message="it was waiting, and is canceled")  # fmt: skip
            place = await self._read_call(call_id)
        if place.open is None or _is_doubtful(place):
            return await self._report_too_late(place, call_id)
        # Other processes look for requests to cancel when the generation has changed.
        self._store.bump()
        return await self._wait_for_other_process(call_id, within)

    async def _report_too_late(self, place: CallSnapshot, call_id: str) -> Cancellation:
        await self._record_news(place, "cancel_failed", {"why": "too_late"})
        state = place.rows[-1].outcome
        message = f"it had ended already ({state})"
        if place.open is not None:
            message = (
                f"it is not known whether it acted; find out, then say so with 'ferrule settle {call_id} --reason HOW'"
            )
        return Cancellation(invocation_id=call_id, outcome="cancel_failed", state=state, message=message)

    async def _wait_for_other_process(self, call_id: str, within: float) -> Cancellation:
        """Waits for a call that runs in another process to stop, and returns the outcome."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        newest = await self._store.rows_before(None, 1)
        place = await self._read_call(call_id)
        while place.open is not None and (left := until - loop.time()) > 0:
            await self._store.wait_after(newest[0].seq, min(left, 0.1))
            newest = await self._store.rows_before(None, 1)
            place = await self._read_call(call_id)
        state = place.open.state if place.open is not None else place.rows[-1].outcome
        if place.open is not None:
            message = "its process was told; the call ends when its tool does"
            return Cancellation(invocation_id=call_id, outcome="requested", state=state, message=message)
        is_canceled = state == "canceled"
        return Cancellation(
            invocation_id=call_id,
            outcome="canceled" if is_canceled else "cancel_failed",
            is_acknowledged=is_canceled,
            state=state,
            message="it was canceled" if is_canceled else f"it ended otherwise ({state})",
        )

    async def _record_news(self, place: CallSnapshot, outcome: News, data: dict[str, object]) -> None:
        first, now, redactor = place.rows[0], self._services.now(), self._services.redactor
        if redactor is not None and not redactor.is_idle:
            data = redactor.value(data)[0]
        level = header_of(first.segment()).audit_level
        body = NewsBody([{"at": now, "event": f"tool.invocation.{outcome}", "data": data}], audit_level=level)
        await self._store.commit(Entry("news", first.call, now, first.tool, outcome, body))

    async def end(
        self,
        call_id: str,
        stop: Stop,
        answer: Answer | None = None,
        abort_reason: str | None = None,
        *,
        seq: int | None = None,
    ) -> Result | None:
        """Ends a waiting call, with a complete record. None when it no longer waits, or when its last row has another number
        than `seq`."""
        place = await self._read_call(call_id)
        if place.open is None or place.open.state in HELD_STATES or seq not in (None, place.open.seq):
            return None
        call = self._revive_to_end(place.open, place.rows)
        if abort_reason is not None:
            call.notes = {**call.notes, "abort_reason": abort_reason}
        if answer is not None:
            call.judgement = msgspec.structs.replace(call.judgement, answer=answer)
            asked = call.recorded.request if call.recorded is not None else None
            if asked is None or asked.purpose == "approval":  # settling an outcome approves nothing
                call.judge(self._make_decision(answer))
        if call.state == "needs_input":  # it had begun to run, and a person tells how that ended
            call.ending.has_run = answer is None or answer.verdict == "approve"
            call.enter("running")
        outcome = await resolve(stop_call(call, self._services, stop))
        return outcome if isinstance(outcome, Result) else None

    async def recover(self) -> list[str]:
        """Recovers calls whose process is gone, or whose end could not be recorded. Ends read-only calls; for others a person
        has to tell whether the action happened."""
        await self._recover_unrecorded()
        return await self._apply_to_each(await self._store.find_abandoned(), self._recover_abandoned)

    async def _recover_unrecorded(self) -> None:
        """Recovers calls that ended in this process while the ledger could not be written, once it can."""
        unrecorded = self._services.live.unrecorded
        for call_id in sorted(unrecorded):
            opened = await self._store.find_open(call_id)
            if opened is not None and opened.state in HELD_STATES:
                try:
                    await self._recover_call(opened, "the ledger could not be written when it ended")
                except LedgerError:
                    # The ledger is gone again: the others stay on the list until it is back.
                    return
            unrecorded.discard(call_id)

    async def sweep(self) -> None:
        """Ends calls that nobody answered in time."""
        waiting = await self._store.open_calls("awaiting_approval", "needs_input")
        await self._apply_to_each(find_expired(waiting, self._services.wall()), self._expire)

    async def resume_answered(self) -> None:
        """Resumes every answered call that no process runs."""
        await self._apply_to_each(await self._store.open_calls(*RESUMABLE_STATES, "needs_input"), self._resume)

    async def _apply_to_each(self, calls: Iterable[OpenCall], do: Callable[[OpenCall], Awaitable[object]]) -> list[str]:
        """Applies an action to each call, and returns the ids of those where it succeeded; a damaged one does not stop it."""
        done = []
        for open_call in calls:
            try:
                await do(open_call)
                done.append(open_call.call)
            except (FerruleError, ValueError) as error:
                _log.warning("call %s was left as it is: %s", open_call.call, error)
        return done

    async def _recover_abandoned(self, abandoned: OpenCall) -> None:
        await self._recover_call(abandoned, "the process that had it ended before it did")

    async def _recover_call(self, lost: OpenCall, why: str) -> None:
        place = await self._read_call(lost.call)
        if place.open is None or place.open.seq != lost.seq:
            return  # another process was quicker
        call = self._revive_to_end(place.open, place.rows)
        if place.open.state == "queued":
            message = f"{why}; its turn had not come, so nothing ran, and it can be called again"
            stop = Stop("execution_failed", message, "interrupted", recoverability="retry")
            await resolve(stop_call(call, self._services, stop))
            return
        call.ending.has_run = True
        if call.prepared.traits.is_read_only:
            message = f"{why}; it only read, so it can be called again"
            stop = Stop("execution_failed", message, "interrupted", recoverability="retry")
            await resolve(stop_call(call, self._services, stop))
        else:
            await self._ask_what_happened(call, place.open, why)

    async def _expire(self, open_call: OpenCall) -> None:
        await self.end(open_call.call, make_expiry_stop(open_call))

    async def _resume(self, open_call: OpenCall) -> None:
        await self.resume(open_call.call)

    async def _ask_what_happened(self, call: Call, open_call: OpenCall, why: str) -> None:
        call.enter("needs_input")
        message = (
            f"{why}, so it is not known whether it acted;"
            f" find out, then say 'ferrule settle {call.invocation_id} --happened --reason HOW', or --did-not-happen"
        )
        park = Park(build_question(call, self._services, "outcome", message, _FOREVER))
        condition = CommitCondition(states=frozenset({"running"}), seq=open_call.seq)
        await self._store.commit(build_unknown_row(call, self._services, park), condition)

    def _revive_to_end(self, open_call: OpenCall, rows: Sequence[StoredEntry]) -> Call:
        past = read_past(rows, self._services, opens_inputs=False)
        return revive_to_end(open_call.call, past, open_call, self._services)

    async def _read_call(self, call_id: str) -> CallSnapshot:
        """Reads a call: its open state together with exactly the rows behind it. Raises LedgerDamaged."""
        rows: list[StoredEntry] = []
        # State and rows are two reads; a writer may come between them, so they are repeated until they agree.
        for _ in range(_LOOKS):
            open_call = await self._store.find_open(call_id)
            rows = await self._store.rows_of(call_id)
            if open_call is None or (rows and (rows[-1].seq, rows[-1].outcome) == (open_call.seq, open_call.state)):
                return CallSnapshot(open_call, rows)
        raise LedgerDamaged(f"what the ledger says of {call_id} contradicts itself; 'ferrule audit verify' tells more")

    def _make_decision(self, answer: Answer) -> Decision:
        is_yes = answer.verdict == "approve"
        message = f"{'approved' if is_yes else 'rejected'} by {answer.by}"
        ruling = Ruling("allow" if is_yes else "deny", message, "permission_prompt_tool")
        return Decision(ruling, answer.answered_at, answer.by, feedback=answer.reason)


class CallSnapshot(NamedTuple):
    """A call at one moment: its open state and its rows. `open` is None when it has ended."""

    open: OpenCall | None
    rows: list[StoredEntry]


CallOutcome = Result | Pending | None


class _KeyEnded(ValueError):
    """The key of a call became invalid while the call waited."""


def _is_same_principal(of: SurfaceRequest | Header, caller: SurfaceRequest) -> bool:
    """True for the same principal of the same tenant: calls of others look like unknown calls."""
    return (of.principal, of.tenant) == (caller.principal, caller.tenant)


def _is_call_of(rows: Sequence[StoredEntry], caller: SurfaceRequest | None) -> bool:
    return bool(rows) and (caller is None or _is_same_principal(header_of(rows[0].segment()), caller))


def _can_resume(place: CallSnapshot) -> bool:
    """True for a call that only waits for a process to run it: approved, or its tool's question is answered."""
    assert place.open is not None
    return place.open.state in RESUMABLE_STATES or (
        place.open.state == "needs_input" and place.rows[-1].kind == "answered"
    )


def _is_doubtful(place: CallSnapshot) -> bool:
    """True for a call that a crash interrupted: it may have acted, so it cannot count as canceled."""
    return place.open is not None and bool(place.rows) and place.rows[-1].kind == "unknown"


async def _wait_for_stop(live: LiveCall, within: float) -> Cancellation:
    """Waits for a call of this process to stop, and returns the outcome."""
    call = live.call
    is_supported = live.support.cancel if live.stage == "running" else True
    until = live.loop.time() + within
    while not live.has_ended and (left := until - live.loop.time()) > 0:
        await live.wait_for_change(left)
    is_canceled = live.has_ended and call.state == "canceled"
    outcome = "canceled" if is_canceled else "cancel_failed" if live.has_ended else "requested"
    message = {
        "canceled": "it was canceled",
        "cancel_failed": f"it ended otherwise ({call.state})",
        "requested": "its tool was told and has not stopped; the call ends when the tool does"
        if is_supported
        else "its tool cannot be stopped; the call ends when the tool does",
    }[outcome]
    return Cancellation(
        invocation_id=call.invocation_id,
        outcome=outcome,  # type: ignore[arg-type]
        is_acknowledged=is_canceled,
        is_supported=is_supported,
        state=call.state,
        message=message,
    )


def _refuse_forged(past: PastCall, key: bytes) -> None:
    """Raises ValueError when the answer a tool would get was forged, changed, or given to another question."""
    request = past.request
    if request is None or request.purpose != "input" or not past.answers:
        return
    answer = past.answers[-1]
    if not is_sealed(key, request) or answer.edited_input is None or not is_genuine(request, answer, key):
        raise ValueError(f"the answer to {request.invocation_id} was not given here, or was changed since")


def _read_outcome(place: CallSnapshot) -> CallOutcome:
    return read_answer(place.rows, place.open.state if place.open is not None else None)


def _make_refusal(error: Exception) -> Stop:
    """Returns how an answered call ends that cannot resume: it may neither wait for ever nor run something else."""
    if isinstance(error, _KeyEnded):
        return Stop("policy_blocked", f"{error}, so the call does not go on", "key_ended")
    if isinstance(error, SurfaceError):
        return Stop("policy_blocked", f"the caller's surface cannot be made again: {error}", "surface_gone")
    message = "what the ledger holds of the call was changed, so it does not run; 'ferrule audit verify' tells more"
    return Stop("policy_blocked", message, "record_changed")

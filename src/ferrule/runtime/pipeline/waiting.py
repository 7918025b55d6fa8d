"""Calls whose tool waits for a person mid-run: the question in the inbox, and the progress record about it (AT-202)."""

from __future__ import annotations

import logging
from contextlib import suppress

import msgspec

from ferrule.contracts.executor import Waiting
from ferrule.contracts.store import CommitCondition
from ferrule.errors import LedgerError
from ferrule.model.approval import ApprovalRequest, seal_record
from ferrule.model.decision import CLIENT_CHANNEL, Requirement
from ferrule.model.journal import Entry
from ferrule.model.news import progress_row
from ferrule.model.progress import progress_of
from ferrule.model.timestamps import MICROSECONDS
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.services import Services


def build_waiting_request(call: Call, services: Services, waiting: Waiting) -> ApprovalRequest:
    """Builds the sealed question a tool waits for; the seal keeps the ledger from changing who may answer."""
    expires = services.wall() + waiting.expires_seconds * MICROSECONDS
    requirement = waiting.requirement
    if waiting.client_requests:
        requirement = Requirement(reply_channel=CLIENT_CHANNEL, is_reply_only=True)
    asked = build_question(call, services, "input", waiting.message, expires, requirement)
    return seal_record(services.sealing.secret, asked)


def build_question(
    call: Call,
    services: Services,
    purpose: str,
    message: str,
    expires_at: int,
    requirement: Requirement = Requirement(),  # noqa: B008  # frozen
) -> ApprovalRequest:
    """Builds a question about a call that has begun to run."""
    entry = call.prepared.entry
    request = call.session.surface.request
    return ApprovalRequest(
        invocation_id=call.invocation_id,
        tool_id=call.prepared.tool_id,
        tool_version=entry.tool.version if entry is not None else None,
        tool_digest=entry.digest if entry is not None else "",
        tool_title=(entry.tool.title or entry.tool.name) if entry is not None else call.tool_name,
        principal=request.principal,
        agent=request.agent,
        channel=request.channel,
        tenant=request.tenant,
        holder=request.holder or msgspec.UNSET,
        requested_at=services.wall(),
        expires_at=expires_at,
        binding=b"",
        requirement=requirement,
        message=redact_secrets(call, services, message),
        risk=call.prepared.traits.risk,
        purpose="input" if purpose == "input" else "outcome",
    )


_log = logging.getLogger("ferrule.pipeline")

PROGRESSED = "progressed"
"""The note of a parked row with the number of its progress record; the process that resumes the call counts on from
there (AT-198).
"""


def number_waiting_progress(call: Call) -> None:
    """Reserves the number of the progress record about the waiting; it is stored in the parked row."""
    sequence = (call.flight.sequence if call.flight.live is None else call.flight.live.sequence) + 1
    call.notes = {**call.notes, PROGRESSED: sequence}


async def record_waiting(call: Call, services: Services, request: ApprovalRequest, seq: int) -> None:
    """Writes the progress record of a call parked with row `seq`, unless another process has resumed the call already."""
    row = _build_progress_row(call, services, request, call.notes[PROGRESSED])
    try:
        await services.store.commit(row, CommitCondition(states=frozenset({call.state}), seq=seq))
    except LedgerError as error:
        _log.warning("the progress record of waiting call %s could not be written: %s", call.invocation_id, error)


def resume_numbering(
    call: Call, services: Services, told: int, notes: JsonObject, request: ApprovalRequest | None
) -> None:
    """Continues the numbering of a parked call. `told`: the last number in the ledger; a missing record is written now."""
    waiting = notes.get(PROGRESSED, 0)
    if waiting > told and request is not None:
        with suppress(LedgerError):  # the call resumes anyway; later progress is still recorded
            services.store.record(_build_progress_row(call, services, request, waiting))
    call.flight.sequence = max(waiting, told)


def _build_progress_row(call: Call, services: Services, request: ApprovalRequest, sequence: int) -> Entry:
    status = "waiting_for_input" if request.purpose == "input" else "waiting_for_permission"
    now = services.now()
    elapsed = max(0, (now - call.created_at) // 1000)
    facts = {"status": status, "message": request.message}
    said = progress_of(call.invocation_id, sequence, now, elapsed, facts)
    happened = [{"at": now, "event": "tool.invocation.progress", "data": said.to_record()}]
    body, payload = progress_row(happened, sequence)
    body.audit_level = call.session.surface.audit_level
    return Entry("news", call.invocation_id, now, call.prepared.tool_id, "progress", body, payload)

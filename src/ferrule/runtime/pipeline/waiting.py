"""A tool that waits for somebody mid-run: the question it leaves in the inbox, and the news of it for followers (AT-202)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

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
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.services import Services


def build_waiting_request(call: Call, services: Services, waiting: Waiting) -> ApprovalRequest:
    """What is asked of a person so that the tool can go on, sealed: who may answer is not for the ledger to change."""
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
    """A question about a call that has begun to run."""
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
"""The note of a parked row with the number of the progress that tells of it: whoever goes on with the call, perhaps at once
and elsewhere, counts on from there (AT-198)."""


def number_waiting_progress(call: Call) -> None:
    """Take a number for the progress that will tell that the call waits; it stands in the row that parks the call."""
    sequence = (call.flight.sequence if call.flight.live is None else call.flight.live.sequence) + 1
    call.notes = {**call.notes, PROGRESSED: sequence}


async def record_waiting(call: Call, services: Services, request: ApprovalRequest, seq: int) -> None:
    """Write a piece of progress about a call that was parked just now, with the row of that number; unless somebody goes on
    with it already, who then tells it first."""
    row = _build_progress_row(call, services, request, call.notes[PROGRESSED])
    try:
        await services.store.commit(row, CommitCondition(states=frozenset({call.state}), seq=seq))
    except LedgerError as error:
        _log.warning("that %s waits could not be told: %s", call.invocation_id, error)


def resume_numbering(
    call: Call, services: Services, told: int, notes: Mapping[str, Any], request: ApprovalRequest | None
) -> None:
    """Go on counting where a parked call was. `told`: the last number in the ledger; what is missing up to there comes now."""
    waiting = notes.get(PROGRESSED, 0)
    if waiting > told and request is not None:
        with suppress(LedgerError):  # it goes on all the same, and what it says next is told later
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

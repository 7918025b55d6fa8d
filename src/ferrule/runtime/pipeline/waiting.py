"""A tool that waits for somebody mid-run: the question it leaves in the inbox."""

from __future__ import annotations

import msgspec

from ferrule.contracts.executor import Waiting
from ferrule.model.approval import ApprovalRequest, sealed
from ferrule.model.decision import CLIENT_CHANNEL, Requirement
from ferrule.model.timestamps import MICROSECONDS
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.untold import without_secrets


def waiting_request(call: Call, services: Services, waiting: Waiting) -> ApprovalRequest:
    """What is asked of a person so that the tool can go on, sealed: who may answer is not for the ledger to change."""
    expires = services.wall() + waiting.expires_seconds * MICROSECONDS
    requirement = waiting.requirement
    if waiting.client_requests:
        requirement = Requirement(reply_channel=CLIENT_CHANNEL, is_reply_only=True)
    asked = question(call, services, "input", waiting.message, expires, requirement)
    return sealed(services.sealing.secret, asked)


def question(
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
        message=without_secrets(call, services, message),
        risk=call.prepared.traits.risk,
        purpose="input" if purpose == "input" else "outcome",
    )

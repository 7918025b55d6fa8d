"""Requests and answers to test with, sealed with one key."""

from __future__ import annotations

from typing import Any

from ferrule.model.approval import Answer, ApprovalRequest, seal_record
from ferrule.model.decision import Requirement
from ferrule.model.timestamps import MICROSECONDS
from ferrule.runtime.approval.check import compute_binding

KEY = b"k" * 32
START = 1_700_000_000 * MICROSECONDS
HOUR = 3600 * MICROSECONDS
INPUT = b'{"amount":5}'


def make_request(
    requirement: Requirement | None = None, *, call_input: bytes = INPUT, **changes: Any
) -> ApprovalRequest:
    """A sealed request of an agent that acts for Alice; it stands for an hour."""
    fields: dict[str, Any] = {
        "invocation_id": "inv_1",
        "tool_id": "refund",
        "tool_version": "1.0.0",
        "tool_digest": "sha256:aa",
        "tool_title": "Refund a payment",
        "principal": "alice",
        "agent": "support",
        "channel": "token:agent",
        "tenant": "default",
        "requested_at": START,
        "expires_at": START + HOUR,
        "binding": b"",
        "requirement": requirement or Requirement(),
        "message": "rule refunds asks",
        "risk": "high",
        "rule_refs": ("refunds",),
    } | changes
    unbound = ApprovalRequest(**fields)
    fields["binding"] = compute_binding(KEY, unbound, call_input)
    return seal_record(KEY, ApprovalRequest(**fields))


def make_answer(asked: ApprovalRequest, by: str = "ada", *, call_input: bytes = INPUT, **changes: Any) -> Answer:
    """A sealed yes, a second after the request."""
    fields: dict[str, Any] = {
        "invocation_id": asked.invocation_id,
        "verdict": "approve",
        "by": by,
        "channel": f"token:{by}",
        "answered_at": asked.requested_at + MICROSECONDS,
        "binding": compute_binding(KEY, asked, call_input),
    } | changes
    return seal_record(KEY, Answer(**fields))

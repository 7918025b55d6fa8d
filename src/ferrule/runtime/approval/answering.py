"""How an answer is made and written down: sealed, bound to one input, and as a row of the call's ledger. Pure."""

from __future__ import annotations

from typing import Literal

from ferrule.model.approval import Answer, Identity, sealed
from ferrule.model.failure import Stop
from ferrule.model.journal import Entry, Mark, Payload, Segment
from ferrule.model.lifecycle import STATES
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.approval.story import Question

_APPROVED = STATES.index("approved")


def answer_of(
    identity: Identity,
    question: Question,
    key: ApprovalKey,
    *,
    verdict: Literal["approve", "reject"],
    binding: bytes,
    reason: str | None,
    now: int,
) -> Answer:
    """One identity's answer, sealed."""
    answer = Answer(
        invocation_id=question.request.invocation_id,
        verdict=verdict,
        by=identity.principal,
        channel=identity.channel,
        answered_at=now,
        binding=binding,
        groups=tuple(sorted(identity.groups)),
        reason=reason or None,
    )
    return sealed(key.secret, answer)


def answered_row(question: Question, answer: Answer, *, is_enough: bool, payload: Payload | None) -> Entry:
    """The row of an approval. The edited input is personal, so it stands in the payload alone."""
    state = "approved" if is_enough else "awaiting_approval"
    # The wall clock may have been set back since the call was planned; its states go on in order all the same.
    since_planned = max((answer.answered_at - question.created_at) * 1000, question.entered)
    states = [since_planned << 5 | _APPROVED] if is_enough else []
    segment = Segment(question.header, question.created_at, [], states, answer=answer)
    mark = Mark(
        state=state,
        expires_at=question.request.expires_at,
        tool_id=question.open.tool_id,
        principal=question.open.principal,
        agent=question.open.agent,
        tenant=question.open.tenant,
    )
    call = question.request.invocation_id
    return Entry("answered", call, answer.answered_at, question.tool, state, segment, payload, mark)


def input_row(question: Question, answer: Answer, payload: Payload) -> Entry:
    """The row of an answer to a tool that waits. What was answered is personal, so it stands in the payload alone."""
    segment = Segment(question.header, question.created_at, [], [], answer=answer)
    opened = question.open
    mark = Mark(
        state=opened.state,
        expires_at=question.request.expires_at,
        tool_id=opened.tool_id,
        principal=opened.principal,
        agent=opened.agent,
        tenant=opened.tenant,
    )
    call = question.request.invocation_id
    return Entry("answered", call, answer.answered_at, question.tool, opened.state, segment, payload, mark)


def rejection(by: str, reason: str) -> Stop:
    """How a rejected call ends."""
    return Stop("approval_rejected", f"{by} rejected it: {reason}" if reason else f"{by} rejected it")


def settlement(by: str, note: str, *, happened: bool) -> Stop:
    """How a call ends whose outcome a person found out."""
    because = f": {note}" if note else ""
    if happened:
        message = f"the tool acted, says {by}{because}; its output was lost when the process ended"
        return Stop("partial_failure", message, "outcome_settled", state="succeeded")
    message = f"the tool did not act, says {by}{because}; the call can be made again"
    return Stop("execution_failed", message, "outcome_settled", recoverability="retry")

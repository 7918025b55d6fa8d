"""Makes answers and delegations: seals them, and writes them as rows of the call's ledger. Pure.

An answer is bound to one input. A delegation gives somebody else the right to answer and takes it from nobody; one
that is not sealed, or was made by somebody who could not have answered, gives nothing. The call itself stays where it
is. `inbox` stands above; nothing here commits a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from ferrule.model.approval import Answer, ApprovalRequest, Delegation, Identity, is_sealed, seal_record
from ferrule.model.failure import Stop
from ferrule.model.journal import Entry, Mark, NewsBody, Payload, Segment, StoredEntry
from ferrule.model.lifecycle import STATES
from ferrule.model.news import facts_in
from ferrule.model.value import JsonObject
from ferrule.runtime.approval.check import find_objection
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.approval.question import OpenQuestion

_APPROVED = STATES.index("approved")


def make_answer(
    identity: Identity,
    question: OpenQuestion,
    key: ApprovalKey,
    *,
    verdict: Literal["approve", "reject"],
    binding: bytes,
    reason: str | None,
    now: int,
) -> Answer:
    """Makes one identity's answer, sealed."""
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
    return seal_record(key.secret, answer)


def make_approval_row(question: OpenQuestion, answer: Answer, *, is_enough: bool, payload: Payload | None) -> Entry:
    """Makes the row of an approval. The edited input is personal, so it stands in the payload alone."""
    # The wall clock may have been set back since the call was planned; its states go on in order all the same.
    since_planned = max((answer.answered_at - question.created_at) * 1000, question.entered)
    states = [since_planned << 5 | _APPROVED] if is_enough else []
    return _make_answer_row(question, answer, "approved" if is_enough else "awaiting_approval", states, payload)


def make_input_row(question: OpenQuestion, answer: Answer, payload: Payload) -> Entry:
    """Makes the row of an answer to a tool that waits. The answer is personal, so it stands in the payload alone."""
    return _make_answer_row(question, answer, question.open.state, [], payload)


def _make_answer_row(
    question: OpenQuestion, answer: Answer, state: str, states: list[int], payload: Payload | None
) -> Entry:
    segment = Segment(question.header, question.created_at, [], states, answer=answer)
    # Without an owner: any process may let the call go on.
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


def make_rejection(by: str, reason: str) -> Stop:
    """Makes the stop of a rejected call."""
    return Stop("approval_rejected", f"{by} rejected it: {reason}" if reason else f"{by} rejected it")


def make_settlement(by: str, note: str, *, happened: bool) -> Stop:
    """Makes the stop of a call whose outcome a person found out."""
    because = f": {note}" if note else ""
    if happened:
        message = f"the tool acted, says {by}{because}; its output was lost when the process ended"
        return Stop("partial_failure", message, "outcome_settled", state="succeeded")
    message = f"the tool did not act, says {by}{because}; the call can be made again"
    return Stop("execution_failed", message, "outcome_settled", recoverability="retry")


DELEGATED = "delegated"
_EVENT = f"tool.invocation.{DELEGATED}"
_LONGEST = 200


def make_delegation(
    identity: Identity, call: str, key: ApprovalKey, *, to: str, reason: str | None, now: int
) -> Delegation:
    """Makes one identity's delegation of a call, sealed."""
    delegation = Delegation(
        invocation_id=call,
        by=identity.principal,
        channel=identity.channel,
        to=to,
        delegated_at=now,
        groups=tuple(sorted(identity.groups)),
        reason=reason or None,
    )
    return seal_record(key.secret, delegation)


def make_delegation_row(delegation: Delegation, tool: str, audit_level: str) -> Entry:
    """Makes the row of a delegation. It changes no state, so it is news of the call."""
    happened = {"at": delegation.delegated_at, "event": _EVENT, "data": msgspec.to_builtins(delegation)}
    body = NewsBody([happened], audit_level=audit_level)
    return Entry("news", delegation.invocation_id, delegation.delegated_at, tool, DELEGATED, body)


def read_delegations(news: Iterable[StoredEntry], request: ApprovalRequest, key: ApprovalKey) -> tuple[Delegation, ...]:
    """Reads the delegations of one request that count, oldest first. Raises LedgerDamaged."""
    found: list[Delegation] = []
    for fact in (fact for row in news if row.outcome == DELEGATED for fact in facts_in(row)):
        delegation = _read_delegation(fact.data)
        # Judged in order: an earlier delegation may have given this one's author the right to delegate.
        if delegation is not None and _is_counted(delegation, request, found, key):
            found.append(delegation)
    return tuple(found)


def add_delegates(request: ApprovalRequest, delegations: Sequence[Delegation]) -> ApprovalRequest:
    """Returns the request with everybody who may answer it after these delegations. A request to anybody stays one to
    anybody."""
    demanded = request.requirement
    if not demanded.approvers or not delegations:
        return request
    named = dict.fromkeys((*demanded.approvers, *(delegation.to for delegation in delegations)))
    return replace(request, requirement=replace(demanded, approvers=tuple(named)))


def why_unusable_name(to: str) -> str | None:
    """Returns why the name cannot be a person's or a group's; None when it can."""
    if not to.strip() or to != to.strip() or to == "group:":
        return "name the person, or the group as 'group:NAME'"
    if len(to) > _LONGEST or not to.isprintable():
        return "nobody has a name like that: it is too long, or holds characters that no name has"
    return None


def _read_delegation(data: JsonObject) -> Delegation | None:
    try:
        return msgspec.convert(data, Delegation)
    except msgspec.ValidationError:
        return None


def _is_counted(
    delegation: Delegation, request: ApprovalRequest, before: Sequence[Delegation], key: ApprovalKey
) -> bool:
    """Returns True for a delegation made here, of this request, by a person who could answer it at that moment."""
    if delegation.invocation_id != request.invocation_id or not is_sealed(key.secret, delegation):
        return False
    if not request.requested_at <= delegation.delegated_at < request.expires_at:
        return False
    standing = add_delegates(request, before)
    return find_objection(standing, name=delegation.by, channel=delegation.channel, groups=delegation.groups) is None

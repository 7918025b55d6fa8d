"""Tasks that are handed on: who named whom, sealed like an answer and written beside the call, which stays where it is.

A delegation gives somebody else the right to answer; it takes it from nobody. What is not sealed, or was made by somebody who
could not have answered, gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ferrule.model.approval import ApprovalRequest, Delegation, Identity, is_sealed, sealed
from ferrule.model.journal import Entry, NewsBody, StoredEntry
from ferrule.model.news import facts_in
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.approval.people import objection

DELEGATED = "delegated"
_EVENT = f"tool.invocation.{DELEGATED}"
_LONGEST = 200


def delegation_of(
    identity: Identity, call: str, key: ApprovalKey, *, to: str, reason: str | None, now: int
) -> Delegation:
    """One identity hands a call on, sealed."""
    delegation = Delegation(
        invocation_id=call,
        by=identity.principal,
        channel=identity.channel,
        to=to,
        delegated_at=now,
        groups=tuple(sorted(identity.groups)),
        reason=reason or None,
    )
    return sealed(key.secret, delegation)


def delegation_row(delegation: Delegation, tool: str, audit_level: str) -> Entry:
    """The row of a delegation. It moves nothing, so it is news of the call."""
    happened = {"at": delegation.delegated_at, "event": _EVENT, "data": msgspec.to_builtins(delegation)}
    body = NewsBody([happened], audit_level=audit_level)
    return Entry("news", delegation.invocation_id, delegation.delegated_at, tool, DELEGATED, body)


def delegations_in(news: Iterable[StoredEntry], request: ApprovalRequest, key: ApprovalKey) -> tuple[Delegation, ...]:
    """The delegations of one request that count, oldest first. Raises LedgerDamaged."""
    found: list[Delegation] = []
    for fact in (fact for row in news if row.outcome == DELEGATED for fact in facts_in(row)):
        delegation = _read(fact.data)
        if delegation is not None and _counts(delegation, request, found, key):
            found.append(delegation)
    return tuple(found)


def handed_on(request: ApprovalRequest, delegations: Sequence[Delegation]) -> ApprovalRequest:
    """The request as it stands after these: with everybody who may answer it. A request to anybody stays one to anybody."""
    demanded = request.requirement
    if not demanded.approvers or not delegations:
        return request
    named = dict.fromkeys((*demanded.approvers, *(delegation.to for delegation in delegations)))
    return replace(request, requirement=replace(demanded, approvers=tuple(named)))


def name_problem(to: str) -> str | None:
    """Why nobody can be called that; None when somebody can."""
    if not to.strip() or to != to.strip() or to == "group:":
        return "name the person, or the group as 'group:NAME'"
    if len(to) > _LONGEST or not to.isprintable():
        return "nobody has a name like that: it is too long, or holds characters that no name has"
    return None


def _read(data: dict[str, Any]) -> Delegation | None:
    try:
        return msgspec.convert(data, Delegation)
    except msgspec.ValidationError:
        return None


def _counts(delegation: Delegation, request: ApprovalRequest, before: Sequence[Delegation], key: ApprovalKey) -> bool:
    """True for one that was made here, of this request, by somebody who could answer it at that moment."""
    if delegation.invocation_id != request.invocation_id or not is_sealed(key.secret, delegation):
        return False
    if not request.requested_at <= delegation.delegated_at < request.expires_at:
        return False
    standing = handed_on(request, before)
    return objection(standing, name=delegation.by, channel=delegation.channel, groups=delegation.groups) is None

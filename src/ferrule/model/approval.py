"""Approval: the question to a person, their answer, and the binding that ties the answer to exactly one call.

The binding covers tool digest, final input, principal, agent, expiry and invocation. Both it and the answer's seal are
keyed, with a key kept outside the ledger: write access to the database is not enough to forge or move an approval.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal, TypeVar

import msgspec

from ferrule.model.decision import Requirement, Risk

APPROVE = "approve"
CALL = "call"
ADMIN = "admin"
SCOPES = (CALL, APPROVE, ADMIN)
"""The scopes of a channel: make calls; answer requests; change switches, rules and keys."""

_BINDING = b"ferrule approval binding 1"
_SEAL = b"ferrule approval answer 1"
_REQUEST_SEAL = b"ferrule approval request 1"
_DELEGATION_SEAL = b"ferrule delegation 1"


class Identity(msgspec.Struct, frozen=True, cache_hash=True):
    """An authenticated person or program, and the channel of the connection."""

    principal: str
    channel: str
    """Names the credential and the connection; the channel that made a call never approves it."""
    scopes: frozenset[str] = frozenset({CALL})
    groups: frozenset[str] = frozenset()
    tenant: str | None = None
    """The one tenant it belongs to and can see; None: the whole workspace."""


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a person: may this very call run?"""

    invocation_id: str
    tool_id: str
    tool_version: str | None
    tool_digest: str
    tool_title: str
    principal: str
    agent: str | None
    channel: str
    tenant: str
    requested_at: int
    expires_at: int
    binding: bytes
    requirement: Requirement
    message: str
    """Why a person is asked: the rule and its reason."""
    risk: Risk
    rule_refs: tuple[str, ...] = ()
    suggested_updates: tuple[dict[str, object], ...] = ()
    purpose: Literal["approval", "outcome", "input"] = "approval"
    """`outcome`: a crash left it unknown whether the tool acted. `input`: the tool itself waits for an answer."""
    holder: str | msgspec.UnsetType = msgspec.UNSET
    """Whose credential made the call, where it is not the principal's. Not written when unset, so that older seals hold."""
    seal: bytes = b""
    """Set by `seal_record` when the call is parked: write access to the ledger is not enough to lower the requirement."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One person's yes or no."""

    invocation_id: str
    verdict: Literal["approve", "reject"]
    by: str
    channel: str
    answered_at: int
    binding: bytes
    """The approved call: equal to the request's binding, or to that of the edited input."""
    groups: tuple[str, ...] = ()
    """The groups the person was in when they answered."""
    reason: str | None = None
    edited_input: bytes | None = None
    """The input as the approver changed it, JSON."""
    seal: bytes = b""


class Delegation(msgspec.Struct, frozen=True, kw_only=True):
    """The hand-over of a task from one person to another person or group, who may answer it too."""

    invocation_id: str
    by: str
    channel: str
    to: str
    """A person, or a group as `group:finance`."""
    delegated_at: int
    groups: tuple[str, ...] = ()
    """The groups of the person who delegated, at that time."""
    reason: str | None = None
    seal: bytes = b""


def binding_of(
    key: bytes,
    *,
    invocation_id: str,
    tool_digest: str,
    call_input: bytes,
    principal: str,
    agent: str | None,
    expires_at: int,
) -> bytes:
    """Computes the binding of an approval. A change of any part gives another binding."""
    parts = (invocation_id, tool_digest, call_input, principal, agent or "", str(expires_at))
    return _keyed_digest(key, _BINDING, *(part.encode() if isinstance(part, str) else part for part in parts))


Sealed = TypeVar("Sealed", Answer, ApprovalRequest, Delegation)
# A prefix for each kind: the seal of one record must not pass for that of another.
_SEALS: dict[type, bytes] = {Answer: _SEAL, ApprovalRequest: _REQUEST_SEAL, Delegation: _DELEGATION_SEAL}


def seal_record(key: bytes, record: Sealed) -> Sealed:
    """Returns the request, answer or delegation with its seal."""
    return msgspec.structs.replace(record, seal=_seal(key, record))


def is_sealed(key: bytes, record: Answer | ApprovalRequest | Delegation) -> bool:
    """Returns True when the record was sealed by a holder of the key and not changed since."""
    return hmac.compare_digest(_seal(key, record), record.seal)


def _seal(key: bytes, record: Answer | ApprovalRequest | Delegation) -> bytes:
    # All fields are sealed: a new one has to be unset by default, or the seals on record no longer hold.
    return _keyed_digest(key, _SEALS[type(record)], msgspec.json.encode(msgspec.structs.replace(record, seal=b"")))


def _keyed_digest(key: bytes, *parts: bytes) -> bytes:
    state = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        # Lengths are hashed too: otherwise bytes could move from one part to the next without changing the digest.
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return state.digest()

"""Decides who may answer a request, whether the answers allow this very call now, and which requests have expired.

Pure. It trusts nothing that was stored: every seal, channel, person and binding is looked at again each time. The
inbox, the pipeline (through the app) and the servers' views stand above.
"""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from ferrule.model.approval import Answer, ApprovalRequest, binding_of, is_sealed
from ferrule.model.decision import Requirement
from ferrule.model.failure import Stop
from ferrule.model.journal import OpenCall
from ferrule.model.timestamps import iso

GROUP = "group:"


class Objection(msgspec.Struct, frozen=True):
    """A reason why a person may not approve."""

    flaw: Literal["own_channel", "requester", "not_an_approver"]
    message: str


def find_objection(request: ApprovalRequest, *, name: str, channel: str, groups: Collection[str]) -> Objection | None:
    """Finds the reason why this person, over this channel, may not approve the request; None when they may."""
    demanded = request.requirement
    if channel == request.channel and channel not in demanded.channels:
        return Objection("own_channel", f"the channel {channel} made the call, so it cannot approve it")
    if demanded.not_requester and normalize_person(name) == normalize_person(request.principal):
        return Objection("requester", f"the call is made for {name}, so somebody else has to approve it")
    if demanded.not_requester and request.holder and normalize_person(name) == normalize_person(request.holder):
        return Objection("requester", f"a credential of {name} made the call, so somebody else has to approve it")
    if not is_approver(demanded, name, groups):
        return Objection(
            "not_an_approver", f"{name} is not among those who may approve it: {format_approvers(demanded)}"
        )
    return None


def normalize_person(name: str) -> str:
    """Returns a name in the form that identifies a person: `Ada` and `ada ` are one."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def is_approver(demanded: Requirement, name: str, groups: Collection[str]) -> bool:
    """Returns True when the requirement names this person, one of their groups, or no approvers."""
    if not demanded.approvers:
        return True
    # A person named `group:NAME` is not that group; and a name that only resembles an approver's gives no right.
    is_named = name in demanded.approvers and not name.startswith(GROUP)
    return is_named or any(GROUP + group in demanded.approvers for group in groups)


def format_approvers(demanded: Requirement) -> str:
    """Formats the approvers a requirement names."""
    words = [f"group {name.removeprefix(GROUP)}" if name.startswith(GROUP) else name for name in demanded.approvers]
    return ", ".join(words) or "anybody with the approve scope"


EXPIRING_STATES = frozenset({"awaiting_approval", "needs_input"})


def find_expired(open_calls: Iterable[OpenCall], now: int) -> list[OpenCall]:
    """Finds the calls whose time to answer is over. `now`: the clock, or the ledger's latest time if that is later."""
    return [
        call
        for call in open_calls
        if call.state in EXPIRING_STATES and call.expires_at is not None and now >= call.expires_at
    ]


def make_expiry_stop(call: OpenCall) -> Stop:
    """Makes the stop of an expired call: it ends as `timed_out`, without having run."""
    until = iso(call.expires_at or 0)
    return Stop(
        "timeout", f"nobody answered until {until}, so the call of {call.tool_id!r} expired", "approval_expired"
    )


Flaw = Literal[
    "unsealed_request",
    "wrong_purpose",
    "expired",
    "unsealed_answer",
    "foreign_answer",
    "rejected",
    "changed",
    "own_channel",
    "requester",
    "not_an_approver",
    "too_few",
]


class ApprovalSatisfied(msgspec.Struct, frozen=True):
    """The request is answered: these people approved exactly this call."""

    answers: tuple[Answer, ...]

    @property
    def people(self) -> tuple[str, ...]:
        """The people who approved, in their order."""
        return tuple(answer.by for answer in self.answers)


class ApprovalUnsatisfied(msgspec.Struct, frozen=True):
    """The request is not answered, or not for this call."""

    flaw: Flaw
    message: str


def check_approval(
    request: ApprovalRequest,
    answers: Sequence[Answer],
    *,
    binding: bytes,
    key: bytes,
    now: int,
) -> ApprovalSatisfied | ApprovalUnsatisfied:
    """Checks whether the answers allow the call of `binding` just now. `answers`: all, oldest first."""
    flaw = _check_request(request, key, now)
    if flaw is not None:
        return flaw
    for answer in answers:
        flaw = _check_answer(request, answer, key)
        if flaw is not None:
            return flaw
    counted = find_current_answers(answers)
    # The binding covers tool, input and caller: a changed one voids approvals given before.
    if not counted or not hmac.compare_digest(counted[-1].binding, binding):
        return _explain_unbound(answers)
    return _check_requirement(request, counted) or ApprovalSatisfied(counted)


def why_unsatisfied(
    request: ApprovalRequest,
    answers: Sequence[Answer],
    *,
    binding: bytes,
    key: bytes,
    now: int,
) -> str | None:
    """Returns why the answers do not allow the call; None when they do."""
    verdict = check_approval(request, answers, binding=binding, key=key, now=now)
    return verdict.message if isinstance(verdict, ApprovalUnsatisfied) else None


def find_current_answers(answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """Finds the answers that still count: those since the last edit, the edit's own included."""
    first = len(answers)
    while first and hmac.compare_digest(answers[first - 1].binding, answers[-1].binding):
        first -= 1
    return tuple(answers[first:])


def _check_request(request: ApprovalRequest, key: bytes, now: int) -> ApprovalUnsatisfied | None:
    if not is_sealed(key, request):
        return ApprovalUnsatisfied("unsealed_request", "the request was not made here, or was changed since")
    if request.purpose != "approval":
        return ApprovalUnsatisfied("wrong_purpose", f"the request asks for something else: {request.purpose}")
    if now >= request.expires_at:
        return ApprovalUnsatisfied("expired", f"the approval expired at {iso(request.expires_at)}")
    return None


def _check_answer(request: ApprovalRequest, answer: Answer, key: bytes) -> ApprovalUnsatisfied | None:
    if not is_genuine(request, answer, key):
        return ApprovalUnsatisfied(
            "unsealed_answer", f"an answer by {answer.by} was not given here, or was changed since"
        )
    if answer.invocation_id != request.invocation_id:
        return ApprovalUnsatisfied("foreign_answer", f"an answer by {answer.by} was given to {answer.invocation_id}")
    if answer.verdict != "approve":
        return ApprovalUnsatisfied("rejected", f"{answer.by} rejected it")
    if not request.requested_at <= answer.answered_at < request.expires_at:
        return ApprovalUnsatisfied("expired", f"{answer.by} answered outside the time of the request")
    return None


def is_genuine(request: ApprovalRequest, answer: Answer, key: bytes) -> bool:
    """Returns True for an answer with its seal intact. The seal leaves out the edited input, which can be erased; the
    binding covers that."""
    if not is_sealed(key, msgspec.structs.replace(answer, edited_input=None)):
        return False
    if answer.edited_input is None:
        return True
    return hmac.compare_digest(answer.binding, compute_binding(key, request, answer.edited_input))


def compute_binding(key: bytes, request: ApprovalRequest, call_input: bytes) -> bytes:
    """Computes the binding of the request's call with this input."""
    return binding_of(
        key,
        invocation_id=request.invocation_id,
        tool_digest=request.tool_digest,
        call_input=call_input,
        principal=request.principal,
        agent=request.agent,
        expires_at=request.expires_at,
    )


def _explain_unbound(answers: Sequence[Answer]) -> ApprovalUnsatisfied:
    if not answers:
        return ApprovalUnsatisfied("too_few", "nobody has approved it yet")
    what = "the input, the tool's definition or the caller is another one now"
    return ApprovalUnsatisfied("changed", f"what was approved is not what would run: {what}")


def _check_requirement(request: ApprovalRequest, answers: Sequence[Answer]) -> ApprovalUnsatisfied | None:
    demanded = request.requirement
    for answer in answers:
        objection = find_objection(request, name=answer.by, channel=answer.channel, groups=answer.groups)
        if objection is not None:
            return ApprovalUnsatisfied(objection.flaw, objection.message)
    # Two spellings of one name are one person, who cannot approve twice.
    people = {normalize_person(answer.by) for answer in answers}
    # Never without anybody, whatever the requirement says.
    if len(people) < max(1, demanded.people):
        return ApprovalUnsatisfied("too_few", f"{len(people)} of {demanded.people} people approved it")
    return None

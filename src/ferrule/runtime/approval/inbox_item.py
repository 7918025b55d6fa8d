"""One item of the inbox: a waiting call, its people and deadline, and the ways the viewer may answer it."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.errors import AccessError, FerruleError, InboxError
from ferrule.model.approval import APPROVE, Answer, ApprovalRequest, Delegation, Identity
from ferrule.model.timestamps import MICROSECONDS, iso
from ferrule.model.value import JsonObject
from ferrule.runtime.approval.answers import add_delegates
from ferrule.runtime.approval.check import Objection, find_objection, format_approvers, normalize_person
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.approval.question import OpenQuestion


class InboxItem(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for a person."""

    request: ApprovalRequest
    state: str
    binding: bytes
    """Names exactly what is shown here; given back as `seen`, an approval holds for nothing else."""
    input: Any
    """The input as people may see it."""
    edited_by: str | None
    """The last editor of the input."""
    approvals: tuple[Answer, ...]
    """Those that count so far."""
    says: str
    """The tool's own description."""
    age_seconds: float
    expires_in_seconds: float | None
    """None: it never lapses."""
    why_not: str | None
    """Why the viewer cannot answer it; None when they can."""
    damage: str | None
    """The damage to it in the ledger; a damaged call cannot be approved."""
    answer_schema: dict[str, Any] = {}
    """The schema of the answer a tool waits for; empty when it states none."""
    assignees: tuple[str, ...] = ()
    """The people who may answer a task, delegates last; empty for anybody with the approve scope."""
    delegations: tuple[Delegation, ...] = ()
    """The delegations of a task, oldest first."""
    tool_name: str = ""
    """The name the tool was called by."""
    ways: dict[str, str | None] = {}
    """The ways to answer it, each with why the viewer cannot use it; None where they can, also with `will_not_run`: the
    answer is on record then, and nothing runs."""
    will_not_run: str | None = None
    """Why it does not go on whatever is answered: the key it came with has ended. None when nothing is known against it."""

    @property
    def people_missing(self) -> int:
        """Returns how many more people have to approve."""
        return count_missing_people(self.request, self.approvals)

    def to_dict(self) -> JsonObject:
        """Returns the item as JSON, for programs."""
        request = self.request
        return {
            "invocation_id": request.invocation_id,
            "purpose": request.purpose,
            "state": self.state,
            "tool_id": request.tool_id,
            "tool_version": request.tool_version,
            "tool_name": self.tool_name,
            "tool_title": request.tool_title,
            "says": self.says,
            "principal": request.principal,
            "agent": request.agent,
            "tenant": request.tenant,
            "risk": request.risk,
            "message": request.message,
            "rule_refs": list(request.rule_refs),
            "input": self.input,
            "answer_schema": self.answer_schema,
            "edited_by": self.edited_by,
            "approvals": [
                {"by": answer.by, "at": iso(answer.answered_at), "reason": answer.reason} for answer in self.approvals
            ],
            "people": request.requirement.people,
            "approvers": list(request.requirement.approvers),
            "not_requester": request.requirement.not_requester,
            "assignees": list(self.assignees),
            "delegations": [
                {"by": each.by, "to": each.to, "at": iso(each.delegated_at), "reason": each.reason}
                for each in self.delegations
            ],
            "requested_at": iso(request.requested_at),
            "expires_at": None if self.expires_in_seconds is None else iso(request.expires_at),
            "suggested_updates": list(request.suggested_updates),
            "seen": self.binding.hex(),
            "why_not": self.why_not,
            "ways": self.ways,
            "will_not_run": self.will_not_run,
            "damage": self.damage,
        }


def count_missing_people(request: ApprovalRequest, approvals: tuple[Answer, ...]) -> int:
    """Counts the people whose approval is still missing."""
    return max(0, max(1, request.requirement.people) - len({normalize_person(answer.by) for answer in approvals}))


def why_no_scope(identity: Identity) -> AccessError | None:
    """Returns why this identity cannot answer anything; None when its channel holds the approve scope."""
    if APPROVE in identity.scopes:
        return None
    return AccessError(f"{identity.principal} came by {identity.channel}, which does not hold the approve scope")


def why_no_approval(
    question: OpenQuestion, identity: Identity, now: int, *, has_edit: bool = False
) -> FerruleError | None:
    """Returns why this identity cannot approve, whatever the input; None when it can. Checks in this order."""
    request = question.request
    if (error := why_no_scope(identity)) is not None:
        return error
    if request.purpose != "approval":
        return InboxError(_OTHER_PURPOSES[request.purpose])
    objection = find_open_objection(question, identity)
    if objection is not None:
        return AccessError(objection.message)
    mine = next(
        (
            answer
            for answer in question.approvals
            if normalize_person(answer.by) == normalize_person(identity.principal)
        ),
        None,
    )
    if mine is not None and not has_edit:
        return InboxError(f"{mine.by} approved it at {iso(mine.answered_at)} already, and it needs another person")
    if now >= request.expires_at:
        return InboxError(f"it expired at {iso(request.expires_at)}; the caller has to ask again")
    return None


_OTHER_PURPOSES = {
    "outcome": "nobody knows whether the tool acted; find out, and say so with 'ferrule settle'",
    "input": "the tool itself waits for an answer, not for an approval; give it with 'ferrule answer'",
}


def why_no_answer(question: OpenQuestion, identity: Identity, now: int) -> FerruleError | None:
    """Returns why this identity cannot answer a tool that waits; None when it can. Checks in this order."""
    request, channel = question.request, identity.channel
    call, demanded = request.invocation_id, request.requirement
    if (error := why_no_scope(identity)) is not None:
        return error
    is_reply = bool(demanded.reply_channel) and channel == demanded.reply_channel
    if demanded.is_reply_only and not is_reply:
        return AccessError(f"{call} waits for a reply by {demanded.reply_channel}, not for a person")
    objection = None if is_reply else find_open_objection(question, identity)
    if objection is not None and objection.flaw == "own_channel":
        return AccessError(f"the channel {channel} made the call {call}, so it cannot answer its question")
    if objection is not None and objection.flaw == "requester":
        return AccessError(f"{identity.principal} cannot answer {call}: {objection.message}")
    if objection is not None:
        people = format_approvers(add_delegates(request, question.delegations).requirement)
        return AccessError(f"{call} is for {people}, not for {identity.principal}; FERRULE_TOKEN says who you are")
    if now >= request.expires_at:
        return InboxError(f"{call} expired at {iso(request.expires_at)}; the caller has to ask again")
    return None


def list_ways_to_answer(question: OpenQuestion, identity: Identity, now: int) -> dict[str, FerruleError | None]:
    """Lists the ways to answer a question, each with why this identity cannot use it; None where it can."""
    request = question.request
    match request.purpose:
        case "approval":
            found = {
                "approve": why_no_approval(question, identity, now),
                "edit": why_no_approval(question, identity, now, has_edit=True),
                "reject": why_no_rejection(question, identity, now),
            }
        case "input":
            answer = why_no_answer(question, identity, now) or _why_answered_already(question)
            found = {"answer": answer, "delegate": answer, "reject": why_no_rejection(question, identity, now)}
        case _:
            found = {"settle": why_no_settling(question, identity)}
    return found


def _why_answered_already(question: OpenQuestion) -> FerruleError | None:
    call = question.request.invocation_id
    return InboxError(f"{call} was answered by {question.answers[-1].by} already") if question.answers else None


def why_no_rejection(question: OpenQuestion, identity: Identity, now: int) -> FerruleError | None:
    """Returns why this identity cannot reject; None when it can. Checks in this order."""
    request, call = question.request, question.request.invocation_id
    if (error := why_no_scope(identity)) is not None:
        return error
    objection = find_open_objection(question, identity)
    if objection is not None and objection.flaw != "requester":  # the person a call is made for may always withdraw it
        return AccessError(f"{identity.principal} cannot reject {call}: {objection.message}")
    if request.purpose == "outcome":
        return InboxError(f"{call} has run already; say whether the tool acted with 'ferrule settle'")
    if now >= request.expires_at:
        return InboxError(f"{call} expired at {iso(request.expires_at)}; the caller has to ask again")
    return None


def why_no_settling(question: OpenQuestion, identity: Identity) -> FerruleError | None:
    """Returns why this identity cannot settle a call that a crash cut off; None when it can. Checks in this order."""
    call, channel = question.request.invocation_id, identity.channel
    if (error := why_no_scope(identity)) is not None:
        return error
    if question.request.purpose != "outcome":
        return InboxError(f"there is nothing to settle about {call}: it is {question.open.state}")
    if channel == question.request.channel:
        return AccessError(f"the channel {channel} made the call {call}, so it cannot settle it")
    return None


def find_open_objection(question: OpenQuestion, identity: Identity) -> Objection | None:
    """Finds the objection of the rules about people, groups and channels to this identity."""
    standing = add_delegates(question.request, question.delegations)
    return find_objection(standing, name=identity.principal, channel=identity.channel, groups=identity.groups)


def make_item(
    question: OpenQuestion,
    key: ApprovalKey,
    identity: Identity,
    *,
    now: int,
    says: str,
    will_not_run: str | None = None,
) -> InboxItem:
    """Makes the inbox item of a question."""
    request = question.request
    damage = question.find_damage(key)
    is_task = request.purpose == "input"
    why_not = why_no_answer(question, identity, now) if is_task else why_no_approval(question, identity, now)
    lasts = request.purpose != "outcome"
    ways = list_ways_to_answer(question, identity, now)
    standing = add_delegates(request, question.delegations)
    edits = [answer for before, answer in _pair_answers(question) if before != answer.binding]
    return InboxItem(
        request=request,
        state=question.open.state,
        binding=question.fingerprint,
        input=_read_shown_input(question, key),
        edited_by=edits[-1].by if edits else None,
        approvals=question.approvals,
        says=says,
        age_seconds=max(0, now - request.requested_at) / MICROSECONDS,
        expires_in_seconds=(request.expires_at - now) / MICROSECONDS if lasts else None,
        why_not=str(why_not) if why_not is not None else damage,
        damage=damage,
        answer_schema=question.answer_schema,
        assignees=standing.requirement.approvers if is_task else (),
        delegations=question.delegations,
        tool_name=question.tool_name,
        # A damaged call cannot be approved, but it can be refused.
        ways={way: _format_reason(error, None if way == "reject" else damage) for way, error in ways.items()},
        will_not_run=will_not_run,
    )


def _format_reason(error: FerruleError | None, damage: str | None) -> str | None:
    return damage if error is None else str(error)


def _pair_answers(question: OpenQuestion) -> list[tuple[bytes, Answer]]:
    bindings = [question.request.binding, *(answer.binding for answer in question.answers)]
    return list(zip(bindings, question.answers, strict=False))


def _read_shown_input(question: OpenQuestion, key: ApprovalKey) -> object:
    try:
        return msgspec.json.decode(question.open_inputs(key).shown)
    except (ValueError, msgspec.MsgspecError):
        return None

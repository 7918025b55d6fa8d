"""The inbox over HTTP: calls that wait for a person, and the ways to answer them. The inbox itself decides who may.

A person or system that was posted a task answers it with the token that came with it, and needs no other credential.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any

import msgspec

from ferrule.contracts.receiver import Fate
from ferrule.infra.tasks import resolve
from ferrule.model.result import Result
from ferrule.model.timestamps import iso
from ferrule.runtime.approval.inbox import Answered, Inbox
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.outcomes import CallState, demand_recorded, owner_in, state_of
from ferrule.servers.api.replies import Problem, Replied, Reply, not_found
from ferrule.servers.api.shapes import Reason, Record, says, whole

Why = Annotated[Reason | None, says("Why; it is kept with the record.")]
Because = Annotated[str, says("Why; it is kept with the record.", min_length=1, max_length=4000)]


class ApprovalItem(msgspec.Struct, kw_only=True):
    """A call that waits for a person."""

    invocation_id: str
    purpose: Annotated[
        str, says("`approval`, `input` (the tool asks something) or `outcome` (nobody knows whether it acted).")
    ]
    state: str
    tool_id: str
    tool_version: str | None
    tool_name: Annotated[str, says("The name it was called by.")]
    tool_title: str
    says: Annotated[str, says("What the tool says it does.")]
    principal: str
    agent: str | None
    tenant: str
    risk: str
    message: Annotated[str, says("Why somebody is asked.")]
    rule_refs: list[str]
    input: Annotated[Any, says("The input, as people may see it.")]
    answer_schema: Record
    edited_by: str | None
    approvals: list[Record]
    people: Annotated[int, says("How many have to agree.")]
    approvers: list[str]
    not_requester: Annotated[bool, says("True when whom the call is made for may not approve it.")]
    assignees: list[str]
    delegations: list[Record]
    requested_at: str
    expires_at: str | None
    suggested_updates: list[Record]
    seen: Annotated[
        str, says("Names exactly what is shown here; give it back, and an approval holds for nothing else.")
    ]
    why_not: Annotated[str | None, says("Why whoever looks cannot answer it; null when they can.")]
    ways: Annotated[
        dict[str, str | None],
        says("The ways to answer it: `approve`, `edit`, `reject`, `answer`, `delegate`, `settle`; each with why whoever looks "
             "cannot take it, null where they can. Where `will_not_run` says something, an answer is taken and recorded, too."),
    ]  # fmt: skip
    will_not_run: Annotated[
        str | None,
        says("Why it ends without going on, whatever is answered: the key it came with was revoked, has expired or is gone. Null "
             "when nothing is known against it."),
    ]  # fmt: skip
    damage: str | None


class ApprovalList(msgspec.Struct, kw_only=True):
    """What waits, the oldest first."""

    items: list[ApprovalItem]


Seen = Annotated[
    Annotated[str, msgspec.Meta(max_length=200)] | None,
    says("`seen` of what was looked at: what changed since is not answered."),
]


class ApproveBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A yes."""

    seen: Seen = None
    input: Annotated[
        msgspec.Raw | msgspec.UnsetType, says("Another input; it is validated again, and others have to agree anew.")
    ] = msgspec.UNSET
    reason: Why = None
    accept_rules: Annotated[
        list[Annotated[float, whole(0, 1000)]],
        says("Suggested rules to take, by their places.", max_length=100),
    ] = []


class RejectBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A no."""

    reason: Because
    seen: Seen = None


class AnswerBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a tool asked for."""

    value: Annotated[Any, says("As `answer_schema` wants it.")]
    reason: Why = None
    seen: Seen = None


class DelegateBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Who gets a task."""

    to: Annotated[str, says("A person, or `group:NAME`.", min_length=1, max_length=200)]
    reason: Why = None
    seen: Seen = None


class SettleBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a crash left unknown."""

    happened: Annotated[bool, says("Whether the tool acted.")]
    reason: Because
    seen: Seen = None


class Decided(msgspec.Struct, kw_only=True):
    """What became of an answer."""

    invocation_id: str
    state: str
    people_missing: Annotated[int, says("How many more have to agree.")] = 0
    accepted: Annotated[list[Record], says("The suggested rules that are in force now.")] = []
    problems: Annotated[list[str], says("Suggested rules that could not be taken; the approval stands.")] = []
    call: CallState | None = None


class Delegated(msgspec.Struct, kw_only=True):
    """A task that was handed on."""

    invocation_id: str
    by: str
    to: str
    at: str
    reason: str | None


def inbox_of(ask: Ask) -> Inbox:
    """The inbox of whoever asks."""
    return ask.edge.app.inbox(ask.caller.identity)


def _seen(text: str | None) -> bytes | None:
    """What was looked at. Raises Problem (409)."""
    try:
        return None if text is None else bytes.fromhex(text)
    except ValueError:
        raise Problem(409, "cannot_be_answered", "`seen` is not what the inbox showed; look again") from None


async def demand_inbox(ask: Ask) -> Inbox:
    """The inbox, if the call of the path is one its owner may know of. Raises Problem (404)."""
    rows = await ask.edge.app.store.rows_of(ask.invocation_id)
    tenant = ask.caller.identity.tenant
    if not rows or tenant not in (None, owner_in(rows).tenant):
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} that waits")
    return inbox_of(ask)


async def list_approvals(ask: Ask) -> Replied:
    """What waits for a person."""
    return Reply({"items": [item.to_dict() for item in await inbox_of(ask).pending()]})


async def get_approval(ask: Ask) -> Replied:
    """One call that waits for a person."""
    inbox = await demand_inbox(ask)
    return Reply((await inbox.get(ask.invocation_id)).to_dict())


async def approve_call(ask: Ask) -> Replied:
    """Say yes; with enough people the call goes on."""
    body, inbox = ask.body(ApproveBody), await demand_inbox(ask)
    edited = None if body.input is msgspec.UNSET else bytes(body.input)
    recorded = asyncio.Event()
    work = inbox.approve(
        ask.invocation_id,
        edited_input=edited,
        reason=body.reason,
        accept_rules=[int(place) for place in body.accept_rules],
        seen=_seen(body.seen),
        resume=not ask.preference.is_async,
        on_recorded=recorded.set,
    )
    return await _went_on(ask, work, recorded)


async def reject_call(ask: Ask) -> Replied:
    """Say no: the call ends as denied."""
    body, inbox = ask.body(RejectBody), await demand_inbox(ask)
    return _ended(await inbox.reject(ask.invocation_id, reason=body.reason, seen=_seen(body.seen)))


async def answer_question(ask: Ask) -> Replied:
    """Give a tool what it waits for."""
    body, inbox = ask.body(AnswerBody), await demand_inbox(ask)
    recorded = asyncio.Event()
    work = inbox.answer(
        ask.invocation_id,
        body.value,
        reason=body.reason,
        seen=_seen(body.seen),
        resume=not ask.preference.is_async,
        on_recorded=recorded.set,
    )
    return await _went_on(ask, work, recorded)


async def delegate_task(ask: Ask) -> Replied:
    """Hand a task on."""
    body, inbox = ask.body(DelegateBody), await demand_inbox(ask)
    made = await inbox.delegate(ask.invocation_id, body.to, reason=body.reason, seen=_seen(body.seen))
    at = iso(made.delegated_at)
    return Reply(Delegated(invocation_id=made.invocation_id, by=made.by, to=made.to, at=at, reason=made.reason))


async def settle_call(ask: Ask) -> Replied:
    """Say whether a tool acted, where a crash left that unknown."""
    body, inbox = ask.body(SettleBody), await demand_inbox(ask)
    seen = _seen(body.seen)
    return _ended(await inbox.settle(ask.invocation_id, happened=body.happened, note=body.reason, seen=seen))


async def _went_on(ask: Ask, work: Coroutine[Any, Any, Answered], recorded: asyncio.Event) -> Replied:
    """Replies to an answer that lets a call go on; who does not want to wait for its end is told where to look."""
    later = ask.background.keep(work)
    loop, most, wait = asyncio.get_running_loop(), ask.edge.settings.limits.request_seconds, ask.preference.wait
    patience = loop.time() + (most if wait is None else min(most, wait))
    await demand_recorded(later, recorded, most)
    await asyncio.wait({later}, timeout=max(0.0, patience - loop.time()))
    place = ((b"location", f"/v1/calls/{ask.invocation_id}".encode()),)
    if not later.done():
        return Reply(Decided(invocation_id=ask.invocation_id, state="running"), 202, place)
    done = later.result()
    state = Decided(
        invocation_id=done.invocation_id,
        state=done.state,
        people_missing=done.people_missing,
        accepted=list(done.accepted),
        problems=list(done.problems),
        call=state_of(done.result) if done.result is not None else None,
    )
    is_over = done.people_missing or isinstance(done.result, Result)
    return Reply(state) if is_over else Reply(state, 202, place)


def _ended(result: Result) -> Reply:
    return Reply(Decided(invocation_id=result.invocation_id, state=result.status, call=state_of(result)))


_PATIENCE_SECONDS = 20.0


class CallbackBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The answer to a task."""

    token: Annotated[str, says("The token that the task came with.", max_length=1000)]
    value: Annotated[Any, says("As the task's `answer_schema` wants it.")]


class CallbackState(msgspec.Struct, kw_only=True):
    """What became of an answer."""

    fate: Annotated[str, says("`taken`, or `duplicate` for a task that was answered already.")]


async def take_answer(ask: Ask) -> Replied:
    """Answer a task that was posted with a token."""
    body = ask.body(CallbackBody)
    leave = await resolve(ask.edge.turnstile.enter(ask.caller))
    recorded = asyncio.Event()
    taking: asyncio.Task[Fate] = ask.background.keep(
        ask.edge.app.answer_callback(body.token, body.value, on_recorded=recorded.set)
    )
    taking.add_done_callback(lambda _: leave())
    await demand_recorded(taking, recorded, ask.edge.settings.limits.request_seconds)
    await asyncio.wait({taking}, timeout=_PATIENCE_SECONDS)
    if not taking.done():  # it was taken, and the call goes on for longer than anybody has to wait for
        return Reply(CallbackState(fate="taken"), 202)
    fate = taking.result()
    if fate in ("refused", "unknown"):
        raise Problem(
            404, "not_taken", "nothing waits for this answer: the token is not valid, or the answer does not fit"
        )
    return Reply(CallbackState(fate=fate))

"""The inbox over HTTP: calls that wait for a person, and the ways to answer them. The inbox itself decides who may.

A person or system that received a task by callback answers it with the task's token and needs no other credential.
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
from ferrule.runtime.approval.inbox import Inbox, InboxAnswer
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.outcomes import CallState, owner_in, state_of, wait_until_recorded
from ferrule.servers.api.replies import AnyReply, JsonReply, Problem, not_found
from ferrule.servers.api.shapes import Reason, Record, describe, whole_number

Why = Annotated[Reason | None, describe("Why; it is kept with the record.")]
Because = Annotated[str, describe("Why; it is kept with the record.", min_length=1, max_length=4000)]


class ApprovalItem(msgspec.Struct, kw_only=True):
    """A call that waits for a person."""

    invocation_id: str
    purpose: Annotated[
        str, describe("`approval`, `input` (the tool asks something) or `outcome` (nobody knows whether it acted).")
    ]
    state: str
    tool_id: str
    tool_version: str | None
    tool_name: Annotated[str, describe("The name it was called by.")]
    tool_title: str
    says: Annotated[str, describe("What the tool says it does.")]
    principal: str
    agent: str | None
    tenant: str
    risk: str
    message: Annotated[str, describe("Why a person is asked.")]
    rule_refs: list[str]
    input: Annotated[Any, describe("The input, as people may see it.")]
    answer_schema: Record
    edited_by: str | None
    approvals: list[Record]
    people: Annotated[int, describe("How many have to agree.")]
    approvers: list[str]
    not_requester: Annotated[bool, describe("True when the requester may not approve it.")]
    assignees: list[str]
    delegations: list[Record]
    requested_at: str
    expires_at: str | None
    suggested_updates: list[Record]
    seen: Annotated[
        str,
        describe("Identifies the version shown here; send it back, so that the approval is valid for nothing else."),
    ]
    why_not: Annotated[str | None, describe("Why the reader may not answer it; null when they may.")]
    ways: Annotated[
        dict[str, str | None],
        describe("The ways to answer it: `approve`, `edit`, `reject`, `answer`, `delegate`, `settle`; each with the reason why "
                 "the reader may not use it, null where they may. An answer is recorded even where `will_not_run` is set."),
    ]  # fmt: skip
    will_not_run: Annotated[
        str | None,
        describe("Why the call will not run, whatever is answered: the key that made it was revoked, has expired or is gone. "
                 "Null when no reason is known."),
    ]  # fmt: skip
    damage: str | None


class ApprovalList(msgspec.Struct, kw_only=True):
    """The calls that wait for a person, the oldest first."""

    items: list[ApprovalItem]


SeenToken = Annotated[
    Annotated[str, msgspec.Meta(max_length=200)] | None,
    describe("`seen` of the version that was read; an answer to a version that has changed is refused."),
]


class ApproveBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An approval."""

    seen: SeenToken = None
    input: Annotated[
        msgspec.Raw | msgspec.UnsetType,
        describe("Another input; it is validated again, and others have to agree anew."),
    ] = msgspec.UNSET
    reason: Why = None
    accept_rules: Annotated[
        list[Annotated[float, whole_number(0, 1000)]],
        describe("Suggested rules to take, by their places.", max_length=100),
    ] = []


class RejectBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A rejection."""

    reason: Because
    seen: SeenToken = None


class AnswerBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The answer to a tool's question."""

    value: Annotated[Any, describe("As `answer_schema` wants it.")]
    reason: Why = None
    seen: SeenToken = None


class DelegateBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The new assignee of a task."""

    to: Annotated[str, describe("A person, or `group:NAME`.", min_length=1, max_length=200)]
    reason: Why = None
    seen: SeenToken = None


class SettleBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A person's finding whether a tool acted, after a crash left that unknown."""

    happened: Annotated[bool, describe("Whether the tool acted.")]
    reason: Because
    seen: SeenToken = None


class Decided(msgspec.Struct, kw_only=True):
    """The effect of an answer."""

    invocation_id: str
    state: str
    people_missing: Annotated[int, describe("How many more have to agree.")] = 0
    accepted: Annotated[list[Record], describe("The suggested rules that are in force now.")] = []
    problems: Annotated[list[str], describe("Suggested rules that could not be taken; the approval stands.")] = []
    call: CallState | None = None


class Delegated(msgspec.Struct, kw_only=True):
    """A task that was delegated."""

    invocation_id: str
    by: str
    to: str
    at: str
    reason: str | None


def inbox_of(ask: Ask) -> Inbox:
    """Returns the caller's inbox."""
    return ask.edge.app.inbox(ask.caller.identity)


def _parse_seen(text: str | None) -> bytes | None:
    """Parses the token of the version that the person saw. Raises Problem (409)."""
    try:
        return None if text is None else bytes.fromhex(text)
    except ValueError:
        raise Problem(409, "cannot_be_answered", "`seen` is not what the inbox showed; look again") from None


async def require_inbox(ask: Ask) -> Inbox:
    """Returns the inbox if the caller may know of the call in the path. Raises Problem (404)."""
    rows = await ask.edge.app.store.rows_of(ask.invocation_id)
    tenant = ask.caller.identity.tenant
    if not rows or tenant not in (None, owner_in(rows).tenant):
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} that waits")
    return inbox_of(ask)


async def list_approvals(ask: Ask) -> AnyReply:
    """Lists the calls that wait for a person."""
    return JsonReply({"items": [item.to_dict() for item in await inbox_of(ask).pending()]})


async def get_approval(ask: Ask) -> AnyReply:
    """Returns one call that waits for a person."""
    inbox = await require_inbox(ask)
    return JsonReply((await inbox.get(ask.invocation_id)).to_dict())


async def approve_call(ask: Ask) -> AnyReply:
    """Approves a call; with enough approvals it goes on."""
    body, inbox = ask.body(ApproveBody), await require_inbox(ask)
    edited = None if body.input is msgspec.UNSET else bytes(body.input)
    recorded = asyncio.Event()
    work = inbox.approve(
        ask.invocation_id,
        edited_input=edited,
        reason=body.reason,
        accept_rules=[int(place) for place in body.accept_rules],
        seen=_parse_seen(body.seen),
        resume=not ask.preference.is_async,
        on_recorded=recorded.set,
    )
    return await _reply_resumed(ask, work, recorded)


async def reject_call(ask: Ask) -> AnyReply:
    """Rejects a call: it ends as denied."""
    body, inbox = ask.body(RejectBody), await require_inbox(ask)
    return _reply_with_result(await inbox.reject(ask.invocation_id, reason=body.reason, seen=_parse_seen(body.seen)))


async def answer_question(ask: Ask) -> AnyReply:
    """Answers a tool that waits for input."""
    body, inbox = ask.body(AnswerBody), await require_inbox(ask)
    recorded = asyncio.Event()
    work = inbox.answer(
        ask.invocation_id,
        body.value,
        reason=body.reason,
        seen=_parse_seen(body.seen),
        resume=not ask.preference.is_async,
        on_recorded=recorded.set,
    )
    return await _reply_resumed(ask, work, recorded)


async def delegate_task(ask: Ask) -> AnyReply:
    """Delegates a task to another person or group."""
    body, inbox = ask.body(DelegateBody), await require_inbox(ask)
    made = await inbox.delegate(ask.invocation_id, body.to, reason=body.reason, seen=_parse_seen(body.seen))
    at = iso(made.delegated_at)
    return JsonReply(Delegated(invocation_id=made.invocation_id, by=made.by, to=made.to, at=at, reason=made.reason))


async def settle_call(ask: Ask) -> AnyReply:
    """Records whether a tool acted, where a crash left that unknown."""
    body, inbox = ask.body(SettleBody), await require_inbox(ask)
    seen = _parse_seen(body.seen)
    return _reply_with_result(
        await inbox.settle(ask.invocation_id, happened=body.happened, note=body.reason, seen=seen)
    )


async def _reply_resumed(ask: Ask, work: Coroutine[Any, Any, InboxAnswer], recorded: asyncio.Event) -> AnyReply:
    """Replies to an answer that resumes a call; 202 with its address when the client does not wait for the end."""
    later = ask.background.start(work)
    loop, most, wait = asyncio.get_running_loop(), ask.edge.settings.limits.request_seconds, ask.preference.wait
    patience = loop.time() + (most if wait is None else min(most, wait))
    await wait_until_recorded(later, recorded, most)
    await asyncio.wait({later}, timeout=max(0.0, patience - loop.time()))
    place = ((b"location", f"/v1/calls/{ask.invocation_id}".encode()),)
    if not later.done():
        return JsonReply(Decided(invocation_id=ask.invocation_id, state="running"), 202, place)
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
    return JsonReply(state) if is_over else JsonReply(state, 202, place)


def _reply_with_result(result: Result) -> JsonReply:
    return JsonReply(Decided(invocation_id=result.invocation_id, state=result.status, call=state_of(result)))


_PATIENCE_SECONDS = 20.0


class CallbackBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The answer to a task that was delivered by callback."""

    token: Annotated[str, describe("The token that the task came with.", max_length=1000)]
    value: Annotated[Any, describe("As the task's `answer_schema` wants it.")]


class CallbackState(msgspec.Struct, kw_only=True):
    """The effect of a callback's answer."""

    fate: Annotated[str, describe("`taken`, or `duplicate` for a task that was answered already.")]


async def take_answer(ask: Ask) -> AnyReply:
    """Answers a task that was delivered with a token."""
    body = ask.body(CallbackBody)
    leave = await resolve(ask.edge.turnstile.enter(ask.caller))
    recorded = asyncio.Event()
    taking: asyncio.Task[Fate] = ask.background.start(
        ask.edge.app.answer_callback(body.token, body.value, on_recorded=recorded.set)
    )
    taking.add_done_callback(lambda _: leave())
    await wait_until_recorded(taking, recorded, ask.edge.settings.limits.request_seconds)
    await asyncio.wait({taking}, timeout=_PATIENCE_SECONDS)
    if not taking.done():  # the answer is recorded, and the call runs for longer than a client should wait
        return JsonReply(CallbackState(fate="taken"), 202)
    fate = taking.result()
    if fate in ("refused", "unknown"):
        raise Problem(
            404, "not_taken", "nothing waits for this answer: the token is not valid, or the answer does not fit"
        )
    return JsonReply(CallbackState(fate=fate))

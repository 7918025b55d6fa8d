"""Reviews: everything people need to judge a waiting call, the effect of an edit, and past decisions.

`approvals` takes the answers. It does not decide who may answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from ferrule.app.views.decisions import DecidedCall, decisions_of
from ferrule.app.views.evidence import ApprovalReview, make_review
from ferrule.errors import InboxError
from ferrule.model.journal import StoredEntry
from ferrule.model.lifecycle import TERMINAL
from ferrule.model.story import Story
from ferrule.model.story_parts import differences
from ferrule.model.timestamps import MICROSECONDS, iso
from ferrule.runtime.approval.check import normalize_person
from ferrule.runtime.approval.inbox import EditCheck
from ferrule.runtime.approval.inbox_item import InboxItem
from ferrule.runtime.pipeline.tool_facts import is_input_fixed
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.approvals import ApprovalItem, inbox_of, require_inbox
from ferrule.servers.api.calls.outcomes import may_see, owner_in
from ferrule.servers.api.replies import AnyReply, JsonReply, not_found
from ferrule.servers.api.shapes import Limit, Record, Time, describe, parse_moment

_DAY_SECONDS = 24 * 3600
_RESULT_CHARS = 600


class ReviewState(msgspec.Struct, kw_only=True):
    """A call that a person is, or was, asked about."""

    invocation_id: str
    outcome: Annotated[
        str,
        describe("The outcome of the question: `waiting`, `approved`, `rejected`, `expired`, `canceled`, `answered`, `settled`, "
                 "or `ended` when the call ended without an answer."),
    ]  # fmt: skip
    state: Annotated[str, describe("The call's state in the lifecycle.")]
    purpose: str
    tool_id: str
    tool_name: str
    tool_title: str
    tool_version: str | None
    says: Annotated[str, describe("What the tool says it does.")]
    principal: str
    agent: str | None
    tenant: str
    run_id: str
    risk: str
    is_destructive: Annotated[bool, describe("True when it cannot be undone, or no definition says that it can.")]
    to_type: Annotated[
        Record | None,
        describe("The text to type before such a call is approved: a member of the input (`name`) and its `value`, or the tool's "
                 "own name."),
    ]  # fmt: skip
    about: Annotated[Record, describe("The same for any call.")]
    message: Annotated[str, describe("Why a person is asked.")]
    rules: Annotated[list[Record], describe("The rules that asked, each with its place and its reason.")]
    definition: Annotated[str, describe("The digest of the tool's definition that the question is about.")]
    is_definition_current: Annotated[
        bool, describe("False when the definition is another one now: an approval would be void.")
    ]
    model_input: Annotated[Any, describe("What the model wrote, as people may see it.")]
    input: Annotated[Any, describe("What would run, or ran, as people may see it.")]
    differences: Annotated[list[Record], describe("From the one to the other.")]
    changes: Annotated[list[Record], describe("Who made them: hooks, people, the runtime.")]
    signatures: Annotated[
        list[Record], describe("Every answer so far; `counts` is false for one that a later edit voided.")
    ]
    people: int
    people_missing: int
    requested_at: str
    decided_at: str | None
    ended_at: str | None
    error: Annotated[Record | None, describe("Why the call failed, where it did.")]
    result_text: Annotated[
        str | None, describe("The beginning of the tool's output, for people who answered or oversee the call.")
    ]
    is_visible: Annotated[bool, describe("True when the reader may open the invocation, too.")]
    why_no_rules: Annotated[str | None, describe("Why the reader may not accept suggested rules; null when they may.")]
    item: Annotated[ApprovalItem | None, describe("The item in the inbox, while there is one.")]


class EditBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An input to approve instead of the current one."""

    input: Annotated[
        msgspec.Raw, describe("The whole of it. A mask that is left in its place stands for what is behind it.")
    ]


class EditState(EditCheck, frozen=True, kw_only=True):
    """The effect of an edit on the input."""

    differences: list[Record]
    to_type: Annotated[Record | None, describe("As for the call itself, after the edit.")]


class DecidedQuery(msgspec.Struct, kw_only=True):
    """The time span and size of the list."""

    since: Annotated[
        Time | None,
        describe("Only what was decided since then (RFC 3339); without it, in the last 24 hours."),
    ] = None
    limit: Limit = 50


class DecidedItem(msgspec.Struct, kw_only=True):
    """A call that a person was asked about."""

    invocation_id: str
    tool_id: str
    tool_name: str
    principal: str
    agent: str | None
    tenant: str
    risk: str
    purpose: str
    outcome: str
    state: str
    by: list[str]
    reason: str | None
    is_edited: bool
    decided_at: str
    waited_seconds: float


class DecidedList(msgspec.Struct, kw_only=True):
    """Past decisions, the newest first."""

    items: list[DecidedItem]


async def review_call(ask: Ask) -> AnyReply:
    """Returns everything about a call that a person is asked about, and its decision."""
    inbox, app = await require_inbox(ask), ask.edge.app
    try:
        waiting: InboxItem | None = await inbox.get(ask.invocation_id)
    except InboxError:
        waiting = None
    rows = await app.store.rows_of(ask.invocation_id)
    story = Story(rows, await app.store.news_of(ask.invocation_id)) if rows else None
    if story is None or story.asking is None:
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} that waits")
    versions = app.catalog.versions(story.header.tool_id)
    review = make_review(story, waiting, versions, app.policy)
    fixed = next((f"the contract of {one.tool.tool_id!r} forbids to replace its input" for one in versions[:1]
                  if is_input_fixed(one.tool)), None)  # fmt: skip
    state = _state(ask, review, rows, says=versions[0].tool.description if versions else "", fixed=fixed)
    state.why_no_rules = inbox.why_no_rules()
    return JsonReply(state)


def _state(
    ask: Ask, review: ApprovalReview, rows: Sequence[StoredEntry], *, says: str, fixed: str | None
) -> ReviewState:
    story, fate, request, waiting = review.story, review.fate, review.request, review.waiting
    header, is_visible = story.header, may_see(ask.caller, owner_in(rows))
    took_part = normalize_person(ask.caller.identity.principal) in {
        normalize_person(each.by) for each in fate.signatures
    }
    item: Any = None if waiting is None else waiting.to_dict()
    if item is not None and fixed is not None and "edit" in item["ways"]:
        item["ways"]["edit"] = item["ways"]["edit"] or fixed
    return ReviewState(
        invocation_id=story.invocation_id,
        outcome=fate.outcome,
        state=fate.state,
        purpose=fate.purpose,
        tool_id=header.tool_id,
        tool_name=header.tool_name,
        tool_title=request.tool_title if request is not None else header.tool_name,
        tool_version=header.tool_version,
        says=says,
        principal=header.principal,
        agent=header.agent,
        tenant=header.tenant,
        run_id=header.run_id,
        risk=fate.risk,
        is_destructive=review.is_destructive,
        to_type=None if review.thing is None else msgspec.to_builtins(review.thing),
        about=msgspec.to_builtins(review.about),
        message=_message(review),
        rules=[msgspec.to_builtins(rule) for rule in review.rules],
        definition=request.tool_digest if request is not None else header.tool_digest,
        is_definition_current=review.is_definition_current,
        model_input=review.model_input,
        input=review.input,
        differences=[msgspec.to_builtins(each) for each in review.differences],
        changes=[msgspec.to_builtins(each) for each in review.changes],
        signatures=[msgspec.to_builtins(each) for each in fate.signatures],
        people=max(1, request.requirement.people) if request is not None else 1,
        people_missing=waiting.people_missing if waiting is not None else 0,
        requested_at=iso(fate.requested_at),
        decided_at=None if fate.decided_at is None else iso(fate.decided_at),
        ended_at=None if story.ended_at is None else iso(story.ended_at),
        error=None if story.error is None else msgspec.to_builtins(story.error),
        result_text=_result_text(review) if is_visible or took_part else None,
        is_visible=is_visible,
        why_no_rules=None,
        item=item,
    )


def _message(review: ApprovalReview) -> str:
    if review.request is not None:
        return review.request.message
    return "the process that ran it is gone, and nobody knows whether the tool acted"


def _result_text(review: ApprovalReview) -> str | None:
    result = review.story.result
    if review.story.status not in TERMINAL or result is None:
        return None
    texts = [str(part.get("text", "")) for part in result.content if part.get("type") == "text"]
    text = "\n".join(texts)
    return text if len(text) <= _RESULT_CHARS else f"{text[:_RESULT_CHARS]}…"


async def check_edit(ask: Ask) -> AnyReply:
    """Returns the effect of an edit on a waiting call's input, and its errors."""
    inbox, app = await require_inbox(ask), ask.edge.app
    made = await inbox.check_edit(ask.invocation_id, bytes(ask.body(EditBody).input))
    waiting, rows = await inbox.get(ask.invocation_id), await app.store.rows_of(ask.invocation_id)
    if made.edited is not None:
        waiting = msgspec.structs.replace(waiting, input=made.edited)
    review = make_review(Story(rows), waiting, app.catalog.versions(waiting.request.tool_id), app.policy)
    found = () if made.edited is None else differences(made.input, made.edited)
    return JsonReply(
        EditState(
            **msgspec.structs.asdict(made),
            differences=[msgspec.to_builtins(each) for each in found],
            to_type=None if review.thing is None else msgspec.to_builtins(review.thing),
        )
    )


async def list_decided(ask: Ask) -> AnyReply:
    """Lists recent decisions of people."""
    wanted, app = ask.query(DecidedQuery), ask.edge.app
    inbox_of(ask)
    tenant = ask.caller.identity.tenant

    def is_wanted(rows: Sequence[StoredEntry]) -> bool:
        return tenant in (None, owner_in(rows).tenant)

    since = parse_moment("since", wanted.since)
    since = app.services.now() - _DAY_SECONDS * MICROSECONDS if since is None else since
    found = await decisions_of(app.store).list_since(since, is_wanted, wanted.limit)
    return JsonReply(DecidedList(items=[_encode_decision(each) for each in found]))


def _encode_decision(each: DecidedCall) -> DecidedItem:
    header, fate = each.rows[0].header(), each.fate
    assert fate.decided_at is not None and fate.waited_seconds is not None  # the list holds no call that still waits
    return DecidedItem(
        invocation_id=each.rows[0].call,
        tool_id=header.tool_id,
        tool_name=header.tool_name,
        principal=header.principal,
        agent=header.agent,
        tenant=header.tenant,
        risk=fate.risk,
        purpose=fate.purpose,
        outcome=fate.outcome,
        state=fate.state,
        by=list(fate.by),
        reason=fate.reason,
        is_edited=fate.is_edited,
        decided_at=iso(fate.decided_at),
        waited_seconds=fate.waited_seconds,
    )

"""Checks: what would happen to a call, without making it.

`app/preview` does the check. Nothing is recorded.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ferrule.app.preview.preview import Preview
from ferrule.infra.tasks import resolve
from ferrule.model.decision import Ruling
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.calls import load_deferred_tool
from ferrule.servers.api.calls.outcomes import is_refused_and_hidden, members_of
from ferrule.servers.api.replies import AnyReply, JsonReply, Member, not_found
from ferrule.servers.api.shapes import Name, describe


class CheckBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A call to check."""

    tool: Name
    arguments: Annotated[
        msgspec.Raw | msgspec.UnsetType, describe("The tool's arguments, as its input schema wants them.")
    ] = msgspec.UNSET
    digest: Annotated[
        Annotated[str, msgspec.Meta(max_length=200)] | None,
        describe(
            "The tool's digest, as it was read with its schema: a deferred tool is loaded by it. Another tool is a 409."
        ),
    ] = None


class RulingState(msgspec.Struct, kw_only=True):
    """The policy's decision about a call."""

    behavior: Annotated[str, describe("`allow`, `ask` or `deny`.")]
    reason: Annotated[str, describe("Why, for people.")]
    rule: Annotated[str | None, describe("The rule that decides, where one does.")]
    source: Annotated[str | None, describe("Where that rule was written.")]
    approvers: Annotated[list[str], describe("Who may say yes to an `ask`; empty: whoever may approve.")]
    people: Annotated[int, describe("How many of them have to.")]
    not_requester: Annotated[bool, describe("True when the one it is for may not be among them.")]
    expires_seconds: Annotated[int | None, describe("How long an `ask` waits.")]


class CheckState(msgspec.Struct, kw_only=True):
    """The predicted fate of a call."""

    is_accepted: Annotated[bool, describe("True when it would not be refused before the policy is asked.")]
    error_class: Annotated[str | None, describe("Why it would be refused.")] = None
    code: str | None = None
    message: Annotated[str, describe("The same for people, as its caller would be told.")] = ""
    errors: Annotated[list[Member], describe("What is wrong with which argument.")] = []
    changed_fields: Annotated[list[str], describe("Arguments that would be mended or filled in.")] = []
    decision: Annotated[RulingState | None, describe("What the policy says; null where it would not be asked.")] = None


async def check_call(ask: Ask) -> AnyReply:
    """Checks a call without making it."""
    body, surface = ask.body(CheckBody), await resolve(ask.surface())
    load_deferred_tool(surface, body)
    arguments = b"{}" if isinstance(body.arguments, msgspec.UnsetType) else bytes(body.arguments)
    leave = await resolve(ask.edge.turnstile.enter(ask.caller))
    try:
        checked = await surface.check(body.tool, arguments)
    finally:
        leave()
    if is_refused_and_hidden(surface.surface, body.tool, "unknown_tool"):
        raise not_found(f"there is no tool {body.tool[:200]!r} here; GET /v1/tools lists yours")
    return JsonReply(_state_of(checked))


def _state_of(checked: Preview) -> CheckState:
    stop = checked.stop
    return CheckState(
        is_accepted=stop is None,
        error_class=stop.error_class if stop is not None else None,
        code=(stop.code or stop.error_class) if stop is not None else None,
        message=stop.message if stop is not None else "",
        errors=members_of(checked.complaints),
        changed_fields=list(checked.changed_fields),
        decision=_ruling_of(checked.ruling) if checked.ruling is not None else None,
    )


def _ruling_of(ruling: Ruling) -> RulingState:
    is_ask, needs = ruling.behavior == "ask", ruling.requirement
    is_rule = ruling.reason_type == "rule" and bool(ruling.rule_refs)
    return RulingState(
        behavior=ruling.behavior,
        reason=ruling.message,
        rule=ruling.rule_refs[0] if is_rule else None,
        source=ruling.source,
        approvers=list(needs.approvers) if is_ask else [],
        people=needs.people if is_ask else 0,
        not_requester=needs.not_requester and is_ask,
        expires_seconds=needs.expires_seconds if is_ask else None,
    )

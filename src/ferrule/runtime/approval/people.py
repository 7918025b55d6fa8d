"""Who may answer a request, and which requests nobody answered in time. Pure rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

from ferrule.model.approval import ApprovalRequest
from ferrule.model.decision import Requirement
from ferrule.model.failure import Stop
from ferrule.model.journal import OpenCall
from ferrule.model.timestamps import iso

GROUP = "group:"


class Objection(msgspec.Struct, frozen=True):
    """Why somebody may not approve."""

    flaw: Literal["own_channel", "requester", "not_an_approver"]
    message: str


def objection(request: ApprovalRequest, *, name: str, channel: str, groups: Collection[str]) -> Objection | None:
    """Why this person, over this channel, may not approve the request; None when they may."""
    demanded = request.requirement
    if channel == request.channel and channel not in demanded.channels:
        return Objection("own_channel", f"the channel {channel} made the call, so it cannot approve it")
    if demanded.not_requester and person(name) == person(request.principal):
        return Objection("requester", f"the call is made for {name}, so somebody else has to approve it")
    if demanded.not_requester and request.holder and person(name) == person(request.holder):
        return Objection("requester", f"a credential of {name} made the call, so somebody else has to approve it")
    if not is_approver(demanded, name, groups):
        return Objection("not_an_approver", f"{name} is not among those who may approve it: {named(demanded)}")
    return None


def person(name: str) -> str:
    """A name by which people are told apart: `Ada` and `ada ` are one person."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def is_approver(demanded: Requirement, name: str, groups: Collection[str]) -> bool:
    """True when the requirement names this person, one of their groups, or nobody in particular."""
    if not demanded.approvers:
        return True
    is_named = name in demanded.approvers and not name.startswith(GROUP)
    return is_named or any(GROUP + group in demanded.approvers for group in groups)


def named(demanded: Requirement) -> str:
    """The approvers a requirement names, in words."""
    words = [f"group {name.removeprefix(GROUP)}" if name.startswith(GROUP) else name for name in demanded.approvers]
    return ", ".join(words) or "anybody with the approve scope"


LAPSING_STATES = frozenset({"awaiting_approval", "needs_input"})


def expired(open_calls: Iterable[OpenCall], now: int) -> list[OpenCall]:
    """The calls whose time to be answered is over. `now`: the clock, or the ledger's latest time if that is later."""
    return [
        call
        for call in open_calls
        if call.state in LAPSING_STATES and call.expires_at is not None and now >= call.expires_at
    ]


def lapsed(call: OpenCall) -> Stop:
    """How such a call ends: as `timed_out`, without having run."""
    until = iso(call.expires_at or 0)
    return Stop(
        "timeout", f"nobody answered until {until}, so the call of {call.tool_id!r} expired", "approval_expired"
    )

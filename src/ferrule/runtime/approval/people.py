"""Who may answer a request: the rules about people, groups and channels. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from typing import Literal

import msgspec

from ferrule.model.approval import ApprovalRequest
from ferrule.model.decision import Requirement

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

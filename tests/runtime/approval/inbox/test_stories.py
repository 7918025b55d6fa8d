"""Random stories at the inbox: whatever people do in whatever order, a call goes on only by the approvals it needs."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.errors import AccessError, InboxError
from ferrule.model.approval import APPROVE, CALL
from ferrule.model.decision import Requirement
from ferrule.runtime.approval.check import compute_binding
from tests.runtime.approval.inboxes import FakeInboxes, make_identity
from tests.runtime.approval.requests import HOUR, INPUT

_AMOUNTS = (5, 4, 3)
_PEOPLE = ("ada", "bob", "carl", "alice")


class Step(NamedTuple):
    """One thing somebody does."""

    what: str
    who: str
    amount: int
    channel: str | None


_STEPS = st.builds(
    Step,
    st.sampled_from(["approve", "approve", "edit", "edit", "reject", "later", "ask again", "cancel"]),
    st.sampled_from(_PEOPLE),
    st.sampled_from(_AMOUNTS),
    st.sampled_from([None, None, None, "token:agent", "no scope"]),
)
_REQUIREMENTS = st.builds(
    Requirement,
    approvers=st.sampled_from([(), ("ada", "bob"), ("group:finance", "carl")]),
    people=st.integers(1, 3),
    not_requester=st.booleans(),
)


def _who(step: Step) -> Any:
    groups = ("finance",) if step.who in ("ada", "alice") else ()
    if step.channel == "no scope":
        return make_identity(step.who, CALL, groups=groups)
    return make_identity(step.who, APPROVE, groups=groups, channel=step.channel)


class Story:
    """What really happened, kept beside the ledger by the simplest means."""

    def __init__(self, desk: FakeInboxes, requirement: Requirement) -> None:
        self.desk = desk
        self.requirement = requirement
        self.amount = 5
        self.yes: set[str] = set()
        self.is_open = True
        self.expires_at = desk.now + HOUR

    def may(self, step: Step) -> bool:
        """Whether this person could say yes at all, by the plain words of the requirement."""
        who = _who(step)
        demanded = self.requirement
        listed = not demanded.approvers or step.who in demanded.approvers or "finance" in who.groups
        if demanded.approvers == ("ada", "bob"):
            listed = step.who in ("ada", "bob")
        allowed = listed and not (demanded.not_requester and step.who == "alice")
        return step.channel is None and allowed and self.is_open and self.desk.now < self.expires_at

    async def take(self, step: Step) -> None:
        match step.what:
            case "later":
                self.desk.now += HOUR // 3
            case "cancel" if self.is_open and step.amount == 3:
                await self.desk.write("ended", "inv_1", "canceled", is_last=True)
                self.is_open = False
            case "ask again" if self.is_open:
                await self._ask()
            case "reject":
                await self._reject(step)
            case "approve" | "edit":
                await self._approve(step)

    async def _ask(self) -> None:
        self.desk.now += 1
        text = msgspec.json.encode({"amount": self.amount})
        await self.desk.park("inv_1", self.requirement, call_input=text)
        self.yes, self.expires_at = set(), self.desk.now + HOUR

    async def _reject(self, step: Step) -> None:
        try:
            await self.desk.inbox(_who(step)).reject("inv_1", reason="no")
        except (AccessError, InboxError):
            return
        assert self.is_open and step.channel is None
        self.is_open = False

    async def _approve(self, step: Step) -> None:
        changed = step.what == "edit" and step.amount != self.amount
        edited = msgspec.json.encode({"amount": step.amount}) if step.what == "edit" else None
        expected = self.may(step) and (changed or step.who not in self.yes)
        try:
            answered = await self.desk.inbox(_who(step)).approve("inv_1", edited_input=edited)
        except (AccessError, InboxError):
            assert not expected
            return
        assert expected
        self.yes = {step.who} if changed else self.yes | {step.who}
        self.amount = step.amount if changed else self.amount
        left = max(0, self.requirement.people - len(self.yes))
        assert answered.people_missing == left
        assert (answered.state == "approved") == (left == 0)
        self.is_open = left > 0


@settings(max_examples=150, deadline=None)
@given(_REQUIREMENTS, st.lists(_STEPS, max_size=14))
def test_a_call_goes_on_by_exactly_the_approvals_it_needs(requirement: Requirement, steps: list[Step]) -> None:
    async def main() -> None:
        desk = await FakeInboxes().open()
        story = Story(desk, requirement)
        await desk.park("inv_1", requirement, call_input=INPUT)
        for step in steps:
            await story.take(step)
        assert len(desk.resumed) == (len(story.yes) >= requirement.people and not story.is_open)
        rows = await desk.store.rows_of("inv_1")
        assert sum(row.kind == "ended" for row in rows) <= 1
        await _approved_rows_are_sound(desk, rows)

    asyncio.run(main())


async def _approved_rows_are_sound(desk: FakeInboxes, rows: list[Any]) -> None:
    """Each answer in the ledger was given to the input that stood when it was given."""
    request: Any = None
    text = INPUT
    for row in rows:
        segment, payload = row.segment(), row.inputs()
        if row.kind == "parked":
            request, text = segment.request, payload.model_input
        elif row.kind == "answered":
            text = payload.text if payload is not None else text
            assert segment.answer.binding == compute_binding(desk.key.secret, request, text)

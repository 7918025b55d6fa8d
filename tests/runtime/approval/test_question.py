"""What a call's rows say about its approval: what became of it, which answers count, and whether somebody changed it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.errors import InboxError
from ferrule.model.approval import Answer, ApprovalRequest, seal_record
from ferrule.model.decision import Requirement
from ferrule.model.journal import Payload
from tests.runtime.approval.inboxes import ADA, BOB, FakeInboxes, run
from tests.runtime.approval.requests import INPUT, START


@pytest.mark.parametrize(
    ("outcome", "message"),
    [("canceled", "it was canceled"), ("timed_out", "expired"), ("blocked", "ended as blocked"), ("denied", "denied")],
)
def test_every_ending_is_told_truthfully(outcome: str, message: str) -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        await desk.write("ended", "inv_1", outcome, is_last=True)
        with pytest.raises(InboxError, match=message):
            await desk.inbox(ADA).approve("inv_1")

    run(main)


def test_a_call_that_ran_says_who_approved_it() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        await desk.inbox(ADA).approve("inv_1")
        with pytest.raises(InboxError, match="ada approved it, and it ended as succeeded"):
            await desk.inbox(BOB).approve("inv_1")
        with pytest.raises(InboxError, match="there is no call inv_9"):
            await desk.inbox(BOB).approve("inv_9")

    run(main)


def test_an_answered_request_does_not_answer_the_next_one_of_the_same_call() -> None:
    """The policy asked again after the first yes: the new request starts without answers."""

    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        await desk.inbox(ADA).approve("inv_1", resume=False)
        desk.now += 5
        await desk.park(requirement=Requirement(people=2))
        waiting = await desk.inbox(ADA).get("inv_1")
        assert (waiting.approvals, waiting.people_missing) == ((), 2)
        assert (await desk.inbox(ADA).approve("inv_1")).people_missing == 1

    run(main)


def _stolen(request: ApprovalRequest, **changes: Any) -> ApprovalRequest:
    return msgspec.structs.replace(request, **changes)


@pytest.mark.parametrize(
    ("changes", "payload", "message"),
    [
        ({"requirement": Requirement(people=1)}, Payload(INPUT), "request was changed"),
        ({"tool_title": "Say hello"}, Payload(INPUT), "request was changed"),
        ({}, Payload(b'{"amount":5000}'), "not the one the request was made for"),
        ({}, Payload(b"{"), "cannot be opened|not the one"),
        ({}, Payload(INPUT, sealed_input=b"x" * 40), "cannot be opened"),
        ({}, None, "not the one"),
    ],
)
def test_a_request_that_was_changed_in_the_ledger_is_shown_as_damaged_and_not_approved(
    changes: dict[str, Any], payload: Payload | None, message: str
) -> None:
    """Whoever can write the database can neither forge nor move an approval, nor have one given for something else."""

    async def main(desk: FakeInboxes) -> None:
        request = _stolen(desk.request("inv_1", Requirement(people=2)), **changes)
        await desk.write("parked", "inv_1", "awaiting_approval", request=request, payload=payload)
        waiting = await desk.inbox(ADA).get("inv_1")
        assert waiting.damage is not None and waiting.why_not == waiting.damage
        with pytest.raises(InboxError, match=message):
            await desk.inbox(ADA).approve("inv_1")
        assert len(await desk.states()) == 1

    run(main)


def test_a_forged_first_answer_is_found_before_a_second_is_given() -> None:
    async def main(desk: FakeInboxes) -> None:
        request = await desk.park(requirement=Requirement(people=2))
        forged = Answer(
            invocation_id="inv_1",
            verdict="approve",
            by="ada",
            channel="token:ada",
            answered_at=START,
            binding=request.binding,
        )
        await desk.write("answered", "inv_1", "awaiting_approval", answer=seal_record(b"another key", forged))
        with pytest.raises(InboxError, match="one of its answers was changed"):
            await desk.inbox(BOB).approve("inv_1")

    run(main)

"""An item of the inbox: what it shows of a call, and why whoever looks may not answer it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.errors import AccessError
from ferrule.model.approval import ADMIN, CALL
from ferrule.model.decision import Requirement
from tests.runtime.approval.inboxes import ADA, BOB, FakeInboxes, make_identity, run


@pytest.mark.parametrize(
    ("requirement", "who", "message"),
    [
        (Requirement(not_requester=True), make_identity("Alice"), "somebody else has to approve"),
        (Requirement(approvers=("bob", "group:finance")), ADA, "bob, group finance"),
        (Requirement(), make_identity("ada", ADMIN), "approve scope"),
        (Requirement(), make_identity("ada", CALL), "approve scope"),
    ],
)
def test_whoever_may_not_approve_is_told_why(requirement: Requirement, who: Any, message: str) -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=requirement)
        with pytest.raises(AccessError, match=message):
            await desk.inbox(who).approve("inv_1")
        assert len(await desk.states()) == 1

    run(main)


def test_each_way_to_answer_says_why_it_is_closed() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park("inv_1", Requirement(people=2, approvers=("ada", "bob")))
        await desk.inbox(ADA).approve("inv_1")
        mine = (await desk.inbox(ADA).get("inv_1")).ways
        assert (mine["edit"], mine["reject"]) == (None, None)
        assert "approved it at" in str(mine["approve"])
        theirs = (await desk.inbox(make_identity("eve")).get("inv_1")).ways
        assert all("not among those who may approve it" in str(why) for why in theirs.values())

    run(main)


def test_pending_lists_the_oldest_first_with_everything_a_person_needs() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park("inv_b", Requirement(people=2), suggested_updates=({"allow": "refund"},))
        desk.now += 1_000_000
        await desk.park("inv_a")
        desk.now += 2_000_000
        await desk.inbox(BOB).approve("inv_b")
        first, second = await desk.inbox(ADA).pending()
        assert [first.request.invocation_id, second.request.invocation_id] == ["inv_b", "inv_a"]
        assert (first.age_seconds, second.age_seconds) == (3, 2)
        assert second.expires_in_seconds == 3598
        assert first.input == {"amount": 5}
        assert (first.says, first.why_not, first.damage) == ("Refund a payment", None, None)
        shown = first.to_dict()
        assert shown["approvals"] == [{"by": "bob", "at": "2023-11-14T22:13:23.000000Z", "reason": None}]
        assert shown["suggested_updates"] == [{"allow": "refund"}]
        assert bytes.fromhex(shown["seen"]) == first.binding
        msgspec.json.encode(shown)

    run(main)

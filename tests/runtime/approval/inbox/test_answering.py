"""The inbox: who may answer what, exactly once, and what everybody else is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.errors import AccessError, InboxError, PolicyError
from ferrule.model.approval import ADMIN, APPROVE, CALL
from ferrule.model.decision import Requirement
from ferrule.model.result import Result
from ferrule.runtime.approval.check import compute_binding, why_unsatisfied
from tests.runtime.approval.inboxes import ADA, AGENT, BOB, CARL, FakeInboxes, make_identity, run
from tests.runtime.approval.requests import HOUR, INPUT, START

EDITED = b'{"amount":4}'


def test_a_yes_is_recorded_sealed_and_lets_the_call_go_on_under_its_id() -> None:
    """AT-100, AT-128: the same invocation, parked, answered, resumed."""

    async def main(desk: FakeInboxes) -> None:
        request = await desk.park()
        answered = await desk.inbox(ADA).approve("inv_1", reason="customer called")
        assert answered.state == "approved"
        assert isinstance(answered.result, Result)
        states = await desk.states()
        assert states[:2] == [("parked", "awaiting_approval"), ("answered", "approved")]
        answer = (await desk.store.rows_of("inv_1"))[1].segment().answer
        assert answer is not None
        assert (answer.by, answer.reason, answer.edited_input) == ("ada", "customer called", None)
        key = desk.key.secret
        assert why_unsatisfied(request, [answer], binding=request.binding, key=key, now=desk.now) is None

    assert run(main).resumed == ["inv_1"]


def test_an_approval_can_be_left_to_another_process() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        answered = await desk.inbox(ADA).approve("inv_1", resume=False)
        assert (answered.state, answered.result) == ("approved", None)
        assert [call.state for call in await desk.store.open_calls()] == ["approved"]

    assert run(main).resumed == []


def test_the_agents_channel_neither_approves_nor_rejects_nor_settles() -> None:
    """Also with the approve scope: the channel that made the call never answers it."""

    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        for who in (AGENT, make_identity("alice", APPROVE, ADMIN, channel="token:agent")):
            inbox = desk.inbox(who)
            for attempt in (inbox.approve("inv_1"), inbox.reject("inv_1", reason="no")):
                with pytest.raises(AccessError):
                    await attempt
        assert await desk.states() == [("parked", "awaiting_approval")]

    assert run(main).closed == []


def test_elicitation_works_where_the_rule_names_the_channel() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=Requirement(channels=("token:agent",)))
        answered = await desk.inbox(make_identity("alice", APPROVE, channel="token:agent")).approve("inv_1")
        assert answered.state == "approved"

    run(main)


def test_a_member_of_a_named_group_may_approve_and_the_group_is_on_record() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=Requirement(approvers=("group:finance",)))
        await desk.inbox(make_identity("ada", groups=("finance", "berlin"))).approve("inv_1")
        answer = (await desk.store.rows_of("inv_1"))[1].segment().answer
        assert answer is not None and answer.groups == ("berlin", "finance")

    run(main)


def test_two_people_means_two_people() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=Requirement(people=2))
        first = await desk.inbox(ADA).approve("inv_1")
        assert (first.state, first.people_missing, first.result) == ("awaiting_approval", 1, None)
        for again in (ADA, make_identity("Ada", channel="token:other")):
            with pytest.raises(InboxError, match="another person"):
                await desk.inbox(again).approve("inv_1")
        waiting = await desk.inbox(BOB).get("inv_1")
        assert [answer.by for answer in waiting.approvals] == ["ada"]
        assert waiting.people_missing == 1
        second = await desk.inbox(BOB).approve("inv_1")
        assert (second.state, second.people_missing) == ("approved", 0)

    assert run(main).resumed == ["inv_1"]


def test_two_people_at_the_same_moment_are_both_counted() -> None:
    """The second write finds that something happened, looks again, and counts for the same input."""

    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=Requirement(people=2))
        desk.before_commit = lambda: desk.inbox(BOB).approve("inv_1")
        answered = await desk.inbox(ADA).approve("inv_1")
        assert answered.state == "approved"

    assert run(main).resumed == ["inv_1"]


def test_of_two_answers_at_the_same_moment_one_counts_and_the_other_is_told() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        desk.before_commit = lambda: desk.inbox(BOB).approve("inv_1", resume=False)
        with pytest.raises(InboxError, match=r"inv_1 was approved by bob already, at 20.*; it is approved now"):
            await desk.inbox(ADA).approve("inv_1")

    assert run(main).resumed == []


def test_many_at_once_let_the_call_go_on_exactly_once() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        people = [make_identity(f"person {number}") for number in range(20)]
        answers = await asyncio.gather(*(desk.inbox(who).approve("inv_1") for who in people), return_exceptions=True)
        told = [answer for answer in answers if isinstance(answer, InboxError)]
        assert len(told) == 19
        assert all("approved" in str(error) or "at this very moment" in str(error) for error in told)

    assert run(main).resumed == ["inv_1"]


def test_nobody_approves_an_input_they_did_not_see() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=Requirement(people=2))
        seen = (await desk.inbox(ADA).get("inv_1")).binding
        await desk.inbox(BOB).approve("inv_1", edited_input=EDITED)
        with pytest.raises(InboxError, match="changed since you looked"):
            await desk.inbox(ADA).approve("inv_1", seen=seen)
        desk.before_commit = lambda: desk.inbox(BOB).approve("inv_1", edited_input=b'{"amount":9}')
        with pytest.raises(InboxError, match="changed since you looked"):
            await desk.inbox(ADA).approve("inv_1")

    assert run(main).resumed == []


def test_an_edit_is_validated_bound_anew_and_kept_out_of_the_row_itself() -> None:
    """AT-139: the edited input is what is approved."""

    async def main(desk: FakeInboxes) -> None:
        request = await desk.park()
        await desk.inbox(ADA).approve("inv_1", edited_input=b' { "amount" : 4 } ')
        row = (await desk.store.rows_of("inv_1"))[1]
        answer, payload = row.segment().answer, row.inputs()
        assert answer is not None and payload is not None
        assert (payload.text, payload.sealed_input) == (EDITED, None)
        assert answer.binding == compute_binding(desk.key.secret, request, EDITED) != request.binding
        assert b"amount" not in row.body

    run(main)


def test_an_edit_that_does_not_fit_is_not_recorded() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        desk.edit_problem = "amount must be a number"
        for text, message in (
            (EDITED, "amount must be a number"),
            (b"{", "not JSON"),
            (b"[]", "JSON object"),
            (b'{"amount": 123456789012345678901234567890}', "number|JSON"),
        ):
            with pytest.raises(InboxError, match=message):
                await desk.inbox(ADA).approve("inv_1", edited_input=text)
        assert len(await desk.states()) == 1

    run(main)


def test_an_edit_voids_the_first_of_two_approvals() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=Requirement(people=2))
        await desk.inbox(ADA).approve("inv_1")
        edited = await desk.inbox(BOB).approve("inv_1", edited_input=EDITED)
        assert (edited.state, edited.people_missing) == ("awaiting_approval", 1)
        waiting = await desk.inbox(ADA).get("inv_1")
        assert [answer.by for answer in waiting.approvals] == ["bob"]
        assert (waiting.input, waiting.edited_by) == ({"amount": 4}, "bob")
        assert (await desk.inbox(ADA).approve("inv_1")).state == "approved"

    run(main)


def test_one_person_cannot_be_two_by_editing() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=Requirement(people=2))
        for text in (EDITED, b'{"amount":3}', EDITED, INPUT):
            answered = await desk.inbox(ADA).approve("inv_1", edited_input=text)
            assert answered.people_missing == 1
        with pytest.raises(InboxError, match="another person"):
            await desk.inbox(ADA).approve("inv_1", edited_input=INPUT)

    assert run(main).resumed == []


def test_expiry_is_judged_by_the_ledger_when_the_clock_was_set_back() -> None:
    """AT-141."""

    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        desk.now = START + HOUR
        await desk.park("inv_2")
        desk.now = START
        inbox = desk.inbox(ADA)
        for attempt in (inbox.approve("inv_1"), inbox.reject("inv_1", reason="late")):
            with pytest.raises(InboxError, match="expired at 20"):
                await attempt
        assert (await inbox.get("inv_1")).why_not is not None

    run(main)


def test_a_no_ends_the_call_with_the_persons_reason() -> None:
    """AT-131: a human no is `approval_rejected`."""

    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=Requirement(people=2))
        await desk.inbox(BOB).approve("inv_1")
        result = await desk.inbox(ADA).reject("inv_1", reason="too much")
        assert result.error is not None
        assert (result.error.error_class, result.error.message) == ("approval_rejected", "ada rejected it: too much")
        with pytest.raises(InboxError, match="has ended: ada rejected it at"):
            await desk.inbox(CARL).approve("inv_1")

    (closed,) = run(main).closed
    assert closed[2].verdict == "reject"


def test_whoever_approved_may_change_their_mind_and_the_requester_may_take_it_back() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park(requirement=Requirement(people=2))
        await desk.inbox(ADA).approve("inv_1")
        await desk.inbox(ADA).reject("inv_1", reason="on second thought")
        await desk.park("inv_2", Requirement(not_requester=True))
        await desk.inbox(make_identity("alice")).reject("inv_2", reason="not needed any more")

    assert len(run(main).closed) == 2


def test_a_no_that_comes_too_late_says_so() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        inbox, close = desk.inbox(ADA), desk._close

        async def late(call: str, *rest: Any, seq: int) -> Result | None:
            await desk.write("ended", call, "canceled", is_last=True)
            return await close(call, *rest, seq=seq)

        inbox._close = late
        with pytest.raises(InboxError, match="it was canceled at"):
            await inbox.reject("inv_1", reason="no")

    run(main)


def test_a_no_after_the_last_yes_does_nothing() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        inbox, close = desk.inbox(ADA), desk._close

        async def late(call: str, *rest: Any, seq: int) -> Result | None:
            await desk.inbox(BOB).approve(call, resume=False)
            return await close(call, *rest, seq=seq)

        inbox._close = late
        with pytest.raises(InboxError, match="approved by bob already"):
            await inbox.reject("inv_1", reason="no")

    assert run(main).closed == []


def test_a_no_after_the_first_of_two_yes_counts() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park("inv_1", Requirement(people=2))
        inbox, close = desk.inbox(ADA), desk._close

        async def late(call: str, *rest: Any, seq: int) -> Result | None:
            if not (await desk.inbox(BOB).get(call)).approvals:
                await desk.inbox(BOB).approve(call)
            return await close(call, *rest, seq=seq)

        inbox._close = late
        await inbox.reject("inv_1", reason="no")

    assert len(run(main).closed) == 1


def test_what_was_not_seen_is_not_rejected_either() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        with pytest.raises(InboxError, match="changed since you looked at it"):
            await desk.inbox(ADA).reject("inv_1", reason="no", seen=b"x")
        item = await desk.inbox(ADA).get("inv_1")
        await desk.inbox(ADA).reject("inv_1", reason="no", seen=item.binding)

    assert len(run(main).closed) == 1


def test_an_edit_is_checked_without_being_recorded() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park()
        inbox = desk.inbox(ADA)
        made = await inbox.check_edit("inv_1", b'{"amount": 3}')
        assert (made.problem, made.input, made.edited) == (None, {"amount": 5}, {"amount": 3})
        assert "not JSON" in str((await inbox.check_edit("inv_1", b"{")).problem)
        desk.edit_problem = "amount is too small"
        assert (await inbox.check_edit("inv_1", b'{"amount": 3}')).problem == "amount is too small"
        assert (await inbox.get("inv_1")).approvals == ()
        with pytest.raises(AccessError):
            await desk.inbox(make_identity("eve", CALL)).check_edit("inv_1", b"{}")

    run(main)


def test_without_a_scope_one_sees_ones_own_calls_alone() -> None:
    async def main(desk: FakeInboxes) -> None:
        await desk.park("inv_1")
        await desk.park("inv_2", channel="token:another agent")
        (own,) = await desk.inbox(AGENT).pending()
        assert own.request.invocation_id == "inv_1"
        assert own.why_not is not None and "approve scope" in own.why_not
        with pytest.raises(InboxError, match="there is no call inv_2"):
            await desk.inbox(AGENT).get("inv_2")
        assert len(await desk.inbox(make_identity("root", ADMIN)).pending()) == 2

    run(main)


def test_a_unique_beginning_of_an_id_is_enough() -> None:
    async def main(desk: FakeInboxes) -> None:
        for call in ("inv_abc", "inv_abd", "inv_x", "inv_xy"):
            await desk.park(call)
        inbox = desk.inbox(ADA)
        assert await inbox.resolve("inv_abc") == "inv_abc"
        assert await inbox.resolve("abd") == "inv_abd"
        assert await inbox.resolve("inv_x") == "inv_x"
        assert await inbox.resolve("nothing") == "nothing"
        with pytest.raises(InboxError, match="begins 2 waiting calls"):
            await inbox.resolve("inv_ab")

    run(main)


def test_suggested_rules_change_nothing_until_their_owner_accepts_them() -> None:
    """AT-136."""

    async def main(desk: FakeInboxes) -> None:
        updates: tuple[dict[str, object], ...] = ({"allow": "refund"}, {"allow": "*"})
        await desk.park("inv_1", suggested_updates=updates)
        with pytest.raises(AccessError, match="admin scope"):
            await desk.inbox(ADA).approve("inv_1", accept_rules=[0])
        owner = desk.inbox(make_identity("root", APPROVE, ADMIN))
        for place in (2, -1):
            with pytest.raises(InboxError, match="suggests 2 rules"):
                await owner.approve("inv_1", accept_rules=[place])
        assert desk.accepted == []
        answered = await owner.approve("inv_1", accept_rules=[0, 0])
        assert answered.accepted == ({"allow": "refund"},)

    assert run(main).accepted == [{"allow": "refund"}]


def test_a_rule_that_cannot_be_taken_does_not_undo_the_approval() -> None:
    async def main(desk: FakeInboxes) -> None:
        desk.rule_problem = PolicyError("policy.toml is read-only")
        await desk.park(suggested_updates=({"allow": "refund"},))
        answered = await desk.inbox(make_identity("root", APPROVE, ADMIN)).approve("inv_1", accept_rules=[0])
        assert (answered.state, answered.problems) == ("approved", ("policy.toml is read-only",))

    assert run(main).resumed == ["inv_1"]


def test_an_unknown_outcome_is_settled_by_a_person() -> None:
    async def main(desk: FakeInboxes) -> None:
        for call, request in (("inv_1", None), ("inv_2", desk.request("inv_2", purpose="outcome"))):
            await desk.write("unknown", call, "needs_input", request=request)
        await desk.park("inv_3")
        inbox = desk.inbox(ADA)
        waiting = await inbox.get("inv_1")
        assert (waiting.request.purpose, waiting.expires_in_seconds) == ("outcome", None)
        assert waiting.why_not is not None and "ferrule settle" in waiting.why_not
        with pytest.raises(InboxError, match="ferrule settle"):
            await inbox.approve("inv_1")
        with pytest.raises(InboxError, match="ferrule settle"):
            await inbox.reject("inv_1", reason="no")
        with pytest.raises(InboxError, match="nothing to settle"):
            await inbox.settle("inv_3", happened=True, note="")
        with pytest.raises(AccessError, match="made the call"):
            await desk.inbox(make_identity("x", channel="token:agent")).settle("inv_1", happened=True, note="")
        with pytest.raises(AccessError, match="approve scope"):
            await desk.inbox(AGENT).settle("inv_1", happened=True, note="")
        await inbox.settle("inv_1", happened=True, note="the bank shows it")
        await inbox.settle("inv_2", happened=False, note="")

    (_, yes, said), (_, no, _) = run(main).closed
    assert (yes.error_class, yes.code, said.reason) == ("partial_failure", "outcome_settled", "the bank shows it")
    assert (no.error_class, no.recoverability) == ("execution_failed", "retry")

"""The lock on the door opens for exactly the call that was approved, and for nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ferrule.model.approval import Answer, ApprovalRequest, seal_record
from ferrule.model.decision import Requirement
from ferrule.runtime.approval.check import (
    ApprovalSatisfied,
    ApprovalUnsatisfied,
    check_approval,
    compute_binding,
    why_unsatisfied,
)
from tests.runtime.approval.requests import HOUR, INPUT, KEY, START, make_answer, make_request

NOW = START + HOUR // 2
NAMES = st.sampled_from(["ada", "bob", "carl", "dora", "eve"])


def judge(
    asked: ApprovalRequest, answers: Sequence[Answer], *, call_input: bytes = INPUT, now: int = NOW
) -> ApprovalSatisfied | ApprovalUnsatisfied:
    return check_approval(asked, answers, binding=compute_binding(KEY, asked, call_input), key=KEY, now=now)


def flaw(verdict: ApprovalSatisfied | ApprovalUnsatisfied) -> str | None:
    return verdict.flaw if isinstance(verdict, ApprovalUnsatisfied) else None


def test_one_yes_is_enough_where_one_is_asked_for() -> None:
    """AT-128: an ask is answered by an authority."""
    asked = make_request()
    verdict = judge(asked, [make_answer(asked)])
    assert isinstance(verdict, ApprovalSatisfied)
    assert verdict.people == ("ada",)
    binding = compute_binding(KEY, asked, INPUT)
    assert why_unsatisfied(asked, [make_answer(asked)], binding=binding, key=KEY, now=NOW) is None


def test_nothing_runs_before_somebody_answered() -> None:
    """AT-96: an ask cannot be skipped."""
    assert flaw(judge(make_request(), [])) == "too_few"


def test_a_rejection_among_the_answers_closes_the_door() -> None:
    asked = make_request()
    assert flaw(judge(asked, [make_answer(asked), make_answer(asked, "bob", verdict="reject")])) == "rejected"


@pytest.mark.parametrize("now", [START + HOUR, START + HOUR + 1, START + 1000 * HOUR])
def test_an_expired_approval_opens_nothing(now: int) -> None:
    """AT-141: an expired allow does not authorise a later start."""
    asked = make_request()
    assert flaw(judge(asked, [make_answer(asked)], now=now)) == "expired"
    assert isinstance(judge(asked, [make_answer(asked)], now=START + HOUR - 1), ApprovalSatisfied)


@pytest.mark.parametrize("at", [START - 1, START + HOUR])
def test_an_answer_from_outside_the_time_of_the_request_does_not_count(at: int) -> None:
    asked = make_request()
    assert flaw(judge(asked, [make_answer(asked, answered_at=at)])) == "expired"


def test_the_channel_that_made_the_call_never_approves_it() -> None:
    asked = make_request()
    assert flaw(judge(asked, [make_answer(asked, channel="token:agent")])) == "own_channel"


def test_elicitation_counts_where_the_policy_names_the_channel() -> None:
    asked = make_request(Requirement(channels=("token:agent",)))
    assert isinstance(judge(asked, [make_answer(asked, channel="token:agent")]), ApprovalSatisfied)


def test_the_requester_may_be_ruled_out_however_they_are_spelt() -> None:
    asked = make_request(Requirement(not_requester=True))
    for name in ("alice", "Alice", " ALICE ", "ａｌｉｃｅ"):
        assert flaw(judge(asked, [make_answer(asked, name)])) == "requester"
    assert isinstance(judge(make_request(), [make_answer(make_request(), "alice")]), ApprovalSatisfied)


def test_whoever_holds_the_credential_is_a_requester_like_whom_the_call_is_for() -> None:
    asked = make_request(Requirement(not_requester=True), holder="Grace")
    assert [flaw(judge(asked, [make_answer(asked, name)])) for name in ("alice", "grace")] == ["requester"] * 2
    assert isinstance(judge(asked, [make_answer(asked, "ada")]), ApprovalSatisfied)
    free = make_request(holder="grace")
    assert isinstance(judge(free, [make_answer(free, "grace")]), ApprovalSatisfied)
    forged = msgspec.structs.replace(asked, holder=msgspec.UNSET)
    assert flaw(judge(forged, [make_answer(forged, "grace")])) == "unsealed_request"


def test_a_request_that_names_no_holder_is_written_as_those_before_there_were_any() -> None:
    """So that seals of calls that wait since then still hold."""
    assert b"holder" not in msgspec.json.encode(make_request())
    assert b"holder" not in msgspec.msgpack.encode(make_request())


def test_only_named_people_and_groups_approve() -> None:
    asked = make_request(Requirement(approvers=("ada", "group:finance")))
    assert isinstance(judge(asked, [make_answer(asked)]), ApprovalSatisfied)
    assert isinstance(judge(asked, [make_answer(asked, "bob", groups=("finance",))]), ApprovalSatisfied)
    assert flaw(judge(asked, [make_answer(asked, "bob", groups=("sales",))])) == "not_an_approver"
    assert flaw(judge(asked, [make_answer(asked, "group:finance")])) == "not_an_approver", "a person with an odd name"


def test_an_approval_of_one_input_does_not_open_for_another() -> None:
    asked = make_request()
    assert flaw(judge(asked, [make_answer(asked)], call_input=b'{"amount":6}')) == "changed"


def test_an_edit_voids_the_first_of_two_approvals() -> None:
    """AT-139 with two people: what the first approved is not what would run."""
    asked = make_request(Requirement(people=2))
    edited = b'{"amount":4}'
    answers = [make_answer(asked, "ada"), make_answer(asked, "bob", call_input=edited)]
    assert flaw(judge(asked, answers, call_input=edited)) == "too_few"
    answers.append(make_answer(asked, "ada", call_input=edited))
    assert isinstance(judge(asked, answers, call_input=edited), ApprovalSatisfied)


def test_an_edit_back_does_not_revive_what_an_edit_voided() -> None:
    asked = make_request(Requirement(people=2))
    there, back = make_answer(asked, "bob", call_input=b"{}"), make_answer(asked, "carl")
    assert flaw(judge(asked, [make_answer(asked, "ada"), there, back])) == "too_few"


@given(st.integers(1, 4), st.lists(NAMES, max_size=6))
def test_it_takes_as_many_different_people_as_are_demanded(people: int, names: list[str]) -> None:
    asked = make_request(Requirement(people=people))
    verdict = judge(asked, [make_answer(asked, name) for name in names])
    assert isinstance(verdict, ApprovalSatisfied) == (len(set(names)) >= people)


@given(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_no_answer_works_for_another_invocation(one: str, other: str) -> None:
    assume(one != other)
    first, second = make_request(invocation_id=one), make_request(invocation_id=other)
    assert flaw(judge(second, [make_answer(first)])) == "foreign_answer"


@given(st.binary(min_size=1, max_size=40).filter(lambda other: other != KEY))
def test_no_other_key_seals_an_answer_or_a_request(other: bytes) -> None:
    asked = make_request()
    assert flaw(judge(asked, [seal_record(other, make_answer(asked))])) == "unsealed_answer"
    assert flaw(judge(seal_record(other, asked), [make_answer(asked)])) == "unsealed_request"


def test_the_other_purposes_of_a_request_open_nothing() -> None:
    for purpose in ("outcome", "input"):
        asked = make_request(purpose=purpose)
        assert flaw(judge(asked, [make_answer(asked)])) == "wrong_purpose"


def _others(value: Any) -> st.SearchStrategy[Any]:
    """Values of the same type that are not this one."""
    kinds: dict[type, st.SearchStrategy[Any]] = {
        str: st.text(max_size=6),
        int: st.integers(-(2**40), 2**60),
        bytes: st.binary(max_size=40),
        type(None): st.text(max_size=6),
        msgspec.UnsetType: st.text(max_size=6),
        tuple: st.lists(st.text(max_size=4), max_size=2).map(tuple),
        Requirement: st.builds(
            Requirement,
            approvers=st.lists(NAMES, max_size=2).map(tuple),
            people=st.integers(0, 3),
            not_requester=st.booleans(),
            channels=st.lists(st.sampled_from(["token:agent", "token:x"]), max_size=2).map(tuple),
            expires_seconds=st.integers(0, 10**9),
        ),
    }
    return kinds[type(value)].filter(lambda other: other != value)


@st.composite
def _tamper(draw: st.DrawFn, record: Any) -> Any:
    """The record with exactly one field changed."""
    field = draw(st.sampled_from(record.__struct_fields__))
    old = getattr(record, field)
    if field in ("reason", "edited_input"):
        old = old or ("" if field == "reason" else b"")
    return msgspec.structs.replace(record, **{field: draw(_others(old))})


@given(st.data())
def test_any_change_of_any_field_of_an_answer_closes_the_door(data: st.DataObject) -> None:
    asked = make_request(Requirement(people=2))
    answers = [make_answer(asked, "ada", reason="fine", groups=("finance",)), make_answer(asked, "bob")]
    assert isinstance(judge(asked, answers), ApprovalSatisfied)
    which = data.draw(st.integers(0, 1))
    answers[which] = data.draw(_tamper(answers[which]))
    assert isinstance(judge(asked, answers), ApprovalUnsatisfied)


@given(st.data())
def test_any_change_of_any_field_of_a_request_closes_the_door(data: st.DataObject) -> None:
    asked = make_request(Requirement(people=2))
    answers = [make_answer(asked, "ada"), make_answer(asked, "bob")]
    binding = compute_binding(KEY, asked, INPUT)
    changed = data.draw(_tamper(asked))
    assert isinstance(check_approval(changed, answers, binding=binding, key=KEY, now=NOW), ApprovalUnsatisfied)


@given(st.data())
def test_any_change_of_what_would_run_closes_the_door(data: st.DataObject) -> None:
    """The binding is worked out again from what would run: digest, input, principal, agent, expiry, invocation."""
    asked = make_request()
    field = data.draw(st.sampled_from(["tool_digest", "principal", "agent", "expires_at", "invocation_id"]))
    running = msgspec.structs.replace(asked, **{field: data.draw(_others(getattr(asked, field)))})
    binding = compute_binding(KEY, running, INPUT)
    assert isinstance(
        check_approval(asked, [make_answer(asked)], binding=binding, key=KEY, now=NOW), ApprovalUnsatisfied
    )


def test_an_edited_input_handed_along_must_be_the_approved_one() -> None:
    asked = make_request()
    edited = b'{"amount":4}'
    plain = make_answer(asked, call_input=edited)
    right = msgspec.structs.replace(plain, edited_input=edited)
    wrong = msgspec.structs.replace(plain, edited_input=b'{"amount":400}')
    assert isinstance(judge(asked, [right], call_input=edited), ApprovalSatisfied)
    assert flaw(judge(asked, [wrong], call_input=edited)) == "unsealed_answer"

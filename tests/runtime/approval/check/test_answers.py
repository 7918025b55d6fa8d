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
from tests.runtime.approval.requests import HOUR, INPUT, KEY, START, answer, request

NOW = START + HOUR // 2
NAMES = st.sampled_from(["ada", "bob", "carl", "dora", "eve"])


def judged(
    asked: ApprovalRequest, answers: Sequence[Answer], *, call_input: bytes = INPUT, now: int = NOW
) -> ApprovalSatisfied | ApprovalUnsatisfied:
    return check_approval(asked, answers, binding=compute_binding(KEY, asked, call_input), key=KEY, now=now)


def flaw(verdict: ApprovalSatisfied | ApprovalUnsatisfied) -> str | None:
    return verdict.flaw if isinstance(verdict, ApprovalUnsatisfied) else None


def test_one_yes_is_enough_where_one_is_asked_for() -> None:
    """AT-128: an ask is answered by an authority."""
    asked = request()
    verdict = judged(asked, [answer(asked)])
    assert isinstance(verdict, ApprovalSatisfied)
    assert verdict.people == ("ada",)
    binding = compute_binding(KEY, asked, INPUT)
    assert why_unsatisfied(asked, [answer(asked)], binding=binding, key=KEY, now=NOW) is None


def test_nothing_runs_before_somebody_answered() -> None:
    """AT-96: an ask cannot be skipped."""
    assert flaw(judged(request(), [])) == "too_few"


def test_a_rejection_among_the_answers_closes_the_door() -> None:
    asked = request()
    assert flaw(judged(asked, [answer(asked), answer(asked, "bob", verdict="reject")])) == "rejected"


@pytest.mark.parametrize("now", [START + HOUR, START + HOUR + 1, START + 1000 * HOUR])
def test_an_expired_approval_opens_nothing(now: int) -> None:
    """AT-141: an expired allow does not authorise a later start."""
    asked = request()
    assert flaw(judged(asked, [answer(asked)], now=now)) == "expired"
    assert isinstance(judged(asked, [answer(asked)], now=START + HOUR - 1), ApprovalSatisfied)


@pytest.mark.parametrize("at", [START - 1, START + HOUR])
def test_an_answer_from_outside_the_time_of_the_request_does_not_count(at: int) -> None:
    asked = request()
    assert flaw(judged(asked, [answer(asked, answered_at=at)])) == "expired"


def test_the_channel_that_made_the_call_never_approves_it() -> None:
    asked = request()
    assert flaw(judged(asked, [answer(asked, channel="token:agent")])) == "own_channel"


def test_elicitation_counts_where_the_policy_names_the_channel() -> None:
    asked = request(Requirement(channels=("token:agent",)))
    assert isinstance(judged(asked, [answer(asked, channel="token:agent")]), ApprovalSatisfied)


def test_the_requester_may_be_ruled_out_however_they_are_spelt() -> None:
    asked = request(Requirement(not_requester=True))
    for name in ("alice", "Alice", " ALICE ", "ａｌｉｃｅ"):
        assert flaw(judged(asked, [answer(asked, name)])) == "requester"
    assert isinstance(judged(request(), [answer(request(), "alice")]), ApprovalSatisfied)


def test_whoever_holds_the_credential_is_a_requester_like_whom_the_call_is_for() -> None:
    asked = request(Requirement(not_requester=True), holder="Grace")
    assert [flaw(judged(asked, [answer(asked, name)])) for name in ("alice", "grace")] == ["requester"] * 2
    assert isinstance(judged(asked, [answer(asked, "ada")]), ApprovalSatisfied)
    free = request(holder="grace")
    assert isinstance(judged(free, [answer(free, "grace")]), ApprovalSatisfied)
    forged = msgspec.structs.replace(asked, holder=msgspec.UNSET)
    assert flaw(judged(forged, [answer(forged, "grace")])) == "unsealed_request"


def test_a_request_that_names_no_holder_is_written_as_those_before_there_were_any() -> None:
    """So that seals of calls that wait since then still hold."""
    assert b"holder" not in msgspec.json.encode(request())
    assert b"holder" not in msgspec.msgpack.encode(request())


def test_only_named_people_and_groups_approve() -> None:
    asked = request(Requirement(approvers=("ada", "group:finance")))
    assert isinstance(judged(asked, [answer(asked)]), ApprovalSatisfied)
    assert isinstance(judged(asked, [answer(asked, "bob", groups=("finance",))]), ApprovalSatisfied)
    assert flaw(judged(asked, [answer(asked, "bob", groups=("sales",))])) == "not_an_approver"
    assert flaw(judged(asked, [answer(asked, "group:finance")])) == "not_an_approver", "a person with an odd name"


def test_an_approval_of_one_input_does_not_open_for_another() -> None:
    asked = request()
    assert flaw(judged(asked, [answer(asked)], call_input=b'{"amount":6}')) == "changed"


def test_an_edit_voids_the_first_of_two_approvals() -> None:
    """AT-139 with two people: what the first approved is not what would run."""
    asked = request(Requirement(people=2))
    edited = b'{"amount":4}'
    answers = [answer(asked, "ada"), answer(asked, "bob", call_input=edited)]
    assert flaw(judged(asked, answers, call_input=edited)) == "too_few"
    answers.append(answer(asked, "ada", call_input=edited))
    assert isinstance(judged(asked, answers, call_input=edited), ApprovalSatisfied)


def test_an_edit_back_does_not_revive_what_an_edit_voided() -> None:
    asked = request(Requirement(people=2))
    there, back = answer(asked, "bob", call_input=b"{}"), answer(asked, "carl")
    assert flaw(judged(asked, [answer(asked, "ada"), there, back])) == "too_few"


@given(st.integers(1, 4), st.lists(NAMES, max_size=6))
def test_it_takes_as_many_different_people_as_are_demanded(people: int, names: list[str]) -> None:
    asked = request(Requirement(people=people))
    verdict = judged(asked, [answer(asked, name) for name in names])
    assert isinstance(verdict, ApprovalSatisfied) == (len(set(names)) >= people)


@given(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_no_answer_works_for_another_invocation(one: str, other: str) -> None:
    assume(one != other)
    first, second = request(invocation_id=one), request(invocation_id=other)
    assert flaw(judged(second, [answer(first)])) == "foreign_answer"


@given(st.binary(min_size=1, max_size=40).filter(lambda other: other != KEY))
def test_no_other_key_seals_an_answer_or_a_request(other: bytes) -> None:
    asked = request()
    assert flaw(judged(asked, [seal_record(other, answer(asked))])) == "unsealed_answer"
    assert flaw(judged(seal_record(other, asked), [answer(asked)])) == "unsealed_request"


def test_the_other_purposes_of_a_request_open_nothing() -> None:
    for purpose in ("outcome", "input"):
        asked = request(purpose=purpose)
        assert flaw(judged(asked, [answer(asked)])) == "wrong_purpose"


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
def _tampered(draw: st.DrawFn, record: Any) -> Any:
    """The record with exactly one field changed."""
    field = draw(st.sampled_from(record.__struct_fields__))
    old = getattr(record, field)
    if field in ("reason", "edited_input"):
        old = old or ("" if field == "reason" else b"")
    return msgspec.structs.replace(record, **{field: draw(_others(old))})


@given(st.data())
def test_any_change_of_any_field_of_an_answer_closes_the_door(data: st.DataObject) -> None:
    asked = request(Requirement(people=2))
    answers = [answer(asked, "ada", reason="fine", groups=("finance",)), answer(asked, "bob")]
    assert isinstance(judged(asked, answers), ApprovalSatisfied)
    which = data.draw(st.integers(0, 1))
    answers[which] = data.draw(_tampered(answers[which]))
    assert isinstance(judged(asked, answers), ApprovalUnsatisfied)


@given(st.data())
def test_any_change_of_any_field_of_a_request_closes_the_door(data: st.DataObject) -> None:
    asked = request(Requirement(people=2))
    answers = [answer(asked, "ada"), answer(asked, "bob")]
    binding = compute_binding(KEY, asked, INPUT)
    changed = data.draw(_tampered(asked))
    assert isinstance(check_approval(changed, answers, binding=binding, key=KEY, now=NOW), ApprovalUnsatisfied)


@given(st.data())
def test_any_change_of_what_would_run_closes_the_door(data: st.DataObject) -> None:
    """The binding is worked out again from what would run: digest, input, principal, agent, expiry, invocation."""
    asked = request()
    field = data.draw(st.sampled_from(["tool_digest", "principal", "agent", "expires_at", "invocation_id"]))
    running = msgspec.structs.replace(asked, **{field: data.draw(_others(getattr(asked, field)))})
    binding = compute_binding(KEY, running, INPUT)
    assert isinstance(check_approval(asked, [answer(asked)], binding=binding, key=KEY, now=NOW), ApprovalUnsatisfied)


def test_an_edited_input_handed_along_must_be_the_approved_one() -> None:
    asked = request()
    edited = b'{"amount":4}'
    plain = answer(asked, call_input=edited)
    right = msgspec.structs.replace(plain, edited_input=edited)
    wrong = msgspec.structs.replace(plain, edited_input=b'{"amount":400}')
    assert isinstance(judged(asked, [right], call_input=edited), ApprovalSatisfied)
    assert flaw(judged(asked, [wrong], call_input=edited)) == "unsealed_answer"

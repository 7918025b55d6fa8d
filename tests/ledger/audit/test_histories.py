"""Histories of calls that a check finds wrong: illegal moves, ends that are none, and what ran unapproved."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from ferrule.app.custody.paths import LedgerPaths
from ferrule.model.journal import Segment
from tests.ledger.audit.build import (
    START,
    Story,
    make_answer,
    make_decision,
    make_mark,
    make_payload,
    make_request,
    make_segment,
)
from tests.ledger.audit.verdicts import find_only, verify_story


def test_a_whole_call_recorded_twice_is_found(paths: LedgerPaths) -> None:
    story = Story()
    call = story.read()
    story.entries.append(msgspec.structs.replace(story.entries[-1]))
    found = find_only(verify_story(paths, story))
    assert (found.topic, found.seq, found.call) == ("history", 3, call)


def test_an_illegal_move_is_found(paths: LedgerPaths) -> None:
    """AT-93, AT-96: `awaiting_approval` never goes straight to `running`."""
    story = Story()
    call = story.park()
    story.resume(call)
    messages = [finding.message for finding in verify_story(paths, story).findings]
    assert messages[0] == "goes from awaiting_approval to running, which is not legal"


def test_an_end_that_is_no_end_is_found(paths: LedgerPaths) -> None:
    story = Story()
    story.add("call", story.new_call(), "running", make_segment("selected", "arguments_ready", "running"))
    found = find_only(verify_story(paths, story))
    assert found.message == "is recorded as a whole call, but stops in state running, which is not an end"


def test_an_outcome_that_is_not_the_last_state_is_found(paths: LedgerPaths) -> None:
    story = Story()
    story.read()
    story.entries[-1].outcome = "failed"
    assert find_only(verify_story(paths, story)).message == "says 'failed', but the call went to succeeded"


def test_an_end_without_a_beginning_is_found(paths: LedgerPaths) -> None:
    story = Story()
    story.end(story.new_call())
    messages = [finding.message for finding in verify_story(paths, story).findings]
    assert messages[0] == "continues a call that has no rows before, or has ended"


Spoil = Callable[[Story, str], None]


def approved_twice_by_one(story: Story, call: str) -> None:
    story.approve(call, "olga", is_last=False)
    story.approve(call, " Olga ")


def approved_by_one_of_two(story: Story, call: str) -> None:
    story.approve(call, "olga")


def approved_and_rejected(story: Story, call: str) -> None:
    story.approve(call, "otto", is_last=False)
    no = make_answer(call, "olga", "reject")
    story.add(
        "answered", call, "awaiting_approval", make_segment(begin=20, answer=no), mark=make_mark("awaiting_approval")
    )
    story.approve(call, "oswin")


def approved_before_an_edit(story: Story, call: str) -> None:
    story.approve(call, "olga", is_last=False)
    edited = msgspec.structs.replace(make_answer(call, "otto"), binding=b"e" * 32)
    story.add(
        "answered", call, "approved", make_segment("approved", begin=20, answer=edited), mark=make_mark("approved")
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (approved_twice_by_one, "it ran with 1 of 2 approvals"),
        (approved_by_one_of_two, "it ran with 1 of 2 approvals"),
        (approved_and_rejected, "it ran although a person had rejected it"),
        (approved_before_an_edit, "it ran with 1 of 2 approvals"),
    ],
)
def test_what_ran_without_its_approvals_is_found(paths: LedgerPaths, spoil: Spoil, message: str) -> None:
    """AT-96: an `ask` cannot be skipped; two people are two people."""
    story = Story()
    call = story.park(people=2)
    spoil(story, call)
    story.resume(call)
    story.end(call, begin=40)
    found = find_only(verify_story(paths, story))
    assert (found.topic, found.call, found.message) == ("approval", call, message)


def test_a_call_that_asks_and_runs_in_one_row_is_found(paths: LedgerPaths) -> None:
    story = Story()
    went = make_segment("selected", "arguments_ready", "running", "succeeded", decisions=(make_decision("ask"),))
    story.add("call", story.new_call(), "succeeded", went)
    assert find_only(verify_story(paths, story)).message == "it ran although a person had to be asked"


@pytest.mark.parametrize(
    ("requirement", "by", "channel", "message"),
    [
        ({}, "olga", "agent-token", "was approved over 'agent-token', the channel that made it"),
        ({"not_requester": True}, "Alice", "owner-token", "was approved by 'Alice', who asked for it and may not"),
    ],
)
def test_an_approval_from_the_wrong_side_is_found(
    paths: LedgerPaths, requirement: dict[str, bool], by: str, channel: str, message: str
) -> None:
    story = Story()
    call = story.park(**requirement)
    story.approve(call, by, channel=channel)
    assert find_only(verify_story(paths, story)).message == message


def test_an_approval_by_whose_credential_made_the_call_is_found(paths: LedgerPaths) -> None:
    story = Story()
    call = story.park(not_requester=True)
    asked = story.entries[-1].body
    assert isinstance(asked, Segment) and asked.request is not None
    asked.request = msgspec.structs.replace(asked.request, holder="grace")
    story.approve(call, "Grace")
    assert find_only(verify_story(paths, story)).message == "was approved by 'Grace', who asked for it and may not"


def test_an_approval_after_the_request_expired_is_found(paths: LedgerPaths) -> None:
    story = Story()
    call = story.new_call()
    asked = msgspec.structs.replace(make_request(call), expires_at=START - 1)
    went = make_segment(
        "selected", "arguments_ready", "awaiting_approval", decisions=(make_decision("ask"),), request=asked
    )
    story.add("parked", call, "awaiting_approval", went, payload=make_payload(), mark=make_mark("awaiting_approval"))
    story.approve(call)
    assert find_only(verify_story(paths, story)).message == "was approved by 'olga' after the request had expired"

"""A waiting call in a terminal: everything is there, and nothing in it can play tricks on the reader."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from ferrule.cli.pending import card_lines, format_duration, print_pending
from ferrule.model.decision import Requirement
from ferrule.runtime.approval.inbox_item import InboxItem
from tests.runtime.approval.inboxes import AGENT, FakeInboxes, make_identity


def waiting(who: Any = None, call_input: bytes = b'{"amount":5}', **request: Any) -> InboxItem:
    async def main() -> InboxItem:
        desk = await FakeInboxes().open()
        await desk.park(requirement=request.pop("requirement", None), call_input=call_input, **request)
        desk.now += 192_000_000
        return await desk.inbox(who or make_identity("ada")).get("inv_1")

    return asyncio.run(main())


def test_a_card_says_who_asks_for_what_why_and_until_when() -> None:
    requirement = Requirement(people=2, approvers=("bob", "group:finance"), not_requester=True)
    text = card_lines(waiting(make_identity("bob"), requirement=requirement, suggested_updates=({"allow": "refund"},)))
    assert (
        text
        == """\
inv_1  Refund a payment (refund 1.0.0)  high risk
  asks      support for alice, 3 min 12 s ago
  because   rule refunds asks
  input     {
              "amount": 5
            }
  needs     2 people: bob, group finance, not alice
  expires   in 56 min 48 s
  rule 0    {"allow": "refund"}
            (suggested; --accept-rule 0 takes it into the policy)
"""
    )


def test_a_card_says_why_the_reader_cannot_answer() -> None:
    assert "you       cannot approve it: agents came by token:agent" in card_lines(waiting(AGENT))


def test_a_card_says_that_the_key_of_a_call_has_ended() -> None:
    ended = msgspec.structs.replace(waiting(), will_not_run="the key 5b1f09c2 of bob that it came with expired at noon")
    told = (
        "ended     the key 5b1f09c2 of bob that it came with expired at noon; it does not go on, whoever answers it\n"
    )
    assert told in card_lines(ended)


def test_a_card_shows_which_answers_a_tool_takes() -> None:
    text = card_lines(msgspec.structs.replace(waiting(), answer_schema={"enum": ["savings", "giro\x1b[2J"]}))
    assert '  answer    {"enum": ["savings", "giro\\u001b[2J"]}\n' in text


@pytest.mark.parametrize(
    ("purpose", "told"),
    [
        ("approval", "answer with 'ferrule approve ID' or 'ferrule reject ID --reason WHY'\n"),
        ("input", "answer with 'ferrule answer ID ANSWER' or 'ferrule delegate ID PERSON'\n"),
        ("outcome", "answer with 'ferrule settle ID --happened --reason HOW' (or --did-not-happen)\n"),
    ],
)
def test_the_list_ends_with_the_command_that_answers(
    purpose: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = waiting()
    print_pending(
        [msgspec.structs.replace(found, request=msgspec.structs.replace(found.request, purpose=purpose))], False
    )
    assert capsys.readouterr().out.endswith(f"1 call waits; {told}")


@pytest.mark.parametrize("trick", ["\x1b[2J", "\u202e", "\r", "\x07", "\u200b"])
def test_no_text_of_a_call_reaches_the_terminal_raw(trick: str) -> None:
    text = card_lines(
        waiting(
            call_input=msgspec.json.encode({"note": f"a{trick}b"}),
            message=f"because{trick}",
            tool_title=f"Say{trick}hello",
            principal=f"al{trick}ice",
        )
    )
    assert trick not in text


def test_a_long_input_is_not_cut() -> None:
    long = "x" * 5000
    assert long in card_lines(waiting(call_input=f'{{"note":"{long}"}}'.encode()))


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3725, "1 h 2 min"), (200_000, "2 d 7 h")]
)
def test_lengths_of_time_are_told_in_two_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text

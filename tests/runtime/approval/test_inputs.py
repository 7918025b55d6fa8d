"""Editing an input with sensitive members: masks mean "as it was", and nothing sensitive reaches the ledger."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.errors import InboxError
from ferrule.model.decision import Requirement
from ferrule.model.journal import Payload
from ferrule.runtime.approval.inputs import (
    WaitingInput,
    apply_edit,
    make_edit_payload,
    open_edited_inputs,
    open_parked_inputs,
)
from ferrule.runtime.approval.key import ApprovalKey
from tests.runtime.approval.inboxes import FakeInboxes, make_identity

MASK = "[REDACTED]"
KEY = ApprovalKey(b"r" * 32)
REAL: dict[str, Any] = {
    "amount": 5,
    "card": "4111-1111",
    "to": [{"name": "ann", "pin": "99"}, {"name": "ben", "pin": "98"}],
}
SHOWN: dict[str, Any] = {"amount": 5, "card": MASK, "to": [{"name": "ann", "pin": MASK}, {"name": "ben", "pin": MASK}]}


def make_inputs(real: Any = REAL, shown: Any = SHOWN) -> WaitingInput:
    return WaitingInput(b"{}", msgspec.json.encode(real), msgspec.json.encode(shown), is_sealed=True)


def apply(value: Any) -> tuple[Any, Any]:
    after = apply_edit(make_inputs(), msgspec.json.encode(value))
    return msgspec.json.decode(after.call), msgspec.json.decode(after.shown)


def test_masks_left_in_place_mean_the_values_behind_them() -> None:
    call, shown = apply({**SHOWN, "amount": 4})
    assert call == {**REAL, "amount": 4}
    assert shown == {**SHOWN, "amount": 4}


def test_a_sensitive_value_that_is_written_anew_is_masked_again() -> None:
    call, shown = apply({**SHOWN, "card": "5500-0000"})
    assert call["card"] == "5500-0000"
    assert shown == SHOWN


def test_a_member_the_edit_adds_is_masked_without_the_tools_own_mask() -> None:
    _, shown = apply({**SHOWN, "note": "and tell 4111-1111"})
    assert shown["note"] == MASK
    after = apply_edit(make_inputs(), msgspec.json.encode({**SHOWN, "note": "hi"}), lambda text: b'{"own":"mask"}')
    assert after.shown == b'{"own":"mask"}'


@pytest.mark.parametrize(
    "value",
    [{**SHOWN, "to": SHOWN["to"][:1]}, {**SHOWN, "other": MASK}, {"amount": 5, "to": [{"name": MASK, "pin": "1"}]}],
)
def test_a_mask_that_was_moved_is_refused_rather_than_sent(value: Any) -> None:
    with pytest.raises(InboxError, match="masked value was moved"):
        apply(value)


def test_an_edited_input_is_stored_sealed_and_found_again() -> None:
    after = apply_edit(make_inputs(), msgspec.json.encode({**SHOWN, "amount": 4}))
    payload = make_edit_payload(KEY, "inv_1", after)
    assert b"4111" not in msgspec.msgpack.encode(payload)
    assert open_edited_inputs(KEY, "inv_1", make_inputs(), payload) == after


def test_what_is_shown_must_be_what_would_run_but_for_its_masks() -> None:
    assert make_inputs().is_shown_faithfully
    for shown in (
        {**SHOWN, "amount": 6},
        {**SHOWN, "amount": "5"},
        {**SHOWN, "to": []},
        {**SHOWN, "amount": True},
        {"amount": 5, "card": MASK},
    ):
        assert not make_inputs(shown=shown).is_shown_faithfully, shown
    assert not make_inputs(real={"flag": True}, shown={"flag": 1}).is_shown_faithfully


PARTLY = {"command": f"curl -H {MASK} https://x.example/{MASK}/a", "to": "ann", MASK: 1, f"{MASK} 2": 2}
BEHIND = {"command": "curl -H t0p-secret https://x.example/0ther/a", "to": "ann", "t0p-secret": 1, "0ther": 2}


def test_pieces_of_a_text_and_names_may_be_masked_too() -> None:
    """A known secret in an ordinary member: what stands around it is shown."""
    assert make_inputs(BEHIND, PARTLY).is_shown_faithfully
    for shown in (
        {**PARTLY, "command": f"rm -H {MASK} https://x.example/{MASK}/a"},
        {**PARTLY, "command": f"curl -H {MASK} https://y.example/{MASK}/a"},
        {**PARTLY, "command": "curl -H t0p https://x.example/0ther/a"},
        {**PARTLY, "to": "ben"},
        {**PARTLY, f"{MASK} 3": 2},
        {**PARTLY, MASK: 2},
    ):
        assert not make_inputs(BEHIND, shown).is_shown_faithfully, shown
    assert not make_inputs({"a": "ab"}, {"a": f"ab{MASK}b"}).is_shown_faithfully
    assert not make_inputs({"a": 5}, {"a": f"{MASK}5"}).is_shown_faithfully


def test_a_partly_masked_input_can_be_edited_elsewhere_only() -> None:
    before = make_inputs(BEHIND, PARTLY)
    assert apply_edit(before, msgspec.json.encode(PARTLY)).call == before.call
    for value in (
        {**PARTLY, "to": "ben"},  # the masked names would be sent
        {**PARTLY, "command": f"curl {MASK}"},
        {**PARTLY, "to": f"x {MASK}"},
    ):
        with pytest.raises(InboxError, match="masked value was moved"):
            apply_edit(before, msgspec.json.encode(value))
    texts = WaitingInput(b"{}", b'{"c":"a s3cret","to":"ann"}', b'{"c":"a [REDACTED]","to":"ann"}', is_sealed=True)
    after = apply_edit(texts, b'{"c":"a [REDACTED]","to":"ben"}')
    assert after.call == b'{"c":"a s3cret","to":"ben"}'
    assert b"s3cret" not in after.shown


def test_a_plain_input_is_shown_as_it_is() -> None:
    plain = open_parked_inputs(KEY, "inv_1", Payload(b'{"a":1}', call_input=b'{"a":2}'))
    assert plain == WaitingInput(b'{"a":1}', b'{"a":2}', b'{"a":2}')


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=2), _JSON, max_size=4), st.dictionaries(st.text(max_size=2), _JSON, max_size=4))
def test_without_secrets_an_edit_is_taken_as_it_is_written(before: dict[str, Any], after: dict[str, Any]) -> None:
    plain = msgspec.json.encode(before)
    result = apply_edit(WaitingInput(plain, plain, plain), msgspec.json.encode(after))
    assert msgspec.json.decode(result.call) == after
    assert result.shown == result.call


@given(st.dictionaries(st.text(max_size=2), _JSON, min_size=1, max_size=4), st.data())
def test_sending_back_what_was_shown_changes_nothing(real: dict[str, Any], data: st.DataObject) -> None:
    secret = data.draw(st.sampled_from(sorted(real)))
    before = make_inputs(real, {**real, secret: MASK})
    after = apply_edit(before, before.shown)
    assert msgspec.json.decode(after.call) == real


def test_an_approver_edits_a_masked_call_without_ever_seeing_the_secret() -> None:
    """From the inbox: shown masked, edited masked, run with the real value, and the ledger never has it in plain."""

    async def main() -> None:
        desk = await FakeInboxes().open()
        real, shown = msgspec.json.encode(REAL), msgspec.json.encode(SHOWN)
        await desk.park(requirement=Requirement(people=2), call_input=real, shown=shown)
        waiting = await desk.inbox(make_identity("ada")).get("inv_1")
        assert (waiting.input, waiting.damage) == (SHOWN, None)
        changed = msgspec.json.encode({**SHOWN, "amount": 4})
        await desk.inbox(make_identity("ada")).approve("inv_1", edited_input=changed)
        second = await desk.inbox(make_identity("bob")).get("inv_1")
        assert (second.input, second.damage) == ({**SHOWN, "amount": 4}, None)
        assert (await desk.inbox(make_identity("bob")).approve("inv_1", resume=False)).state == "approved"
        rows = await desk.store.rows_of("inv_1")
        assert not any(b"4111" in row.body + (row.payload or b"") for row in rows)

    asyncio.run(main())

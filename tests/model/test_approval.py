"""An approval holds for exactly one call, and nobody without the key can make, change or move one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.model.approval import Answer, ApprovalRequest, Delegation, binding_of, is_sealed, seal_record
from ferrule.model.decision import Requirement

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
CALL: dict[str, Any] = {
    "invocation_id": "inv_1",
    "tool_digest": "abc",
    "call_input": b'{"amount":5}',
    "principal": "ada",
    "agent": "clerk",
    "expires_at": 1_000,
}
ANSWER = Answer(
    invocation_id="inv_1",
    verdict="approve",
    by="grace",
    channel="console",
    answered_at=5,
    binding=b"b",
    groups=("ops",),
)
REQUEST = ApprovalRequest(
    invocation_id="inv_1",
    tool_id="pay",
    tool_version="1.0.0",
    tool_digest="abc",
    tool_title="Pay",
    principal="ada",
    agent=None,
    channel="mcp",
    tenant="default",
    requested_at=1,
    expires_at=2,
    binding=b"b",
    requirement=Requirement(people=2),
    message="rule 1 asks",
    risk="high",
)
DELEGATION = Delegation(invocation_id="inv_1", by="ada", channel="console", to="group:finance", delegated_at=7)


@pytest.mark.parametrize(
    "change",
    [
        {"invocation_id": "inv_2"},
        {"tool_digest": "abd"},
        {"call_input": b'{"amount":6}'},
        {"principal": "eve"},
        {"agent": None},
        {"expires_at": 1_001},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_call_that_differs_in_any_part_has_another_binding(change: dict[str, Any]) -> None:
    assert binding_of(KEY, **CALL) == binding_of(KEY, **CALL)
    assert binding_of(KEY, **(CALL | change)) != binding_of(KEY, **CALL)


def test_another_key_gives_another_binding() -> None:
    assert binding_of(OTHER_KEY, **CALL) != binding_of(KEY, **CALL)


def test_text_that_moves_from_one_part_to_the_next_gives_another_binding() -> None:
    moved = CALL | {"invocation_id": "inv_1a", "tool_digest": "bc"}
    assert binding_of(KEY, **moved) != binding_of(KEY, **CALL)


@pytest.mark.parametrize("record", [ANSWER, REQUEST, DELEGATION], ids=lambda record: type(record).__name__)
def test_a_seal_holds_for_its_key_alone(record: Any) -> None:
    assert not is_sealed(KEY, record)
    assert is_sealed(KEY, seal_record(KEY, record))
    assert not is_sealed(OTHER_KEY, seal_record(KEY, record))
    assert seal_record(KEY, seal_record(KEY, record)) == seal_record(KEY, record)


@pytest.mark.parametrize(
    ("record", "change"),
    [
        (ANSWER, {"verdict": "reject"}),
        (ANSWER, {"by": "eve"}),
        (ANSWER, {"edited_input": b"{}"}),
        (REQUEST, {"requirement": Requirement(people=1)}),
        (REQUEST, {"holder": "eve"}),
        (DELEGATION, {"to": "eve"}),
    ],
)
def test_a_record_that_was_changed_is_no_longer_sealed(record: Any, change: dict[str, Any]) -> None:
    assert not is_sealed(KEY, msgspec.structs.replace(seal_record(KEY, record), **change))


def test_a_seal_survives_being_written_and_read() -> None:
    written = msgspec.msgpack.encode(seal_record(KEY, REQUEST))
    assert is_sealed(KEY, msgspec.msgpack.decode(written, type=ApprovalRequest))

"""What a hook is told and what it may answer, as hooks outside the process see it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.contracts.hook import HookInput, HookOutput


def answer(**said: Any) -> HookOutput:
    """What a hook answered, as JSON."""
    return msgspec.json.decode(msgspec.json.encode(said), type=HookOutput)


def test_a_hook_is_told_what_there_is_to_say() -> None:
    told = HookInput("pre_tool_use", "inv_1", "pay", "Pay", "ada", None, {"amount": 5})
    assert msgspec.json.decode(msgspec.json.encode(told)) == {
        "event": "pre_tool_use",
        "invocation_id": "inv_1",
        "tool_id": "pay",
        "tool_name": "Pay",
        "principal": "ada",
        "agent": None,
        "observable_input": {"amount": 5},
    }


def test_null_for_an_output_is_an_output() -> None:
    assert answer().updated_output is msgspec.UNSET
    assert answer(updated_output=None).updated_output is None


@pytest.mark.parametrize(
    "said", [{"permision": "deny"}, {"permission": "maybe"}, {"messages": "one"}, {"stop": True}], ids=str
)
def test_an_answer_that_nobody_would_understand_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        answer(**said)

"""The result of a call: what the model sees of it, what it is worth to a program, and its record."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.failure import Stop, tool_error
from ferrule.model.result import MutationNote, Pending, Result

NOTE = {"type": "text", "text": "be careful", "origin": "guard"}


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def result(**fields: Any) -> Result:
    """A result of one call."""
    return Result(**{"invocation_id": "inv_1", "status": "succeeded", "created_at": 1, **fields})


def test_the_text_is_what_the_model_sees_of_the_tools_own_output() -> None:
    whole = (text("a"), {"type": "image", "data": ""}, text("b"))
    assert result(content=whole).text == "a\nb"
    assert result(content=whole, model_facing_content=(text("short"),)).text == "short"
    assert result(content=whole, model_facing_content=()).text == ""
    assert result(content=whole, model_facing_content=(*whole, NOTE), additional_context=(NOTE,)).text == "a\nb"


def test_the_value_is_structured_where_there_is_json() -> None:
    assert result(content=(text("a"),)).value == "a"
    assert result(content=(text("a"),), structured_content=0).value == 0


def test_a_record_leaves_out_what_there_is_not() -> None:
    assert result(content=(text("a"),)).to_record() == {
        "schema_version": "0.2.0",
        "result_id": "res_1",
        "invocation_id": "inv_1",
        "status": "succeeded",
        "created_at": "1970-01-01T00:00:00.000001Z",
        "is_error": False,
        "content": [text("a")],
        "redaction_state": "none",
    }


def test_a_record_holds_nothing_but_json() -> None:
    error = tool_error(Stop("timeout", "late"), has_run=True, is_repeatable=True)
    note = MutationNote("mut_1", "hook", "guard", ("amount",))
    record = result(status="timed_out", error=error, input_mutations=(note,), policy_refs=("p",)).to_record()
    assert msgspec.json.decode(msgspec.json.encode(record)) == record
    assert record["is_error"] is True and record["error"]["error_class"] == "timeout"
    assert record["input_mutations"][0]["changed_fields"] == ["amount"]


def test_what_a_server_said_beside_its_result_is_no_part_of_the_record() -> None:
    assert "native_meta" not in result(native_meta={"x": 1}).to_record()


def test_a_falsy_output_is_an_output() -> None:
    assert result(structured_content=[]).to_record()["structured_content"] == []


def test_a_call_that_waits_is_no_error_and_has_its_state_for_a_status() -> None:
    pending = Pending(invocation_id="inv_1", state="awaiting_approval", message="somebody has to say yes")
    assert (pending.status, pending.is_pending, pending.is_error) == ("awaiting_approval", True, False)
    assert result().is_pending is False

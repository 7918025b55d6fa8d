"""Native output becomes JSON once: whatever a tool gives is told, or refused in plain words."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.executor import Output
from ferrule.model.result import Result
from tests.runtime.pipeline.results.result_app import result_scene
from tests.spec.running_app import make_tool, run_async

CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
TREE: dict[str, Any] = {}
TREE["self"] = {"again": TREE}
DEEP: list[Any] = []
for _ in range(150):
    DEEP = [DEEP]
ENDLESS: list[Any] = []
for _ in range(5_000):
    ENDLESS = [ENDLESS]


@pytest.mark.parametrize(
    ("value", "word"),
    [(CIRCLE, "contains itself"), (TREE, "contains itself"), (DEEP, "levels deep"), (ENDLESS, "nested"),
     (object(), "not JSON"), ({"a": object()}, "not JSON"), ({1j: 2}, "not JSON"), (Output(content=(CIRCLE,)), "object"),  # type: ignore[arg-type]  # wrong on purpose
     (Output(content=({"type": "text", "text": CIRCLE},)), "contains itself"), (Output(content=({},)), "type"),
     (Output(content=("text",)), "object"), (Output(content="text"), "list"), (Output(artifact_refs=(7,)), "artifact")],  # type: ignore[arg-type]  # wrong on purpose

)  # fmt: skip
@run_async
async def test_at_115_what_is_no_json_is_a_failure_of_mapping(value: Any, word: str) -> None:
    """AT-115, AT-87: a class, a code and a message that says what to mend; nothing hangs, nothing crashes."""
    async with result_scene(value if isinstance(value, Output) else Output(value)) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.status, result.error.error_code) == ("failed", "result_mapping_failed")
        assert word in result.error.message
        assert "its owner must fix it" in result.error.message
        assert "Ferrule itself" not in result.error.message
        assert await on.app.result(result.invocation_id) == result


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": math.nan, "b": [math.inf, 1.5, None]}, {"a": None, "b": [None, 1.5, None]}),
        ([-math.inf], [None]),
        ({"text": "null", "n": 1.0}, {"text": "null", "n": 1.0}),
    ],
)
@run_async
async def test_numbers_json_does_not_have_are_null(value: Any, told: Any) -> None:
    """AT-220: text and structured form agree, and are JSON."""
    async with result_scene(Output(value)) as on:
        result = await on.call()
        assert result.structured_content == told
        assert msgspec.json.decode(result.text) == told
        assert await on.app.result(result.invocation_id) == result


@run_async
async def test_half_characters_do_not_break_anything() -> None:
    for value in ("a\ud800b", {"k\udfff": "v\ud83d\ude00"}, Output(content=({"type": "text", "text": "\ud800"},))):
        async with result_scene(value) as on:
            result = await on.call()
            assert result.status == "succeeded"
            msgspec.json.encode(result.to_record())
            assert "�" in result.text
            assert await on.app.result(result.invocation_id) == result


@pytest.mark.parametrize(
    "value", [{"at": datetime.date(2026, 1, 1)}, (1, 2), UUID(int=1), Decimal("1.50"), {"b": b"bytes"}, 2**80, {"n": -(2**70)}]
)  # fmt: skip
@run_async
async def test_python_values_with_a_json_form_are_told_in_it(value: Any) -> None:
    async with result_scene(Output(value)) as on:
        result = await on.call()
        assert result.status == "succeeded", result.error
        record = result.to_record()
        again = msgspec.json.decode(msgspec.json.encode(record)) if "2**" not in repr(value) else record
        assert again["content"][0]["text"] == result.text


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=8),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=12,
    ),
    st.booleans(),
)
def test_any_value_ends_as_a_result_that_can_be_read_again(value: Any, is_block: bool) -> None:
    """AT-105, AT-220: in the call and from the ledger."""

    @run_async
    async def main() -> None:
        gives = Output(content=({"type": "custom_thing", "member": value},)) if is_block else Output(value)
        async with result_scene(gives) as on:
            result = await on.call()
            assert result.status == "succeeded"
            again = await on.app.result(result.invocation_id)
            assert isinstance(again, Result)
            assert again.content == result.content
            if is_block:
                assert result.content[0]["type"] == "custom_thing"

    main()


# Schemas


@run_async
async def test_a_tool_whose_output_schema_cannot_be_used_never_runs() -> None:
    """Nothing could be said of what it gives: the call is refused before it acts, with what to do."""
    async with result_scene({"n": 1}, make_tool(output_schema={"$schema": "https://example.com/mine"})) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.error.error_class, result.error.retry.retry_safe) == ("capability_gap", True)
        assert "its output schema cannot be used: `$schema` names a dialect" in result.error.message

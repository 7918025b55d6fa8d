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

from ferrule.contracts.executor import EMPTY, ExecutionFailed, Output
from ferrule.model.result import Result
from tests.runtime.pipeline.results.scene import kitchen
from tests.spec.scene import made, played

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
@played
async def test_at_115_what_is_no_json_is_a_failure_of_mapping(value: Any, word: str) -> None:
    """AT-115, AT-87: a class, a code and a message that says what to mend; nothing hangs, nothing crashes."""
    async with kitchen(value if isinstance(value, Output) else Output(value)) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.status, result.error.error_code) == ("failed", "result_mapping_failed")
        assert word in result.error.message
        assert "its owner must mend it" in result.error.message
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
@played
async def test_numbers_json_does_not_have_are_null(value: Any, told: Any) -> None:
    """AT-220: text and structured form agree, and are JSON."""
    async with kitchen(Output(value)) as on:
        result = await on.call()
        assert result.structured_content == told
        assert msgspec.json.decode(result.text) == told
        assert await on.app.result(result.invocation_id) == result


@played
async def test_half_characters_do_not_break_anything() -> None:
    for value in ("a\ud800b", {"k\udfff": "v\ud83d\ude00"}, Output(content=({"type": "text", "text": "\ud800"},))):
        async with kitchen(value) as on:
            result = await on.call()
            assert result.status == "succeeded"
            msgspec.json.encode(result.to_record())
            assert "�" in result.text
            assert await on.app.result(result.invocation_id) == result


@pytest.mark.parametrize(
    "value", [{"at": datetime.date(2026, 1, 1)}, (1, 2), UUID(int=1), Decimal("1.50"), {"b": b"bytes"}, 2**80, {"n": -(2**70)}]
)  # fmt: skip
@played
async def test_python_values_with_a_json_form_are_told_in_it(value: Any) -> None:
    async with kitchen(Output(value)) as on:
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

    @played
    async def main() -> None:
        gives = Output(content=({"type": "custom_thing", "member": value},)) if is_block else Output(value)
        async with kitchen(gives) as on:
            result = await on.call()
            assert result.status == "succeeded"
            again = await on.app.result(result.invocation_id)
            assert isinstance(again, Result)
            assert again.content == result.content
            if is_block:
                assert result.content[0]["type"] == "custom_thing"

    main()


# Schemas


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@played
async def test_at_87_a_mismatch_fails_or_is_noted_as_the_workspace_wants() -> None:
    """AT-87: `[results] mismatch`; never in silence."""
    tool = made(output_schema=NUMBER)
    async with kitchen({"n": "x"}, tool) as on:
        result = await on.call()
        assert result.error is not None
        assert result.error.error_code == "result_mapping_failed"
    async with kitchen({"n": "x"}, tool, settings={"mismatch": "note"}) as on:
        result = await on.call()
        assert (result.status, result.structured_content) == ("succeeded", {"n": "x"})
        assert result.summary == "The output does not fit the tool's output schema."
        assert (await on.story(result)).notes["output_mismatch"] == "/n"
        assert await on.app.result(result.invocation_id) == result
    async with kitchen({"n": 1}, tool, settings={"mismatch": "note"}) as on:
        assert (await on.call()).summary is None


@played
async def test_a_tool_whose_output_schema_cannot_be_used_never_runs() -> None:
    """Nothing could be said of what it gives: the call is refused before it acts, with what to do."""
    async with kitchen({"n": 1}, made(output_schema={"$schema": "https://example.com/mine"})) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.error.error_class, result.error.retry.retry_safe) == ("capability_gap", True)
        assert "its output schema cannot be used: `$schema` names a dialect" in result.error.message


# Nothing


@played
async def test_at_230_nothing_is_told_as_the_tool_wants() -> None:
    """AT-230: a marker, a structured status or a failure; a lost stream is none of these."""
    for gives in (None, EMPTY):
        async with kitchen(Output(gives)) as on:
            assert (await on.call()).content[0]["empty"] is True
        async with kitchen(Output(gives), made(interface={"empty_result_policy": "structured"})) as on:
            result = await on.call()
            assert (result.status, result.structured_content) == ("succeeded", {"status": "empty"})
        async with kitchen(Output(gives), made(interface={"empty_result_policy": "error"})) as on:
            result = await on.call()
            assert result.status == "failed"
            assert "gave no output" in result.text
    async with kitchen("", made(interface={"empty_result_policy": "error"})) as on:
        assert (await on.call()).status == "succeeded"  # an empty text is something


# References


@played
async def test_at_249_references_have_an_id_a_place_and_a_relation() -> None:
    """AT-247, AT-248, AT-249, AT-250: both kinds in one result; artifacts point back; what was said stays."""
    output: Any = Output  # whoever writes plain texts is understood too
    output = output(
        "done",
        artifact_refs=({"artifact_id": "snap-1", "version": 3, "mimeType": "image/png", "sha256": "ab"}, "art-2"),
        resource_refs=({"url": "https://x.test/shot", "access": "public", "relation": "screenshot"}, "browser:page/1"),
    )
    async with kitchen(output) as on:
        result = await on.call()
        first, second = result.artifact_refs
        assert first["id"] == "snap-1"
        assert first["artifact_id"] == "snap-1"
        assert (first["version"], first["media_type"], first["digest"]) == (3, "image/png", "sha256:ab")
        assert (first["relation"], first["invocation_id"]) == ("created", result.invocation_id)
        assert second["id"] == "art-2"
        shot, page = result.resource_refs
        assert (shot["uri"], shot["access"], shot["relation"]) == ("https://x.test/shot", "public", "screenshot")
        assert (page["id"], page["relation"]) == ("browser:page/1", "linked")
        assert await on.app.result(result.invocation_id) == result


@played
async def test_references_in_the_content_are_references_of_the_result() -> None:
    """AT-119, AT-250: also where a tool only put them into its content."""
    blocks = (
        {"type": "artifact_ref", "id": "a", "uri": "artifact:a", "note": "n"},
        {"type": "resource_link", "uri": "res:1", "mimeType": "text/html"},
        {"type": "resource_link", "uri": "res:1"},
    )
    async with kitchen(Output(content=blocks)) as on:
        result = await on.call()
        assert result.content == blocks
        assert [ref["id"] for ref in result.artifact_refs] == ["a"]
        assert result.artifact_refs[0]["invocation_id"] == result.invocation_id
        assert [(ref["id"], ref["media_type"]) for ref in result.resource_refs] == [("res:1", "text/html")]


@played
async def test_native_references_stay_with_the_call() -> None:
    """AT-251, AT-256, AT-258: the task of a tool that started one."""
    refs = ({"source": "a2a", "task_id": "t-1"},)
    async with kitchen(Output("started", native_refs=refs, artifact_refs=({"id": "video"},))) as on:
        result = await on.call()
        assert (await on.story(result)).notes["native_refs"] == list(refs)


@played
async def test_a_very_long_message_of_a_failed_tool_is_cut() -> None:
    async with kitchen(ExecutionFailed("execution_failed", "m" * 1_000_000)) as on:
        result = await on.call()
        assert len(result.text) < 9_000
        assert result.text.endswith("(cut off)")

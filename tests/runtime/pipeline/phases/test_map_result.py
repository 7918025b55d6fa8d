"""The native output becomes the result once: what misses its schema, or is nothing, is said to be so."""

from __future__ import annotations

from ferrule.contracts.executor import EMPTY, Output
from tests.runtime.pipeline.results.result_app import result_scene
from tests.spec.running_app import make_tool, run_async

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@run_async
async def test_at_87_a_mismatch_fails_or_is_noted_as_the_workspace_wants() -> None:
    """AT-87: `[results] mismatch`; never in silence."""
    tool = make_tool(output_schema=NUMBER)
    async with result_scene({"n": "x"}, tool) as on:
        result = await on.call()
        assert result.error is not None
        assert result.error.error_code == "result_mapping_failed"
    async with result_scene({"n": "x"}, tool, settings={"mismatch": "note"}) as on:
        result = await on.call()
        assert (result.status, result.structured_content) == ("succeeded", {"n": "x"})
        assert result.summary == "The output does not fit the tool's output schema."
        assert (await on.read_story(result)).notes["output_mismatch"] == "/n"
        assert await on.app.result(result.invocation_id) == result
    async with result_scene({"n": 1}, tool, settings={"mismatch": "note"}) as on:
        assert (await on.call()).summary is None


@run_async
async def test_at_230_nothing_is_told_as_the_tool_wants() -> None:
    """AT-230: a marker, a structured status or a failure; a lost stream is none of these."""
    for gives in (None, EMPTY):
        async with result_scene(Output(gives)) as on:
            assert (await on.call()).content[0]["empty"] is True
        async with result_scene(Output(gives), make_tool(interface={"empty_result_policy": "structured"})) as on:
            result = await on.call()
            assert (result.status, result.structured_content) == ("succeeded", {"status": "empty"})
        async with result_scene(Output(gives), make_tool(interface={"empty_result_policy": "error"})) as on:
            result = await on.call()
            assert result.status == "failed"
            assert "gave no output" in result.text
    async with result_scene("", make_tool(interface={"empty_result_policy": "error"})) as on:
        assert (await on.call()).status == "succeeded"  # an empty text is something

"""The two forms of a result: what the model sees, and what the tool gave."""

from __future__ import annotations

import msgspec

from ferrule.contracts.executor import Output
from ferrule.contracts.hook import HookOutput
from tests.runtime.pipeline.results.result_app import TEXT, result_scene
from tests.spec.running_app import FunctionHook, make_tool, run_async


@run_async
async def test_json_is_stored_as_json_and_blocks_with_what_is_structured() -> None:
    """AT-228: everything the tool gave can be had again."""
    value = {"rows": [{"n": number} for number in range(20_000)]}
    async with result_scene(value) as on:
        result = await on.call()
        kept, data = await on.stored(result)
        assert kept.media_type == "application/json"
        assert msgspec.json.decode(data) == value
        assert result.structured_content is None
    blocks = ({"type": "text", "text": "t" * 60_000}, {"type": "log", "text": "line"})
    async with result_scene(Output({"a": 1}, content=blocks)) as on:
        kept, data = await on.stored(await on.call())
        assert msgspec.json.decode(data) == {"content": list(blocks), "structured_content": {"a": 1}}
    async with result_scene(Output({"a": "x" * 60_000}, content=({"type": "text", "text": "short"},))) as on:
        result = await on.call()
        assert result.structured_content is None
        assert result.text.startswith("short\n")


@run_async
async def test_at_60_each_representation_has_its_own_channel() -> None:
    """AT-60, AT-221, AT-229: a marker in each; each only in its own place."""
    body = "body-marker " + "x" * 200 + " tail-marker"
    output = Output(
        body,
        ui_summary="ui-marker",
        search_text="search-marker",
        artifact_refs=({"id": "artifact-marker"},),
        resource_refs=({"uri": "resource:marker"},),
    )
    async with result_scene(
        output, make_tool(interface={"max_inline_chars": 100}), settings={"preview_chars": 50}
    ) as on:
        result = await on.call()
        assert result.ui_facing_summary == "ui-marker"
        assert result.transcript_search_text == "search-marker"
        shown = str(result.model_facing_content)
        assert "body-marker" in shown
        for word in ("tail-marker", "ui-marker", "search-marker", "artifact-marker", "resource:marker"):
            assert word not in shown
        assert (await on.stored(result))[1] == body.encode()
        assert "tail-marker" not in str(result)
        changed = msgspec.structs.replace(result, ui_facing_summary="other")
        assert changed.model_facing_content == result.model_facing_content


@run_async
async def test_a_view_that_a_hook_made_is_shown_and_the_native_output_kept_apart() -> None:
    """AT-157, AT-228: the model sees the hook's words; what the tool gave is stored where no surface can fetch it."""
    hook = FunctionHook(lambda told: HookOutput(updated_output="short"), event="post_tool_use")
    async with result_scene(TEXT, hooks=(hook,)) as on:
        result = await on.call()
        assert result.text == "short"
        kept, data = await on.stored(result)
        assert (kept.access, data) == ("protected", TEXT.encode())
    hook = FunctionHook(lambda told: HookOutput(updated_output="z" * 60_000), event="post_tool_use")
    async with result_scene("short", hooks=(hook,)) as on:
        result = await on.call()
        assert result.text.startswith("z" * 2_000 + "\n")
        assert len(str(result)) < 10_000

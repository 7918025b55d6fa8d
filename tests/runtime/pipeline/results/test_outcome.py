"""The result of a call: its references, and the words of a failure."""

from __future__ import annotations

from typing import Any

from ferrule.contracts.executor import ExecutionFailed, Output
from tests.runtime.pipeline.results.result_app import result_scene
from tests.spec.running_app import run_async


@run_async
async def test_at_249_references_have_an_id_a_place_and_a_relation() -> None:
    """AT-247, AT-248, AT-249, AT-250: both kinds in one result; artifacts point back; what was said stays."""
    output: Any = Output  # whoever writes plain texts is understood too
    output = output(
        "done",
        artifact_refs=({"artifact_id": "snap-1", "version": 3, "mimeType": "image/png", "sha256": "ab"}, "art-2"),
        resource_refs=({"url": "https://x.test/shot", "access": "public", "relation": "screenshot"}, "browser:page/1"),
    )
    async with result_scene(output) as on:
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


@run_async
async def test_references_in_the_content_are_references_of_the_result() -> None:
    """AT-119, AT-250: also where a tool only put them into its content."""
    blocks = (
        {"type": "artifact_ref", "id": "a", "uri": "artifact:a", "note": "n"},
        {"type": "resource_link", "uri": "res:1", "mimeType": "text/html"},
        {"type": "resource_link", "uri": "res:1"},
    )
    async with result_scene(Output(content=blocks)) as on:
        result = await on.call()
        assert result.content == blocks
        assert [ref["id"] for ref in result.artifact_refs] == ["a"]
        assert result.artifact_refs[0]["invocation_id"] == result.invocation_id
        assert [(ref["id"], ref["media_type"]) for ref in result.resource_refs] == [("res:1", "text/html")]


@run_async
async def test_native_references_stay_with_the_call() -> None:
    """AT-251, AT-256, AT-258: the task of a tool that started one."""
    refs = ({"source": "a2a", "task_id": "t-1"},)
    async with result_scene(Output("started", native_refs=refs, artifact_refs=({"id": "video"},))) as on:
        result = await on.call()
        assert (await on.read_story(result)).notes["native_refs"] == list(refs)


@run_async
async def test_a_very_long_message_of_a_failed_tool_is_cut() -> None:
    async with result_scene(ExecutionFailed("execution_failed", "m" * 1_000_000)) as on:
        result = await on.call()
        assert len(result.text) < 9_000
        assert result.text.endswith("(cut off)")

"""How results are kept: six strategies, the smallest limit, previews, references, and what stays when bytes go."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.contracts.hook import HookOutput
from ferrule.contracts.payloads import PayloadGone, PayloadOwner, payload_block
from ferrule.model.persistence import STRATEGIES
from ferrule.model.result import Result
from ferrule.runtime.pipeline.results.payload_access import list_payload_uris
from tests.runtime.pipeline.results.result_app import TEXT, policy, read_linked, result_scene
from tests.spec.running_app import FunctionHook, make_tool, run_async


@run_async
async def test_at_225_what_is_too_long_is_shown_in_part_and_kept_whole() -> None:
    """AT-225, AT-61, AT-228: a preview and a reference for the model; the stored bytes are the tool's."""
    async with result_scene(TEXT) as on:
        result = await on.call()
        assert (result.status, result.is_error) == ("succeeded", False)
        record = await read_linked(on, result)
        kept, data = await on.stored(result)
        assert data == TEXT.encode()
        assert record["persisted_ref"]["digest"] == kept.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert (record["original_size_bytes"], record["preview_size_bytes"]) == (481_204, 2_000)
        assert record["threshold"] == {"max_inline_chars": 50_000}
        assert record["reason"] == "result_exceeded_inline_limit"
        assert result.text.startswith(TEXT[:2000] + "\n")
        assert kept.uri in result.text
        assert "479,204 of 481,204 characters" in result.text
        assert len(msgspec.json.encode(result.to_record())) < 10_000
        assert sum(len(row.payload or b"") for row in await on.app.store.rows_of(result.invocation_id)) < 10_000
        events = [event.event_type for event in await on.read_events(result)]
        assert "tool.result.persisted" in events


@pytest.mark.parametrize(("length", "is_kept"), [(99, False), (100, False), (101, True)])
@pytest.mark.parametrize("letter", ["a", "é", "𝄞"])
@run_async
async def test_at_227_the_limit_is_exact_and_counts_characters(length: int, is_kept: bool, letter: str) -> None:
    """AT-227: at the limit inline, one more is persisted; whatever the characters weigh."""
    async with result_scene(letter * length, make_tool(interface={"max_inline_chars": 100})) as on:
        result = await on.call()
        assert bool(result.persistence_refs) is is_kept
        assert (result.text == letter * length) is not is_kept


@run_async
async def test_at_227_a_byte_limit_applies_too() -> None:
    """AT-227, AT-88: characters and bytes."""
    for text, is_kept in (("é" * 50, False), ("é" * 51, True)):
        async with result_scene(text, make_tool(output_contract={"max_inline_bytes": 100})) as on:
            assert bool((await on.call()).persistence_refs) is is_kept
        async with result_scene(text, settings={"max_inline_bytes": 100}) as on:
            assert bool((await on.call()).persistence_refs) is is_kept


# The other strategies


@run_async
async def test_at_224_inline_and_drop_end_too_large_with_sizes_and_reason() -> None:
    """AT-224, AT-226, AT-235: neither shown nor stored; the invocation, sizes and reason survive."""
    for strategy, said in (("inline", {}), ("drop_with_reason", {"reason": "nobody reads it"})):
        async with result_scene("x" * 101, policy(strategy, **said)) as on:
            result = await on.call()
            assert (result.status, result.error and result.error.error_class) == ("too_large", "result_too_large")
            record = await read_linked(on, result)
            assert (record["strategy"], record["original_size_bytes"]) == ("drop_with_reason", 101)
            assert record["reason"] == said.get("reason", "result_exceeded_inline_limit")
            assert "101 characters" in result.text
            assert "x" * 50 not in str(result)
            assert (await on.read_record(result))["status"] == "failed"
        async with result_scene("x" * 100, policy(strategy, **said)) as on:
            assert (await on.call()).text == "x" * 100


@run_async
async def test_at_224_ref_only_shows_nothing_of_the_content() -> None:
    """AT-224: a reference, also for what is short."""
    async with result_scene("marker-text", policy("ref_only")) as on:
        result = await on.call()
        assert result.status == "succeeded"
        assert "marker-text" not in str(result)
        assert (await read_linked(on, result))["strategy"] == "ref_only"
        assert (await on.stored(result))[1] == b"marker-text"
        assert result.content[0]["type"] == "persisted_output_ref"


@run_async
async def test_at_224_redact_withholds_everything() -> None:
    """AT-224, AT-233, AT-89: status, class, state and event; the summary is the contract's."""
    contract = {"persistence_policy": {"strategy": "redact"}, "fallback_summary": "It was done."}
    async with result_scene("marker-text", make_tool(output_contract=contract)) as on:
        result = await on.call()
        assert (result.status, result.error and result.error.error_class) == ("redacted", "result_redacted")
        assert (result.redaction_state, result.summary, result.text) == ("full", "It was done.", "It was done.")
        assert (await read_linked(on, result))["redaction_state"] == "full"
        assert "tool.result.redacted" in [event.event_type for event in await on.read_events(result)]
        assert (await on.read_record(result))["status"] == "succeeded"
        assert all(b"marker-text" not in (row.payload or b"") for row in await on.app.store.rows_after(0, 100))


@run_async
async def test_at_231_a_tool_that_opts_out_is_cut_off_and_nothing_is_stored() -> None:
    """AT-224, AT-231: bounded, with a note."""
    async with result_scene("x" * 101, policy("never_persist")) as on:
        result = await on.call()
        assert result.status == "succeeded"
        assert result.text.startswith("x" * 100 + "\n")
        assert "1 of 101 characters are missing" in result.text
        assert result.content[0]["truncated"] is True
        assert (await read_linked(on, result))["strategy"] == "never_persist"
        with pytest.raises(PayloadGone):
            await on.payloads.describe(f"ferrule-payload:{result.invocation_id}/0")


@run_async
async def test_at_232_what_is_read_back_is_not_stored_again() -> None:
    """AT-232: a call about a stored payload leaves no other one."""
    schema = {"type": "object", "properties": {"uri": {"type": "string"}}}
    async with result_scene(TEXT, make_tool(schema=schema)) as on:
        first = await on.call(arguments={})
        assert first.native_output_ref is not None
        second = await on.call(arguments={"uri": first.native_output_ref})
        assert second.native_output_ref is None
        assert (await on.persistence(second))[0]["strategy"] == "never_persist"
        assert second.text.startswith(TEXT[:50_000] + "\n")


# What failed


@run_async
async def test_what_failed_stays_a_failure_and_keeps_what_it_achieved() -> None:
    """AT-274: the output of a partial failure is kept like any other, or said to be missing."""
    failed = ExecutionFailed("partial_failure", "half of it", output=Output(TEXT, artifact_refs=({"id": "a1"},)))
    async with result_scene(failed) as on:
        result = await on.call()
        assert (result.status, (await on.stored(result))[1]) == ("partial_succeeded", TEXT.encode())
        assert result.artifact_refs[0]["id"] == "a1"
    async with result_scene(failed, payloads=None) as on:
        result = await on.call()
        assert (result.status, result.error and result.error.error_class) == ("partial_succeeded", "partial_failure")
        assert "half of it" in result.text
        assert (await read_linked(on, result))["strategy"] == "drop_with_reason"
        assert result.artifact_refs[0]["id"] == "a1"


# Pictures


@run_async
async def test_at_217_a_large_picture_is_a_reference_and_a_small_one_stays() -> None:
    """AT-217: digest, access and size in the place of bytes; raw or base64 alike."""
    picture = bytes(range(256)) * 400
    small = {"type": "image", "data": b"\x89PNG", "media_type": "image/png"}
    for data in (picture, msgspec.json.decode(msgspec.json.encode(picture))):
        large = {"type": "image", "data": data, "media_type": "image/png", "alt": "a cat"}
        async with result_scene(Output(content=({"type": "text", "text": "look"}, large, small))) as on:
            result = await on.call()
            assert result.status == "succeeded"
            text, ref, kept_small = result.content
            assert text["text"] == "look"
            assert kept_small == {**small, "data": "iVBORw=="}
            assert (ref["type"], ref["content_type"]) == ("persisted_output_ref", "image")
            assert ref["digest"] == f"sha256:{hashlib.sha256(picture).hexdigest()}"
            assert await on.payloads.read(ref["uri"]) == picture
            assert ref["media_type"] == "image/png"
            assert (await read_linked(on, result))["strategy"] == "ref_only"
    async with result_scene(Output(content=(large,)), payloads=None) as on:
        assert (await on.call()).status == "too_large"


@run_async
async def test_many_small_pictures_do_not_fill_the_row() -> None:
    """AT-217: each is a reference when together they are too much."""
    one = {"type": "image", "data": b"x" * 20_000, "media_type": "image/png"}
    async with result_scene(Output(content=(one,) * 5)) as on:
        result = await on.call()
        assert [block["type"] for block in result.content] == ["persisted_output_ref"] * 5
        assert len(result.persistence_refs) == 5
        assert list_payload_uris(await on.app.store.rows_of(result.invocation_id)) == tuple(
            block["uri"] for block in result.content
        )


@run_async
async def test_what_a_tool_wrote_to_the_store_itself_is_on_record() -> None:
    """AT-223, AT-256: its reference leaves a record and is the native output."""
    async with result_scene(None) as on:

        def run(arguments: dict[str, Any]) -> Output:
            owner = PayloadOwner(on.executor.ran[-1].invocation_id, "ada", "default")
            writer = on.payloads.begin(owner, media_type="text/csv")
            writer.write(b"a,b")
            return Output(content=(payload_block(writer.close()),))

        on.executor._default = run
        result = await on.call()
        assert (await on.stored(result))[1] == b"a,b"
        assert (await read_linked(on, result))["reason"] == "written_by_tool"


# Apart from one another


@run_async
async def test_at_229_search_finds_what_was_chosen_for_it() -> None:
    """AT-229, AT-62, AT-237: the tool's words, else its interface's, else the preview; never the whole."""
    hints = {"rendering": {"transcript_search_text": "hint", "ui_summary": "for people"}, "max_inline_chars": 100}
    async with result_scene("y" * 500, make_tool(interface=hints)) as on:
        result = await on.call()
        assert (result.transcript_search_text, result.ui_facing_summary) == ("hint", "for people")
    async with result_scene(
        "y" * 500, make_tool(interface={"max_inline_chars": 100}), settings={"preview_chars": 20}
    ) as on:
        assert (await on.call()).transcript_search_text == "y" * 20


# What stays


LOST: dict[str, Any] = {
    "size": {"gives": Output(TEXT, artifact_refs=({"id": "a"},)), "payloads": None},
    "privacy": {"gives": Output(TEXT, artifact_refs=({"id": "a"},), is_private=True)},
    "expiry": {"gives": Output(TEXT, artifact_refs=({"id": "a"},)), "settings": {"expires_seconds": 1}},
    "redaction": {"gives": Output(TEXT, artifact_refs=({"id": "a"},)), "tool": policy("redact")},
    "discard": {
        "gives": ExecutionFailed(
            "streaming_fallback_discarded", "gone", output=Output("x", artifact_refs=({"id": "a"},))
        )
    },
    "sibling": {"gives": ExecutionFailed("sibling_canceled", "gone", output=Output("x", artifact_refs=({"id": "a"},)))},
}


@pytest.mark.parametrize("case", LOST)
@run_async
async def test_at_274_losing_the_payload_loses_no_record(case: str) -> None:
    """AT-274, AT-275: six ways; the invocation, its status, the reason and the references stay, also without the store."""
    async with result_scene(**LOST[case]) as on:
        result = await on.call()
        on.clock.advance(10)
        await on.payloads.sweep(on.clock.now()) if on.payloads is not None else None
        on.app.services = msgspec.structs.replace(on.app.services, payloads=None)
        again = await on.app.result(result.invocation_id)
        assert again == result
        assert isinstance(again, Result)
        assert again.artifact_refs[0]["id"] == "a"
        assert again.artifact_refs[0]["invocation_id"] == result.invocation_id
        record = await on.read_record(result)
        assert record["status"]
        assert record["evidence_refs"]
        assert record["policy_refs"]
        assert again.error is not None or again.persistence_refs


# Hooks


@run_async
async def test_hooks_learn_how_a_result_is_kept_and_can_hold_it_back() -> None:
    """AT-148: `result_persistence` runs before anything is stored; what it withholds no surface can fetch."""
    hook = FunctionHook(lambda told: HookOutput(stop="not today"), event="result_persistence")
    quiet = FunctionHook(lambda told: None, event="result_persistence")
    async with result_scene(TEXT, hooks=(quiet,)) as on:
        result = await on.call()
        assert quiet.seen[0].persistence["strategy"] == "preview_and_persist"
        assert quiet.seen[0].persistence["original_size_bytes"] == 481_204
        assert (await on.stored(result))[1] == TEXT.encode()
    async with result_scene(TEXT, hooks=(hook,)) as on:
        result = await on.call()
        assert result.error is not None
        assert "not today" in result.text
        assert TEXT[:100] not in str(result)
        (record,) = await on.persistence(result)
        assert record["persisted_ref"]["access"] == "protected"


@settings(max_examples=40, deadline=None)
@given(
    st.text(max_size=60),
    st.integers(1, 40),
    st.sampled_from([*STRATEGIES, None]),
    st.booleans(),
)
def test_any_text_any_limit_any_strategy(text: str, limit: int, strategy: str | None, has_store: bool) -> None:
    """AT-88, AT-219, AT-227: nothing longer than the limit is shown whole, and nothing is lost in silence."""
    contract: dict[str, Any] = {"max_inline_chars": limit}
    if strategy is not None:
        contract["persistence_policy"] = {"strategy": strategy}

    @run_async
    async def main() -> None:
        async with result_scene(
            text, make_tool(output_contract=contract), payloads="memory" if has_store else None
        ) as on:
            result = await on.call()
            assert await on.app.result(result.invocation_id) == result
            if len(text) <= limit and strategy not in ("redact", "ref_only"):
                assert (result.status, result.text, result.persistence_refs) == ("succeeded", text, ())
                return
            assert result.persistence_refs
            assert result.status in ("succeeded", "too_large", "redacted")
            if result.native_output_ref:
                assert (await on.stored(result))[1] == text.encode()
            elif result.status == "succeeded":
                assert "Cut off" in result.text

    main()

"""How results are kept, shown and withheld, and what they refer to: AT-60 to AT-62, AT-88, AT-89, AT-217 to AT-237, AT-247
to AT-251, AT-274."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from typing import Any

import msgspec
import pytest

from ferrule.contracts.executor import Context, ExecutionFailed, Output
from ferrule.contracts.hook import HookOutput
from ferrule.contracts.payloads import PayloadGone
from ferrule.model.persistence import STRATEGIES, RedactionSettings, ResultSettings
from ferrule.model.result import Pending, Result
from ferrule.model.tool import Tool
from ferrule.runtime.functions import tool
from ferrule.testing import FakeClock
from tests.spec.gated_runs import list_calls_in_flight, wait_until
from tests.spec.running_app import BERN, FunctionHook, RunningApp, assert_required, make_tool, run_async, running_app

LONG = "".join(f"row {number}: all is well\n" for number in range(22_000))[:481_204]
SECRET = "xyzzy-5f1a-plugh-9c3e"
RENDERING = {
    "ui_summary": "UI-HINT", "activity_description": "UI-HINT", "progress_render_hint": "UI-HINT",
    "rejected_render_hint": "UI-HINT", "error_render_hint": "UI-HINT",
}  # fmt: skip


def kept_by(strategy: str, **said: Any) -> Tool:
    """A tool whose contract names a strategy, with room for 100 characters."""
    return make_tool(
        output_contract={"persistence_policy": {"strategy": strategy, **said}, "max_inline_chars": 100},
    )


async def persistence(on: RunningApp, result: Result) -> list[dict[str, Any]]:
    """The records of how a result was kept."""
    found: list[dict[str, Any]] = (await on.read_story(result)).notes.get("persistence", [])
    return found


async def whole_output(on: RunningApp, result: Result) -> bytes:
    """The stored bytes of a result."""
    assert result.native_output_ref is not None
    return await on.surface.payload(result.native_output_ref)


async def everything(on: RunningApp) -> str:
    """All that the ledger and its events hold, as text."""
    await on.app.store.flush()
    rows = await on.app.store.rows_after(0, 10_000)
    events = [event.to_record() for event in await on.read_events(level="full")]
    return repr([row.body + (row.payload or b"") for row in rows]) + json.dumps(events)


# Five representations


@run_async
async def test_at_60_every_representation_has_its_own_channel() -> None:
    """AT-60, AT-61, AT-221, AT-228, AT-229: a marker in each, found nowhere else; the stored bytes are the tool's."""
    native = "MODEL-MARK " + "x" * 60_000 + " NATIVE-MARK"
    artifact = {"id": "a1", "uri": "https://shop.example/ART-MARK", "media_type": "text/html"}
    output = Output(native, ui_summary="UI-MARK", search_text="SEARCH-MARK", artifact_refs=(artifact,))
    async with running_app(default=output) as on:
        result = await on.call()
        channels = {
            "MODEL-MARK": result.text,
            "UI-MARK": result.ui_facing_summary,
            "SEARCH-MARK": result.transcript_search_text,
            "ART-MARK": json.dumps(result.artifact_refs),
            "NATIVE-MARK": (await whole_output(on, result)).decode(),
        }
        for mark, channel in channels.items():
            assert channel is not None
            assert mark in channel
            elsewhere = {name: text for name, text in channels.items() if name != mark and text is not None}
            if mark == "MODEL-MARK":
                del elsewhere["NATIVE-MARK"]  # the preview is the beginning of what is stored
            assert not [name for name, text in elsewhere.items() if mark in text], mark
        assert channels["NATIVE-MARK"] == native
        [record] = await persistence(on, result)
        assert record["preview_size_bytes"] < 5_000


@run_async
async def test_at_62_hints_for_people_change_nothing() -> None:
    """AT-62, AT-237, AT-221: with all of them, the tool's output, status and what the model sees are the same."""
    outcomes = []
    for interface in ({}, RENDERING, {"rendering": RENDERING}):
        for gives in ({"found": 1}, ExecutionFailed("rate_limited", "later")):
            async with running_app(make_tool(interface=interface), default=gives) as on:
                result = await on.call()
                outcomes.append((result.status, result.content, result.structured_content, result.text))
                assert "UI-HINT" not in result.text
                if interface and not result.is_error:
                    assert result.ui_facing_summary == "UI-HINT"
    assert outcomes[0::2] == [outcomes[0]] * 3
    assert outcomes[1::2] == [outcomes[1]] * 3


# Limits


@pytest.mark.parametrize("smallest", ["contract", "interface", "policy", "settings"])
@run_async
async def test_at_88_the_smallest_limit_counts(smallest: str) -> None:
    """AT-88, AT-227: of contract, interface, persistence policy and workspace; exactly at it inline, one more persists."""
    chars = {place: 10 if place == smallest else 40 for place in ("contract", "interface", "policy", "settings")}
    limited = make_tool(
        output_contract={
            "max_inline_chars": chars["contract"],
            "persistence_policy": {"max_inline_chars": chars["policy"]},
        },
        interface={"max_inline_chars": chars["interface"]},
    )
    settings = ResultSettings(max_inline_chars=chars["settings"])
    for length, is_kept in ((10, False), (11, True)):
        async with running_app(limited, default="é" * length, results=settings) as on:
            result = await on.call()
            assert bool(result.persistence_refs) is is_kept
            assert (result.text == "é" * length) is not is_kept


@run_async
async def test_at_225_what_is_too_long_is_shown_in_part_and_kept_whole() -> None:
    """AT-225, AT-223, AT-228: the standard's example; sizes, digest, reference; no error."""
    assert len(LONG.encode()) == 481_204
    async with running_app(make_tool(interface={"max_inline_chars": 50_000}), default=LONG) as on:
        result = await on.call()
        assert (result.status, result.is_error) == ("succeeded", False)
        [record] = await persistence(on, result)
        assert_required("persistence", record)
        assert record["strategy"] == "preview_and_persist"
        assert record["original_size_bytes"] == 481_204
        assert 0 < record["preview_size_bytes"] < 50_000
        assert record["threshold"]["max_inline_chars"] == 50_000
        stored = await whole_output(on, result)
        assert stored == LONG.encode()
        assert record["persisted_ref"]["digest"] == f"sha256:{hashlib.sha256(stored).hexdigest()}"
        assert record["persisted_ref"]["uri"] in result.text
        assert len(result.text) < 5_000
        assert LONG.startswith(result.text[:1000])
        # Both ways: the result names the record, the record names the result and its invocation.
        assert result.persistence_refs == (record["decision_id"],)
        assert (record["invocation_id"], record["result_id"]) == (result.invocation_id, result.result_id)


@run_async
async def test_at_226_what_can_be_neither_shown_nor_stored_is_too_large() -> None:
    """AT-226: without a store; the invocation, the sizes and the reason survive."""
    async with running_app(default=LONG, results=ResultSettings(store="none")) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.status, result.error.error_class) == ("too_large", "result_too_large")
        [record] = await persistence(on, result)
        assert record["original_size_bytes"] == 481_204
        assert record["reason"]
        assert (await on.read_record(result))["status"] == "failed"
        assert on.has_run
        assert "row 7" not in result.text


# Six strategies


STRATEGIC: dict[str, tuple[Any, str, bool, bool]] = {
    # given, result status, the model sees it, the whole is stored
    "inline": ("short", "succeeded", True, False),
    "preview_and_persist": ("short " * 50, "succeeded", False, True),
    "ref_only": ("short", "succeeded", False, True),
    "redact": ("short", "redacted", False, False),
    "drop_with_reason": ("short " * 50, "too_large", False, False),
    "never_persist": ("short " * 50, "succeeded", False, False),
}


@pytest.mark.parametrize("strategy", STRATEGIC)
@run_async
async def test_at_224_each_strategy(strategy: str) -> None:
    """AT-224, AT-223, AT-235: what the model sees, what is stored, and the record that says which and why."""
    assert set(STRATEGIC) == set(STRATEGIES)
    given, status, is_shown, is_stored = STRATEGIC[strategy]
    async with running_app(kept_by(strategy, reason="because"), default=given) as on:
        result = await on.call()
        assert result.status == status
        assert (given in result.text) is is_shown
        assert (result.native_output_ref is not None) is is_stored
        if is_stored:
            assert await whole_output(on, result) == given.encode()
        records = await persistence(on, result)
        if strategy == "inline":
            assert not records
            return
        [record] = records
        assert record["strategy"] == strategy
        assert record["reason"]
        assert record["original_size_bytes"] == len(given)
        assert result.persistence_refs == (record["decision_id"],)


@run_async
async def test_at_231_a_tool_that_opted_out_is_bounded_and_says_so() -> None:
    """AT-231: nothing is stored anywhere; what is missing is told."""
    async with running_app(kept_by("never_persist"), default="y" * 500) as on:
        result = await on.call()
        assert result.text.startswith("y" * 100)
        assert "y" * 101 not in result.text
        assert "400" in result.text
        assert result.content[0]["truncated"] is True


@run_async
async def test_at_232_reading_a_stored_payload_stores_nothing() -> None:
    """AT-232: a tool that is asked for a reference gives it bounded, or whole where it fits; no second payload."""
    schema = {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}
    async with running_app(make_tool("give"), make_tool("read", schema), default=LONG) as on:
        stored = await on.call("give")
        again = await on.call("read", {"uri": stored.native_output_ref})
        assert not again.is_error
        assert again.native_output_ref is None
        assert [record["strategy"] for record in await persistence(on, again)] == ["never_persist"]


@pytest.mark.parametrize("strategy", ["redact", "ref_only"])
@run_async
async def test_at_89_a_summary_stands_for_what_is_withheld(strategy: str) -> None:
    """AT-89, AT-233, AT-234: the contract's guidance, in its very words."""
    guidance = "A customer list was made; ask its owner to see it."
    contract = {"fallback_summary": guidance, "persistence_policy": {"strategy": strategy}, "is_private": True}
    async with running_app(make_tool(output_contract=contract), default={"customer": "Ann Example"}) as on:
        result = await on.call()
        assert result.summary == guidance
        assert guidance in result.text
        assert "Ann Example" not in json.dumps(result.to_record())


@run_async
async def test_at_89_also_for_what_is_dropped() -> None:
    """AT-89, AT-235"""
    contract = {
        "fallback_summary": "Too many rows to show.",
        "max_inline_chars": 10,
        "persistence_policy": {"strategy": "drop_with_reason", "reason": "nobody reads it"},
    }
    async with running_app(make_tool(output_contract=contract), default="x" * 11) as on:
        result = await on.call()
        assert (result.status, result.summary) == ("too_large", "Too many rows to show.")
        [record] = await persistence(on, result)
        assert (record["reason"], record["original_size_bytes"]) == ("nobody reads it", 11)


# References in the place of bytes


@run_async
async def test_at_217_a_large_picture_is_a_reference() -> None:
    """AT-217: with digest, access hint, size and media type, in the place of its bytes."""
    picture = bytes(range(256)) * 1000
    block = {"type": "image", "media_type": "image/png", "data": base64.b64encode(picture).decode()}
    async with running_app(default=Output(content=({"type": "text", "text": "look"}, block))) as on:
        result = await on.call()
        assert result.status == "succeeded"
        [ref] = [each for each in result.content if each["type"] == "persisted_output_ref"]
        assert ref["digest"] == f"sha256:{hashlib.sha256(picture).hexdigest()}"
        assert (ref["media_type"], ref["size"]) == ("image/png", len(picture))
        assert ref["access"]
        assert ref["redaction_state"] == result.redaction_state == "none"
        assert await on.surface.payload(ref["uri"]) == picture
        assert len(json.dumps(result.to_record())) < 5_000


@run_async
async def test_at_234_private_output_is_a_summary_and_a_protected_reference() -> None:
    """AT-234: no raw bytes for the model, nor for the surface it calls through."""
    async with running_app(default=Output("the diagnosis of Ann", is_private=True)) as on:
        result = await on.call()
        assert result.status == "succeeded"
        assert "diagnosis" not in json.dumps(result.to_record())
        assert result.summary
        assert result.native_output_ref is not None
        [record] = await persistence(on, result)
        assert record["persisted_ref"]["access"] == "protected"
        with pytest.raises(PayloadGone) as gone:
            await on.surface.payload(result.native_output_ref)
        assert gone.value.reason == "denied"


@run_async
async def test_at_229_search_text_is_chosen() -> None:
    """AT-229: the tool's words; neither the whole payload nor a label for people."""
    async with running_app(default=Output(LONG, search_text="order A-17", ui_summary="Orders")) as on:
        result = await on.call()
        assert result.transcript_search_text == "order A-17"
    hinted = make_tool(interface={"transcript_search_text": "orders of a town"})
    async with running_app(hinted, default=Output(LONG, ui_summary="Orders")) as on:
        assert (await on.call()).transcript_search_text == "orders of a town"
    async with running_app(default=Output(LONG, ui_summary="Orders")) as on:
        text = (await on.call()).transcript_search_text
        assert text is not None
        assert len(text) < 5_000
        assert "Orders" not in text


# Redaction


@run_async
async def test_at_233_a_secret_is_in_no_representation() -> None:
    """AT-233: known by the environment; model, people, search, preview, stored bytes, ledger and events; usable otherwise."""
    filler = "z" * 60_000
    output = Output(
        {"token": SECRET, "rows": filler, "also": f"before {SECRET} after"},
        ui_summary=f"used {SECRET}",
        search_text=f"token {SECRET}",
        artifact_refs=({"id": "a1", "uri": f"https://shop.example/?key={SECRET}"},),
    )
    redaction = RedactionSettings(well_known=False, secrets_env=("SHOP_TOKEN",))
    async with running_app(default=output, redaction=redaction, environment={"SHOP_TOKEN": SECRET}) as on:
        result = await on.call()
        assert (result.status, result.redaction_state, result.error) == ("succeeded", "partial", None)
        stored = await whole_output(on, result)
        assert SECRET.encode() not in stored
        assert result.content[0]["redaction_state"] == "partial"
        assert msgspec.json.decode(stored)["rows"] == filler
        assert SECRET not in json.dumps(result.to_record())
        assert SECRET not in await everything(on)
        [told] = [event for event in await on.read_events(result) if event.event_type == "tool.result.redacted"]
        assert told.data["redaction_state"] == "partial"


@run_async
async def test_at_233_what_is_withheld_whole_is_a_redacted_result() -> None:
    """AT-233: status, class, state, event and reason; the call succeeded."""
    async with running_app(kept_by("redact", reason="personal data"), default="Ann, Bern") as on:
        result = await on.call()
        assert result.error is not None
        assert (result.status, result.error.error_class, result.redaction_state) == (
            "redacted",
            "result_redacted",
            "full",
        )
        assert "Ann" not in await everything(on)
        [record] = await persistence(on, result)
        assert (record["redaction_state"], record["reason"]) == ("full", "personal data")
        types = [event.event_type for event in await on.read_events(result)]
        assert types.count("tool.result.redacted") == 1
        assert (await on.read_record(result))["status"] == "succeeded"


# What stays when bytes go


@run_async
async def test_at_236_references_say_how_long_they_hold() -> None:
    """AT-236, AT-275: durable or for the session; expired bytes are a structured answer, and the records stay."""
    clock = FakeClock()
    session = kept_by("ref_only", scope="session")
    durable = make_tool(
        "other", output_contract={"persistence_policy": {"strategy": "ref_only", "expires_seconds": 60}}
    )
    async with running_app(session, durable, default="kept", clock=clock) as on:
        scopes = {}
        for name in ("search", "other"):
            result = await on.call(name)
            [record] = await persistence(on, result)
            scopes[name] = record["persisted_ref"]["scope"]
        assert scopes == {"search": "session", "other": "durable"}
        assert record["persisted_ref"]["expires_at"]
        before = await on.read_record(result)
        clock.advance(61)
        assert result.native_output_ref is not None
        with pytest.raises(PayloadGone) as gone:
            await on.surface.payload(result.native_output_ref)
        assert gone.value.reason == "expired"
        assert await on.read_record(result) == before
        assert await on.app.result(result.invocation_id) == result


REFS: dict[str, Any] = {
    "artifact_refs": ({"id": "art-1", "uri": "https://shop.example/report"},),
    "resource_refs": ({"id": "res-1", "uri": "https://shop.example/rows"},),
}


async def lost(how: str) -> tuple[RunningApp, Result]:
    """A result whose payload is not there, by one of the six ways."""
    clock, output = FakeClock(), Output(LONG, **REFS)
    policies = {
        "size": make_tool(output_contract={"persistence_policy": {"strategy": "drop_with_reason"}}),
        "privacy": make_tool(output_contract={"is_private": True}),
        "redaction": make_tool(output_contract={"persistence_policy": {"strategy": "redact"}}),
    }
    async with running_app(policies.get(how, make_tool()), default=output, clock=clock) as on:
        result = await on.call(native_call_id="toolu_1")
        if how == "expiry":
            clock.advance(40 * 24 * 3600)
            assert result.native_output_ref is not None
            with pytest.raises(PayloadGone):
                await on.surface.payload(result.native_output_ref)
        return on, result


@pytest.mark.parametrize("how", ["size", "privacy", "expiry", "redaction"])
@run_async
async def test_at_274_what_is_left_when_the_payload_is_gone(how: str) -> None:
    """AT-274, AT-275, AT-101: invocation, status, why, and every reference; the tool was chosen and ran."""
    on, result = await lost(how)
    record = await on.read_record(result)
    assert record["status"] in ("succeeded", "failed")
    assert record["started_at"] and record["ended_at"]
    assert record["policy_refs"] and record["evidence_refs"] and record["permission_decision_refs"]
    assert record["native_call_id"] == "toolu_1"
    stored = await on.app.result(result.invocation_id)
    assert stored == result
    assert [ref["id"] for ref in result.artifact_refs] == ["art-1"]
    assert [ref["id"] for ref in result.resource_refs] == ["res-1"]
    [kept] = await persistence(on, result)
    assert kept["reason"]
    assert kept["original_size_bytes"] == 481_204
    assert "row 7:" not in json.dumps(result.to_record()) or how == "expiry"


@pytest.mark.parametrize("how", ["discard", "sibling cancel"])
@run_async
async def test_at_274_what_is_left_of_a_call_that_was_thrown_away(how: str) -> None:
    """AT-274, AT-101: the same for the two ways without a payload of their own."""
    begun = asyncio.Event()

    async def slow(arguments: dict[str, Any]) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    @tool(name="bad", read_only=True, concurrency_safe=True)
    async def bad(city: str) -> str:
        """Fails once the other runs."""
        await begun.wait()
        raise ExecutionFailed("execution_failed", "no")

    safe: dict[str, Any] = {"is_read_only": True, "is_concurrency_safe": True}
    async with running_app(make_tool(**safe), bad, default=slow) as on:
        calls = [("search", BERN)] if how == "discard" else [("search", BERN), ("bad", BERN)]
        calling = asyncio.create_task(on.surface.call_many(calls, sibling_failure_policy="cancel_siblings"))
        await begun.wait()
        if how == "discard":
            await wait_until(lambda: list_calls_in_flight(on.app))
            on.surface.discard(list_calls_in_flight(on.app))
        result = (await calling)[0]
        assert isinstance(result, Result)
        assert result.status == ("discarded" if how == "discard" else "synthetic_error")
        assert result.abort_reason and result.error is not None
        record = await on.read_record(result)
        assert record["status"] == "canceled"
        assert record["started_at"] and record["policy_refs"] and record["evidence_refs"]
        assert record["permission_decision_refs"] and record["abort_reason"] == result.abort_reason
        assert await on.app.result(result.invocation_id) == result


# Resources and artifacts


SCREENSHOT = {"id": "shot-1", "uri": "https://browser.example/shot.png", "media_type": "image/png", "access": "owner"}
SNAPSHOT = {
    "id": "page-7", "version": "3", "uri": "https://store.example/page-7", "media_type": "text/html",
    "access": "team", "digest": "sha256:00",
}  # fmt: skip


@run_async
async def test_at_247_resources_and_artifacts_are_two_things() -> None:
    """AT-247, AT-248, AT-249, AT-250: one result may have both; each ref is whole, and an artifact points back."""
    async with running_app(default=Output("seen", resource_refs=(SCREENSHOT,), artifact_refs=(SNAPSHOT,))) as on:
        result = await on.call()
        [resource], [artifact] = result.resource_refs, result.artifact_refs
        assert (resource["id"], artifact["id"]) == ("shot-1", "page-7")
        assert artifact["version"] == "3"
        for ref in (resource, artifact):
            assert {"id", "uri", "media_type", "access", "relation"} <= set(ref)
        assert artifact["digest"] == "sha256:00"
        assert artifact["invocation_id"] == result.invocation_id
        record = result.to_record()
        assert (list(record["resource_refs"]), list(record["artifact_refs"])) == ([resource], [artifact])
        assert await on.app.result(result.invocation_id) == result


@run_async
async def test_at_249_a_reference_says_what_is_not_known() -> None:
    """AT-249: what the tool left out is said to be unknown, not left to silence."""
    async with running_app(default=Output("seen", resource_refs=({"uri": "https://x.example/a"},))) as on:
        [ref] = (await on.call()).resource_refs
        assert ref["id"] and ref["relation"]
        assert ref["access"] == "unknown"


@run_async
async def test_at_251_a_background_task_has_three_places() -> None:
    """AT-251: the invocation is the call, its runtime refs have the task, the artifact refs the product."""
    go = asyncio.Event()

    @tool(name="render", destructive=False)
    async def render(context: Context) -> Output:
        """Renders a film."""
        context.to_background("task-7", "rendering")
        await go.wait()
        return Output("rendered", artifact_refs=({"id": "film-1", "uri": "https://media.example/film-1"},))

    async with running_app(render) as on:
        waiting = await on.surface.call("render", {})
        assert isinstance(waiting, Pending)
        go.set()
        result = await on.surface.result(waiting.invocation_id, wait=5)
        assert isinstance(result, Result)
        assert result.invocation_id == waiting.invocation_id
        [film] = result.artifact_refs
        assert (film["id"], film["invocation_id"]) == ("film-1", waiting.invocation_id)
        assert "task:task-7" in (await on.read_full_record(result))["runtime_refs"]


@run_async
async def test_native_ids_of_a_call_stand_on_its_record() -> None:
    """AT-98, AT-251: what the tool told of itself, beside what its definition says."""

    @tool(name="remote", read_only=True)
    async def remote(context: Context) -> Output:
        """Is somewhere else."""
        context.add_native_ref(source="a2a", task_id="t-1")
        return Output("done", native_refs=({"source": "cli", "exit_code": 0},))

    async with running_app(remote) as on:
        record = await on.read_record(await on.call("remote", {}))
        assert record["external_mappings"][-2:] == [
            {"source": "a2a", "task_id": "t-1"},
            {"source": "cli", "exit_code": 0},
        ]


@run_async
async def test_at_221_a_view_for_the_model_leaves_the_one_for_people() -> None:
    """AT-221: a hook replaces what the model sees; what people see and what was given stay."""
    hook = FunctionHook(lambda told: HookOutput(updated_output="for the model"), "post_tool_use")
    async with running_app(default=Output("native", ui_summary="for people"), hooks=(hook,)) as on:
        result = await on.call()
        assert result.text == "for the model"
        assert result.ui_facing_summary == "for people"
        assert "native" in repr(result.content)

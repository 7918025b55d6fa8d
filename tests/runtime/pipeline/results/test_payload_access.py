"""Who may read a stored payload, and what is told when its bytes are gone."""

from __future__ import annotations

import pytest

from ferrule.contracts.executor import Output
from ferrule.contracts.payloads import PayloadGone
from ferrule.runtime.pipeline.results.payload_access import find_payload, read_payload
from tests.runtime.pipeline.results.result_app import TEXT, policy, read_linked, result_scene
from tests.spec.running_app import make_tool, run_async


@run_async
async def test_at_234_private_output_is_a_summary_and_a_protected_reference() -> None:
    """AT-234: by the tool's word or its contract's; not given out through a surface."""
    for gives, tool in (
        (Output("marker-text", is_private=True), make_tool(output_contract={"fallback_summary": "A letter."})),
        ("marker-text", make_tool(output_contract={"is_private": True, "fallback_summary": "A letter."})),
    ):
        async with result_scene(gives, tool) as on:
            result = await on.call()
            assert (result.status, result.text, result.summary) == ("succeeded", "A letter.", "A letter.")
            assert "marker-text" not in str(result)
            ref = (await read_linked(on, result))["persisted_ref"]
            assert ref["access"] == "protected"
            services = on.app.services
            with pytest.raises(PayloadGone) as told:
                await read_payload(services, ref["uri"], principal="ada", tenant="default")
            assert told.value.reason == "denied"
            assert await read_payload(services, ref["uri"], principal="ada", tenant="default", is_person=True)
    async with result_scene(Output("marker-text", is_private=True), payloads=None) as on:
        result = await on.call()
        assert result.status == "redacted"
        assert "marker-text" not in str(result)


@run_async
async def test_at_236_expired_bytes_leave_the_record() -> None:
    """AT-236, AT-274, AT-275: before and after the sweep, a structured "expired"; scope and expiry are told."""
    async with result_scene(TEXT, settings={"expires_seconds": 60}) as on:
        result = await on.call()
        ref = result.content[0]
        assert (ref["scope"], "expires_at" in ref) == ("durable", True)
        on.clock.advance(61)
        for sweep in (False, True):
            if sweep:
                assert await on.payloads.sweep(on.clock.now()) == 1
            with pytest.raises(PayloadGone) as told:
                await read_payload(on.app.services, ref["uri"], principal="ada", tenant="default")
            assert told.value.reason == "expired"
            with pytest.raises(PayloadGone) as told:
                await read_payload(on.app.services, ref["uri"], principal="eve", tenant="default")
            assert told.value.reason == "unknown"
        assert await on.app.result(result.invocation_id) == result
    async with result_scene(TEXT, policy("preview_and_persist", scope="session", expires_seconds=5)) as on:
        assert (await on.call()).content[0]["scope"] == "session"


@run_async
async def test_denied_and_unknown_look_the_same() -> None:
    """Another principal, another tenant, an address nobody has: one answer."""
    async with result_scene(TEXT) as on:
        uri = (await on.call()).content[0]["uri"]
        services = on.app.services
        assert await read_payload(services, uri, "ada", "default", 5, 10) == TEXT[5:15].encode()
        assert (await find_payload(services, uri, principal=None)).size == 481_204
        answers = set()
        for address, who, tenant in (
            (uri, "eve", "default"),
            (uri, "ada", "other"),
            (uri[:-1] + "1", "ada", "default"),
            ("ferrule-payload:inv_none/0", "ada", "default"),
            ("../../etc/passwd", "ada", "default"),
        ):
            with pytest.raises(PayloadGone) as told:
                await read_payload(services, address, principal=who, tenant=tenant)
            answers.add((told.value.reason, str(told.value).replace(ascii(address), "it")))
        assert len(answers) == 1

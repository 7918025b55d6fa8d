"""Bytes of results in the payload store: what cannot be stored is too large, with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.ledger.payloads.memory import MemoryPayloads
from ferrule.testing import FakeClock
from tests.runtime.pipeline.results.result_app import TEXT, read_linked, result_scene
from tests.spec.running_app import run_async


@pytest.mark.parametrize("payloads", [None, MemoryPayloads(FakeClock().now, room=10)], ids=["none", "full"])
@run_async
async def test_at_226_without_a_store_or_room_it_is_too_large(payloads: Any) -> None:
    """AT-226: sizes and reason survive; an action that ran is not said to be safe to repeat."""
    async with result_scene(TEXT, payloads=payloads) as on:
        result = await on.call()
        assert result.status == "too_large"
        assert result.error is not None
        assert result.error.retry.retry_safe is False
        record = await read_linked(on, result)
        assert record["original_size_bytes"] == 481_204
        assert record["reason"]
        assert "481,204" in result.text
    async with result_scene("short", payloads=payloads) as on:
        assert (await on.call()).text == "short"


@run_async
async def test_more_than_may_be_stored_is_too_large() -> None:
    """AT-226: `max_stored_bytes`."""
    async with result_scene(TEXT, settings={"max_stored_bytes": 481_203}) as on:
        assert (await on.call()).status == "too_large"
    async with result_scene(TEXT, settings={"max_stored_bytes": 481_204}) as on:
        assert (await on.call()).status == "succeeded"

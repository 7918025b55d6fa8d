"""Secrets leave a result on its way into the row, also those in native ids."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ferrule
from ferrule.contracts.executor import Context
from ferrule.model.persistence import RedactionSettings
from ferrule.testing import memory_app
from tests.runtime.pipeline.native_ids import refs_of


@ferrule.tool(read_only=True, concurrency_safe=True, inline=True)
def careless(text: str, context: Context) -> str:
    """Answer at once, and tell a token."""
    context.add_native_ref(source="cli", command_id=f"key ghp_{'a1B2' * 9}")
    return text


@ferrule.tool(read_only=True, concurrency_safe=True)
async def careless_later(text: str, context: Context) -> str:
    """Answer after a moment, and tell a token."""
    await asyncio.sleep(0)
    context.add_native_ref(source="cli", command_id=f"key ghp_{'a1B2' * 9}")
    return text


@pytest.mark.parametrize("name", ["careless", "careless_later"])
@pytest.mark.parametrize("text", ["done", "long " * 200])
def test_secrets_in_native_ids_are_not_recorded_whichever_way_the_call_takes(name: str, text: str) -> None:
    async def main() -> None:
        async with memory_app(tools=[careless, careless_later], redaction=RedactionSettings()) as app:
            surface = app.surface()
            for options in ({}, {}, {"native_call_id": "n1"}):
                result: Any = await surface.call(name, {"text": text}, **options)  # type: ignore[arg-type]
                assert result.value == text and result.redaction_state == "partial"
                assert await refs_of(app, result.invocation_id) == [{"source": "cli", "command_id": "key [REDACTED]"}]

    asyncio.run(main())

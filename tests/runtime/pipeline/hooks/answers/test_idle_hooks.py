"""Hooks: one that would never run is refused, and what one says after a call is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ferrule
from ferrule.contracts.hook import HookEvent, HookInput, HookOutput
from ferrule.errors import SettingsError
from ferrule.testing import memory_app


@ferrule.tool(read_only=True)
async def look() -> str:
    """Looks."""
    return "seen"


class Note:
    """Says something at its moment."""

    hook_id = "note"

    def __init__(self, event: HookEvent) -> None:
        self.event = event

    def matches(self, tool_id: str, tool_name: str) -> bool:
        return True

    def run(self, told: HookInput) -> HookOutput:
        return HookOutput(additional_context=({"type": "text", "text": "by the way"},))


def test_a_hook_that_would_never_run_is_refused() -> None:
    """AT-144: there are six events."""

    async def story() -> None:
        unknown: Any = "before_tool_use"
        with pytest.raises(SettingsError, match="never comes"):
            async with memory_app(tools=[look], hooks=[Note(unknown)]):
                pass

    asyncio.run(story())


def test_what_a_hook_adds_after_a_call_is_kept_with_its_name() -> None:
    """AT-156"""

    async def story() -> None:
        async with memory_app(tools=[look], hooks=[Note("post_tool_use")]) as app:
            result = await app.surface().call("look")
            (row,) = await app.store.rows_of(result.invocation_id)
            (run,) = row.segment().hooks
            assert run.hook_id == "note"
            assert run.outputs == ({"additional_context": {"type": "text", "text": "by the way"}},)

    asyncio.run(story())

"""Native ids of a call: what it is called where it really ran is on its record, also of one that waited (AT-258)."""

from __future__ import annotations

import asyncio
from typing import Any

import ferrule
from ferrule.contracts.executor import Context, Waiting
from ferrule.model.approval import APPROVE, Identity
from ferrule.testing import memory_app
from tests.runtime.pipeline.native_ids import refs_of


@ferrule.tool(read_only=True)
async def ask(context: Context) -> str | Waiting:
    """Ask somebody elsewhere."""
    context.add_native_ref(source="queue", message_id="sent")
    return Waiting(message="which?", state=b"x")


@ask.resume
async def answered(state: bytes, answer: str, context: Context) -> str:
    context.add_native_ref(source="queue", message_id="received")
    return answer


@ferrule.tool(read_only=True, inline=True)
def quick(context: Context) -> str:
    """Answer at once."""
    context.add_native_ref(source="cli", command_id="here")
    return "done"


def test_a_call_that_waited_keeps_what_it_was_called_before_and_after() -> None:
    async def main() -> list[dict[str, Any]]:
        async with memory_app(tools=[ask]) as app:
            pending = await app.surface().call("ask", {})
            await app.inbox(Identity("ann", "desk", frozenset({APPROVE}))).answer(pending.invocation_id, "this one")
            return await refs_of(app, pending.invocation_id)

    assert [ref["message_id"] for ref in asyncio.run(main())] == ["sent", "received"]


def test_a_call_that_is_answered_at_once_keeps_it_too() -> None:
    async def main() -> list[dict[str, Any]]:
        async with memory_app(tools=[quick]) as app:
            return await refs_of(app, (await app.surface().call("quick", {})).invocation_id)

    assert asyncio.run(main()) == [{"source": "cli", "command_id": "here"}]

"""Native ids of a call: what it is called where it really ran is on its record, also of one that waited (AT-258)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ferrule
from ferrule.app.app import App
from ferrule.contracts.executor import Context, Waiting
from ferrule.ledger.history.story import story_of
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.persistence import RedactionSettings
from ferrule.testing import memory_app


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


async def refs_of(app: App, invocation_id: str) -> list[dict[str, Any]]:
    await app.store.flush()
    story = story_of(await app.store.rows_of(invocation_id))
    found: list[dict[str, Any]] = story.to_record()["native_refs"]
    return found


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

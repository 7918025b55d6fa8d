"""Idempotency keys: the same key with the same input gives the first answer; with another input it is refused."""

from __future__ import annotations

import asyncio

import pytest

import ferrule
from ferrule.app.app import App
from ferrule.model.result import Result
from ferrule.testing import memory_app


@ferrule.tool(read_only=True, inline=True)
def look(what: str) -> str:
    """Look at something."""
    return f"looked at {what}"


@ferrule.tool(destructive=False, inline=True)
def change(what: str) -> str:
    """Change something."""
    return f"changed {what}"


async def called(app: App, tool: str, what: str, key: str = "k") -> Result:
    outcome = await app.surface(principal="ann").call(tool, {"what": what}, idempotency_key=key)
    assert isinstance(outcome, Result)
    return outcome


@pytest.mark.parametrize("tool", ["look", "change"])
def test_another_input_is_refused_and_never_gets_the_first_answer(tool: str) -> None:
    async def main() -> None:
        async with memory_app(tools=[look, change]) as app:
            first = await called(app, tool, "this")
            again = await called(app, tool, "this")
            other = await called(app, tool, "that")
            assert again == first
            assert other.invocation_id != first.invocation_id
            assert "this" not in other.text.replace("this idempotency", "")
            assert other.error is not None
            assert (other.error.error_class, other.error.error_code) == ("invalid_arguments", "idempotency_conflict")
            assert first.invocation_id in other.error.message
            assert await called(app, tool, "this") == first, "the refused one must not have taken the key"

    asyncio.run(main())


@ferrule.tool(destructive=False, inline=True)
def move(what: str, to: dict[str, int]) -> str:
    """Move something."""
    return f"moved {what}"


def test_the_same_input_in_another_order_is_the_same_input() -> None:
    async def main() -> None:
        async with memory_app(tools=[move]) as app:
            surface = app.surface(principal="ann")
            first = await surface.call("move", b'{"what":"this","to":{"x":1,"y":2}}', idempotency_key="k")
            again = await surface.call("move", b'{ "to": {"y": 2, "x": 1}, "what": "this" }', idempotency_key="k")
            other = await surface.call("move", b'{"what":"this","to":{"x":2,"y":1}}', idempotency_key="k")
            assert again == first
            assert other.is_error

    asyncio.run(main())


def test_who_loses_a_race_for_a_key_keeps_its_own_answer_or_is_refused() -> None:
    async def main() -> None:
        async with memory_app(tools=[look, change]) as app:
            outcomes = await asyncio.gather(*(called(app, "look", f"{number}", "race") for number in range(8)))
            for number, outcome in enumerate(outcomes):
                assert outcome.is_error or outcome.value == f"looked at {number}"

    asyncio.run(main())

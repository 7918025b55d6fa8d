"""Tools and hooks for tests about hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import ferrule
from ferrule.contracts.hook import HookEvent, HookInput, HookOutput
from ferrule.errors import FerruleError
from ferrule.model.result import Result
from ferrule.model.story import Story
from ferrule.runtime.hooks.function import FunctionHook
from ferrule.testing import memory_app

RAN: list[Any] = []
"""What the tools were called with."""


@ferrule.tool(read_only=True)
async def look(city: str = "Bern") -> str:
    """Looks."""
    RAN.append(city)
    return f"seen {city}"


@ferrule.tool(read_only=True)
async def count(city: str = "Bern") -> dict[str, int]:
    """Counts."""
    RAN.append(city)
    return {"found": 1}


@ferrule.tool
async def act(city: str = "Bern") -> str:
    """Does something."""
    RAN.append(city)
    return "done"


@ferrule.tool(read_only=True)
async def fail() -> str:
    """Fails."""
    raise FerruleError("it broke")


def hook(
    said: Any = None, event: HookEvent = "pre_tool_use", name: str = "guard", timeout_seconds: float = 5.0
) -> FunctionHook:
    """A hook that says this, or what this function says."""
    function: Callable[[HookInput], Any] = said if callable(said) else lambda told: said
    return FunctionHook(name, event, function, timeout_seconds=timeout_seconds)


class BareHook:
    """A hook without anything in between: what `run` gives is what the pipeline gets."""

    hook_id = "bare"

    def __init__(self, said: Any, event: HookEvent = "pre_tool_use") -> None:
        self.said, self.event = said, event

    def matches(self, tool_id: str, tool_name: str) -> bool:
        return True

    def run(self, told: HookInput) -> HookOutput | Awaitable[HookOutput | None] | None:
        said: HookOutput | None = self.said(told) if callable(self.said) else self.said
        return said


def run_story(story: Callable[[], Awaitable[None]]) -> None:
    """Run a story, with an end."""
    RAN.clear()

    async def bounded() -> None:
        await asyncio.wait_for(story(), 20)

    asyncio.run(bounded())


def call_with_hooks(*hooks: Any, tool: Any = look, policy: str = "") -> Result:
    """The result of one call with these hooks, and its story in `NOTED`."""
    found: list[Result] = []

    async def story() -> None:
        async with memory_app(tools=[tool], hooks=hooks, policy=policy) as app:
            result = await app.surface().call(tool.__name__)
            assert isinstance(result, Result), result
            found.append(result)
            await app.store.flush()
            NOTED[:] = [Story(await app.store.rows_of(result.invocation_id))]

    run_story(story)
    return found[0]


NOTED: list[Any] = []


async def never_answer(told: HookInput) -> HookOutput:
    await asyncio.sleep(600)
    return HookOutput()


@ferrule.tool(read_only=True, sensitive=["password"])
async def login(password: str, user: str = "ann") -> str:
    """Says what it was given."""
    RAN.append((user, password))
    return f"{user}:{password}"

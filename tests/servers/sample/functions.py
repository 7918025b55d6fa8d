"""One tool of each kind that a client can meet, a resource and a prompt."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import ferrule
from ferrule.contracts.executor import Context

HERE = Path(__file__).parent
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@ferrule.tool(read_only=True, concurrency_safe=True)
def add(a: int, b: int) -> dict[str, int]:
    """Adds two numbers.

    Args:
        a: One of them.
        b: The other.
    """
    return {"sum": a + b}


@ferrule.tool(read_only=True, concurrency_safe=True)
def fail() -> str:
    """Fails."""
    raise ferrule.ToolFailed("there is no more paper; put some in and call again")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def steps(context: Context) -> str:
    """Tells how far it is, four times."""
    for percent in (25, 50, 75, 100):
        context.progress(f"at {percent}", percent=percent)
        await asyncio.sleep(0.02)
    return "all done"


@ferrule.tool(read_only=True, concurrency_safe=True)
async def slow(seconds: float) -> str:
    """Takes its time.

    Args:
        seconds: How much of it.
    """
    await asyncio.sleep(seconds)
    return "slow, but sure"


@ferrule.tool(read_only=True, concurrency_safe=True)
async def hang() -> str:
    """Never ends; leaves a file behind when it is stopped."""
    (HERE / "hanging").touch()
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        (HERE / "stopped").touch()
        raise
    return "never"


@ferrule.tool(read_only=True, concurrency_safe=True)
async def greet(context: Context) -> Any:
    """Asks the person at the client for a name."""
    params = {"message": "Who are you?", "requestedSchema": NAME}
    return context.ask_client({"person": {"method": "elicitation/create", "params": params}})


@greet.resume
async def _greeted(state: bytes, answer: dict[str, Any], context: Context) -> str:
    if answer["person"]["action"] != "accept":
        return "Hello, whoever you are."
    return f"Hello, {answer['person']['content']['name']}!"


@ferrule.tool
def pay(amount: int) -> str:
    """Pays somebody, once a person has allowed it.

    Args:
        amount: Euros.
    """
    return f"{amount} euros are paid"


@ferrule.resource("sample://readme", mime_type="text/markdown", name="readme")
def readme() -> str:
    """What this is."""
    return "# A sample\nIt is small."


@ferrule.prompt
def review(topic: str) -> str:
    """Asks for a review.

    Args:
        topic: Of what.
    """
    return f"Please review {topic}."

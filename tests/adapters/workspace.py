"""A small workspace whose tools are Python functions, for the adapters of frameworks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import ferrule

STARTED: list[asyncio.Event] = []
STOPPED: list[str] = []


@ferrule.tool(name="orders.state", read_only=True)
def state(order: str, days: int | None = None) -> dict[str, Any]:
    """Tell the state of an order."""
    return {"order": order, "days": days, "state": "sent"}


@ferrule.tool(read_only=True)
def greet(name: str) -> str:
    """Say hello."""
    return f"Hello {name}."


@ferrule.tool(approval_required=True)
def refund(order: str) -> str:
    """Give money back."""
    return order


@ferrule.tool(read_only=True)
def fail(why: str) -> str:
    """Go wrong."""
    raise ferrule.ToolFailed(f"it went wrong: {why}")


@ferrule.tool(read_only=True)
async def wait(seconds: int) -> str:
    """Wait."""
    STARTED[-1].set()
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        STOPPED.append("wait")
        raise
    return "waited"


TOOLS = [state, greet, refund, fail, wait]


def made(folder: Path) -> Path:
    """The folder as a workspace."""
    (folder / "ferrule.toml").write_text('namespace = "shop"\n')
    return folder

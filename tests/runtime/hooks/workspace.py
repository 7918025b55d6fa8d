"""Hooks as settings make them, and a call that meets them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import ferrule
from ferrule.contracts.hook import Hook
from ferrule.model.result import Result
from ferrule.runtime.hooks.builtin import build_hooks
from ferrule.settings import HookSettings
from ferrule.testing import memory_app
from tests.runtime.hooks.fake_provider import local_client

ENV = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "HOOK_SECRET": "a secret of some length", "OTHER": "s3cret"}
RAN: list[str] = []


@ferrule.tool(read_only=True)
async def look(city: str) -> str:
    """Looks."""
    RAN.append(city)
    return f"seen {city}"


def build_hook(root: Path, **said: Any) -> Hook:
    """The one hook of these settings."""
    usual: dict[str, Any] = {"id": "guard", "event": "pre_tool_use", "timeout_seconds": 10.0}
    (one,) = build_hooks([HookSettings(**(usual | said))], root, ENV, local_client)
    return one


def script(root: Path, code: str) -> tuple[str, ...]:
    (root / "guard.py").write_text(code)
    return (sys.executable, "guard.py")


def call(*hooks: Hook) -> Result:
    RAN.clear()

    async def story() -> Result:
        async with memory_app(tools=[look], hooks=hooks) as app:
            result = await app.surface().call("look", {"city": "Bern"})
            assert isinstance(result, Result)
            return result

    return asyncio.run(asyncio.wait_for(story(), 20))

"""Executors that other packages register run the tools they can."""

from __future__ import annotations

import asyncio
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ferrule.app import assembly
from ferrule.app.opening import open_app
from ferrule.contracts import registry
from ferrule.model.tool import SafetyFacts, Tool
from ferrule.runtime.executors.builtin import EXECUTORS, GROUP
from ferrule.testing import ScriptedExecutor

TOOL = Tool(
    tool_id="acme.look", namespace="acme", name="look", description="Looks.", lifecycle="available",
    tool_kind="browser_action", dialect="agent_tool", facts=SafetyFacts(is_read_only=True),
)  # fmt: skip


def acme() -> ScriptedExecutor:
    """What the other package registers."""
    return ScriptedExecutor({"acme.look": {"seen": True}})


def test_a_registered_executor_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("acme", f"{__name__}:acme", GROUP)
    monkeypatch.setattr(registry, "_entry_points", lambda group: [point] if group == GROUP else [])
    monkeypatch.setattr(assembly, "_executors", registry.Registry("executor", EXECUTORS, GROUP))

    async def story() -> None:
        async with open_app(tmp_path, tools=[TOOL], tends=False) as app:
            result = await app.surface(has_browser=True).call("look")
            assert not result.is_error and result.value == {"seen": True}  # type: ignore[union-attr]  # it is no Pending

    asyncio.run(story())

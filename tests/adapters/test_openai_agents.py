"""Tools of a surface in the OpenAI Agents SDK, with the real package."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agents import FunctionTool
from agents.models.openai_responses import Converter
from agents.tool_context import ToolContext

import ferrule
from ferrule.adapters.openai_agents import tools
from tests.adapters import workspace
from tests.adapters.workspace import STARTED, STOPPED, TOOLS


def context(name: str) -> ToolContext[None]:
    return ToolContext(None, tool_name=name, tool_call_id="call_7", tool_arguments="{}")


async def invoked(tool: FunctionTool, arguments: Any) -> str:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return str(await tool.on_invoke_tool(context(tool.name), given))


def test_tools_are_called_and_answer_in_words(tmp_path: Path) -> None:
    async def run() -> None:
        async with ferrule.open(workspace.made(tmp_path), tools=TOOLS) as app:
            surface = app.surface(principal="ann")
            made = {tool.name: tool for tool in tools(surface)}
            assert set(made) == {"orders_state", "greet", "refund", "fail", "wait"}
            assert await invoked(made["greet"], {"name": "Ann"}) == "Hello Ann."
            assert "it went wrong: rain" in await invoked(made["fail"], {"why": "rain"})
            assert "has not run yet" in await invoked(made["refund"], {"order": "A-1"})
            assert "JSON" in await invoked(made["greet"], "{no json")
            listed: list[Any] = list(Converter.convert_tools(list(made.values()), []).tools)
            assert [one["name"] for one in listed][:2] == ["orders_state", "greet"]

    asyncio.run(run())


def test_strict_schemas_are_taken_and_what_they_add_is_taken_away_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with ferrule.open(workspace.made(tmp_path), tools=TOOLS) as app:
            made = {tool.name: tool for tool in tools(app.surface(principal="ann"), is_strict=True)}
            assert made["orders_state"].strict_json_schema is True
            assert sorted(made["orders_state"].params_json_schema["required"]) == ["days", "order"]
            answer = await invoked(made["orders_state"], {"order": "A-1", "days": None})
            assert json.loads(answer)["order"] == "A-1"

    asyncio.run(run())


def test_cancelling_here_cancels_there(tmp_path: Path) -> None:
    async def run() -> None:
        async with ferrule.open(workspace.made(tmp_path), tools=TOOLS) as app:
            made = {tool.name: tool for tool in tools(app.surface(principal="ann"))}
            STARTED.append(asyncio.Event())
            STOPPED.clear()
            task = asyncio.create_task(invoked(made["wait"], {"seconds": 60}))
            await asyncio.wait_for(STARTED[-1].wait(), 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert STOPPED == ["wait"]

    asyncio.run(run())

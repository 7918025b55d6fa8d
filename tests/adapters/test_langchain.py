"""Tools of a surface in LangChain, with the real package."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool

import ferrule
from ferrule.adapters.langchain import tools
from tests.adapters import workspace
from tests.adapters.workspace import STARTED, STOPPED, TOOLS


def test_tools_are_called_and_answer_in_words(tmp_path: Path) -> None:
    async def run() -> None:
        async with ferrule.open(workspace.made(tmp_path), tools=TOOLS) as app:
            made = {tool.name: tool for tool in tools(app.surface(principal="ann"))}
            assert all(isinstance(tool, StructuredTool) for tool in made.values())
            assert set(made) == {"orders_state", "greet", "refund", "fail", "wait"}
            assert await made["greet"].ainvoke({"name": "Ann"}) == "Hello Ann."
            assert '"order":"A-1"' in await made["orders_state"].ainvoke({"order": "A-1"})
            assert "it went wrong: rain" in await made["fail"].ainvoke({"why": "rain"})
            assert "has not run yet" in await made["refund"].ainvoke({"order": "A-1"})
            assert "name" in await made["greet"].ainvoke({"nam": "Ann"})  # what is wrong, for the model to mend

    asyncio.run(run())


def test_a_model_of_langchain_is_shown_what_the_surface_shows(tmp_path: Path) -> None:
    with ferrule.open_sync(workspace.made(tmp_path), tools=TOOLS) as app:
        made = tools(app.surface(principal="ann"))
        shown = [convert_to_openai_tool(tool)["function"] for tool in made]
        assert [one["name"] for one in shown][:2] == ["orders_state", "greet"]
        assert shown[0]["description"] == "Tell the state of an order."
        assert shown[0]["parameters"]["required"] == ["order"]
        assert made[1].invoke({"name": "Bo"}) == "Hello Bo."


def test_cancelling_here_cancels_there(tmp_path: Path) -> None:
    async def run() -> None:
        async with ferrule.open(workspace.made(tmp_path), tools=TOOLS) as app:
            made = {tool.name: tool for tool in tools(app.surface(principal="ann"))}
            STARTED.append(asyncio.Event())
            STOPPED.clear()
            task = asyncio.create_task(made["wait"].ainvoke({"seconds": 60}))
            await asyncio.wait_for(STARTED[-1].wait(), 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert STOPPED == ["wait"]

    asyncio.run(run())

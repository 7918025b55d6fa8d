"""Tools of a surface in Pydantic AI, with the real package and its own model for tests."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import ferrule
from ferrule.adapters.pydantic_ai import tools
from tests.adapters import workspace
from tests.adapters.workspace import TOOLS

CALLS = [
    ToolCallPart("greet", {"name": "Ann"}, "c1"),
    ToolCallPart("orders_state", '{"order": "A-1"}', "c2"),
    ToolCallPart("refund", {"order": "A-1"}, "c3"),
    ToolCallPart("fail", {"why": "rain"}, "c4"),
]


def test_an_agent_calls_tools_and_is_answered_in_words(tmp_path: Path) -> None:
    seen: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(tool.name for tool in info.function_tools if len(messages) == 1)
        return ModelResponse(parts=CALLS if len(messages) == 1 else [TextPart("done")])

    async def run() -> dict[str, str]:
        async with ferrule.open(workspace.made(tmp_path), tools=TOOLS) as app:
            agent = Agent(FunctionModel(model), tools=tools(app.surface(principal="ann")))
            result = await agent.run("go")
            parts = [part for message in result.all_messages() for part in message.parts]
            return {part.tool_call_id: str(part.content) for part in parts if isinstance(part, ToolReturnPart)}

    answers = asyncio.run(run())
    assert seen == ["orders_state", "greet", "refund", "fail", "wait"]
    assert answers["c1"] == "Hello Ann."
    assert '"state":"sent"' in answers["c2"]
    assert "has not run yet" in answers["c3"]
    assert "it went wrong: rain" in answers["c4"]

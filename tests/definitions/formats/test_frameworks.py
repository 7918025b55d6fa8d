"""Lists of functions that real frameworks and a real MCP server make are read, and written again as they were (AT-257)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pydantic
from agents import function_tool
from agents.models.chatcmpl_converter import Converter as Chat
from agents.models.openai_responses import Converter as Responses
from fastmcp import Client, FastMCP
from langchain_core.tools import tool as langchain_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp.server.mcpserver import MCPServer
from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Item(pydantic.BaseModel):
    sku: str = pydantic.Field(pattern="^[A-Z]+$", description="What it is.")
    count: int = pydantic.Field(1, ge=1, le=99)
    size: Size | None = None
    parts: list[Item] = []


@dataclass
class Address:
    street: str
    country: Literal["no", "de"] = "no"


def order(items: list[Item], to: Address, express: bool = False, notes: dict[str, str] | None = None) -> str:
    """Order something.

    Args:
        items: What is wanted.
        to: Where it goes.
    """
    return ""


def add(a: int, b: float = 2.5) -> float:
    """Add two numbers."""
    return a + b


def check_round_trip(name: str, listed: Any) -> None:
    form = FORMATS.get(name)
    assert next(one.name for one in FORMATS if one.detect(listed)) == name
    reading = form.read(listed, "", {})
    assert not reading.findings
    assert len(reading.tools) == 2
    writing = form.write([read.tool for read in reading.tools], WriteOptions())
    assert writing.value == listed
    assert not any(loss.is_final for loss in writing.losses)


def test_langchain() -> None:
    check_round_trip("openai", [convert_to_openai_tool(langchain_tool(one)) for one in (order, add)])
    check_round_trip(
        "openai", [convert_to_openai_tool(langchain_tool(add), strict=True), convert_to_openai_tool(order)]
    )


def test_openai_agents() -> None:
    made: list[Any] = [function_tool(order, strict_mode=False), function_tool(add)]
    check_round_trip("openai", [Chat.tool_to_openai(one) for one in made])
    check_round_trip("openai-responses", [dict(one) for one in Responses.convert_tools(made, []).tools])


def test_pydantic_ai() -> None:
    """Its definitions, as OpenAI and Gemini are sent them."""
    seen: list[dict[str, Any]] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        for one in info.function_tools:
            function = {"name": one.name, "description": one.description, "parameters": one.parameters_json_schema}
            seen.append({"type": "function", "function": function})
        return ModelResponse(parts=[TextPart("done")])

    asyncio.run(Agent(FunctionModel(model), tools=[Tool(order), Tool(add)]).run("go"))
    check_round_trip("openai", seen)
    declared = [
        {"name": one["function"]["name"], "description": "x", "parameters_json_schema": one["function"]["parameters"]}
        for one in seen
    ]
    check_round_trip("gemini", [{"functionDeclarations": declared}])


def test_fastmcp() -> None:
    server = FastMCP("shop")
    server.tool(order)
    server.tool(add, annotations={"readOnlyHint": True})

    async def listed() -> Any:
        async with Client(server) as client:
            answer = await client.list_tools_mcp()
            return {"tools": answer.model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]}

    check_round_trip("mcp", asyncio.run(listed()))


def test_the_official_mcp_server() -> None:
    server = MCPServer("shop")
    server.add_tool(order, title="Order")
    server.add_tool(add)
    tools = asyncio.run(server.list_tools())
    check_round_trip("mcp", {"tools": [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in tools]})

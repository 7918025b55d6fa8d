"""Python for a framework: a short program whose tools are those of a surface, called through Ferrule."""

from __future__ import annotations

FRAMEWORKS = {"langchain": "langchain", "openai-agents": "openai_agents", "pydantic-ai": "pydantic_ai"}
"""Each with the module of `ferrule.adapters` that makes its tools."""
_USES = {
    "langchain": """        # from langchain.agents import create_agent
        # agent = create_agent("openai:gpt-5", tools=tools)""",
    "openai-agents": """        # from agents import Agent, Runner
        # agent = Agent(name="assistant", instructions=instructions, tools=tools)""",
    "pydantic-ai": """        # from pydantic_ai import Agent
        # agent = Agent("openai:gpt-5", instructions=instructions, tools=tools)""",
}


def code_for(framework: str, workspace: str, **caller: str | None) -> str:
    """The program. `caller`: who the tools are for, as `App.surface` takes it; what is None is not said."""
    adapter = FRAMEWORKS[framework]
    said = ", ".join(f"{name}={value!r}" for name, value in caller.items() if value is not None)
    return f'''"""The tools of a Ferrule workspace for {framework}: decided, approved and recorded like any other."""

import asyncio

import ferrule
from ferrule.adapters import {adapter}


async def main() -> None:
    async with ferrule.open({workspace!r}) as app:
        surface = app.surface({said})
        tools = {adapter}.tools(surface)
        instructions = surface.tools().instructions
        for tool in tools:
            print(tool.name)
{_USES[framework]}


asyncio.run(main())
'''

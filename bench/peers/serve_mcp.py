"""The SDK's low-level server: over HTTP as it is quickest, stateless with JSON answers, or over standard streams.

python serve_mcp.py http PORT [TOOLS]
python serve_mcp.py stdio
"""

import sys

import anyio
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from serve_app import listen, tools_wanted

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}


def tool(name):
    return types.Tool(name=name, description="Add two whole numbers.", input_schema=SCHEMA)


TOOLS = [tool("add"), *(tool(f"add_{number}") for number in range(tools_wanted() - 1))]


async def list_tools(context, params):
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(context, params):
    total = params.arguments["a"] + params.arguments["b"]
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(total))])


server = Server("bench", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def stdio():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        anyio.run(stdio)
    else:
        listen(server.streamable_http_app(stateless_http=True, json_response=True))

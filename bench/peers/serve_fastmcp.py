"""FastMCP: over HTTP with sessions or without, with JSON answers, or over standard streams.

python serve_fastmcp.py stateful|stateless PORT [TOOLS]
python serve_fastmcp.py stdio
"""

import sys

from fastmcp import FastMCP
from serve_app import listen, tools_wanted

server = FastMCP("bench")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


for number in range(tools_wanted() - 1):
    server.tool(add, name=f"add_{number}")

if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run(transport="stdio", show_banner=False)
    else:
        listen(server.http_app(json_response=True, stateless_http=sys.argv[1] == "stateless"))

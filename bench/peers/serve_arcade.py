"""Arcade's MCP server: over HTTP as its own command starts it, or over standard streams.

python serve_arcade.py http PORT
python serve_arcade.py stdio
"""

# No `from __future__ import annotations`: Arcade reads the annotations as they are.
import os
import sys
from typing import Annotated

os.environ.setdefault("ARCADE_DISABLE_AUTORELOAD", "1")
os.environ.setdefault("ARCADE_USAGE_TRACKING", "0")

from arcade_mcp_server import MCPApp

app = MCPApp(name="bench", version="1.0.0", log_level="ERROR")


@app.tool
async def add(a: Annotated[int, "One number"], b: Annotated[int, "Another number"]) -> Annotated[int, "Their sum"]:
    """Add two whole numbers."""
    return a + b


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        app.run(transport="stdio")
    else:
        app.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]))

"""A server made with FastMCP: `fast.py stdio`, or `http PORT` with `/mcp`."""

from __future__ import annotations

import sys
from typing import Any

from fastmcp import Context, FastMCP

server: FastMCP[Any] = FastMCP("fast", version="0.1")


@server.tool
async def add(one: int, other: int) -> int:
    """Adds two numbers."""
    return one + other


@server.tool
async def steps(ctx: Context) -> str:
    """Tells of its progress."""
    for step in (1, 2, 3, 4):
        await ctx.report_progress(step, 4)
    return "done"


if sys.argv[1] == "stdio":
    server.run("stdio", show_banner=False)
else:
    server.run("http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False, log_level="critical")

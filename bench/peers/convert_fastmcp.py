"""FastMCP: an OpenAPI document as a server of tools, and the list of them. Prints the time it took as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from pathlib import Path

import httpx2
from fastmcp import FastMCP


async def main(file: str) -> dict[str, float]:
    data = Path(file).read_bytes()
    gc.collect()
    began, cpu = time.perf_counter(), time.process_time()
    client = httpx2.AsyncClient(base_url="https://eu.shop.example/v2")
    server = FastMCP.from_openapi(json.loads(data), client=client)
    tools = await server.list_tools()
    taken = {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu, "tools": len(tools)}
    await client.aclose()
    return taken


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1]))))

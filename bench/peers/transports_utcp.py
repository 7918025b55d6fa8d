"""UTCP: the same operation through its client, which calls the API directly."""

from __future__ import annotations

import json
import logging

from transports_timing import Ways, report, timed
from utcp.utcp_client import UtcpClient


async def main(port: int, calls: int, rounds: int) -> Ways:
    found: Ways = {}
    logging.disable(logging.INFO)
    tool = {
        "name": "add",
        "description": "Add two whole numbers.",
        "inputs": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
        "outputs": {"type": "object"},
        "tool_call_template": {
            "call_template_type": "http",
            "url": f"http://127.0.0.1:{port}/add",
            "http_method": "GET",
        },
    }
    manual = {"utcp_version": "1.0.1", "manual_version": "1.0.0", "tools": [tool]}
    template = {
        "name": "bench",
        "call_template_type": "text",
        "content": json.dumps(manual),
        "allowed_communication_protocols": ["text", "http"],
    }
    client = await UtcpClient.create(config={"manual_call_templates": [template]})

    async def call(number: int) -> int:
        return (await client.call_tool("bench.add", {"a": number, "b": 1}))["sum"]

    await timed({"UTCP client": call}, calls, rounds, found)
    return found


if __name__ == "__main__":
    report(main)

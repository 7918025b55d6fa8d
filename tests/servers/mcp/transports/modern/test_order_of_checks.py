"""The order of checks in the revision without sessions (MCP-55): of two faults, the earlier one is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.servers.local_server import InProcessServer, Reply, running_server
from tests.servers.mcp.direct_client import in_loop
from tests.servers.mcp.modern_client import VERSION, make_meta
from tests.servers.mcp.sample_workspace import EVERYTHING

FAULTS: dict[str, tuple[int, int | None]] = {
    "origin": (403, 403),
    "method": (405, None),
    "credential": (401, 401),
    "accept": (406, -32600),
    "content type": (415, -32600),
    "size": (413, -32600),
    "json": (400, -32700),
    "shape": (400, -32600),
    "header twice": (400, -32020),
    "no capabilities": (400, -32602),
    "other name": (400, -32020),
    "version": (400, -32022),
    "no parameter header": (400, -32020),
    "unknown method": (404, -32601),
    "client cannot": (400, -32021),
    "arguments": (200, -32602),
}
"""In the order of the checks, with the status and the code of each."""
NEVER_TOGETHER = (
    {"no parameter header", "unknown method"},
    {"no parameter header", "client cannot"},
    {"no parameter header", "arguments"},
    {"client cannot", "arguments"},
)
"""Whether a client can do what a tool asks is known when the tool has asked; only a known method has parameters."""


async def faulty(stand: InProcessServer, token: str, faults: set[str]) -> Reply:
    """A call with these faults and no other."""
    method = "no/such" if "unknown method" in faults else "tools/call"
    name = "who" if "client cannot" in faults else "where"
    version = "v9" if "version" in faults else VERSION
    said: dict[str, Any] = {**make_meta(), "io.modelcontextprotocol/protocolVersion": version}
    if "no capabilities" in faults:
        del said["io.modelcontextprotocol/clientCapabilities"]
    arguments: Any = {"region": "eu"} if "no parameter header" in faults else [] if "arguments" in faults else {}
    params = {"name": name, "arguments": arguments, "_meta": said}
    request = {"jsonrpc": "2.0", "id": None if "shape" in faults else 7, "method": method, "params": params}
    body = json.dumps(request).encode()
    body = body[:-2] if "json" in faults else body
    body = body + b" " * (5 * 1024**2) if "size" in faults else body
    named = ("Mcp-Method", "x") if method == "no/such" else ("Mcp-Name", "x")
    headers = {
        "Authorization": f"Bearer {'wrong' if 'credential' in faults else token}",
        "Accept": "text/plain" if "accept" in faults else "application/json, text/event-stream",
        "Content-Type": "text/plain" if "content type" in faults else "application/json",
        "MCP-Protocol-Version": version,
        "Mcp-Method": method,
        "Mcp-Name": name,
        **({"Origin": "https://evil.example.com"} if "origin" in faults else {}),
        **(dict([named]) if "other name" in faults else {}),
    }
    twice = [("Mcp-Name", name)] if "header twice" in faults else []
    return await stand.ask("PUT" if "method" in faults else "POST", "/mcp", body, [*headers.items(), *twice])


@in_loop
async def test_of_two_faults_the_earlier_one_is_told(tmp_path: Path) -> None:
    """MCP-55, MCP-12, MCP-61, MCP-283."""
    async with running_server(tmp_path, tools=EVERYTHING, auth=True) as stand:
        token, order = stand.read_token(), list(FAULTS)
        for number, fault in enumerate(order):
            for other in order[number:]:
                if {fault, other} in NEVER_TOGETHER:
                    continue
                reply = await faulty(stand, token, {fault, other})
                answered = reply.json() if reply.body else {}
                status, code = FAULTS[fault]
                assert (reply.status, answered.get("error", {}).get("code")) == (status, code), (fault, other)
                if number > order.index("shape"):
                    assert answered["id"] == 7, (fault, other)
                if reply.status == 405:
                    assert "POST" in reply.headers["allow"]

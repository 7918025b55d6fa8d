"""An MCP server with two tools: `echo`, and `flood`, which never ends."""

from __future__ import annotations

import itertools
import json
import os
import sys
from typing import Any


def tell(**message: Any) -> None:
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def flood(kind: str, number: Any, token: Any) -> None:
    progress = {"progressToken": token, "progress": 1, "message": "m" * 200}
    for count in itertools.count():
        match kind:
            case "stderr":
                os.write(2, b"e" * 65_536)
            case "line":
                os.write(1, b"x" * 65_536)
            case "progress":
                tell(method="notifications/progress", params=progress)
            case "requests":
                tell(id=count, method="ping")
            case "deep":
                head = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":' % number
                os.write(1, head + b"[" * 50_000 + b"]" * 50_000 + b"}}\n")
                return


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        number, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize":
                info = {"name": "flooding", "version": "1"}
                tell(
                    id=number,
                    result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
                )
            case "tools/list":
                names = ("flood", "echo")
                tell(id=number, result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]})
            case "tools/call" if params["name"] == "flood":
                flood(sys.argv[1], number, (params.get("_meta") or {}).get("progressToken"))
            case "tools/call":
                tell(id=number, result={"content": [{"type": "text", "text": "here"}]})
            case _ if number is not None and "result" not in message:
                tell(id=number, error={"code": -32601, "message": "unknown"})


main()

"""An MCP server that tells its token wherever something can be told: `tell`, or `die` with it on its lips."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TOKEN = os.environ["TOKEN"]
TOOLS = ("say", "fail", "crash", "ask")


def tell(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(message: dict[str, Any]) -> None:
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    match method:
        case "initialize":
            info = {"name": TOKEN, "version": TOKEN}
            tell(id=number, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info,
                                    "instructions": TOKEN})  # fmt: skip
        case "tools/list":
            tools = [{"name": name, "description": f"Does it. It is called {name}.", "inputSchema": {"type": "object"}}
                     for name in TOOLS]  # fmt: skip
            told = {"name": "told", "description": f"Call it with {TOKEN}.", "inputSchema": {"type": "object"}}
            tell(id=number, result={"tools": [*tools, told]})
        case "tools/call":
            call(number, params)
        case _ if number is not None:
            tell(id=number, error={"code": -32601, "message": TOKEN})


def call(number: Any, params: dict[str, Any]) -> None:
    meta = params.get("_meta") or {}
    if "progressToken" in meta:
        tell(
            method="notifications/progress",
            params={"progressToken": meta["progressToken"], "progress": 1, "message": TOKEN},
        )
    tell(method="notifications/message", params={"level": "error", "data": TOKEN, "logger": TOKEN})
    print(TOKEN, file=sys.stderr, flush=True)
    match params["name"]:
        case "say":
            content = [{"type": "text", "text": TOKEN}, {"type": "resource_link", "uri": f"x:{TOKEN}", "name": TOKEN}]
            tell(id=number, result={"content": content, "structuredContent": {TOKEN: TOKEN}, "_meta": {TOKEN: TOKEN}})
        case "fail":
            tell(id=number, result={"content": [{"type": "text", "text": "x" * 3_000 + TOKEN}], "isError": True})
        case "ask":
            asked = {"method": "elicitation/create", "params": {"message": "x" * 1_960 + TOKEN, "requestedSchema": {
                "type": "object", "properties": {TOKEN: {"type": "string", "description": TOKEN}}}}}  # fmt: skip
            tell(
                id=number, result={"resultType": "input_required", "inputRequests": {"q": asked}, "requestState": TOKEN}
            )
        case _:
            print("y" * 3_980 + TOKEN, file=sys.stderr, flush=True)
            sys.exit(3)


def main() -> None:
    if sys.argv[1] == "die":
        print(TOKEN * 20, file=sys.stderr, flush=True)
        sys.exit(TOKEN)
    for line in sys.stdin:
        answer(json.loads(line))


main()

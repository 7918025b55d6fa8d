"""A server written by hand, of a revision with sessions, that does what servers should not. Over its standard streams.

Its words decide: `odd.py REVISION [BEHAVIOUR…]`. What it was answered goes into the folder NOTES.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REVISION, BEHAVIOURS = sys.argv[1], set(sys.argv[2:])
NOTES = Path(os.environ["NOTES"])
ANYTHING = {"type": "object"}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools(cursor: str | None) -> dict[str, Any]:
    if "endless" in BEHAVIOURS:
        return {"tools": [{"name": f"t{cursor or ''}", "inputSchema": ANYTHING}], "nextCursor": "again"}
    if "paged" in BEHAVIOURS:
        number = int(cursor or 0)
        page: dict[str, Any] = {"tools": [{"name": f"t{number}", "inputSchema": ANYTHING}]}
        return page if number == 4 else {**page, "nextCursor": str(number + 1)}
    found: list[dict[str, Any]] = [{"name": name, "description": name, "inputSchema": ANYTHING} for name in NAMES]
    if "twice" in BEHAVIOURS:
        found.append({"name": "text", "description": "another", "inputSchema": ANYTHING})
    if "bad-schema" in BEHAVIOURS:
        found.append({"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}}})
        found.append({"name": "no-schema"})
        found.append({"name": "two words\n", "inputSchema": ANYTHING})
    return {"tools": found}


NAMES = ("text", "json", "unknown", "silent", "long", "asks", "odd-result", "error", "pid", "die", "breed", "echo")


def give(number: Any, value: dict[str, Any]) -> None:
    say(
        {"id": number, "result": {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}}
    )


def call(number: Any, name: str, arguments: dict[str, Any]) -> None:
    match name:
        case "pid":
            give(number, {"pid": os.getpid(), "env": sorted(os.environ), "cwd": os.getcwd()})
        case "echo":
            give(number, arguments)
        case "die":
            os.kill(os.getpid(), 9)
        case "breed":
            give(number, {"pid": subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL).pid})
        case "text":
            say({"id": number, "result": {"content": [{"type": "text", "text": "plain words"}]}})
        case "json":
            say({"id": number, "result": {"content": [{"type": "text", "text": '{"status": "sent"}'}]}})
        case "unknown" | "nowhere":
            say({"id": number, "error": {"code": -32602, "message": "canary-7f3a9c51e2 is unknown"}})
        case "error":
            say({"id": number, "error": {"code": -32603, "message": "canary-7f3a9c51e2 broke"}})
        case "long":
            sys.stdout.write("x" * 3_000_000)
            sys.stdout.flush()
        case "asks":
            for at, method in enumerate(("sampling/createMessage", "roots/list", "elicitation/create")):
                params = {
                    "messages": [],
                    "maxTokens": 1,
                    "message": "?",
                    "requestedSchema": {"type": "object", "properties": {}},
                }
                say({"id": f"ask-{at}", "method": method, "params": params})
            ASKED.append(number)
        case "odd-result":
            say({"id": number, "result": {"content": "no list"}})


ASKED: list[Any] = []

if "chatty" in BEHAVIOURS:
    print("Welcome to the server!")
    print("{not json")
for line in sys.stdin:
    message = json.loads(line)
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method is None:
        with open(NOTES / "answers", "a") as file:
            file.write(line)
        if len((NOTES / "answers").read_text().splitlines()) == 3 and ASKED:
            say({"id": ASKED.pop(), "result": {"content": [{"type": "text", "text": "went on"}]}})
    elif method == "initialize":
        with open(NOTES / "offered", "a") as file:
            file.write(line)
        say({"id": number, "result": {"protocolVersion": REVISION, "capabilities": {"tools": {}},
                                      "serverInfo": {"name": "odd", "version": "9"}}})  # fmt: skip
    elif method == "tools/list":
        say({"id": number, "result": tools(params.get("cursor"))})
    elif method == "tools/call":
        call(number, params["name"], params.get("arguments") or {})
    elif method == "notifications/cancelled":
        with open(NOTES / "cancelled", "a") as file:
            file.write(line)
    elif number is not None:
        say({"id": number, "error": {"code": -32601, "message": "no"}})

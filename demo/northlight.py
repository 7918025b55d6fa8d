"""Northlight, a publisher with an MCP server of its own: what somebody else's tools look like in this workspace.

Ferrule starts it when one of its tools is first called, and lets it do what `ferrule.lock` has pinned and policy.toml allows. It
speaks MCP over standard input and output, one message a line, and needs nothing but Python.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

REVISION = "2025-11-25"
ANNOUNCED = (
    {"title": "The Lantern Keeper", "author": "Mira Holm", "subject": "novel", "month": "2026-12"},
    {"title": "Tides and Tables", "author": "Bruno Castro", "subject": "cooking", "month": "2027-01"},
    {"title": "A Pocket Atlas of Fog", "author": "Edith Lund", "subject": "travel", "month": "2027-01"},
    {"title": "Small Poems for Long Trains", "author": "Luca Ferrer", "subject": "poetry", "month": "2027-02"},
)
_SUBJECT = {"type": "string", "description": "Only books of this subject, such as poetry."}
_TITLE = {"type": "string", "description": "Title of an announced book."}
_COPIES = {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many copies to put aside."}
TOOLS = [
    {
        "name": "new_releases",
        "description": "Books that Northlight has announced, with the month they appear in.",
        "inputSchema": {"type": "object", "properties": {"subject": _SUBJECT}, "additionalProperties": False},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "reserve_copies",
        "description": "Puts copies of an announced book aside for the shop.",
        "inputSchema": {
            "type": "object",
            "properties": {"title": _TITLE, "copies": _COPIES},
            "required": ["title", "copies"],
            "additionalProperties": False,
        },
    },
]


def new_releases(subject: str = "") -> str:
    """What is announced."""
    found = [book for book in ANNOUNCED if subject in ("", book["subject"])]
    return json.dumps({"found": len(found), "books": found})


def reserve_copies(title: str, copies: int) -> str:
    """Put copies aside."""
    if title not in {book["title"] for book in ANNOUNCED}:
        raise LookupError(f"Northlight has not announced {title!r}; new_releases tells what it has")
    return f"{copies} copies of {title} are put aside"


RUNS: dict[str, Callable[..., str]] = {"new_releases": new_releases, "reserve_copies": reserve_copies}


def called(params: dict[str, Any]) -> dict[str, Any]:
    """The result of a call."""
    try:
        text, is_error = RUNS[params["name"]](**params.get("arguments", {})), False
    except LookupError as error:
        text, is_error = str(error.args[0]), True
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def answered(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """What a request gets; None for one that nobody here knows."""
    match method:
        case "initialize":
            me = {"name": "northlight", "version": "1.0.0"}
            return {"protocolVersion": REVISION, "capabilities": {"tools": {}}, "serverInfo": me}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call" if params.get("name") in RUNS:
            return called(params)
        case _:
            return None


def main() -> None:
    """Answer until the other side is done."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:  # a notification
            continue
        result = answered(message["method"], message.get("params", {}))
        unknown = {"code": -32601, "message": f"there is no {message['method']!r} here"}
        told = {"error": unknown} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)


if __name__ == "__main__":
    main()

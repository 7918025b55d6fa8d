"""A definition of somebody else's server, and a lock that holds it."""

from __future__ import annotations

from typing import Any

from ferrule.infra.lockfile.file import Lock, LockedServer, make_locked_tool

NATIVE: dict[str, Any] = {
    "name": "drop/table",
    "title": "Drop",
    "description": "Drops\u200b it.",
    "inputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-order": 1},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "destructiveHint": True, "idempotentHint": True},
    "icons": [{"src": "data:,"}],
    "_meta": {"a/b": {"c": [1, 2.5, None]}},
    "later": "kept",
}


def make_lock(*definitions: dict[str, Any], server: str = "far") -> Lock:
    """A lock with the tools of one server."""
    tools = {tool["name"]: make_locked_tool(tool, "ada", "2026-01-02T03:04:05Z") for tool in definitions}
    return Lock(servers={server: LockedServer(source="x", name="n", version="1", tools=tools)})

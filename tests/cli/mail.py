"""A tool that acts in a user's name: its definition, and a function bound to it."""

from __future__ import annotations

COUNT = {
    "id": "Mail.Count@1.0.0",
    "name": "Mail_Count",
    "description": "Counts the user's messages.",
    "version": "1.0.0",
    "input_schema": {"parameters": {"type": "object"}},
    "output_schema": {},
    "requirements": {"authorization": [{"id": "acme", "oauth2": {"scopes": ["read"]}}]},
}
FUNCTIONS = '''
from ferrule import tool
from ferrule.contracts.executor import Context

@tool("Mail.Count")
async def count(context: Context) -> dict[str, object]:
    """Counts."""
    return {"length": len(context.credentials["acme"])}
'''

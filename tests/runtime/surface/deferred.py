"""A surface that defers its tools."""

from __future__ import annotations

from typing import Any

from ferrule.model.surface import Surface
from tests.runtime.surface.parts import a_tool, request_of, surface_of, view_of

TOOLS = (
    a_tool("refundOrder", description="Gives the money of an order back.", tags=("money",)),
    a_tool(
        "list_customers", description="Every customer.", search_hint="browse people who bought", aliases=("people",)
    ),
    a_tool("send-mail", namespace="postbox", description="Writes to somebody."),
    a_tool("archive", description="Puts a file away for good.", title="Archive a file"),
)


def deferring(*extra: Any, **circumstances: Any) -> Surface:
    return surface_of(view_of(*TOOLS, *extra), request_of(defer_above=0), **circumstances)

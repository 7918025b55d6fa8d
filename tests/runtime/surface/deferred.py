"""A surface that defers its tools."""

from __future__ import annotations

from typing import Any

from ferrule.model.surface import Surface
from tests.runtime.surface.surfaces import make_request, make_surface, make_tool, make_view

TOOLS = (
    make_tool("refundOrder", description="Gives the money of an order back.", tags=("money",)),
    make_tool(
        "list_customers", description="Every customer.", search_hint="browse people who bought", aliases=("people",)
    ),
    make_tool("send-mail", namespace="postbox", description="Writes to somebody."),
    make_tool("archive", description="Puts a file away for good.", title="Archive a file"),
)


def deferring(*extra: Any, **circumstances: Any) -> Surface:
    return make_surface(make_view(*TOOLS, *extra), make_request(defer_above=0), **circumstances)

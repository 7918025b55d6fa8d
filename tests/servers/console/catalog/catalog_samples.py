"""Tools, a policy and people for the catalog of the console."""

from __future__ import annotations

from typing import Any

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from tests.servers.console.browsing import Person, signed_in
from tests.servers.local_server import InProcessServer


@ferrule.tool(read_only=True)
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


@ferrule.tool(read_only=True)
def hidden() -> str:
    """Nobody knows of this."""
    return ""


TOOLS = (add, pay, hidden)
POLICY = '[[rules]]\nid = "no"\ndecision = "deny"\ntool = "hidden"\nprincipal = "cal"\nreason = "not for cal"\n'


async def somebody(stand: InProcessServer, name: str, *scopes: str, tenant: str | None = None) -> Person:
    """Somebody who has signed in."""
    access = Access(stand.app.root)
    token = access.add(access.local_owner(), name, scopes, (), KeyLimits(tenant=tenant))[1]
    return await signed_in(stand, token)


def names(page: Any) -> list[str]:
    """The tools on a page."""
    return [row["tool_id"] for row in page["rows"]]

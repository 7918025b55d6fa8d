"""Parts of the frame around every page that change while it is open."""

from __future__ import annotations

from ferrule.model.approval import ADMIN
from ferrule.servers.asgi import Answer
from ferrule.servers.console.page import Page
from ferrule.servers.console.view import View

_MOST_FOUND = 8


async def waiting(view: View) -> Answer:
    """`GET /console/parts/waiting`: how many calls wait for a person."""
    return view.fragment("waiting_count.html", waiting_count=await view.waiting())


async def jump(view: View) -> Answer:
    """`GET /console/parts/jump?q=`: tools by their name, and the invocation that an id names."""
    text = view.query.get("q", "").strip()
    found = []
    if text.startswith("inv_"):
        found.append((f"/console/invocations/{text}", text, "invocation"))
    elif text:
        listed = (await view.api.get("/catalog/tools", limit=500))["items"] if view.may(ADMIN) else []
        named = [tool for tool in listed if text.lower() in tool["name"].lower()][:_MOST_FOUND]
        found += [(f"/console/catalog/{tool['tool_id']}", tool["name"], "tool") for tool in named]
    return view.fragment("jump_found.html", found=found)


PAGES = (Page("GET", "/parts/waiting", waiting), Page("GET", "/parts/jump", jump))

"""Every page of the console, and the parts of the frame that change while a page is open.

To add a page, write its function and its record in its own file, and name the file here.
"""

from __future__ import annotations

from ferrule.model.approval import CALL
from ferrule.model.value import JsonObject
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.console import home
from ferrule.servers.console.calls import batches, invocations
from ferrule.servers.console.catalog import agents, catalog, trial_calls
from ferrule.servers.console.catalog.tool_words import address_of, oversees
from ferrule.servers.console.inbox import inbox
from ferrule.servers.console.oversight import audit, policy
from ferrule.servers.console.rendering import part
from ferrule.servers.console.view import ConsolePage, ConsoleView

_MOST_FOUND = 8


async def show_waiting_count(view: ConsoleView) -> HttpAnswer:
    """`GET /console/parts/waiting`: the number of calls that wait for the reader."""
    return view.fragment("waiting_count.html", waiting_count=await view.count_waiting())


async def show_jump(view: ConsoleView) -> HttpAnswer:
    """`GET /console/parts/jump?q=`: matching tools, and the invocation that an id names."""
    text = view.query.get("q", "").strip()[:500]
    found: list[tuple[str, str, str]] = []
    if text.startswith("inv_"):
        found.append((f"/console/invocations/{part(text)}", text, "invocation"))
    elif text:
        found += [(address_of(tool["tool_id"]), name, "tool") for tool, name in await _find_tools(view, text)]
    return view.fragment("jump_found.html", found=found)


async def _find_tools(view: ConsoleView, words: str) -> list[tuple[JsonObject, str]]:
    """Returns the best matching tools that the reader may see, each with its name there."""
    if oversees(view):
        listed = (await view.api.get("/catalog/search", q=words, limit=_MOST_FOUND))["items"]
        return [(tool, tool["tool_id"]) for tool in listed]
    if view.may(CALL):
        listed = (await view.api.get("/tools", q=words, limit=_MOST_FOUND))["items"]
        return [(tool, tool["name"]) for tool in listed]
    return []


FRAME_PAGES = (ConsolePage("GET", "/parts/waiting", show_waiting_count), ConsolePage("GET", "/parts/jump", show_jump))


PAGES: tuple[ConsolePage, ...] = (
    *home.PAGES,
    *catalog.PAGES,
    *trial_calls.PAGES,
    *inbox.PAGES,
    *invocations.PAGES,
    *batches.PAGES,
    *policy.PAGES,
    *agents.PAGES,
    *audit.PAGES,
    *FRAME_PAGES,
)

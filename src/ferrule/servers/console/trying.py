"""Try it."""

from __future__ import annotations

from ferrule.servers.asgi import Answer
from ferrule.servers.console.page import Page
from ferrule.servers.console.view import View


async def show(view: View) -> Answer:
    """`GET /console/try`"""
    return await view.page("trying.html")


PAGES = (Page("GET", "/try", show),)

"""Catalog."""

from __future__ import annotations

from ferrule.servers.asgi import Answer
from ferrule.servers.console.page import Page
from ferrule.servers.console.view import View


async def show(view: View) -> Answer:
    """`GET /console/catalog`"""
    return await view.page("catalog.html")


PAGES = (Page("GET", "/catalog", show),)

"""The first page: what runs, how it does, and who is waited for."""

from __future__ import annotations

from ferrule.servers.asgi import Answer
from ferrule.servers.console.page import Page
from ferrule.servers.console.view import View


async def show(view: View) -> Answer:
    """`GET /console/`"""
    return await view.page("home.html")


PAGES = (Page("GET", "/", show),)

"""The table of pages: every one is found at its own address."""

from __future__ import annotations

from ferrule.servers.api.route import Router
from ferrule.servers.console.pages import PAGES


def filled(path: str) -> str:
    """A path of a route with something in its braces."""
    return "/".join("x" if part.startswith("{") else part for part in path.split("/"))


def test_routes_of_pages_are_distinct() -> None:
    seen = [(page.method, page.path) for page in PAGES]
    assert len(seen) == len(set(seen))
    for page in PAGES:
        match = Router(PAGES).find(filled(page.path))
        assert match is not None and page.method in match.routes, page.path

"""The search tool: it finds names, and loads what is selected."""

from __future__ import annotations

from typing import Any

from ferrule.model.surface import Surface
from ferrule.model.tool import SafetyFacts
from ferrule.runtime.surface.search import select
from ferrule.runtime.surface.search_tool import SEARCH_TOOL, run_search
from tests.runtime.surface.deferred import deferring
from tests.runtime.surface.surfaces import new_id


class FakeSession:
    """A caller's session, in small."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface

    def tell_found(self, tool_ids: Any, search_id: str) -> None:
        """Nobody listens."""

    def select(self, names: Any, search_id: str) -> None:
        self.surface = select(self.surface, names, search_id, new_id=new_id, now=2)


def test_the_search_tool_finds_then_loads() -> None:
    """AT-187: keywords show names only; selecting shows the schema, and the tool is loaded from then on."""
    handle = FakeSession(deferring())
    keywords = run_search(handle, {"query": "refund", "limit": 1}, new_id=lambda: "sea_1")
    assert keywords["matches"] == ["acme.refundOrder"]
    assert "city" not in str(keywords)
    chosen = run_search(handle, {"query": "select:refundOrder"}, new_id=lambda: "sea_2")
    assert chosen["loaded"][0]["name"] == "refundOrder"
    assert "city" in chosen["loaded"][0]["input_schema"]["properties"]
    assert handle.surface.entries["acme.refundOrder"].selection_ref == "sea_2"


def test_the_search_tool_is_harmless() -> None:
    assert SEARCH_TOOL.facts == SafetyFacts(
        is_read_only=True, is_concurrency_safe=True, is_destructive=False, is_open_world=False
    )
    assert SEARCH_TOOL.inferred_facts == ()

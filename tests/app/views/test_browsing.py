"""The catalog looked through: words, filters, counts and order."""

from __future__ import annotations

from ferrule.app.views.browsing import CatalogBrowser, effect_of, measure_tool
from ferrule.model.tool import SafetyFacts
from tests.runtime.surface.surfaces import make_tool, make_view

READS, DESTROYS = SafetyFacts(is_read_only=True), SafetyFacts(is_destructive=True)
TOOLS = (
    make_tool("find_order", facts=READS, owner="desk", description="Looks an order up."),
    make_tool("find_orders", facts=READS, description="Lists orders of a customer."),
    make_tool("erase", facts=DESTROYS, owner="desk", description="Erases an order for good."),
    make_tool("draft", lifecycle="draft", approval_required=True, namespace="other", description="Something else."),
)


def ids(shelf: CatalogBrowser, words: str = "", **wanted: str) -> list[str]:
    return [shown.listed.tool.name for shown in shelf.find(words, wanted).page]  # type: ignore[arg-type]  # facets


def test_filters_narrow_and_count_what_else_there_is() -> None:
    shelf = CatalogBrowser(make_view(*TOOLS))
    assert ids(shelf, owner="desk") == ["erase", "find_order"]
    assert ids(shelf, owner="desk", effect="reads") == ["find_order"]
    assert ids(shelf, owner="nobody at all") == []
    found = shelf.find("", {"owner": "desk"})
    assert (found.matched, found.counts["owner"]) == (2, {"-": 2, "desk": 2})
    assert found.counts["effect"] == {"destroys": 1, "reads": 1}
    assert found.counts["namespace"] == {"acme": 2}


def test_switches_and_findings_are_filters_of_the_moment() -> None:
    shelf = CatalogBrowser(make_view(*TOOLS))
    found = shelf.find("", {"switch": "off"}, switched_off={"acme.erase", "gone"}, findings={"errors": {"acme.erase"}})
    assert [shown.listed.tool.name for shown in found.page] == ["erase"]
    assert found.counts["switch"] == {"on": 3, "off": 1}
    assert found.counts["findings"] == {"errors": 1}
    assert shelf.find("", {"findings": "errors"}).matched == 0, "what is not known fits nothing"


def test_what_is_so_called_comes_first() -> None:
    shelf = CatalogBrowser(make_view(*TOOLS))
    assert ids(shelf, "find_order")[0] == "find_order"
    assert ids(shelf, "find_orders")[0] == "find_orders"
    assert ids(shelf, "ras") == ["erase"], "a part of a name is enough"
    assert ids(shelf, "customer") == ["find_orders"]
    assert ids(shelf, "!!!") == []
    assert ids(shelf, "   ") == ["erase", "find_order", "find_orders", "draft"]


def test_pages_go_on_where_the_last_ended() -> None:
    shelf = CatalogBrowser(make_view(*(make_tool(f"t{number:03}") for number in range(120))))
    seen = [shown.listed.tool.name for skip in (0, 50, 100) for shown in shelf.find(skip=skip, count=50).page]
    assert seen == [f"t{number:03}" for number in range(120)]
    assert shelf.find(skip=500).page == []


def test_effects_and_sizes() -> None:
    assert effect_of(make_tool()) == "writes"
    assert effect_of(make_tool(facts=SafetyFacts(is_read_only="classifier:x"))) == "depends"
    assert effect_of(make_tool(facts=DESTROYS)) == "destroys"
    small, large = measure_tool(make_tool(description="x")), measure_tool(make_tool(description="x" * 401))
    assert large.characters - small.characters == 400
    assert large.tokens - small.tokens == 89  # 400 characters more

"""Finding and loading deferred tools."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.surface import Provider
from ferrule.model.surface import SearchResult, Surface, deferred_ref
from ferrule.model.tool import raw
from ferrule.runtime.surface.search import SearchIndexes, search, select
from tests.runtime.surface.deferred import TOOLS, deferring
from tests.runtime.surface.surfaces import FakeReadiness, make_surface, make_tool, make_view, new_id


def search_surface(surface: Surface, query: str, **options: Any) -> SearchResult:
    return search(surface, query, search_id="sea_1", indexes=SearchIndexes(), **options)


@pytest.mark.parametrize(
    ("query", "tool_id"),
    [
        ("refund", "acme.refundOrder"),
        ("orders", "acme.refundOrder"),
        ("REFUND ORDER", "acme.refundOrder"),
        ("refundorder", "acme.refundOrder"),
        ("refun", "acme.refundOrder"),
        ("refunding", "acme.refundOrder"),
        ("customer", "acme.list_customers"),
        ("browse", "acme.list_customers"),
        ("people", "acme.list_customers"),
        ("postbox", "postbox.send-mail"),
        ("writes to somebody", "postbox.send-mail"),
        ("money", "acme.refundOrder"),
        ("the file", "acme.archive"),
        ("acme.archive", "acme.archive"),
    ],
)
def test_keywords_reach_every_field(query: str, tool_id: str) -> None:
    """AT-183: name (taken apart), namespace, description, hint, tags, alias, title; plurals and beginnings too."""
    result = search_surface(deferring(), query)
    assert result.matches[0] == tool_id
    assert result.query_type == "keyword"
    assert result.next_action == "load_schema_then_call"
    assert result.match_details[0]["loading_state"] == "deferred"


def test_an_exact_selection_finds_several() -> None:
    """AT-181, AT-182, AT-186: names, aliases and ids; loaded tools are reported as loaded; the total counts all."""
    surface = select(deferring(), ["archive"], "sea_0", new_id=new_id, now=2)
    result = search_surface(surface, "select: refundOrder, people,archive,acme.refundOrder")
    assert result.matches == ("acme.refundOrder", "acme.list_customers", "acme.archive")
    assert [detail["loading_state"] for detail in result.match_details] == ["deferred", "deferred", "loaded"]
    assert (result.query_type, result.total_deferred_tools) == ("select", 3)


def test_no_match_is_a_record() -> None:
    """AT-185"""
    record = search_surface(deferring(), "xyzzy").to_record()
    assert record["matches"] == []
    assert (record["total_deferred_tools"], record["next_action"]) == (4, "refine_query")
    exact = search_surface(deferring(), "select:xyzzy").to_record()
    assert (exact["missing_names"], exact["next_action"]) == (["xyzzy"], "refine_query")


@pytest.mark.parametrize("query", ["", "   ", "select:", "select:,,", "?!", "a", "\x00", "select:\x00", "𝔛" * 5000])
def test_odd_queries_are_answered(query: str) -> None:
    assert search_surface(deferring(), query).matches == ()


def test_held_tools_are_neither_found_nor_loaded() -> None:
    """AT-191: a blocked or excluded tool is a missing name, found by no keyword, counted nowhere."""
    hidden = (
        make_tool("vault", description="Opens the vault.", lifecycle="draft"),
        make_tool("safe", description="Opens the vault.", aliases=("strongbox",)),
    )
    surface = deferring(*hidden, switched_off={"acme.safe"})
    result = search_surface(surface, "select:vault,safe,strongbox,acme.safe,archive")
    assert result.matches == ("acme.archive",)
    assert result.missing_names == ("vault", "safe", "strongbox", "acme.safe")
    assert search_surface(surface, "opens the vault").matches == ()
    assert search_surface(surface, "safe").matches == ()
    assert result.total_deferred_tools == 4
    assert select(surface, ["vault", "safe"], "sea", new_id=new_id, now=2) is surface


def test_an_ambiguous_name_is_told_with_the_names_to_use() -> None:
    """AT-6: nothing is loaded for it."""
    surface = deferring(make_tool("archive", namespace="web"))
    result = search_surface(surface, "select:archive")
    assert result.matches == ()
    assert result.ambiguous_names == {"archive": ("acme.archive", "web.archive")}
    assert select(surface, ["archive"], "sea", new_id=new_id, now=2) is surface


def test_selection_loads_and_leaves_its_trace() -> None:
    """AT-187, AT-192: another surface on which the tool is loaded, tied to the search, also after a rebuild."""
    before = deferring()
    after = select(before, ["people", "archive"], "sea_9", new_id=new_id, now=5)
    entry = after.entries["acme.list_customers"]
    assert (entry.standing, entry.loading_state, entry.selection_ref) == ("loaded", "loaded", "sea_9")
    assert before.entries["acme.list_customers"].standing == "deferred", "a surface never changes"
    assert after.surface_id != before.surface_id
    again = make_surface(make_view(*TOOLS), after.request)
    assert again.entries == after.entries
    assert deferred_ref(entry)["selection_ref"] == "sea_9"


def test_selections_add_up() -> None:
    once = select(deferring(), ["archive"], "sea_1", new_id=new_id, now=2)
    twice = select(once, ["people", "archive"], "sea_2", new_id=new_id, now=3)
    assert twice.request.selected == {"acme.archive": "sea_1", "acme.list_customers": "sea_2"}
    assert make_surface(make_view(*TOOLS), twice.request).entries == twice.entries


def test_a_selection_does_not_survive_a_tool_that_is_held_back_now() -> None:
    after = select(deferring(), ["archive"], "sea_9", new_id=new_id, now=5)
    rebuilt = make_surface(make_view(*TOOLS), after.request, switched_off={"acme.archive"})
    assert rebuilt.entries["acme.archive"].standing == "blocked"


def test_providers_that_are_still_connecting_are_reported() -> None:
    """AT-184: their tools are pending, and wait."""
    ready = FakeReadiness(providers={"hub.issues": Provider("hub")})
    surface = deferring(make_tool("issues", namespace="hub", tool_kind="mcp_tool"), readiness=ready)
    assert surface.entries["hub.issues"].loading_state == "pending_provider"
    result = search_surface(surface, "select:issues")
    assert (result.pending_providers, result.next_action) == (("hub",), "wait_for_provider")
    assert deferred_ref(surface.entries["hub.issues"])["pending_provider_or_server"] == "hub"
    assert select(surface, ["issues"], "sea", new_id=new_id, now=2) is surface
    assert search_surface(surface, "xyzzy").next_action == "wait_for_provider"


def test_unavailable_tools_say_why() -> None:
    """AT-190: found, not loadable, with the reason."""
    ready = FakeReadiness(providers={"hub.issues": Provider("hub", is_failed=True, detail="refused the token")})
    surface = deferring(make_tool("issues", namespace="hub"), readiness=ready)
    result = search_surface(surface, "select:issues")
    assert result.match_details[0]["loading_state"] == "unavailable"
    assert "refused the token" in result.match_details[0]["reason"]
    assert result.next_action == "none"
    assert select(surface, ["issues"], "sea", new_id=new_id, now=2) is surface


def test_deprecated_tools_come_last() -> None:
    """AT-16: whatever their score."""
    old = make_tool("file", description="File file file.", lifecycle="deprecated")
    result = search_surface(deferring(old), "file")
    assert result.matches == ("acme.archive", "acme.file")
    assert result.match_details[1]["is_deprecated"] is True
    assert search_surface(deferring(old), "file", limit=1).matches == ("acme.archive",)


def test_a_reference_names_the_native_tool() -> None:
    """AT-180: ids and state always, the native reference where it is known, nothing of the schema."""
    payload = raw({"external_mappings": [{"source": "mcp", "server_name": "hub", "tool_name": "issues"}]})
    ref = deferred_ref(deferring(make_tool("issues", payload=payload)).entries["acme.issues"])
    assert ref["native_ref"] == {"source": "mcp", "server_name": "hub", "tool_name": "issues"}
    assert {"tool_id", "name", "loading_state", "schema_version"} <= ref.keys()
    assert "city" not in str(ref)


def test_an_index_is_made_once_for_the_same_tools() -> None:
    """A rebuilt or selected surface with the same tools is searched with the index of the one before."""
    indexes, surface = SearchIndexes(), deferring()
    first = indexes.find_or_build(surface)
    assert indexes.find_or_build(deferring()) is first
    assert indexes.find_or_build(select(surface, ["archive"], "sea", new_id=new_id, now=2)) is first
    assert indexes.find_or_build(deferring(switched_off={"acme.archive"})) is not first


def test_indexes_do_not_pile_up() -> None:
    indexes = SearchIndexes(kept=2)
    for number in range(5):
        indexes.find_or_build(deferring(make_tool(f"extra{number}")))
    assert len(indexes._by_surface) == len(indexes._by_tools) == 2
    assert len(indexes._terms) == 6

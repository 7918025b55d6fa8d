"""A surface leads from names to tools, shows each under a name that means it alone, and tells what it holds back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.model.surface import (
    SearchResult,
    Surface,
    SurfaceEntry,
    SurfaceRequest,
    deferred_ref,
    principal_key,
    request_key,
)
from tests.model.tools import a_tool

REQUEST = SurfaceRequest(principal="ada", channel="mcp")


def entry(name: str, namespace: str = "desk", **fields: Any) -> SurfaceEntry:
    """A tool on a surface."""
    tool = a_tool(name, namespace=namespace, tool_id=f"{namespace}.{name}", payload={"transport": {"tool_name": name}})
    return SurfaceEntry(**{"tool": tool, "digest": "d", "standing": "loaded", **fields})


def surface(*entries: SurfaceEntry, names: dict[str, tuple[str, ...]] | None = None, **fields: Any) -> Surface:
    """A surface of these tools."""
    return Surface(
        surface_id="srf_1", request=REQUEST, created_at=1, names=names or {},
        entries={each.tool.tool_id: each for each in entries}, **fields,
    )  # fmt: skip


ONE, OTHER = entry("search"), entry("search", "shop")
BOTH = surface(
    ONE,
    OTHER,
    names={"search": ("desk.search", "shop.search"), "shop.search": ("shop.search",), "find": ("desk.search",)},
)


def test_a_name_an_alias_or_an_id_leads_to_its_tool() -> None:
    assert BOTH.find("find") is ONE and BOTH.find("desk.search") is ONE and BOTH.find("shop.search") is OTHER
    assert BOTH.find("absent") is None


def test_a_name_of_several_tools_leads_to_none() -> None:
    assert BOTH.find("search") is None and BOTH.is_ambiguous("search")
    assert not BOTH.is_ambiguous("find") and not BOTH.is_ambiguous("absent")


def test_a_tool_is_shown_under_a_name_that_means_it_alone() -> None:
    assert BOTH.shown_name(OTHER) == "shop.search"
    assert BOTH.shown_name(ONE) == "desk.search"
    assert surface(ONE, names={"search": ("desk.search",)}).shown_name(ONE) == "search"


@pytest.mark.parametrize(
    ("standing", "is_visible"), [("loaded", True), ("deferred", True), ("blocked", False), ("excluded", False)]
)
def test_only_loaded_and_deferred_tools_are_known_to_the_caller(standing: Any, is_visible: bool) -> None:
    assert entry("a", standing=standing).is_visible is is_visible


def test_the_record_sorts_tools_by_how_they_stand() -> None:
    held = {"standing": "blocked", "reason": "setup_required", "detail": "set it up"}
    made = surface(
        entry("a"), entry("b", standing="deferred", loading_state="deferred"), entry("c", **held), catalog_digest="9"
    )
    record = made.to_record()
    assert record["tool_refs"] == ["desk.a", "desk.b", "desk.c"] and record["loaded_tools"] == ["desk.a"]
    assert [each["tool_id"] for each in record["deferred_tools"]] == ["desk.b"]
    assert record["blocked_tools"] == [
        {"tool_id": "desk.c", "name": "c", "reason": "setup_required", "detail": "set it up"}
    ]
    assert record["runtime_refs"] == ["catalog:9"] and record["role_constraints"] == {"interactive": True}


def test_what_the_catalogs_record_says_is_kept_and_added_to() -> None:
    own = {"policy_refs": ["own"], "model_capabilities": {"media": True}, "surface_id": "other", "x-note": 1}
    record = surface(record=own, policy_refs=("p",)).to_record()
    assert record["policy_refs"] == ["own", "p"] and record["model_capabilities"] == {"media": True}
    assert record["surface_id"] == "srf_1" and record["x-note"] == 1


def test_a_deferred_tool_is_told_without_its_schema() -> None:
    ref = deferred_ref(
        entry("a", standing="deferred", loading_state="discoverable", reason="deferred_until_discovered")
    )
    assert (ref["schema_visibility"], ref["reason"]) == ("deferred", "deferred_until_discovered")
    assert ref["native_ref"] == {"source": "mcp", "tool_name": "a"}
    assert not {"input_schema", "search_hint", "selection_ref"} & set(ref)
    assert deferred_ref(entry("a", selection_ref="s"))["schema_visibility"] == "loaded"


def test_principals_of_one_name_in_two_tenants_are_two() -> None:
    other = msgspec.structs.replace(REQUEST, tenant="acme")
    assert principal_key(REQUEST) == "ada" != principal_key(other)


def test_the_order_in_which_a_request_was_written_does_not_count() -> None:
    one = msgspec.structs.replace(REQUEST, pins={"a": "1", "b": "2"}, features=frozenset({"x", "y"}))
    other = msgspec.structs.replace(REQUEST, pins={"b": "2", "a": "1"}, features=frozenset({"y", "x"}))
    assert request_key(one) == request_key(other) != request_key(REQUEST)


def test_an_answer_of_the_search_is_plain_json() -> None:
    found = SearchResult(
        search_id="s",
        query="q",
        query_type="keyword",
        matches=("a",),
        match_details=({"tool_id": "a"},),
        total_deferred_tools=9,
    )
    record = found.to_record()
    assert record["matches"] == ["a"] and record["schema_version"] == "0.2.0" and record["next_action"] == "none"

"""Surfaces as the running system makes them, and finding what is deferred: AT-63 to AT-74 and AT-179 to AT-192."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.surface import Provider
from ferrule.model.surface import HOLD_REASONS, SCOPES
from ferrule.model.tool import Tool
from tests.runtime.surface.surfaces import FakeReadiness, make_view
from tests.spec.running_app import BERN, TRUSTED, RunningApp, assert_required, make_tool, run_async, running_app

MANY = [make_tool(f"tool_{number}", search_hint=f"does thing {number}") for number in range(60)]


@pytest.mark.parametrize("scope", SCOPES)
@run_async
async def test_at_63_a_surface_is_a_record(scope: str) -> None:
    """AT-63, AT-65: its required fields, whatever the scope, and what else is known."""
    assert len(SCOPES) == 9
    async with running_app(caller={"scope": scope}) as on:
        record = on.surface.surface.to_record()
        assert_required("surface", record)
        assert record["scope"] == scope
        for field in ("created_at", "producer", "surface_reason", "tool_refs", "loaded_tools", "runtime_refs"):
            assert record[field], field


@pytest.mark.parametrize("size", [60, 500])
@run_async
async def test_at_66_a_large_catalog_shows_search_and_little_else(size: int) -> None:
    """AT-66, AT-179: rendered tools are the search tool and what is always loaded; no schema leaks; room is bounded."""
    secretive = {"type": "object", "properties": {"zebra_crossing": {"type": "string"}}}
    tools = [make_tool(f"tool_{number}", secretive) for number in range(size)]
    async with running_app(*tools, make_tool("core", interface={"always_load": True})) as on:
        shown = on.surface.tools()
        assert {tool.name for tool in shown.tools} == {"search_tools", "core"}
        assert "zebra_crossing" not in repr(shown.to_json())
        assert len(repr(shown.to_json())) < 30_000
        assert len(shown.deferred) + shown.unlisted == size


@run_async
async def test_at_67_every_held_tool_has_a_reason_and_stands_in_one_list() -> None:
    """AT-67, AT-68, AT-69: a reason of the list, blocked what may come back, excluded what a filter removed."""
    tools = (
        make_tool("fine"),
        make_tool("later", lifecycle="deferred"),
        make_tool("draft", lifecycle="draft"),
        make_tool("unset", lifecycle="requires_setup"),
        make_tool("gated", interface={"feature_gate_refs": ["beta"]}),
    )
    async with running_app(*tools, readiness=FakeReadiness(is_set_up=False)) as on:
        record = on.surface.surface.to_record()
        held = [*record["blocked_tools"], *record["excluded_tools"]]
        assert all(entry["reason"] in HOLD_REASONS for entry in held)
        assert all(entry["detail"] for entry in held)
        lists = [
            set(record["loaded_tools"]),
            {ref["tool_id"] for ref in record["deferred_tools"]},
            {entry["tool_id"] for entry in record["blocked_tools"]},
            {entry["tool_id"] for entry in record["excluded_tools"]},
        ]
        assert sum(map(len, lists)) == len(set().union(*lists)) == len(record["tool_refs"])
        assert lists[2] == {"shop.unset"}
        assert lists[3] == {"shop.draft", "shop.gated"}


READ_ONLY = 'mode = "read_only"\n'
FILTERS: dict[str, tuple[Tool, dict[str, Any], dict[str, Any], set[str]]] = {
    "agent inside an agent": (
        make_tool(tool_kind="peer_agent_tool"), {"is_subagent": True}, {}, {"recursive_tool_forbidden"},
    ),
    "nobody to interact with": (
        make_tool(requires_user_interaction=True), {"is_interactive": False}, {}, {"role_not_allowed", "policy_blocked"},
    ),
    "writing in a reading mode": (make_tool(), {}, {"policy": READ_ONLY}, {"policy_blocked"}),
    "browser without a session": (make_tool(tool_kind="browser_action"), {}, {}, {"setup_required"}),
    "shell without a sandbox": (make_tool(tool_kind="shell_command"), {"has_sandbox": False}, {}, {"policy_blocked"}),
    "not discovered yet": (
        make_tool(tool_kind="mcp_tool"), {},
        {"readiness": FakeReadiness(providers={"shop.search": Provider("files", False)})}, {"deferred_until_discovered"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILTERS)
@run_async
async def test_at_70_built_in_filters_hold_back_with_a_reason(name: str) -> None:
    """AT-70: six filters, and none of their tools can be called."""
    tool, caller, parts, reasons = FILTERS[name]
    async with running_app(tool, caller=caller, **parts) as on:
        entry = on.surface.surface.entries["shop.search"]
        assert entry.reason in reasons
        assert entry.standing != "loaded"
        assert (await on.call()).is_error
        assert not on.has_run


CHANGES: dict[str, dict[str, Any]] = {
    "feature gates": {"features": frozenset({"beta"})},
    "model capability": {"model_capabilities": {"media": False}},
    "model": {"model": "another"},
    "peer agent": {"is_subagent": True},
    "runtime mode": {"is_interactive": False},
    "session rules": {"rules": ({"decision": "deny", "tool": "search"},)},
    "tenant": {"tenant": "other"},
    "scope and active skill": {"scope": "skill"},
}


@pytest.mark.parametrize("change", CHANGES)
@run_async
async def test_at_71_a_change_of_context_makes_another_surface(change: str) -> None:
    """AT-71: with an id of its own, and an event that says so."""
    async with running_app() as on:
        before = on.surface.surface.surface_id
        after = await on.surface.update(**CHANGES[change])
        assert after.surface_id != before
        assert await updates(on) == [after.surface_id]


@run_async
async def test_at_71_policy_catalog_and_switches_make_another_surface() -> None:
    """AT-71: policy, workspace and what an operator turns off, without anybody asking for it."""
    async with running_app(policy="") as on:
        ids = [on.surface.surface.surface_id]
        await on.app.disable("shop.search", by="olga", reason="looks odd")
        assert (await on.call()).error is not None
        ids.append(on.surface.surface.surface_id)
        on.app.adopt(make_view(make_tool("find", is_read_only=True)))
        assert not (await on.call("find")).is_error
        ids.append(on.surface.surface.surface_id)
        assert len(set(ids)) == 3
        assert await updates(on) == ids[1:]


async def updates(on: RunningApp) -> list[str]:
    return [event.data["surface_id"] for event in await on.read_events() if event.event_type == "tool.surface.updated"]


@run_async
async def test_at_73_model_capabilities_drive_what_is_shown() -> None:
    """AT-73: a model without deferred references is shown none; it reaches deferred tools by search."""
    async with running_app(*MANY, caller={"model_capabilities": {"deferred_refs": False}}) as on:
        shown = on.surface.tools()
        assert [tool.name for tool in shown.tools] == ["search_tools"]
        assert not shown.deferred
        assert (await on.surface.search("thing 7")).matches


# Search


@run_async
async def test_at_180_deferred_references_are_records() -> None:
    """AT-180: their required fields, and nothing of a schema."""
    async with running_app(*MANY) as on:
        refs = on.surface.surface.to_record()["deferred_tools"]
        assert len(refs) == 60
        for ref in refs:
            assert_required("deferred", ref)
            assert ref["schema_visibility"] == "deferred"
            assert "schema" not in {*ref} - {"schema_visibility", "schema_version"}


@run_async
async def test_at_181_exact_selection_takes_names_aliases_and_loaded_tools() -> None:
    """AT-181, AT-182: several at once; what is loaded already is reported as loaded."""
    alias = make_tool("other", aliases=("another",), lifecycle="deferred")
    async with running_app(make_tool("first", lifecycle="deferred"), alias, make_tool("loaded")) as on:
        found = await on.surface.search("select:first,another,loaded")
        assert set(found.matches) == {"shop.first", "shop.other", "shop.loaded"}
        states = {each["tool_id"]: each["loading_state"] for each in found.match_details}
        assert states["shop.loaded"] == "loaded"
        assert not found.missing_names


@pytest.mark.parametrize("query", ["weigh", "parcels", "depot", "heavy"])
@run_async
async def test_at_183_keywords_reach_name_namespace_description_and_hint(query: str) -> None:
    """AT-183"""
    tool = make_tool(
        "weigh",
        namespace="depot",
        tool_id="depot.weigh",
        description="Weighs parcels.",
        search_hint="how heavy something is",
        lifecycle="deferred",
    )
    async with running_app(tool, *MANY) as on:
        assert (await on.surface.search(query)).matches[0] == "depot.weigh"


@run_async
async def test_at_184_who_is_still_connecting_is_told() -> None:
    """AT-184"""
    provider = FakeReadiness(providers={"shop.search": Provider("files", False)})
    async with running_app(make_tool(tool_kind="mcp_tool"), readiness=provider) as on:
        found = await on.surface.search("select:search")
        assert found.pending_providers == ("files",)
        assert found.next_action == "wait_for_provider"
        [ref] = on.surface.surface.to_record()["deferred_tools"]
        assert ref["loading_state"] == "pending_provider"


@pytest.mark.parametrize("query", ["quetzalcoatl", "select:nothing"])
@run_async
async def test_at_185_no_match_is_a_record(query: str) -> None:
    """AT-185, AT-186: empty matches, the total of all deferred tools, missing names, a next action."""
    async with running_app(*MANY) as on:
        found = (await on.surface.search(query)).to_record()
        assert found["matches"] == []
        assert found["total_deferred_tools"] == 60
        assert found["missing_names"] == (["nothing"] if query.startswith("select:") else [])
        assert found["next_action"] in ("refine_query", "none")


DISCOVERED_THEN_LOADED = [("tool.deferred.discovered", "shop.search"), ("tool.deferred.loaded", "shop.search")]


async def deferred_events(on: RunningApp) -> list[tuple[str, str | None]]:
    return [(event.event_type, event.tool_id) for event in await on.read_events() if "deferred" in event.event_type]


@run_async
async def test_at_188_only_deferred_tools_are_discovered() -> None:
    """AT-188: a search that finds nothing, or what is loaded already, discovers nothing."""
    async with running_app(make_tool(), make_tool("later", lifecycle="deferred", description="Sleeps.")) as on:
        await on.surface.search("quetzalcoatl")
        await on.surface.search("select:search")
        assert not await deferred_events(on)


@run_async
async def test_at_187_select_then_call() -> None:
    """AT-187, AT-188, AT-189, AT-192: not loaded, found, loaded, called; each is told, and the call leads to its search."""
    async with running_app(make_tool(lifecycle="deferred")) as on:
        before = await on.call()
        assert before.error is not None
        assert before.error.error_class == "schema_not_loaded"
        found = await on.surface.search("select:search")
        assert found.next_action == "load_schema_then_call"
        entry = on.surface.surface.entries["shop.search"]
        assert (entry.loading_state, entry.selection_ref) == ("loaded", found.search_id)
        assert "search" in {tool.name for tool in on.surface.tools().tools}
        assert not (await on.call()).is_error
        assert await deferred_events(on) == DISCOVERED_THEN_LOADED


@run_async
async def test_at_187_a_model_does_the_same_with_the_search_tool() -> None:
    """AT-187, AT-188: through a call like any other, which is recorded like any other."""
    async with running_app(make_tool(lifecycle="deferred"), policy=TRUSTED) as on:
        answer = await on.call("search_tools", {"query": "select:search"})
        assert not answer.is_error
        assert "shop.search" in repr(answer.structured_content)
        assert not (await on.call()).is_error
        assert (await on.read_record(answer))["status"] == "succeeded"
        assert await deferred_events(on) == DISCOVERED_THEN_LOADED
        updated = [event for event in await on.read_events() if event.event_type == "tool.surface.updated"]
        assert [event.data["tools"] for event in updated] == [["shop.search"]]


@run_async
async def test_at_190_what_cannot_be_loaded_says_why() -> None:
    """AT-190"""
    gone = FakeReadiness(providers={"shop.search": Provider("files", True, "the server refused the connection")})
    async with running_app(make_tool(tool_kind="mcp_tool"), readiness=gone) as on:
        entry = on.surface.surface.entries["shop.search"]
        assert entry.loading_state == "unavailable"
        assert "refused" in entry.detail
        await on.surface.search("select:search")
        assert (await on.call()).is_error


@pytest.mark.parametrize("query", ["select:hidden", "hidden treasure"])
@run_async
async def test_at_191_search_reveals_nothing_that_is_held_back(query: str) -> None:
    """AT-191: asked for by name it is missing, like a tool that does not exist; searched for it is not there."""
    hidden = make_tool("hidden", description="Finds hidden treasure.", lifecycle="deferred")
    policy = TRUSTED + '[[rules]]\ndecision = "deny"\ntool = "hidden"\n'
    async with running_app(hidden, make_tool("other", lifecycle="deferred"), policy=policy) as on:
        found = await on.surface.search(query)
        assert "shop.hidden" not in repr(found.to_record())
        if query.startswith("select:"):
            assert found.missing_names == ("hidden",)
        assert (await on.call("hidden", BERN)).is_error

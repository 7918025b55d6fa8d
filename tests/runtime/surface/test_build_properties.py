"""What holds of every catalog and every request."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.surface import Provider
from ferrule.model.surface import HOLD_REASONS, Surface, SurfaceRequest
from ferrule.model.tool import LIFECYCLES, TOOL_KINDS, Record, SafetyFacts, Tool, raw
from ferrule.runtime.surface.render import render
from ferrule.runtime.surface.search import SearchIndexes, search, select
from tests.runtime.surface.surfaces import (
    DenyingPolicy,
    FakeReadiness,
    make_agent_record,
    make_declared_tool,
    make_request,
    make_role_record,
    make_surface,
    make_surface_record,
    make_view,
    new_id,
)

WORDS = ("open", "close", "ledger", "parcel", "meter")
SECRET = "zz_internal"
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [True, False, None, "classifier:x", "true", 1, [], ["beta"], {}, {"media": True}]
)
INTERFACES = st.dictionaries(
    st.sampled_from(
        ["is_enabled", "requires_setup", "required_credentials", "model_requirements", "feature_gate_refs", "should_defer",
         "always_load", "schema_visibility"]
    ),
    ODD,
    max_size=3,
)  # fmt: skip


@st.composite
def tools(draw: st.DrawFn) -> list[Tool]:
    """Tools that share names and aliases, in every lifecycle and kind, with an internal field each."""
    found: dict[str, Tool] = {}
    for number in range(draw(st.integers(0, 6))):
        name = draw(st.sampled_from(WORDS))
        schema = {"type": "object", "properties": {SECRET: {"type": "string"}, "plain": {}}, "required": [SECRET]}
        tool = make_declared_tool(
            name,
            draw(INTERFACES),
            namespace=draw(st.sampled_from(["acme", "web"])),
            version=draw(st.sampled_from(["1.0.0", "1.1.0"])),
            lifecycle=draw(st.sampled_from(LIFECYCLES)),
            tool_kind=draw(st.sampled_from(TOOL_KINDS)),
            aliases=tuple(draw(st.lists(st.sampled_from(["go", "open", "meter"]), max_size=2))),
            description=f"Number {number}: {draw(st.sampled_from(WORDS))}s things.",
        )
        payload = json.loads(bytes(tool.payload))
        payload["input_contract"]["internal_only_fields"] = [SECRET]
        facts = SafetyFacts(requires_user_interaction=draw(st.booleans()), is_read_only=draw(st.booleans()))
        fields = {field: getattr(tool, field) for field in tool.__struct_fields__}
        tool = Tool(**(fields | {"payload": raw(payload), "input_schema": raw(schema), "facts": facts}))
        found[f"{tool.namespace}.{name}@{tool.version}"] = tool
    return list(found.values())


REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "agent": st.just("helper"),
        "role": st.just("reader"),
        "surface_id": st.just("desk"),
        "is_interactive": st.booleans(),
        "is_subagent": st.booleans(),
        "has_browser": st.booleans(),
        "has_sandbox": st.booleans(),
        "features": st.sampled_from([frozenset(), frozenset({"beta"})]),
        "model_capabilities": st.sampled_from([{}, {"media": False}, {"deferred_refs": False}]),
        "pins": st.dictionaries(st.sampled_from(["acme.open", "web.meter"]), st.sampled_from(["1.0.0", "9.9.9"])),
        "defer_above": st.sampled_from([0, 1, 3, 50]),
        "selected": st.sampled_from([{}, {"acme.open": "s", "web.meter": "s"}]),
    },
)
IDS = [f"{space}.{word}" for space in ("acme", "web") for word in WORDS]
SOME_IDS = st.sets(st.sampled_from(IDS), max_size=4)


@st.composite
def surfaces(draw: st.DrawFn) -> Surface:
    """Any surface of any catalog for any request."""
    made = draw(tools())
    request: SurfaceRequest = make_request(**draw(REQUESTS))
    newest = list({tool.tool_id: tool for tool in made}.values())
    lists: dict[str, Any] = {
        key: [
            {"tool_id": one, "name": one, "reason": draw(st.sampled_from([*HOLD_REASONS, "odd"]))}
            for one in draw(SOME_IDS)
        ]
        for key in draw(
            st.sets(st.sampled_from(["tool_refs", "loaded_tools", "deferred_tools", "blocked_tools", "excluded_tools"]))
        )
    }
    grants = [
        {"ref": one, "access": draw(st.sampled_from(["call", "call-read-only", "deny"]))} for one in draw(SOME_IDS)
    ]
    records: list[Record] = [make_agent_record(*newest), make_role_record(*grants), make_surface_record(**lists)]
    waiting = {one: Provider("hub", is_failed=draw(st.booleans())) for one in draw(SOME_IDS)}
    return make_surface(
        make_view(*made, records=records),
        request,
        switched_off=draw(SOME_IDS),
        engine=draw(st.sampled_from([None, DenyingPolicy("acme.open", breaks_on="web.open")])),
        readiness=draw(st.sampled_from([None, FakeReadiness(providers=waiting), FakeReadiness(is_set_up=False)])),
    )


@settings(max_examples=150, deadline=None)
@given(surfaces())
def test_every_tool_stands_in_one_place_with_a_reason(surface: Surface) -> None:
    """AT-67, AT-69: one standing each, in the record too, and nothing is held back without saying why."""
    record = surface.to_record()
    listed = list(record["loaded_tools"])
    listed += [ref["tool_id"] for key in ("deferred_tools", "blocked_tools", "excluded_tools") for ref in record[key]]
    assert sorted(listed) == sorted(surface.entries)
    for tool_id, entry in surface.entries.items():
        assert entry.tool.tool_id == tool_id
        if entry.standing in ("blocked", "excluded"):
            assert entry.reason in HOLD_REASONS
            assert entry.detail
        assert (entry.standing == "loaded") == (entry.loading_state == "loaded")


@settings(max_examples=150, deadline=None)
@given(surfaces())
def test_no_internal_field_is_shown_anywhere(surface: Surface) -> None:
    """AT-56: in no rendering, search result or reference."""
    loaded = select(surface, list(surface.entries), "sea", new_id=new_id, now=2)
    for one in (surface, loaded):
        assert SECRET not in json.dumps(render(one).to_json())
        assert SECRET not in json.dumps(one.to_record())
        assert SECRET not in json.dumps(search(one, "open", search_id="s", indexes=SearchIndexes()).to_record())


@settings(max_examples=150, deadline=None)
@given(surfaces())
def test_search_reveals_and_loads_nothing_that_is_held_back(surface: Surface) -> None:
    """AT-191: by name, alias, id or keyword."""
    held = {entry.tool.tool_id for entry in surface.standing("blocked", "excluded")}
    indexes = SearchIndexes()
    names = [*WORDS, "go", *IDS, "ferrule.search_tools"]
    for query in (f"select:{','.join(names)}", *WORDS, "things number", "acme", *IDS):
        result = search(surface, query, search_id="s", limit=50, indexes=indexes)
        assert not held & set(result.matches)
        assert not held & {detail["tool_id"] for detail in result.match_details}
        for choices in result.ambiguous_names.values():
            for name in choices:
                entry = surface.find(name)
                assert entry is not None
                assert entry.is_visible
    after = select(surface, names, "sea", new_id=new_id, now=2)
    assert held == {entry.tool.tool_id for entry in after.standing("blocked", "excluded")}


@settings(max_examples=150, deadline=None)
@given(surfaces())
def test_every_shown_name_leads_to_its_tool(surface: Surface) -> None:
    """AT-4, AT-5: what a model is shown it can call or select."""
    rendering = render(surface)
    for tool in rendering.tools:
        entry = surface.find(tool.name)
        assert entry is not None
        assert (entry.tool.tool_id, entry.standing) == (tool.tool_id, "loaded")
    for deferred in rendering.deferred:
        entry = surface.find(deferred.name)
        assert entry is not None
        assert entry.standing == "deferred"


@settings(max_examples=100, deadline=None)
@given(surfaces())
def test_every_entry_can_be_reached_by_its_id_unless_it_is_a_name_too(surface: Surface) -> None:
    for tool_id in surface.entries:
        entry = surface.find(tool_id)
        assert entry is None or entry.tool.tool_id == tool_id
        assert entry is not None or surface.is_ambiguous(tool_id)

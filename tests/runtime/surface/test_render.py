"""What a model is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.model.surface import SurfaceSettings
from ferrule.model.tool import raw
from ferrule.runtime.surface.render import render
from ferrule.runtime.surface.search import select
from tests.runtime.surface.surfaces import (
    make_agent_record,
    make_declared_tool,
    make_request,
    make_surface,
    make_surface_record,
    make_tool,
    make_view,
    new_id,
)


def text_of(rendering: Any) -> str:
    return json.dumps(rendering.to_json())


def test_loaded_tools_are_shown_as_they_are_written() -> None:
    """AT-9, AT-55: the description and the model's schema, word for word."""
    tool = make_tool(description="Use it for cities. Not for towns.")
    (shown,) = render(make_surface(make_view(tool))).tools
    assert (shown.name, shown.description) == ("search", "Use it for cities. Not for towns.")
    assert json.loads(bytes(shown.input_schema)) == json.loads(bytes(tool.input_schema))


def test_a_large_surface_shows_names_and_hints_alone() -> None:
    """AT-66, AT-179: 500 tools cost a bounded number of characters, and no property of theirs leaks."""
    schema = raw({"type": "object", "properties": {"tell_tale": {"type": "string"}}})
    tools = [
        make_tool(f"tool-{number}", search_hint="does one thing or another", input_schema=schema)
        for number in range(500)
    ]
    surface = make_surface(make_view(*tools, make_declared_tool("always", {"always_load": True})))
    rendering = render(surface)
    assert {tool.name for tool in rendering.tools} == {"search_tools", "always"}
    assert len(rendering.deferred) + rendering.unlisted == 500
    assert rendering.unlisted > 0
    assert "tell_tale" not in text_of(rendering)
    offered = sum(len(tool.description) + len(bytes(tool.input_schema)) for tool in rendering.tools)
    assert offered < SurfaceSettings().max_listed_chars + 2_000
    search = next(tool for tool in rendering.tools if tool.name == "search_tools")
    assert f"{rendering.unlisted} further tools" in search.description
    assert "acme" in search.description


def test_ten_times_the_tools_take_no_more_room() -> None:
    """AT-179: what a model reads does not grow with the catalog."""

    def size(count: int) -> int:
        tools = [make_tool(f"tool-{number:05d}", search_hint="x" * 5_000) for number in range(count)]
        return len(text_of(render(make_surface(make_view(*tools)))))

    assert size(3_000) < size(300) * 1.1


def test_a_model_without_deferred_references_has_search_alone() -> None:
    """AT-73"""
    asked = make_request(defer_above=0, model_capabilities={"deferred_refs": False})
    rendering = render(make_surface(make_view(make_tool("secretly")), asked))
    assert [tool.name for tool in rendering.tools] == ["search_tools"]
    assert rendering.deferred == ()
    assert "secretly" not in text_of(rendering)


def test_held_and_unoffered_tools_are_not_shown() -> None:
    """AT-16, AT-64"""
    tools = [make_tool("old", lifecycle="deprecated"), make_tool("raw", lifecycle="draft"), make_tool("fine")]
    assert [tool.name for tool in render(make_surface(make_view(*tools))).tools] == ["fine"]
    listed = render(make_surface(make_view(*tools), make_request(defer_above=0))).deferred
    assert [one.name for one in listed] == ["fine"]


def test_selected_tools_are_shown() -> None:
    """AT-187"""
    surface = make_surface(make_view(make_tool("a"), make_tool("b")), make_request(defer_above=0))
    after = select(surface, ["b"], "sea", new_id=new_id, now=2)
    assert {tool.name for tool in render(after).tools} == {"b", "search_tools"}


def test_shown_names_lead_back() -> None:
    """AT-4: two tools of one name are shown by names that can be told apart."""
    surface = make_surface(make_view(make_tool(), make_tool(namespace="web"), make_tool("other")))
    for tool in render(surface).tools:
        entry = surface.find(tool.name)
        assert entry is not None
        assert entry.tool.tool_id == tool.tool_id


def test_guidance_speaks_of_shown_tools_only() -> None:
    tools = (make_tool("one"), make_tool("two"))
    guidance = "## one\n\nDoes one.\n\nUse it when:\n- it rains\n\n## two\n\nDoes two."
    view = make_view(*tools, records=[make_agent_record(*tools, instructions=guidance)])
    surface = make_surface(view, make_request(agent="helper"), switched_off={"acme.two"})
    assert render(surface).instructions == "## one\n\nDoes one.\n\nUse it when:\n- it rains"
    assert render(make_surface(view, make_request(agent="helper"))).instructions == guidance


@pytest.mark.parametrize(
    ("choice", "shown"),
    [("none", "none"), ("required", "required"), ("auto", "auto"), ("acme.a", "a"), ("b", "auto"), (7, "auto")],
)
def test_a_choice_of_a_tool_names_it_as_it_is_shown(choice: Any, shown: str) -> None:
    """AT-72"""
    record = make_surface_record(tool_refs=["acme.a", "acme.b"], default_tool_choice=choice)
    view = make_view(make_tool("a"), make_tool("b", lifecycle="disabled"), records=[record])
    assert render(make_surface(view, make_request(surface_id="desk"))).tool_choice == shown

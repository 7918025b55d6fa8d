"""Surfaces and catalogs for providers: exactly what a model would be shown, and the way back from its answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ferrule
from ferrule.app.export import Exported, export_preview, export_surface, export_tools
from ferrule.definitions.content.tokens import TokenCounter
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.errors import WorkspaceError
from ferrule.model.surface import Surface, SurfaceSettings
from ferrule.model.tool import SafetyFacts, raw
from ferrule.testing import memory_app
from tests.driven import driven
from tests.runtime.surface.surfaces import (
    DenyingPolicy,
    make_declared_tool,
    make_request,
    make_surface,
    make_surface_record,
    make_tool,
    make_view,
)

DEFERRING = ("anthropic", "openai-responses")


def export(surface: Surface, to: str, **options: Any) -> Exported:
    return export_preview(surface, SurfaceSettings(), to, **options)


def names_in(exported: Exported) -> list[str]:
    return [*exported.tokens.tools, *exported.tokens.deferred]


@pytest.mark.parametrize("to", [name for name in FORMATS.names() if name != "openapi"])
def test_every_provider_gets_the_tools_that_are_shown(to: str) -> None:
    exported = export(make_surface(make_view(make_tool("search"), make_tool("book"))), to)
    assert sorted(names_in(exported)) == ["book", "search"]
    assert exported.left_out == ()
    assert "Does book." in json.dumps(exported.request)


@pytest.mark.parametrize("to", FORMATS.names())
def test_nothing_is_shown_that_the_surface_hides(to: str) -> None:
    """AT-55, AT-56: no internal field, no tool that policy denies, nothing of the runtime's."""
    runtime = {"type": "object", "properties": {"city": {"type": "string"}, "tenant_secret": {"type": "string"}}}
    tool = make_declared_tool("search", {"classifier_input": "telltale-words"})
    payload = json.loads(bytes(tool.payload))
    payload["input_contract"] |= {"runtime_input_schema": runtime, "internal_only_fields": ["tenant_secret"]}
    tool = make_tool(
        "search", payload=raw(payload), dialect="agent_tool", runtime_input_schema=raw(runtime), owner="telltale-team"
    )
    surface = make_surface(make_view(tool, make_tool("forbidden")), engine=DenyingPolicy("acme.forbidden"))
    written = json.dumps(export(surface, to).request)
    assert "search" in written
    for hidden in ("tenant_secret", "forbidden", "telltale"):
        assert hidden not in written


@pytest.mark.parametrize("to", DEFERRING)
def test_deferred_tools_go_along_where_the_provider_keeps_them_back(to: str) -> None:
    tools = [make_tool(f"tool-{number}") for number in range(60)]
    exported = export(make_surface(make_view(*tools)), to)
    deferred = [one for one in exported.request["tools"] if one.get("defer_loading")]
    assert len(deferred) == len(exported.tokens.deferred) == 60
    assert list(exported.tokens.tools) == ["search_tools"]
    assert exported.tokens.total == exported.tokens.tools["search_tools"] + exported.tokens.instructions


def test_a_model_that_cannot_load_later_is_not_given_what_is_deferred() -> None:
    """AT-73: without deferred references they are reached by search alone."""
    tools = [make_tool(f"tool-{number}") for number in range(60)]
    view = make_view(*tools)
    assert names_in(export(make_surface(view), "openai")) == ["search_tools"]
    unable = make_surface(view, make_request(model_capabilities={"deferred_refs": False}))
    assert names_in(export(unable, "anthropic")) == ["search_tools"]


def test_what_a_model_can_do_decides_what_is_asked_of_it() -> None:
    """AT-73: strict schemas and parallel calls only where the model has them."""
    tool = make_tool("search", facts=SafetyFacts(strict=True))
    able = export(make_surface(make_view(tool)), "openai", strict=True).request
    assert able["tools"][0]["function"]["strict"] is True and "parallel_tool_calls" not in able
    unable = make_surface(
        make_view(tool), make_request(model_capabilities={"strict_schemas": False, "parallel_calls": False})
    )
    request = export(unable, "openai", strict=True).request
    assert "strict" not in request["tools"][0]["function"] and request["parallel_tool_calls"] is False


def test_the_choice_names_the_tool_as_it_is_written() -> None:
    """AT-72, AT-261: a name that had to be changed is the one that is chosen."""
    record = make_surface_record(tool_refs=["acme.look.up"], default_tool_choice="acme.look.up")
    surface = make_surface(make_view(make_tool("look.up"), records=[record]), make_request(surface_id="desk"))
    exported = export(surface, "anthropic")
    (written,) = exported.names
    assert exported.names[written] == "look.up"
    assert exported.request["tool_choice"] == {"type": "tool", "name": written}


def test_an_answer_of_a_model_leads_to_the_tool_and_its_arguments() -> None:
    """AT-261: the reply is mapped back, the name and what was rewritten in the schema."""
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    exported = export(make_surface(make_view(make_tool("look.up", input_schema=raw(schema)))), "openai", strict=True)
    (written,) = exported.names
    assert exported.decode_call(written, {"city": "Ulm", "days": None}) == ("look.up", {"city": "Ulm"})
    assert exported.decode_call("unheard-of", {"a": 1}) == ("unheard-of", {"a": 1})
    assert exported.meant(written, {"city": "Ulm", "days": None}) == ("look.up", {"city": "Ulm"})  # the earlier name


def test_one_schema_that_cannot_be_said_takes_no_other_tool_with_it() -> None:
    loop = {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/schema"}}}
    exported = export_tools([make_tool("sound"), make_tool("unsound", input_schema=raw(loop))], "openai", strict=True)
    assert names_in(exported) == ["sound"]
    assert [finding.path for finding in exported.left_out] == [("acme.unsound",)]


def test_tokens_are_counted_by_whoever_counts() -> None:
    counter = TokenCounter("letters", len)
    exported = export_tools([make_tool("search")], "openai", counter=counter)
    (written,) = exported.request["tools"]
    assert exported.tokens.counted_by == "letters"
    assert exported.tokens.total == len(json.dumps(written, separators=(",", ":")))


def test_an_unknown_provider_is_told_with_the_nearest() -> None:
    with pytest.raises(WorkspaceError, match="openai"):
        export_tools([], "opnai")


@driven
async def test_a_surface_in_use_is_exported_as_it_is() -> None:
    @ferrule.tool(description="Adds. Use it for sums.", read_only=True)
    def add(a: int, b: int = 0) -> int:
        return a + b

    async with memory_app(tools=[add]) as app:
        surface = app.surface()
        exported = export_surface(surface, "anthropic", strict=True)
        assert names_in(exported) == ["add"]
        name, arguments = exported.decode_call("add", {"a": 2, "b": None})
        result = await surface.call(name, arguments)
        assert isinstance(result, ferrule.Result) and result.structured_content == 2

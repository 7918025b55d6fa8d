"""A canonical tool as an item of an ADL manifest's `spec.tools`, and what gets lost or made up on the way (ADL-54)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ferrule.contracts.dialect import Emitted
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.tool import FACT_NAMES, Tool

_OUTSIDE = re.compile("[^a-zA-Z0-9_]")


def emit_tool(tool: Tool) -> Emitted:
    """The tool as ADL writes it. One that came from ADL is written as it was."""
    if tool.dialect == "adl":
        written = msgspec.json.decode(tool.payload)
        item = written.get("tool") if isinstance(written, dict) else None
        if isinstance(item, dict):
            return Emitted(item, ())
    item = _item(tool)
    return Emitted(item, tuple(_losses(tool, item)))


def _item(tool: Tool) -> dict[str, Any]:
    identifier = _identifier(tool.name)
    schema = msgspec.json.decode(tool.input_schema)
    if not isinstance(schema, dict) or not schema:
        schema = {"type": "object"}
    return {
        "id": identifier,
        "name": identifier,
        "description": tool.description or identifier,
        "tags": list(tool.tags) or [tool.tool_kind],
        "schema": schema,
    }


def _identifier(name: str) -> str:
    """The name as an identifier that is not taken by a built-in tool."""
    identifier = _OUTSIDE.sub("_", name) or "_"
    if identifier[0].isdigit():
        identifier = f"_{identifier}"
    return f"{identifier}_" if identifier in BUILTIN_TOOLS else identifier


def _losses(tool: Tool, item: dict[str, Any]) -> Iterator[Finding]:
    if item["id"] != tool.name:
        yield _loss("name", f"the name {tool.name!r} is written as the identifier {item['id']!r}")
    if tool.title and tool.title != item["name"]:
        yield _loss("title", "ADL has no title beside the name")
    if not tool.description:
        yield _loss("description", "the tool has no description; its name stands in for one")
    if not tool.tags:
        yield _loss("tags", f"ADL needs tags; {tool.tool_kind!r} was made up")
    if item["schema"] != msgspec.json.decode(tool.input_schema):
        yield _loss("input_schema", "the tool has no input schema; `type: object` was made up")
    for field, value in (
        ("version", tool.version),
        ("owner", tool.owner),
        ("output_schema", tool.output_schema),
        ("runtime_input_schema", tool.runtime_input_schema),
        ("search_hint", tool.search_hint),
        ("aliases", tool.aliases),
        ("capability_refs", tool.capability_refs),
        ("approval_required", tool.approval_required),
        ("max_calls_per_run", tool.max_calls_per_run),
        ("credentials", tool.credentials),
    ):
        if value:
            yield _loss(field, f"ADL has no `{field}` of a tool")
    if tool.lifecycle != "available":
        yield _loss("lifecycle", f"ADL cannot say that a tool is {tool.lifecycle}")
    stated = [name for name in FACT_NAMES if name not in tool.inferred_facts]
    if stated:
        yield _loss("facts", f"ADL cannot state {', '.join(stated)}")


def _loss(field: str, message: str) -> Finding:
    return Finding("ADL-54", (field,), message, Severity.WARNING)

"""Tools for tests of stubs, with what a test cares about."""

from __future__ import annotations

from typing import Any

from ferrule.model.tool import Record, Tool, raw

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(
    name: str = "get_weather",
    *,
    namespace: str = "shop",
    takes: dict[str, Any] | None = None,
    gives: dict[str, Any] | None = None,
    tool_id: str = "",
    version: str = "1.0.0",
    dialect: str = "aml",
    description: str = "Tells the weather.",
    payload: dict[str, Any] | None = None,
    title: str = "",
    tags: tuple[str, ...] = (),
) -> Tool:
    """A tool."""
    return Tool(
        tool_id=tool_id or f"{namespace}.{name}",
        namespace=namespace,
        name=name,
        title=title or None,
        description=description,
        lifecycle="available",
        tool_kind="function",
        dialect=dialect,
        version=version,
        tags=tags,
        input_schema=raw(CITY if takes is None else takes),
        output_schema=raw(gives) if gives is not None else None,
        payload=raw(payload or {}),
    )


def manifest(name: str = "clerk", **spec: Any) -> Record:
    """An agent file."""
    payload = {"metadata": {"name": name, "version": "0.3.0", "description": "Sells books"}, "spec": spec}
    return Record(kind="manifest", record_id=name, dialect="adl", version="0.3.0", payload=raw(payload))

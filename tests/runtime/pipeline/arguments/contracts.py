"""Tools for tests about arguments: a schema and a contract, nothing else."""

from __future__ import annotations

from typing import Any

from ferrule.model.tool import Tool, raw
from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem, Arguments

ADD: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


def tool(schema: Any, runtime: Any = None, **contract: Any) -> Tool:
    """A tool with this input schema and these fields of an input contract."""
    return Tool(
        tool_id="demo.add",
        namespace="demo",
        name="add",
        description="Add two numbers.",
        lifecycle="available",
        tool_kind="function",
        dialect="agent_tool",
        input_schema=raw(schema),
        runtime_input_schema=None if runtime is None else raw(runtime),
        payload=raw({"input_contract": contract} if contract else {}),
    )


def fields(*required: str, **properties: Any) -> dict[str, Any]:
    """A closed object schema."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def explain_refusal(schema: Any, raw: bytes, **contract: Any) -> str:
    found = Arguments.of(tool(schema, **contract)).parse(raw)
    assert isinstance(found, ArgumentProblem), found
    return found.message

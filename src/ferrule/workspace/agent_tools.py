"""Makes agents callable as tools (AML-109): derives the declaration from an AML agent's own file.

An agent is offered only where its file allows it. Keys that Agent Tool lacks (intents, trigger phrases) are added to the
declaration unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ferrule.definitions.content.linkage import replace_payload
from ferrule.model.tool import Record, Tool
from ferrule.model.value import JsonObject, dig

_VERSION = "0.2.0"
_LIFECYCLES = {"draft": "draft", "active": "available", "deprecated": "deprecated", "disabled": "disabled"}


def build_agent_tool(record: Record, namespace: str) -> Tool | None:
    """Returns the tool that invokes an agent; None for an agent that may not be invoked so, and for other records."""
    if record.kind != "agent" or record.dialect != "aml":
        return None
    agent: Any = msgspec.json.decode(record.payload)
    if isinstance(agent.get("definition"), dict):  # a catalog's payload has the definition beside the compiled agent
        agent = agent["definition"]
    if dig(agent, ("orchestration", "can_be_invoked_as_tool")) is not True:
        return None
    return replace_payload(_build_tool(agent, record, namespace), _build_declaration(agent, record, namespace))


def build_agent_tools(records: Iterable[Record], namespace: str) -> list[Tool]:
    """Returns the tools of all agents that may be invoked as one, by name."""
    found = (build_agent_tool(record, namespace) for record in records)
    return sorted((tool for tool in found if tool is not None), key=lambda tool: (tool.name, tool.version or ""))


def _build_tool(agent: JsonObject, record: Record, namespace: str) -> Tool:
    return Tool(
        tool_id=record.record_id,
        namespace=namespace,
        name=record.record_id,
        description=_read_description(agent),
        lifecycle=_LIFECYCLES.get(_read_text(agent, "status"), "draft"),
        tool_kind="peer_agent_tool",
        dialect="agent_tool",
        version=record.version,
        title=_read_text(agent, "meta", "name") or None,
        search_hint="; ".join(_read_texts(agent, "routing", "intents")) or None,
        tags=tuple(_read_texts(agent, "meta", "tags")),
        owner=_read_text(agent, "meta", "owner") or None,
    )


def _build_declaration(agent: JsonObject, record: Record, namespace: str) -> JsonObject:
    """Returns the agent's declaration as an Agent Tool record, with the keys that only such a record has."""
    tool = _build_tool(agent, record, namespace)
    examples = dig(agent, ("interface", "input", "examples"))
    contract = {
        "model_input_schema": _read_schema(agent, "input"),
        "examples": examples if isinstance(examples, list) else [],
    }
    declaration = {
        "schema_version": _VERSION,
        "tool_id": tool.tool_id,
        "namespace": tool.namespace,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "version": tool.version,
        "lifecycle": tool.lifecycle,
        "tool_kind": tool.tool_kind,
        "search_hint": tool.search_hint,
        "intents": _read_texts(agent, "routing", "intents"),
        "examples": _read_texts(agent, "routing", "trigger_phrases"),
        "input_contract": _drop_empty(contract),
        "output_contract": {"structured_schema": _read_schema(agent, "output")},
        "external_mappings": [
            _drop_empty({"source": "aml", "agent_id": record.record_id, "agent_version": record.version})
        ],
    }
    return _drop_empty(declaration)


def _read_description(agent: JsonObject) -> str:
    return _read_text(agent, "routing", "tool_description") or _read_text(agent, "meta", "description")


def _read_schema(agent: JsonObject, side: str) -> JsonObject:
    """Returns an agent's input or output schema; any object where the agent has none."""
    schema = dig(agent, ("interface", side, "schema"))
    return schema if isinstance(schema, dict) else {"type": "object"}


def _read_text(agent: JsonObject, *path: str) -> str:
    found = dig(agent, path)
    return found if isinstance(found, str) else ""


def _read_texts(agent: JsonObject, *path: str) -> list[str]:
    found = dig(agent, path)
    return [text for text in found if isinstance(text, str) and text.strip()] if isinstance(found, list) else []


def _drop_empty(value: JsonObject) -> JsonObject:
    return {key: member for key, member in value.items() if member not in (None, [], "")}

"""An agent as a tool of other agents (AML-109): the declaration that is derived from an AML agent's own file.

An agent is offered only where its file says so. What the standard has no field for (intents, phrases that lead to it)
stands in the declaration beside the rest, as written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ferrule.definitions.content.linkage import replace_payload
from ferrule.model.tool import Record, Tool
from ferrule.model.value import dig

_VERSION = "0.2.0"
_LIFECYCLES = {"draft": "draft", "active": "available", "deprecated": "deprecated", "disabled": "disabled"}


def tool_of_agent(record: Record, namespace: str) -> Tool | None:
    """Returns the tool that invokes an agent; None for one that may not be invoked so, and for a record of anything else."""
    if record.kind != "agent" or record.dialect != "aml":
        return None
    agent: Any = msgspec.json.decode(record.payload)
    if isinstance(agent.get("definition"), dict):  # as a catalog keeps it, beside what it was compiled to
        agent = agent["definition"]
    if dig(agent, ("orchestration", "can_be_invoked_as_tool")) is not True:
        return None
    return replace_payload(_named(agent, record, namespace), _declaration(agent, record, namespace))


def tools_of_agents(records: Iterable[Record], namespace: str) -> list[Tool]:
    """Returns the tools of all agents that may be invoked as one, by name."""
    found = (tool_of_agent(record, namespace) for record in records)
    return sorted((tool for tool in found if tool is not None), key=lambda tool: (tool.name, tool.version or ""))


def _named(agent: dict[str, Any], record: Record, namespace: str) -> Tool:
    return Tool(
        tool_id=record.record_id,
        namespace=namespace,
        name=record.record_id,
        description=_description(agent),
        lifecycle=_LIFECYCLES.get(_text(agent, "status"), "draft"),
        tool_kind="peer_agent_tool",
        dialect="agent_tool",
        version=record.version,
        title=_text(agent, "meta", "name") or None,
        search_hint="; ".join(_texts(agent, "routing", "intents")) or None,
        tags=tuple(_texts(agent, "meta", "tags")),
        owner=_text(agent, "meta", "owner") or None,
    )


def _declaration(agent: dict[str, Any], record: Record, namespace: str) -> dict[str, Any]:
    """Returns the same in the words of Agent Tool, with what only its words can say."""
    tool = _named(agent, record, namespace)
    examples = dig(agent, ("interface", "input", "examples"))
    contract = {
        "model_input_schema": _schema(agent, "input"),
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
        "intents": _texts(agent, "routing", "intents"),
        "examples": _texts(agent, "routing", "trigger_phrases"),
        "input_contract": _said(contract),
        "output_contract": {"structured_schema": _schema(agent, "output")},
        "external_mappings": [_said({"source": "aml", "agent_id": record.record_id, "agent_version": record.version})],
    }
    return _said(declaration)


def _description(agent: dict[str, Any]) -> str:
    return _text(agent, "routing", "tool_description") or _text(agent, "meta", "description")


def _schema(agent: dict[str, Any], side: str) -> dict[str, Any]:
    """What an agent takes or gives; an object of any kind where it does not say."""
    schema = dig(agent, ("interface", side, "schema"))
    return schema if isinstance(schema, dict) else {"type": "object"}


def _text(agent: dict[str, Any], *path: str) -> str:
    found = dig(agent, path)
    return found if isinstance(found, str) else ""


def _texts(agent: dict[str, Any], *path: str) -> list[str]:
    found = dig(agent, path)
    return [text for text in found if isinstance(text, str) and text.strip()] if isinstance(found, list) else []


def _said(value: dict[str, Any]) -> dict[str, Any]:
    return {key: member for key, member in value.items() if member not in (None, [], "")}

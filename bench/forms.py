"""Writes sketches as OXP, Agent Tool and ADL."""

from __future__ import annotations

from typing import Any

from bench.sketches import Sketch, object_schema
from bench.yaml_text import yaml_lines


def oxp_definition(tool: Sketch) -> dict[str, Any]:
    """An OXP ToolDefinition."""
    toolkit = tool.owner.capitalize()
    definition: dict[str, Any] = {
        "id": f"{toolkit}.{tool.symbol}@{tool.version}",
        "name": tool.symbol,
        "description": " ".join(tool.sentences),
        "version": "1.0" if tool.is_faulty else tool.version,
        "input_schema": {"parameters": object_schema(tool.inputs, 1)},
        "output_schema": object_schema(tool.outputs, 1),
    }
    if tool.number % 3 == 0:
        definition["requirements"] = {"secrets": [{"id": f"{tool.owner.upper()}_KEY"}], "user_id": True}
    return definition


def agent_tool_declaration(tool: Sketch) -> dict[str, Any]:
    """An Agent Tool declaration."""
    return {
        "schema_version": "0.2.0",
        "tool_id": f"tool_{tool.symbol}",
        "namespace": tool.owner,
        "name": tool.symbol,
        "title": tool.title,
        "description": " ".join(tool.sentences),
        "lifecycle": "ready" if tool.is_faulty else "available",
        "tool_kind": "retrieval" if tool.kind == "retrieval" else "function",
        "input_contract": {"strict": True, "model_input_schema": object_schema(tool.inputs, 1)},
        "output_contract": {"structured_content_schema": object_schema(tool.outputs, 1)},
        "permission_profile_ref": f"permission_profile:{tool.owner}.{tool.symbol}",
        "annotations": {"team": tool.owner},
    }


def adl_manifest(number: int, tools: list[Sketch]) -> str:
    """An ADL agent file with the given tools."""
    lines = [
        "apiVersion: adl.inference-gateway.com/v1",
        "kind: Agent",
        "metadata:",
        f"  name: desk-agent-{number:05d}",
        "  description: Answers questions of the desk",
        "  version: 1.0.0",
        "spec:",
        "  capabilities:",
        "    streaming: true",
        "    pushNotifications: false",
        "    stateTransitionHistory: false",
        "  server:",
        "    port: 8080",
        "  language:",
        "    go:",
        "      module: example.com/desk",
        '      version: "1.24"',
        "  services:",
        "    records:",
        "      type: service",
        "      interface: Records",
        "      factory: NewRecords",
        "      description: Reads and writes the desk's records",
        "  tools:",
    ]
    for tool in tools:
        name = tool.symbol
        lines += [
            f"    - id: {tool.slug if tool.is_faulty else name}",
            f"      name: {name}",
            f"      description: {tool.sentences[0]}",
            f"      tags: [{tool.noun}, {tool.owner}]",
            "      inject: [logger, records]",
            "      schema:",
            *yaml_lines(object_schema(tool.inputs, 1), "        "),
        ]
    return "\n".join(lines) + "\n"

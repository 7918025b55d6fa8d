"""An Agent Tool declaration and its interface, and what they compile to."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ferrule.definitions.compiler.read import read
from ferrule.definitions.content.linkage import REFERRED_BY, apply_record
from ferrule.definitions.dialects.agent_tool import DIALECT
from ferrule.model.document import Document, Source
from ferrule.model.tool import Tool

DECLARATION: dict[str, Any] = {
    "schema_version": "0.2.0",
    "tool_id": "tool_run",
    "namespace": "local",
    "name": "run",
    "description": "Runs a command.",
    "lifecycle": "available",
    "tool_kind": "shell_command",
    "input_contract": {"model_input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}},
}


INTERFACE: dict[str, Any] = {
    "schema_version": "0.2.0",
    "interface_id": "i1",
    "tool_id": "tool_run",
    "is_read_only": "classifier:shell",
    "is_destructive": True,
    "classifier_input": "input.command",
    "output_schema": {"type": "object"},
}


def document(value: Any) -> Document:
    return read(Source("records.json", json.dumps(value).encode()))[0]


def compile_declaration(value: Any) -> Tool:
    """The one tool of a list of records, with the records it refers to applied."""
    text = document(value)
    definitions, findings = DIALECT.definitions(text)
    assert not findings
    results = [DIALECT.compile(text, definition, "ws") for definition in definitions]
    records = {(record.kind, record.record_id): record for result in results for record in result.records}
    (tool,) = (tool for result in results for tool in result.tools)
    payload = msgspec.json.decode(tool.payload)
    for kind, key in REFERRED_BY.items():
        record = records.get((kind, payload.get(key)))
        if record is not None:
            tool = apply_record(tool, kind, msgspec.json.decode(record.payload))
    return tool

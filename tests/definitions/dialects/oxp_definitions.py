"""A small OXP definition, and what definitions compile to."""

from __future__ import annotations

import json
from typing import Any

from ferrule.definitions.compiler.read import read
from ferrule.definitions.dialects.oxp import DIALECT
from ferrule.model.document import Document, Source
from ferrule.model.tool import Tool

TOOL: dict[str, Any] = {
    "id": "Mail.GetUnread@1.2.0",
    "name": "Mail_GetUnread",
    "description": "Lists unread mail.",
    "version": "1.2.0",
    "input_schema": {"parameters": {"properties": {"box": {"type": "string", "description": "Mailbox."}}}},
    "output_schema": {"type": "array"},
    "requirements": {"secrets": [{"id": "MAIL_KEY"}], "region": "eu"},
}


def document(value: Any, name: str = "tools.json") -> Document:
    return read(Source(name, json.dumps(value).encode()))[0]


def compile_definition(value: Any) -> tuple[Tool, ...]:
    text = document(value)
    definitions, findings = DIALECT.definitions(text)
    assert not findings
    return tuple(tool for definition in definitions for tool in DIALECT.compile(text, definition, "ws").tools)

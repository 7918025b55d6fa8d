"""A tool as an operation: as the one it calls where OpenAPI can say it, else as a body sent by POST."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.dialects.aml import compile_tool
from ferrule.definitions.openapi.writing import WrittenOperation, build_plain_operation, build_rest_operation
from ferrule.model.tool import Tool

TEXT = {"type": "string"}
CALLS = {
    "type": "rest-api",
    "base_url": "https://x.example",
    "endpoint": "POST /notes",
    "credentials": {"scheme": "none"},
}


def tool(properties: dict[str, Any] | None = None, **transport: Any) -> Tool:
    """An AML tool with a REST transport."""
    written = {
        "spec_version": "1.2",
        "tool_id": "add-note",
        "version": "1.0.0",
        "status": "active",
        "meta": {"name": "Add note", "description": "Adds.", "owner": "crm"},
        "type": "action",
        "interface": {
            "input": {"type": "object", "properties": properties or {"a": TEXT}},
            "output": {"type": "object"},
        },
        "transport": {**CALLS, **transport},
    }
    return compile_tool(written, "crm")


def write_operation(properties: dict[str, Any] | None = None, **transport: Any) -> WrittenOperation:
    made = build_rest_operation(tool(properties, **transport), "add-note")
    assert made is not None
    return made


def test_any_tool_is_a_body_sent_by_post() -> None:
    made = build_plain_operation(tool(), "add note")
    assert (made.path, made.method) == ("/add%20note", "POST")
    assert made.operation["operationId"] == "add note"
    assert list(made.operation["requestBody"]["content"]) == ["application/json"]


def test_arguments_stand_where_the_transport_puts_them() -> None:
    made = write_operation(
        {"who": TEXT, "tags": {"type": "array"}, "text": TEXT},
        endpoint="POST /people/{id}/notes",
        **{"x-mapping": {"who": {"in": "path", "name": "id"}, "tags": {"in": "query", "style": "pipe"}}},
    )
    who, tags = made.operation["parameters"]
    assert (who["name"], who["in"], who["required"]) == ("id", "path", True)
    assert (tags["style"], tags["explode"]) == ("pipeDelimited", False)
    assert list(made.operation["requestBody"]["content"]["application/json"]["schema"]["properties"]) == ["text"]


def test_a_whole_body_is_the_argument_itself() -> None:
    made = write_operation({"all": {"type": "array"}}, **{"x-mapping": {"all": {"in": "body", "whole": True}}})
    assert made.operation["requestBody"] == {"content": {"application/json": {"schema": {"type": "array"}}}}


def test_a_file_is_bytes() -> None:
    made = write_operation(
        {"photo": {"description": "It."}}, **{"x-mapping": {"photo": {"in": "file", "content_type": "image/png"}}}
    )
    media = made.operation["requestBody"]["content"]["multipart/form-data"]
    assert media["schema"]["properties"]["photo"] == {"type": "string", "format": "binary", "description": "It."}
    assert media["encoding"] == {"photo": {"contentType": "image/png"}}


@pytest.mark.parametrize(
    "transport",
    [
        {"endpoint": "POST notes"},
        {"type": "grpc"},
        {"x-query": {"a": 1}},
        {"x-headers": {"X-Who": "{a}"}},
        {"x-mapping": {"a": {"in": "query", "style": "unheard-of"}}},
        {"x-mapping": {"a": {"in": "body", "name": "/deep/a"}}},
    ],
)
def test_what_openapi_cannot_say_is_no_operation(transport: dict[str, Any]) -> None:
    assert build_rest_operation(tool(**transport), "add-note") is None


@pytest.mark.parametrize(
    ("credentials", "schemes"),
    [
        ({"scheme": "none"}, {}),
        ({"scheme": "bearer-token"}, {"bearer": {"type": "http", "scheme": "bearer"}}),
        (
            {"scheme": "api-key", "header": "X-Key", "x-and": [{"scheme": "api-key", "x-encode": "basic"}]},
            {
                "key-header-X-Key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        ),
    ],
)
def test_credentials_are_security_schemes(credentials: dict[str, Any], schemes: dict[str, Any]) -> None:
    made = write_operation(credentials=credentials)
    assert made.schemes == schemes
    assert made.operation.get("security", [{}]) == [{name: [] for name in schemes}]

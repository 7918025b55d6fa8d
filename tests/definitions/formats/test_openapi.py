"""OpenAPI as a format: what is written is valid, and reading it again gives the tools, apart from what was reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.content.extension import decode_raw, find_differences
from ferrule.definitions.dialects.aml import compile_tool
from ferrule.definitions.formats.openapi import FORMAT
from ferrule.model.native_definition import native_refs
from ferrule.model.tool import Tool, raw
from ferrule.schema.internal_fields import internal_fields
from tests.definitions.dialects.tools import tools as native_tools
from tests.definitions.formats.pets import PETS, read_back
from tests.definitions.formats.tools import tools as made_up_tools

quick = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TOOLS = st.one_of(made_up_tools(), native_tools())


CALLS_AN_API: dict[str, Any] = {
    "spec_version": "1.2",
    "tool_id": "add-note",
    "version": "2.0.0",
    "status": "active",
    "meta": {"name": "Add note", "description": "Adds a note. Use it after a call.", "owner": "crm", "tags": ["notes"]},
    "type": "action",
    "interface": {
        "input": {
            "type": "object",
            "properties": {
                "customer": {"type": "string", "description": "Who."},
                "dry_run": {"type": "boolean", "description": "Whether nothing is kept."},
                "labels": {"type": "array", "items": {"type": "string"}, "description": "Words."},
                "text": {"type": "string", "description": "What."},
            },
            "required": ["customer", "text"],
            "additionalProperties": False,
        },
        "output": {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}}},
    },
    "error_codes": {"404": {"meaning": "No such customer.", "agent_action": "Look it up."}},
    "transport": {
        "type": "rest-api",
        "base_url": "https://crm.example.com",
        "endpoint": "POST /customers/{id}/notes",
        "x-mapping": {
            "customer": {"in": "path", "name": "id"},
            "dry_run": {"in": "query", "name": "dryRun"},
            "labels": {"in": "query", "style": "comma"},
        },
        "x-response": {"as": "items"},
        "credentials": {"scheme": "bearer-token", "source": "env", "name": "CRM_TOKEN"},
    },
    "use_guidance": {"use_when": ["a call ended"], "avoid_when": ["it was empty"], "side_effects": "A note is kept."},
}


@given(TOOLS, st.booleans())
@quick
def test_reading_again_gives_everything_but_what_was_reported(tool: Tool, is_plain: bool) -> None:
    """AT-3, AT-257."""
    writing = FORMAT.write([tool], WriteOptions(is_plain=is_plain))
    if writing.left_out:
        assert writing.left_out[0].path == (tool.tool_id,)
        return
    [back] = read_back(writing.value, writing.names)
    told = {loss.field for loss in writing.losses if loss.is_final and not loss.field.startswith(f"{tool.dialect}.")}
    assert set(find_differences(tool, back)) == told
    assert is_plain or not told or internal_fields(tool)
    if not is_plain and not internal_fields(tool):
        assert back.dialect == tool.dialect


@given(st.lists(TOOLS, max_size=5))
@quick
def test_every_tool_has_an_operation_of_its_own(listed: list[Tool]) -> None:
    writing = FORMAT.write(listed, WriteOptions(is_plain=True))
    value: Any = writing.value
    ids = [operation["operationId"] for item in value["paths"].values() for operation in item.values()]
    assert len(ids) == len(set(ids)) == len(listed) - len(writing.left_out)
    assert {writing.names.get(name, name) for name in ids} <= {tool.name for tool in listed}


@given(TOOLS)
@quick
def test_what_was_read_is_written_again_as_it_was(tool: Tool) -> None:
    once = FORMAT.write([tool], WriteOptions(is_plain=True))
    twice = FORMAT.write(
        read_back(once.value, once.names), WriteOptions(title="" if once.left_out else _title(once.value))
    )
    assert once.left_out or json.loads(json.dumps(twice.value)) == json.loads(json.dumps(once.value))


def _title(value: Any) -> str:
    return str(value["info"]["title"])


def test_operations_come_back_as_they_were() -> None:
    """AT-27, AT-257."""
    first = read_back(PETS)
    writing = FORMAT.write(first, WriteOptions())
    assert writing.losses == ()
    assert read_back(writing.value) == first
    value: Any = writing.value
    assert value["paths"]["/pets/{petId}"]["get"]["x-audience"] == "public"
    pet = value["components"]["schemas"]["Pet"]["properties"]
    assert pet["name"] == {"type": ["string", "null"], "examples": ["Rex"]}
    assert pet["age"] == {"type": "integer", "exclusiveMinimum": 0}
    assert pet["mother"] == {"$ref": "#/components/schemas/Pet"}
    assert native_refs(first[0])[0] == {
        "source": "openapi",
        "operation_id": "getPet",
        "method": "GET",
        "path": "/pets/{petId}",
        "server_url": "https://pets.example.com/v1",
        "security_scheme_refs": ["key"],
    }


def test_a_tool_that_calls_an_api_is_written_as_the_operation_it_calls() -> None:
    tool = compile_tool(CALLS_AN_API, "crm")
    writing = FORMAT.write([tool], WriteOptions(is_plain=True))
    value: Any = writing.value
    operation = value["paths"]["/customers/{id}/notes"]["post"]
    assert value["servers"] == [{"url": "https://crm.example.com"}]
    assert [(each["name"], each["in"]) for each in operation["parameters"]] == [
        ("id", "path"),
        ("dryRun", "query"),
        ("labels", "query"),
    ]
    assert operation["parameters"][2]["explode"] is False
    assert list(operation["requestBody"]["content"]["application/json"]["schema"]["properties"]) == ["text"]
    assert operation["responses"]["404"] == {"description": "No such customer."}
    assert operation["security"] == [{"bearer": []}]
    assert value["components"]["securitySchemes"] == {"bearer": {"type": "http", "scheme": "bearer"}}
    carried = FORMAT.write([tool], WriteOptions())
    [back] = read_back(carried.value, carried.names)
    assert back == tool


def test_references_within_a_schema_lead_there_in_the_document_too() -> None:
    schema = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "x": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"type": "string"}},
    }
    tool = Tool(
        tool_id="t", namespace="n", name="walk", description="Walks.", lifecycle="available", tool_kind="function",
        dialect="agent_tool", input_schema=raw(schema), output_schema=raw({**schema, "title": "Out"}),
    )  # fmt: skip
    value: Any = FORMAT.write([tool], WriteOptions(is_plain=True)).value
    written = value["paths"]["/walk"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert written["properties"]["x"]["$ref"].startswith("#/paths/~1walk/post/requestBody/")
    [back] = read_back(value)
    assert decode_raw(back.input_schema) == schema


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"openapi": True},
        {"openapi": "3.1.0", "paths": []},
        {"swagger": "1.2", "paths": {}},
        {"openapi": "4.0.0"},
    ],
)
def test_what_is_no_document_is_told(value: Any) -> None:
    reading = FORMAT.read(value, "", {})
    assert reading.tools == () and reading.findings

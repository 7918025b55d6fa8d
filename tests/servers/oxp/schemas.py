"""What OXP 1.0 says of its answers, as JSON Schemas: the published ones with the correction of OXP-31 (`value` and `error` stand
in the root of a response, which is closed)."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

URI = {"type": "string", "format": "uri"}
TOOL_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string"},
        "developer_message": {"type": "string"},
        "can_retry": {"type": "boolean"},
        "additional_prompt_content": {"type": "string"},
        "retry_after_ms": {"type": "integer"},
    },
    "required": ["message"],
}
RESPONSE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "call_id": {"type": "string"},
        "duration": {"type": "number"},
        "success": {"type": "boolean"},
        "value": {},
        "error": TOOL_ERROR,
    },
    "required": ["call_id", "success"],
    "oneOf": [
        {"properties": {"success": {"enum": [True]}}, "not": {"required": ["error"]}},
        {"properties": {"success": {"enum": [False]}}, "required": ["error"], "not": {"required": ["value"]}},
    ],
    "additionalProperties": False,
}
CALLED = {"type": "object", "properties": {"$schema": URI, "result": RESPONSE}, "required": ["$schema", "result"]}
SERVER_ERROR = {
    "type": "object",
    "properties": {"$schema": URI, "message": {"type": "string"}, "developer_message": {"type": "string"}},
    "required": ["$schema", "message"],
}
VALIDATION_ERROR = {
    "type": "object",
    "properties": {
        "$schema": URI,
        "message": {"type": "string"},
        "parameter_errors": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["$schema", "message"],
}
_NAMED = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}
DEFINITION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": r"^[A-Za-z0-9_]+\.[A-Za-z0-9_]+@[0-9]+\.[0-9]+\.[0-9]+$"},
        "name": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "description": {"type": "string", "minLength": 1},
        "version": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+$"},
        "input_schema": {
            "type": "object",
            "properties": {
                "parameters": {
                    "type": "object",
                    "properties": {
                        "properties": {
                            "additionalProperties": {
                                "type": "object",
                                "properties": {"description": {"type": "string", "minLength": 1}},
                                "required": ["description"],
                            }
                        }
                    },
                }
            },
            "required": ["parameters"],
        },
        "output_schema": {"type": ["object", "null"]},
        "requirements": {
            "type": "object",
            "properties": {"authorization": _NAMED, "secrets": _NAMED, "user_id": {"type": "boolean"}},
        },
    },
    "required": ["id", "name", "description", "version", "input_schema", "output_schema"],
    "additionalProperties": False,
}
LISTED = {
    "type": "object",
    "properties": {"$schema": URI, "tools": {"type": "array", "items": DEFINITION}},
    "required": ["$schema", "tools"],
}
EXCLUDED = {"$ref", "$defs", "definitions", "$id", "$anchor", "$dynamicRef"}
"""Keywords that no schema of a definition has (OXP-11)."""


def fits(body: Any, schema: dict[str, Any]) -> bool:
    """True when a body is what the protocol says it is."""
    return bool(jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(body))


def of_status(status: int, path: str) -> dict[str, Any]:
    """The schema of the answer with a status."""
    if status == 200:
        return LISTED if path.endswith("/tools") else CALLED if path.endswith("/call") else {"type": "object"}
    return VALIDATION_ERROR if status == 422 else SERVER_ERROR

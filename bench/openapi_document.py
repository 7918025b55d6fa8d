"""Writes an OpenAPI document of a realistic shape: the same count gives the same bytes on any machine."""

from __future__ import annotations

import json
from typing import Any

_NOUNS = ("order", "invoice", "customer", "parcel", "refund", "ticket", "product", "warehouse", "contract", "payment")
_ERRORS = {
    "404": {"$ref": "#/components/responses/Missing"},
    "429": {"$ref": "#/components/responses/Busy"},
}
_PAGE = (
    {"$ref": "#/components/parameters/limit"},
    {"$ref": "#/components/parameters/cursor"},
)


def openapi_document(operations: int) -> bytes:
    """A document of so many operations, five to a resource: list, make, get, change, end."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = _shared_schemas()
    for number in range(-(-operations // 5)):
        noun = f"{_NOUNS[number % len(_NOUNS)]}{number:04d}"
        schemas[noun.title()] = _resource(noun)
        paths |= _paths(noun, min(5, operations - 5 * number))
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "2.4.0", "description": "Everything a shop does."},
        "servers": [{"url": "https://{region}.shop.example/v2", "variables": {"region": {"default": "eu"}}}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "parameters": _shared_parameters(),
            "responses": _shared_responses(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return json.dumps(document, indent=1).encode()


def _paths(noun: str, count: int) -> dict[str, Any]:
    one, many = f"/{noun}s/{{id}}", f"/{noun}s"
    body = {"required": True, "content": _json({"$ref": f"#/components/schemas/{noun.title()}"})}
    found = {"description": f"The {noun}.", "content": _json({"$ref": f"#/components/schemas/{noun.title()}"})}
    listed = {"type": "array", "items": {"$ref": f"#/components/schemas/{noun.title()}"}}
    page = {"type": "object", "properties": {"items": listed, "next": {"type": "string"}}, "required": ["items"]}
    where = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}, "description": "Its number."}]
    states = {
        "name": "state",
        "in": "query",
        "schema": {"type": "array", "items": {"$ref": "#/components/schemas/State"}},
    }
    operations = [
        (many, "get", _operation("list", noun, [*_PAGE, states], {"200": {"description": "A page.", "content": _json(page)}})),
        (many, "post", _operation("create", noun, [], {"201": found}) | {"requestBody": body}),
        (one, "get", _operation("get", noun, where, {"200": found})),
        (one, "patch", _operation("update", noun, where, {"200": found}) | {"requestBody": body}),
        (one, "delete", _operation("cancel", noun, where, {"204": {"description": "It is gone."}})),
    ]  # fmt: skip
    paths: dict[str, Any] = {}
    for path, method, operation in operations[:count]:
        paths.setdefault(path, {})[method] = operation
    return paths


def _operation(verb: str, noun: str, parameters: list[Any], responses: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": f"{verb}{noun.title()}",
        "summary": f"{verb.title()} {noun}",
        "description": f"Use it to {verb} a {noun}. It answers within a second, and tells who last changed it.",
        "tags": [noun],
        "parameters": parameters,
        "responses": responses | _ERRORS,
    }


def _resource(noun: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": f"A {noun} as the shop keeps it.",
        "properties": {
            "id": {"type": "string", "readOnly": True, "description": "Its number."},
            "state": {"$ref": "#/components/schemas/State"},
            "total": {"allOf": [{"$ref": "#/components/schemas/Money"}], "description": "With taxes."},
            "lines": {"type": "array", "items": {"$ref": "#/components/schemas/Line"}, "maxItems": 100},
            "address": {"$ref": "#/components/schemas/Address"},
            "note": {
                "type": ["string", "null"],
                "maxLength": 500,
                "description": f"What the customer said of the {noun}.",
            },
            "created": {"type": "string", "format": "date-time", "readOnly": True, "description": "When it was made."},
        },
        "required": ["state", "lines"],
    }


def _shared_schemas() -> dict[str, Any]:
    text = {"type": "string", "description": "As written."}
    return {
        "State": {"type": "string", "enum": ["open", "paid", "sent", "done"], "description": "How far it is."},
        "Money": {
            "type": "object",
            "properties": {"amount": {"type": "number", "minimum": 0}, "currency": {"type": "string", "pattern": "^[A-Z]{3}$"}},
            "required": ["amount", "currency"],
        },
        "Line": {
            "type": "object",
            "properties": {"sku": text, "count": {"type": "integer"}, "price": {"$ref": "#/components/schemas/Money"}},
            "required": ["sku", "count"],
        },
        "Address": {
            "type": "object",
            "properties": {"street": text, "city": text, "postcode": text, "country": {"type": "string", "minLength": 2}},
            "required": ["street", "city"],
        },
        "Problem": {"type": "object", "properties": {"title": text, "detail": text}},
    }  # fmt: skip


def _shared_parameters() -> dict[str, Any]:
    return {
        "limit": {
            "name": "limit",
            "in": "query",
            "schema": {"type": "integer", "maximum": 100},
            "description": "How many.",
        },
        "cursor": {"name": "cursor", "in": "query", "schema": {"type": "string"}, "description": "Where to go on."},
    }


def _shared_responses() -> dict[str, Any]:
    problem = _json({"$ref": "#/components/schemas/Problem"})
    return {
        "Missing": {"description": "There is none of that number.", "content": problem},
        "Busy": {"description": "Too many requests; wait a minute.", "content": problem},
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}

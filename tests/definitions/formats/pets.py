"""A small OpenAPI document about pets, and the tools that the format reads of a document."""

from __future__ import annotations

import json
from typing import Any

from ferrule.definitions.formats.openapi import FORMAT
from ferrule.model.tool import Tool

A_PET = {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}


NAMES = {"$ref": "#/components/schemas/Names"}


PETS: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pet Store", "version": "1.2.0"},
    "servers": [{"url": "https://pets.example.com/v1"}],
    "paths": {
        "/pets/{petId}": {
            "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {
                "operationId": "getPet",
                "summary": "Get a pet",
                "tags": ["pets"],
                "parameters": [{"name": "fields", "in": "query", "explode": False, "schema": NAMES}],
                "responses": {
                    "200": {"description": "It.", "content": A_PET},
                    "404": {"description": "No such pet."},
                },
                "security": [{"key": []}],
                "x-audience": "public",
            },
        },
        "/pets": {
            "post": {
                "description": "Adds a pet.",
                "deprecated": True,
                "requestBody": {"required": True, "content": A_PET},
                "responses": {"201": {"description": "Added."}},
            }
        },
    },
    "components": {
        "schemas": {
            "Pet": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "nullable": True, "example": "Rex"},
                    "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                    "mother": {"$ref": "#/components/schemas/Pet"},
                },
                "required": ["name"],
            },
            "Names": {"type": "array", "items": {"type": "string"}},
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    },
}  # fmt: skip


def read_back(value: Any, names: Any = None) -> list[Tool]:
    reading = FORMAT.read(json.loads(json.dumps(value)), "", names or {})
    return [each.tool for each in reading.tools]

"""The short way from a document to the definitions that come of it."""

from __future__ import annotations

import json
from typing import Any

from ferrule.app.imports.openapi import Files, OpenApiImport, OperationChoice, import_document
from ferrule.definitions.compiler.read import read
from ferrule.model.document import Source


def import_value(
    document: dict[str, Any], choice: OperationChoice | None = None, files: Files | None = None
) -> OpenApiImport:
    """The import of a document."""
    return import_document(json.dumps(document, indent=1).encode(), "openapi.json", choice, files=files)


def definitions(
    document: dict[str, Any], choice: OperationChoice | None = None, files: Files | None = None
) -> dict[str, Any]:
    """The front matters that come of a document, by tool id."""
    found: dict[str, Any] = {}
    for name, text in import_value(document, choice, files).files.items():
        [back] = read(Source(name, text.encode()))
        assert isinstance(back.value, dict)
        found[back.value["tool_id"]] = back.value
    return found


def import_one(
    operation: dict[str, Any], *, method: str = "post", path: str = "/x", version: str = "3.0.3", **root: Any
) -> Any:
    """The definition that comes of one operation."""
    document = {
        "openapi": version,
        "info": {"title": "T", "version": "1.0.0"},
        "servers": [{"url": "https://t.example.com"}],
        "paths": {path: {method: {"responses": {"200": {"description": "Fine."}}, **operation}}},
        **root,
    }
    [made] = definitions(document).values()
    return made


def body(schema: Any, media_type: str = "application/json", **rest: Any) -> dict[str, Any]:
    """An operation that sends something."""
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema, **rest}}}}


def components(**schemas: Any) -> dict[str, Any]:
    """Components with schemas."""
    return {"components": {"schemas": schemas}}


def member(schema: Any, version: str = "3.0.3", **root: Any) -> Any:
    """What a schema becomes as a member of a body."""
    made = import_one(body({"type": "object", "properties": {"a": schema}}), version=version, **root)
    return made["interface"]["input"]["properties"]["a"]

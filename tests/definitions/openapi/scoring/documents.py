"""The corpus: OpenAPI documents as real services have them. Small ones are files; large ones are made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CORPUS = Path(__file__).parent / "corpus"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
MANY = 1000


class Document(NamedTuple):
    """One document, as it would be fetched."""

    name: str
    data: bytes

    @property
    def is_broken(self) -> bool:
        """True for one that is wrong in places, or as a whole."""
        return self.name.startswith("broken-")

    @property
    def value(self) -> Any:
        """What it says, without a look at what it means; None when it cannot be read."""
        try:
            return _texts(yaml.load(self.data, Loader=_Plain))  # a safe loader without dates
        except yaml.YAMLError:
            return None


class _Plain(yaml.SafeLoader):
    """Dates stay texts, as in JSON."""


_Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def documents() -> list[Document]:
    """All of them, in the order of their names."""
    files = [Document(path.name, path.read_bytes()) for path in sorted(CORPUS.iterdir())]
    made = {"deep-allof.json": deep(), "huge-enum.json": huge_enum(), "thousand.json": thousand()}
    found = [*files, *(Document(name, json.dumps(value).encode()) for name, value in made.items())]
    return sorted(found, key=lambda document: document.name)


def thousand() -> dict[str, Any]:
    """A thousand operations of the kind that large companies have."""
    paths: dict[str, Any] = {}
    for number in range(MANY // 5):
        name = f"thing{number}"
        ref = {"$ref": f"#/components/schemas/Thing{number % 40}"}
        one = {"200": {"description": "One.", "content": {"application/json": {"schema": ref}}}}
        key = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        page = {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}}
        listed = {"type": "object", "properties": {"items": {"type": "array", "items": ref}}, "required": ["items"]}
        several = {"200": {"description": "Some.", "content": {"application/json": {"schema": listed}}}}
        body = {"required": True, "content": {"application/json": {"schema": ref}}}
        tags = [f"group{number % 20}"]
        paths[f"/{name}"] = {
            "get": {
                "operationId": f"list_{name}",
                "tags": tags,
                "summary": "Lists things.",
                "parameters": [page],
                "responses": several,
            },
            "post": {
                "operationId": f"create_{name}",
                "tags": tags,
                "summary": "Makes one.",
                "requestBody": body,
                "responses": one,
            },
        }
        paths[f"/{name}/{{id}}"] = {
            "parameters": [key],
            "get": {"operationId": f"get_{name}", "tags": tags, "summary": "Reads one.", "responses": one},
            "put": {
                "operationId": f"replace_{name}",
                "tags": tags,
                "summary": "Writes one.",
                "requestBody": body,
                "responses": one,
            },
            "delete": {
                "operationId": f"remove_{name}",
                "tags": tags,
                "summary": "Removes one.",
                "responses": {"204": {"description": "Gone."}},
            },
        }
    schemas = {
        f"Thing{number}": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "id": {"type": "string", "readOnly": True},
                "name": {"type": "string", "minLength": 1},
                **{f"field{index}": {"type": "string" if index % 2 else "integer"} for index in range(number % 9)},
            },
        }
        for number in range(40)
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Everything", "version": "1"},
        "servers": [{"url": "https://everything.example/api"}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


def deep() -> dict[str, Any]:
    """A schema that is put together from thirty others, each of which extends the one before."""
    schemas: dict[str, Any] = {
        "Level0": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    }
    for number in range(1, 31):
        own = {"type": "object", "properties": {f"field{number}": {"type": "string", "maxLength": 9}}}
        schemas[f"Level{number}"] = {"allOf": [{"$ref": f"#/components/schemas/Level{number - 1}"}, own]}
    top = {"application/json": {"schema": {"$ref": "#/components/schemas/Level30"}}}
    operation = {
        "operationId": "putLevels",
        "summary": "Stores all levels.",
        "requestBody": {"required": True, "content": top},
        "responses": {"200": {"description": "Stored.", "content": top}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Levels", "version": "1.0.0"},
        "servers": [{"url": "https://levels.example"}],
        "paths": {"/levels": {"put": operation}},
        "components": {"schemas": schemas},
    }


def huge_enum() -> dict[str, Any]:
    """A parameter with two thousand values, and a body with as many."""
    zone = {"type": "string", "enum": [f"Zone/City_{number}" for number in range(2000)]}
    answer = {
        "type": "object",
        "properties": {"zone": {"$ref": "#/components/schemas/Zone"}, "offset": {"type": "integer"}},
    }
    listed = {"type": "array", "maxItems": 3, "items": {"$ref": "#/components/schemas/Zone"}}
    body = {"type": "object", "required": ["zones"], "properties": {"zones": listed}}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Time zones", "version": "2024a"},
        "servers": [{"url": "https://zones.example/tz"}],
        "paths": {
            "/offset": {
                "get": {
                    "operationId": "offset",
                    "parameters": [
                        {
                            "name": "zone",
                            "in": "query",
                            "required": True,
                            "schema": {"$ref": "#/components/schemas/Zone"},
                        }
                    ],
                    "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": answer}}}},
                }
            },
            "/favourites": {
                "put": {
                    "operationId": "favourites",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                    "responses": {"204": {"description": "kept"}},
                }
            },
        },
        "components": {"schemas": {"Zone": zone}},
    }


def _texts(value: Any, depth: int = 0) -> Any:
    """With texts as keys, as JSON has them."""
    if isinstance(value, dict) and depth < 90:
        return {str(key): _texts(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list) and depth < 90:
        return [_texts(inner, depth + 1) for inner in value]
    return value

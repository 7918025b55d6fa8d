"""Documents of every version that use most of what OpenAPI has, for tests that change them or look at what comes of them."""

from __future__ import annotations

from typing import Any

SCHEMAS: dict[str, Any] = {
    "Pet": {
        "type": "object",
        "description": "A pet.",
        "required": ["id", "name"],
        "properties": {
            "id": {"type": "integer", "format": "int64", "readOnly": True},
            "name": {"type": "string", "minLength": 1, "maxLength": 40, "example": "Rex"},
            "secret": {"type": "string", "format": "password", "writeOnly": True},
            "kind": {"type": "string", "enum": ["cat", "dog"], "x-enum-descriptions": {"cat": "Purrs", "dog": "Barks"}},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 5},
            "weight": {"type": "number", "minimum": 0, "multipleOf": 0.5},
            "born": {"type": "string", "format": "date"},
            "homepage": {"type": "string", "format": "hostname"},
            "mother": {"$ref": "#/components/schemas/Pet"},
            "extra": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    "Base": {
        "type": "object",
        "discriminator": {"propertyName": "type", "mapping": {"card": "#/components/schemas/Card", "cash": "Cash"}},
        "properties": {"type": {"type": "string"}, "amount": {"type": "integer"}},
        "required": ["type"],
    },
    "Card": {
        "allOf": [
            {"$ref": "#/components/schemas/Base"},
            {"type": "object", "properties": {"number": {"type": "string"}}},
        ]
    },
    "Cash": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "required": ["coins"]}]},
    "Payment": {
        "oneOf": [{"$ref": "#/components/schemas/Card"}, {"$ref": "#/components/schemas/Cash"}],
        "discriminator": {"propertyName": "type", "mapping": {"card": "#/components/schemas/Card"}},
    },
    "Error": {"type": "object", "properties": {"code": {"type": "integer"}, "message": {"type": "string"}}},
}

JSON = "application/json"


def answer(schema: Any, description: str = "Fine.") -> dict[str, Any]:
    """A response with a JSON body."""
    return {"description": description, "content": {JSON: {"schema": schema}}}


def ref(name: str) -> dict[str, str]:
    """A reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


SHOP: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pet Shop API", "version": "2.1.0", "contact": {"name": "Shop team"}},
    "servers": [
        {
            "url": "https://{region}.shop.example.com/v2/",
            "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}},
        },
        {"url": "https://test.shop.example.com", "description": "Test"},
    ],
    "security": [{"key": []}],
    "tags": [{"name": "pets"}],
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "summary": "List pets",
                "description": "Gives **all** pets. Newest first.",
                "tags": ["pets"],
                "parameters": [
                    {"$ref": "#/components/parameters/limit"},
                    {"name": "cursor", "in": "query", "schema": {"type": "string"}},
                    {
                        "name": "ids",
                        "in": "query",
                        "explode": False,
                        "schema": {"type": "array", "items": {"type": "integer"}},
                    },
                    {
                        "name": "filter",
                        "in": "query",
                        "style": "deepObject",
                        "explode": True,
                        "schema": {"type": "object"},
                    },
                    {"name": "$sort", "in": "query", "schema": {"type": "string", "default": "name"}},
                    {"name": "box", "in": "query", "content": {JSON: {"schema": {"type": "object"}}}},
                    {"name": "X-Request-ID", "in": "header", "schema": {"type": "string", "format": "uuid"}},
                    {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                ],
                "responses": {
                    "200": {
                        **answer(
                            {
                                "type": "object",
                                "properties": {
                                    "items": {"type": "array", "items": ref("Pet")},
                                    "next_cursor": {"type": "string"},
                                },
                            }
                        ),
                        "headers": {"Link": {"schema": {"type": "string"}}},
                    },
                    "429": {"description": "Too many calls."},
                    "default": answer(ref("Error"), "Anything else."),
                },
            },
            "post": {
                "operationId": "createPet",
                "summary": "Create a pet",
                "requestBody": {
                    "required": True,
                    "content": {
                        JSON: {"schema": ref("Pet"), "example": {"name": "Rex"}},
                        "application/xml": {"schema": ref("Pet")},
                    },
                },
                "responses": {"201": answer(ref("Pet")), "422": {"$ref": "#/components/responses/Invalid"}},
                "security": [{"oauth": ["write"]}, {}],
            },
        },
        "/pets/{petId}": {
            "parameters": [
                {
                    "name": "petId",
                    "in": "path",
                    "required": True,
                    "schema": {"type": "integer"},
                    "description": "Which pet.",
                }
            ],
            "get": {"responses": {"200": answer(ref("Pet")), "404": {"description": "No such pet."}}, "tags": ["pets"]},
            "put": {
                "requestBody": {
                    "required": True,
                    "content": {
                        JSON: {"schema": {"allOf": [ref("Pet"), {"properties": {"petId": {"type": "string"}}}]}}
                    },
                },
                "responses": {"200": answer(ref("Pet"))},
            },
            "delete": {
                "deprecated": True,
                "responses": {"204": {"description": "Gone."}},
                "security": [{"user": [], "key": []}],
            },
        },
        "/pets/{petId}/photos": {
            "get": {
                "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "responses": {"200": answer({"type": "array", "items": {"type": "string", "format": "uri"}})},
            },
            "post": {
                "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "requestBody": {
                    "required": True,
                    "content": {
                        "multipart/form-data": {
                            "schema": {
                                "type": "object",
                                "required": ["file"],
                                "properties": {
                                    "file": {"type": "string", "format": "binary"},
                                    "more": {"type": "array", "items": {"type": "string", "format": "binary"}},
                                    "caption": {"type": "string"},
                                    "meta": {"type": "object", "properties": {"a": {"type": "integer"}}},
                                },
                            },
                            "encoding": {
                                "file": {"contentType": "image/png, image/jpeg"},
                                "meta": {"contentType": "application/json"},
                            },
                        }
                    },
                },
                "responses": {
                    "200": {"description": "Kept.", "content": {"text/plain": {"schema": {"type": "string"}}}}
                },
            },
        },
        "/payments": {
            "post": {
                "operationId": "pay",
                "requestBody": {"content": {JSON: {"schema": ref("Payment")}}},
                "responses": {"200": answer(ref("Base")), "202": answer({"type": "array", "items": {}})},
            },
            "patch": {
                "operationId": "pay",
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": {
                                "type": "object",
                                "properties": {
                                    "a": {"type": "array", "items": {"type": "string"}},
                                    "o": {"type": "object"},
                                },
                            },
                            "encoding": {
                                "a": {"style": "form", "explode": False},
                                "o": {"style": "deepObject", "explode": True},
                            },
                        }
                    }
                },
                "responses": {"2XX": {"description": "Fine."}, "4XX": {"description": "Not fine."}},
            },
        },
        "/files/{name}": {
            "put": {
                "parameters": [
                    {"name": "name", "in": "path", "required": True, "style": "label", "schema": {"type": "string"}}
                ],
                "requestBody": {"required": True, "content": {"application/octet-stream": {}}},
                "responses": {"200": {"description": "Kept."}},
            },
            "get": {
                "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "The file.", "content": {"application/pdf": {}}}},
            },
        },
    },
    "components": {
        "schemas": SCHEMAS,
        "parameters": {
            "limit": {"name": "limit", "in": "query", "schema": {"type": "integer", "default": 20, "maximum": 100}}
        },
        "responses": {"Invalid": answer(ref("Error"), "Not valid.")},
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "query", "name": "api_key"},
            "user": {"type": "http", "scheme": "basic"},
            "oauth": {
                "type": "oauth2",
                "flows": {
                    "clientCredentials": {"tokenUrl": "https://login.example.com/token", "scopes": {"write": ""}}
                },
            },
        },
    },
}

SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Old Shop", "version": "1"},
    "host": "old.example.com",
    "basePath": "/api",
    "schemes": ["http", "https"],
    "consumes": [JSON],
    "produces": [JSON],
    "securityDefinitions": {
        "user": {"type": "basic"},
        "flow": {"type": "oauth2", "flow": "accessCode", "tokenUrl": "https://x/t"},
    },
    "security": [{"user": []}],
    "paths": {
        "/orders": {
            "get": {
                "parameters": [
                    {
                        "name": "status",
                        "in": "query",
                        "type": "array",
                        "items": {"type": "string"},
                        "collectionFormat": "multi",
                    },
                    {"name": "ids", "in": "query", "type": "array", "items": {"type": "integer"}},
                    {
                        "name": "cols",
                        "in": "query",
                        "type": "array",
                        "items": {"type": "string"},
                        "collectionFormat": "pipes",
                    },
                ],
                "responses": {
                    "200": {
                        "description": "All.",
                        "schema": {"type": "array", "items": {"$ref": "#/definitions/Order"}},
                    }
                },
            },
            "post": {
                "parameters": [
                    {"name": "order", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Order"}}
                ],
                "responses": {"200": {"description": "Made.", "schema": {"$ref": "#/definitions/Order"}}},
            },
        },
        "/upload": {
            "post": {
                "operationId": "upload",
                "consumes": ["multipart/form-data"],
                "parameters": [
                    {"name": "file", "in": "formData", "type": "file", "required": True},
                    {"name": "note", "in": "formData", "type": "string"},
                ],
                "responses": {"200": {"description": "Kept."}},
            }
        },
    },
    "definitions": {
        "Order": {
            "type": "object",
            "discriminator": "kind",
            "required": ["kind"],
            "properties": {"kind": {"type": "string"}, "total": {"type": "number", "x-nullable": True}},
        },
        "Big": {
            "allOf": [{"$ref": "#/definitions/Order"}, {"type": "object", "properties": {"size": {"type": "integer"}}}]
        },
    },
}

NEWER: dict[str, Any] = {
    "openapi": "3.2.0",
    "$self": "https://example.com/newer.json",
    "info": {"title": "Newer", "version": "3.0.0"},
    "servers": [{"url": "/v3", "name": "here"}],
    "tags": [{"name": "a", "kind": "nav", "parent": "b"}],
    "paths": {
        "/search": {
            "query": {
                "requestBody": {
                    "required": True,
                    "content": {JSON: {"schema": {"type": "object", "properties": {"q": {"type": "string"}}}}},
                },
                "responses": {
                    "200": {"summary": "Found.", "content": {"application/jsonl": {"itemSchema": {"type": "object"}}}}
                },
            },
            "get": {
                "parameters": [
                    {
                        "name": "all",
                        "in": "querystring",
                        "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}},
                    }
                ],
                "responses": {
                    "200": {
                        "description": "Found.",
                        "content": {
                            JSON: {"schema": {"$ref": "https://example.com/newer.json#/components/schemas/Found"}}
                        },
                    }
                },
            },
            "additionalOperations": {"LINK": {"responses": {"200": {"description": "Linked."}}}},
        }
    },
    "components": {
        "schemas": {
            "Found": {
                "type": ["object", "null"],
                "properties": {
                    "a": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                    "b": {"$ref": "#/components/schemas/Small", "description": "Another b."},
                    "c": {"type": "array", "prefixItems": [{"type": "string"}]},
                    "d": {"const": 3},
                    "e": {"$ref": "#small"},
                },
            },
            "Small": {"$anchor": "small", "type": "string", "examples": ["x"]},
        }
    },
    "webhooks": {"ping": {"post": {"responses": {}}}},
}

ALL = (SHOP, SWAGGER, NEWER)

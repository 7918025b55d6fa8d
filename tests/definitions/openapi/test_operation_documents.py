"""An operation of any version alone in a 3.1 document, with the schemas and schemes it needs and no others."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.operation_documents import (
    ModernWriter,
    choose_version,
    insert_operation,
    locate_operation,
)
from tests.definitions.openapi.importing import body
from tests.definitions.openapi.operations import document_of, operation_of


def write_alone(operation: dict[str, Any], *schemes: str, server: str = "", **more: Any) -> dict[str, Any]:
    document = document_of(operation, **more)
    return ModernWriter(document).write_document(operation_of(document), server, schemes)


def sent(made: dict[str, Any]) -> Any:
    return made["paths"]["/pets"]["post"]["requestBody"]["content"]["application/json"]["schema"]


def test_only_the_schemas_that_are_needed_come_along() -> None:
    schemas = {
        "Pet": {"type": "object", "properties": {"toy": {"$ref": "#/components/schemas/Toy"}}},
        "Toy": {"type": "string"},
        "Other": {"type": "string"},
    }
    made = write_alone(body({"$ref": "#/components/schemas/Pet"}), components={"schemas": schemas})
    assert sent(made) == {"$ref": "#/components/schemas/Pet"}
    assert sorted(made["components"]["schemas"]) == ["Pet", "Toy"]
    assert made["openapi"] == "3.1.1"


def test_a_reference_that_leads_nowhere_is_taken_out() -> None:
    made = write_alone(body({"$ref": "#/components/schemas/Gone", "description": "Left."}))
    assert sent(made) == {"description": "Left."}
    assert "components" not in made


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"nullable": True, "allOf": []}, {"anyOf": [{"allOf": []}, {"type": "null"}]}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
        ({"example": "x"}, {"examples": ["x"]}),
    ],
)
def test_words_of_older_versions_are_those_of_3_1(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert sent(write_alone(body(old), version="3.0.3")) == new
    assert sent(write_alone(body(old), version="3.1.0")) == old


def test_security_schemes_of_swagger_are_renewed() -> None:
    known = {
        "plain": {"type": "basic"},
        "login": {"type": "oauth2", "flow": "accessCode", "tokenUrl": "https://id.example.com", "scopes": {"read": ""}},
        "other": {"type": "basic"},
    }
    made = write_alone({}, "plain", "login", version="2.0", securityDefinitions=known)
    flow = {"tokenUrl": "https://id.example.com", "scopes": {"read": ""}}
    assert made["components"]["securitySchemes"] == {
        "plain": {"type": "http", "scheme": "basic"},
        "login": {"type": "oauth2", "flows": {"authorizationCode": flow}},
    }


def test_a_usual_style_is_not_said_and_an_unusual_one_is() -> None:
    usual = {"name": "a", "in": "query", "style": "form", "explode": True, "schema": {"type": "string"}}
    odd = {"name": "b", "in": "query", "style": "pipeDelimited", "schema": {"type": "array"}}
    first, second = write_alone({"parameters": [usual, odd]})["paths"]["/pets"]["post"]["parameters"]
    assert first == {"name": "a", "in": "query", "schema": {"type": "string"}}
    assert second["style"] == "pipeDelimited" and "explode" not in second


def test_own_words_come_along_but_for_those_of_ferrule() -> None:
    made = write_alone({"x-audience": "public", "x-ferrule": {}}, server="https://pets.example.com")
    operation = made["paths"]["/pets"]["post"]
    assert operation["x-audience"] == "public" and "x-ferrule" not in operation
    assert operation["responses"] == {"default": {"description": "What the service answers."}}
    assert made["servers"] == [{"url": "https://pets.example.com"}]


def test_a_method_that_only_3_2_knows_stands_where_3_2_has_it() -> None:
    item: dict[str, Any] = {}
    insert_operation(item, "PURGE", {"a": 1})
    insert_operation(item, "GET", {"b": 2})
    assert item == {"additionalOperations": {"PURGE": {"a": 1}}, "get": {"b": 2}}
    assert locate_operation("/x", "PURGE") == ("paths", "/x", "additionalOperations", "PURGE")
    assert locate_operation("/x", "GET") == ("paths", "/x", "get")


def test_the_newer_version_is_named_only_where_it_is_needed() -> None:
    assert choose_version("GET", {}) == "3.1.1"
    assert choose_version("QUERY", {}) == "3.2.0"
    assert choose_version("GET", {"parameters": [{"in": "querystring"}]}) == "3.2.0"

"""Responses become an output, which is always an object, and a table of errors."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.responses import ResponsePlan, has_list, is_object, plan_response
from tests.definitions.openapi.operations import messages, read_all

PET = {"type": "object", "properties": {"name": {"type": "string"}}}


def answers(responses: dict[str, Any], method: str = "post") -> ResponsePlan:
    return plan_response(*read_all({"responses": responses}, method=method))


def json_answer(schema: Any) -> dict[str, Any]:
    return {"description": "Here", "content": {"application/json": {"schema": schema}}}


def test_an_object_is_given_as_it_is() -> None:
    made = answers({"200": json_answer(PET)})
    assert list(made.schema["properties"]) == ["name"]
    assert (made.transport, made.is_list) == ({}, False)


@pytest.mark.parametrize(("schema", "member"), [({"type": "array"}, "items"), ({"type": "string"}, "value")])
def test_anything_else_is_put_into_a_member(schema: Any, member: str) -> None:
    made = answers({"200": json_answer(schema)})
    assert made.schema["required"] == [member]
    assert made.schema["properties"][member]["description"] == "Here."
    assert made.transport == {"x-response": {"as": member}}
    assert made.is_list is (member == "items")


def test_two_objects_are_alternatives() -> None:
    made = answers({"200": json_answer(PET), "201": json_answer({"type": "object", "properties": {"id": {}}})})
    assert made.schema["type"] == "object" and len(made.schema["anyOf"]) == 2


def test_text_is_asked_for_and_put_into_a_member() -> None:
    made = answers({"200": {"description": "A table.", "content": {"text/csv": {}}}})
    assert made.schema["properties"]["text"] == {"type": "string", "description": "A table."}
    assert made.transport == {"x-headers": {"Accept": "text/csv"}}


def test_of_several_types_json_is_taken_and_the_choice_is_told() -> None:
    content = {"image/png": {}, "application/json": {"schema": PET}}
    document, schemas, operation = read_all({"responses": {"200": {"description": "It.", "content": content}}})
    assert "properties" in plan_response(document, schemas, operation).schema
    assert messages(document) == ["of several media types, application/json is used; not: image/png"]


@pytest.mark.parametrize(
    ("status", "method", "transport"),
    [
        ("204", "post", {}),
        ("200", "post", {"x-response": {"as": "value"}}),
        ("200", "get", {"x-response": {"as": "value", "empty": True}}),
    ],
)
def test_an_answer_without_a_body_is_an_open_object(status: str, method: str, transport: dict[str, Any]) -> None:
    made = answers({status: {"description": "Done."}}, method)
    assert (made.schema, made.transport) == ({"type": "object"}, transport)


def test_errors_say_what_they_mean_and_what_to_do() -> None:
    made = answers({"404": {"description": "No such pet"}, "5XX": {}, "418": {}, "default": {}, "200": {}})
    assert list(made.errors) == ["404", "418", "500"]
    assert made.errors["404"]["meaning"] == "No such pet."
    assert made.errors["418"]["meaning"] == "I'm a Teapot."
    assert made.errors["418"]["agent_action"].startswith("Check the arguments")
    assert made.errors["500"]["agent_action"].startswith("Do not repeat it")


def test_an_object_may_be_said_by_alternatives() -> None:
    assert is_object({"anyOf": [{"type": "object"}, {"type": "object"}]})
    assert not is_object({"anyOf": [{"type": "object"}, {"type": "string"}]})
    assert not is_object({"type": ["object", "null"]})


def test_an_object_with_a_list_among_its_members_holds_a_list() -> None:
    assert has_list({"properties": {"next": {"type": "string"}, "pets": {"type": "array"}}})
    assert not has_list(PET)

"""Parameters and body become one object of arguments, and each of them knows where it goes."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.arguments import RequestPlan, plan_request
from ferrule.definitions.openapi.references import Broken
from tests.definitions.openapi.importing import body
from tests.definitions.openapi.operations import messages, read_all

TEXT = {"type": "string"}


def parameter(name: str, place: str = "query", schema: Any = TEXT, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, **more}


def plan_arguments(*parameters: dict[str, Any], **operation: Any) -> RequestPlan:
    more = {key: operation.pop(key) for key in ("method", "path") if key in operation}
    return plan_request(*read_all({"parameters": list(parameters), **operation}, **more))


def test_of_two_arguments_with_one_name_the_later_is_told_by_its_place() -> None:
    made = plan_arguments(
        parameter("id", "query"),
        parameter("id", "path"),
        path="/pets/{id}",
        **body({"type": "object", "properties": {"id": TEXT}, "required": ["id"]}),
    )
    assert list(made.schema["properties"]) == ["id", "id_in_query", "id_in_body"]
    assert made.schema["required"] == ["id", "id_in_body"]
    assert made.transport["x-mapping"] == {
        "id_in_query": {"in": "query", "name": "id"},
        "id_in_body": {"in": "body", "name": "id"},
    }
    assert made.body_arguments == {"id_in_body": "id"}


def test_a_name_that_no_argument_may_have_is_made_legal() -> None:
    made = plan_arguments(parameter("X-Trace Id", "header"), parameter("2nd", "query"), method="get")
    assert list(made.schema["properties"]) == ["_2nd", "x_trace_id"]
    assert made.transport["x-mapping"]["x_trace_id"] == {"in": "header", "name": "X-Trace Id"}


def test_headers_that_the_sender_sets_are_no_arguments() -> None:
    document, schemas, operation = read_all({"parameters": [parameter("Host", "header")]})
    assert "properties" not in plan_request(document, schemas, operation).schema
    assert messages(document) == ["the header 'Host' is set by the HTTP client; it is ignored"]


def test_a_place_in_the_path_that_nobody_describes_is_text() -> None:
    made = plan_arguments(method="get", path="/pets/{petId}")
    assert made.schema["properties"] == {"petId": {"type": "string", "description": "Pet id."}}
    assert made.schema["required"] == ["petId"]


@pytest.mark.parametrize(
    ("style", "explode", "schema", "said"),
    [
        ("form", True, {"type": "array"}, None),
        ("form", False, {"type": "array"}, "comma"),
        ("form", False, {"type": "object"}, "form"),
        ("form", True, {"type": "object"}, "form-exploded"),
        ("pipeDelimited", False, {"type": "array"}, "pipe"),
        ("deepObject", True, {"type": "object"}, "deep"),
        ("form", False, TEXT, None),
    ],
)
def test_the_style_of_a_query_parameter_is_said_where_it_is_not_the_usual(
    style: str, explode: bool, schema: Any, said: str | None
) -> None:
    made = plan_arguments(parameter("q", "query", schema, style=style, explode=explode), method="get")
    assert made.transport.get("x-mapping", {}).get("q", {}).get("style") == said


def test_a_body_that_must_be_sent_with_get_refuses_the_operation() -> None:
    with pytest.raises(Broken, match="GET requests have none"):
        plan_arguments(method="get", **body(TEXT))


def test_a_body_that_may_be_sent_with_get_is_left_out_and_told() -> None:
    optional = {"requestBody": {"content": {"application/json": {"schema": TEXT}}}}
    document, schemas, operation = read_all(optional, method="get")
    made = plan_request(document, schemas, operation)
    assert (made.media_type, made.body_arguments) == ("", {})
    assert "is ignored" in messages(document)[0]


def test_a_parameters_own_words_win_over_those_of_its_schema() -> None:
    made = plan_arguments(
        parameter(
            "q",
            "query",
            {**TEXT, "description": "Of the schema."},
            description="Its own.",
            example="x",
            deprecated=True,
        )
    )
    assert made.schema["properties"]["q"]["description"] == 'Its own. Deprecated. Example: "x".'

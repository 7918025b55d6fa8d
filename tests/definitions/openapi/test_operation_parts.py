"""Parameters, bodies and answers of every version are read into one shape."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.operation_parts import read_answers, read_body, read_parameters
from tests.definitions.openapi.operations import document_of, heading_of, messages


def parameters(*written: Any, version: str = "3.1.0") -> tuple[list[tuple[str, str, bool]], list[str]]:
    document = document_of({"parameters": list(written)}, version=version)
    found = read_parameters(document, heading_of(document))
    return [(each.name, each.style, each.explode) for each in found], messages(document)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"in": "query"}, ("q", "form", True)),
        ({"in": "header"}, ("q", "simple", False)),
        ({"in": "query", "style": "pipeDelimited"}, ("q", "pipeDelimited", False)),
        ({"in": "query", "explode": False}, ("q", "form", False)),
    ],
)
def test_a_parameter_without_a_style_has_the_usual_one(
    written: dict[str, Any], expected: tuple[str, str, bool]
) -> None:
    assert parameters({"name": "q", **written}) == ([expected], [])


@pytest.mark.parametrize(
    ("collection", "style", "explode"),
    [("multi", "form", True), ("ssv", "spaceDelimited", False), (None, "form", False)],
)
def test_collections_of_swagger_are_styles(collection: str | None, style: str, explode: bool) -> None:
    written = {"name": "q", "in": "query", "type": "array"} | ({"collectionFormat": collection} if collection else {})
    assert parameters(written, version="2.0") == ([("q", style, explode)], [])


def test_a_style_that_is_none_is_told_and_the_usual_one_taken() -> None:
    found, told = parameters({"name": "q", "in": "query", "style": "wavy"})
    assert found == [("q", "form", True)]
    assert told == ["'wavy' is no style; 'form' is used"]


def test_a_parameter_without_name_or_place_is_passed_over() -> None:
    found, told = parameters({"in": "query"}, {"name": "q", "in": "nowhere"}, {"name": "fine", "in": "query"})
    assert [name for name, _, _ in found] == ["fine"] and len(told) == 2


def test_headers_that_openapi_takes_out_are_no_parameters() -> None:
    assert parameters({"name": "Authorization", "in": "header"}) == ([], [])


def test_an_operations_own_parameter_takes_the_place_of_its_paths() -> None:
    shared = {"name": "q", "in": "query", "description": "Shared."}
    own = {"name": "q", "in": "query", "description": "Own."}
    document = document_of(paths={"/pets": {"parameters": [shared], "get": {"parameters": [own]}}})
    assert [each.description for each in read_parameters(document, heading_of(document))] == ["Own."]


def test_a_form_of_swagger_is_a_body() -> None:
    fields = [
        {"name": "photo", "in": "formData", "type": "file", "required": True},
        {"name": "tags", "in": "formData", "type": "array", "collectionFormat": "pipes"},
    ]
    document = document_of({"parameters": fields}, version="2.0")
    body = read_body(document, heading_of(document))
    assert body is not None and body.is_required
    (media,) = body.media
    assert media.media_type == "multipart/form-data"
    assert media.schema["properties"]["photo"] == {"type": "string", "format": "binary"}
    assert media.encoding == {"tags": {"style": "pipeDelimited", "explode": False}}
    assert read_parameters(document, heading_of(document)) == ()


def test_a_body_of_swagger_has_every_type_that_is_consumed() -> None:
    whole = {"name": "pet", "in": "body", "schema": {"type": "object"}}
    document = document_of({"parameters": [whole]}, version="2.0", consumes=["application/json", "application/xml"])
    body = read_body(document, heading_of(document))
    assert body is not None and not body.is_required
    assert [media.media_type for media in body.media] == ["application/json", "application/xml"]


def test_a_broken_answer_takes_no_other_with_it() -> None:
    responses = {"200": {"description": "Fine.", "headers": {"Link": {}}}, "404": {"$ref": "#/gone"}, "x-note": {}}
    document = document_of({"responses": responses})
    (answer,) = read_answers(document, heading_of(document))
    assert (answer.status, answer.description, answer.headers) == ("200", "Fine.", ("link",))
    assert len(document.findings) == 1


def test_a_stream_of_items_is_a_sequence() -> None:
    content = {"application/jsonl": {"itemSchema": {"type": "string"}, "examples": {"a": {"dataValue": "x"}}}}
    document = document_of({"responses": {"200": {"description": "", "content": content}}}, version="3.2.0")
    ((media,),) = (answer.media for answer in read_answers(document, heading_of(document)))
    assert (media.is_sequence, media.schema, media.examples) == (True, {"type": "string"}, ("x",))

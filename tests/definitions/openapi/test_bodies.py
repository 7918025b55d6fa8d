"""How a body is written: which of its media types is taken, and when its members are arguments of their own."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.bodies import BodyPlan, classify_media_type, is_file, is_flat, plan_body
from ferrule.definitions.openapi.references import Broken
from tests.definitions.openapi.operations import messages, read_all

PET = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}


def plan_content(content: dict[str, Any], is_required: bool = True) -> tuple[BodyPlan | None, list[str]]:
    document, schemas, operation = read_all({"requestBody": {"required": is_required, "content": content}})
    assert operation.body is not None
    return plan_body(document, schemas, operation.body, "POST /pets"), messages(document)


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("application/json; charset=utf-8", "json"),
        ("application/problem+json", "json"),
        ("*/*", "json"),
        ("application/x-www-form-urlencoded", "form"),
        ("multipart/form-data", "multipart"),
        ("multipart/mixed", ""),
        ("text/csv", "text"),
        ("image/svg+xml", "text"),
        ("image/png", "binary"),
    ],
)
def test_a_media_type_is_one_of_a_few_kinds(media_type: str, kind: str) -> None:
    assert classify_media_type(media_type) == kind


def test_json_is_taken_before_all_others_and_they_are_told() -> None:
    plan, told = plan_content({"image/png": {}, "text/plain": {}, "application/json": {"schema": PET}})
    assert plan is not None and (plan.kind, plan.content_type) == ("json", "")
    assert told == ["of several bodies, application/json is sent; not: text/plain, image/png"]


def test_an_unusual_type_of_a_kind_is_said_in_a_header() -> None:
    plan, _ = plan_content({"application/vnd.pets+json": {"schema": PET}})
    assert plan is not None and plan.content_type == "application/vnd.pets+json"


def test_members_of_an_object_stand_for_themselves() -> None:
    plan, _ = plan_content({"application/json": {"schema": PET}})
    assert plan is not None
    assert [(member.name, member.is_required, member.placement) for member in plan.members] == [
        ("name", True, {}),
        ("age", False, {}),
    ]


def test_an_object_that_may_be_left_out_but_not_by_halves_stays_whole() -> None:
    plan, _ = plan_content({"application/json": {"schema": PET}}, is_required=False)
    assert plan is not None
    assert [(member.name, member.is_required, member.placement) for member in plan.members] == [
        ("body", False, {"whole": True})
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (PET, True),
        ({**PET, "type": ["object", "null"]}, True),
        ({**PET, "additionalProperties": True}, False),
        ({**PET, "oneOf": [{}]}, False),
        ({"type": "object"}, False),
        ({"type": "array"}, False),
    ],
)
def test_only_plain_closed_objects_are_flat(schema: dict[str, Any], expected: bool) -> None:
    assert is_flat(schema) is expected


def test_a_kind_that_cannot_be_written_refuses_a_body_that_must_be_sent() -> None:
    with pytest.raises(Broken, match="multipart/mixed, which is not supported"):
        plan_content({"multipart/mixed": {}})
    plan, told = plan_content({"multipart/mixed": {}}, is_required=False)
    assert plan is None and told == ["the body of POST /pets is multipart/mixed; it is ignored"]


def test_a_part_of_bytes_is_an_attachment_and_any_other_a_value() -> None:
    properties = {"photo": {}, "note": {"type": "string"}}
    encoding = {"photo": {"contentType": "image/png"}}
    plan, _ = plan_content(
        {"multipart/form-data": {"schema": {"type": "object", "properties": properties}, "encoding": encoding}}
    )
    assert plan is not None
    photo, note = plan.members
    assert photo.placement == {"in": "file", "content_type": "image/png"}
    assert photo.schema["properties"]["mime_type"]["enum"] == ["image/png"]
    assert (note.schema["type"], note.placement) == ("string", {})


@pytest.mark.parametrize(
    ("schema", "types", "expected"),
    [
        ({"type": "string", "contentMediaType": "image/png"}, (), True),
        ({"type": "string", "contentMediaType": "text/csv"}, (), False),
        ({"type": "string", "contentEncoding": "base64"}, ("image/png",), False),
        ({}, ("image/png",), True),
        ({}, (), False),
        ({"type": "object"}, ("image/png",), False),
    ],
)
def test_bytes_as_they_are_make_a_file(schema: dict[str, Any], types: tuple[str, ...], expected: bool) -> None:
    assert is_file(schema, types) is expected

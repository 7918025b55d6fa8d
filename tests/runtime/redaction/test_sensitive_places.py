"""Where sensitive members stand: listed in a contract, or marked in a schema at any depth."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.runtime.redaction.sensitive_input import REDACTED
from tests.runtime.pipeline.arguments.contracts import fields
from tests.runtime.redaction.masking import SECRET, TEXT, mask_by_schema


@pytest.mark.parametrize(
    "listed", ["card", "pay.card", "/pay/card", "$.pay.card", "pay[].card", "pay.*.card", "pay[0].card"]
)
def test_listed_fields_are_found_in_every_spelling(listed: str) -> None:
    """AT-84: `sensitive_fields` of the input contract."""
    paid = {"card": "4111", "name": "Ann"}
    value: dict[str, Any] = {"pay": paid if listed in ("/pay/card", "$.pay.card") else [paid]}
    found = mask_by_schema({"type": "object"}, value, sensitive_fields=[listed])
    assert "4111" not in str(found)
    assert "Ann" in str(found)


def test_a_path_masks_its_place_and_a_name_masks_every_place() -> None:
    value = {"card": "1", "pay": {"card": "2"}}
    assert mask_by_schema({"type": "object"}, value, sensitive_fields=["/pay/card"]) == {
        "card": "1",
        "pay": {"card": REDACTED},
    }
    assert mask_by_schema({"type": "object"}, value, sensitive_fields=["card"]) == {
        "card": REDACTED,
        "pay": {"card": REDACTED},
    }


@pytest.mark.parametrize("mark", [{"sensitive": True}, {"writeOnly": True}, {"format": "password"}])
def test_marked_properties_are_found_at_any_depth(mark: dict[str, Any]) -> None:
    leaf = {"type": "string", **mark}
    schemas: list[dict[str, Any]] = [
        fields(x=fields(secret=leaf)),
        fields(x={"type": "array", "items": fields(secret=leaf)}),
        fields(x={"$ref": "#/$defs/x"}) | {"$defs": {"x": fields(secret=leaf)}},
        fields(x={"$ref": "#x"}) | {"$defs": {"x": {"$anchor": "x", **fields(secret=leaf)}}},
        fields(x={"anyOf": [{"type": "null"}, {"allOf": [fields(secret=leaf)]}]}),
        fields(x={"type": "object", "patternProperties": {"^s": leaf}}),
        {"type": "object", "properties": {"x": {"type": "object", "additionalProperties": leaf}}},
        fields(x=TEXT) | {"if": {"required": ["x"]}, "then": {"properties": {"x": fields(secret=leaf)}}},
    ]
    for schema in schemas:
        inner: Any = {"secret": "4111"}
        value = {"x": [inner] if schema["properties"]["x"].get("type") == "array" else inner}
        assert "4111" not in str(mask_by_schema(schema, value)), schema


def test_a_recursive_schema_is_followed_all_the_way() -> None:
    node = fields(secret=SECRET, name=TEXT, next={"$ref": "#"})
    value = {"name": "a", "next": {"name": "b", "next": {"name": "c", "secret": "4111"}}}
    found = mask_by_schema(node, value)
    assert found["next"]["next"] == {"name": "c", "secret": REDACTED}


def test_a_field_nobody_knows_may_be_a_sensitive_one_misspelt() -> None:
    assert mask_by_schema(fields(card=SECRET, note=TEXT), {"crad": "4111", "note": "x"}) == {
        "crad": REDACTED,
        "note": "x",
    }
    schema = {"type": "object", "properties": {"card": SECRET}}
    assert mask_by_schema(schema, {"extra": "seen"}) == {"extra": "seen"}  # allowed, so whoever approves has to see it


def test_a_reference_that_leads_nowhere_masks_everything() -> None:
    assert mask_by_schema(fields(a={"$ref": "#/$defs/gone"}, b=SECRET), {"a": "4111"}) == REDACTED

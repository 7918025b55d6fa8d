"""Parameters that clients repeat as headers are found, and annotations that a client would refuse are told."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.mirrored_headers import MirroredParameter, find_mirrored


def schema(**properties: Any) -> dict[str, Any]:
    """An object with these properties."""
    return {"type": "object", "properties": properties}


REGION = {"type": "string", "x-mcp-header": "Region"}


def test_annotated_parameters_are_found_at_any_depth() -> None:
    count = {"type": "integer", "x-mcp-header": "Page-Count"}
    assert find_mirrored(schema(region=REGION, page=schema(count=count), plain={"type": "string"})) == (
        MirroredParameter(("region",), b"mcp-param-region", "string"),
        MirroredParameter(("page", "count"), b"mcp-param-page-count", "integer"),
    )


@pytest.mark.parametrize("nothing", [True, None, {}, {"properties": []}, schema(a=True), schema(a={"type": "string"})])
def test_a_schema_without_annotations_has_none(nothing: Any) -> None:
    assert find_mirrored(nothing) == ()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (schema(a={"type": "string", "x-mcp-header": "two words"}), "'a' is no name of a header"),
        (schema(a={"type": "string", "x-mcp-header": ""}), "'a' is no name of a header"),
        (schema(a={"type": "string", "x-mcp-header": 5}), "'a' is no name of a header"),
        (schema(a={"type": "number", "x-mcp-header": "A"}), "only a string, an integer or a boolean"),
        (schema(a={"type": ["string"], "x-mcp-header": "A"}), "only a string, an integer or a boolean"),
        (schema(o=schema(apiKey={"type": "string", "x-mcp-header": "A"})), "'o.apiKey': headers end up in logs"),
        (schema(a={"type": "string", "sensitive": True, "x-mcp-header": "A"}), "headers end up in logs"),
        (schema(a={"type": "string", "format": "password", "x-mcp-header": "A"}), "headers end up in logs"),
        (schema(a=REGION, b={**REGION, "x-mcp-header": "REGION"}), "'region' is used twice"),
        (schema(a={"type": "array", "items": REGION}), "stands where no client finds it"),
        ({"anyOf": [schema(a=REGION)]}, "stands where no client finds it"),
        ({**schema(), "$defs": {"a": REGION}}, "stands where no client finds it"),
    ],
)
def test_annotations_that_break_the_rules_are_told(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        find_mirrored(wrong)


def test_data_and_names_that_look_like_annotations_are_none() -> None:
    assert find_mirrored(schema(a={"type": "object", "default": REGION, "examples": [REGION], "enum": [REGION]})) == ()
    assert find_mirrored({"type": "object", "properties": {"x-mcp-header": {"type": "string"}}}) == ()

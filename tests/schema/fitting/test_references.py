"""References within one schema: what they lead to, which lead back, and copies that stand alone."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting.references import (
    DefinitionNames,
    FittedReferences,
    copy_standalone,
    legal_definition,
    refs_in,
)
from ferrule.schema.fitting.steps import CannotFit

ROOT: dict[str, Any] = {
    "$id": "https://x.example/tool.json",
    "properties": {"a": {"type": "integer"}},
    "anyOf": [{"const": 1}],
    "$defs": {
        "Name": {"type": "string"},
        "a/b": {"type": "null"},
        "Anchored": {"$anchor": "here", "type": "boolean"},
        "Tree": {"properties": {"children": {"items": {"$ref": "#/$defs/Tree"}}}},
        "Man": {"properties": {"dog": {"$ref": "#/$defs/Dog"}}},
        "Dog": {"properties": {"man": {"$ref": "#/$defs/Man"}, "name": {"$ref": "#/$defs/Name"}}},
        "Text": {"items": {"$ref": "#/$defs/Name"}},
        "Number": 5,
    },
}


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("#", ROOT),
        ("https://x.example/tool.json", ROOT),
        ("https://x.example/tool.json#/$defs/Name", {"type": "string"}),
        ("#/$defs/a~1b", {"type": "null"}),
        ("#/properties/a", {"type": "integer"}),
        ("#/anyOf/0", {"const": 1}),
        ("#here", {"$anchor": "here", "type": "boolean"}),
    ],
)
def test_a_reference_leads_to_a_schema(ref: str, found: Any) -> None:
    assert FittedReferences(ROOT).target(ref, "") == found


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        (5, "is no text"),
        ("other.json#/a", "another document"),
        ("#/$defs/Absent", "not there"),
        ("#/anyOf/1", "not there"),
        ("#absent", "not there"),
        ("#/$defs/Number", "no schema"),
    ],
)
def test_a_reference_that_leads_nowhere_is_unfit_at_its_place(ref: Any, reason: str) -> None:
    with pytest.raises(CannotFit, match=reason) as caught:
        FittedReferences(ROOT).target(ref, "properties/a")
    assert caught.value.path == "properties/a"


@pytest.mark.parametrize(
    ("name", "leads_back"), [("Tree", True), ("Man", True), ("Dog", True), ("Text", False), ("Name", False)]
)
def test_references_that_lead_back_are_known(name: str, leads_back: bool) -> None:
    assert FittedReferences(ROOT).is_recursive(f"#/$defs/{name}", "") is leads_back


def test_references_among_definitions_are_not_those_of_the_schema() -> None:
    assert refs_in({"items": {"$ref": "#/a"}, "$defs": {"x": {"$ref": "#/b"}}, "enum": [{"$ref": "#/c"}]}) == {"#/a"}


def test_every_definition_gets_a_name_of_its_own() -> None:
    homes = DefinitionNames()
    assert homes.of("#/$defs/Name") == ("$defs", "Name", True)
    assert homes.of("#/$defs/Name") == ("$defs", "Name", False)
    assert homes.of("#/properties/Name") == ("$defs", "Name_2", True)
    assert homes.of("#/definitions/Name") == ("definitions", "Name", True)
    assert homes.of("#/definitions/Other", is_plain_kept=False) == ("$defs", "Other", True)
    assert homes.of("#") == ("$defs", "root", True)


@pytest.mark.parametrize(
    ("name", "legal"), [("a b", "a_b"), ("Naïve", "Na_ve"), ("a.b-c_1", "a.b-c_1"), ("", "_"), ("x" * 200, "x" * 100)]
)
def test_names_of_definitions_need_no_escapes(name: str, legal: str) -> None:
    assert legal_definition(name) == legal


def test_a_schema_stands_alone_with_what_it_refers_to() -> None:
    copied = copy_standalone({"$anchor": "x", "items": {"$ref": "#/$defs/Man"}}, FittedReferences(ROOT), "", 50)
    assert copied["items"] == {"$ref": "#/$defs/Man"} and "$anchor" not in copied
    assert set(copied["$defs"]) == {"Man", "Dog", "Name"}
    assert copy_standalone(False, FittedReferences(ROOT), "", 50) == {"not": {}}


def test_a_copy_that_would_be_too_large_is_unfit() -> None:
    with pytest.raises(CannotFit, match="too large"):
        copy_standalone({"items": {"$ref": "#/$defs/Man"}}, FittedReferences(ROOT), "", 3)

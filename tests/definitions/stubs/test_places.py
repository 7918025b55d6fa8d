"""Where schemas stand, and what their references lead to."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.stubs.places import MOST_NOTES, SchemaDocument, SchemaPlace, escape_step
from ferrule.model.value import dig


def pointers(root: Any) -> list[str] | None:
    """The places that say something about the whole value."""
    flat = SchemaDocument(root).flatten((SchemaPlace(root, "#"),))
    return None if flat is None else [place.pointer for place in flat]


def test_references_and_all_of_are_followed_and_kept_side_by_side() -> None:
    root = {
        "allOf": [{"$ref": "#/$defs/a%20b"}, {"type": "object"}],
        "required": ["x"],
        "$defs": {"a b": {"properties": {}}},
    }
    assert pointers(root) == ["#/$defs/a b", "#/allOf/0", "#/allOf/1", "#"]


def test_nothing_fits_where_any_part_refuses_everything() -> None:
    assert pointers({"allOf": [{}, False]}) is None
    assert pointers({"allOf": [{"not": {}}]}) is None
    assert pointers({"$ref": "#/$defs/no", "$defs": {"no": False}}) is None


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ({"$ref": "#/$defs/gone"}, "'#/$defs/gone' is not in this schema; any value is taken"),
        ({"$ref": "#"}, "it refers to itself; that says nothing about a value"),
        ({"$dynamicRef": "#x"}, "$dynamicRef is not followed; any value is taken there"),
        ({"allOf": [5]}, "this is no schema; any value is taken"),
    ],
)
def test_what_cannot_be_followed_is_noted(root: Any, message: str) -> None:
    document = SchemaDocument(root)
    assert document.flatten((SchemaPlace(root, "#"),)) is not None
    assert [note.message for note in document.notes] == [message]


@pytest.mark.parametrize(
    ("ref", "pointer"),
    [
        ("#/$defs/a~1b", "#/$defs/a~1b"),
        ("#spot", "#/$defs/anchored"),
        ("other.json", "#/$defs/own"),
        ("other.json#/$defs/inner", "#/$defs/own/$defs/inner"),
        ("https://example.com/else.json", None),
        ("#/$defs", "#/$defs"),
        ("#/$defs/a~1b/type", None),
        (5, None),
    ],
)
def test_a_reference_leads_to_a_place_in_the_document(ref: Any, pointer: str | None) -> None:
    definitions = {
        "a/b": {"type": "string"},
        "anchored": {"$anchor": "spot"},
        "own": {"$id": "other.json", "$defs": {"inner": {}}},
    }
    root = {"$id": "https://example.com/main.json", "$defs": definitions, "properties": {"x": {"$ref": ref}}}
    document = SchemaDocument(root)
    found = document.find_target(dig(document.root, ("properties", "x", "$ref")))
    assert (found.pointer if found else None) == pointer


def test_older_drafts_hear_a_reference_alone_and_know_no_newer_words() -> None:
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/a",
        "required": ["x"],
        "definitions": {"a": {"dependentRequired": {}, "type": "object"}},
    }
    document = SchemaDocument(old)
    (place,) = document.flatten((SchemaPlace(old, "#"),)) or ()
    assert (document.draft, place.schema) == (7, {"type": "object"})
    assert SchemaDocument({"items": [{}]}).draft == 7
    assert SchemaDocument({"prefixItems": [{}]}).draft == 2020


def test_a_schema_that_only_refers_stands_for_what_it_refers_to() -> None:
    root = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/c", "type": "string"}, "c": {}},
    }
    assert SchemaDocument(root).find_origin(SchemaPlace(root, "#")).pointer == "#/$defs/b"


def test_a_step_of_a_pointer_is_escaped_and_a_place_knows_what_is_below() -> None:
    assert escape_step("a/b~c%") == "a~1b~0c%25"
    assert SchemaPlace({"properties": {"a/b": {"type": "null"}}}, "#").below("properties", "a/b") == (
        {"type": "null"},
        "#/properties/a~1b",
    )


def test_no_more_is_noted_than_anybody_reads() -> None:
    document = SchemaDocument({})
    for number in range(MOST_NOTES + 50):
        document.note(f"#/{number}", "odd")
    document.note("#/0", "odd")
    assert len(document.notes) == MOST_NOTES

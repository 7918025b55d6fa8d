"""References of one schema: where they lead, whatever they are written as."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec
import pytest

from ferrule.schema.fitting.fitting import fit
from ferrule.schema.fitting.profiles import PROFILES
from ferrule.schema.inlining import inline
from ferrule.schema.references import (
    ReferenceTarget,
    SchemaReferences,
    SchemaResource,
    draft_by_name,
    join_address,
    relocate,
    root_references,
)
from ferrule.schema.schema_view import SchemaView
from ferrule.schema.tree import schema_tree
from ferrule.servers.mcp.wire.projection import output_schema
from tests.servers.mcp.wire.test_projection import tool

ROOT: dict[str, Any] = {
    "$id": "https://x.example/tool.json",
    "properties": {"a": {"type": "integer"}},
    "anyOf": [{"const": at} for at in range(12)],
    "$defs": {
        "Name": {"type": "string"},
        "a/b": {"type": "null"},
        "100%": {"type": "number"},
        "Anchored": {"$anchor": "here", "type": "boolean"},
        "Dynamic": {"$dynamicAnchor": "there", "type": "array"},
        "Shut": False,
    },
}


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("#", ()),
        ("", ()),
        ("https://x.example/tool.json", ()),
        ("https://x.example/tool.json#", ()),
        ("tool.json", ()),
        ("tool.json#/$defs/Name", ("$defs", "Name")),
        ("https://x.example/tool.json#/$defs/Name", ("$defs", "Name")),
        ("https://x.example/tool.json#here", ("$defs", "Anchored")),
        ("#/$defs/a~1b", ("$defs", "a/b")),
        ("#/$defs/100%25", ("$defs", "100%")),
        ("#/%24defs/Name", ("$defs", "Name")),
        ("#/properties/a", ("properties", "a")),
        ("#/anyOf/0", ("anyOf", 0)),
        ("#/anyOf/11", ("anyOf", 11)),
        ("#here", ("$defs", "Anchored")),
        ("#%68ere", ("$defs", "Anchored")),
        ("#there", ("$defs", "Dynamic")),
        ("#/$defs/Shut", ("$defs", "Shut")),
    ],
)
def test_a_reference_leads_to_a_place(reference: str, path: tuple[str | int, ...]) -> None:
    found = SchemaReferences(ROOT).find(reference)
    value: Any = ROOT
    for step in path:
        value = value[step]
    assert found == ReferenceTarget(value, path)


@pytest.mark.parametrize(
    "reference",
    ["#/anyOf/12", "#/anyOf/00", "#/anyOf/01", "#/anyOf/1000000000", "#/anyOf/-1", "#absent", "#/$defs/absent", "other.json",
     "other.json#/a", "http://[", 5, None, True],
)  # fmt: skip
def test_a_reference_that_leads_nowhere_gives_nothing(reference: object) -> None:
    assert SchemaReferences(ROOT).find(reference) is None


def test_a_schema_is_what_stands_there_unless_it_is_true_or_false() -> None:
    references = SchemaReferences(ROOT)
    assert references.schema("#/$defs/Name") == {"type": "string"}
    assert references.schema("#/$defs/Shut") is None and references.schema("#/$defs/absent") is None


def test_an_older_draft_names_places_in_its_own_way() -> None:
    fourth: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "definitions": {"a": {"id": "#here", "type": "null"}},
    }
    seventh: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"$id": "#here", "$anchor": "x"}},
    }
    assert SchemaReferences(fourth).find("#here") == ReferenceTarget(fourth["definitions"]["a"], ("definitions", "a"))
    assert SchemaReferences(seventh).find("#here") == ReferenceTarget(seventh["definitions"]["a"], ("definitions", "a"))
    assert SchemaReferences(seventh).find("#x") is None, "an anchor is of 2019-09"


def test_an_id_of_draft_4_is_a_plain_word_later() -> None:
    schema = {"properties": {"a": {"id": "customer", "$ref": "#/$defs/x"}}, "$defs": {"x": {}}}
    assert root_references(schema) is schema


@pytest.mark.parametrize(
    ("address", "draft"),
    [
        ("http://json-schema.org/draft-04/schema#", 4),
        ("http://json-schema.org/draft-06/schema#", 6),
        ("http://json-schema.org/draft-07/schema#", 7),
        ("https://json-schema.org/draft/2019-09/schema", 2019),
        ("https://json-schema.org/draft/2020-12/schema", 2020),
        ("https://x.example/own", 2020),
        (5, 2020),
    ],
)
def test_a_schema_names_its_draft(address: object, draft: int) -> None:
    assert draft_by_name({"$schema": address}) == draft
    assert draft_by_name(True) == 2020


def test_addresses_that_cannot_be_joined_stay_as_they_are() -> None:
    assert join_address("https://x.example/a/b", "c") == "https://x.example/a/c"
    assert join_address("", "c") == "c" and join_address("https://x.example", "http://[") == "http://["
    assert SchemaResource(2020) == (2020, "", ())


INNER: dict[str, Any] = {
    "$id": "https://x.example/outer.json",
    "type": "object",
    "properties": {
        "order": {"$ref": "parts/order.json"},
        "name": {"$ref": "parts/order.json#/$defs/text"},
        "own": {"$ref": "#/$defs/text"},
        "lost": {"enum": [{"$ref": "#/data"}]},
    },
    "$defs": {
        "text": {"type": "integer"},
        "order": {
            "$id": "parts/order.json",
            "type": "object",
            "properties": {"text": {"$ref": "#/$defs/text"}, "again": {"$ref": "#deep"}},
            "$defs": {"text": {"type": "string"}, "deep": {"$anchor": "deep", "type": "boolean"}},
        },
    },
}
"""A schema with a part that has an address of its own: `#/…` in the part is read from there."""


def test_references_of_a_part_with_its_own_address_are_written_from_the_root() -> None:
    found = root_references(INNER)
    assert found["properties"]["order"] == {"$ref": "#/$defs/order"}
    assert found["properties"]["name"] == {"$ref": "#/$defs/order/$defs/text"}
    assert found["properties"]["own"] == {"$ref": "#/$defs/text"}
    assert found["properties"]["lost"] == INNER["properties"]["lost"], "what is in an enum is data"
    assert found["$defs"]["order"]["properties"] == {
        "text": {"$ref": "#/$defs/order/$defs/text"},
        "again": {"$ref": "#/$defs/order/$defs/deep"},
    }
    assert "$id" not in found["$defs"]["order"] and found["$id"] == INNER["$id"]


def test_a_lost_reference_of_a_part_stays_lost() -> None:
    schema = {"$defs": {"a": {"$id": "https://x.example/a", "$ref": "#/$defs/b"}, "b": {}}}
    assert SchemaReferences(found := root_references(schema)).find(found["$defs"]["a"]["$ref"]) is None


def test_a_schema_that_is_nested_deep_is_written_from_its_root_too() -> None:
    deep: dict[str, Any] = {"$id": "https://x.example/inner.json", "$ref": "#/$defs/a", "$defs": {"a": {"const": 1}}}
    for _ in range(1500):
        deep = {"items": deep}
    part = root = root_references(deep)
    references = SchemaReferences(root)
    while "items" in part:
        part = part["items"]
    assert references.schema(part["$ref"]) == {"const": 1}


VALUES: list[Any] = [
    {"order": {"text": "a"}}, {"order": {"text": 1}}, {"order": {"again": True}}, {"order": {"again": 1}},
    {"name": "a"}, {"name": 1}, {"own": 1}, {"own": "a"}, {},
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_all_who_rewrite_a_schema_read_addresses_as_the_validator_does(value: Any) -> None:
    wanted = jsonschema_rs.validator_for(INNER).is_valid(value)
    assert jsonschema_rs.validator_for(root_references(INNER)).is_valid(value) is wanted
    assert jsonschema_rs.validator_for(inline(INNER)).is_valid(value) is wanted
    assert jsonschema_rs.validator_for(fit(INNER, PROFILES["openai"]).schema).is_valid(value) is wanted
    for profile in PROFILES.values():
        assert not any("another document" in change.why for change in fit(INNER, profile).changes)
    wrapped = {"type": "array", "items": {"$ref": "#/$defs/whole"}, "$defs": {"whole": INNER}}
    shown = output_schema(tool(output_schema=msgspec.Raw(msgspec.json.encode(wrapped))), "2025-06-18")
    assert jsonschema_rs.validator_for(shown).is_valid({"result": [value]}) is wanted


def test_what_speaks_about_a_member_is_found_behind_an_address() -> None:
    view = SchemaView(INNER)
    order = view.about(view.member((view.root,), "order"))
    assert [each["type"] for each in view.about(view.member(order, "text")) if "type" in each] == ["string"]
    assert not view.unresolved


def test_a_tree_shows_what_stands_behind_an_address() -> None:
    order = next(node for node in schema_tree(INNER) if node.name == "order")
    assert [(node.name, node.type) for node in order.children] == [("text", "string"), ("again", "boolean")]


def test_references_within_a_schema_follow_it_where_it_goes() -> None:
    schema = {
        "properties": {"x": {"$ref": "#/$defs/x"}, "self": {"$ref": "#"}, "far": {"$ref": "other.json#/x"}},
        "enum": [{"$ref": "#/$defs/x"}],
    }
    moved = relocate(schema, (), ("paths", "/a b", 0))
    assert [each["$ref"] for each in moved["properties"].values()] == [
        "#/paths/~1a%20b/0/$defs/x", "#/paths/~1a%20b/0", "other.json#/x"
    ]  # fmt: skip
    assert moved["enum"] == schema["enum"], "what is in an enum is data"
    assert relocate(moved, ("paths", "/a b", 0), ()) == schema
    assert relocate({"$id": "x", "$ref": "#"}, (), ("new",)) == {"$id": "x", "$ref": "#"}
    assert relocate(True, (), ("new",)) is True

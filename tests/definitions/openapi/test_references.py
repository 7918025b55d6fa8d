"""References are followed within a document and to files beside it; circles are known, and nothing else is reached."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.references import Broken, RecursiveSchemas, References, list_references

NAME = {"type": "string"}
DOCUMENT: dict[str, Any] = {
    "$self": "https://api.example/openapi.json",
    "components": {
        "schemas": {
            "Name": NAME,
            "Alias": {"$ref": "#/components/schemas/Name", "description": "also a name"},
            "Wider": {"$ref": "#/components/schemas/Name", "minLength": 1},
            "a/b~c d": {"type": "integer"},
            "Anchored": {"$anchor": "here", "type": "boolean"},
            "Loop": {"$ref": "#/components/schemas/Pool"},
            "Pool": {"$ref": "#/components/schemas/Loop"},
            "Tree": {"properties": {"children": {"items": {"$ref": "#/components/schemas/Tree"}}}},
            "Man": {"properties": {"dog": {"$ref": "#/components/schemas/Dog"}}},
            "Dog": {
                "properties": {
                    "man": {"$ref": "#/components/schemas/Man"},
                    "name": {"$ref": "#/components/schemas/Name"},
                }
            },
            "Shop": {"properties": {"owner": {"$ref": "#/components/schemas/Man"}, "lost": {"$ref": "#/nowhere"}}},
        }
    },
    "servers": [{"url": "a"}, {"url": "b"}],
}
SCHEMAS = "#/components/schemas/"


def error_of(references: References, ref: object) -> str:
    """What is said about a reference that cannot be followed."""
    with pytest.raises(Broken) as caught:
        references.follow(ref, ("paths", "/a"))
    assert caught.value.finding.path == ("paths", "/a", "$ref") and caught.value.finding.rule == "OAS-2"
    return caught.value.finding.message


@pytest.mark.parametrize(
    ("ref", "value", "name"),
    [
        (SCHEMAS + "Name", NAME, "Name"),
        (SCHEMAS + "Alias", NAME, "Name"),
        (SCHEMAS + "Wider", DOCUMENT["components"]["schemas"]["Wider"], "Wider"),
        (SCHEMAS + "a~1b~0c%20d", {"type": "integer"}, "a/b~c d"),
        ("#here", {"$anchor": "here", "type": "boolean"}, "here"),
        ("#/servers/1", {"url": "b"}, "1"),
        ("https://api.example/openapi.json" + SCHEMAS + "Name", NAME, "Name"),
        ("openapi.json" + SCHEMAS + "Name", NAME, "Name"),
    ],
)
def test_a_reference_leads_to_its_value(ref: str, value: Any, name: str) -> None:
    references = References(DOCUMENT, file_name="openapi.json")
    assert ref not in references
    target = references.follow(ref, ())
    assert (target.value, target.name) == (value, name)
    assert ref in references and references.follow(ref, ()) is target


def test_a_target_says_where_it_stands() -> None:
    assert References(DOCUMENT).follow("#/servers/1", ()).path == ("servers", 1)
    assert References(DOCUMENT).follow("#here", ()).path == ("components", "schemas", "Anchored")


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        (5, "must be text"),
        (SCHEMAS + "Absent", "there is no 'Absent'"),
        ("#/servers/2", "there is no '2'"),
        ("#/servers/²", "there is no '²'"),
        ("#absent", "an anchor that does not exist"),
        (SCHEMAS + "Loop", "is circular"),
        ("other.yaml#/Name", "points out of the document"),
        ("https://elsewhere.example/a.json", "points out of the document"),
    ],
)
def test_a_reference_that_leads_nowhere_is_told(ref: object, message: str) -> None:
    assert message in error_of(References(DOCUMENT), ref)


def test_files_beside_the_document_are_read_once_and_their_references_are_theirs() -> None:
    files: dict[str, Any] = {
        "parts/pet.yaml": {
            "Pet": {"$ref": "#/Animal"},
            "Animal": {"p": {"$ref": "../tag.yaml#/Tag"}},
            "Home": {"$ref": "../main.yaml#/x"},
        },
        "tag.yaml": {"Tag": NAME},
    }
    asked: list[str] = []

    def load(name: str) -> Any:
        asked.append(name)
        return files[name]

    references = References({"x": {"const": 1}}, load, "main.yaml")
    animal = references.follow("./parts/pet.yaml#/Pet", ())
    assert animal.value == {"p": {"$ref": "tag.yaml#/Tag"}} and animal.path == ()
    assert references.follow(animal.value["p"]["$ref"], ()).value == NAME
    assert references.follow("parts/pet.yaml#/Home", ()).value == {"const": 1}
    assert asked == ["parts/pet.yaml", "tag.yaml"]
    assert "cannot be read" in error_of(references, "absent.yaml#/a")


@pytest.mark.parametrize(
    "ref", ["../secret.yaml", "/etc/passwd", "a/../../b.yaml", "file:///etc/passwd", "%2e%2e/b.yaml"]
)
def test_files_elsewhere_are_never_asked_for(ref: str) -> None:
    def load(name: str) -> Any:
        raise AssertionError(name)

    assert "points out of the document" in error_of(References({}, load), ref)


def test_words_of_a_discriminator_lead_to_the_file_they_are_written_in() -> None:
    kinds = {
        "propertyName": "kind",
        "mapping": {"cat": "#/Cat", "dog": "dog.yaml", "cow": "Cow", "ox": "../main.yaml#/x"},
    }
    files: dict[str, Any] = {
        "parts/pet.yaml": {"Pet": {"discriminator": kinds, "tags": ["a", {"$ref": "https://x.example/a"}]}}
    }
    pet = References({}, files.__getitem__, "main.yaml").follow("parts/pet.yaml#/Pet", ()).value
    assert pet["discriminator"]["mapping"] == {
        "cat": "parts/pet.yaml#/Cat",
        "dog": "parts/dog.yaml#",
        "cow": "Cow",
        "ox": "#/x",
    }
    assert pet["tags"] == ["a", {"$ref": "https://x.example/a"}]


def test_references_in_examples_are_data() -> None:
    schema = {
        "items": [{"$ref": "#/a"}],
        "example": {"$ref": "#/no"},
        "enum": [{"$ref": "#/no"}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/cat", "dog": "Dog"}},
    }
    assert sorted(list_references(schema)) == ["#/a", "#/cat"]


@pytest.mark.parametrize(
    ("name", "is_recursive"),
    [("Tree", True), ("Man", True), ("Dog", True), ("Name", False), ("Shop", False), ("Absent", False)],
)
def test_schemas_that_contain_themselves_are_known(name: str, is_recursive: bool) -> None:
    assert (SCHEMAS + name in RecursiveSchemas(References(DOCUMENT))) is is_recursive


def test_circles_are_the_same_in_whatever_order_they_are_asked_for() -> None:
    circles = RecursiveSchemas(References(DOCUMENT))
    found = [name for name in ("Shop", "Name", "Dog", "Man", "Tree") if SCHEMAS + name in circles]
    assert found == ["Dog", "Man", "Tree"]


def test_schemas_with_an_address_of_their_own_are_read_as_json_schema_reads_them() -> None:
    pet = {
        "$id": "https://x.example/pet.json",
        "properties": {"name": {"$ref": "#/$defs/name"}, "owner": {"$ref": "#/components/schemas/Owner"}},
        "$defs": {"name": {"const": "inner"}},
    }
    shop = {"pet": {"$ref": "https://x.example/pet.json"}, "name": {"$ref": "https://x.example/pet.json#/$defs/name"}}
    document = {
        "$defs": {"name": {"const": "outer"}},
        "components": {"schemas": {"Pet": pet, "Owner": {}, "Shop": shop}},
    }
    references = References(document)
    found = references.follow("#/components/schemas/Pet", ()).value
    assert references.follow(found["properties"]["name"]["$ref"], ()).value == {"const": "inner"}
    assert references.follow(found["properties"]["owner"]["$ref"], ()).value == {}, (
        "what is not in the schema is in the document"
    )
    assert references.follow(shop["pet"]["$ref"], ()) == references.follow("#/components/schemas/Pet", ())
    assert references.follow(shop["name"]["$ref"], ()).value == {"const": "inner"}
    assert "points out of the document" in error_of(references, "https://x.example/other.json")
    assert pet["$id"] == "https://x.example/pet.json", "the document itself is not changed"

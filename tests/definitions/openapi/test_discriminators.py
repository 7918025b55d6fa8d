"""Alternatives are told apart by the word of their discriminator."""

from __future__ import annotations

from tests.definitions.openapi.importing import components, member


def test_alternatives_are_told_apart_by_their_discriminator() -> None:
    cat = {"type": "object", "properties": {"kind": {"type": "string"}, "lives": {"type": "integer"}}}
    dog = {"type": "object", "properties": {"kind": {"type": "string", "enum": ["hound", "pug"]}}}
    pets = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"hound": "#/components/schemas/Dog", "pug": "Dog"}},
    }
    made = member(pets, **components(Cat=cat, Dog=dog))
    first, second = made["oneOf"]
    assert first["properties"]["kind"]["const"] == "Cat" and first["required"] == ["kind"]
    assert second["properties"]["kind"]["enum"] == ["hound", "pug"]


def test_a_base_class_stands_for_its_heirs() -> None:
    base = {"type": "object", "discriminator": {"propertyName": "t"}, "properties": {"t": {"type": "string"}}}
    heir = {
        "allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "properties": {"n": {"type": "integer"}}}]
    }
    made = member({"$ref": "#/components/schemas/Base"}, **components(Base=base, One=heir, Two=heir))
    assert [branch["properties"]["t"]["const"] for branch in made["oneOf"]] == ["One", "Two"]
    assert all("n" in branch["properties"] for branch in made["oneOf"])

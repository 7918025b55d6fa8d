"""Schemas of older drafts in the words of 2020-12: both mean the same."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from ferrule.schema.validation.latest_draft import LATEST_DRAFT, latest_draft
from ferrule.schema.validation.validators import compile_schema

ADDRESSES = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
}
NAMES = ("a", "b", "items", "$ref", "definitions", "a/b ~%é")
WORDS = ("One", "Two", "odd name/~%")
HOMES = ("definitions", "$defs", "x-shared")
ROOT, INNER = "https://example.com/root.json", "https://example.com/inner.json"
VALUES: tuple[Any, ...] = (0, 1, 2, 3, 2.5, "", "a", "ab", True, None)


class Old:
    """Random schemas of one draft. Whatever they refer to is farther in, so nothing leads back to itself about one value."""

    def __init__(self, chance: Random, draft: int) -> None:
        self.chance, self.draft = chance, draft
        self.identity = "id" if draft == 4 else "$id"

    def root(self) -> dict[str, Any]:
        """A whole schema, with definitions in a home of every kind."""
        known = self.node(3, WORDS)
        schema = {**(known if isinstance(known, dict) else {}), "$schema": ADDRESSES[self.draft]}
        if self.chance.random() < 0.2:
            schema[self.identity] = ROOT
        if self.chance.random() < 0.2:
            schema["$ref"] = self.reference(WORDS)
        return schema | {home: self.definitions(home) for home in HOMES}

    def definitions(self, home: str) -> dict[str, Any]:
        made = {word: self.dict_node(2, WORDS[at + 1 :]) for at, word in enumerate(WORDS)}
        if home == "definitions":
            for word in ("One", "Two"):
                made[word] |= {"$anchor": word} if self.draft == 2019 else {self.identity: f"#{word}"}
            inner = {"allOf": [{"$ref": "#/definitions/odd"}], "definitions": {"odd": self.dict_node(1, ())}}
            made["Inner"] = {self.identity: INNER, **inner}
        return made

    def reference(self, words: tuple[str, ...]) -> str:
        word = self.chance.choice(words)
        kind = self.chance.choice([*HOMES, "definitions", "anchor", "inner"])
        if kind == "anchor" and word.isalpha():
            return f"#{word}"
        if kind == "inner":
            return self.chance.choice([INNER, f"{INNER}#", f"{INNER}#/definitions/odd", "#/definitions/Inner"])
        home = kind if kind in HOMES else "definitions"
        return f"#/{home}/" + word.replace("~", "~0").replace("/", "~1").replace("%", "%25").replace(" ", "%20")

    def dict_node(self, depth: int, words: tuple[str, ...]) -> dict[str, Any]:
        made = self.node(depth, words)
        return made if isinstance(made, dict) else {"type": "string"}

    def node(self, depth: int, words: tuple[str, ...]) -> Any:
        chance = self.chance
        if depth <= 0 or chance.random() < 0.2:
            return self.leaf()
        made: dict[str, Any] = {}
        for keyword in chance.sample(sorted(self.makers()), chance.randint(1, 4)):
            made |= self.makers()[keyword](depth - 1, words)
        if words and chance.random() < 0.25:
            made["$ref"] = self.reference(words)
        return made

    def leaf(self) -> Any:
        chance = self.chance
        kinds: list[Any] = [{"type": "string"}, {"type": ["number", "null"]}, {"enum": [1, "a", {"items": [1]}]}, {}]
        kinds += [{"minLength": 2}, {"maximum": 2}, {"minimum": 1, "type": "number"}]
        if self.draft == 4:
            kinds += [
                {"minimum": 1, "exclusiveMinimum": True},
                {"maximum": 2, "exclusiveMaximum": chance.random() < 0.5},
            ]
            kinds += [{"const": 1}]  # means nothing yet
        else:
            kinds += [True, False, {"const": {"$ref": "#"}}, {"exclusiveMinimum": 1}, {"exclusiveMaximum": 2}]
        return chance.choice(kinds)

    def many(self, depth: int, words: tuple[str, ...]) -> list[Any]:
        return [self.dict_node(depth, words) for _ in range(self.chance.randint(1, 2))]

    def rest(self, depth: int, words: tuple[str, ...]) -> Any:
        return self.chance.choice([True, False, self.dict_node(depth, words)])

    def makers(self) -> dict[str, Any]:
        node, chance = self.node, self.chance
        found: dict[str, Any] = {
            "properties": lambda d, w: {"properties": {n: self.dict_node(d, w) for n in chance.sample(NAMES, 2)}},
            "additional": lambda d, w: {"additionalProperties": self.rest(d, w), "patternProperties": {"^a": {}}},
            "required": lambda d, w: {"required": chance.sample(NAMES, 1)},
            "tuple": lambda d, w: {"items": self.many(d, w)},
            "closed": lambda d, w: {"items": self.many(d, w), "additionalItems": self.rest(d, w)},
            "list": lambda d, w: {"items": self.dict_node(d, w), "additionalItems": False},
            "idle": lambda d, w: {"additionalItems": False},
            "names": lambda d, w: {"dependencies": {"a": ["b"], "b": self.dict_node(d, w)}},
            "anyOf": lambda d, w: {"anyOf": self.many(d, w)},
            "allOf": lambda d, w: {"allOf": self.many(d, w)},
            "not": lambda d, w: {"not": self.dict_node(d, w)},
            "default": lambda d, w: {"default": {"items": [{}], "$ref": "#/nowhere", "$schema": "x"}},
            # Keywords of later drafts
            "prefixItems": lambda d, w: {"prefixItems": [False]},
            "dependentRequired": lambda d, w: {"dependentRequired": {"a": ["items"]}},
            "dependentSchemas": lambda d, w: {"dependentSchemas": {"b": self.dict_node(d, w)}},
            "unevaluated": lambda d, w: {"unevaluatedProperties": False, "unevaluatedItems": False},
            "contains": lambda d, w: {"contains": self.dict_node(d, w), "minContains": 2},
            "propertyNames": lambda d, w: {"propertyNames": {"maxLength": 1}},
            "if": lambda d, w: {"if": self.dict_node(d, w), "then": self.dict_node(d, w), "else": self.dict_node(d, w)},
            "notes": lambda d, w: {"description": "D", "title": "T", "x-note": {"items": [1]}},
        }
        if self.draft == 2019:
            found["recursive"] = lambda d, w: {"properties": {"a": {"$recursiveRef": "#"}}}
        if self.draft >= 6:
            found["node"] = lambda d, w: {"properties": {"b": node(d, w)}}
        return found


def value_of(chance: Random, depth: int = 3) -> Any:
    if depth == 0 or chance.random() < 0.2:
        return chance.choice(VALUES)
    if chance.random() < 0.5:
        return [value_of(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    return {name: value_of(chance, depth - 1) for name in chance.sample(NAMES, chance.randint(0, 4))}


def published(schema: Any) -> Any:
    found = latest_draft(msgspec.json.encode(schema))
    return schema if found is None else found


def assert_same(schema: dict[str, Any], chance: Random, count: int = 30) -> int:
    """Holds many values against both; gives how many were accepted."""
    before = compile_schema(msgspec.json.encode(schema))
    new = published(schema)
    after = jsonschema_rs.Draft202012Validator(new, validate_formats=False, offline=True)
    accepted = 0
    for _ in range(count):
        value = value_of(chance)
        assert before.is_valid(value) == after.is_valid(value), (schema, new, value)
        accepted += before.is_valid(value)
    return accepted


@pytest.mark.parametrize("draft", ADDRESSES)
def test_a_schema_of_an_older_draft_means_the_same_in_the_words_of_the_latest(draft: int) -> None:
    """MCP-136, MCP-137: what is published is what calls are held against."""
    accepted = 0
    for seed in range(150):
        chance = Random(seed)
        accepted += assert_same(Old(chance, draft).root(), chance)
    assert 450 < accepted < 4050, "the samples tell nothing"


def test_a_schema_that_only_an_older_draft_accepts_means_what_that_draft_says() -> None:
    """Without a `$schema`, calls are held against draft-07 where 2020-12 does not take a schema."""
    for seed in range(80):
        chance = Random(seed)
        schema = {**Old(chance, 7).root(), "not": {"items": [False, {}], "prefixItems": [True]}}
        del schema["$schema"]
        assert_same(schema, chance)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            {"items": [{"type": "string"}], "additionalItems": False},
            {"prefixItems": [{"type": "string"}], "items": False},
        ),
        ({"items": {}, "additionalItems": False}, {"items": {}}),
        (
            {"dependencies": {"a": ["b"], "b": {"minProperties": 2}}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": {"minProperties": 2}}},
        ),
        (
            {"$ref": "#/definitions/a", "type": "string", "description": "D", "definitions": {"a": {}}},
            {"$ref": "#/$defs/a", "description": "D", "$defs": {"a": {}}},
        ),
        (
            {"$id": "https://example.com/a", "items": {"$ref": "#b"}, "definitions": {"c": {"$id": "#b"}}},
            {"items": {"$ref": "#/$defs/c"}, "$defs": {"c": {}}},
        ),
        (
            {"not": {"$ref": "#/x-shared/a"}, "x-shared": {"a": {"items": [{}]}}},
            {
                "not": {"$ref": "#/$defs/a"},
                "x-shared": {"a": {"items": [{}]}},
                "$defs": {"a": {"prefixItems": [{}]}},
            },
        ),
        (
            {"items": [{"$ref": "#/items/1"}, {"$ref": "#/additionalItems"}], "additionalItems": {"type": "null"}},
            {"prefixItems": [{"$ref": "#/prefixItems/1"}, {"$ref": "#/items"}], "items": {"type": "null"}},
        ),
        ({"properties": {"id": {}, "items": {}}, "id": "x"}, {"properties": {"id": {}, "items": {}}, "id": "x"}),
        ({"const": {"items": [1]}, "enum": [{"$id": "#a"}]}, {"const": {"items": [1]}, "enum": [{"$id": "#a"}]}),
        ({"prefixItems": [False], "deprecated": "soon", "$comment": "C"}, {"$comment": "C"}),
    ],
)
def test_keywords_of_draft_07(old: Any, new: Any) -> None:
    assert published({"$schema": ADDRESSES[7], **old}) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"id": "https://example.com/a", "properties": {"id": {}}}, {"properties": {"id": {}}}),
        ({"const": 1, "if": False, "else": False, "$id": "https://example.com/a"}, {}),
    ],
)
def test_keywords_of_draft_04(old: Any, new: Any) -> None:
    assert published({"$schema": ADDRESSES[4], **old}) == new


def test_a_part_may_be_of_an_older_draft_than_the_whole() -> None:
    part = {"$schema": ADDRESSES[7], "$id": "https://example.com/part", "items": [{"type": "string"}]}
    whole = {"properties": {"a": part, "b": {"prefixItems": [{"$ref": "https://example.com/part"}]}}}
    assert published({"$schema": LATEST_DRAFT, **whole}) == {
        "properties": {
            "a": {"prefixItems": [{"type": "string"}]},
            "b": {"prefixItems": [{"$ref": "#/properties/a"}]},
        }
    }


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"$schema": LATEST_DRAFT, "type": "object", "properties": {"$schema": {"const": ADDRESSES[7]}}},
        {"prefixItems": [{}], "items": False, "dependentRequired": {"a": ["b"]}, "$defs": {"a": {"$anchor": "b"}}},
        {"definitions": {"a": {}}, "$ref": "#/definitions/a", "type": "object"},
        {"default": {"$schema": ADDRESSES[4], "items": [1]}},
        {"items": [{"type": "strng"}]},
    ],
)
def test_what_is_of_the_latest_draft_or_of_none_is_not_touched(schema: Any) -> None:
    assert latest_draft(msgspec.json.encode(schema)) is None


@pytest.mark.parametrize("address", ["https://example.com/mine", "http://json-schema.org/schema#"])
def test_an_address_that_is_not_spoken_of_is_taken_away(address: str) -> None:
    assert published({"$schema": address, "type": "object"}) == {"type": "object"}

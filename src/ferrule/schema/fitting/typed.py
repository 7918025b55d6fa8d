"""The types a schema takes, as it is meant."""

from __future__ import annotations

from ferrule.model.value import JsonObject
from ferrule.schema.merging import type_words
from ferrule.schema.schema_view import json_type

OBJECT = frozenset(
    [
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "minProperties",
        "maxProperties",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedProperties",
    ]
)
ARRAY = frozenset(
    [
        "items",
        "prefixItems",
        "additionalItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "unevaluatedItems",
    ]
)
STRING = frozenset({"minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType", "contentSchema"})
NUMBER = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
FAMILIES = {"object": OBJECT, "array": ARRAY, "string": STRING, "number": NUMBER, "integer": NUMBER}
"""Keywords by the type whose values they judge."""
TYPED = OBJECT | ARRAY | STRING | NUMBER
_KNOWN = ("object", "array", "string", "number", "integer", "boolean", "null")


def types_of(keywords: JsonObject) -> list[str]:
    """Returns the types that a schema takes; empty where it takes any.

    One that states no type but has keywords of some (`properties` without `type: object`) is taken to mean those,
    though to the letter it accepts every value of the others.
    """
    if "type" in keywords:
        words = [word for word in type_words(keywords["type"]) if word in _KNOWN]
        return [word for word in words if word != "integer" or "number" not in words]
    return [word for word in ("object", "array", "string", "number") if not FAMILIES[word].isdisjoint(keywords)]


def type_of(value: object) -> str:
    """Returns the JSON type of a value, integers being numbers."""
    word = json_type(value)
    return "number" if word == "integer" else word

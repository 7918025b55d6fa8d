"""Descriptions, defaults and examples of a type, and the limits that the type itself cannot say."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ferrule.contracts.type_tree import SILENT, Bound, TypeAnnotations
from ferrule.definitions.stubs.places import SchemaPlace
from ferrule.model.value import JsonObject, is_number
from ferrule.schema.fitting.keywords import describe_keyword

_WORDS = frozenset({"description", "title", "default", "examples", "example", "deprecated"})
_LIMITS = {
    "string": ("minLength", "maxLength", "pattern", "contentMediaType", "not"),
    "number": ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "not"),
    "array": ("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "not"),
    "object": ("minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependencies", "not", "if"),
}
_JUDGING = frozenset(keyword for keywords in _LIMITS.values() for keyword in keywords)
_BOUND = frozenset(f"{end}{what}" for end in ("min", "max") for what in ("Length", "Items", "Properties", "imum")) | {
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
}
_COUNTED = {"Length": "character", "Items": "item", "Properties": "member", "Contains": "of them"}
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_MOST = 12
_MOST_EXAMPLES = 5


def read_annotations(
    places: Iterable[SchemaPlace], limits: tuple[str, ...] = (), bounds: tuple[Bound, ...] = ()
) -> TypeAnnotations:
    """Reads the annotations of one value's schemas; where two say the same thing, the first counts."""
    told_of: JsonObject = {}
    for place in places:
        schema = place.schema
        if isinstance(schema, dict) and not _WORDS.isdisjoint(schema):
            for keyword in _WORDS:
                if keyword in schema:
                    told_of.setdefault(keyword, schema[keyword])
    if not told_of and not limits:
        return SILENT
    description = told_of.get("description") or told_of.get("title")
    examples = told_of.get("examples")
    if not isinstance(examples, list):
        examples = [told_of["example"]] if "example" in told_of else []
    return TypeAnnotations(
        description=description.strip() if isinstance(description, str) else "",
        limits=limits,
        bounds=bounds,
        default=told_of.get("default"),
        has_default="default" in told_of,
        examples=tuple(examples[:_MOST_EXAMPLES]),
        is_deprecated=told_of.get("deprecated") is True,
    )


@cache
def _list_keywords(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(keyword for kind in kinds for keyword in _LIMITS.get(kind, ())))


def list_limits(places: Iterable[SchemaPlace], kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Lists the limits that the schemas check besides the type, for values of some kinds."""
    found: dict[str, None] = {}
    for place in places:
        if _JUDGING.isdisjoint(place.schema):
            continue
        for keyword in _list_keywords(kinds):
            if keyword in place.schema:
                found.setdefault(_describe_limit(keyword, place.schema), None)
    found.pop("", None)
    return tuple(found)[:_MOST]


def list_bounds(places: Iterable[SchemaPlace], kinds: tuple[str, ...]) -> tuple[Bound, ...]:
    """Lists those limits that compare with one value."""
    found: dict[Bound, None] = {}
    for place in places:
        if _BOUND.isdisjoint(place.schema):
            continue
        for keyword in _list_keywords(kinds):
            operand = place.schema.get(keyword) if keyword in _BOUND else None
            if operand is True and keyword in _BOUNDS:  # draft 4: the other keyword has the number
                operand = place.schema.get(_BOUNDS[keyword])
            elif keyword in _BOUNDS.values() and place.schema.get(f"exclusive{keyword.capitalize()}") is True:
                continue
            if is_number(operand) or (keyword == "pattern" and isinstance(operand, str)):
                found.setdefault(Bound(keyword, operand), None)
    return tuple(found)


def _describe_limit(keyword: str, schema: JsonObject) -> str:
    operand = schema[keyword]
    if keyword in _BOUNDS and isinstance(operand, bool):
        return describe_keyword(keyword, schema.get(_BOUNDS[keyword])) if operand else ""
    if keyword in ("minimum", "maximum") and schema.get(f"exclusive{keyword.capitalize()}") is True:
        return ""
    if keyword[3:] in _COUNTED and is_number(operand):
        if keyword.startswith("min") and operand <= 0:
            return ""
        what = _COUNTED[keyword[3:]]
        ending = "" if operand == 1 or keyword.endswith("Contains") else "s"
        return f"at {'least' if keyword.startswith('min') else 'most'} {operand:g} {what}{ending}"
    if keyword == "if":
        return "more is asked of it under a condition"
    return describe_keyword(keyword, operand)


def describe_needs(schema: JsonObject) -> str:
    """Describes a union of requirements: `needs a, b or c`."""
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, list) and all(
            isinstance(branch, dict) and isinstance(branch.get("required"), list) and "properties" not in branch
            for branch in branches
        ):
            said = " or ".join(" and ".join(map(str, branch["required"])) for branch in branches[:10])
            return f"needs {said}"[:200]
    return ""

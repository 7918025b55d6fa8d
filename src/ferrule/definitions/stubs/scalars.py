"""Types of texts, numbers and booleans, and enumerations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, isfinite
from typing import TypeGuard

from msgspec.structs import replace

from ferrule.contracts import type_tree as types
from ferrule.definitions.stubs.alternatives import Alternative, is_whole
from ferrule.definitions.stubs.growth import Growth, select_places
from ferrule.definitions.stubs.limits import read_annotations
from ferrule.definitions.stubs.places import SchemaNode, SchemaPlace
from ferrule.model.value import JsonObject, is_number
from ferrule.schema.fitting.keywords import NUMBER as NUMERIC
from ferrule.schema.fitting.keywords import STRING, format_values

_LISTING = frozenset({"enum", "const"})
_MOST_CHOICES = 2_000
_MOST_TOLD = 100
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
BOOLEAN, NUMBER, INTEGER, TEXT = types.Boolean(), types.Number(), types.Integer(), types.TextType()


_PLAIN = frozenset(
    [
        "type",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "format",
        "contentEncoding",
        *STRING,
        *NUMERIC,
    ]
)


def make_plain(node: SchemaNode) -> types.Type | None:
    """Returns the type of a schema that says little more than that; None for any other. (Most are like that.)"""
    if len(node.places) != 1:
        return None
    schema = node.places[0].schema
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN:
        return None
    match schema.get("type"):
        case "string":
            return _make_text(node.places)
        case "integer":
            return make_integer(node.places)
        case "number":
            return NUMBER
        case "boolean":
            return BOOLEAN
        case _:
            return None


def make_scalar(growth: Growth, found: Alternative, name: str, pointer: str) -> types.Type:
    """Returns the type of one alternative that is neither object nor list."""
    if found.values is not None:
        return _make_from_values(growth, found, name, pointer)
    match found.kind:
        case "string":
            return _make_text(found.places)
        case "integer":
            return make_integer(found.places)
        case "number":
            return NUMBER
        case _:
            return BOOLEAN


def join_scalars(growth: Growth, found: Sequence[Alternative], name: str, pointer: str) -> types.Type:
    """Returns one type for several alternatives of one kind."""
    if all(each.values is not None for each in found):
        values = tuple(dict.fromkeys((type(value), value) for each in found for value in each.values or ()))
        labels = {value: label for each in found for value, label in zip(each.values or (), each.labels, strict=False)}
        listing = tuple(value for _, value in values)
        return _make_from_values(
            growth,
            found[0]._replace(values=listing, labels=tuple(labels.get(value, "") for value in listing), places=()),
            name,
            pointer,
        )
    kinds = {each.kind for each in found if each.values is None}
    if kinds == {"string"}:
        formats = {_make_text(each.places).format for each in found}
        return types.TextType(formats.pop()) if len(formats) == 1 and not any(each.values for each in found) else TEXT
    if kinds == {"boolean"}:
        return BOOLEAN
    if kinds == {"integer"} and all(is_whole(value) for each in found for value in each.values or ()):
        return _join_ranges(
            [make_integer(each.places) if each.values is None else _make_range(each.values) for each in found]
        )
    return NUMBER


def _make_text(places: tuple[SchemaPlace, ...]) -> types.TextType:
    for place in places:
        if place.schema.get("contentEncoding") in ("base64", "base64url"):
            return types.TextType("binary")
        if isinstance(said := place.schema.get("format"), str):
            return types.TextType(said)
    return TEXT


def make_integer(places: tuple[SchemaPlace, ...]) -> types.Integer:
    """Returns an integer with the tightest bounds that are stated."""
    lowest = [bound for place in places for bound in _list_minimums(place.schema)]
    highest = [bound for place in places for bound in _list_maximums(place.schema)]
    if not lowest and not highest:
        return INTEGER
    return types.Integer(max(lowest, default=None), min(highest, default=None))


def _list_minimums(schema: JsonObject) -> list[int]:
    inclusive, exclusive = schema.get("minimum"), schema.get("exclusiveMinimum")
    found = []
    if _is_bound(inclusive):
        found.append(floor(inclusive) + 1 if exclusive is True else ceil(inclusive))
    if _is_bound(exclusive):
        found.append(floor(exclusive) + 1)
    return found


def _list_maximums(schema: JsonObject) -> list[int]:
    inclusive, exclusive = schema.get("maximum"), schema.get("exclusiveMaximum")
    found = []
    if _is_bound(inclusive):
        found.append(ceil(inclusive) - 1 if exclusive is True else floor(inclusive))
    if _is_bound(exclusive):
        found.append(ceil(exclusive) - 1)
    return found


def _is_bound(said: object) -> TypeGuard[int | float]:
    return is_number(said) and (isinstance(said, int) or isfinite(said))


def _join_ranges(found: list[types.Integer]) -> types.Integer:
    lowest = [each.minimum for each in found]
    highest = [each.maximum for each in found]
    return types.Integer(
        None if None in lowest else min(each for each in lowest if each is not None),
        None if None in highest else max(each for each in highest if each is not None),
    )


def _make_range(values: Sequence[float]) -> types.Integer:
    return types.Integer(int(min(values)), int(max(values)))


def _make_from_values(growth: Growth, found: Alternative, name: str, pointer: str) -> types.Type:
    """Returns the type of a few values of one kind."""
    values = found.values or ()
    if isinstance(values[0], bool):
        return BOOLEAN if len(values) > 1 else types.Constant(values[0])
    if isinstance(values[0], str):
        if len(values) > _MOST_CHOICES:
            growth.document.note(pointer, f"{len(values):,} values are too many to name; the type is any text")
            return TEXT
        return (
            types.Constant(values[0]) if len(values) == 1 else _make_enumeration(growth, found, values, name, pointer)
        )
    if not all(is_whole(value) for value in values):
        if len(values) == 1 and isfinite(values[0]):
            return types.Constant(values[0])
        growth.document.note(pointer, f"the type is any number; the schema takes only {format_values(list(values))}")
        return NUMBER
    whole = tuple(int(value) for value in values)
    if len(whole) > _MOST_CHOICES or min(whole) < _SMALLEST or max(whole) > _LARGEST:
        growth.document.note(pointer, "its values are not named; the type is any integer")
        return _make_range(whole)
    return types.Constant(whole[0]) if len(whole) == 1 else _make_enumeration(growth, found, whole, name, pointer)


def _make_enumeration(
    growth: Growth, found: Alternative, values: Sequence[str | int], name: str, pointer: str
) -> types.Type:
    places = select_places(found.places, _LISTING)
    made_of = [place.pointer for place in places] or [name]
    # The values too: several schemas together may allow only some of what one of them lists.
    key = (found.kind, (*made_of, *map(repr, values)), frozenset[str]())
    if (known := growth.find_known(key)) is not None:
        return known
    named = growth.reserve(key, name, pointer)
    if named is None:
        return TEXT if isinstance(values[0], str) else INTEGER
    growth.declared[named.name] = types.Enumeration(
        name=named.name,
        kind="string" if isinstance(values[0], str) else "integer",
        choices=_make_choices(values, found.labels),
        pointer=places[0].pointer if places else pointer,
        words=_add_choices(read_annotations(places or found.places), found.places),
    )
    return types.NamedType(named.name)


def _add_choices(said: types.TypeAnnotations, places: tuple[SchemaPlace, ...]) -> types.TypeAnnotations:
    """Adds the descriptions of an enumeration's values to its own."""
    lines = [f"- {value}: {text}" for place in places for value, text in _describe_choices(place.schema)]
    if not lines:
        return said
    listing = "\n".join(lines[:_MOST_TOLD])
    return replace(said, description=f"{said.description}\n\n{listing}".strip())


def _describe_choices(schema: JsonObject) -> Iterator[tuple[str, str]]:
    """Values with what is said of each: branches of constants, or a list beside the values, as some tools write it."""
    for keyword in ("oneOf", "anyOf"):
        branches = schema.get(keyword)
        for branch in branches if isinstance(branches, list) else ():
            if isinstance(branch, dict) and "const" in branch and isinstance(text := branch.get("description"), str):
                yield str(branch["const"]), " ".join(text.split())
    values = schema.get("enum")
    for keyword in ("x-enum-descriptions", "x-enumDescriptions"):
        texts = schema.get(keyword)
        if isinstance(values, list) and isinstance(texts, list) and len(texts) == len(values):
            yield from (
                (str(value), " ".join(str(text).split())) for value, text in zip(values, texts, strict=True) if text
            )


def _make_choices(values: Sequence[str | int], labels: Sequence[str]) -> tuple[types.EnumerationChoice, ...]:
    """Names the values, all differently: by their labels where every value has its own."""
    if len(set(labels)) == len(values) and all(labels):
        return tuple(types.EnumerationChoice(value, label) for value, label in zip(values, labels, strict=True))
    found: dict[str, types.EnumerationChoice] = {}
    for value in values:
        word = value if isinstance(value, str) else f"minus {-value}" if value < 0 else str(value)
        if not word:
            word = "empty"
        # The empty text is called `empty`, unless a value is.
        while word in found or (value == "" and word in values):
            word += "_"
        found[word] = types.EnumerationChoice(value, word)
    return tuple(found.values())

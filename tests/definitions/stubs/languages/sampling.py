"""Random schemas that use every keyword the checker knows, and values that nearly fit them."""

from __future__ import annotations

from random import Random
from typing import Any

_NAMES = ("a", "b", "c", "ab", "__proto__", "constructor", "a/b", "~", "")
_TEXTS = ("", "a", "ab", "abc", "aé", "\U0001f600", "\U0001f600\U0001f600", "1", "a\nb", "A-1", "-_@")
_NUMBERS = (0, 1, -1, 2, 3, 1.0, 1.5, 0.1, 0.3, 0.07, 19.99, 1e20, 9007199254740991, 1e300, -0.0, 1e-7)
_PATTERNS = (
    "^a",
    "b$",
    "^[a-c]{2}$",
    r"\d",
    r"^\w+$",
    "(a|b)c",
    "^(?=a)",
    r"^\p{L}+$",
    r"\-\_\@",
    "^.$",
    r"\Aab\z",
    "(?i)AB",
)
_STEPS = (1, 2, 0.5, 0.1, 0.01, 3, 1e-7, 7)
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def value_of(chance: Random, depth: int = 3) -> Any:
    """Any JSON value."""
    kind = chance.randrange(8 if depth else 5)
    if kind >= 6:
        return {chance.choice(_NAMES): value_of(chance, depth - 1) for _ in range(chance.randrange(4))}
    if kind == 5:
        return [value_of(chance, depth - 1) for _ in range(chance.randrange(4))]
    return (None, chance.random() < 0.5, chance.choice(_NUMBERS), chance.choice(_TEXTS), chance.choice(_TEXTS))[kind]


def schema_of(chance: Random) -> Any:
    """A schema with definitions to refer to."""
    root = _schema(chance, 3)
    if not isinstance(root, dict):
        return root
    definitions = {name: _schema(chance, 1) for name in ("x", "y/z")}
    anchored = _schema(chance, 1)
    if isinstance(anchored, dict):
        definitions["w"] = {**anchored, "$anchor": "spot"}
    return {**root, "$defs": {"w": {"$anchor": "spot"}, **definitions}}


def _schema(chance: Random, depth: int) -> Any:
    if chance.random() < 0.06:
        return chance.random() < 0.7
    families = [_typed, _valued, _numeric, _textual]
    if depth:
        families += [_array, _array, _object, _object, _combined, _combined, _conditional]
    made: dict[str, Any] = {}
    for family in chance.sample(families, chance.choice((1, 1, 2, 3))):
        made |= family(chance, depth - 1)
    return made


def _some(chance: Random, odds: float, **makers: Any) -> dict[str, Any]:
    return {word: make() for word, make in makers.items() if chance.random() < odds}


def _typed(chance: Random, depth: int) -> dict[str, Any]:
    return {"type": chance.choice((chance.choice(_TYPES), chance.sample(_TYPES, 3)))}


def _valued(chance: Random, depth: int) -> dict[str, Any]:
    if chance.random() < 0.3:
        return {"const": value_of(chance, 1)}
    return {"enum": [value_of(chance, 1) for _ in range(chance.randint(1, 4))]}


def _numeric(chance: Random, depth: int) -> dict[str, Any]:
    return _some(
        chance,
        0.3,
        minimum=lambda: chance.choice(_NUMBERS),
        maximum=lambda: chance.choice(_NUMBERS),
        exclusiveMinimum=lambda: chance.choice(_NUMBERS),
        exclusiveMaximum=lambda: chance.choice(_NUMBERS),
        multipleOf=lambda: chance.choice(_STEPS),
    )


def _textual(chance: Random, depth: int) -> dict[str, Any]:
    return _some(
        chance,
        0.4,
        minLength=lambda: chance.randrange(3),
        maxLength=lambda: chance.randrange(4),
        pattern=lambda: chance.choice(_PATTERNS),
        format=lambda: "date-time",
    )


def _array(chance: Random, depth: int) -> dict[str, Any]:
    return _some(
        chance,
        0.3,
        prefixItems=lambda: [_schema(chance, depth) for _ in range(chance.randint(1, 2))],
        items=lambda: _schema(chance, depth),
        contains=lambda: _schema(chance, depth),
        minContains=lambda: chance.randrange(3),
        maxContains=lambda: chance.randrange(1, 3),
        uniqueItems=lambda: chance.random() < 0.7,
        minItems=lambda: chance.randrange(3),
        maxItems=lambda: chance.randrange(4),
        unevaluatedItems=lambda: _schema(chance, depth),
    )


def _object(chance: Random, depth: int) -> dict[str, Any]:
    return _some(
        chance,
        0.3,
        properties=lambda: {name: _schema(chance, depth) for name in chance.sample(_NAMES, 3)},
        patternProperties=lambda: {chance.choice(_PATTERNS): _schema(chance, depth)},
        additionalProperties=lambda: _schema(chance, depth),
        propertyNames=lambda: _schema(chance, 0),
        required=lambda: chance.sample(_NAMES, 1),
        minProperties=lambda: chance.randrange(2),
        maxProperties=lambda: chance.randrange(1, 4),
        dependentRequired=lambda: {chance.choice(_NAMES): [chance.choice(_NAMES)]},
        dependentSchemas=lambda: {chance.choice(_NAMES): _schema(chance, depth)},
        unevaluatedProperties=lambda: _schema(chance, depth),
    )


def _combined(chance: Random, depth: int) -> dict[str, Any]:
    def several() -> list[Any]:
        return [_schema(chance, depth) for _ in range(chance.randint(1, 3))]

    found = _some(chance, 0.3, allOf=several, anyOf=several, oneOf=several)
    found |= _some(chance, 0.2, **{"not": lambda: _schema(chance, depth)})
    references = ("#/$defs/x", "#/$defs/y~1z", "#spot", "#/%24defs/x")
    return found | _some(chance, 0.3, **{"$ref": lambda: chance.choice(references)})


def _conditional(chance: Random, depth: int) -> dict[str, Any]:
    return {"if": _schema(chance, depth)} | _some(
        chance, 0.7, **{"then": lambda: _schema(chance, depth), "else": lambda: _schema(chance, depth)}
    )

"""Schemas of every kind, and arguments that fit them.

Arguments are made from the schema's own text and then checked by a validator, so all are valid. They keep to what a schema
means: no member that an object does not speak of, no item after the last position of a tuple, no null for a property that
may be left out. A root that says nothing takes no arguments.
"""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema_rs
import msgspec

from ferrule.schema.validation.validators import compile_schema

NAMES = ("a", "b", "key", "value", "arguments", "other_members", "a b", "a_b", "$x", "été", "x-y", "1st", "")
DEFS = ("One", "Two", "odd name")
_TEXTS = ("", "a", "b", "abc", "a b", "2026-01-31", "[]", '{"a":1}', "null", "5", "someone@example.com", "é")


def schema_of(chance: Random) -> dict[str, Any]:
    """A root: mostly an object, now and then something else."""
    root = _object_schema(chance, 3) if chance.random() < 0.8 else _node(chance, 3)
    if not isinstance(root, dict):
        root = {}
    is_rich = chance.random() < 0.5
    return {**root, "$defs": {name: _node(chance, 2) if is_rich else {"type": "string"} for name in DEFS}}


def is_circular(root: dict[str, Any]) -> bool:
    """True when a schema speaks of itself about the very same value: what that means is left open by JSON Schema."""
    pending = [root, *root.get("$defs", {}).values()]
    while pending:
        schema = pending.pop()
        if isinstance(schema, dict):
            if _comes_back(schema, root, ()):
                return True
            pending += [one for said in schema.values() for one in _below(said)]
    return False


def _comes_back(schema: Any, root: dict[str, Any], way: tuple[int, ...]) -> bool:
    if not isinstance(schema, dict):
        return False
    if id(schema) in way:
        return True
    beside = [one for word in ("allOf", "anyOf", "oneOf") for one in schema.get(word, ())]
    beside += [schema[word] for word in ("not", "if", "then", "else") if word in schema]
    if "$ref" in schema:
        beside.append(_referred(schema["$ref"], root))
    return any(_comes_back(one, root, (*way, id(schema))) for one in beside)


def _below(said: Any) -> list[Any]:
    return said if isinstance(said, list) else [said, *said.values()] if isinstance(said, dict) else []


def _referred(ref: str, root: dict[str, Any]) -> Any:
    return root if ref == "#" else root["$defs"][ref.removeprefix("#/$defs/").replace("%20", " ")]


def part_of(chance: Random) -> dict[str, Any]:
    """One without references or unions, to be put together with others."""
    made = chance.choice([_text, _number, _enum])(chance) if chance.random() < 0.4 else _flat_object(chance)
    return made if chance.random() < 0.9 else {"anyOf": [made, {"type": "null"}], "description": "Either"}


def _flat_object(chance: Random) -> dict[str, Any]:
    names = chance.sample(["a", "b", "p1"], chance.randint(0, 2))
    schema: dict[str, Any] = {"type": "object", "properties": {name: _text(chance) for name in names}}
    rest = {"type": "integer"}
    return schema | _some(
        chance,
        0.3,
        required=names[:1],
        additionalProperties=chance.choice([True, False, rest]),
        patternProperties={"^p": chance.choice([rest, {}, {"type": "string"}])},
        maxProperties=2,
        propertyNames={"maxLength": 2},
    )


def _node(chance: Random, depth: int) -> Any:
    if depth <= 0 or chance.random() < 0.45:
        return chance.choice([_text, _text, _number, _plain, _enum, _ref])(chance)
    deep = (_object_schema, _object_schema, _map, _items, _tuple, _union, _union, _all, _said)
    return chance.choice(deep)(chance, depth - 1)


def _some(chance: Random, odds: float, **given: Any) -> dict[str, Any]:
    """Some of the keywords; one that is a function is asked for its operand."""
    return {word: said() if callable(said) else said for word, said in given.items() if chance.random() < odds}


def _text(chance: Random) -> dict[str, Any]:
    return {"type": chance.choice(["string", "string", ["string", "null"]])} | _some(
        chance,
        0.2,
        minLength=chance.randint(0, 2),
        maxLength=chance.randint(2, 6),
        pattern=chance.choice(["^a", "^(?=a)", r"^\w*$", "^.{0,500}$"]),
        format=chance.choice(["date", "uri", "email", "binary"]),
        description="Words",
        default="a",
        title="T",
    )


def _number(chance: Random) -> dict[str, Any]:
    return {"type": chance.choice(["integer", "number", ["integer", "null"], ["string", "integer"]])} | _some(
        chance,
        0.2,
        minimum=chance.randint(-2, 2),
        maximum=chance.randint(2, 9),
        exclusiveMaximum=chance.randint(3, 9),
        multipleOf=chance.choice([1, 2, 0.5]),
        examples=[1, 2],
        format="int32",
    )


def _plain(chance: Random) -> Any:
    said = [
        True,
        {},
        {"type": "boolean"},
        {"type": "null"},
        {"type": "object"},
        {"type": "array"},
        {"x-note": 1},
        False,
    ]
    return chance.choice(said)


def _enum(chance: Random) -> dict[str, Any]:
    values = ["a", "b", 1, 2.5, True, None, "", {"a": 1}, [1]]
    return chance.choice(
        [
            {"enum": chance.sample(values, chance.randint(1, 3))},
            {"const": chance.choice(values)},
            {"type": "string", "enum": ["a", "b"], "description": "One of two"},
            {"type": ["string", "null"], "enum": ["a", None]},
            {"enum": ["a", "abc"], "minLength": 2},
        ]
    )


def _ref(chance: Random) -> dict[str, Any]:
    refs = [f"#/$defs/{name.replace(' ', '%20')}" for name in DEFS] + ["#"]
    return {"$ref": chance.choice(refs)} | _some(chance, 0.3, description="Elsewhere")


def _object_schema(chance: Random, depth: int) -> dict[str, Any]:
    names = chance.sample(NAMES, chance.randint(0, 4))
    properties = {name: _node(chance, depth) for name in names}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if chance.random() < 0.6:
        schema["required"] = chance.sample(names, chance.randint(0, len(names)))
    more = chance.choice(["", "", "", "shut", "open", "typed", "patterns", "rest"])
    if more in ("shut", "open"):
        schema["additionalProperties"] = more == "open"
    elif more == "typed":
        schema["additionalProperties"] = _node(chance, depth)
    elif more == "rest":
        schema["unevaluatedProperties"] = chance.choice([True, False, {"type": "string"}])
    elif more == "patterns":
        schema["patternProperties"] = {"^p": _node(chance, depth)}
        schema |= _some(chance, 0.3, additionalProperties=False)
    extra = chance.choice(["", "", "", "", "untyped", "needs", "if", "dependent", "not", "sized", "listed"])
    if extra == "untyped" and properties:
        del schema["type"]
    elif extra == "needs" and len(properties) > 1:
        schema["anyOf"] = [{"required": [name]} for name in names]
    elif extra == "if" and properties:
        schema |= {"if": {"required": [names[0]]}, "then": {"minProperties": 1}, "else": {"maxProperties": 3}}
    elif extra == "dependent" and len(properties) > 1:
        schema["dependentRequired"] = {names[0]: [names[1]]}
    elif extra == "not":
        schema["not"] = {"required": ["never"]}
    elif extra == "sized":
        schema["maxProperties"] = 4
    elif extra == "listed":
        schema["type"] = ["object", chance.choice(["null", "string", "array"])]
    return schema


def _map(chance: Random, depth: int) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": _node(chance, depth)} | _some(
        chance,
        0.2,
        minProperties=chance.randint(0, 2),
        maxProperties=chance.randint(2, 4),
        propertyNames=chance.choice([{"pattern": "^[a-z]"}, {"enum": ["p", "q", "r"]}, {"maxLength": 3}]),
    )


def _items(chance: Random, depth: int) -> dict[str, Any]:
    return {"type": "array", "items": _node(chance, depth)} | _some(
        chance,
        0.2,
        minItems=chance.randint(0, 2),
        maxItems=chance.randint(2, 3),
        uniqueItems=True,
        contains={},
        description="Several",
    )


def _tuple(chance: Random, depth: int) -> dict[str, Any]:
    first = [_node(chance, depth) for _ in range(chance.randint(1, 2))]
    rest = False if chance.random() < 0.5 else _node(chance, depth)
    return {"type": "array", "prefixItems": first} | _some(chance, 0.4, items=rest, minItems=chance.randint(0, 2))


def _union(chance: Random, depth: int) -> dict[str, Any]:
    branches = [_node(chance, depth) for _ in range(chance.randint(1, 3))]
    schema: dict[str, Any] = {chance.choice(["anyOf", "oneOf"]): branches} | _some(
        chance, 0.4, description="One or other"
    )
    beside = chance.choice(["", "", "null", "tagged", "object", "two"])
    if beside == "null":
        branches.append({"type": "null"})
    elif beside == "tagged":
        for at, word in enumerate(("first", "second")):
            tagged = {"kind": {"const": word}, "a": _node(chance, depth)}
            branches.append({"type": "object", "properties": tagged, "required": ["kind", "a"][: at + 1]})
    elif beside == "object":
        schema |= {"type": "object", "properties": {"a": _node(chance, depth)}}
    elif beside == "two":
        schema |= {"anyOf": branches, "oneOf": [_node(chance, depth), _node(chance, depth)]}
    return schema


def _all(chance: Random, depth: int) -> dict[str, Any]:
    if chance.random() < 0.3:
        return {"allOf": [_node(chance, depth)], "description": "The same, said otherwise"}
    if chance.random() < 0.3:
        return {"allOf": [_node(chance, depth) for _ in range(chance.randint(1, 3))]}
    parts = [_object_schema(chance, depth) for _ in range(chance.randint(1, 2))]
    return {"allOf": parts} | chance.choice([{}, {"properties": {"a": {}}}, {"unevaluatedProperties": False}])


def _said(chance: Random, depth: int) -> dict[str, Any]:
    """One that is said with a reference and something beside it."""
    more = _node(chance, depth)
    return _ref(chance) | (more if isinstance(more, dict) else {})


def arguments(schema: dict[str, Any], count: int) -> list[Any]:
    """Values that the schema accepts, always the same for the same schema."""
    try:
        validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=False)
    except jsonschema_rs.ValidationError:
        return []
    found = [_value(schema, schema, Random(seed), 6, is_joined=True) for seed in range(count)]
    return [one for one in found if one is not _NONE and validator.is_valid(one)]


class _Nothing:
    """No value."""


_NONE: Any = _Nothing()


def _value(schema: Any, root: dict[str, Any], chance: Random, fuel: int, is_joined: bool = False) -> Any:
    if is_joined and _says_nothing(schema):
        return {}
    if schema is True or schema == {}:
        return chance.choice(["a", 1, None, True, [], {"a": 1}, 0.5, '"a"'])
    if schema is False or fuel <= 0:
        return _NONE
    parts = [_own(schema, root, chance, fuel)]
    members = list(schema.get("allOf", ()))
    if "$ref" in schema:
        members.append(_referred(schema["$ref"], root))
    members += [chance.choice(schema[word]) for word in ("anyOf", "oneOf") if word in schema]
    if parts[0] is not _NONE or len(members) > 1:
        members = [member for member in members if not _says_nothing(member)]
        is_joined = True  # whatever says nothing inside them says nothing about this object either
    parts += [_value(member, root, chance, fuel - 1, is_joined) for member in members]
    real = [part for part in parts if part is not _NONE]
    if "type" not in schema and isinstance(parts[0], dict | list):
        real = [part for part in real if type(part) is type(parts[0])]  # it means the type its keywords speak of
    if not real:
        return _NONE
    if all(isinstance(part, dict) for part in real):
        whole: Any = {}
        for part in real:
            if any(name in whole and whole[name] != one for name, one in part.items()):
                return _NONE  # made for two schemas that both speak of it, it is at home in neither
            whole |= part
        if members and any(name in whole for name in _vague(schema, *members)):
            return _NONE
    else:
        whole = chance.choice(real)
    # What was made for one branch must fit that branch, and not another that merely does not mind.
    return whole if all(_fits(member, root, whole) for member in members) else _NONE


def _vague(*schemas: Any) -> set[str]:
    """Properties about which one schema says something and another nothing."""
    named = [schema.get("properties", {}) for schema in schemas if isinstance(schema, dict)]
    return {
        name for one in named for name in one if _says_nothing(one[name]) and sum(name in other for other in named) > 1
    }


def _fits(schema: Any, root: dict[str, Any], value: Any) -> bool:
    if not isinstance(schema, dict):
        return bool(schema)
    alone = msgspec.json.encode({"$defs": root.get("$defs", {}) | {"root itself": root}, "allOf": [schema]})
    alone = alone.replace(b'"$ref":"#"', b'"$ref":"#/$defs/root%20itself"')
    return compile_schema(alone).is_valid(value)


_FAMILY = (
    dict.fromkeys(("properties", "additionalProperties", "patternProperties", "required", "maxProperties"), "object")
    | dict.fromkeys(("items", "prefixItems", "minItems", "maxItems"), "array")
    | dict.fromkeys(("minLength", "maxLength", "pattern"), "string")
    | dict.fromkeys(("minimum", "maximum", "multipleOf"), "number")
)


def _own(schema: dict[str, Any], root: dict[str, Any], chance: Random, fuel: int) -> Any:
    """A value by the schema's own keywords."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return chance.choice(schema["enum"])
    said = schema.get("type") or next((word for key, word in _FAMILY.items() if key in schema), None)
    match chance.choice(said) if isinstance(said, list) else said:
        case "string":
            return chance.choice(_TEXTS)
        case "integer":
            return chance.randint(-3, 9)
        case "number":
            return chance.choice([-1, 0, 1, 2, 0.5, 2.5, 4, 1.0])
        case "boolean":
            return chance.random() < 0.5
        case "null":
            return None
        case "array":
            return _list(schema, root, chance, fuel)
        case "object":
            return _object(schema, root, chance, fuel)
    if any(word in schema for word in ("$ref", "anyOf", "oneOf", "allOf")):
        return _NONE
    return chance.choice(["a", 1, None, {"a": 1}])


def _list(schema: dict[str, Any], root: dict[str, Any], chance: Random, fuel: int) -> Any:
    first = schema.get("prefixItems", [])
    size = chance.randint(schema.get("minItems", 0), 3)
    found = []
    for at in range(size):
        if at < len(first):
            inner = first[at]
        elif "items" in schema or not first:
            inner = schema.get("items", True)
        else:
            break
        found.append(_value(inner, root, chance, fuel - 1))
    return found[: found.index(_NONE)] if _NONE in found else found


def _object(schema: dict[str, Any], root: dict[str, Any], chance: Random, fuel: int) -> Any:
    found: dict[str, Any] = {}
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        if name in required or chance.random() < 0.6:
            one = _value(inner, root, chance, fuel - 1)
            if one is _NONE and name in required:
                return _NONE
            if one is not _NONE and (one is not None or name in required):
                found[name] = one
    more = schema.get("additionalProperties", _is_free(schema))
    if more is not False and more is not None:
        for name in chance.sample(["q", "r", "zz", "a_b", "key"], chance.randint(0, 2)):
            if name not in found and name not in schema.get("properties", {}):
                found[name] = _value(more, root, chance, fuel - 1)
    for inner in schema.get("patternProperties", {}).values():
        if chance.random() < 0.5:
            found["p1"] = _value(inner, root, chance, fuel - 1)
    return {name: one for name, one in found.items() if one is not _NONE}


def _says_nothing(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return schema is True
    return schema.get("type", "object") == "object" and schema.keys() <= {
        "type",
        "$defs",
        "x-note",
        "required",
        "description",
    }


def _is_free(schema: dict[str, Any]) -> Any:
    """An object that says nothing at all takes anything."""
    return True if schema == {"type": "object"} else None

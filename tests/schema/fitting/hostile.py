"""Schemas that somebody wrote to do harm, or by mistake."""

from __future__ import annotations

from typing import Any


def _nested(count: int, wrap: Any) -> Any:
    schema: Any = {"type": "string"}
    for at in range(count):
        schema = wrap(schema, at)
    return schema


def _argument(schema: Any, **definitions: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, "$defs": definitions}


def _object(name: str, inner: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: inner}}


def _ref(name: Any) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


_CHAIN = {
    f"d{at}": {"type": "object", "properties": {"x": _ref(f"d{at + 1}"), "y": _ref(f"d{at + 1}")}} for at in range(30)
}
_ALL = {f"d{at}": {"allOf": [_ref(f"d{at + 1}"), _ref(f"d{at + 1}")]} for at in range(30)}
_ANY = {f"d{at}": {"anyOf": [_ref(f"d{at + 1}"), _ref(f"d{at + 1}"), _object(f"p{at}", {})]} for at in range(30)}
_RING = {f"d{at}": _object("next", _ref(f"d{(at + 1) % 2000}")) for at in range(2000)}
_WEB = {f"d{at}": {"type": "object", "properties": {f"x{to}": _ref(f"d{to}") for to in range(12)}} for at in range(12)}
_MESH = {
    f"d{at}": {"anyOf": [*(_ref(f"d{to}") for to in range(12)), _object("b", _ref(f"d{(at + 1) % 12}"))]}
    for at in range(12)
}
_END = {"d30": {"type": "string"}}

HOSTILE: dict[str, Any] = {
    "deep": _nested(300, lambda inner, _: _object("a", inner)),
    "bottomless": _nested(5000, lambda inner, _: _object("a", inner)),
    "deep unions": _argument(_nested(300, lambda inner, _: {"anyOf": [inner]})),
    "itself": {"$ref": "#"},
    "a loop": _argument(_ref("A"), A=_ref("B"), B=_ref("A")),
    "doubling": _argument(_ref("d0"), **_CHAIN, **_END),
    "doubling allOf": _argument(_ref("d0"), **_ALL, **_END),
    "doubling anyOf": _argument(_ref("d0"), **_ANY, **_END),
    "unions of all": _argument(
        {"allOf": [{"anyOf": [_object(f"a{at}", {}), _object(f"b{at}", {})]} for at in range(40)]}
    ),
    "unions in unions": _argument(
        _nested(14, lambda inner, at: {"anyOf": [_object(f"k{at}", inner), _object(f"l{at}", inner)]})
    ),
    "a long enum": _argument({"enum": [f"value{at}" for at in range(100_000)]}),
    "a long enum of numbers": _argument({"enum": list(range(100_000))}),
    "many properties": {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(100_000)}},
    "many bad names": {"type": "object", "properties": {f"p {at}": {"type": "string"} for at in range(20_000)}},
    "alike bad names": {"type": "object", "properties": {"é" * (at % 50) + "ü" * (at // 50): {} for at in range(1500)}},
    "many branches": _argument({"anyOf": [_object(f"p{at}", {"type": "string"}) for at in range(10_000)]}),
    "some branches": _argument({"anyOf": [_object(f"p{at}", {"type": "string"}) for at in range(400)]}),
    "a large allOf": _argument(
        {"allOf": [{"properties": {f"p{n}": {"minLength": at} for n in range(20)}} for at in range(1000)]}
    ),
    "a web": _argument(_ref("d0"), **_WEB),
    "a mesh": _argument(_ref("d0"), **_MESH),
    "a ring": {"type": "object", "properties": {f"p{at}": _ref(f"d{at}") for at in range(1900)}, "$defs": _RING},
    "a long tuple": _argument({"prefixItems": [_object(f"p{at}", {}) for at in range(5000)]}),
    "tuples in tuples": _argument(_nested(25, lambda inner, _: {"type": "array", "prefixItems": [inner]})),
    "a long word": _argument({"type": "string", "not": {"enum": ["x" * 1000] * 5000}}),
    "a lone surrogate": {"type": "object", "properties": {"\ud800": {}}},
    "a huge number": _argument({"type": "integer", "maximum": 10**400, "multipleOf": 1e308, "enum": [10**400, 1]}),
    "operands of wrong types": {
        "type": 7,
        "properties": [1],
        "required": {"a": 1},
        "anyOf": 3,
        "$defs": [],
        "allOf": {},
    },
    "wrong inside": _argument({"type": {}, "enum": 7, "items": 3, "anyOf": [1], "minItems": "x", "prefixItems": 3}),
    "no schema": _argument(5),
    "a foreign reference": _argument({"$ref": "https://example.com/schema.json"}),
    "a missing reference": _argument(_ref("nowhere")),
    "a reference that is no text": _argument({"$ref": 5}),
    "nothing": {"type": "object", "properties": {"a": False}, "required": ["a"]},
    "not a mapping": [1],
    "false": False,
    "true": True,
}

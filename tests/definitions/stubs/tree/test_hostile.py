"""Schemas that somebody wrote to do harm give a tree soon, and never an exception."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ferrule.definitions.stubs.tree import make_type_tree
from tests.definitions.stubs.tree.test_fits import assert_whole
from tests.schema.fitting.hostile import HOSTILE


def _nested(wrap: Any, count: int = 900) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(count):
        schema = wrap(schema)
    return schema


_MORE: dict[str, Any] = {
    "lists in lists": _nested(lambda inner: {"type": "array", "items": inner}),
    "maps in maps": _nested(lambda inner: {"additionalProperties": inner}),
    "unions in unions": _nested(lambda inner: {"anyOf": [inner, {"type": "object", "properties": {"a": {}}}]}),
    "all in all": _nested(lambda inner: {"allOf": [inner]}),
    "conditions in conditions": _nested(lambda inner: {"type": "object", "if": {}, "then": inner}),
    "a long chain": {"$ref": "#/$defs/0", "$defs": {str(at): {"$ref": f"#/$defs/{at + 1}"} for at in range(1000)}},
    "unions of records": {"anyOf": [{"type": "object", "properties": {f"m{at}": {}}} for at in range(1500)]},
    "ever larger sums": {
        "$ref": "#/$defs/d0",
        "$defs": {
            f"d{at}": {
                "type": "object",
                "properties": {
                    "a": {"allOf": [{"$ref": f"#/$defs/d{(at + 1) % 20}"}, {"$ref": f"#/$defs/d{(at * 7 + 3) % 20}"}]}
                },
            }
            for at in range(20)
        },
    },
    "long names": {"properties": {"x" * 5000: {"properties": {"y" * 5000: {"properties": {"z": {}}}}}}},
    "lone surrogates": {"properties": {"\ud800": {"properties": {"\udfff": {"enum": ["\ud800", "a"]}}}}},
    "numbers without end": {
        "properties": {
            "a": {"type": "integer", "minimum": float("inf")},
            "b": {"enum": [float("inf"), 1]},
            "c": {"const": float("nan")},
            "d": {"enum": [10**400, 1]},
        }
    },
}


@pytest.mark.parametrize("schema", (HOSTILE | _MORE).values(), ids=(HOSTILE | _MORE).keys())
def test_a_tree_soon(schema: Any) -> None:
    started = time.process_time()
    tree = make_type_tree(schema, "GoInput")
    assert time.process_time() - started < 10
    assert_whole(tree)
    assert len(tree.declarations) <= 3_001 and len(tree.notes) <= 200
    assert max(len(each.name) for each in tree.declarations) <= 80

"""Schemas whose parts contain themselves: written out to a bounded depth, with everything shallow enough still accepted."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.model.tool import raw
from ferrule.schema.inlining import NotInlinable, unfold
from ferrule.schema.validation.validators import compile_schema
from ferrule.schema.walk import positions

NODE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "node": {"$ref": "#/$defs/Node"},
        "leaf": {"$ref": "#/$defs/Leaf"},
    },
    "$defs": {
        "Node": {
            "title": "Node",
            "type": "object",
            "properties": {"value": {"$ref": "#/$defs/Leaf"}, "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
            "required": ["value"],
            "additionalProperties": False,
        },
        "Leaf": {"type": "integer", "minimum": 0},
    },
}  # fmt: skip


def chain(values: list[Any]) -> Any:
    found = None
    for value in reversed(values):
        found = {"value": value, "next": found}
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-2, 5), min_size=1, max_size=8))
def test_what_fits_still_fits_and_what_does_not_is_refused_as_far_as_it_is_written_out(values: list[int]) -> None:
    found = unfold(NODE)
    assert (found.cut, found.levels) == (("Node",), 3)
    assert all("$ref" not in position.schema and "title" not in position.schema for position in positions(found.schema))
    before, after = (compile_schema(bytes(raw(schema))) for schema in (NODE, found.schema))
    given_value = {"node": chain(values)}
    if before.is_valid(given_value):
        assert after.is_valid(given_value)
    if any(value < 0 for value in values[:3]):
        assert not after.is_valid(given_value)


def test_parts_that_all_contain_each_other_are_refused_or_bounded_in_no_time() -> None:
    names = [f"P{number}" for number in range(20)]
    part = {"type": "object", "properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/P0"}}, "$defs": dict.fromkeys(names, part)}
    started = time.process_time()
    found = unfold(schema)
    assert found.levels < 3
    with pytest.raises(NotInlinable):
        unfold({"$ref": "#/$defs/nowhere", "$defs": {"a": {"$ref": "#/$defs/a"}}})
    assert time.process_time() - started < 5

"""What is put into one schema accepts whatever its parts accept together: asked of the engine that decides containment."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.schema.fitting.flattening import Flat, flatten
from ferrule.schema.validation.containment import Containment, contains
from tests.schema.fitting.schemas import part_of


def whole(flat: Flat | None) -> Any:
    if flat is None:
        return False
    return (
        {**flat.keywords, "allOf": [{"anyOf": branches} for branches in flat.unions]} if flat.unions else flat.keywords
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_merged_schema_refuses_nothing_that_its_parts_accept(seed: int) -> None:
    chance = Random(seed)
    for _ in range(5):
        parts = [part_of(chance) for _ in range(chance.randint(2, 3))]
        verdict = contains({"allOf": parts}, whole(flatten(parts)), draft=20)
        assert verdict.answer is not Containment.REFUSES_SOME, (parts, flatten(parts), verdict.example)


def test_parts_that_exclude_one_another_accept_nothing() -> None:
    assert flatten([{"type": "string"}, {"type": "integer"}]) is None
    assert flatten([{"enum": ["a"]}, {"enum": ["b"]}]) is None
    assert flatten([{"const": 1}, {"const": True}]) is None
    assert flatten([{"enum": [[1]]}, {"enum": [[True]]}]) is None
    assert flatten([{"type": "string"}, {"type": "integer"}, {"type": "string"}]) is None


def test_integers_are_numbers() -> None:
    flat = flatten([{"type": "number", "minimum": 1}, {"type": "integer", "minimum": 3}])
    assert flat is not None and flat.keywords == {"type": ["integer"], "minimum": 3}


def test_what_cannot_be_put_into_one_is_told() -> None:
    flat = flatten([{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}])
    assert flat is not None and flat.left_out == [("pattern", "b$")]
    flat = flatten([{"minimum": "odd"}, {"minimum": "odd"}, {"minimum": 1}])
    assert flat is not None and flat.left_out == [("minimum", 1)], (
        "what is written wrong twice alike is no contradiction"
    )
    flat = flatten([{"not": {"const": 1}}, {"not": {"const": True}}])
    assert flat is not None and flat.left_out == [("not", {"const": True})]

"""What readers of stubs are told of types."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.type_tree import Enumeration
from ferrule.definitions.stubs.tree import make_type_tree


@pytest.mark.parametrize(
    "schema",
    [
        {
            "description": "How fast.",
            "oneOf": [{"const": "slow", "description": "On\n foot."}, {"const": "fast", "description": "By train."}],
        },
        {"description": "How fast.", "enum": ["slow", "fast"], "x-enum-descriptions": ["On foot.", "By train."]},
    ],
)
def test_what_is_said_of_each_value_is_told_with_the_enumeration(schema: dict[str, Any]) -> None:
    tree = make_type_tree({"type": "object", "properties": {"pace": {"type": "string", **schema}}}, "GoInput")
    (found,) = [each for each in tree.declarations if isinstance(each, Enumeration)]
    assert found.words.description == "How fast.\n\n- slow: On foot.\n- fast: By train."
    assert [each.value for each in found.choices] == ["slow", "fast"]


def test_values_of_which_nothing_is_said_add_nothing() -> None:
    tree = make_type_tree(
        {"type": "object", "properties": {"pace": {"enum": ["slow", "fast"], "description": "How."}}}, "GoInput"
    )
    (found,) = [each for each in tree.declarations if isinstance(each, Enumeration)]
    assert found.words.description == "How."

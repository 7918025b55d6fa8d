"""Records in Go: fields that tell a member left out from null, tags, and comments."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.type_tree import Constant, Record, Words
from ferrule.definitions.stubs.languages.go.names import Scope
from ferrule.definitions.stubs.languages.go.records import field_comment, record, struct, type_comment
from ferrule.definitions.stubs.languages.go.shapes import Shapes
from tests.definitions.stubs.languages.plans import plan_of, tool_plan, tree_of


def lines_of(schema: dict[str, Any]) -> list[str]:
    tree = tree_of({"type": "object", **schema})
    root = tree.declarations[0]
    assert isinstance(root, Record)
    made = record(root, "schema", Shapes(tree, Scope(plan_of(tool_plan()))), "It is one.")
    return [" ".join(line.split()) for line in made]


@pytest.mark.parametrize(
    ("schema", "is_required", "field"),
    [
        ({"type": "string"}, True, 'A string `json:"a"`'),
        ({"type": "string"}, False, 'A *string `json:"a,omitempty"`'),
        ({"type": ["string", "null"]}, True, 'A *string `json:"a"`'),
        ({"type": ["string", "null"]}, False, 'A Optional[string] `json:"a,omitzero"`'),
        ({"type": "array"}, False, 'A []any `json:"a,omitempty"`'),
        ({}, False, 'A Optional[any] `json:"a,omitzero"`'),
    ],
)
def test_a_field_tells_left_out_from_null(schema: Any, is_required: bool, field: str) -> None:
    assert field in lines_of({"properties": {"a": schema}, "required": ["a"] if is_required else []})


def test_a_name_that_no_tag_can_have_stands_in_the_comment() -> None:
    lines = lines_of({"properties": {"grö,ße": {"type": "string"}}, "required": ["grö,ße"]})
    assert '// In JSON it is called "grö,ße".' in lines
    assert not any("json:" in line for line in lines)


def test_other_members_are_kept_in_a_map() -> None:
    lines = lines_of({"properties": {"extra": {}}, "additionalProperties": {"type": "integer"}})
    assert 'Extra map[string]int64 `json:"-"`' in lines
    assert any(line.startswith("readExtra(from, &made.Extra,") and '"extra"' in line for line in lines)
    assert not any("Extra map" in line for line in lines_of({"properties": {"a": {}}, "additionalProperties": False}))


def test_words_of_a_member_are_told_in_its_comment() -> None:
    words = Words(description="How many", limits=("at most 9",), default=3, has_default=True, is_deprecated=True)
    told = " ".join(field_comment(words, Constant(3)))
    for part in ("How many", "Checked: at most 9.", "not filled in: 3.", "Deprecated:", "always 3"):
        assert part in told
    assert field_comment(Words()) == []
    assert type_comment("It is one.", Words()) == ["// It is one."]


def test_a_struct_without_fields_is_empty() -> None:
    assert struct("X", [], []) == ["type X struct{}", ""]

"""Records: their members, what they need, and what else they may hold."""

from __future__ import annotations

from ferrule.definitions.stubs.tree import make_type_tree
from tests.definitions.stubs.tree.notation import root_record


def test_members_keep_the_order_of_the_schema() -> None:
    properties = {name: {"type": "string"} for name in "zamb"}
    tree = make_type_tree({"type": "object", "properties": properties, "required": ["b", "a"]}, "GoInput")
    assert [(member.name, member.is_required) for member in root_record(tree).members] == [
        ("z", False),
        ("a", True),
        ("m", False),
        ("b", True),
    ]


def test_what_a_record_needs_besides_is_told() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "minProperties": 1,
    }
    assert root_record(make_type_tree(schema, "GoInput")).words.limits == ("at least 1 member", "needs a or b")

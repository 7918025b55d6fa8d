"""A tree of types finds its declarations by name, also where types refer to themselves."""

from __future__ import annotations

from ferrule.contracts.type_tree import Alias, ListOf, NamedType, RecordMember, RecordType, TypeTree

NODE = RecordType(
    name="Node",
    members=(RecordMember(name="below", type=ListOf(NamedType("Node")), is_required=False),),
    openness="closed",
    extra=None,
    pointer="#/$defs/node",
)
ROOT = Alias(name="Input", type=NamedType("Node"), pointer="#")


def test_a_declaration_is_found_by_its_name() -> None:
    tree = TypeTree(NamedType("Input"), (ROOT, NODE))
    assert tree.find_declaration(tree.root.name) is ROOT
    assert tree.find_declaration("Node") is NODE


def test_a_type_that_refers_to_itself_is_found_again_from_within() -> None:
    tree = TypeTree(NamedType("Node"), (NODE,))
    inner = NODE.members[0].type
    assert isinstance(inner, ListOf) and isinstance(inner.item, NamedType)
    assert tree.find_declaration(inner.item.name) is NODE

"""A tree of types finds its declarations by name, also where types refer to themselves."""

from __future__ import annotations

from ferrule.contracts.type_tree import Alias, ListOf, Member, Named, Record, TypeTree

NODE = Record(
    name="Node",
    members=(Member(name="below", type=ListOf(Named("Node")), is_required=False),),
    openness="closed",
    extra=None,
    pointer="#/$defs/node",
)
ROOT = Alias(name="Input", type=Named("Node"), pointer="#")


def test_a_declaration_is_found_by_its_name() -> None:
    tree = TypeTree(Named("Input"), (ROOT, NODE))
    assert tree.declared(tree.root.name) is ROOT
    assert tree.declared("Node") is NODE


def test_a_type_that_refers_to_itself_is_found_again_from_within() -> None:
    tree = TypeTree(Named("Node"), (NODE,))
    inner = NODE.members[0].type
    assert isinstance(inner, ListOf) and isinstance(inner.item, Named)
    assert tree.declared(inner.item.name) is NODE

"""`make_type_tree`: the types of a schema's values, as stubs in any language declare them."""

from __future__ import annotations

import msgspec

from ferrule.contracts import type_tree as types
from ferrule.definitions.stubs.alternatives import Alternative, find_alternatives
from ferrule.definitions.stubs.growth import (
    ANYTHING,
    DEEPEST,
    Growth,
    TypeNames,
    is_definition,
    make_key,
    select_places,
)
from ferrule.definitions.stubs.identifiers import ACRONYMS
from ferrule.definitions.stubs.limits import list_limits, read_annotations
from ferrule.definitions.stubs.lists import make_list
from ferrule.definitions.stubs.places import NEUTRAL, SchemaDocument, SchemaNode, SchemaPlace
from ferrule.definitions.stubs.records import SHAPING, make_object
from ferrule.definitions.stubs.scalars import make_plain, make_scalar
from ferrule.definitions.stubs.type_walk import names_in, parts_of
from ferrule.definitions.stubs.unions import keep_all_members, make_union
from ferrule.model.value import JsonValue

NULL = types.Null()


def make_type_tree(
    schema: JsonValue,
    name: str,
    *,
    prefix: str = "",
    acronyms: frozenset[str] = ACRONYMS,
    taken: set[str] | None = None,
) -> types.TypeTree:
    """Returns the types of a schema. The root is declared as `name`; names of the others begin with `prefix`, or where
    none is given with the root's (`GetWeather` for `GetWeatherInput`), and are added to `taken`, whose names none of them has."""
    taken = set() if taken is None else taken
    taken.add(name)
    document = SchemaDocument(schema)
    tree = _Tree(document, TypeNames(prefix or name.removesuffix("Input") or name, acronyms, taken), name)
    try:
        tree.grow()
    except RecursionError:
        document.note("#", "it is nested too deep; any value is taken")
        return types.TypeTree(
            types.NamedType(name), (types.Alias(name=name, type=ANYTHING, pointer="#"),), tuple(document.notes)
        )
    declared = keep_all_members({each: found for each, found in tree.declared.items() if found is not None})
    return types.TypeTree(types.NamedType(name), _sort_declarations(declared, name), tuple(document.notes))


class _Tree(Growth):
    """One tree growing."""

    def __init__(self, document: SchemaDocument, names: TypeNames, root_name: str) -> None:
        super().__init__(document, names, root_name)
        self._targets: dict[str, types.Type | None] = {}

    def grow(self) -> None:
        """Declares the root and everything it needs."""
        root = SchemaNode((SchemaPlace(self.document.root, "#"),))
        made = self._make_root(root)
        flat = self.document.flatten(root.places) or ()
        listed = self.declared.get(made.name) if isinstance(made, types.NamedType) else None
        if isinstance(listed, types.Enumeration) and listed.name != self.root_name:
            self.declared = {self.root_name: msgspec.structs.replace(listed, name=self.root_name, pointer="#")}
        if self.root_name not in self.declared:
            self.declared[self.root_name] = types.Alias(
                name=self.root_name,
                type=made,
                pointer="#",
                words=read_annotations((*root.places, *flat), list_limits(flat, _FOR_ALL)),
            )
        # Members are looked at after all names are given: recursion between records ends so.
        while self.later:
            self.later.pop()()

    def _make_root(self, root: SchemaNode) -> types.Type:
        found = find_alternatives(self.document, root, is_root=True)
        if not found.found:
            return NULL if found.is_nullable else self.loosen("#", "no value fits; any value is taken")
        if not found.is_nullable:
            self.root_key = self._find_root_key(found.found, root)
        name = f"{self.names.prefix}Value" if found.is_nullable else self.names.prefix
        made = self._join_ways(found.found, root, name, 0)
        return types.Nullable(made) if found.is_nullable and not isinstance(made, types.Anything) else made

    def _find_root_key(
        self, found: tuple[Alternative, ...], root: SchemaNode
    ) -> tuple[str, tuple[str, ...], frozenset[str]]:
        """Returns the key under which the root will be declared."""
        flat = self.document.flatten(root.places) or ()
        if len(found) > 1 or found[0].kind == "union":
            return make_key("union", tuple(place for place in flat if not place.schema.keys() <= NEUTRAL), root.chosen)
        kind = found[0].kind
        return make_key(kind, select_places(found[0].places, SHAPING) if kind == "object" else ())

    def make_type(self, node: SchemaNode, name: str, depth: int) -> types.Type | None:
        if depth > DEEPEST:
            return self.loosen(node.pointer, f"nested more than {DEEPEST} deep; any value is taken")
        if (simple := make_plain(node)) is not None:
            return simple
        if len(node.places) == 1 and not node.chosen:
            origin = self.document.find_origin(node.places[0])
            if origin is not node.places[0]:
                return self._follow_reference(origin, depth)
        return self._make(node, name, depth)

    def _follow_reference(self, origin: SchemaPlace, depth: int) -> types.Type | None:
        """Returns the type of what a reference points at; others may have asked for it already."""
        if origin.pointer not in self._targets:
            name = self.names.name_definition(origin.pointer)
            self._targets[origin.pointer] = self._make(SchemaNode((origin,)), name, depth)
        return self._targets[origin.pointer]

    def _make(self, node: SchemaNode, name: str, depth: int) -> types.Type | None:
        found = find_alternatives(self.document, node)
        if not found.found:
            return NULL if found.is_nullable else None
        origin = node.places[0] if len(node.places) == 1 else None
        ways = found.found
        if origin is not None:
            ways = tuple(each if each.origin else each._replace(origin=origin) for each in ways)
        made = self._join_ways(ways, node, name, depth)
        return types.Nullable(made) if found.is_nullable and not isinstance(made, types.Anything) else made

    def _join_ways(self, found: tuple[Alternative, ...], node: SchemaNode, name: str, depth: int) -> types.Type:
        if any(each.kind == "any" for each in found):
            return ANYTHING
        if len(found) == 1:
            return self.make_alternative(found[0], node, name, depth)
        return make_union(self, found, node, name, depth)

    def make_alternative(self, found: Alternative, node: SchemaNode, name: str, depth: int) -> types.Type:
        pointer = found.pointer or node.pointer
        if found.origin is not None and is_definition(found.origin.pointer):
            name, pointer = self.names.name_definition(found.origin.pointer), found.origin.pointer
        match found.kind:
            case "any":
                return ANYTHING
            case "object":
                return make_object(self, found, name, pointer, depth)
            case "array":
                return make_list(self, found, name, pointer, depth)
            case "union":
                assert found.node is not None
                made = self.make_type(found.node, name, depth + 1) or ANYTHING
                return made.inner if isinstance(made, types.Nullable) else made  # the union around it is nullable then
            case _:
                return make_scalar(self, found, name, pointer)


_FOR_ALL = ("string", "number", "array", "object")


def _sort_declarations(declared: dict[str, types.Declaration], root: str) -> tuple[types.Declaration, ...]:
    """Returns the declarations as a reader meets them."""
    found: dict[str, types.Declaration] = {}
    ahead = [root]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found[name] = declared[name]
            ahead += reversed([each for part in parts_of(declared[name]) for each in names_in(part)])
    return tuple(found.values())

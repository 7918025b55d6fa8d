"""`type_tree`: the types of a schema's values, as stubs in any language declare them."""

from __future__ import annotations

import msgspec

from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Declaration,
    Enumeration,
    NamedType,
    Null,
    Nullable,
    Type,
    TypeTree,
)
from ferrule.definitions.stubs.alternatives import Alternative, alternatives
from ferrule.definitions.stubs.growth import ANYTHING, DEEPEST, Growth, TypeNames, is_definition, key_of, saying
from ferrule.definitions.stubs.identifiers import ACRONYMS
from ferrule.definitions.stubs.limits import limits, words
from ferrule.definitions.stubs.lists import list_type
from ferrule.definitions.stubs.places import NEUTRAL, Document, Node, Place
from ferrule.definitions.stubs.records import SHAPING, object_type
from ferrule.definitions.stubs.scalars import plain, scalar
from ferrule.definitions.stubs.type_walk import names_in, parts_of
from ferrule.definitions.stubs.unions import losing_nothing, union_type
from ferrule.model.value import JsonValue

NULL = Null()


def type_tree(
    schema: JsonValue,
    name: str,
    *,
    prefix: str = "",
    acronyms: frozenset[str] = ACRONYMS,
    taken: set[str] | None = None,
) -> TypeTree:
    """The types of a schema. The root is declared as `name`; names of the others begin with `prefix`, or where none is given with
    the root's (`GetWeather` for `GetWeatherInput`), and are added to `taken`, whose names none of them has."""
    taken = set() if taken is None else taken
    taken.add(name)
    document = Document(schema)
    tree = _Tree(document, TypeNames(prefix or name.removesuffix("Input") or name, acronyms, taken), name)
    try:
        tree.grow()
    except RecursionError:
        document.note("#", "it is nested too deep; any value is taken")
        return TypeTree(NamedType(name), (Alias(name=name, type=ANYTHING, pointer="#"),), tuple(document.notes))
    declared = losing_nothing({each: found for each, found in tree.declared.items() if found is not None})
    return TypeTree(NamedType(name), _in_order(declared, name), tuple(document.notes))


class _Tree(Growth):
    """One tree growing."""

    def __init__(self, document: Document, names: TypeNames, root_name: str) -> None:
        super().__init__(document, names, root_name)
        self._targets: dict[str, Type | None] = {}

    def grow(self) -> None:
        """Declares the root and everything it needs."""
        root = Node((Place(self.document.root, "#"),))
        made = self._root(root)
        flat = self.document.flat(root.places) or ()
        listed = self.declared.get(made.name) if isinstance(made, NamedType) else None
        if isinstance(listed, Enumeration) and listed.name != self.root_name:
            self.declared = {self.root_name: msgspec.structs.replace(listed, name=self.root_name, pointer="#")}
        if self.root_name not in self.declared:
            self.declared[self.root_name] = Alias(
                name=self.root_name, type=made, pointer="#", words=words((*root.places, *flat), limits(flat, _FOR_ALL))
            )
        while self.later:
            self.later.pop()()

    def _root(self, root: Node) -> Type:
        found = alternatives(self.document, root, is_root=True)
        if not found.found:
            return NULL if found.is_nullable else self.loose("#", "no value fits; any value is taken")
        if not found.is_nullable:
            self.root_key = self._key(found.found, root)
        name = f"{self.names.prefix}Value" if found.is_nullable else self.names.prefix
        made = self._inner(found.found, root, name, 0)
        return Nullable(made) if found.is_nullable and not isinstance(made, Anything) else made

    def _key(self, found: tuple[Alternative, ...], root: Node) -> tuple[str, tuple[str, ...], frozenset[str]]:
        """The key under which the root will be declared."""
        flat = self.document.flat(root.places) or ()
        if len(found) > 1 or found[0].kind == "union":
            return key_of("union", tuple(place for place in flat if not place.schema.keys() <= NEUTRAL), root.chosen)
        kind = found[0].kind
        return key_of(kind, saying(found[0].places, SHAPING) if kind == "object" else ())

    def type_of(self, node: Node, name: str, depth: int) -> Type | None:
        if depth > DEEPEST:
            return self.loose(node.pointer, f"nested more than {DEEPEST} deep; any value is taken")
        if (simple := plain(node)) is not None:
            return simple
        if len(node.places) == 1 and not node.chosen:
            origin = self.document.origin(node.places[0])
            if origin is not node.places[0]:
                return self._referred(origin, depth)
        return self._made(node, name, depth)

    def _referred(self, origin: Place, depth: int) -> Type | None:
        """The type of what a reference points at; others may have asked for it already."""
        if origin.pointer not in self._targets:
            name = self.names.of_definition(origin.pointer)
            self._targets[origin.pointer] = self._made(Node((origin,)), name, depth)
        return self._targets[origin.pointer]

    def _made(self, node: Node, name: str, depth: int) -> Type | None:
        found = alternatives(self.document, node)
        if not found.found:
            return NULL if found.is_nullable else None
        origin = node.places[0] if len(node.places) == 1 else None
        ways = found.found
        if origin is not None:
            ways = tuple(each if each.origin else each._replace(origin=origin) for each in ways)
        made = self._inner(ways, node, name, depth)
        return Nullable(made) if found.is_nullable and not isinstance(made, Anything) else made

    def _inner(self, found: tuple[Alternative, ...], node: Node, name: str, depth: int) -> Type:
        if any(each.kind == "any" for each in found):
            return ANYTHING
        if len(found) == 1:
            return self.alternative(found[0], node, name, depth)
        return union_type(self, found, node, name, depth)

    def alternative(self, found: Alternative, node: Node, name: str, depth: int) -> Type:
        pointer = found.pointer or node.pointer
        if found.origin is not None and is_definition(found.origin.pointer):
            name, pointer = self.names.of_definition(found.origin.pointer), found.origin.pointer
        match found.kind:
            case "any":
                return ANYTHING
            case "object":
                return object_type(self, found, name, pointer, depth)
            case "array":
                return list_type(self, found, name, pointer, depth)
            case "union":
                assert found.node is not None
                made = self.type_of(found.node, name, depth + 1) or ANYTHING
                return made.inner if isinstance(made, Nullable) else made  # the union around it is nullable then
            case _:
                return scalar(self, found, name, pointer)


_FOR_ALL = ("string", "number", "array", "object")


def _in_order(declared: dict[str, Declaration], root: str) -> tuple[Declaration, ...]:
    """The declarations as a reader meets them."""
    found: dict[str, Declaration] = {}
    ahead = [root]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found[name] = declared[name]
            ahead += reversed([each for part in parts_of(declared[name]) for each in names_in(part)])
    return tuple(found.values())

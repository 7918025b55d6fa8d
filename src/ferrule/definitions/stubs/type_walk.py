"""Walks through the types of a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ferrule.contracts import type_tree as types


def parts_of(declaration: types.Declaration) -> list[types.Type]:
    """Returns the types that a declaration is made of, in order; those of unnamed members last."""
    match declaration:
        case types.RecordType():
            extra = [] if declaration.extra is None else [declaration.extra]
            return [*(member.type for member in declaration.members), *extra]
        case types.Union():
            return [variant.type for variant in declaration.variants]
        case types.Alias():
            return [declaration.type]
        case _:
            return []


def types_within(type_: types.Type) -> tuple[types.Type, ...]:
    """Returns the types that a type is made of."""
    match type_:
        case types.ListOf(inner) | types.MapOf(inner) | types.Nullable(inner):
            return (inner,)
        case types.TupleOf(items, _, rest):
            return items if rest is None else (*items, rest)
        case _:
            return ()


def names_in(type_: types.Type, within: Callable[[types.Type], tuple[types.Type, ...]] = types_within) -> Iterator[str]:
    """Yields the declarations that a type mentions. `within`: what to look into."""
    if isinstance(type_, types.NamedType):
        yield type_.name
    for each in within(type_):
        yield from names_in(each, within)


def may_be_null(
    type_: types.Type, declared: Mapping[str, types.Declaration], seen: frozenset[str] = frozenset()
) -> bool:
    """Tells whether `null` is one of the values of a type."""
    if not isinstance(type_, types.NamedType):
        return isinstance(type_, types.Anything | types.Null | types.Nullable)
    declaration = declared[type_.name]
    # An alias may be nothing but itself.
    if type_.name in seen or not isinstance(declaration, types.Alias | types.Union):
        return False
    return any(may_be_null(each, declared, seen | {type_.name}) for each in parts_of(declaration))

"""Walks through the types of a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Declaration,
    ListOf,
    MapOf,
    NamedType,
    Null,
    Nullable,
    RecordType,
    TupleOf,
    Type,
    Union,
)


def parts_of(declaration: Declaration) -> list[Type]:
    """Returns the types that a declaration is made of, in order; those of unnamed members last."""
    match declaration:
        case RecordType():
            extra = [] if declaration.extra is None else [declaration.extra]
            return [*(member.type for member in declaration.members), *extra]
        case Union():
            return [variant.type for variant in declaration.variants]
        case Alias():
            return [declaration.type]
        case _:
            return []


def types_within(type_: Type) -> tuple[Type, ...]:
    """Returns the types that a type is made of."""
    match type_:
        case ListOf(inner) | MapOf(inner) | Nullable(inner):
            return (inner,)
        case TupleOf(items, _, rest):
            return items if rest is None else (*items, rest)
        case _:
            return ()


def names_in(type_: Type, within: Callable[[Type], tuple[Type, ...]] = types_within) -> Iterator[str]:
    """Yields the declarations that a type mentions. `within`: what to look into."""
    if isinstance(type_, NamedType):
        yield type_.name
    for each in within(type_):
        yield from names_in(each, within)


def may_be_null(type_: Type, declared: Mapping[str, Declaration], seen: frozenset[str] = frozenset()) -> bool:
    """Tells whether `null` is one of the values of a type."""
    if not isinstance(type_, NamedType):
        return isinstance(type_, Anything | Null | Nullable)
    declaration = declared[type_.name]
    # An alias may be nothing but itself.
    if type_.name in seen or not isinstance(declaration, Alias | Union):
        return False
    return any(may_be_null(each, declared, seen | {type_.name}) for each in parts_of(declaration))

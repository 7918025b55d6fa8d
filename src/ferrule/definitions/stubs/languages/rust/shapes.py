"""Types of a tree as Rust writes them, and what has to be declared beside them: constants and arrays by place."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Boolean,
    Constant,
    Integer,
    ListOf,
    MapOf,
    Named,
    Note,
    Null,
    Nullable,
    Number,
    Record,
    Text,
    TupleOf,
    Type,
    TypeTree,
    Union,
)
from ferrule.definitions.stubs.languages.rust.layout import Shape
from ferrule.definitions.stubs.languages.rust.text import literal, variant_names

I64 = (-(2**63), 2**63 - 1)
_U64 = 2**64 - 1
_I32 = 2**31
_WIDEST = 12
"""The standard library prints and compares tuples of so many values."""
_TEXT = Shape("String")
_VALUE = Shape("Value")


class Shapes:
    """The types of the trees of one file."""

    def __init__(self, trees: tuple[TypeTree, ...]) -> None:
        self.declarations = {each.name: each for tree in trees for each in tree.declarations}
        self.notes: list[Note] = []
        self.arrays: dict[str, tuple[str, TupleOf]] = {}
        """Arrays that are structs here, with their names."""
        self._reach: dict[str, frozenset[str]] = {}
        found = {_key(value): value for each in self.declarations.values() for value in _constants(each)}
        self._given = variant_names(found)
        self.constants = {self._given[key]: constant for key, constant in found.items()}
        """The values that have a type of their own, by its name."""

    def of(self, kind: Type, home: str, place: str) -> Shape:
        """The type of a value. `home`: the declaration it is part of, which it may have to be boxed for; `place`: what a type is
        called after that has to be declared for it."""
        match kind:
            case Anything():
                return _VALUE
            case Null():
                return Shape("")
            case Boolean():
                return Shape("bool")
            case Integer():
                return self._integer(kind, home)
            case Number():
                return Shape("f64")
            case Text():
                return _TEXT
            case Constant():
                return Shape(f"constants::{self._given[_key(kind)]}")
            case ListOf():
                return Shape("Vec", (self.of(kind.item, "", place),))
            case MapOf():
                return Shape("BTreeMap", (_TEXT, self.of(kind.value, "", place)))
            case TupleOf():
                return self._array(kind, home, place)
            case Nullable():
                return Shape("Option", (self.of(kind.inner, home, place),))
            case Named():
                named = Shape(kind.name)
                return Shape("Box", (named,)) if home and home in self._reached(kind.name) else named

    def may_be_null(self, kind: Type, seen: frozenset[str] = frozenset()) -> bool:
        """Whether `null` is one of the values."""
        if not isinstance(kind, Named):
            return isinstance(kind, Anything | Null | Nullable)
        declaration = self.declarations[kind.name]
        if kind.name in seen:
            return False
        match declaration:
            case Alias():
                return self.may_be_null(declaration.type, seen | {kind.name})
            case Union():
                return any(self.may_be_null(each.type, seen | {kind.name}) for each in declaration.variants)
            case _:
                return False

    def is_wrapped(self, alias: Alias) -> bool:
        """Whether an alias stands for itself by way of nothing but aliases, so that it has to be a type of its own."""
        seen: set[str] = set()
        waiting = [alias.type]
        while waiting:
            for name in _names(waiting.pop()):
                found = self.declarations[name]
                if isinstance(found, Alias) and name not in seen:
                    seen.add(name)
                    waiting.append(found.type)
        return alias.name in seen

    def _integer(self, kind: Integer, home: str) -> Shape:
        least, most = kind.minimum, kind.maximum
        is_signed = (least is None or least >= I64[0]) and (most is None or most <= I64[1])
        if is_signed and (least is None or least <= I64[1]):
            return Shape("i64")
        is_unsigned = least is not None and least >= 0
        if not is_unsigned or (most is not None and most > _U64):
            pointer = self.declarations[home].pointer if home else "#"
            self.notes.append(Note(pointer, "integers that 64 bits do not hold are refused"))
        return Shape("u64" if is_unsigned else "wire::Integer")

    def _array(self, kind: TupleOf, home: str, place: str) -> Shape:
        if not kind.items and kind.rest is None:
            return Shape("[Value; 0]")
        is_plain = kind.rest is None and kind.required == len(kind.items) <= _WIDEST
        if is_plain:
            return Shape("", tuple(self.of(each, home, f"{place}{at}") for at, each in enumerate(kind.items, 1)))
        if repr(kind) not in self.arrays:
            self.arrays[repr(kind)] = (self._free(f"{place}Array"), kind)
        shape = Shape(self.arrays[repr(kind)][0])
        return Shape("Box", (shape,)) if home and any(home in self._reached(name) for name in _inline(kind)) else shape

    def _free(self, wanted: str) -> str:
        taken = {*self.declarations, *(each for each, _ in self.arrays.values())}
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}{number}"
        return name

    def _reached(self, name: str) -> frozenset[str]:
        """The declarations that a value of this one has inside itself, without anything that keeps them elsewhere."""
        if name not in self._reach:
            seen = {name}
            waiting = [name]
            while waiting:
                for each in _parts(self.declarations[waiting.pop()]):
                    for inner in _inline(each):
                        if inner not in seen:
                            seen.add(inner)
                            waiting.append(inner)
            self._reach[name] = frozenset(seen)
        return self._reach[name]


def _parts(declaration: object) -> Iterator[Type]:
    match declaration:
        case Record():
            yield from (each.type for each in declaration.members)
            if declaration.extra is not None:
                yield MapOf(declaration.extra)
        case Union():
            yield from (each.type for each in declaration.variants)
        case Alias():
            yield declaration.type


def _inside(kind: Type) -> tuple[Type, ...]:
    match kind:
        case ListOf():
            return (kind.item,)
        case MapOf():
            return (kind.value,)
        case TupleOf():
            return (*kind.items, kind.rest) if kind.rest is not None else kind.items
        case Nullable():
            return (kind.inner,)
        case _:
            return ()


def _names(kind: Type) -> Iterator[str]:
    """All declarations that a type mentions."""
    if isinstance(kind, Named):
        yield kind.name
    for each in _inside(kind):
        yield from _names(each)


def _inline(kind: Type) -> Iterator[str]:
    """The declarations that a value of a type has in its own space."""
    match kind:
        case Named():
            yield kind.name
        case Nullable():
            yield from _inline(kind.inner)
        case TupleOf():
            for each in kind.items:
                yield from _inline(each)


def _constants(declaration: object) -> Iterator[Constant]:
    waiting = list(_parts(declaration))[::-1]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, Constant):
            yield kind
        waiting += _inside(kind)[::-1]


def _key(constant: Constant) -> str:
    """What the type of a constant is called after; a control character keeps it apart from any text."""
    match constant.value:
        case bool():
            return f"Boolean {str(constant.value).lower()}\x00"
        case int() | float() if constant.value == int(constant.value):
            return f"Integer {int(constant.value)}\x00"
        case float():
            return f"Number {constant.value!r}\x00"
        case text:
            return str(text) or "empty"


def value_literal(value: str | float | bool) -> str:
    """A constant as a literal."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return literal(value)
        case float() if not value.is_integer():
            return f"{value!r}_f64"
        case _:
            return _integer_literal(int(value))


def _integer_literal(value: int) -> str:
    if -_I32 <= value < _I32:
        return str(value)
    if I64[0] <= value <= I64[1]:
        return f"{value}_i64"
    return f"{value}_u64" if 0 <= value <= _U64 else f"{float(value)!r}_f64"

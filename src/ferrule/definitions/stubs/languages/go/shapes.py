"""What a type of a tree is in Go: the type itself, what reads it from a JSON value, and what writes it.

`reader` and `writer` expressions are calls of the support file `values.go` and `writing.go`, put together.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Boolean,
    Constant,
    Declaration,
    Enumeration,
    Integer,
    ListOf,
    MapOf,
    Named,
    Null,
    Nullable,
    Number,
    Record,
    Text,
    TupleOf,
    Type,
    TypeTree,
)
from ferrule.definitions.stubs.languages.go.names import Scope
from ferrule.definitions.stubs.languages.go.text import quoted

INT = range(-(2**63), 2**63)
UINT = range(2**64)
Nil = Literal["", "List", "Map"]


class Shape(NamedTuple):
    """A type in Go."""

    go: str
    read: str
    """An expression: `reader[go]`."""
    write: str
    """An expression: `writer[go]`."""
    takes_null: bool = False
    """Whether a value of the type may be null by itself."""
    nil: Nil = ""
    """Whether it is a list or a map, whose nil can say that there is none."""
    inner_write: str = ""
    """What writes one item of the list or the map."""


class TupleStruct(NamedTuple):
    """A tuple, which Go has to give a name."""

    name: str
    type: TupleOf
    owner: str
    """The declaration that it is a part of."""


_ANY = Shape("any", "readAny", "writeAny", takes_null=True)
_NULL = Shape("Null", "readNull", "writeNull", takes_null=True)
_BOOL = Shape("bool", "readBool", "writeBool")
_TEXT = Shape("string", "readText", "writeText")
_FLOAT = Shape("float64", "readFloat", "writeFloat")
_INT = Shape("int64", "readInt", "writeInt")
_UINT = Shape("uint64", "readUint", "writeUint")
NUMBER = Shape("json.Number", "readNumber", "writeNumber")


class Shapes:
    """The shapes of one tree. Tuples that it meets get a name and are kept for their declaration."""

    def __init__(self, tree: TypeTree, scope: Scope) -> None:
        self.declared: dict[str, Declaration] = {each.name: each for each in tree.declarations}
        self.scope = scope
        self.tuples: list[TupleStruct] = []
        self._circles = _circles(self.declared)

    def of(self, type_: Type, hint: str, owner: str) -> Shape:
        """The shape of a type that a declaration, the `owner`, has somewhere. `hint` is what a tuple within it is called."""
        match type_:
            case Named(name):
                return self._named(name)
            case ListOf(item):
                inner = self.of(item, f"{hint}Item", owner)
                return Shape(f"[]{inner.go}", *_both("list", inner), nil="List", inner_write=inner.write)
            case MapOf(value):
                inner = self.of(value, f"{hint}Value", owner)
                return Shape(f"map[string]{inner.go}", *_both("map", inner), nil="Map", inner_write=inner.write)
            case Nullable(inner_type):
                return _nullable(self.of(inner_type, hint, owner))
            case TupleOf():
                name = self.scope.given(hint)
                self.tuples.append(TupleStruct(name, type_, owner))
                return Shape(name, f"decode{name}", f"encode{name}")
            case _:
                return self.scalar(_scalar(type_))

    def scalar(self, shape: Shape) -> Shape:
        """The shape; what it has to import is noted."""
        self.scope.has_numbers = self.scope.has_numbers or shape.go == NUMBER.go
        return shape

    def held(self, type_: Type, hint: str, owner: str) -> Shape:
        """The shape of a type that a struct has within itself: behind a pointer where the struct would be within itself."""
        shape = self.of(type_, hint, owner)
        if isinstance(type_, Named) and (owner, type_.name) in self._circles:
            return Shape(f"*{shape.go}", f"pointerReader({shape.read})", f"pointerWriter({shape.write})")
        return shape

    def _named(self, name: str) -> Shape:
        declared = self.declared[name]
        shape = Shape(name, f"decode{name}", f"encode{name}")
        if isinstance(declared, Alias):
            return shape._replace(takes_null=self._takes_null(declared.type))
        return shape

    def _takes_null(self, type_: Type, depth: int = 0) -> bool:
        if isinstance(type_, Named):
            inner = self.declared[type_.name]
            return isinstance(inner, Alias) and depth < len(self.declared) and self._takes_null(inner.type, depth + 1)
        return isinstance(type_, Anything | Null | Nullable)


def _both(kind: str, inner: Shape) -> tuple[str, str]:
    return f"{kind}Reader({inner.read})", f"{kind}Writer({inner.write})"


def _nullable(shape: Shape) -> Shape:
    if shape.takes_null:
        return shape
    if shape.nil:
        read, write = f"nullableReader({shape.read})", f"nullable{shape.nil}Writer({shape.inner_write})"
        return Shape(shape.go, read, write, takes_null=True)
    read = f"nullableReader(pointerReader({shape.read}))"
    return Shape(f"*{shape.go}", read, f"nullableWriter({shape.write})", takes_null=True)


def _scalar(type_: Type) -> Shape:
    match type_:
        case Null():
            return _NULL
        case Boolean():
            return _BOOL
        case Integer():
            return integer(type_)
        case Number():
            return _FLOAT
        case Text():
            return _TEXT
        case Constant(value):
            base, literal = constant(value)
            read = base.read if base is NUMBER else f"constantReader({literal}, {base.read})"
            return Shape(base.go, read, f"constantWriter({literal}, {base.write})")
        case _:
            return _ANY


def integer(type_: Integer) -> Shape:
    """The integer that holds what the bounds allow; `json.Number` where none of Go's does."""
    least, most = type_.minimum, type_.maximum
    if (least is None or least in INT) and (most is None or most in INT):
        return _INT
    if least is not None and most is not None and least in UINT and most in UINT:
        return _UINT
    return NUMBER


def constant(value: str | int | float | bool) -> tuple[Shape, str]:
    """The shape of a constant without what makes it one, and the constant as a literal of that type."""
    match value:
        case bool():
            return _BOOL, "true" if value else "false"
        case str():
            return _TEXT, quoted(value)
        case float():
            return _FLOAT, f"float64({value!r})"
        case _ if value in INT:
            return _INT, f"int64({value})"
        case _ if value in UINT:
            return _UINT, f"uint64({value})"
        case _:
            return NUMBER, f'json.Number("{value}")'


def whole_numbers(declared: Enumeration) -> str:
    """What the values of an enumeration of integers are kept in; empty where none of Go's types holds them all."""
    values = [each.value for each in declared.choices if isinstance(each.value, int)]
    if all(value in INT for value in values):
        return "int64"
    return "uint64" if all(value in UINT for value in values) else ""


def _circles(declared: dict[str, Declaration]) -> set[tuple[str, str]]:
    """Pairs of an owner and what it holds, where the one would be within the other."""
    holds = {name: set(_held(each)) for name, each in declared.items()}
    return {(owner, name) for owner, names in holds.items() for name in names if owner in _reached(holds, name)}


def _reached(holds: dict[str, set[str]], start: str) -> set[str]:
    reached, waiting = {start}, [start]
    while waiting:
        new = holds[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def _held(declared: Declaration) -> list[str]:
    """What a value of a type has within itself, not behind a pointer, in a list or in a map."""
    match declared:
        case Alias(type=inner):
            return _names(inner, True)
        case Record(members=members):
            return [name for each in members for name in _names(each.type, each.is_required)]
        case _:
            return []


def _names(type_: Type, is_required: bool) -> list[str]:
    """Optional values are behind pointers, except those that may be null: an `Optional` has them within itself."""
    match type_:
        case Nullable(inner) if not is_required:
            return _names(inner, True)
        case Named(name) if is_required:
            return [name]
        case TupleOf(items=items, required=required) if is_required:
            return [name for place, item in enumerate(items) for name in _names(item, place < required)]
        case _:
            return []

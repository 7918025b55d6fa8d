"""Types of a tree as Python's annotations, and how to read values of them (`support/shapes.py`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

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
    Member,
    Named,
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
from ferrule.definitions.stubs.languages.python.source_text import literal

_TOKENS = re.compile(r""" \| |[\[\]]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_MOST_LENGTHS = 4
"""How many lengths of a tuple are told apart."""
_SCALARS: dict[type, tuple[str, str]] = {
    Anything: ("Any", "any"),
    Null: ("None", "null"),
    Boolean: ("bool", "bool"),
    Integer: ("int", "int"),
    Number: ("float", "num"),
    Text: ("str", "str"),
}


class Annotations:
    """The types of one tree, in one flavour."""

    def __init__(self, tree: TypeTree, flavour: str) -> None:
        self.tree = tree
        self.flavour = flavour
        self.declared: dict[str, Declaration] = {each.name: each for each in tree.declarations}
        self.uses: set[str] = set()
        """What has to be imported for what was written so far."""

    def presence(self, member: Member) -> str:
        """`required`, `optional` or `three`: see `support/layouts.py`."""
        if member.is_required:
            return "required"
        return "three" if self.takes_null(member.type) else "optional"

    def takes_null(self, made: Type, met: tuple[str, ...] = ()) -> bool:
        """Whether null is among the values of a type."""
        match made:
            case Nullable() | Null() | Anything():
                return True
            case Named(name) if name not in met:
                match self.declared[name]:
                    case Alias(type=inner):
                        return self.takes_null(inner, (*met, name))
                    case Union(variants=variants):
                        return any(self.takes_null(each.type, (*met, name)) for each in variants)
        return False

    def of(self, made: Type) -> str:
        """The annotation of a type."""
        match made:
            case Constant(value):
                return "float" if isinstance(value, float) else f"Literal[{literal(value)}]"
            case ListOf(item):
                return f"list[{self.of(item)}]"
            case MapOf(value):
                return f"dict[str, {self.of(value)}]"
            case Nullable(inner):
                return f"{self.of(inner)} | None"
            case Named(name):
                return name
            case TupleOf():
                return self._tuple(made)
            case Anything():
                self.uses.add("Any")
                return "Any"
            case _:
                return _SCALARS[type(made)][0]

    def _tuple(self, made: TupleOf) -> str:
        if not self.is_tuple(made):
            every = [*made.items, *([] if made.rest is None else [made.rest])]
            return f"list[{joined(self.of(each) for each in every)}]"
        lengths = range(made.required, len(made.items) + 1)
        forms = [self._form(made.items[:length]) for length in lengths]
        if made.rest is not None:
            forms[-1] = self._form(made.items, f"*tuple[{self.of(made.rest)}, ...]")
        return joined(forms)

    def _form(self, items: tuple[Type, ...], rest: str = "") -> str:
        inside = [*(self.of(each) for each in items), *([rest] if rest else [])]
        return f"tuple[{', '.join(inside) or '()'}]"

    def is_tuple(self, made: TupleOf) -> bool:
        """Whether a tuple of Python says it; else it is a list: pydantic does not know tuples with an open end, and msgspec none
        of several lengths."""
        if self.flavour == "msgspec":
            return made.rest is None and made.required == len(made.items)
        is_open = made.rest is not None and self.flavour == "pydantic"
        return not is_open and len(made.items) - made.required < _MOST_LENGTHS

    def shape(self, made: Type) -> Any:
        """How a value of a type is read."""
        match made:
            case Constant(value):
                return ["const", value]
            case ListOf(item):
                return ["list", self.shape(item)]
            case MapOf(value):
                return ["map", self.shape(value)]
            case Nullable(inner):
                return ["nullable", self.shape(inner)]
            case Named(name):
                return ["named", name]
            case TupleOf(items, _, rest):
                after = None if rest is None else self.shape(rest)
                return ["tuple", [self.shape(each) for each in items], after, self.is_tuple(made)]
            case _:
                return _SCALARS[type(made)][1]

    def said(self, declaration: Declaration) -> str:
        """What a declaration that is no class stands for."""
        match declaration:
            case Enumeration(choices=choices):
                return f"Literal[{', '.join(literal(each.value) for each in choices)}]"
            case Union(variants=variants):
                return joined(self.of(each.type) for each in variants)
            case Alias(type=made):
                return self.of(made)
            case Record():
                return declaration.name

    def mentioned(self, declaration: Declaration) -> list[str]:
        """The names of others that are needed before a declaration that is no class."""
        match declaration:
            case Union(variants=variants):
                return [name for each in variants for name in names_in(each.type)]
            case Alias(type=made):
                return list(names_in(made))
            case _:
                return []


def joined(parts: Iterable[str]) -> str:
    """A union: each of its parts once, literals together, None last."""
    once = members_of(parts)
    return " | ".join(once)


def members_of(parts: Iterable[str]) -> list[str]:
    """The parts of a union as a linter wants them."""
    once = list(dict.fromkeys(part for each in parts for part in _parts(each)))
    if "Any" in once:
        return ["Any"]
    literals = [part for part in once if part.startswith("Literal[")]
    if len(literals) > 1:
        inside = ", ".join(part.removeprefix("Literal[").removesuffix("]") for part in literals)
        once = [f"Literal[{inside}]" if part == literals[0] else part for part in once if part not in literals[1:]]
    if "float" in once:
        once = [part for part in once if part != "int"]
    return sorted(once, key=lambda part: part == "None")


def _parts(annotation: str) -> list[str]:
    """The parts of a union: what stands between the bars that are in no brackets and no text."""
    if " | " not in annotation:
        return [annotation]
    depth, start, parts = 0, 0, []
    for token in _TOKENS.finditer(annotation):
        depth += (token[0] == "[") - (token[0] == "]")
        if token[0] == " | " and not depth:
            parts.append(annotation[start : token.start()])
            start = token.end()
    return [*parts, annotation[start:]]


def names_in(made: Type) -> Iterator[str]:
    """The declared types that a type is made of."""
    match made:
        case Named(name):
            yield name
        case ListOf(inner) | MapOf(inner) | Nullable(inner):
            yield from names_in(inner)
        case TupleOf(items, _, rest):
            for each in (*items, *(() if rest is None else (rest,))):
                yield from names_in(each)

"""Types of a tree as Python's annotations. What they cannot say is a looser type, and a note."""

from __future__ import annotations

from collections.abc import Iterable

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
    NamedType,
    Null,
    Nullable,
    Number,
    RecordMember,
    RecordType,
    TextType,
    TupleOf,
    Type,
    TypeNote,
    TypeTree,
    Union,
)
from ferrule.definitions.stubs.languages.python.source_text import literal
from ferrule.definitions.stubs.type_walk import may_be_null

_SCALARS: dict[type, str] = {Null: "None", Boolean: "bool", Integer: "int", Number: "float", TextType: "str"}


class Annotations:
    """The types of one tree, in one flavour."""

    def __init__(self, tree: TypeTree, flavour: str) -> None:
        self.tree = tree
        self.flavour = flavour
        self.declared: dict[str, Declaration] = {each.name: each for each in tree.declarations}
        self.uses: set[str] = set()
        """What has to be imported for what was written so far."""
        self.notes: dict[TypeNote, None] = {}
        self.written: set[str] | None = None
        """While aliases are written, those that are there already; None while records are, which may name all."""

    def note(self, declaration: Declaration, message: str) -> None:
        """Tells where a type is looser than a reader would expect."""
        self.notes[TypeNote(declaration.pointer, f"{declaration.name}: {message}")] = None

    def has_three_states(self, member: RecordMember) -> bool:
        """Whether a member may be there, null, or left out."""
        return not member.is_required and may_be_null(member.type, self.declared)

    def of(self, made: Type, within: Declaration) -> str:
        """The annotation of a type that a declaration needs."""
        match made:
            case Anything():
                return self.any()
            case Constant(value):
                return self._constant(value, within)
            case ListOf(item):
                return f"list[{self.of(item, within)}]"
            case MapOf(value):
                return f"dict[str, {self.of(value, within)}]"
            case Nullable(inner):
                return joined([self.of(inner, within), "None"])
            case NamedType(name):
                return self._named(name, within)
            case TupleOf(items, required, rest):
                parts = [self.of(each, within) for each in items]
                if rest is None and required == len(items):
                    return f"tuple[{', '.join(parts) or '()'}]"
                self.note(within, "a tuple of several lengths is a list")
                return f"list[{joined([*parts, *([] if rest is None else [self.of(rest, within)])])}]"
            case _:
                return _SCALARS[type(made)]

    def any(self) -> str:
        """`Any`."""
        self.uses.add("Any")
        return "Any"

    def _constant(self, value: str | int | float | bool, within: Declaration) -> str:
        if isinstance(value, float):
            self.note(within, "a Literal cannot be a number with a fraction; the type is float")
            return "float"
        self.uses.add("Literal")
        return f"Literal[{literal(value)}]"

    def _named(self, name: str, within: Declaration) -> str:
        is_there = self.written is None or name in self.written or isinstance(self.declared[name], RecordType)
        if is_there:
            return name
        self.note(within, f"{name} is made of itself; any value is taken there")
        return self.any()

    def said(self, declaration: Declaration) -> str:
        """What a declaration that is no class stands for."""
        match declaration:
            case Enumeration(choices=choices):
                self.uses.add("Literal")
                return f"Literal[{', '.join(literal(each.value) for each in choices)}]"
            case Union(variants=variants):
                return joined(self.of(each.type, declaration) for each in variants)
            case Alias(type=made):
                return self.of(made, declaration)
            case RecordType():
                return declaration.name


def joined(parts: Iterable[str]) -> str:
    """A union."""
    once = list(dict.fromkeys(parts))
    literals = [part for part in once if part.startswith("Literal[")]
    if len(literals) > 1:
        inside = ", ".join(part.removeprefix("Literal[").removesuffix("]") for part in literals)
        once = [f"Literal[{inside}]", *(part for part in once if part not in literals)]
    return "Any" if "Any" in once else " | ".join(once)

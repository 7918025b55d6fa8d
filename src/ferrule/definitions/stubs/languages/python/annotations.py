"""Types of a tree as Python's annotations. What they cannot say is a looser type, and a note."""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.contracts import type_tree as types
from ferrule.definitions.stubs.languages.python.source_text import write_literal
from ferrule.definitions.stubs.type_walk import may_be_null

_SCALARS: dict[type, str] = {
    types.Null: "None",
    types.Boolean: "bool",
    types.Integer: "int",
    types.Number: "float",
    types.TextType: "str",
}


class PythonAnnotations:
    """The types of one tree, in one flavour."""

    def __init__(self, tree: types.TypeTree, flavour: str) -> None:
        self.tree = tree
        self.flavour = flavour
        self.declared: dict[str, types.Declaration] = {each.name: each for each in tree.declarations}
        self.uses: set[str] = set()
        """What has to be imported for what was written so far."""
        self.notes: dict[types.TypeNote, None] = {}
        self.written: set[str] | None = None
        """While aliases are written, those that are there already; None while records are, which may name all."""

    def note(self, declaration: types.Declaration, message: str) -> None:
        """Tells where a type is looser than a reader would expect."""
        self.notes[types.TypeNote(declaration.pointer, f"{declaration.name}: {message}")] = None

    def has_three_states(self, member: types.RecordMember) -> bool:
        """Tells whether a member may be there, null, or left out."""
        return not member.is_required and may_be_null(member.type, self.declared)

    def write(self, made: types.Type, within: types.Declaration) -> str:
        """Returns the annotation of a type that a declaration needs."""
        match made:
            case types.Anything():
                return self.use_any()
            case types.Constant(value):
                return self._write_constant(value, within)
            case types.ListOf(item):
                return f"list[{self.write(item, within)}]"
            case types.MapOf(value):
                return f"dict[str, {self.write(value, within)}]"
            case types.Nullable(inner):
                return join_types([self.write(inner, within), "None"])
            case types.NamedType(name):
                return self._write_name(name, within)
            case types.TupleOf(items, required, rest):
                parts = [self.write(each, within) for each in items]
                if rest is None and required == len(items):
                    return f"tuple[{', '.join(parts) or '()'}]"
                self.note(within, "a tuple of several lengths is a list")
                return f"list[{join_types([*parts, *([] if rest is None else [self.write(rest, within)])])}]"
            case _:
                return _SCALARS[type(made)]

    def use_any(self) -> str:
        """Writes `Any`, and notes that it is used."""
        self.uses.add("Any")
        return "Any"

    def _write_constant(self, value: str | int | float | bool, within: types.Declaration) -> str:
        if isinstance(value, float):
            self.note(within, "a Literal cannot be a number with a fraction; the type is float")
            return "float"
        self.uses.add("Literal")
        return f"Literal[{write_literal(value)}]"

    def _write_name(self, name: str, within: types.Declaration) -> str:
        is_there = self.written is None or name in self.written or isinstance(self.declared[name], types.RecordType)
        if is_there:
            return name
        self.note(within, f"{name} is made of itself; any value is taken there")
        return self.use_any()

    def write_target(self, declaration: types.Declaration) -> str:
        """Writes the type that a declaration stands for which is no class."""
        match declaration:
            case types.Enumeration(choices=choices):
                self.uses.add("Literal")
                return f"Literal[{', '.join(write_literal(each.value) for each in choices)}]"
            case types.Union(variants=variants):
                return join_types(self.write(each.type, declaration) for each in variants)
            case types.Alias(type=made):
                return self.write(made, declaration)
            case types.RecordType():
                return declaration.name


def join_types(parts: Iterable[str]) -> str:
    """Returns a union."""
    once = list(dict.fromkeys(parts))
    literals = [part for part in once if part.startswith("Literal[")]
    if len(literals) > 1:
        inside = ", ".join(part.removeprefix("Literal[").removesuffix("]") for part in literals)
        once = [f"Literal[{inside}]", *(part for part in once if part not in literals)]
    return "Any" if "Any" in once else " | ".join(once)

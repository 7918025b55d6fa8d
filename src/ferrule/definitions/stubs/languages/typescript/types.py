"""Types of a tree as TypeScript writes them: on one line, and as a document that may break."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ferrule.contracts.type_tree import (
    Anything,
    Boolean,
    Constant,
    Integer,
    ListOf,
    MapOf,
    Named,
    Null,
    Nullable,
    Number,
    Text,
    TupleOf,
    Type,
)
from ferrule.definitions.stubs.languages.typescript.layout import (
    LINE,
    SOFT,
    Doc,
    Group,
    IfBroken,
    Indent,
    joined,
    listed,
)
from ferrule.definitions.stubs.languages.typescript.text import number, string

Place = Literal["alone", "operand", "only item", "item"]
"""Where a type stands: by itself, before `[]` or `?`, or among the items of a tuple."""

_ANYTHING, _NULL = Anything(), Null()


def flat(found: Type) -> str:
    """A type on one line."""
    match found:
        case Text():
            return "string"
        case Integer() | Number():
            return "number"
        case Named():
            return found.name
        case Boolean():
            return "boolean"
        case ListOf():
            return f"{_operand(found.item)}[]"
        case Nullable():
            return " | ".join(flat(each) for each in parts(found))
        case MapOf():
            return f"{{ [name: string]: {flat(found.value)} }}"
        case TupleOf():
            return f"[{', '.join(_flat_items(found))}]"
        case Constant():
            return literal(found.value) or "number"
        case Null():
            return "null"
        case Anything():
            return "unknown"


def literal(value: str | float | bool) -> str | None:
    """A value as a type; None where there is no such type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return string(value) if isinstance(value, str) else number(value)


def parts(found: Type) -> tuple[Type, ...]:
    """What stands between the bars of a type."""
    if isinstance(found, Nullable):
        return (found.inner,) if flat(found.inner) in ("unknown", "null") else (found.inner, _NULL)
    return (found,)


def _operand(found: Type) -> str:
    return f"({flat(found)})" if len(parts(found)) > 1 else flat(found)


def _flat_items(found: TupleOf) -> list[str]:
    needed = [flat(item) for item in found.items[: found.required]]
    optional = [f"{_operand(item)}?" for item in found.items[found.required :]]
    rest = [] if found.rest is None else [f"...{_operand(found.rest)}[]"]
    return [*needed, *optional, *rest]


def document(found: Type, place: Place = "alone") -> Doc:
    """A type that may take several lines."""
    match found:
        case Nullable() if len(parts(found)) > 1:
            return union(parts(found), place)
        case Nullable():
            return document(found.inner, place)
        case MapOf():
            return Group(["{", Indent([LINE, *signature(document(found.value))]), IfBroken(";"), LINE, "}"])
        case ListOf():
            return [document(found.item, "operand"), "[]"]
        case TupleOf():
            return _tuple(found)
        case _:
            return flat(found)


def document_in_union(found: Type) -> Doc:
    """A type between bars."""
    return Indent(document(found))


def signature(value: Doc) -> list[Doc]:
    """What members that have no name of their own are."""
    return ["[", Group([Indent([SOFT, "name: string"]), SOFT]), "]: ", value]


def is_hugged(of: Sequence[Type]) -> bool:
    """With a name or a map, `| null` stays where it is."""
    return len(of) == 2 and isinstance(of[0], Named | MapOf) and isinstance(of[1], Null)


def union(of: Sequence[Type], place: Place, more: Sequence[Doc] = ()) -> Doc:
    """Types with bars between them, as they stand in some place."""
    if is_hugged(of) and not more:
        hugged: Doc = joined([document(each) for each in of], " | ")
        return ["(", hugged, ")"] if place == "operand" else hugged
    barred = bars([*(document_in_union(each) for each in of), *more])
    match place:
        case "alone":
            return Group(Indent([SOFT, barred]))
        case "operand":
            return ["(", Group([Indent([SOFT, barred]), SOFT]), ")"]
        case "item":
            return Group([Indent([IfBroken(["(", SOFT]), barred]), SOFT, IfBroken(")")])
        case "only item":
            return barred


def bars(of: Sequence[Doc]) -> Doc:
    """Types with bars between them, or each on a line after one."""
    return Group([IfBroken("| "), of[0], *([LINE, "| ", each] for each in of[1:])])


def _tuple(found: TupleOf) -> Doc:
    optional = [[document(item, "operand"), "?"] for item in found.items[found.required :]]
    rest = [] if found.rest is None else [["...", document(found.rest, "operand"), "[]"]]
    count = len(found.items) + len(rest)
    place: Place = "item" if count > 1 else "only item"
    needed = [document(item, place) for item in found.items[: found.required]]
    return listed("[", [*needed, *optional, *rest], "]")

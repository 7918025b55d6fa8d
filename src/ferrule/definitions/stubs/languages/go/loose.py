"""Where a type in Go is looser than the tree: what no integer of Go holds is a `json.Number`."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.language import Plan, ToolNote
from ferrule.definitions.stubs.languages.go.shapes import integer, whole_numbers
from ferrule.model.type_tree import Alias, Declaration, Enumeration, Integer, Note, Record, Type, Union

_MESSAGE = "its bounds go beyond 64 bits, so it is a json.Number in Go"


def notes(plan: Plan) -> tuple[ToolNote, ...]:
    """What the stubs of a plan cannot say exactly."""
    return tuple(
        ToolNote(tool.tool_id, Note(pointer, _MESSAGE))
        for tool in plan.tools
        for tree in (tool.input, tool.output)
        if tree is not None
        for declared in tree.declarations
        for pointer in _loose(declared)
    )


def _loose(declared: Declaration) -> Iterator[str]:
    match declared:
        case Record():
            for member in declared.members:
                if _has_loose(member.type):
                    step = member.name.replace("~", "~0").replace("/", "~1")
                    yield f"{declared.pointer}/properties/{step}"
        case Union():
            yield from (each.pointer for each in declared.variants if _has_loose(each.type))
        case Alias():
            if _has_loose(declared.type):
                yield declared.pointer
        case Enumeration():
            if declared.kind == "integer" and not whole_numbers(declared):
                yield declared.pointer


def _has_loose(type_: Type) -> bool:
    if isinstance(type_, Integer):
        return integer(type_).go == "json.Number"
    inner = [getattr(type_, name, None) for name in ("item", "value", "inner", "rest")]
    parts = [*getattr(type_, "items", ()), *(each for each in inner if hasattr(each, "__struct_fields__"))]
    return any(map(_has_loose, parts))

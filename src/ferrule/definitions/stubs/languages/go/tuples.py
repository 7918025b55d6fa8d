"""Tuples as structs that are lists in JSON."""

from __future__ import annotations

from ferrule.definitions.stubs.languages.go.documented import type_comment
from ferrule.definitions.stubs.languages.go.names import REST
from ferrule.definitions.stubs.languages.go.records import Field, marshal, struct, unmarshal
from ferrule.definitions.stubs.languages.go.shapes import Shapes, TupleStruct
from ferrule.model.type_tree import SILENT, Nullable, Type, Words


def tuple_struct(
    made: TupleStruct, shapes: Shapes, first: str = "", words: Words = SILENT, read: str = ""
) -> list[str]:
    """The declarations of a tuple. `read`: what reads JSON and checks it; a tuple whose schema has no place of its own is held to
    its types."""
    told = type_comment(first or f"{made.name} is a list whose items differ by their place.", words)
    count = len(made.type.items)
    fields = [_item(made, place, each, shapes) for place, each in enumerate(made.type.items)]
    end = f"from.noMore({count})"
    if made.type.rest is not None:
        fields.append(_rest(made, made.type.rest, shapes))
        end = ""
    name = made.name
    return [
        *struct(name, told, fields),
        *marshal(name, "as a list"),
        *unmarshal(name, "reads a list", read or f"readList(data, decode{name})"),
        *_codec(name, fields, end),
    ]


def _item(made: TupleStruct, place: int, type_: Type, shapes: Shapes) -> Field:
    name = f"Item{place}"
    hint, owner = f"{made.name}{name}", made.owner
    into, out = f"(from, {place}, &made.{name}, ", f"(out, {place}, value.{name}, "
    if place < made.type.required:
        shape = shapes.held(type_, hint, owner)
        return Field(name, shape.go, "", [], f"readItem{into}{shape.read})", f"writeItem{out}{shape.write})")
    inner = type_.inner if isinstance(type_, Nullable) else None
    shape = shapes.held(inner or type_, hint, owner)
    if inner or shape.takes_null:
        read, write = f"readOptionalItem{into}{shape.read})", f"writeOptionalItem{out}{shape.write})"
        return Field(name, f"Optional[{shape.go}]", "", [], read, write)
    read = f"readItemIfAny{into}pointerReader({shape.read}))"
    return Field(name, f"*{shape.go}", "", [], read, f"writeItemIfAny{out}{shape.write})")


def _rest(made: TupleStruct, type_: Type, shapes: Shapes) -> Field:
    shape = shapes.of(type_, f"{made.name}{REST}", made.owner)
    count = len(made.type.items)
    return Field(
        REST,
        f"[]{shape.go}",
        "",
        ["\t// Rest has the items that follow."],
        f"readRest(from, {count}, &made.{REST}, {shape.read})",
        f"writeRest(out, {count}, value.{REST}, {shape.write})",
    )


def _codec(name: str, fields: list[Field], end: str) -> list[str]:
    return [
        f"func decode{name}(value any) ({name}, error) {{",
        f"\tvar made {name}",
        "\tfrom := listParts(value)",
        *(f"\t{each.read}" for each in fields),
        *([f"\t{end}"] if end else []),
        "\treturn made, from.err",
        "}",
        "",
        f"func encode{name}(out *jsonText, {'value' if fields else '_'} {name}) {{",
        "\touter := out.openTuple()",
        *(f"\t{each.write}" for each in fields),
        "\tout.closeTuple(outer)",
        "}",
        "",
    ]

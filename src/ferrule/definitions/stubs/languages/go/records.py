"""Records as structs, with what reads and writes them."""

from __future__ import annotations

import re
from typing import NamedTuple

from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.go.documented import field_comment, type_comment
from ferrule.definitions.stubs.languages.go.names import EXTRA, METHODS, exported
from ferrule.definitions.stubs.languages.go.shapes import Shape, Shapes
from ferrule.definitions.stubs.languages.go.text import aligned, comment, one_line, quoted
from ferrule.model.type_tree import Member, Nullable, Record

_TAGGABLE = re.compile(r"[A-Za-z0-9!#$%&()*+./:;<=>?@\[\]^_{|}~ -]+")
"""What encoding/json takes in a tag; other names are in the comment."""


class Field(NamedTuple):
    """A line of a struct, with what reads and writes it."""

    name: str
    go: str
    tag: str
    comment: list[str]
    read: str
    write: str


def record(declared: Record, schema: str, shapes: Shapes, first: str) -> list[str]:
    """The declarations of a record."""
    fields = _fields(declared, shapes)
    return [
        *struct(declared.name, type_comment(first, declared.words), fields),
        *json_methods(declared.name, schema, declared.pointer),
        *codec(declared.name, fields),
    ]


def struct(name: str, told: list[str], fields: list[Field]) -> list[str]:
    """A struct as gofmt writes it: fields with comments stand alone, others in columns."""
    lines = [*told, f"type {name} struct {{"]
    run: list[list[str]] = []
    for number, field in enumerate(fields):
        if field.comment or (number and fields[number - 1].comment):
            lines += _columns(run)
            run = []
            if number:
                lines.append("")
        lines += field.comment
        run.append([field.name, field.go, *([field.tag] if field.tag else [])])
    lines += _columns(run)
    if len(lines) == len(told) + 1:
        return [*told, f"type {name} struct{{}}", ""]
    return [*lines, "}", ""]


def _columns(rows: list[list[str]]) -> list[str]:
    return [f"\t{line}" for line in aligned(rows)]


def _fields(declared: Record, shapes: Shapes) -> list[Field]:
    is_open = declared.openness == "open" and declared.extra is not None
    taken = {*METHODS, EXTRA} if is_open else METHODS
    names = identifiers((each.name for each in declared.members), exported(shapes.scope.acronyms), taken)
    fields = [_field(declared.name, each, names[each.name], shapes) for each in declared.members]
    return [*fields, _extra(declared, shapes)] if is_open else fields


def _field(owner: str, member: Member, name: str, shapes: Shapes) -> Field:
    told = field_comment(member.words, member.type, _wire_name(member.name))
    tag, wire = _tag(member), quoted(member.name)
    place = Place(f"(from, {wire}, &made.{name}, ", f"(out, {wire}, value.{name}, ")
    if member.is_required:
        shape = shapes.held(member.type, f"{owner}{name}", owner)
        read, write = f"readMember{place.into}{shape.read})", f"writeMember{place.out}{shape.write})"
        return Field(name, shape.go, tag, told, read, write)
    inner = member.type.inner if isinstance(member.type, Nullable) else None
    shape = shapes.held(inner or member.type, f"{owner}{name}", owner)
    if inner or shape.takes_null:
        read, write = f"readOptional{place.into}{shape.read})", f"writeOptional{place.out}{shape.write})"
        return Field(name, f"Optional[{shape.go}]", tag.replace(",omitempty", ",omitzero"), told, read, write)
    return _left_out(name, shape, tag, told, place)


class Place(NamedTuple):
    """Where a value comes from and goes to, as the first arguments of what reads and writes it."""

    into: str
    out: str


def _left_out(name: str, shape: Shape, tag: str, told: list[str], place: Place) -> Field:
    """A field whose nil says that the member is left out."""
    if shape.nil:
        read, write = f"readMemberIfAny{place.into}{shape.read})", f"write{shape.nil}{place.out}{shape.write})"
        return Field(name, shape.go, tag, told, read, write)
    read = f"readMemberIfAny{place.into}pointerReader({shape.read}))"
    return Field(name, f"*{shape.go}", tag, told, read, f"writePointer{place.out}{shape.write})")


def _extra(declared: Record, shapes: Shapes) -> Field:
    assert declared.extra is not None
    shape = shapes.of(declared.extra, f"{declared.name}{EXTRA}", declared.name)
    names = "".join(f", {quoted(each.name)}" for each in declared.members)
    return Field(
        EXTRA,
        f"map[string]{shape.go}",
        '`json:"-"`',
        comment(["Extra has the members that no other field is for."], "\t"),
        f"readExtra(from, &made.{EXTRA}, {shape.read}{names})",
        f"writeExtra(out, value.{EXTRA}, {shape.write}{names})",
    )


def _tag(member: Member) -> str:
    if not _TAGGABLE.fullmatch(member.name):
        return ""
    name = "-," if member.name == "-" else member.name
    return f'`json:"{name}"`' if member.is_required else f'`json:"{name.rstrip(",")},omitempty"`'


def _wire_name(name: str) -> str:
    """What to say of a name that a tag cannot have."""
    return "" if _TAGGABLE.fullmatch(name) else f"In JSON it is called {one_line(quoted(name))}."


def json_methods(name: str, schema: str, pointer: str) -> list[str]:
    """What encoding/json calls."""
    read = f"readJSON(data, {schema}, {quoted(pointer)}, decode{name})"
    return [
        *marshal(name, "as its schema has it"),
        *unmarshal(name, "refuses what the schema refuses", read),
    ]


def marshal(name: str, how: str) -> list[str]:
    """What encoding/json writes with."""
    return [
        f"// MarshalJSON writes {name} {how}.",
        f"func (v {name}) MarshalJSON() ([]byte, error) {{",
        f"\treturn writeJSON(v, encode{name})",
        "}",
        "",
    ]


def unmarshal(name: str, what: str, read: str) -> list[str]:
    """What encoding/json reads with. `read` is an expression that gives the value and an error."""
    return [
        f"// UnmarshalJSON {what}.",
        f"func (v *{name}) UnmarshalJSON(data []byte) error {{",
        f"\tmade, err := {read}",
        "\tif err == nil {",
        "\t\t*v = made",
        "\t}",
        "\treturn err",
        "}",
        "",
    ]


def codec(name: str, fields: list[Field]) -> list[str]:
    """What reads and writes the struct within other values."""
    return [
        f"func decode{name}(value any) ({name}, error) {{",
        f"\tvar made {name}",
        "\tfrom := objectParts(value)",
        *(f"\t{each.read}" for each in fields),
        "\treturn made, from.err",
        "}",
        "",
        f"func encode{name}(out *jsonText, {'value' if fields else '_'} {name}) {{",
        "\tout.open('{')",
        *(f"\t{each.write}" for each in fields),
        "\tout.close('}')",
        "}",
        "",
    ]

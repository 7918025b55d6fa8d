"""Writes records as structs, tuples as structs that are lists in JSON, and what reads and writes them.

The comments on types and fields are made here, for all kinds of declarations.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from ferrule.contracts.type_tree import SILENT, Constant, Member, Nullable, Record, Text, Type, Words
from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.go.names import EXTRA, METHODS, REST, exported
from ferrule.definitions.stubs.languages.go.shapes import Shape, Shapes, TupleStruct
from ferrule.definitions.stubs.languages.go.text import aligned, comment, one_line, quoted
from ferrule.model.value import JsonValue

_LONGEST = 400


def type_comment(first: str, words: Words) -> list[str]:
    """The comment of a type. `first` is a sentence of its own."""
    return comment((first, *_told(words)))


def field_comment(words: Words, type_: Type | None = None, first: str = "") -> list[str]:
    """The comment of a field; no lines where there is nothing to tell."""
    parts = [first] if first else []
    parts += _told(words)
    if isinstance(type_, Constant):
        parts.append(f"It is always {_json(type_.value)}: that is written whatever stands here.")
    if isinstance(type_, Text) and type_.format:
        parts.append(_text_kind(type_.format))
    return comment(parts, "\t")


def _text_kind(form: str) -> str:
    return "Base64." if form == "binary" else f"Format: {form}."


def _told(words: Words) -> list[str]:
    parts = [words.description] if words.description.strip() else []
    if words.limits:
        parts.append(f"Checked: {'; '.join(words.limits)}.")
    if words.has_default:
        parts.append(f"Default, which is not filled in: {_json(words.default)}.")
    if words.examples:
        parts.append(f"Examples: {', '.join(map(_json, words.examples))}.")
    if words.is_deprecated:
        parts.append("Deprecated: the definition says so.")
    return parts


def _json(value: JsonValue) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


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

"""Enumerations as named texts and integers with constants, and other names of types."""

from __future__ import annotations

from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.go.documented import type_comment
from ferrule.definitions.stubs.languages.go.names import exported
from ferrule.definitions.stubs.languages.go.records import json_methods
from ferrule.definitions.stubs.languages.go.shapes import NUMBER, Shapes, TupleStruct, whole_numbers
from ferrule.definitions.stubs.languages.go.text import aligned, quoted
from ferrule.definitions.stubs.languages.go.tuples import tuple_struct
from ferrule.model.type_tree import Alias, Choice, Enumeration, ListOf, MapOf, Nullable, TupleOf, Type


def enumeration(declared: Enumeration, shapes: Shapes, first: str) -> list[str]:
    """The declarations of an enumeration."""
    base = "string" if declared.kind == "string" else whole_numbers(declared)
    told = type_comment(first, declared.words)
    name = declared.name
    if not base:
        shapes.scalar(NUMBER)
        return [*told, f"type {name} = json.Number", "", *_forwarding(name, "json.Number", "readNumber", "writeNumber")]
    kind = "Text" if base == "string" else "Int"
    choices = list({each.value: each for each in declared.choices}.values())
    names = _constants(name, choices, shapes)
    return [
        *told,
        f"type {name} {base}",
        "",
        *_const_block(name, names, choices),
        *_is_valid(name, names),
        *_forwarding(name, name, f"read{kind}Choice[{name}]", f"write{kind}Choice[{name}]"),
    ]


def _constants(name: str, choices: list[Choice], shapes: Shapes) -> list[str]:
    words = identifiers((each.word for each in choices), exported(shapes.scope.acronyms))
    return [shapes.scope.given(f"{name}{words[each.word]}") for each in choices]


def _const_block(name: str, names: list[str], choices: list[Choice]) -> list[str]:
    if not names:
        return []
    rows = [
        [constant, name, f"= {quoted(choice.value) if isinstance(choice.value, str) else choice.value}"]
        for constant, choice in zip(names, choices, strict=True)
    ]
    return [f"// The values of {name}.", "const (", *(f"\t{line}" for line in aligned(rows)), ")", ""]


def _is_valid(name: str, names: list[str]) -> list[str]:
    return [
        "// IsValid says whether it is one of the values.",
        f"func (v {name}) IsValid() bool {{",
        *(["\tswitch v {", f"\tcase {', '.join(names)}:", "\t\treturn true", "\t}"] if names else []),
        "\treturn false",
        "}",
        "",
    ]


def _forwarding(name: str, go: str, read: str, write: str) -> list[str]:
    return [
        f"func decode{name}(value any) ({go}, error) {{",
        f"\treturn {read}(value)",
        "}",
        "",
        f"func encode{name}(out *jsonText, value {go}) {{",
        f"\t{write}(out, value)",
        "}",
        "",
    ]


def alias(declared: Alias, schema: str, shapes: Shapes, first: str) -> list[str]:
    """The declarations of another name: a type of its own for lists, maps and tuples, else the type itself."""
    name = declared.name
    if isinstance(declared.type, TupleOf):
        read = f"readJSON(data, {schema}, {quoted(declared.pointer)}, decode{name})"
        return tuple_struct(TupleStruct(name, declared.type, name), shapes, first, declared.words, read)
    told = type_comment(first, declared.words)
    shape = shapes.of(declared.type, f"{name}Value", name)
    if not _is_own(declared.type):
        return [*told, f"type {name} = {shape.go}", "", *_forwarding(name, name, shape.read, shape.write)]
    return [
        *told,
        f"type {name} {shape.go}",
        "",
        *json_methods(name, schema, declared.pointer),
        f"func decode{name}(value any) ({name}, error) {{",
        f"\treturn {shape.read}(value)",
        "}",
        "",
        f"func encode{name}(out *jsonText, value {name}) {{",
        f"\t{shape.write}(out, value)",
        "}",
        "",
    ]


def _is_own(type_: Type) -> bool:
    return isinstance(type_.inner if isinstance(type_, Nullable) else type_, ListOf | MapOf)

"""Writes the declarations of a whole tree: its schema, records, enumerations, unions, and what reads and writes the root.

Enumerations are named texts and integers with constants; a union is a struct of which one field is set. Records and tuples
are `records.py`, the types themselves `shapes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import msgspec

from ferrule.contracts.type_tree import (
    Alias,
    Choice,
    Constant,
    Declaration,
    Enumeration,
    ListOf,
    MapOf,
    Nullable,
    Record,
    TupleOf,
    Type,
    TypeTree,
    Union,
    Variant,
)
from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.go.names import METHODS, Scope, exported
from ferrule.definitions.stubs.languages.go.records import (
    Field,
    json_methods,
    record,
    struct,
    tuple_struct,
    type_comment,
)
from ferrule.definitions.stubs.languages.go.shapes import NUMBER, Shape, Shapes, TupleStruct, constant, whole_numbers
from ferrule.definitions.stubs.languages.go.text import aligned, comment, json_literal, quoted


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


def union(declared: Union, schema: str, shapes: Shapes, first: str) -> list[str]:
    """The declarations of a union."""
    words = (each.word for each in declared.variants)
    names = identifiers(words, exported(shapes.scope.acronyms), METHODS)
    fields = [_field(declared, each, names[each.word], shapes) for each in declared.variants]
    told = type_comment(f"{first} Exactly one field is set.", declared.words)
    return [
        *struct(declared.name, told, fields),
        *json_methods(declared.name, schema, declared.pointer),
        *_decode(declared, fields, schema),
        *_encode(declared.name, fields),
    ]


def _field(declared: Union, variant: Variant, name: str, shapes: Shapes) -> Field:
    told = _when(declared, variant)
    if isinstance(variant.type, Constant):
        base, literal = constant(variant.type.value)
        shapes.scalar(base)
        write = f"writeConstant(out, &count, value.{name}, {literal}, {base.write})"
        return Field(name, "bool", "", told, f"isConstant(value, {literal}, {base.read})", write)
    shape: Shape = shapes.of(variant.type, f"{declared.name}{name}", declared.name)
    read = f"(value, &made.{name}, {shape.read}"
    return Field(name, f"*{shape.go}", "", told, read, f"writeVariant(out, &count, value.{name}, {shape.write})")


def _when(declared: Union, variant: Variant) -> list[str]:
    if isinstance(variant.type, Constant):
        return comment([f"The value is {_shown(variant.type.value)}."], "\t")
    if declared.tag is None or not variant.tags:
        return []
    return comment([f"Where {declared.tag} is {' or '.join(map(_shown, variant.tags))}."], "\t")


def _shown(value: str | int | float | bool) -> str:
    return quoted(value) if isinstance(value, str) else str(value).lower()


def _decode(declared: Union, fields: list[Field], schema: str) -> list[str]:
    name = declared.name
    tried = _by_schema(declared, fields, schema) if declared.tag is None else _by_tag(declared, declared.tag, fields)
    return [f"func decode{name}(value any) ({name}, error) {{", f"\tvar made {name}", *tried, "}", ""]


def _by_schema(declared: Union, fields: list[Field], schema: str) -> list[str]:
    """The first variant whose schema takes the value, and whose type does: several may share one schema."""
    lines = ["\tvar problem error", "\tswitch {"]
    for variant, field in zip(declared.variants, fields, strict=True):
        accepts = f"{schema}.accepts({quoted(variant.pointer)}, value)"
        if isinstance(variant.type, Constant):
            lines += [f"\tcase {accepts} && {field.read}:", f"\t\tmade.{field.name} = true"]
        else:
            lines.append(f"\tcase {accepts} && isVariant{field.read}, &problem):")
    return [*lines, "\tdefault:", "\t\treturn made, noVariant(problem)", "\t}", "\treturn made, nil"]


def _by_tag(declared: Union, tag: str, fields: list[Field]) -> list[str]:
    is_textual = all(isinstance(each, str) for variant in declared.variants for each in variant.tags)
    lines = ["\tvar err error", f"\tswitch {'textTag' if is_textual else 'anyTag'}(value, {quoted(tag)}) {{"]
    seen: set[str] = set()
    for variant, field in zip(declared.variants, fields, strict=True):
        tags = dict.fromkeys(quoted(str(each) if is_textual else _any_tag(each)) for each in variant.tags)
        cases = [each for each in tags if each not in seen]
        seen.update(cases)
        if cases:
            lines += [f"\tcase {', '.join(cases)}:", f"\t\terr = readVariant{field.read})"]
    return [*lines, "\tdefault:", '\t\terr = invalid("fits no variant")', "\t}", "\treturn made, err"]


def _any_tag(tag: str | int | bool) -> str:
    """As `anyTag` of the support files has it."""
    if isinstance(tag, bool):
        return f"bool {str(tag).lower()}"
    return f"text {tag}" if isinstance(tag, str) else f"number {tag}"


def _encode(name: str, fields: list[Field]) -> list[str]:
    return [
        f"func encode{name}(out *jsonText, {'value' if fields else '_'} {name}) {{",
        "\tcount := 0",
        *(f"\t{each.write}" for each in fields),
        "\tout.needVariant(count)",
        "}",
        "",
    ]


def tree_lines(tree: TypeTree, schema: msgspec.Raw, scope: Scope, what: str) -> list[str]:
    """All that a tree declares. `what` says what the root is, after its name: `is what the tool takes`."""
    shapes = Shapes(tree, scope)
    root = tree.root.name
    variable = f"schemaOf{root}"
    lines = [f"var {variable} = newSchema({json_literal(schema)})", "", *_ends(root, variable)]
    for declared in tree.declarations:
        first = f"{root} is {what}." if declared.name == root else f"{declared.name} is a part of {root}."
        lines += _declaration(declared, variable, shapes, first)
    for each in _growing(shapes):
        lines += tuple_struct(each, shapes)
    return lines


def _growing(shapes: Shapes) -> Iterator[TupleStruct]:
    """The tuples, also those that are found within tuples."""
    number = 0
    while number < len(shapes.tuples):
        yield shapes.tuples[number]
        number += 1


def _declaration(declared: Declaration, schema: str, shapes: Shapes, first: str) -> list[str]:
    match declared:
        case Record():
            return record(declared, schema, shapes, first)
        case Union():
            return union(declared, schema, shapes, first)
        case Enumeration():
            return enumeration(declared, shapes, first)
        case Alias():
            return alias(declared, schema, shapes, first)
        case _:
            assert_never(declared)


def _ends(root: str, schema: str) -> list[str]:
    """What turns bytes into the root and back."""
    return [
        f"// Decode{root} reads JSON; what the schema refuses is an error.",
        f"func Decode{root}(data []byte) ({root}, error) {{",
        f'\treturn readJSON(data, {schema}, "#", decode{root})',
        "}",
        "",
        f"// Encode{root} writes JSON.",
        f"func Encode{root}(value {root}) ([]byte, error) {{",
        f"\treturn writeJSON(value, encode{root})",
        "}",
        "",
    ]


def anything_lines(root: str, what: str) -> list[str]:
    """The declarations of a root that nothing is said of."""
    return [
        f"// {root} is {what}: any JSON value.",
        f"type {root} = any",
        "",
        f"// Decode{root} reads JSON.",
        f"func Decode{root}(data []byte) ({root}, error) {{",
        "\treturn parseJSON(data)",
        "}",
        "",
        f"// Encode{root} writes JSON.",
        f"func Encode{root}(value {root}) ([]byte, error) {{",
        "\treturn writeJSON(value, writeAny)",
        "}",
        "",
    ]

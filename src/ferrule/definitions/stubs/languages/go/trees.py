"""A whole tree: its schema, its declarations, and what reads and writes the root."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import msgspec

from ferrule.definitions.stubs.languages.go.enumerations import alias, enumeration
from ferrule.definitions.stubs.languages.go.names import Scope
from ferrule.definitions.stubs.languages.go.records import record
from ferrule.definitions.stubs.languages.go.shapes import Shapes, TupleStruct
from ferrule.definitions.stubs.languages.go.text import json_literal
from ferrule.definitions.stubs.languages.go.tuples import tuple_struct
from ferrule.definitions.stubs.languages.go.unions import union
from ferrule.model.type_tree import Alias, Declaration, Enumeration, Record, TypeTree, Union


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

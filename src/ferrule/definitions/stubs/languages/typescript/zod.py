"""Writes the types of a tree as schemas of Zod, each held to its interface by the compiler."""

from __future__ import annotations

from collections.abc import Container

from ferrule.contracts import type_tree as types
from ferrule.definitions.stubs.languages.typescript.text import fits, ignore_layout, quote_property
from ferrule.definitions.stubs.languages.typescript.types import (
    SAFE,
    find_unnamed_type,
    is_inherited,
    write_constant,
    write_type,
)


def name_schema(type_name: str) -> str:
    """Returns what the schema of a type is called."""
    return f"{type_name}Schema"


def write_schemas(tree: types.TypeTree, circular: Container[str]) -> list[str]:
    """Returns a constant for each type of a tree, leaves first; what is not there yet is reached when it is needed."""
    known: set[str] = set()
    made: list[str] = []
    for each in reversed(tree.declarations):
        found = "z.unknown()" if each.name in circular else _write_declaration(each, known)
        known.add(each.name)
        text = f"export const {name_schema(each.name)}: z.ZodType<{each.name}> = {found};"
        made.append(f"{text}\n" if all(map(fits, text.split("\n"))) else ignore_layout(text))
    return made


def _write_declaration(found: types.Declaration, known: set[str]) -> str:
    match found:
        case types.RecordType():
            members = "".join(f"\n  {_write_member(each, known)}," for each in found.members)
            extra = find_unnamed_type(found)
            kind = (
                "strictObject"
                if found.openness == "closed"
                else "looseObject"
                if extra in (None, types.Anything())
                else "object"
            )
            text = f"z.{kind}({{{members}\n}})" if members else f"z.{kind}({{}})"
            return f"{text}.catchall({_write_type(extra, known)})" if extra is not None and kind == "object" else text
        case types.Enumeration():
            values = [write_constant(each.value) for each in found.choices]
            held = [each for each in values if each is not None]
            listed = f"[{', '.join(held)}]" if len(held) > 1 else held[0] if held else ""
            return f"z.literal({listed})" if len(held) == len(values) else "z.number()"
        case types.Union():
            variants = list(dict.fromkeys(_write_type(each.type, known) for each in found.variants))
            return f"z.union([{', '.join(variants)}])" if len(variants) > 1 else variants[0]
        case types.Alias():
            return _write_type(found.type, known)


def _write_member(member: types.RecordMember, known: set[str]) -> str:
    schema = "z.unknown()" if is_inherited(member) else _write_type(member.type, known)
    return f"{quote_property(member.name)}: {schema if member.is_required else f'z.exactOptional({schema})'}"


def _write_type(found: types.Type, known: set[str]) -> str:
    match found:
        case types.TextType():
            return "z.string()"
        case types.Integer():
            return _write_integer(found)
        case types.Number():
            return "z.number()"
        case types.Boolean():
            return "z.boolean()"
        case types.Null():
            return "z.null()"
        case types.Constant():
            value = write_constant(found.value)
            return "z.number()" if value is None else f"z.literal({value})"
        case types.ListOf():
            return f"z.array({_write_type(found.item, known)})"
        case types.MapOf():
            return f"z.record(z.string(), {_write_type(found.value, known)})"
        case types.Nullable():
            return f"z.nullable({_write_type(found.inner, known)})"
        case types.NamedType():
            name = name_schema(found.name)
            return name if found.name in known else f"z.lazy(() => {name})"
        case types.TupleOf():
            return _write_tuple(found, known)
        case _:
            return "z.unknown()"


def _write_integer(found: types.Integer) -> str:
    bounds = (found.minimum, found.maximum)
    if any(abs(bound or 0) > SAFE for bound in bounds):
        return "z.number()"
    calls = [f".{name}({bound})" for name, bound in zip(("min", "max"), bounds, strict=True) if bound is not None]
    return f"z.int(){''.join(calls)}"


def _write_tuple(found: types.TupleOf, known: set[str]) -> str:
    if found.required < len(found.items):
        # Zod takes `undefined` for an item that may be missing, which JSON does not know.
        return f"z.custom<{write_type(found)}>(Array.isArray)"
    items = f"[{', '.join(_write_type(item, known) for item in found.items)}]"
    return f"z.tuple({items})" if found.rest is None else f"z.tuple({items}, {_write_type(found.rest, known)})"

"""Type trees written short, for tests to read: `Go {a: string, b?: integer 1..9 or null}`."""

from __future__ import annotations

from typing import assert_never

import msgspec

from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Boolean,
    Constant,
    Declaration,
    Enumeration,
    Integer,
    ListOf,
    MapOf,
    NamedType,
    Null,
    Nullable,
    Number,
    RecordMember,
    RecordType,
    TextType,
    TupleOf,
    Type,
    TypeTree,
    Union,
)


def shown(tree: TypeTree) -> list[str]:
    """The declarations, a line each."""
    return [declared(each) for each in tree.declarations]


def declared(declaration: Declaration) -> str:
    """One declaration. A closed record ends with `.`, an open one with the type of what else it may have."""
    match declaration:
        case RecordType():
            ending = {"closed": ["."], "silent": [], "open": [f"*: {written(declaration.extra or Anything())}"]}
            parts = [*map(_member, declaration.members), *ending[declaration.openness]]
            return f"{declaration.name} {{{', '.join(parts)}}}"
        case Enumeration():
            values = " ".join(
                _json(choice.value) if str(choice.value) == choice.word else f"{choice.word}={_json(choice.value)}"
                for choice in declaration.choices
            )
            return f"{declaration.name} one of {values}"
        case Union():
            variants = [
                f"{'/'.join(map(_json, each.tags))}{': ' if each.tags else ''}{written(each.type)}"
                for each in declaration.variants
            ]
            by = "" if declaration.tag is None else f" by {declaration.tag}"
            return f"{declaration.name}{by} = {' | '.join(variants)}"
        case Alias():
            return f"{declaration.name} = {written(declaration.type)}"
        case other:
            assert_never(other)


def _member(member: RecordMember) -> str:
    return f"{member.name}{'' if member.is_required else '?'}: {written(member.type)}"


def written(made: Type) -> str:
    """One type."""
    match made:
        case Anything() | Null() | Boolean() | Number():
            return type(made).__name__.lower()
        case Integer(lowest, highest):
            bounds = (
                ""
                if lowest is highest is None
                else f" {'' if lowest is None else lowest}..{'' if highest is None else highest}"
            )
            return f"integer{bounds}"
        case TextType(form):
            return f"string {form}".strip()
        case Constant(value):
            return _json(value)
        case ListOf(item):
            return f"[{written(item)}]"
        case TupleOf(items, required, rest):
            parts = [f"{written(item)}{'' if at < required else '?'}" for at, item in enumerate(items)]
            return f"({', '.join([*parts, *([] if rest is None else [f'*{written(rest)}'])])})"
        case MapOf(value):
            return f"{{*: {written(value)}}}"
        case Nullable(inner):
            return f"{written(inner)} or null"
        case NamedType(name):
            return name
        case other:
            assert_never(other)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def root_record(tree: TypeTree) -> RecordType:
    """The record that a tree begins with."""
    root = tree.declarations[0]
    assert isinstance(root, RecordType)
    return root

"""Where Python says or checks less than the tree and the schema do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ferrule.contracts.language import ToolNote, ToolPlan
from ferrule.contracts.type_tree import (
    Constant,
    Declaration,
    Enumeration,
    ListOf,
    MapOf,
    Note,
    Nullable,
    Record,
    TupleOf,
    Type,
    Union,
)
from ferrule.definitions.content.extension import decoded
from ferrule.definitions.stubs.languages.python.annotations import Annotations
from ferrule.definitions.stubs.languages.python.records import is_plain_name, native_tags
from ferrule.definitions.stubs.languages.python.support.patterns import is_known
from ferrule.definitions.stubs.languages.python.type_module import sides


def notes_of(tool: ToolPlan, flavour: str) -> list[ToolNote]:
    """What a reader of a tool's stubs should know."""
    found: list[Note] = []
    for side in sides(tool):
        annotations = Annotations(side.tree, flavour)
        for declaration in side.tree.declarations:
            messages = [*_of_types(declaration, annotations), *_of_records(declaration, annotations)]
            found += [Note(declaration.pointer, f"{declaration.name}: {each}") for each in dict.fromkeys(messages)]
        found += _of_patterns(decoded(side.schema))
    return [ToolNote(tool.tool_id, note) for note in dict.fromkeys(found)]


def _of_records(declaration: Declaration, annotations: Annotations) -> Iterator[str]:
    if not isinstance(declaration, Record):
        return
    names = [each.name for each in declaration.members]
    if annotations.flavour == "typeddict":
        if declaration.openness == "open":
            yield "a TypedDict cannot tell the type of other members; they are kept"
        if "" in names:
            yield "a TypedDict cannot have a member without a name; it is kept"
    elif annotations.flavour == "msgspec":
        tag = native_tags(annotations.tree).get(declaration.name, ("", ""))[0]
        for name in names:
            if name != tag and not is_plain_name(name):
                yield f"msgspec by itself cannot name the member {name!r}; decode_… and encode_… of the stubs do"


def _of_types(declaration: Declaration, annotations: Annotations) -> Iterator[str]:
    inner = _inside(declaration)
    while inner:
        match made := inner.pop():
            case Constant(value=float()):
                yield "a Literal cannot be a number with a fraction; the type is float"
            case TupleOf(items, _, rest):
                if not annotations.is_tuple(made):
                    yield "a tuple of several lengths is a list"
                inner += [*items, *([] if rest is None else [rest])]
            case ListOf(item) | MapOf(item) | Nullable(item):
                inner.append(item)


def _inside(declaration: Declaration) -> list[Type]:
    match declaration:
        case Record(members=members):
            return [each.type for each in members]
        case Union(variants=variants):
            return [each.type for each in variants]
        case Enumeration():
            return []
        case _:
            return [declaration.type]


def _of_patterns(schema: Any) -> Iterator[Note]:
    """Patterns that nothing of Python can hold a text to. What merely looks like one, in an example, does no harm here."""
    ahead: list[tuple[str, Any]] = [("#", schema)]
    while ahead:
        pointer, value = ahead.pop(0)
        if isinstance(value, list):
            ahead += ((f"{pointer}/{at}", each) for at, each in enumerate(value))
        elif isinstance(value, dict):
            patterns = value.get("patternProperties")
            for pattern in (value.get("pattern"), *(patterns if isinstance(patterns, dict) else ())):
                if isinstance(pattern, str) and not is_known(pattern):
                    yield Note(pointer, f"Python stubs cannot check the pattern {pattern!r}; Ferrule does")
            ahead += ((f"{pointer}/{_step(name)}", each) for name, each in value.items())


def _step(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")

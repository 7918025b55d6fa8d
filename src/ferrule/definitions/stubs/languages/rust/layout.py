"""Code laid out as rustfmt does with its defaults: 100 columns, and narrower ones for what stands in brackets.

Each function knows one construct. What rustfmt gives up on (a name that fits nowhere) it leaves as it stands, so that is written
in one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

COLUMNS = 100
_CALL = 60
"""How wide arguments, the items of an array and the types of a tuple may be on one line."""
_ATTRIBUTE = 99
_SHORT = 10
"""Items that are no wider stand several to a line."""


class Shape(NamedTuple):
    """A type as it is written: `Option<String>` has the head `Option`; a tuple has none."""

    head: str
    arguments: tuple[Shape, ...] = ()


def flat(shape: Shape) -> str:
    """A type on one line."""
    inside = ", ".join(flat(each) for each in shape.arguments)
    if not shape.head:
        return f"({inside},)" if len(shape.arguments) == 1 else f"({inside})"
    return f"{shape.head}<{inside}>" if shape.arguments else shape.head


def _is_flat(shape: Shape) -> bool:
    inside = sum(len(flat(each)) + 2 for each in shape.arguments) - 2
    return (bool(shape.head) or inside <= _CALL) and all(_is_flat(each) for each in shape.arguments)


def typed(before: str, shape: Shape, after: str, indent: int) -> str:
    """`pub name: Type,` and the like: on one line, with the type on the next, or with the type broken up."""
    start, text = " " * indent, flat(shape)
    if _is_flat(shape):
        if indent + len(before) + 1 + len(text) + len(after) <= COLUMNS:
            return f"{start}{before} {text}{after}"
        if indent + 4 + len(text) + len(after) <= COLUMNS:
            return f"{start}{before}\n{start}    {text}{after}"
    broken = _broken(shape, indent)
    return f"{start}{before} {broken or text}{after}"


def _broken(shape: Shape, indent: int) -> str | None:
    """A type with each argument on lines of its own; None where one does not fit."""
    if not shape.arguments:
        return None
    if shape.head and len(shape.arguments) == 1 and not shape.arguments[0].head:
        only = _broken(shape.arguments[0], indent)
        return only and f"{shape.head}<{only}>"
    inner = " " * (indent + 4)
    lines = []
    for each in shape.arguments:
        text = flat(each)
        if not _is_flat(each) or len(inner) + len(text) + 1 > COLUMNS:
            broken = _broken(each, indent + 4)
            if broken is None:
                return None
            text = broken
        lines.append(f"{inner}{text},\n")
    opening, closing = ("<", ">") if shape.head else ("(", ")")
    return f"{shape.head}{opening}\n{''.join(lines)}{' ' * indent}{closing}"


def braced(before: str) -> str:
    """`pub struct Name {`."""
    return f"{before} {{" if len(before) + 2 <= COLUMNS else f"{before}\n{{"


def variant(name: str, shape: Shape) -> str:
    """A variant of an enumeration with a value inside."""
    text = flat(shape)
    inside = len(text)
    if _is_flat(shape) and 4 + len(name) + inside + 3 <= COLUMNS:
        return f"    {name}({text}),\n"
    if _is_flat(shape) and 8 + inside + 1 <= COLUMNS:
        return f"    {name}(\n        {text},\n    ),\n"
    broken = _broken(shape, 8)
    return f"    {name}(\n        {broken},\n    ),\n" if broken else f"    {name}({text}),\n"


def wrapper(name: str, shape: Shape) -> str:
    """`pub struct Name(pub Type);`."""
    text = flat(shape)
    before = f"pub struct {name}("
    if _is_flat(shape) and len(before) + 4 + len(text) + 2 <= COLUMNS:
        return f"{before}pub {text});\n"
    if _is_flat(shape) and 8 + len(text) + 1 <= COLUMNS:
        return f"{before}\n    pub {text},\n);\n"
    broken = _broken(shape, 4)
    # Two blanks: so does rustfmt.
    return f"{before}\n    pub  {broken},\n);\n" if broken else f"{before}pub {text});\n"


def attribute(inside: str, indent: int = 4) -> str:
    """`#[serde(…)]` with one thing in it."""
    start = " " * indent
    line = f"{start}#[serde({inside})]"
    return f"{line}\n" if len(line) <= _ATTRIBUTE else f"{start}#[serde(\n{start}    {inside}\n{start})]\n"


def constant(before: str, literal: str) -> str:
    """`const NAME: &str = "…";`."""
    is_next = len(before) + 1 + len(literal) + 1 > COLUMNS >= 4 + len(literal) + 1 and "\n" not in literal
    return f"{before}\n    {literal};\n" if is_next else f"{before} {literal};\n"


def bound(name: str, value: str, indent: int) -> str:
    """`let name = value;`."""
    start = " " * indent
    line = f"{start}let {name} = {value};"
    return f"{line}\n" if len(line) <= COLUMNS else f"{start}let {name} =\n{start}    {value};\n"


def array(before: str, items: Sequence[str], after: str = ";") -> str:
    """`const NAME: &[&str] = &["a", "b"];`."""
    inside = ", ".join(items)
    if len(inside) <= _CALL and len(before) + len(inside) + 4 + len(after) <= COLUMNS:
        return f"{before} &[{inside}]{after}\n"
    if any(len(item) > _SHORT for item in items):
        return f"{before} &[\n" + "".join(f"    {item},\n" for item in items) + f"]{after}\n"
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) + 2 <= COLUMNS:
            lines[-1] += f" {item},"
        else:
            lines.append(f"    {item},")
    return f"{before} &[\n" + "\n".join(lines) + f"\n]{after}\n"


def call(before: str, arguments: Sequence[str], after: str, indent: int) -> str:
    """`let x = f(a, b);`."""
    start, inside = " " * indent, ", ".join(arguments)
    line = f"{start}{before}({inside}){after}"
    if len(inside) <= _CALL and len(line) <= COLUMNS:
        return f"{line}\n"
    return f"{start}{before}(\n" + "".join(f"{start}    {each},\n" for each in arguments) + f"{start}){after}\n"


def signature(before: str, parameters: Sequence[str], gives: str, indent: int = 0) -> str:
    """`pub fn f(a: A) -> B {`."""
    start = " " * indent
    line = f"{start}{before}({', '.join(parameters)}) -> {gives} {{"
    if len(line) <= COLUMNS:
        return f"{line}\n"
    lines = "".join(f"{start}    {each},\n" for each in parameters)
    return f"{start}{before}(\n{lines}{start}) -> {gives} {{\n"

"""Reads the documentation of a class's fields from its source: the string that stands below each field."""

from __future__ import annotations

import ast
import inspect
from typing import NamedTuple


class Field(NamedTuple):
    """One documented field."""

    name: str
    type: str
    default: str | None
    text: str


def fields_of(cls: type) -> list[Field]:
    """The annotated fields of a class, in order."""
    body = _class_body(cls)
    found = []
    for number, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            after = body[number + 1] if number + 1 < len(body) else None
            default = None if node.value is None else ast.unparse(node.value)
            found.append(Field(node.target.id, ast.unparse(node.annotation), default, _text(after)))
    return found


def _class_body(cls: type) -> list[ast.stmt]:
    tree = ast.parse(inspect.getsource(cls))
    definition = tree.body[0]
    assert isinstance(definition, ast.ClassDef)
    return definition.body


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""


def cell(text: str) -> str:
    """Text that cannot break a Markdown table."""
    return text.replace("|", "\\|")

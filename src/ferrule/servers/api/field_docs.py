"""Documentation of record fields, read from the source: the string below each field.

A record of the domain that leaves over HTTP is documented once, where it is defined; the reference pages read it the
same way. Where no source is installed there are no descriptions.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from functools import cache
from typing import NamedTuple

_REQUIREMENT = re.compile(r" \((?:AT|AML|ADL|OXP)-\d+[^)]*\)")


class FieldDoc(NamedTuple):
    """One field and its documentation."""

    name: str
    type: str
    default: str | None
    text: str


def fields_of(cls: type) -> list[FieldDoc]:
    """Returns the annotated fields of a class in order; none where its source is not installed."""
    body = _classes_in(cls.__module__).get(cls.__qualname__, ())
    found = []
    for number, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            after = body[number + 1] if number + 1 < len(body) else None
            default = None if node.value is None else ast.unparse(node.value)
            found.append(FieldDoc(node.target.id, ast.unparse(node.annotation), default, _text(after)))
    return found


def read_field_docs(cls: type) -> dict[str, str]:
    """Returns the documentation of a record's fields, inherited ones included, without ids of requirements."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if each.__module__.startswith("ferrule."):
            found |= {field.name: _REQUIREMENT.sub("", field.text) for field in fields_of(each) if field.text}
    return found


@cache
def _classes_in(module: str) -> dict[str, list[ast.stmt]]:
    """Returns the bodies of a module's classes; the module is parsed once."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except OSError:
        return {}
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""

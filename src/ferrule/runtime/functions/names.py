"""The names that Python files give to tools, read from their text: `ferrule check` runs nobody's code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path


def names_in(root: Path, modules: Iterable[str]) -> frozenset[str] | None:
    """What the tools of these modules may be called; None when that cannot be read from files of the workspace."""
    found: set[str] = set()
    for module in modules:
        try:
            found.update(_names(ast.parse((root / module).read_bytes())))
        except (OSError, SyntaxError, ValueError, RecursionError):
            return None
    return frozenset(found)


def _names(tree: ast.AST) -> Iterator[str]:
    """A marked function's own name, and every text in its marks: which of them counts is told by running it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.decorator_list:
            yield node.name
            for mark in node.decorator_list:
                texts = (part.value for part in ast.walk(mark) if isinstance(part, ast.Constant))
                yield from (text for text in texts if isinstance(text, str))

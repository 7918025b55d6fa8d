"""Runs tables of structural rules: one walk over the value, one report per defect, nothing looked at below a defect."""

from __future__ import annotations

import re
from typing import Any

from ferrule.contracts.rule import Closed, Required, Row, Subject
from ferrule.model.diagnostic import Finding
from ferrule.model.nearest import nearest
from ferrule.model.value import Path, dig, dotted, is_blank

_STEP = re.compile(r"\[\]|[^.\[\]]+")


class Branch:
    """The rows of one path, and the branches below it."""

    __slots__ = ("any_key", "checks", "closed", "items", "keys", "required")

    def __init__(self) -> None:
        self.checks: list[Row] = []
        self.required: list[Row] = []
        self.closed: list[Row] = []
        self.keys: dict[str, Branch] = {}
        self.any_key: Branch | None = None
        self.items: Branch | None = None


_TREES: dict[int, tuple[tuple[Row, ...], Branch]] = {}


def tree_of(rows: tuple[Row, ...]) -> Branch:
    """The table as a tree, made once per table. Known by identity, since hashing it would cost more than the walk."""
    known = _TREES.get(id(rows))
    if known is None:
        known = _TREES[id(rows)] = (rows, _grown(rows))  # kept with its table, so the identity is never reused
    return known[1]


def _grown(rows: tuple[Row, ...]) -> Branch:
    root = Branch()
    for row in rows:
        branch = root
        for step in _STEP.findall(row.path):
            branch = _step(branch, step)
        if isinstance(row.expect, Required):
            branch.required.append(row)
        elif isinstance(row.expect, Closed):
            branch.closed.append(row)
        else:
            branch.checks.append(row)
    return root


def _step(branch: Branch, step: str) -> Branch:
    if step == "[]":
        branch.items = branch.items or Branch()
        return branch.items
    if step == "*":
        branch.any_key = branch.any_key or Branch()
        return branch.any_key
    return branch.keys.setdefault(step, Branch())


def check_structure(subject: Subject, rows: tuple[Row, ...]) -> None:
    """Report every structural defect of the definition to the subject."""
    _visit(subject, tree_of(rows), subject.value, ())


def _visit(subject: Subject, branch: Branch, value: Any, path: Path) -> None:
    for row in branch.checks:
        if row.when is not None and not _applies(subject, row):
            continue
        problem = row.expect(value)  # type: ignore[operator]  # Required and Closed are kept apart by tree_of
        if problem is not None:
            subject.report(Finding(row.rule, path, f"{_label(path)} {problem}", row.severity, row.hint))
            return
    if isinstance(value, dict):
        for row in branch.closed:
            if row.when is None or _applies(subject, row):
                _close(subject, row, value, path)
        for key, child in branch.keys.items():
            _member(subject, child, value, key, path)
        if branch.any_key is not None:
            for key, member in value.items():
                if key not in branch.keys:
                    _visit(subject, branch.any_key, member, (*path, key))
    elif isinstance(value, list) and branch.items is not None:
        for index, item in enumerate(value):
            _visit(subject, branch.items, item, (*path, index))


def _member(subject: Subject, child: Branch, value: dict[str, Any], key: str, path: Path) -> None:
    below = (*path, key)
    if key not in value:
        _absent(subject, child, below, enclosing_is_there=True)
        return
    member = value[key]
    for row in child.required:
        expected: Required = row.expect  # type: ignore[assignment]
        if _counts_as_missing(member, expected) and (row.when is None or _applies(subject, row)):
            subject.report(Finding(row.rule, below, f"{_label(below)} is empty", row.severity, row.hint))
            return
    _visit(subject, child, member, below)


def _absent(subject: Subject, branch: Branch, path: Path, *, enclosing_is_there: bool) -> None:
    """Report a key that is not written; inside a block that is missing as a whole only what is required `deep`ly."""
    for row in branch.required:
        expected: Required = row.expect  # type: ignore[assignment]
        if (enclosing_is_there or expected.deep) and (row.when is None or _applies(subject, row)):
            subject.report(Finding(row.rule, path, f"{_label(path)} is missing", row.severity, row.hint))
            return
    for key, child in branch.keys.items():
        _absent(subject, child, (*path, key), enclosing_is_there=False)


def _counts_as_missing(value: Any, expected: Required) -> bool:
    if value is None:
        return not expected.null_ok
    return not expected.blank_ok and is_blank(value)


def _close(subject: Subject, row: Row, value: dict[str, Any], path: Path) -> None:
    closed: Closed = row.expect  # type: ignore[assignment]
    for key in value:
        if key in closed.keys:
            continue
        hint = closed.hints.get(key) or nearest(key, closed.keys) or row.hint
        where = f" in {_label(path)}" if path else ""
        subject.report(Finding(row.rule, (*path, key), f"unknown key {key!r}{where}", row.severity, hint, on_key=True))


def _applies(subject: Subject, row: Row) -> bool:
    assert row.when is not None
    path, words = row.when
    steps = tuple(path.split("."))
    if subject.is_reported(steps):
        return False
    word = dig(subject.value, steps)
    return isinstance(word, str) and word in words


def _label(path: Path) -> str:
    return f"`{dotted(path)}`" if path else "the definition"

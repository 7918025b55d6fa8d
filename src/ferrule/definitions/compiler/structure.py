"""Runs tables of structural rules: one walk over the value, one report per defect, and nothing checked below a
defect."""

from __future__ import annotations

import re
from typing import Any

from ferrule.contracts.rule import Closed, Expectation, Required, Row, Subject
from ferrule.model.diagnostic import Finding
from ferrule.model.hints import nearest
from ferrule.model.value import JsonObject, Path, dig, format_path

_STEP = re.compile(r"\[\]|[^.\[\]]+")
_SELF_EVIDENT = frozenset({"a string", "a non-empty string", "a mapping", "a list"})
"""Expectations that help nobody to fill in a missing value."""
_FEW_KEYS = 10
"""How many keys a hint lists at most."""
_ALMOST = 0.85
"""How similar a key must be to one of our extensions to count as a misspelling; others may have their own."""


class RowCondition:
    """The condition under which a row applies: the word at some path is one of these. Rows of a table with the same
    condition share one."""

    __slots__ = ("steps", "words")

    def __init__(self, path: str, words: frozenset[str]) -> None:
        self.steps = tuple(path.split("."))
        self.words = words


Check = tuple[Row, RowCondition | None]


class Branch:
    """The rows of one path, and the branches below it."""

    __slots__ = (
        "accepts",
        "any_key",
        "checks",
        "closed",
        "deeper",
        "items",
        "keys",
        "may_be_missed",
        "members",
        "missable",
        "missed_when",
        "misses_deeply",
        "plain",
        "required",
        "words",
    )

    def __init__(self) -> None:
        self.checks: list[tuple[Expectation, Row, RowCondition | None]] = []
        self.required: list[Check] = []
        self.closed: list[tuple[frozenset[str], Row, RowCondition | None]] = []
        self.keys: dict[str, Branch] = {}
        self.any_key: Branch | None = None
        self.items: Branch | None = None
        self.members: tuple[tuple[str, Branch], ...] = ()
        """`keys`, fixed once the table is read."""
        self.missable: tuple[tuple[str, Branch], ...] = ()
        """Those of the members whose absence may be a defect."""
        self.deeper = False
        """True when there is anything to look at inside the value."""
        self.may_be_missed = False
        """True when its absence may be a defect."""
        self.misses_deeply = False
        """True when its absence may be a defect even where everything around it is absent too."""
        self.missed_when: RowCondition | None = None
        """The condition of its absence being a defect, where there is only one and nothing lies below it."""
        self.plain: tuple[Expectation, Row] | None = None
        """The one row to check, where it has no condition and nothing lies below it."""
        self.accepts: type | None = None
        """Values of this class pass that row, whatever they are."""
        self.words: frozenset[str] = frozenset()
        """Words that pass that row."""


_TREES: dict[int, tuple[tuple[Row, ...], Branch]] = {}


def find_tree(rows: tuple[Row, ...]) -> Branch:
    """Returns the table as a tree, made once per table. Known by identity, since hashing it would cost more than the
    walk."""
    known = _TREES.get(id(rows))
    if known is None:
        known = _TREES[id(rows)] = (rows, _build_tree(rows))  # kept with its table, so the identity is never reused
    return known[1]


def _build_tree(rows: tuple[Row, ...]) -> Branch:
    root = Branch()
    conditions: dict[tuple[str, frozenset[str]], RowCondition] = {}
    for row in rows:
        branch = root
        for step in _STEP.findall(row.path):
            branch = _descend(branch, step)
        condition = None if row.when is None else conditions.setdefault(row.when, RowCondition(*row.when))
        if isinstance(row.expect, Required):
            branch.required.append((row, condition))
        elif isinstance(row.expect, Closed):
            branch.closed.append((row.expect.keys | row.expect.elsewhere, row, condition))
        else:
            branch.checks.append((row.expect, row, condition))
    _summarize(root)
    return root


def _descend(branch: Branch, step: str) -> Branch:
    if step == "[]":
        branch.items = branch.items or Branch()
        return branch.items
    if step == "*":
        branch.any_key = branch.any_key or Branch()
        return branch.any_key
    return branch.keys.setdefault(step, Branch())


def _summarize(branch: Branch) -> None:
    for child in (*branch.keys.values(), branch.any_key, branch.items):
        if child is not None:
            _summarize(child)
    branch.members = tuple(branch.keys.items())
    branch.missable = tuple((key, child) for key, child in branch.members if child.may_be_missed)
    branch.deeper = bool(branch.members or branch.closed or branch.any_key or branch.items)
    if len(branch.checks) == 1 and branch.checks[0][2] is None and not branch.deeper:
        branch.plain = expect, _ = branch.checks[0][:2]
        branch.accepts = getattr(expect, "accepts", None)
        branch.words = frozenset(getattr(expect, "words", ()))
    is_deep = any(isinstance(row.expect, Required) and row.expect.deep for row, _ in branch.required)
    branch.misses_deeply = is_deep or any(child.misses_deeply for child in branch.keys.values())
    if len(branch.required) == 1 and not branch.misses_deeply:
        branch.missed_when = branch.required[0][1]
    branch.may_be_missed = branch.misses_deeply or bool(branch.required)


class _Walk:
    """One walk over one definition. Conditions are decided once, and again after each report, which may change them."""

    __slots__ = ("decided", "subject")

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.decided: dict[RowCondition, bool] = {}

    def applies(self, condition: RowCondition) -> bool:
        """Returns True when the word is one of the condition's, and is not itself reported."""
        known = self.decided.get(condition)
        if known is None:
            subject = self.subject
            if subject.has_errors and subject.is_reported(condition.steps):
                known = False
            else:
                word = dig(subject.value, condition.steps)
                known = isinstance(word, str) and word in condition.words
            self.decided[condition] = known
        return known

    def report(self, row: Row, path: Path, problem: str, hint: str | None) -> None:
        """Adds a finding for a row."""
        # The finding may be about the very word that a decided condition looked at.
        self.decided.clear()
        self.subject.report(Finding(row.rule, path, f"{_name_path(path)} {problem}", row.severity, hint))

    def report_missing(self, row: Row, path: Path, problem: str, branch: Branch) -> None:
        """Adds a finding for a missing value, with what is expected of it."""
        checks = (expect for expect, _, when in branch.checks if when is None or self.applies(when))
        expected = getattr(next(checks, None), "describe", "a string")
        hint = row.hint or (None if expected in _SELF_EVIDENT else f"it must be {expected}")
        self.report(row, path, problem, hint)

    def report_unknown(self, row: Row, path: Path, key: str) -> None:
        """Adds a finding for a key that a closed mapping does not accept."""
        self.decided.clear()
        closed: Closed = row.expect  # type: ignore[assignment]  # kept with closed rows only
        if closed.extensions and key.startswith(closed.extensions):
            hint = None if key in closed.own else nearest(key, closed.own, _ALMOST)
            if hint is None:
                return
        else:
            hint = closed.hints.get(key) or nearest(key, closed.keys) or row.hint
        if hint is None and len(closed.keys) <= _FEW_KEYS:
            hint = f"the keys here are {', '.join(sorted(closed.keys))}"
        where = f" in {_name_path(path)}" if path else ""
        finding = Finding(row.rule, (*path, key), f"unknown key {key!r}{where}", row.severity, hint, on_key=True)
        self.subject.report(finding)


def check_structure(subject: Subject, rows: tuple[Row, ...]) -> None:
    """Reports every structural defect of the definition to the subject."""
    _visit(_Walk(subject), find_tree(rows), subject.value, (), None)


def _visit(walk: _Walk, branch: Branch, value: Any, around: Path, step: str | int | None) -> None:
    """Checks the value at `step` of the container at `around`; builds the path only when it is needed."""
    for expect, row, condition in branch.checks:
        if condition is None or walk.applies(condition):
            problem = expect(value)
            if problem is not None:
                walk.report(row, around if step is None else (*around, step), problem, _choose_hint(row, value))
                return
    if branch.deeper:
        if isinstance(value, dict):
            _visit_mapping(walk, branch, value, around if step is None else (*around, step))
        elif branch.items is not None and isinstance(value, list):
            _visit_items(walk, branch.items, value, around if step is None else (*around, step))


def _visit_items(walk: _Walk, branch: Branch, items: list[Any], path: Path) -> None:
    if branch.plain is None:
        for index, item in enumerate(items):
            _visit(walk, branch, item, path, index)
        return
    expect, row = branch.plain
    for index, item in enumerate(items):
        problem = expect(item)
        if problem is not None:
            walk.report(row, (*path, index), problem, _choose_hint(row, item))


def _visit_mapping(walk: _Walk, branch: Branch, value: JsonObject, path: Path) -> None:
    for keys, row, condition in branch.closed:
        if not value.keys() <= keys and (condition is None or walk.applies(condition)):
            for key in value:
                if key not in keys:
                    walk.report_unknown(row, path, key)
    branches, any_key = branch.keys, branch.any_key
    for key, member in value.items():
        child = branches.get(key)
        if child is None:
            if any_key is not None:
                _visit(walk, any_key, member, path, key)
            continue
        of = member.__class__
        # A blank value counts as missing, so the checks of its type would only report it again.
        if (
            child.required
            and (member is None or (of is str and (not member or member.isspace())))
            and _report_blank(walk, child, member, (*path, key))
        ):
            continue
        # Almost every value passes here without a call: this loop runs for every key of every file.
        if of is child.accepts or (of is str and member in child.words):
            continue
        if child.plain is None:
            _visit(walk, child, member, path, key)
        elif (problem := child.plain[0](member)) is not None:  # most keys have one unconditional row and no inside
            walk.report(child.plain[1], (*path, key), problem, _choose_hint(child.plain[1], member))
    for key, child in branch.missable:
        if key not in value and (child.missed_when is None or walk.applies(child.missed_when)):
            _report_absent(walk, child, (*path, key), enclosing_is_there=True)


def _report_blank(walk: _Walk, branch: Branch, value: object, path: Path) -> bool:
    """Reports a blank value that counts as missing; returns True if it did."""
    for row, condition in branch.required:
        expected: Required = row.expect  # type: ignore[assignment]  # kept with required rows only
        is_fine = expected.null_ok if value is None else expected.blank_ok
        if not is_fine and (condition is None or walk.applies(condition)):
            walk.report_missing(row, path, "is empty", branch)
            return True
    return False


def _report_absent(walk: _Walk, branch: Branch, path: Path, *, enclosing_is_there: bool) -> None:
    """Reports a missing key; below a missing block only the keys that are required `deep`ly."""
    for row, condition in branch.required:
        expected: Required = row.expect  # type: ignore[assignment]  # kept with required rows only
        if (enclosing_is_there or expected.deep) and (condition is None or walk.applies(condition)):
            walk.report_missing(row, path, "is missing", branch)
            return
    for key, child in branch.members:
        if child.misses_deeply:
            _report_absent(walk, child, (*path, key), enclosing_is_there=False)


def _choose_hint(row: Row, value: object) -> str | None:
    """Returns the hint for a wrong value: the table's own, or the nearest of the words it may be."""
    if isinstance(value, str):
        return row.hints.get(value) or nearest(value, getattr(row.expect, "words", ())) or row.hint
    return row.hint


def _name_path(path: Path) -> str:
    return f"`{format_path(path)}`" if path else "the definition"

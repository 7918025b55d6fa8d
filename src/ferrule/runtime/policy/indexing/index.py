"""Finds the few rules that may concern a tool or a call among many, so that only those are tested, in their own order.

Rules are found by the tool's name, then by one thing they want of its arguments: each rule is filed where the fewest
others are. An index only leaves out rules that cannot fit; it never decides. Where it cannot tell (a value that is no
plain JSON, a value that no reading settles, a failure of any kind) every rule is tested, so that failures stay what they
were. Stands above `clues.py` and `columns.py`, below `engine.py` and `program.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ferrule.contracts.policy import JudgedCall
from ferrule.runtime.policy.compiled import CompiledRule, RuleCheck
from ferrule.runtime.policy.globs import is_literal
from ferrule.runtime.policy.indexing.clues import Clue, ClueEntry, Column, find_clue, find_column, may_fail
from ferrule.runtime.policy.indexing.columns import ArgumentColumn, ColumnReader, ValuesColumn
from ferrule.runtime.policy.indexing.lookups import NumberRange
from ferrule.runtime.policy.paths import PathBase
from ferrule.runtime.policy.records import PolicyRule
from ferrule.runtime.policy.view import ToolView

_FEW = 8
"""So many rules are tested as quickly as they are looked up."""

Counts = Counter[tuple[Column, ClueEntry | None]]
"""How many rules want an entry of a column; under None, how many want some range of it."""


class RuleToolIndex:
    """Rules by the names of the tools that they give."""

    __slots__ = ("_named", "_others", "_rules")

    def __init__(self, rules: tuple[PolicyRule, ...]) -> None:
        self._rules = rules
        self._named: dict[str, list[int]] = {}
        self._others: list[int] = []
        """Numbers of the rules that may concern any tool."""
        for number, rule in enumerate(rules):
            if rule.tool and all(is_literal(pattern) for pattern in rule.tool):
                for pattern in rule.tool:
                    self._named.setdefault(pattern, []).append(number)
            else:
                self._others.append(number)

    def find_rules(self, names: Iterable[str]) -> Iterator[PolicyRule]:
        """Returns the rules that may concern a tool of these names, in order."""
        numbers = set(self._others)
        for name in names:
            numbers.update(self._named.get(name, ()))
        return (self._rules[number] for number in sorted(numbers))


class FilingWay(NamedTuple):
    """One way to file a rule."""

    clue: Clue
    before: tuple[RuleCheck, ...]
    """The checks that come first. They may fail, so the index reads what they read; if that fails, no rule is left out."""


class ArgumentIndex:
    """The rules of one tool; those that look at its calls, by what they want of the arguments. The first call fills it."""

    __slots__ = ("__weakref__", "_base", "_columns", "_unfiled", "_view", "always", "rules")

    def __init__(self, concerning: Iterable[CompiledRule], view: ToolView, base: PathBase, few: int = _FEW) -> None:
        compiled = tuple(concerning)
        self.always = tuple(rule for rule in compiled if not rule.checks)
        """Those that fit every call."""
        self.rules = tuple(rule for rule in compiled if rule.checks)
        """Those that look at the call."""
        self._view = view
        self._base = base
        self._unfiled: tuple[int, ...] = ()
        # Surfaces make a program for each tool and ask most of them nothing, so filing waits for a call.
        self._columns: tuple[ColumnReader, ...] | None = None if len(self.rules) > few else ()

    def find_rules(self, judged: JudgedCall) -> Sequence[CompiledRule]:
        """Returns the rules that may fit a call, in order. The others do not fit it, and testing them cannot fail."""
        columns = self._columns
        if columns is None:
            columns = self._fill()
        rules = self.rules
        if not columns:
            return rules
        numbers: list[int] = []
        try:
            for column in columns:
                column.find(judged, numbers)
        except Exception:  # whatever it is, the rules meet it too, in their own order
            return rules
        numbers += self._unfiled
        if len(numbers) * 2 > len(rules):  # testing the rest takes no longer than sorting these out
            return rules
        return [rules[number] for number in sorted(set(numbers))]

    def _fill(self) -> tuple[ColumnReader, ...]:
        ways = [list(_list_ways(rule, self._base)) for rule in self.rules]
        counts = _count(way.clue for each in ways for way in each)
        columns: dict[Column, ColumnReader] = {}
        unfiled: list[int] = []
        for number, (rule, each) in enumerate(zip(self.rules, ways, strict=True)):
            if not each:
                unfiled.append(number)
                continue
            clue, before = min(each, key=lambda way: _weigh(way.clue, counts))
            reader = self._get_reader(columns, clue.column)
            for choice in clue.choices:
                reader.file(min(choice, key=lambda entry: counts[clue.column, entry]), number)
            for check in before:
                if check.about is not None:
                    column = find_column(check.about, check.kind, is_strict=rule.rule.decision == "allow")
                    self._get_reader(columns, column).watch(check.about)
        for reader in columns.values():
            reader.close()
        self._unfiled = tuple(unfiled)
        self._columns = tuple(columns.values())
        return self._columns

    def _get_reader(self, columns: dict[Column, ColumnReader], column: Column) -> ColumnReader:
        reader = columns.get(column)
        if reader is None:
            is_argument = column.kind is None
            reader = ArgumentColumn(column) if is_argument else ValuesColumn(column, self._view, self._base)
            columns[column] = reader
        return reader


def _list_ways(rule: CompiledRule, base: PathBase) -> Iterator[FilingWay]:
    ranges: dict[Column, NumberRange] = {}
    for place, check in enumerate(rule.checks):
        if check.about is None:
            continue
        column = find_column(check.about, check.kind, is_strict=rule.rule.decision == "allow")
        clue = find_clue(check.about, column, base)
        if clue is not None:
            entry = clue.choices[0][0]
            if entry.table == "range":  # `above` and `below` of one argument are one range
                ranges[column] = ranges[column].narrow(entry.key) if column in ranges else entry.key
                clue = Clue(column, ((ClueEntry("range", ranges[column]),),))
            yield FilingWay(clue, rule.checks[:place])
        # A rule is not filed by checks behind one that may fail: leaving it out would leave out the failure.
        if may_fail(check.about):
            return


def _count(clues: Iterable[Clue]) -> Counts:
    counts: Counts = Counter()
    for column, choices in clues:
        for choice in choices:
            counts.update((column, entry if entry.table != "range" else None) for entry in choice)
    return counts


def _weigh(clue: Clue, counts: Counts) -> float:
    """Returns how many rules a call has to be tested against, roughly, that fits the clue."""
    return max(min(_weigh_entry(clue.column, entry, counts) for entry in choice) for choice in clue.choices)


def _weigh_entry(column: Column, entry: ClueEntry, counts: Counts) -> float:
    if entry.table != "range":
        return counts[column, entry]
    return counts[column, None] / (16 if entry.key.is_closed else 2)

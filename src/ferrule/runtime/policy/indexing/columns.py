"""Reads one part of a call and looks up the rules that are filed by it: an argument, or all values of a kind.

A reader names too many rules rather than too few: whatever it cannot judge, it answers with every rule it holds. It raises
for values that are no plain JSON, and for those that a check could fail on. Stands between `index.py` and `lookups.py`.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from ferrule.contracts.policy import JudgedCall
from ferrule.runtime.policy.compiled import find_values
from ferrule.runtime.policy.conditions import SCALARS, collect_values
from ferrule.runtime.policy.indexing.clues import ClueEntry, Column, make_reader, make_value_key
from ferrule.runtime.policy.indexing.lookups import Beginnings, Fragments, NumberRange, RangeTree
from ferrule.runtime.policy.paths import PathBase
from ferrule.runtime.policy.records import Condition, ValuePatterns
from ferrule.runtime.policy.view import ToolView

_PLAIN = frozenset({str, int, float, bool, list, dict, type(None)})


class ColumnReader(Protocol):
    """Finds rules by one column of a call."""

    def file(self, entry: ClueEntry, number: int) -> None:
        """Files a rule under an entry."""

    def watch(self, about: Condition | ValuePatterns) -> None:
        """Notes a check that is tested before the one a rule is filed by: what it fails on, `find` fails on."""

    def close(self) -> None:
        """Ends the filing."""

    def find(self, judged: JudgedCall, found: list[int]) -> None:
        """Appends the numbers of the rules that may fit. Raises where a check could."""


class ArgumentColumn:
    """The argument that conditions are about, wherever it stands."""

    __slots__ = (
        "_beginnings",
        "_everything",
        "_fragments",
        "_only",
        "_path",
        "_patterns",
        "_ranged",
        "_ranges",
        "_texts",
        "_tree",
        "_values",
        "_wants_encodable",
    )

    def __init__(self, column: Column) -> None:
        self._path = column.names
        self._only = column.names[0] if len(column.names) == 1 else None
        self._values: dict[Any, list[int]] = {}
        self._beginnings = Beginnings()
        self._patterns = Beginnings()
        self._fragments = Fragments()
        self._ranges: list[tuple[NumberRange, int]] = []
        self._tree: RangeTree | None = None
        self._texts: list[int] = []
        """Numbers of the rules that want a text, and cannot judge anything else."""
        self._ranged: list[int] = []
        """Numbers of the rules that want a number."""
        self._everything: list[int] = []
        self._wants_encodable = False

    def file(self, entry: ClueEntry, number: int) -> None:
        """Files a rule under an entry."""
        self._everything.append(number)
        match entry.table:
            case "value":
                self._values.setdefault(entry.key, []).append(number)
                return
            case "range":
                self._ranged.append(number)
                self._ranges.append((entry.key, number))
                return
            case "fragment":
                self._fragments.add(entry.key, number)
            case "pattern":
                self._patterns.add(entry.key, number)
                self._wants_encodable = True
            case _:
                self._beginnings.add(entry.key, number)
        self._texts.append(number)

    def watch(self, about: Condition | ValuePatterns) -> None:
        """Notes a check that is tested before: the engine of regular expressions takes no half of a surrogate pair."""
        if isinstance(about, Condition) and about.operator == "matches":
            self._wants_encodable = True

    def close(self) -> None:
        """Ends the filing."""
        # No number is in an empty range; two numbers in a list may still fulfil both of its conditions.
        ranges = [item for item in self._ranges if item[0].low <= item[0].high]
        self._tree = RangeTree(ranges) if ranges else None

    def find(self, judged: JudgedCall, found: list[int]) -> None:
        """Appends the numbers of the rules that may fit."""
        arguments = judged.arguments
        value = arguments.get(self._only) if self._only is not None else None
        if value.__class__ in SCALARS:
            self._find_value(value, found)
            return
        values = collect_values(arguments, self._path)
        for value in values:
            if value.__class__ not in _PLAIN:
                raise TypeError(f"{value.__class__.__name__} is no plain JSON")
            if value.__class__ in SCALARS:
                self._find_value(value, found)
            else:
                found += self._everything
        if len(values) > 1:
            found += self._ranged

    def _find_value(self, value: Any, found: list[int]) -> None:
        kind = value.__class__
        if self._values:
            found += self._values.get(make_value_key(value), ())
        if kind is not str:
            found += self._texts
            if kind is bool or (kind is float and not math.isfinite(value)):
                found += self._ranged
            elif self._tree is not None:
                self._tree.find(value, found)
            return
        # Raises for half of a surrogate pair; then every rule is tested.
        if self._wants_encodable and not value.isascii():
            value.encode()
        if self._ranged:
            found += self._ranged
        if self._texts:
            self._beginnings.find(value, found)
            self._patterns.find(value, found)
            self._fragments.find(value, found)


class ValuesColumn:
    """The paths, commands, addresses or resources among the arguments."""

    __slots__ = ("_beginnings", "_column", "_endings", "_everything", "_read", "_view")

    def __init__(self, column: Column, view: ToolView, base: PathBase) -> None:
        self._column = column
        self._view = view
        self._read = make_reader(column, base)
        self._beginnings = Beginnings()
        self._endings = Beginnings()
        self._everything: list[int] = []

    def file(self, entry: ClueEntry, number: int) -> None:
        """Files a rule under an entry."""
        self._everything.append(number)
        (self._endings if entry.table == "ending" else self._beginnings).add(entry.key, number)

    def watch(self, about: Condition | ValuePatterns) -> None:
        """Notes a check that is tested before: `find` reads every value in any case."""

    def close(self) -> None:
        """Ends the filing."""

    def find(self, judged: JudgedCall, found: list[int]) -> None:
        """Appends the numbers of the rules that may fit."""
        kind, fields, _ = self._column
        assert kind is not None
        for each in find_values(self._view, kind, fields, judged):
            if each.value.__class__ not in _PLAIN:
                raise TypeError(f"{each.value.__class__.__name__} is no plain JSON")
            texts = self._read(each.value)
            if texts is None:
                found += self._everything
                continue
            for beginning, ending in texts:
                self._beginnings.find(beginning, found)
                self._endings.find(ending[::-1], found)

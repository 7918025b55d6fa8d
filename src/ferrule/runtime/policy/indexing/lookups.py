"""Tables that an index of rules keeps: numbers of rules by the texts, beginnings, endings and ranges that they want.

A lookup appends to a list the numbers of the rules that may fit a value. It may name too many, never too few. Stands
below `index.py`; knows neither rules nor calls.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class Beginnings:
    """Numbers by the beginnings of texts."""

    __slots__ = ("_lengths", "_table")

    def __init__(self) -> None:
        self._table: dict[str, list[int]] = {}
        self._lengths: tuple[int, ...] = ()

    def add(self, beginning: str, number: int) -> None:
        """Files a number under a beginning."""
        self._table.setdefault(beginning, []).append(number)
        self._lengths = tuple(sorted({*self._lengths, len(beginning)}))

    def find(self, text: str, found: list[int]) -> None:
        """Appends the numbers of every beginning that the text has."""
        longest = len(text)
        for length in self._lengths:
            if length > longest:
                return
            numbers = self._table.get(text[:length])
            if numbers is not None:
                found += numbers


class NumberRange(NamedTuple):
    """Numbers of arguments from one bound to the other, both included."""

    low: float
    high: float

    @property
    def is_closed(self) -> bool:
        """True when it has an end on both sides."""
        return -math.inf < self.low and self.high < math.inf

    def narrow(self, other: NumberRange) -> NumberRange:
        """Returns the part that both have in common; its low bound is above its high one when they have none."""
        return NumberRange(max(self.low, other.low), min(self.high, other.high))


class RangeTree:
    """Numbers by ranges, as a tree: each node holds the ranges around its centre, sorted by either bound.

    Bounds may be whole numbers of any size beside fractions: Python compares the two exactly.
    """

    __slots__ = ("_above", "_below", "_by_high", "_by_low", "_centre", "_highs", "_lows")

    def __init__(self, ranges: Sequence[tuple[NumberRange, int]]) -> None:
        bounds = sorted(bound for each, _ in ranges for bound in each)
        self._centre = centre = bounds[len(bounds) // 2]
        around = [item for item in ranges if item[0].low <= centre <= item[0].high]
        below = [item for item in ranges if item[0].high < centre]
        above = [item for item in ranges if item[0].low > centre]
        by_low = sorted(around, key=lambda item: item[0].low)
        by_high = sorted(around, key=lambda item: item[0].high)
        self._lows = [each.low for each, _ in by_low]
        self._highs = [each.high for each, _ in by_high]
        self._by_low = [number for _, number in by_low]
        self._by_high = [number for _, number in by_high]
        self._below = RangeTree(below) if below else None
        self._above = RangeTree(above) if above else None

    def find(self, value: float, found: list[int]) -> None:
        """Appends the numbers of every range that holds the value."""
        node: RangeTree | None = self
        while node is not None:
            if value < node._centre:
                found += node._by_low[: bisect_right(node._lows, value)]
                node = node._below
            else:
                found += node._by_high[bisect_left(node._highs, value) :]
                node = node._above


class Fragments:
    """Numbers by a text that other texts contain, found by three of its characters in a row."""

    __slots__ = ("_everything", "_table")

    def __init__(self) -> None:
        self._table: dict[str, list[int]] = {}
        self._everything: list[int] = []

    @staticmethod
    def cut(text: str) -> set[str]:
        """Returns the fragments of a text; none for one that is shorter than three characters."""
        return {text[at : at + 3] for at in range(len(text) - 2)}

    def add(self, fragment: str, number: int) -> None:
        """Files a number under one fragment of a text."""
        self._table.setdefault(fragment, []).append(number)
        self._everything.append(number)

    def find(self, text: str, found: list[int]) -> None:
        """Appends the numbers of every fragment in the text."""
        if len(text) > len(self._everything):  # cutting it up would take longer than looking for each
            found += self._everything
            return
        for fragment in self.cut(text) & self._table.keys():
            found += self._table[fragment]

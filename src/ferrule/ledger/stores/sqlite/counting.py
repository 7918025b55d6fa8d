"""How many calls ended how, counted from the rows of a ledger's file.

Rows are only ever added, so blocks of them that are full are counted once, by the minute. When old rows are pruned, or another
file takes the ledger's place, everything is counted anew.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ferrule.contracts.store import Ending
from ferrule.ledger.chain import kind_number
from ferrule.model.journal import LAST_KINDS

MINUTE = 60_000_000
_BLOCK = 2048
_LAST_KINDS = ",".join(str(kind_number(kind)) for kind in sorted(LAST_KINDS))
_FIRST = "SELECT min(seq) FROM journal"
_BLOCKS = f"""SELECT seq / {_BLOCK}, at / {MINUTE} * {MINUTE}, outcome, count(*) FROM journal
    WHERE seq >= ? AND seq < ? AND kind IN ({_LAST_KINDS}) GROUP BY 1, 2, 3"""


class Counted:
    """What was counted of one file."""

    def __init__(self) -> None:
        self._blocks: dict[int, list[Ending]] = {}
        self._first: int | None = None

    def endings(self, db: sqlite3.Connection, after: int, before: int, width: int) -> list[Ending]:
        """How calls ended in rows between two numbers. `width`: whole minutes."""
        (first,) = db.execute(_FIRST).fetchone()
        if first != self._first:
            self._first, self._blocks = first, {}
        last = db.execute("SELECT max(seq) FROM journal").fetchone()[0] or 0
        low, high = -(-(after + 1) // _BLOCK), min(before, last + 1) // _BLOCK
        if high <= low:
            return count_endings(db, after, before, width, "")
        self._count(db, low, high)
        found: Counter[tuple[int, str]] = Counter()
        _gather(found, width, (ending for block in range(low, high) for ending in self._blocks[block]))
        _gather(found, width, count_endings(db, after, low * _BLOCK, MINUTE, ""))
        _gather(found, width, count_endings(db, high * _BLOCK - 1, before, MINUTE, ""))
        return [Ending(at, outcome, calls) for (at, outcome), calls in sorted(found.items())]

    def _count(self, db: sqlite3.Connection, low: int, high: int) -> None:
        """Count the blocks that were not counted yet, all in one pass."""
        new = [block for block in range(low, high) if block not in self._blocks]
        if not new:
            return
        counted: dict[int, list[Ending]] = {block: [] for block in range(new[0], new[-1] + 1)}
        for block, at, outcome, calls in db.execute(_BLOCKS, [new[0] * _BLOCK, (new[-1] + 1) * _BLOCK]):
            counted[block].append(Ending(at, outcome, calls))
        self._blocks |= counted


def _gather(found: Counter[tuple[int, str]], width: int, endings: Iterable[Ending]) -> None:
    for ending in endings:
        found[ending.at // width * width, ending.outcome] += ending.calls


def count_endings(db: sqlite3.Connection, after: int, before: int, width: int, tool: str) -> list[Ending]:
    """How calls ended in rows between two numbers, of one tool or of all."""
    tests, values = ["seq > ?", "seq < ?", f"kind IN ({_LAST_KINDS})"], list[Any]([after, before])
    add(tests, values, of_tool(tool))
    question = (
        f"SELECT at / ? * ?, outcome, count(*) FROM journal WHERE {' AND '.join(tests)} GROUP BY 1, 2 ORDER BY 1, 2"
    )
    return [Ending(*row) for row in db.execute(question, [width, width, *values])]


def of_tool(tool: str) -> tuple[str, list[Any]]:
    """A test for rows of a tool: its id, or the end of it after a dot."""
    if not tool:
        return "", []
    return "(tool = ? OR substr(tool, ?) = ?)", [tool, -len(tool) - 1, f".{tool}"]


def add(tests: list[str], values: list[Any], more: tuple[str, list[Any]]) -> None:
    """Add a test and its values, if there is one."""
    if more[0]:
        tests.append(more[0])
        values += more[1]

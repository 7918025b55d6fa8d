"""Rebuilds the derived tables from the rows' marks, and compares them with the stored ones.

Open calls and switches are few and stay in memory. Keys and counters may be many: they go to a scratch database,
which spills to a temporary file that is gone when it is closed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import starmap
from typing import Any

import msgspec

from ferrule.contracts.ledger import KEY_COLUMNS, TABLES, RawRow, TableName
from ferrule.ledger.audit.findings import Findings
from ferrule.ledger.audit.histories import Anchor
from ferrule.ledger.tables import Tables
from ferrule.model.journal import KINDS, Mark, OpenCall

_decode_mark = msgspec.msgpack.Decoder(Mark).decode
_BATCH = 2_000
_SCRATCH = """
    CREATE TABLE idempotency (key BLOB PRIMARY KEY, call TEXT, input_digest BLOB, seq INTEGER) WITHOUT ROWID;
    CREATE TABLE runs (run TEXT, tool_id TEXT, used INTEGER, PRIMARY KEY (run, tool_id)) WITHOUT ROWID;
"""
_SET_KEY = "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?)"
_ADD_RUN = "INSERT INTO runs VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET used = used + excluded.used"


class TableReplay:
    """The expected tables after the rows fed so far. The store applies marks with the same code."""

    def __init__(self) -> None:
        self._tables = Tables()
        self._scratch = sqlite3.connect("", isolation_level=None)
        self._scratch.execute("PRAGMA synchronous = OFF")
        self._scratch.executescript(_SCRATCH)

    def close(self) -> None:
        """Closes the scratch database."""
        self._scratch.close()

    def begin(self, anchor: Anchor) -> None:
        """Starts from the state in a `pruned` row."""
        self._tables.open_calls = {entry[0]: OpenCall(*entry) for entry in anchor.open}
        self._tables.switches = dict(anchor.switches)
        self._scratch.executemany(_SET_KEY, anchor.keys)
        self._scratch.executemany(_ADD_RUN, anchor.runs)

    def feed(self, row: RawRow) -> None:
        """Applies the next row that has a mark."""
        tables = self._tables
        tables.apply_mark(KINDS[row.kind], row.call, row.seq, _decode_mark(row.mark))
        if len(tables.keys) >= _BATCH or len(tables.runs) >= _BATCH:
            self._spill()

    def rows(self, name: TableName) -> Iterable[tuple[Any, ...]]:
        """Returns the expected rows of a table, in the order of its key."""
        if name == "open_calls":
            calls = self._tables.open_calls
            return (msgspec.structs.astuple(calls[call]) for call in sorted(calls))
        if name == "switches":
            return iter(sorted(self._tables.switches.items()))
        self._spill()
        return self._scratch.execute(f"SELECT * FROM {name} ORDER BY {', '.join(TABLES[name][: KEY_COLUMNS[name]])}")

    def _spill(self) -> None:
        keys, runs = self._tables.keys, self._tables.runs
        self._scratch.execute("BEGIN")
        self._scratch.executemany(_SET_KEY, ((key, *holder) for key, holder in keys.items()))
        counters = ((run, tool, used) for run, tools in runs.items() for tool, used in tools.items())
        # These are the counts since the last spill, so they add up; a later key replaces an earlier one.
        self._scratch.executemany(_ADD_RUN, counters)
        self._scratch.execute("COMMIT")
        keys.clear()
        runs.clear()


def compare_table(
    name: TableName, wanted: Iterable[tuple[object, ...]], found: Iterable[tuple[object, ...]], findings: Findings
) -> None:
    """Reports every entry of a table that is missing, not backed by a row, or different. Both come in the key's
    order."""
    size, columns = KEY_COLUMNS[name], TABLES[name]
    for want, have in _pair_entries(wanted, found, size):
        if have is None:
            findings.add("table", f"{name} lacks the entry {_format_entry(columns, want)}, which the rows give")
        elif want is None:
            findings.add("table", f"{name} has the entry {_format_entry(columns, have)}, which no row gives")
        # SQLite would call 1 and 1.0 equal, and so does Python; their types tell a changed file.
        elif want != have or [*map(type, want)] != [*map(type, have)]:
            findings.add(
                "table", f"{name} has {_format_entry(columns, have)}, but the rows give {_format_entry(columns, want)}"
            )


def _pair_entries(
    wanted: Iterable[tuple[object, ...]], found: Iterable[tuple[object, ...]], size: int
) -> Iterator[tuple[tuple[object, ...] | None, tuple[object, ...] | None]]:
    left, right = iter(wanted), iter(found)
    want, have = next(left, None), next(right, None)
    while want is not None or have is not None:
        if have is None or (want is not None and want[:size] < have[:size]):
            yield want, None
            want = next(left, None)
        elif want is None or have[:size] < want[:size]:
            yield None, have
            have = next(right, None)
        else:
            yield want, have
            want, have = next(left, None), next(right, None)


def _format_entry(columns: tuple[str, ...], entry: tuple[object, ...] | None) -> str:
    return "(" + ", ".join(starmap(_format_value, zip(columns, entry or (), strict=False))) + ")"


def _format_value(column: str, value: object) -> str:
    return f"{column} {value.hex()[:16] if isinstance(value, bytes) else value!r}"

"""The few rows of the derived tables that a group of entries touches: fetched in one go, written back in one go.

A statement that gives or takes many rows at once keeps the interpreter's lock from changing hands for every one of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ferrule.ledger.tables import KeyRow, Tables
from ferrule.model.journal import Entry, OpenCall

_CALLS = """
    SELECT json_group_array(json_array(call, state, owner, tool_id, principal, agent, tenant, expires_at, seq))
    FROM open_calls WHERE call IN (SELECT value FROM json_each(?))
"""
_RUNS = """
    SELECT json_group_array(json_array(run, tool_id, used)) FROM runs WHERE run IN (SELECT value FROM json_each(?))
"""
_SWITCHES = "SELECT json_group_array(json_array(tool_id, seq)) FROM switches"
_KEYS = "SELECT json_group_array(json_array(hex(key), call, hex(input_digest), seq)) FROM idempotency WHERE key IN "
_LARGEST = 256
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[list[Any]]).decode


class Changes:
    """What a group's marks make of the tables, worked out in memory and written once."""

    def __init__(self) -> None:
        self.tables = Tables()
        self._calls: set[str] = set()
        self._keys: set[bytes] = set()
        self._runs: set[str] = set()
        self._switches: set[str] = set()

    def fetch(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
        """Read what is known about the calls, keys and runs of these entries, and what is off where one begins to run."""
        marks = [entry.mark for entry in entries if entry.mark is not None]
        self._fetch_calls(connection, {entry.call for entry in entries if entry.call})
        self._fetch_keys(connection, {mark.key for mark in marks if mark.key})
        self._fetch_runs(connection, {mark.counted_run for mark in marks if mark.counted_run})
        if any(mark.state == "running" for mark in marks):
            self.tables.switches.update((tool_id, seq) for tool_id, seq in _ask(connection, _SWITCHES))

    def follow(self, entry: Entry, seq: int) -> None:
        """Take in one row that is written."""
        mark = entry.mark
        if mark is None:
            return
        self.tables.follow(entry.kind, entry.call, seq, mark)
        if entry.call:
            self._calls.add(entry.call)
        if mark.key:
            self._keys.add(mark.key)
        if mark.counted_run:
            self._runs.add(mark.counted_run)
        if entry.kind == "switch":
            self._switches.add(mark.tool_id)

    def save(self, connection: sqlite3.Connection) -> None:
        """Write back what changed."""
        tables = self.tables
        calls = [msgspec.structs.astuple(call) for call in map(tables.open_calls.get, self._calls) if call is not None]
        insert(connection, "INSERT OR REPLACE INTO open_calls VALUES ", calls)
        _delete(connection, "open_calls WHERE call", (call for call in self._calls if call not in tables.open_calls))
        insert(
            connection, "INSERT OR REPLACE INTO idempotency VALUES ", [(key, *tables.keys[key]) for key in self._keys]
        )
        runs = [(run, tool, used) for run in self._runs for tool, used in tables.runs[run].items()]
        insert(connection, "INSERT OR REPLACE INTO runs VALUES ", runs)
        switches = [(tool, tables.switches[tool]) for tool in self._switches if tool in tables.switches]
        insert(connection, "INSERT OR REPLACE INTO switches VALUES ", switches)
        _delete(connection, "switches WHERE tool_id", (tool for tool in self._switches if tool not in tables.switches))

    def _fetch_calls(self, connection: sqlite3.Connection, calls: set[str]) -> None:
        for found in _ask(connection, _CALLS, _encode(calls).decode()) if calls else ():
            self.tables.open_calls[found[0]] = OpenCall(*found)

    def _fetch_runs(self, connection: sqlite3.Connection, runs: set[str]) -> None:
        for run, tool_id, used in _ask(connection, _RUNS, _encode(runs).decode()) if runs else ():
            self.tables.runs.setdefault(run, {})[tool_id] = used

    def _fetch_keys(self, connection: sqlite3.Connection, keys: set[bytes]) -> None:
        for some in _portions(sorted(keys)):
            for key, call, digest, seq in _ask(connection, f"{_KEYS}({_marks(len(some))})", *some):
                self.tables.keys[bytes.fromhex(key)] = KeyRow(call, bytes.fromhex(digest), seq)


def insert(connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows, many with one statement."""
    if rows:
        insert_flat(connection, statement, [value for row in rows for value in row], len(rows[0]))


def insert_flat(connection: sqlite3.Connection, statement: str, values: Sequence[Any], width: int) -> None:
    """Insert rows of `width` values each, given one after the other."""
    place = f"({_marks(width)})"
    for some in _portions(values, width):
        connection.execute(statement + ",".join([place] * (len(some) // width)), some)


def _delete(connection: sqlite3.Connection, where: str, names: Iterable[str]) -> None:
    for some in _portions(list(names)):
        connection.execute(f"DELETE FROM {where} IN ({_marks(len(some))})", some)


def _ask(connection: sqlite3.Connection, question: str, *values: Any) -> list[list[Any]]:
    return _decode(connection.execute(question, values).fetchone()[0])


def _marks(count: int) -> str:
    return ",".join("?" * count)


def _portions(values: Sequence[Any], width: int = 1) -> Iterable[Sequence[Any]]:
    """Parts of 256, 128, 64, … so that the statements are few and stay prepared."""
    start, size = 0, _LARGEST
    while start < len(values):
        while size * width > len(values) - start:
            size //= 2
        yield values[start : start + size * width]
        start += size * width

"""Writes one group of entries in one transaction: judges conditions, chains rows, updates the tables, signs the head.

It fetches the few rows of the derived tables that a group touches in one go, and writes them back in one go: a statement
that gives or takes many rows at once keeps the interpreter's lock from changing hands for every one of them.
`transaction` and `writer` stand above it. It does not know threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ferrule.contracts.store import ALWAYS, CommitCondition, Committed
from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.ledger.chain import SALT_BYTES
from ferrule.ledger.stores.entries import EMPTY, MALFORMED, TELLING_KINDS, Tail, chain_row, find_refusal
from ferrule.ledger.stores.sqlite.connection import INSERT_ROW, LedgerKeys, read_tail, write_head
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


class TableChanges:
    """The changes of a group's marks to the tables, computed in memory and written once."""

    def __init__(self) -> None:
        self.tables = Tables()
        self._calls: set[str] = set()
        self._keys: set[bytes] = set()
        self._runs: set[str] = set()
        self._switches: set[str] = set()

    def fetch(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
        """Reads the tables' rows about the calls, keys and runs of these entries, and the switches where one begins
        to run."""
        marks = [entry.mark for entry in entries if entry.mark is not None]
        self._fetch_calls(connection, {entry.call for entry in entries if entry.call})
        self._fetch_keys(connection, {mark.key for mark in marks if mark.key})
        self._fetch_runs(connection, {mark.counted_run for mark in marks if mark.counted_run})
        if any(mark.state == "running" for mark in marks):
            self.tables.switches.update((tool_id, seq) for tool_id, seq in _query(connection, _SWITCHES))

    def apply_entry(self, entry: Entry, seq: int) -> None:
        """Applies one row that is written."""
        mark = entry.mark
        if mark is None:
            return
        self.tables.apply_mark(entry.kind, entry.call, seq, mark)
        if entry.call:
            self._calls.add(entry.call)
        if mark.key:
            self._keys.add(mark.key)
        if mark.counted_run:
            self._runs.add(mark.counted_run)
        if entry.kind == "switch":
            self._switches.add(mark.tool_id)

    def save(self, connection: sqlite3.Connection) -> None:
        """Writes the changes back."""
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
        for found in _query(connection, _CALLS, _encode(calls).decode()) if calls else ():
            self.tables.open_calls[found[0]] = OpenCall(*found)

    def _fetch_runs(self, connection: sqlite3.Connection, runs: set[str]) -> None:
        for run, tool_id, used in _query(connection, _RUNS, _encode(runs).decode()) if runs else ():
            self.tables.runs.setdefault(run, {})[tool_id] = used

    def _fetch_keys(self, connection: sqlite3.Connection, keys: set[bytes]) -> None:
        for some in _split_portions(sorted(keys)):
            # JSON has no bytes: keys go in as parameters and come out in hex.
            for key, call, digest, seq in _query(connection, f"{_KEYS}({_make_placeholders(len(some))})", *some):
                self.tables.keys[bytes.fromhex(key)] = KeyRow(call, bytes.fromhex(digest), seq)


def insert(connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Inserts rows, many with one statement."""
    if rows:
        insert_flat(connection, statement, [value for row in rows for value in row], len(rows[0]))


def insert_flat(connection: sqlite3.Connection, statement: str, values: Sequence[object], width: int) -> None:
    """Inserts rows of `width` values each, given one after the other."""
    place = f"({_make_placeholders(width)})"
    for some in _split_portions(values, width):
        connection.execute(statement + ",".join([place] * (len(some) // width)), some)


def _delete(connection: sqlite3.Connection, where: str, names: Iterable[str]) -> None:
    for some in _split_portions(list(names)):
        connection.execute(f"DELETE FROM {where} IN ({_make_placeholders(len(some))})", some)


def _query(connection: sqlite3.Connection, question: str, *values: object) -> list[list[Any]]:
    return _decode(connection.execute(question, values).fetchone()[0])


def _make_placeholders(count: int) -> str:
    return ",".join("?" * count)


def _split_portions(values: Sequence[object], width: int = 1) -> Iterable[Sequence[object]]:
    """Yields parts of 256, 128, 64, … values, so that the statements are few and stay prepared."""
    start, size = 0, _LARGEST
    while start < len(values):
        while size * width > len(values) - start:
            size //= 2
        yield values[start : start + size * width]
        start += size * width


_WIDTH = 10

CommitAnswer = Committed | LedgerError | None


class CommitWaiter:
    """A caller that waits for an entry to be on disk; without an entry, for everything before."""

    __slots__ = ("condition", "entry", "future", "loop")

    def __init__(
        self, future: asyncio.Future[Any], entry: Entry | None = None, condition: CommitCondition = ALWAYS
    ) -> None:
        self.future = future
        self.loop = future.get_loop()
        self.entry = entry
        self.condition = condition


GroupItem = Entry | CommitWaiter


class Group:
    """One group of entries, with its outcome."""

    def __init__(self, items: Sequence[GroupItem]) -> None:
        self.items = items
        self.answers: list[tuple[CommitWaiter, CommitAnswer]] = []
        """The answers for the waiters, once the transaction is committed."""
        self.problems: list[str] = []
        """Recorded entries that can never be written."""
        self.first: tuple[int, bytes] | None = None
        """Number and hash of the first row: whether it is there tells whether the group is."""
        self.ledger = ""
        self.tail = EMPTY
        self.signature = b""
        self.is_telling = False
        self._changes = TableChanges()

    @property
    def unawaited_entries(self) -> list[Entry]:
        """The entries no caller waits for."""
        return [item for item in self.items if isinstance(item, Entry)]

    def write(self, connection: sqlite3.Connection, keys: LedgerKeys, known: Tail | None) -> bool:
        """Writes the group, within a transaction that has begun. Returns False when there is nothing to write. Raises
        sqlite3.Error."""
        self.ledger, self.tail = read_tail(connection, keys, known)
        self._changes.fetch(connection, [entry for entry in map(_find_judged_entry, self.items) if entry is not None])
        values = self._chain_rows()
        if not values:
            return False
        self.first = (values[0], values[_WIDTH - 1])
        insert_flat(connection, INSERT_ROW, values, _WIDTH)
        self._changes.save(connection)
        self.signature = write_head(connection, keys, self.ledger, self.tail)
        return True

    def _chain_rows(self) -> list[Any]:
        """Returns the columns of all rows, one after the other. The hot loop: each row here is a call."""
        values: list[Any] = []
        seq, before, at = self.tail
        for item, salt in zip(self.items, _make_salts(len(self.items)), strict=True):
            entry = item if isinstance(item, Entry) else self._judge(item)
            if entry is None:
                continue
            try:
                row = chain_row(entry, seq + 1, before, at, salt)
            except MALFORMED as error:
                self._reject(item, entry, error)
                continue
            seq, at, before = row[0], row[3], row[9]
            values += row
            if entry.mark is not None or entry.kind in TELLING_KINDS:
                self._apply_entry(entry, seq)
            if isinstance(item, CommitWaiter):
                self.answers.append((item, Committed("written", seq)))
        self.tail = Tail(seq, before, at)
        return values

    def _judge(self, waiting: CommitWaiter) -> Entry | None:
        """Returns the entry, if its condition holds."""
        entry = waiting.entry
        if entry is None:
            self.answers.append((waiting, None))
            return None
        # Conditions judged here need the rows that `_find_judged_entry` asks for; the two have to agree.
        refused = None if waiting.condition is ALWAYS else find_refusal(self._changes.tables, entry, waiting.condition)
        if refused is not None:
            self.answers.append((waiting, refused))
            return None
        return entry

    def _apply_entry(self, entry: Entry, seq: int) -> None:
        self._changes.apply_entry(entry, seq)
        if entry.kind in TELLING_KINDS:
            self.is_telling = True

    def _reject(self, item: GroupItem, entry: Entry, error: Exception) -> None:
        problem = f"the {entry.kind!r} row of call {entry.call!r} cannot be stored: {error}"
        self.problems.append(problem)
        if isinstance(item, CommitWaiter):
            self.answers.append((item, LedgerUnavailable(problem)))


def _find_judged_entry(item: GroupItem) -> Entry | None:
    """Returns the item's entry, if the tables matter to it."""
    if isinstance(item, Entry):
        return None if item.mark is None else item
    is_plain = item.entry is None or (item.entry.mark is None and item.condition is ALWAYS)
    return None if is_plain else item.entry


def _make_salts(count: int) -> list[bytes]:
    # One system call for the whole group.
    random = os.urandom(SALT_BYTES * count)
    return [random[start : start + SALT_BYTES] for start in range(0, len(random), SALT_BYTES)]


def answer_waiters(answers: Sequence[tuple[CommitWaiter, CommitAnswer]]) -> None:
    """Answers those who wait: calls each event loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], CommitAnswer]]] = {}
    for waiting, answer in answers:
        loops.setdefault(waiting.loop, []).append((waiting.future, answer))
    for loop, pairs in loops.items():
        with contextlib.suppress(RuntimeError):  # that loop was closed, so no caller waits any more
            loop.call_soon_threadsafe(_resolve_futures, pairs)


def _resolve_futures(pairs: list[tuple[asyncio.Future[Any], CommitAnswer]]) -> None:
    for future, answer in pairs:
        if future.done():
            continue
        if isinstance(answer, LedgerError):
            future.set_exception(type(answer)(*answer.args))  # each waiter its own, for its own traceback
        else:
            future.set_result(answer)

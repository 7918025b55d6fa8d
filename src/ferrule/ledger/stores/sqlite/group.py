"""One group of entries in one transaction: conditions judged, rows chained, tables brought up to date, the head signed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Sequence
from typing import Any

from ferrule.contracts.store import ALWAYS, Committed, Condition
from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.ledger.chain import SALT_BYTES
from ferrule.ledger.stores.conditions import refusal
from ferrule.ledger.stores.rows import EMPTY, MALFORMED, TELLING_KINDS, Tail, chained
from ferrule.ledger.stores.sqlite.connection import INSERT_ROW, Keys, read_tail, write_head
from ferrule.ledger.stores.sqlite.tables import Changes, insert_flat
from ferrule.model.journal import Entry

_WIDTH = 10

Answer = Committed | LedgerError | None


class Waiting:
    """Somebody who waits for an entry to be on disk; without an entry, for everything before."""

    __slots__ = ("condition", "entry", "future", "loop")

    def __init__(self, future: asyncio.Future[Any], entry: Entry | None = None, condition: Condition = ALWAYS) -> None:
        self.future = future
        self.loop = future.get_loop()
        self.entry = entry
        self.condition = condition


Item = Entry | Waiting


class Group:
    """A group on its way: what it holds, and what came of it."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.answers: list[tuple[Waiting, Answer]] = []
        """What to tell those who wait, once the transaction is through."""
        self.problems: list[str] = []
        """Recorded entries that can never be written."""
        self.first: tuple[int, bytes] | None = None
        """Number and hash of the first row: whether it is there tells whether the group is."""
        self.ledger = ""
        self.tail = EMPTY
        self.signature = b""
        self.is_telling = False
        self._changes = Changes()

    @property
    def recorded(self) -> list[Entry]:
        """The entries nobody waits for."""
        return [item for item in self.items if isinstance(item, Entry)]

    def write(self, connection: sqlite3.Connection, keys: Keys, known: Tail | None) -> bool:
        """Write it, within a transaction that has begun. False when there is nothing to write. Raises sqlite3.Error."""
        self.ledger, self.tail = read_tail(connection, keys, known)
        self._changes.fetch(connection, [entry for entry in map(_judged, self.items) if entry is not None])
        values = self._chained()
        if not values:
            return False
        self.first = (values[0], values[_WIDTH - 1])
        insert_flat(connection, INSERT_ROW, values, _WIDTH)
        self._changes.save(connection)
        self.signature = write_head(connection, keys, self.ledger, self.tail)
        return True

    def _chained(self) -> list[Any]:
        """The columns of all rows, one after the other. The hot loop: a row here is a call somewhere."""
        values: list[Any] = []
        seq, before, at = self.tail
        for item, salt in zip(self.items, _salts(len(self.items)), strict=True):
            entry = item if isinstance(item, Entry) else self._allowed(item)
            if entry is None:
                continue
            try:
                row = chained(entry, seq + 1, before, at, salt)
            except MALFORMED as error:
                self._reject(item, entry, error)
                continue
            seq, at, before = row[0], row[3], row[9]
            values += row
            if entry.mark is not None or entry.kind in TELLING_KINDS:
                self._follow(entry, seq)
            if isinstance(item, Waiting):
                self.answers.append((item, Committed("written", seq)))
        self.tail = Tail(seq, before, at)
        return values

    def _allowed(self, waiting: Waiting) -> Entry | None:
        """The entry, if its condition holds."""
        entry = waiting.entry
        if entry is None:
            self.answers.append((waiting, None))
            return None
        refused = None if waiting.condition is ALWAYS else refusal(self._changes.tables, entry, waiting.condition)
        if refused is not None:
            self.answers.append((waiting, refused))
            return None
        return entry

    def _follow(self, entry: Entry, seq: int) -> None:
        self._changes.follow(entry, seq)
        if entry.kind in TELLING_KINDS:
            self.is_telling = True

    def _reject(self, item: Item, entry: Entry, error: Exception) -> None:
        problem = f"the {entry.kind!r} row of call {entry.call!r} cannot be stored: {error}"
        self.problems.append(problem)
        if isinstance(item, Waiting):
            self.answers.append((item, LedgerUnavailable(problem)))


def _judged(item: Item) -> Entry | None:
    """The item's entry, if the tables matter to it."""
    if isinstance(item, Entry):
        return None if item.mark is None else item
    is_plain = item.entry is None or (item.entry.mark is None and item.condition is ALWAYS)
    return None if is_plain else item.entry


def _salts(count: int) -> list[bytes]:
    random = os.urandom(SALT_BYTES * count)
    return [random[start : start + SALT_BYTES] for start in range(0, len(random), SALT_BYTES)]


def hand_out(answers: Sequence[tuple[Waiting, Answer]]) -> None:
    """Wake those who wait: each event loop is called once."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Answer]]] = {}
    for waiting, answer in answers:
        loops.setdefault(waiting.loop, []).append((waiting.future, answer))
    for loop, pairs in loops.items():
        with contextlib.suppress(RuntimeError):  # that loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_resolve, pairs)


def _resolve(pairs: list[tuple[asyncio.Future[Any], Answer]]) -> None:
    for future, answer in pairs:
        if future.done():
            continue
        if isinstance(answer, LedgerError):
            future.set_exception(type(answer)(*answer.args))  # each waiter its own, for its own traceback
        else:
            future.set_result(answer)

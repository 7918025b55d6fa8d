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
from ferrule.model.chain import SALT_BYTES
from ferrule.model.journal import Entry
from ferrule.stores.conditions import refusal
from ferrule.stores.rows import EMPTY, MALFORMED, TELLING_KINDS, Row, Tail, chained
from ferrule.stores.sqlite.connection import INSERT_ROW, Keys, read_tail, write_head
from ferrule.stores.sqlite.tables import Changes, insert_flat

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
        self._values: list[Any] = []
        self._changes = Changes()

    @property
    def recorded(self) -> list[Entry]:
        """The entries nobody waits for."""
        return [item for item in self.items if type(item) is Entry]

    @property
    def waiting(self) -> list[Waiting]:
        """Those who wait."""
        return [item for item in self.items if type(item) is Waiting]

    def write(self, connection: sqlite3.Connection, keys: Keys, known: Tail | None) -> bool:
        """Write it, within a transaction that has begun. False when there is nothing to write. Raises sqlite3.Error."""
        self.ledger, self.tail = read_tail(connection, keys, known)
        self._changes.fetch(connection, [entry for entry in map(_judged, self.items) if entry is not None])
        self._chain()
        if self.first is None:
            return False
        insert_flat(connection, INSERT_ROW, self._values, _WIDTH)
        self._values.clear()
        self._changes.save(connection)
        self.signature = write_head(connection, keys, self.ledger, self.tail)
        return True

    def _chain(self) -> None:
        salts = os.urandom(SALT_BYTES * len(self.items))
        for number, item in enumerate(self.items):
            salt = salts[number * SALT_BYTES : (number + 1) * SALT_BYTES]
            if type(item) is Entry:
                self._take(item, salt)
            else:
                self._answer(item, salt)  # type: ignore[arg-type]  # the type is exact, so it is the other one

    def _answer(self, waiting: Waiting, salt: bytes) -> None:
        entry = waiting.entry
        if entry is None:
            self.answers.append((waiting, None))
            return
        answer: Answer = refusal(self._changes.tables, entry, waiting.condition)
        if answer is None:
            problem = self._take(entry, salt)
            answer = LedgerUnavailable(problem) if problem else Committed("written", self.tail.seq)
        self.answers.append((waiting, answer))

    def _take(self, entry: Entry, salt: bytes) -> str:
        """Append an entry; gives what is wrong with it when it cannot be stored."""
        tail = self.tail
        try:
            row = chained(entry, tail.seq + 1, tail.hash, tail.at, salt)
        except MALFORMED as error:
            problem = f"the {entry.kind!r} row of call {entry.call!r} cannot be stored: {error}"
            self.problems.append(problem)
            return problem
        self._values += row
        self._advance(entry, row)
        return ""

    def _advance(self, entry: Entry, row: Row) -> None:
        self.tail = Tail(row[0], row[9], row[3])
        if self.first is None:
            self.first = (row[0], row[9])
        if entry.mark is not None:
            self._changes.follow(entry, row[0])
        if entry.kind in TELLING_KINDS:
            self.is_telling = True


def _judged(item: Item) -> Entry | None:
    """The item's entry, if the tables matter to it."""
    if type(item) is Waiting:
        return item.entry
    return item if type(item) is Entry and item.mark is not None else None


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

"""The embedded ledger, measured: what a recorded row costs, and how durable commits compare with a bare group commit.

Plain functions that give numbers. `floor` is the same group commit without a ledger: rows of the same size in a table
with one index, the same settings of SQLite, one thread, nothing chained, judged or signed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.model.journal import Entry, Header, Mark, Payload, Segment, encode
from ferrule.stores.sqlite.store import SqliteStore

_START = 1_767_225_600_000_000
_HEADER = msgspec.Raw(
    encode(
        Header(
            tool_id="demo.add",
            tool_name="add",
            tool_version="1.0.0",
            tool_digest="sha256:" + "a" * 64,
            namespace="demo",
            surface_id="surface_" + "b" * 16,
            catalog_digest="sha256:" + "c" * 64,
            policy_digest="sha256:" + "d" * 64,
            principal="alice",
            agent="support-agent",
            channel="python",
            tenant="default",
            run_id="run_" + "e" * 16,
            dialect="aml",
            is_read_only=True,
        )
    )
)


class RecordCost(NamedTuple):
    """What recorded rows cost, in microseconds each."""

    caller: float
    """On the thread that makes the call."""
    process: float
    """Processor time of the whole process."""


def entry(number: int, mark: Mark | None = None) -> Entry:
    """A row as a governed call of a small tool writes it."""
    at = _START + number
    segment = Segment(_HEADER, at, [step * 700 << 4 | step for step in range(13)], [step << 15 | step for step in range(7)])
    segment.status = "ok"
    payload = Payload(b'{"a":1,"b":2}', result=b"x" * 48)
    return Entry("call", f"inv_{at:015x}{number * 7919 % 2**36:09x}", at, "demo.add", "succeeded", segment, payload, mark)


async def record_cost(path: Path, rows: int) -> RecordCost:
    """Record rows as fast as the ledger takes them, and wait until all are on disk."""
    async with opened(path) as store:
        first = store.high_water() - _START + 1
        entries = [entry(max(first, 0) + number) for number in range(rows)]
        gc.collect()
        gc.freeze()  # the entries made beforehand are not part of the work
        before, own = time.process_time(), time.thread_time()
        for number, each in enumerate(entries):
            store.record(each)
            if number % 500 == 0:
                await asyncio.sleep(0)
        own = time.thread_time() - own
        await store.flush()
        gc.unfreeze()
        return RecordCost(own / rows * 1e6, (time.process_time() - before) / rows * 1e6)


async def durable_rate(path: Path, waiting: int, seconds: float = 1.0) -> float:
    """Durable rows a second while so many callers wait, each for its own row."""
    async with opened(path) as store:
        done = 0
        until = time.perf_counter() + seconds
        numbers = iter(range(10**9))

        async def caller() -> None:
            nonlocal done
            while time.perf_counter() < until:
                await store.commit(entry(next(numbers)))
                done += 1

        began = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(waiting)))
        return done / (time.perf_counter() - began)


def floor_rate(path: Path, waiting: int, seconds: float = 1.0) -> float:
    """Rows a second of a bare group commit: groups of so many rows, each group brought to the disk."""
    connection = _bare(path)
    body, payload = encode(entry(0).body), bytes(80)
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        numbers = range(done + 1, done + waiting + 1)
        rows = [(number, f"inv_{number:024x}", _START + number, body, payload, bytes(32)) for number in numbers]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
        done += waiting
    rate = done / (time.perf_counter() - began)
    connection.close()
    return rate


async def cost_at(path: Path, rows: int, sample: int = 20_000) -> RecordCost:
    """What a row costs once there are so many."""
    async with opened(path) as store:
        have = (await store.rows_before(None, 1))[0].seq
        for number in range(have, rows):
            store.record(entry(number))
            if number % 500 == 0:
                await asyncio.sleep(0)
    return await record_cost(path, sample)


def resident_megabytes() -> float:
    """The most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)


@contextlib.asynccontextmanager
async def opened(path: Path):  # type: ignore[no-untyped-def]
    """A ledger, closed afterwards."""
    store = SqliteStore(path, _KEY)
    await store.open()
    try:
        yield store
    finally:
        await store.aclose()


def _bare(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("page_size = 8192", "journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 2000"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(
        "CREATE TABLE journal (seq INTEGER PRIMARY KEY, call TEXT, at INTEGER, body BLOB, payload BLOB, hash BLOB)"
    )
    connection.execute("CREATE INDEX journal_call ON journal (call)")
    return connection


_KEY = Ed25519PrivateKey.generate()


def main() -> None:
    """Print the numbers: `python -m bench.ledger [rows]`."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        _print_all(Path(folder), rows)


def _print_all(folder: Path, rows: int) -> None:
    small = asyncio.run(cost_at(folder / "a", 1000))
    memory = resident_megabytes()
    print(f"a recorded row at 1,000 rows: caller {small.caller:.2f} us, process {small.process:.2f} us")
    large = asyncio.run(cost_at(folder / "a", rows))
    print(f"a recorded row at {rows:,} rows: caller {large.caller:.2f} us, process {large.process:.2f} us")
    print(f"memory {memory:.1f} MB, then {resident_megabytes():.1f} MB")
    for waiting in (1, 32, 64, 256):
        floor = floor_rate(folder / f"floor{waiting}", waiting)
        ours = asyncio.run(durable_rate(folder / f"ours{waiting}", waiting))
        print(f"{waiting} waiting: {ours:,.0f} rows/s durable; floor {floor:,.0f} ({ours / floor:.2f})")


if __name__ == "__main__":
    main()

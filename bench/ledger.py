"""The embedded ledger, measured: what a recorded row costs, and how durable commits compare with a bare group commit.

Plain functions that give numbers. `floor` is the same group commit without a ledger: rows of the same size in a table
with one index, the same settings of SQLite, one thread, nothing chained, judged or signed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import sqlite3
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.store import CommitCondition
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.journal import Entry, Header, Mark, Payload, Segment, encode

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
    segment = Segment(
        _HEADER, at, [step * 700 << 4 | step for step in range(13)], [step << 15 | step for step in range(7)]
    )
    segment.status = "ok"
    payload = Payload(b'{"a":1,"b":2}', result=b"x" * 48)
    return Entry(
        "call", f"inv_{at:015x}{number * 7919 % 2**36:09x}", at, "demo.add", "succeeded", segment, payload, mark
    )


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


async def durable_rate(path: Path, waiting: int, rows: int = 40_000) -> float:
    """Durable rows a second while so many callers wait, each for its own row."""
    async with opened(path) as store:
        entries = iter([entry(number) for number in range(rows)])

        async def caller() -> None:
            for each in entries:
                await store.commit(each)

        began = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(waiting)))
        return rows / (time.perf_counter() - began)


async def action_rate(path: Path, waiting: int, actions: int = 10_000) -> float:
    """Actions a second: each is claimed (a key, a counter, an open call), then ended, both durable and conditional."""
    async with opened(path) as store:
        numbers = iter(range(actions))
        free, mine = CommitCondition(states=frozenset(), key_is_free=True), CommitCondition(owner=store.instance)

        async def caller() -> None:
            for number in numbers:
                key = number.to_bytes(16, "big")
                start = Mark("running", store.instance, tool_id="demo.add", key=key, counted_run="run")
                first, last = entry(number, start), entry(number, Mark(tool_id="demo.add"))
                await store.commit(first, free)
                await store.commit(last, mine)

        began = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(waiting)))
        return actions / (time.perf_counter() - began)


def floor_rate(path: Path, waiting: int, rows: int = 40_000) -> float:
    """Rows a second of a bare group commit in a loop: groups of so many rows, nobody waiting for an answer."""
    connection = _bare(path)
    began = time.perf_counter()
    for start in range(0, rows, waiting):
        _write_bare(connection, range(start + 1, start + waiting + 1))
    rate = rows / (time.perf_counter() - began)
    connection.close()
    return rate


async def waiting_floor_rate(path: Path, waiting: int, rows: int = 40_000) -> float:
    """The same bare group commit in a thread, while so many tasks each wait for their own row."""
    connection, loop = _bare(path), asyncio.get_running_loop()
    numbers, queue = iter(range(1, rows + 1)), deque[tuple[int, asyncio.Future[None]]]()
    wake = threading.Semaphore(0)

    def write() -> None:
        while True:
            wake.acquire()
            group = [queue.popleft() for _ in range(len(queue))]
            if group and group[-1][0] < 0:
                return
            if group:
                _write_bare(connection, [number for number, _ in group])
                loop.call_soon_threadsafe(_resolve, group)

    async def caller() -> None:
        for number in numbers:
            future = loop.create_future()
            queue.append((number, future))
            if len(queue) == 1:
                wake.release()
            await future

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    began = time.perf_counter()
    await asyncio.wait_for(asyncio.gather(*(caller() for _ in range(waiting))), 60)
    rate = rows / (time.perf_counter() - began)
    queue.append((-1, loop.create_future()))
    wake.release()
    thread.join()
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
async def opened(path: Path) -> AsyncIterator[SqliteStore]:
    """A ledger, closed afterwards."""
    store = SqliteStore(path, _KEY)
    await store.open()
    try:
        yield store
    finally:
        await store.aclose()


def _bare(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in ("page_size = 8192", "journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 2000"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(
        "CREATE TABLE journal (seq INTEGER PRIMARY KEY, call TEXT, at INTEGER, body BLOB, payload BLOB, hash BLOB)"
    )
    connection.execute("CREATE INDEX journal_call ON journal (call)")
    return connection


def _resolve(group: list[tuple[int, asyncio.Future[None]]]) -> None:
    for _, future in group:
        future.set_result(None)


def _write_bare(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    rows = [(number, f"inv_{number:024x}", _START + number, _BODY, bytes(80), bytes(32)) for number in numbers]
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.execute("COMMIT")


_BODY = encode(entry(0).body)
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
        count = 2000 if waiting == 1 else 40_000
        bare = floor_rate(folder / f"bare{waiting}", waiting, count)
        floor = asyncio.run(waiting_floor_rate(folder / f"floor{waiting}", waiting, count))
        ours = asyncio.run(durable_rate(folder / f"ours{waiting}", waiting, count))
        actions = asyncio.run(action_rate(folder / f"actions{waiting}", waiting, count // 4))
        print(
            f"{waiting} waiting: {ours:,.0f} rows/s durable, {actions:,.0f} actions/s; "
            f"floor with waiting tasks {floor:,.0f} ({ours / floor:.2f}), in a bare loop {bare:,.0f} ({ours / bare:.2f})"
        )


if __name__ == "__main__":
    main()

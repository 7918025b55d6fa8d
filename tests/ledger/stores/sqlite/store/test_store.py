"""The embedded ledger: its file, what it refuses, and how it goes on when the disk does not."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.store import Condition
from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.ledger.stores.sqlite import connection as connection_module
from ferrule.ledger.stores.sqlite import schema
from ferrule.ledger.stores.sqlite.reader import CANCEL_REQUESTS
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.stores.sqlite.transaction import Transactions
from ferrule.ledger.stores.sqlite.writer import QUEUE_LIMIT
from ferrule.model.journal import Entry, Mark
from tests import ROOT
from tests.ledger.stores.making import AT, check_file, entry, news, running
from tests.ledger.stores.processes import MUST_RUN

KEY = Ed25519PrivateKey.generate()
WAIT = 20.0


@asynccontextmanager
async def opened(path: Path, **settings: Any) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, settings.pop("key", KEY), **settings)
    await store.open()
    try:
        yield store
    finally:
        await store.aclose()


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(story(), WAIT)

    asyncio.run(bounded())


def make(path: Path, *calls: str) -> None:
    """A ledger with a row for each call."""

    async def story() -> None:
        async with opened(path) as store:
            for call in calls:
                await store.commit(entry(call))

    run(story)


def refused(path: Path, message: str, **settings: Any) -> None:
    async def story() -> None:
        with pytest.raises(LedgerError, match=message):
            async with opened(path, **settings):
                pass

    run(story)


def change(path: Path, *statements: str) -> None:
    """Write to the file behind the ledger's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


async def until_written(store: SqliteStore, call: str) -> None:
    """Try until it works; the test's own time limit ends it otherwise."""
    while True:
        try:
            await store.commit(entry(call))
            return
        except LedgerUnavailable:
            await asyncio.sleep(0.02)


def test_only_its_owner_can_read_what_belongs_to_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.db"

    async def story() -> None:
        async with opened(path) as store:
            await store.commit(entry("a"))
            for each in path.parent.iterdir():
                assert stat.S_IMODE(each.stat().st_mode) & 0o077 == 0, each

    run(story)
    assert sorted(each.name for each in path.parent.iterdir()) == ["instances", "ledger.db", "ledger.db.bell"]
    assert list((path.parent / "instances").iterdir()) == []


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"something else entirely, and long enough to look like a header" * 20)
    refused(path, "damaged or not a ledger.*restore a backup")
    assert path.read_bytes().startswith(b"something else")


def test_a_damaged_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make(path, "a")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + os.urandom(len(whole) - 100))
    refused(path, "ledger")


def test_an_sqlite_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE mine (x)")
    refused(path, "something else")


def test_a_newer_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make(path)
    change(path, "PRAGMA user_version = 99")
    refused(path, "newer Ferrule.*upgrade")


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(tmp_path / "file" / "ledger.db", "cannot be opened")


def test_an_older_ledger_is_brought_up_to_date_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    make(path, "a")
    newer = (*schema.MIGRATIONS, ("CREATE TABLE later (x INTEGER) STRICT",))
    monkeypatch.setattr(connection_module, "MIGRATIONS", newer)

    async def story() -> None:
        for _ in range(2):
            async with opened(path) as store:
                rows = await store.rows_after(0)
                assert [(row.kind, row.outcome) for row in rows] == [
                    ("opened", "created"), ("call", "succeeded"), ("opened", "migrated"),
                ]  # fmt: skip
                assert rows[2].facts()["schema_version"] == len(newer)
                assert rows[2].facts()["ledger"] == rows[0].facts()["ledger"]

    run(story)
    check_file(path)


def test_a_ledger_of_the_first_version_learns_to_find_requests_to_cancel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    with monkeypatch.context() as old:
        old.setattr(connection_module, "MIGRATIONS", schema.MIGRATIONS[:1])
        make(path, "a")

    async def story() -> None:
        async with opened(path) as store:
            assert [row.outcome for row in await store.rows_before(None, kinds=("opened",))] == ["migrated", "created"]
            await store.commit(news("a", "cancel_requested"))
            assert [row.call for row in await store.cancel_requests(0)] == ["a"]

    run(story)
    assert check_file(path) == ["", "a", "", "a"]


def test_requests_to_cancel_are_found_without_looking_at_other_rows(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make(path, "a")
    connection = sqlite3.connect(path)
    plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM journal {CANCEL_REQUESTS}", (0,)).fetchall()
    connection.close()
    assert [row[-1] for row in plan] == ["SEARCH journal USING INDEX journal_cancel_requests (seq>?)"]


def test_the_last_row_of_a_rare_kind_is_found_without_looking_at_other_rows(tmp_path: Path) -> None:
    """However many calls a ledger has, opening it takes as long."""
    path = tmp_path / "ledger.db"
    make(path, "a")
    asked: list[str] = []

    async def story() -> None:
        async with opened(path) as store:
            await store.commit(entry("", kind="policy"))
            store._reader._connected().set_trace_callback(asked.append)
            (found,) = await store.rows_before(None, 1, kinds=("policy",))
            assert found.kind == "policy"
            assert [row.kind for row in await store.rows_before(None, kinds=("opened", "policy"))] == [
                "policy",
                "opened",
            ]
            assert [row.kind for row in await store.rows_before(None, kinds=("call", "policy"))] == ["policy", "call"]

    run(story)
    connection = sqlite3.connect(path)
    plans = [connection.execute(f"EXPLAIN QUERY PLAN {question}").fetchall() for question in asked]
    connection.close()
    indexes = ["journal_kinds" in str(plan) for plan in plans]
    assert indexes == [True, True, False]


def test_rows_cut_off_the_end_are_noticed_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make(path, "a", "b")
    change(path, "DELETE FROM journal WHERE seq = 3")
    refused(path, "audit verify")


def test_rows_cut_off_while_it_is_open_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with opened(path) as store:
            await store.commit(entry("a"))
            change(path, "DELETE FROM journal WHERE seq = 2")
            with pytest.raises(LedgerUnavailable, match="audit verify"):
                await store.commit(entry("b"))

    run(story)
    transactions = Transactions(path, connection_module.connect(path), connection_module.Keys(KEY))
    with pytest.raises(LedgerError, match="audit verify"):
        transactions.probe()
    transactions.disconnect()


def test_a_head_signed_with_another_key_is_refused_unless_it_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make(path, "a")
    new_key = Ed25519PrivateKey.generate()
    refused(path, "the right key", key=new_key)

    async def story() -> None:
        async with opened(path, key=new_key, trusted=(KEY.public_key(),)) as store:
            await store.commit(entry("b"))

    run(story)
    refused(path, "the right key")


def test_a_ledger_deleted_while_it_is_open_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with opened(path) as store:
            await store.commit(entry("a"))
            path.rename(tmp_path / "away")
            with pytest.raises(LedgerUnavailable):
                await store.commit(entry("b"))
            (tmp_path / "away").rename(path)
            await until_written(store, "c")

    run(story)
    assert check_file(path) == ["", "a", "c"]


def test_another_writer_is_waited_for_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_BUSY_SECONDS", 0.1)
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with opened(path, behind_seconds=0.01) as store:
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            store.record(entry("a"))
            with pytest.raises(LedgerUnavailable, match="locked"):
                await store.commit(entry("b"))
            with pytest.raises(LedgerUnavailable):
                store.record(entry("c"))
            other.execute("ROLLBACK")
            other.close()
            await until_written(store, "d")
            assert "the ledger can be written again" in store.problems

    run(story)
    assert check_file(path) == ["", "a", "d"]


def test_rows_that_cannot_be_written_are_counted_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_BUSY_SECONDS", 0.02)
    path = tmp_path / "ledger.db"

    async def story() -> None:
        store = SqliteStore(path, KEY, behind_seconds=5.0)
        await store.open()
        store.record(entry("a"))
        store.record(entry("b"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="2 recorded rows"):
            await store.aclose()
        other.close()

    run(story)
    assert check_file(path) == [""]


def test_a_queue_that_is_full_makes_the_caller_wait_instead_of_growing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    rows = 3 * QUEUE_LIMIT

    async def story() -> None:
        async with opened(path) as store:
            for number in range(rows):
                store.record(entry(f"c{number}"))
                assert len(store._writer._queue) <= QUEUE_LIMIT

    run(story)
    assert len(check_file(path)) == rows + 1


def test_waiting_callers_share_commits(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with opened(path) as store:
            groups: list[int] = []
            store._writer._written = lambda group: groups.append(len(group.items))
            await asyncio.gather(*(store.commit(entry(f"c{number}")) for number in range(200)))
            assert sum(groups) == 200
            assert len(groups) < 50

    run(story)


def test_recorded_rows_wait_for_company_but_not_for_long(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "ledger.db", behind_seconds=0.1) as store:
            began = time.monotonic()
            for number in range(20):
                store.record(entry(f"c{number}"))
            assert await store.wait_after(20, timeout=WAIT)
            assert 0.05 < time.monotonic() - began < 1.0
            assert (await store.rows_before(None, 1))[0].seq == 21

    run(story)


def test_a_clock_that_is_set_back_does_not_turn_time_back(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    times = iter([AT + 9_000_000, AT])

    async def story() -> None:
        for _ in range(2):
            async with opened(path, clock=lambda: next(times)) as store:
                await store.commit(entry("a", at=AT))
                assert store.high_water() == AT + 9_000_000

    run(story)
    check_file(path)


def test_what_a_forgetful_process_recorded_is_written_when_it_ends(tmp_path: Path) -> None:
    script = tmp_path / "forgetful.py"
    script.write_text(
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey\n"
        "from ferrule.ledger.stores.sqlite.store import SqliteStore\n"
        "from tests.ledger.stores.making import entry\n"
        "async def main():\n"
        "    store = SqliteStore(Path(sys.argv[1]), Ed25519PrivateKey.generate(), behind_seconds=30)\n"
        "    await store.open()\n"
        "    store.record(entry('a'))\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, str(script), str(tmp_path / "ledger.db")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, timeout=WAIT, env=environment, capture_output=True)
    assert done.stderr == b""
    assert check_file(tmp_path / "ledger.db") == ["", "a"]


@pytest.mark.parametrize(
    "bad",
    [
        entry("bad", Mark(counted_run="\ud800", tool_id="t")),
        entry("\ud800", Mark(state="running")),
        entry("bad", Mark(tool_id=None, state="running")),  # type: ignore[arg-type]  # the mistake under test
        entry("bad", at=2**70),
    ],
    ids=["run that is no text", "call that is no text", "mark without a tool", "time out of range"],
)
def test_an_entry_the_database_refuses_harms_no_other(tmp_path: Path, bad: Entry) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with opened(path) as store:
            entries = (running("a", "x"), bad, running("b", "x"))
            results = await asyncio.gather(*map(store.commit, entries), return_exceptions=True)
            assert [isinstance(result, LedgerUnavailable) for result in results] == [False, True, False]
            store.record(bad)
            store.record(entry("c"))
            await store.flush()
            assert store.problems

    run(story)
    assert check_file(path) == ["", "a", "b", "c"]


def test_whoever_asks_after_closing_is_told_that_everything_changed(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "ledger.db") as store:
            before = store.high_water()
        assert store.generation() != store.generation()
        assert store.high_water() == before

    run(story)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    tried = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if tried.returncode:
        reason = "no file system can be mounted here"
        pytest.fail(reason) if MUST_RUN else pytest.skip(reason)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_and_survived(small_disk: Path) -> None:
    path = small_disk / "ledger.db"
    told: list[str] = []

    async def story() -> None:
        async with opened(path, behind_seconds=0.01) as store:
            ballast = small_disk / "ballast"
            ballast.write_bytes(bytes(1_200_000))
            await _fill(store, told)
            ballast.unlink()
            await until_written(store, "after")
            store.record(entry("recorded"))

    run(story)
    assert check_file(path) == ["", *told, "after", "recorded"]


async def _fill(store: SqliteStore, told: list[str]) -> None:
    """Write until the disk is full, then see that every way of writing says so."""
    with pytest.raises(LedgerUnavailable, match="full"):
        while True:
            call = f"c{len(told)}"
            await store.commit(entry(call, body={"text": "x" * 20_000}))
            told.append(call)
    with pytest.raises(LedgerUnavailable, match="full"):
        store.record(entry("refused"))
    with pytest.raises(LedgerUnavailable):
        await store.commit(running("refused too", store.instance), Condition(states=frozenset()))


def test_a_limit_on_the_files_size_is_told_and_survived(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with opened(path, behind_seconds=0.01) as store:
            connection = store._writer._transactions._connection
            assert connection is not None
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 2}")
            with pytest.raises(LedgerUnavailable, match="full"):
                await store.commit(entry("big", body={"text": "x" * 200_000}))
            await until_written(store, "small")

    run(story)
    assert check_file(path) == ["", "small"]

"""The ledger in a real process that is killed, or whose disk fails: nothing told is lost, nothing is told that is not so."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.tables import Tables
from ferrule.model.journal import KINDS, Mark
from tests.ledger.stores.entries import check_file, make_parked
from tests.ledger.stores.processes import WAIT, LedgerFolder, split_lines, strace

KILLS = int(os.environ.get("FERRULE_SOAK", "20"))


@pytest.fixture
def place(tmp_path: Path) -> LedgerFolder:
    return LedgerFolder(tmp_path)


def test_a_killed_process_loses_nothing_it_was_told(place: LedgerFolder) -> None:
    """Kill -9 at random moments, again and again on the same ledger (FERRULE_SOAK: how often)."""
    chance = random.Random(7)
    told: set[tuple[str, str]] = set()
    for number in range(KILLS):
        told.update(_killed(place, f"p{number}", chance.uniform(0.0, 0.12)))
        _check_told(place.ledger, told)
    assert sum(word == "ended" for word, _ in told) > KILLS


def test_a_call_is_taken_up_by_one_of_two_processes(place: LedgerFolder) -> None:
    _park(place, 40)
    children = [place.start("claim", f"p{number}") for number in range(2)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open -\n"
    answers = [split_lines(_released(child)) for child in children]
    won = [call for told in answers for word, call in told if word == "won"]
    assert sorted(won) == sorted(f"parked-{number}" for number in range(40))
    assert all(word != "lost" or call in won for told in answers for word, call in told)
    check_file(place.ledger)


@pytest.mark.parametrize(
    "inject",
    [
        "fdatasync:error=EIO:when=20",
        "fdatasync:error=EIO:when=20..32",
        "fdatasync:error=ENOSPC:when=11+9",
        "pwrite64:error=EIO:when=60..75",
        "pwrite64:error=ENOSPC:when=60..75",
        "pwrite64:error=EIO:when=31+17",
    ],
)
def test_a_failing_disk_is_told_truthfully(place: LedgerFolder, inject: str) -> None:
    place.run("fail", "before")
    told = place.run("fail", "sick", strace(inject))
    rows = check_file(place.ledger)
    words = {word for word, _ in told}
    assert words & {"unavailable", "unrecorded"}, "the disk was not felt to fail"
    for word, call in told:
        if word in ("written", "accepted"):
            assert rows.count(call) == 1, f"{call} was {word}"
        elif word in ("unavailable", "refused"):
            assert call not in rows, f"{call} was {word}"
        elif word == "unrecorded":
            assert rows.count(call) <= 1


@pytest.mark.parametrize("failures", ["12", "12..13"])
def test_a_row_that_is_said_not_to_be_there_does_not_come_back(place: LedgerFolder, failures: str) -> None:
    """A failed commit may leave its rows in the log; they must not return with the recovery after a crash."""
    place.run("fail", "before")
    with place.start("die", "sick", strace(f"fdatasync:error=EIO:when={failures}")) as child:
        told = split_lines(child.communicate(timeout=WAIT)[0])
    rows = check_file(place.ledger)
    words = dict(told)
    assert ("unavailable" in words) == (failures == "12")
    assert ("unrecorded" in words) == (failures == "12..13")
    assert words.get("unavailable") not in rows
    assert all(call in rows for word, call in told if word == "written")


def _killed(place: LedgerFolder, name: str, seconds: float) -> list[tuple[str, str]]:
    """What a child told before it was killed, some time after its first word."""
    with place.start("kill", name) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(seconds)  # the moment of death, not a wait for something
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read()
        child.wait(WAIT)
    return split_lines(first + rest)


def _check_told(path: Path, told: set[tuple[str, str]]) -> None:
    check_file(path)
    connection = sqlite3.connect(path)
    try:
        found = {(KINDS[kind], call) for kind, call in connection.execute("SELECT kind, call FROM journal")}
        assert {(word, call) for word, call in told if word in ("started", "ended")} <= found
        _check_tables(connection)
    finally:
        connection.close()


def _check_tables(connection: sqlite3.Connection) -> None:
    """The derived tables hold exactly what the marks give: no half of a group is there."""
    tables = Tables()
    for seq, kind, call, mark in connection.execute("SELECT seq, kind, call, mark FROM journal WHERE mark <> x''"):
        tables.apply_mark(KINDS[kind], call, seq, msgspec.msgpack.decode(mark, type=Mark))
    open_calls = dict(connection.execute("SELECT call, seq FROM open_calls").fetchall())
    assert open_calls == {call.call: call.seq for call in tables.open_calls.values()}
    keys = connection.execute("SELECT key, call, input_digest, seq FROM idempotency")
    assert {key: tuple(rest) for key, *rest in keys} == {key: tuple(row) for key, row in tables.keys.items()}
    used = connection.execute("SELECT run, tool_id, used FROM runs").fetchall()
    assert sorted(used) == sorted((run, tool, n) for run, tools in tables.runs.items() for tool, n in tools.items())


def _park(place: LedgerFolder, count: int) -> None:
    async def main() -> None:
        store = SqliteStore(place.ledger, place.key)
        await store.open()
        await asyncio.gather(
            *(store.commit(make_parked(f"parked-{number}", state="approved")) for number in range(count))
        )
        await store.aclose()

    asyncio.run(main())


def _released(child: subprocess.Popen[bytes]) -> bytes:
    told, _ = child.communicate(b"go\n", timeout=WAIT)
    assert child.returncode == 0
    return told

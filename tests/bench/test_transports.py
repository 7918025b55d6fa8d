"""The benchmark of tools behind a network: its workspace builds and answers rightly, and every goal can be missed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.check import Bench
from bench.measure import Goal
from bench.transports_calls import ASYNCPG, BARE, REST, main

from bench import run, transports
from tests.services import require

BENCH = Bench(size=1, rounds=1, peers="python", calls=30)


@pytest.fixture
def port() -> Iterator[int]:
    with transports.upstream(BENCH) as found:
        yield found


def judged(adds: float, share: float, times: float) -> list[Goal]:
    rest = {REST: [100 + adds], BARE: [100.0]}
    rows = [*transports._rows(transports.REST_CPU, rest, "µs", is_cpu=True)]
    rate = 1000.0
    others = {BARE: [rate / share], "another": [rate / times]}
    rows += transports._rows(transports.REST_RATE, {REST: [rate], **others}, "/s")
    rows += transports._rows(transports.SQL_RATE, {REST: [rate], ASYNCPG: [rate / share]}, "/s")
    return list(transports.goals(rows))


def test_goals_are_met_at_their_limits_and_can_be_missed() -> None:
    assert all(goal["is_met"] for goal in judged(150, 0.6, 5))
    assert not any(goal["is_met"] for goal in judged(151, 0.59, 4.9))
    assert run.GROUPS["transports"].run is transports.run_group


def test_our_calls_are_answered_rightly(port: int, tmp_path: Path) -> None:
    database = f"postgresql://postgres@127.0.0.1:{require('postgresql')}/test"
    found = asyncio.run(main(tmp_path / "workspace", port, 30, 1, database))
    assert set(found["rest"]) == {REST, BARE}
    assert ASYNCPG in found["postgres"]
    assert all(ways["rate"][0] > 0 for group in found.values() for ways in group.values())

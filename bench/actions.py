"""Durable actions a second, next to what a bare group commit reaches on the same disk. Prints rates as JSON.

python -m bench.actions FOLDER [--rounds 3] [--share 1.0]

An action is on disk twice: before the tool runs, and before its answer is told. So a floor of so many rows a second allows
half as many actions. Two floors, both from `bench/ledger.py`, both with SQLite's settings and rows of the ledger's size:
`loop` writes groups of as many rows as there are callers, in one thread, and nobody waits for an answer; `tasks` has the same
number of asyncio tasks, each waiting for its own row, and a thread that writes whatever has gathered. Neither chains, judges,
signs, encodes or runs anything.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.governed import ALLOW, add_as_action, opened
from bench.ledger import floor_rate, waiting_floor_rate

ROWS = 2
"""Rows of an action: it begins, it ended."""
IN_FLIGHT = (1, 64)
ACTIONS = {1: 500, 64: 8000}
"""How many actions a round has, by how many are in flight."""
Rates = dict[str, list[float]]


async def action_rate(folder: Path, waiting: int, actions: int) -> float:
    """Governed actions a second, so many in flight, every row durable."""
    async with opened(folder, [add_as_action], ALLOW, settings=f"[scheduler]\nmax_parallel = {waiting}\n") as app:
        handle = app.surface(principal="ann")
        numbers = iter(range(actions))
        before = (await app.store.rows_before(None, 1))[0].seq

        async def caller() -> None:
            for number in numbers:
                result: Any = await handle.call("add", {"a": number, "b": 1})
                assert result.structured_content == number + 1, result

        gc.collect()
        began = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(waiting)))
        seconds = time.perf_counter() - began
        rows = (await app.store.rows_before(None, 1))[0].seq - before
        assert rows == actions * ROWS, f"{actions} actions left {rows} rows"
        return actions / seconds


def rates(folder: Path, waiting: int, rounds: int, actions: int) -> Rates:
    """Actions a second of the two floors and of ours, in turn; what a floor gives in rows counts half."""
    rows = actions * ROWS
    contenders: dict[str, Callable[[Path], float]] = {
        "loop": lambda path: floor_rate(path, waiting, rows) / ROWS,
        "tasks": lambda path: asyncio.run(waiting_floor_rate(path, waiting, rows)) / ROWS,
        "ferrule": lambda path: asyncio.run(action_rate(path, waiting, actions)),
    }
    taken: Rates = {name: [] for name in contenders}
    for number in range(rounds):
        for name, contender in contenders.items():
            place = folder / f"{name}-{waiting}-{number}"
            taken[name].append(contender(place))
            _remove(place)
    return taken


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    for file in place.parent.glob(f"{place.name}*"):
        file.unlink()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0, help="how much of the usual number of actions")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(
        json.dumps(
            {
                waiting: rates(
                    options.folder, waiting, options.rounds, max(waiting, int(ACTIONS[waiting] * options.share))
                )
                for waiting in IN_FLIGHT
            }
        )
    )


if __name__ == "__main__":
    main()

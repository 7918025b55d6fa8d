"""The group `call`: one governed call against the calls of others, its variants, durable actions, and what a million leave.

Contenders are programs of their own, run in turn, round by round; each warms up, then times batches of calls of the same
`add(a: int, b: int) -> int`. A round counts with the median of its batches, a contender with the median of its rounds, and
`best` is its best batch. The peers run in their own environment and do not govern or record; we do both, on disk.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import timeit
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.actions import IN_FLIGHT
from bench.check import WORK, Bench
from bench.governed import VARIANTS
from bench.growth import FEW
from bench.measure import Goal, Row, Sample, at_least, at_most, run

HERE = Path(__file__).parent
PEERS = ("pydantic_ai", "openai_agents", "arcade", "fastmcp", "mcp", "langchain")
OURS = "ferrule, governed and recorded"
PLAIN = "read-only"
BASELINE = "FastMCP server.call_tool"
YARDSTICK = "python, storing 100 numbers in a dict"
FOLDER = WORK / "call"
PACKAGES = (
    "fastmcp", "mcp", "langchain-core", "pydantic-ai-slim", "openai-agents", "arcade-core", "arcade-tdk", "pydantic",
)  # fmt: skip
"""What the peers' environment has for this group."""

Batches = dict[str, list[float]]
"""Microseconds a call, by measure: `cpu`, `wall`, and for ours `thread`."""


class Taken(NamedTuple):
    """What rounds gave: the batches of every contender, what could not be measured, and how fast the machine was."""

    batches: dict[str, list[Batches]]
    missing: dict[str, str]
    yardstick: list[float]


def run_group(bench: Bench) -> Iterator[Row]:
    """All of it."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    taken = rounds(bench)
    for name, why in taken.missing.items():
        print(f"  NOT MEASURED: {name}: {why}", flush=True)
    yield from _plain("the machine itself, before and after each round", {YARDSTICK: taken.yardstick}, "µs")
    yield from compared(taken)
    yield from variants(taken)
    yield from actions(bench)
    yield from growth(bench)
    shutil.rmtree(FOLDER)


def rounds(bench: Bench) -> Taken:
    """Every peer and every variant of ours once a round."""
    taken = Taken({}, {}, [yardstick()])
    for number in range(bench.rounds):
        for peer in PEERS:
            if peer not in taken.missing:
                _add(taken, peer, _peer(bench, peer))
        for variant in VARIANTS:
            _add(taken, variant, _ours(bench, variant, number))
        taken.yardstick.append(yardstick())
    return taken


def yardstick() -> float:
    """Microseconds of a small piece of plain Python, so that runs on busy or other machines can be told apart."""
    timer = timeit.Timer("for i in range(100): d[i] = i", "d = {}")
    return statistics.median(timer.repeat(9, 5000)) / 5000 * 1e6


def _peer(bench: Bench, peer: str) -> Sample:
    script = HERE / "peers" / f"call_{peer}.py"
    return run([bench.peers, str(script), "--calls", str(bench.calls // 4), "--batches", "5"], cwd=FOLDER)


def _ours(bench: Bench, variant: str, number: int) -> Sample:
    place = FOLDER / f"{number}"
    sample = _program(bench, "bench.governed", variant, str(place), "--calls", str(bench.calls), "--batches", "5")
    shutil.rmtree(place, ignore_errors=True)
    if sample.code:
        sys.exit(f"our own side failed in {variant!r}:\n{sample.output}")
    return sample


def _program(bench: Bench, module: str, *words: str) -> Sample:
    return run([bench.python, "-m", module, *words], env=bench.env, cwd=HERE.parent)


def _add(taken: Taken, name: str, sample: Sample) -> None:
    """A peer that cannot be installed or run is named, never guessed at."""
    if sample.code:
        taken.missing[name] = (sample.output.strip().splitlines() or ["it ended without a word"])[-1]
        return
    for contender, batches in _last_line(sample).items():
        taken.batches.setdefault(contender, []).append(batches)


def _last_line(sample: Sample) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sample.output.strip().splitlines()[-1])
    return found


def compared(taken: Taken) -> Iterator[Row]:
    """Us and the peers, cheapest first after us."""
    peers = {name: batches for name, batches in taken.batches.items() if name not in VARIANTS}
    ordered = sorted(peers, key=lambda name: _median(peers[name], "cpu"))
    contenders = {OURS: taken.batches[PLAIN], **{name: peers[name] for name in ordered}}
    yield from _rows("one call of add(a, b)", contenders, OURS)


def variants(taken: Taken) -> Iterator[Row]:
    """What governing costs in other circumstances: the whole process, then the calling thread alone."""
    ours = {name: taken.batches[name] for name in VARIANTS}
    yield from _rows("one governed call, the whole process", ours, PLAIN)
    threads = {name: [_of_thread(batches) for batches in found] for name, found in ours.items()}
    yield from _rows("one governed call, the calling thread's CPU", threads, PLAIN)


def _of_thread(batches: Batches) -> Batches:
    return {"wall": batches["thread"], "cpu": batches["thread"]}


def _rows(work: str, contenders: Mapping[str, Sequence[Batches]], first: str) -> Iterator[Row]:
    wall, cpu = _median(contenders[first], "wall"), _median(contenders[first], "cpu")
    for name, found in contenders.items():
        samples = [statistics.median(batches["cpu"]) for batches in found]
        yield Row(
            group="call",
            work=work,
            contender=name,
            median=round(_median(found, "wall"), 2),
            unit="µs",
            cpu=round(_median(found, "cpu"), 2),
            ratio=round(_median(found, "wall") / wall, 3),
            cpu_ratio=round(_median(found, "cpu") / cpu, 3),
            samples=[round(sample, 2) for sample in samples],
            best=round(min(value for batches in found for value in batches["cpu"]), 2),
        )


def _median(found: Sequence[Batches], measure: str) -> float:
    return statistics.median(statistics.median(batches[measure]) for batches in found)


LOOP = "bare group commit in a loop"
TASKS = "bare group commit, tasks waiting"


def actions(bench: Bench) -> Iterator[Row]:
    """Durable actions a second, and what the same disk's group commit allows."""
    share = str(min(1.0, bench.calls / 2000))
    sample = _program(bench, "bench.actions", str(FOLDER / "actions"), "--rounds", str(bench.rounds), "--share", share)
    if sample.code:
        sys.exit(f"durable actions could not be measured:\n{sample.output}")
    names = {"loop": LOOP, "tasks": TASKS, "ferrule": "ferrule"}
    for waiting, rates in _last_line(sample).items():
        yield from _plain(
            f"durable actions, {waiting} in flight", {names[name]: found for name, found in rates.items()}, "/s"
        )


def growth(bench: Bench) -> Iterator[Row]:
    """Memory and latency, after a thousand calls and after a million. Linux only: it reads /proc."""
    if not Path("/proc/self/status").exists():
        return
    sample = _program(bench, "bench.growth", str(FOLDER / "growth"), "--calls", str(bench.million))
    if sample.code:
        sys.exit(f"growth could not be measured:\n{sample.output}")
    found = _last_line(sample)
    few, many = f"after {FEW:,} calls", f"after {found['calls']:,} calls"
    sizes = {few: [found["few"]["resident"] / 2**20], many: [found["many"]["resident"] / 2**20]}
    yield from _plain("resident memory", sizes, "MB")
    at = {"few": f"at {FEW:,} ledger rows", "many": f"at {found['rows']:,} ledger rows"}
    for tool, work in (("add", "median latency, read-only"), ("put", "median latency, durable action")):
        yield from _plain(work, {at[size]: [value] for size, value in found[tool].items()}, "µs")


def _plain(work: str, contenders: Mapping[str, Sequence[float]], unit: str) -> Iterator[Row]:
    """Rows of something that is not a time a call: the ratio is to the first."""
    medians = {name: statistics.median(found) for name, found in contenders.items()}
    first = next(iter(medians.values()))
    for name, median in medians.items():
        yield Row(
            group="call",
            work=work,
            contender=name,
            median=round(median, 2),
            unit=unit,
            cpu=None,
            ratio=round(median / first, 3),
            cpu_ratio=None,
            samples=[round(value, 2) for value in contenders[name]],
        )


def goals(rows: Sequence[Row]) -> Iterator[Goal]:
    """What we want of these numbers, and what they are."""
    found = {(row["work"], row["contender"]): row for row in rows}
    ours = found["one call of add(a, b)", OURS]
    thread = found["one governed call, the calling thread's CPU", PLAIN]
    yield at_most("a governed read-only call, calling thread", thread["cpu"], 10, "µs of CPU")
    yield at_most("a governed read-only call, whole process, row on disk", ours["cpu"], 20, "µs of CPU")
    if ("one call of add(a, b)", BASELINE) in found:
        ratio = found["one call of add(a, b)", BASELINE]["cpu_ratio"]
        yield at_least(f"{BASELINE}, CPU as a multiple of ours", ratio, 10, "times")
    work = f"durable actions, {IN_FLIGHT[-1]} in flight"
    for floor in (TASKS, LOOP):
        share = found[work, "ferrule"]["median"] / found[work, floor]["median"]
        yield at_least(f"{work}, as a share of: {floor}", share, 0.5, "of it")
    yield from _growth_goals(rows)


def _growth_goals(rows: Sequence[Row]) -> Iterator[Goal]:
    by_work: dict[str, list[float]] = {}
    for row in rows:
        by_work.setdefault(row["work"], []).append(row["median"])
    if "resident memory" in by_work:
        few, many = by_work["resident memory"]
        yield at_most("resident memory, growth over all calls", many - few, 10, "MB")
    for work, medians in by_work.items():
        if work.startswith("median latency"):
            yield at_most(f"{work}, growth with the ledger", (medians[1] / medians[0] - 1) * 100, 20, "%")

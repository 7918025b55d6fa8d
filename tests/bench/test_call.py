"""The benchmark of calls measures what it says: right answers, rows on disk, honest medians, goals that can be missed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from bench.actions import rates
from bench.check import Bench
from bench.governed import VARIANTS, measure
from bench.growth import grow
from bench.measure import Goal, Row, Sample, show_goals
from scripts.reference import benchmark

from bench import call, run


def sample(output: object, code: int = 0) -> Sample:
    """What a contender's program left."""
    return Sample(1.0, 1.0, 0, code, output if isinstance(output, str) else json.dumps(output))


def batches(cpu: Sequence[float], thread: Sequence[float] = (), wall: Sequence[float] = (1.0,)) -> call.Batches:
    return {"cpu": list(cpu), "wall": list(wall), "thread": list(thread or cpu)}


def taken(ours: float, thread: float, fastmcp: float) -> call.Taken:
    """Rounds in which every variant of ours costs the same."""
    found = {name: [batches([ours], [thread])] for name in VARIANTS}
    return call.Taken({**found, call.BASELINE: [batches([fastmcp])]}, {}, [3.0])


def row(work: str, contender: str, median: float) -> Row:
    return Row(
        group="call", work=work, contender=contender, median=median, unit="/s", cpu=None, ratio=1.0, cpu_ratio=None, samples=[]
    )  # fmt: skip


def judged(ours: float, thread: float, fastmcp: float, actions: float, megabytes: float, latency: float) -> list[Goal]:
    found = taken(ours, thread, fastmcp)
    table = [*call.compared(found), *call.variants(found)]
    for name, rate in ((call.LOOP, 100.0), (call.TASKS, 100.0), ("ferrule", actions)):
        table.append(row("durable actions, 64 in flight", name, rate))
    table += [row("resident memory", "few", 50.0), row("resident memory", "many", 50.0 + megabytes)]
    table += [row("median latency, read-only", "few", 10.0), row("median latency, read-only", "many", latency)]
    return list(call.goals(table))


def test_goals_are_met_at_their_limits() -> None:
    assert all(goal["is_met"] for goal in judged(20, 10, 200, 50, 10, 12))


def test_every_goal_can_be_missed() -> None:
    missed = judged(20.1, 10.1, 200, 49, 10.1, 12.1)
    assert not [goal["what"] for goal in missed if goal["is_met"]]
    assert show_goals(missed).count("MISSED") == len(missed) == 7


def test_a_contender_counts_with_the_median_of_its_rounds_and_shows_its_best_batch() -> None:
    found = taken(10, 5, 100)
    found.batches[call.BASELINE] = [batches([100, 110, 900]), batches([90, 95, 99]), batches([300, 310, 320])]
    by_name = {row["contender"]: row for row in call.compared(found)}
    theirs = by_name[call.BASELINE]
    assert (theirs["cpu"], theirs["best"], theirs["cpu_ratio"]) == (110, 90, 11)
    assert theirs["samples"] == [110, 95, 310]
    assert by_name[call.OURS]["cpu_ratio"] == 1


def test_a_peer_that_cannot_run_is_named_and_has_no_row() -> None:
    found = taken(10, 5, 100)
    call._add(found, "arcade", sample("Traceback\nModuleNotFoundError: No module named 'arcade_core'", code=1))
    assert found.missing == {"arcade": "ModuleNotFoundError: No module named 'arcade_core'"}
    assert not [row for row in call.compared(found) if "arcade" in row["contender"].lower()]


def test_every_peer_has_a_program() -> None:
    folder = Path(call.__file__).parent / "peers"
    assert {f"call_{peer}.py" for peer in call.PEERS} == {file.name for file in folder.glob("call_*.py")}


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_our_side_answers_rightly_and_is_recorded(name: str, tmp_path: Path) -> None:
    found = asyncio.run(measure(tmp_path / "workspace", VARIANTS[name](), calls=2, batches=1))
    assert all(len(values) == 1 and values[0] > 0 for values in found.values())


def test_actions_and_floors_are_rates_and_leave_nothing(tmp_path: Path) -> None:
    found = rates(tmp_path, waiting=4, rounds=1, actions=8)
    assert {name: len(values) for name, values in found.items()} == {"loop": 1, "tasks": 1, "ferrule": 1}
    assert all(value > 0 for values in found.values() for value in values)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_growth_looks_at_both_sizes(tmp_path: Path) -> None:
    found = asyncio.run(grow(tmp_path, 1200, turns=1))
    assert found["rows"] >= found["calls"] == 1200
    assert found["many"]["resident"] >= found["many"]["own"] > 0
    assert all(found[tool][size] > 0 for tool in ("add", "put") for size in ("few", "many"))


def test_a_group_that_is_not_run_keeps_its_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def group(bench: Bench) -> Iterator[Row]:
        yield row("work", f"calls of a batch: {bench.calls}", 2.0)

    file = tmp_path / "results.json"
    file.write_text('{"check": {"rows": ["as they were"]}, "call": {}}')
    monkeypatch.setattr(run, "GROUPS", {"check": run.GROUPS["check"], "call": run.Group(group, ["pip"], ["calls"])})
    words = ["--only", "call", "--calls", "7", "--peers", sys.executable, "--results", str(file)]
    monkeypatch.setattr(sys, "argv", ["bench.run", *words])
    run.main()
    results = json.loads(file.read_text())
    assert results["check"] == {"rows": ["as they were"]}
    assert results["call"]["how"] == {"calls": 7}
    assert results["call"]["rows"][0]["contender"] == "calls of a batch: 7"


def test_the_page_shows_goals_that_were_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = taken(30, 5, 100)
    group = {
        "machine": {"processor": "P", "cores": 2, "system": "Linux", "python": "3.11"},
        "versions": {"ferrule": "1"},
        "how": {"calls": 2000},
        "rows": list(call.compared(found)),
        "goals": judged(30, 5, 100, 50, 1, 10),
    }
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"call": group}))
    monkeypatch.setattr(benchmark, "RESULTS", file)
    page = benchmark.page()
    assert (
        "| a governed read-only call, whole process, row on disk | at most 20 µs of CPU | 30.00 µs of CPU | missed |"
        in page
    )
    assert "| a governed read-only call, calling thread | at most 10 µs of CPU | 5.00 µs of CPU | met |" in page

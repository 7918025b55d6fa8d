"""The benchmark of calls together measures what it says: right answers in call order, differences, goals that can be missed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bench.check import Bench
from bench.measure import Goal, Row, Sample, show_goals
from bench.together_calls import KINDS, measure
from bench.together_stream import WAYS
from bench.together_stream import measure as pour
from scripts.reference import benchmark

from bench import redaction, run, together

BENCH = Bench(size=1, rounds=1, peers="python", parallel=1000, queued=10_000)


def judged(times: float, batch: float, hook: float, megabytes: float, milliseconds: float) -> list[Goal]:
    rows = list(together.side_by_side(BENCH, {"bare": [40.0], "ferrule": [40 * times]}, {}))
    rows += together.queued(BENCH, {kind: {"apart": [50.0], "together": [50.0 + batch]} for kind in KINDS})
    rows += together.hooked({"without": [10.0], "with": [10.0 + hook]})
    rows += together._rows(together._GROWTH_WORK, {name: [megabytes] for name in together.STREAMS}, "MB")
    rows += together._rows(together._redaction_work(), {"prose": [milliseconds]}, "ms")
    return list(together.goals(rows))


def test_goals_are_met_at_their_limits() -> None:
    assert all(goal["is_met"] for goal in judged(1.5, 15, 5, 50, 10))


def test_every_goal_can_be_missed() -> None:
    missed = judged(1.51, 15.1, 5.1, 50.1, 10.1)
    assert not [goal["what"] for goal in missed if goal["is_met"]]
    assert show_goals(missed).count("MISSED") == len(missed) == 1 + len(KINDS) + 1 + len(together.STREAMS) + 1


def test_medians_count_and_the_theory_stands_beside_them() -> None:
    rows = list(
        together.side_by_side(BENCH, {"bare": [40.0, 41.0, 90.0], "ferrule": [50.0, 82.0, 99.0]}, {"x": [400.0]})
    )
    by_name = {row["contender"]: (row["median"], row["ratio"]) for row in rows}
    assert by_name[together.IDEAL] == (41, 1) and by_name[together.OURS] == (82, 2)
    assert by_name["in theory, no time but the waits"][0] == 32 and by_name["x"][0] == 400


def test_our_calls_are_answered_rightly_and_measured_both_ways(tmp_path: Path) -> None:
    found = asyncio.run(measure(tmp_path, parallel=40, queued=120, hooked=5, rounds=1))
    assert all(len(found["parallel"][name]) == 1 for name in ("bare", "ferrule"))
    assert found["queue"].keys() == KINDS.keys()
    assert all(cost > 0 for ways in found["queue"].values() for costs in ways.values() for cost in costs)
    assert {name: len(costs) for name, costs in found["hook"].items()} == {"without": 3, "with": 3}


@pytest.mark.parametrize("how", sorted(WAYS))
@pytest.mark.parametrize("secrets", [0, 20])
def test_what_is_streamed_is_stored_whole(how: str, secrets: int, tmp_path: Path) -> None:
    found = asyncio.run(pour(tmp_path, how, megabytes=3, secret_count=secrets))
    assert found["rate"] > 0 and found["cpu"] > 0 and found["grown"] >= 0


def test_every_material_is_searched() -> None:
    found = redaction.taken(5, rounds=1)
    assert found.keys() == redaction.materials().keys()
    assert all(len(costs) == 1 and costs[0] > 0 for costs in found.values())


def test_every_peer_has_a_program() -> None:
    folder = Path(together.__file__).parent / "peers"
    programs = {file.name for file in folder.glob("together_*.py")} - {"together_timing.py"}
    assert {f"together_{peer}.py" for peer in together.PEERS} == programs


def test_a_peer_that_cannot_run_is_named_and_has_no_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended(command: list[str], **_: object) -> Sample:
        is_there = "langchain" in command[1]
        return Sample(
            1, 1, 0, 0 if is_there else 1, '{"LangChain abatch": [1.0]}' if is_there else "Traceback\nno fastmcp"
        )

    monkeypatch.setattr(together, "run", ended)
    assert together._peers(BENCH) == {"LangChain abatch": [1.0]}
    assert "NOT MEASURED: fastmcp: no fastmcp" in capsys.readouterr().out


def test_the_group_is_run_and_written_about() -> None:
    assert run.GROUPS["together"].run is together.run_group
    assert set(benchmark.HEADINGS) == set(benchmark.INTRODUCTIONS) == set(run.GROUPS)
    table: list[Row] = list(together.hooked({"without": [1.0], "with": [2.0]}))
    assert "| with a hook in this process | 2.000 µs | 2.000 µs | 2.00 | 2.00 |" in "\n".join(benchmark._table(table))

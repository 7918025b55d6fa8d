"""The benchmark of servers measures what it says: right answers, processor time of the server, goals that can be missed."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from bench.check import Bench
from bench.measure import Goal
from bench.serve_contenders import OURS, OURS_SESSION, SDK, SDK_MODERN, SDK_STDIO
from bench.serve_load import NotMeasured, Wire, cpu_seconds, loaded

from bench import run, serve, serve_contenders, serve_ours

BENCH = Bench(size=1, rounds=1, peers="python", seconds=0.5, listed=20)


def judged(times: float, cpu: float, spread: float, piped: float, pipe_cpu: float, first: float) -> list[Goal]:
    few, many = serve.CONNECTIONS
    us = (OURS, OURS_SESSION)
    rows = [
        *serve._rows(serve.work(serve.RATE, few), {**{one: [times * 100] for one in us}, SDK: [50.0], SDK_MODERN: [100.0]}, "/s"),
        *serve._rows(serve.work(serve.CPU, few), {one: [cpu] for one in us}, "µs"),
        *serve._rows(serve.work(serve.P50, many), {one: [2.0] for one in us}, "ms"),
        *serve._rows(serve.work(serve.P99, many), {one: [2.0 * spread] for one in us}, "ms"),
        *serve._rows(serve.STDIO_RATE, {**{one: [piped * 10] for one in us}, SDK_STDIO: [10.0]}, "/s"),
        *serve._rows(serve.STDIO_CPU, {one: [pipe_cpu] for one in us}, "µs"),
        *serve._rows(serve.FIRST, {one: [first] for one in us}, "ms"),
    ]  # fmt: skip
    return list(serve.goals(rows))


def test_goals_are_met_at_their_limits_and_can_be_missed() -> None:
    met, missed = judged(7, 75, 5, 25, 35, 250), judged(6.9, 75.1, 5.1, 24.9, 35.1, 250.1)
    assert len(met) == len(missed) == 12
    assert all(goal["is_met"] for goal in met)
    assert not any(goal["is_met"] for goal in missed)
    assert not any(goal["is_met"] for goal in serve.goals([])), "what was not measured is not met"
    assert run.GROUPS["serve"].run is serve.run_group


def test_a_contender_that_fails_is_named_and_not_tried_again() -> None:
    tried = []

    def fails() -> float:
        tried.append(1)
        raise NotMeasured("it has no tools")

    missing: dict[str, str] = {}
    assert serve._rounds(3, missing, {"one": fails, "other": lambda: 1.0}) == {"other": [1.0, 1.0, 1.0]}
    assert missing == {"one": "it has no tools"} and len(tried) == 1


def test_nothing_is_measured_without_the_program_that_makes_the_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for words in (["--only", "serve"], []):
        monkeypatch.setattr(sys, "argv", ["bench", *words, "--results", str(tmp_path / "results.json")])
        with pytest.raises(SystemExit) as refused:
            run.main()
        assert refused.value.code == "the group 'serve' needs wrk, which is not installed: apt-get install wrk"
    assert not (tmp_path / "results.json").exists()
    run.refuse_missing_programs(name for name in run.GROUPS if name != "serve")


def test_processor_time_counts_this_process() -> None:
    before, until = cpu_seconds(os.getpid()), time.process_time() + 0.2
    while time.process_time() < until:
        pass
    assert cpu_seconds(os.getpid()) - before >= 0.1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (serve, serve_contenders):
        monkeypatch.setattr(module, "FOLDER", tmp_path)
    serve_ours.workspace(tmp_path / "one", 20)
    monkeypatch.setattr(BENCH, "ferrule", str(Path(sys.executable).parent / "ferrule"))
    return tmp_path


@pytest.mark.parametrize("name", [OURS, OURS_SESSION], ids=["modern", "session"])
def test_ours_answers_rightly_over_http(name: str, folder: Path) -> None:
    with serve.served(BENCH, serve_contenders.HTTP[name]) as (wire, _):
        said, _ = wire.ask()
        is_session = serve_contenders.HTTP[name].era == "session"
        assert said["result"]["content"][0]["text"] == ('{"result":3}' if is_session else "3")
        with pytest.raises(NotMeasured, match="401"):
            Wire(wire.port, {**wire.headers, "Authorization": "Bearer none"}, wire.method, wire.params).ask()


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_ours_is_measured_under_load(folder: Path) -> None:
    with serve.served(BENCH, serve_contenders.HTTP[OURS], "tools/list") as (wire, pid):
        assert len(wire.ask()[0]["result"]["tools"]) == 20
        load = loaded(wire, folder / "load.lua", pid, connections=4, seconds=1)
    assert load.rate > 1 and load.p99 >= load.p50 > 0


def test_ours_is_measured_over_standard_streams(folder: Path) -> None:
    for name in (OURS, OURS_SESSION):
        load = serve._piped(BENCH, serve_contenders.STDIO[name])
        assert load.rate > 1 and load.cpu > 0
    assert serve._first(BENCH, serve_contenders.STDIO[OURS]) > 0

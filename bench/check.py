"""The group `check`: checking definitions, cold and unchanged, against the plain way; start-up; growth."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench import memory
from bench.generate import write_workspace
from bench.measure import Row, Sample, interleaved, rows, run

HERE = Path(__file__).parent
WORK = HERE / "work"
PLAIN = "PyYAML C + jsonschema"
OURS = "ferrule"
PACKAGES = ("pyyaml", "jsonschema", "pydantic")
"""What the peers' environment has for this group."""


class Bench:
    """Where the contenders live and how large the work is."""

    def __init__(
        self,
        *,
        size: int,
        rounds: int,
        peers: str,
        unproven: bool = False,
        calls: int = 2000,
        million: int = 1_000_000,
        parallel: int = 1000,
        queued: int = 10_000,
        megabytes: int = 1000,
        seconds: float = 5.0,
        listed: int = 10_000,
        invocations: int = 100_000,
        operations: int = 1000,
        tools: int = 1000,
    ) -> None:
        self.size = size
        self.calls = calls
        self.million = million
        self.parallel = parallel
        self.queued = queued
        self.megabytes = megabytes
        self.seconds = seconds
        self.listed = listed
        self.invocations = invocations
        self.operations = operations
        self.tools = tools
        self.rounds = rounds
        self.peers = peers
        self.unproven = unproven
        self.python = sys.executable
        self.ferrule = str(Path(sys.executable).parent / "ferrule")
        self.env = {**os.environ, "XDG_CACHE_HOME": str(WORK / "cache"), "PYTHONHASHSEED": "0"}

    def workspace(self, form: str, count: int, **how: int) -> tuple[Path, int]:
        """A freshly written workspace and the number of mistakes planted in it."""
        folder = WORK / f"{form}-{count}"
        shutil.rmtree(folder, ignore_errors=True)
        return folder, write_workspace(folder, form, count, **how)

    def forget(self, folder: Path) -> None:
        """Remove every cache of ours."""
        shutil.rmtree(folder / ".ferrule", ignore_errors=True)
        shutil.rmtree(WORK / "cache", ignore_errors=True)

    def check(self, folder: Path, *extra: str) -> Sample:
        """`ferrule check` of a folder, as a user runs it."""
        return run([self.ferrule, "check", str(folder), *extra], env=self.env, cwd=WORK)

    def check_cold(self, folder: Path) -> Sample:
        """The same with nothing remembered."""
        self.forget(folder)
        return self.check(folder)

    def plain(self, folder: Path) -> Sample:
        """The plain way, in the peers' environment."""
        return run([self.peers, str(HERE / "plain.py"), str(folder)], cwd=WORK)

    def prove(self, folder: Path, tools: int, planted: int) -> None:
        """Both contenders must have looked at everything and found what was planted; else the times mean nothing."""
        if self.unproven:
            return
        self.forget(folder)
        ours = self.check(folder, "--format", "json")
        summary = json.loads(ours.output)["summary"]
        assert summary["tools"] >= tools - planted, f"ferrule saw {summary['tools']} of {tools} tools in {folder}"
        assert summary["errors"] >= planted, f"ferrule found {summary['errors']} of {planted} mistakes in {folder}"
        theirs = json.loads(self.plain(folder).output)
        assert theirs["tools"] == tools, f"the plain way saw {theirs['tools']} of {tools} tools in {folder}"
        assert theirs["errors"] >= planted, f"the plain way found {theirs['errors']} of {planted} in {folder}"


LABELS = {
    "aml": "AML files",
    "oxp": "OXP files",
    "oxp-catalog": "tools in OXP catalogs",
    "adl": "tools in ADL manifests",
    "agent-tool": "Agent Tool records",
}


def cold_and_warm(bench: Bench) -> Iterator[Row]:
    """Every form, cold and again unchanged."""
    for form, label in LABELS.items():
        folder, planted = bench.workspace(form, bench.size)
        bench.prove(folder, bench.size, planted)
        samples = interleaved(
            bench.rounds,
            {
                "cold": partial(bench.check_cold, folder),
                "again": partial(bench.check, folder),
                PLAIN: partial(bench.plain, folder),
            },
        )
        cold = {OURS: samples["cold"], PLAIN: samples[PLAIN]}
        yield from rows("check", f"check {bench.size:,} {label}, cold", cold, ours=OURS)
        again = {OURS: samples["again"], f"{OURS}, cold": samples["cold"], PLAIN: samples[PLAIN]}
        yield from rows("check", f"check {bench.size:,} {label}, unchanged", again, ours=OURS)


def start_up(bench: Bench) -> Iterator[Row]:
    """What the smallest uses cost, next to an interpreter that does nothing."""
    folder, _ = bench.workspace("aml", 20)
    one = str(sorted((folder / "tools").iterdir())[0])
    samples = interleaved(
        max(20, bench.rounds),
        {
            "python -c pass": lambda: run([bench.python, "-c", "pass"], env=bench.env),
            "ferrule --help": lambda: run([bench.ferrule, "--help"], env=bench.env),
            "ferrule check ONE FILE": lambda: run([bench.ferrule, "check", one], env=bench.env),
        },
    )
    yield from rows("check", "start-up", samples, ours="python -c pass", unit="ms")


def held(bench: Bench) -> Iterator[Row]:
    """What a loaded catalog takes."""
    folder, _ = bench.workspace("aml", bench.size, faulty_percent=0)
    yield from memory.catalogued(folder, bench.python, bench.peers, bench.rounds)


def growth(bench: Bench) -> Iterator[Row]:
    """The same work in three sizes; time per file should stay level."""
    for count in (bench.size // 10, bench.size, bench.size * 10):
        folder, _ = bench.workspace("aml", count)
        samples = interleaved(
            1 if count > bench.size else bench.rounds,
            {"cold": partial(bench.check_cold, folder), "unchanged": partial(bench.check, folder)},
        )
        for row in rows("check", f"{count:,} AML files", samples, ours="cold"):
            row["contender"] = f"{OURS}, {row['contender']}: {row['median'] / count * 1e6:.0f} µs a file"
            yield row
        if count > bench.size:
            shutil.rmtree(folder)


def run_group(bench: Bench) -> Iterator[Row]:
    """All of it."""
    WORK.mkdir(exist_ok=True)
    yield from start_up(bench)
    yield from cold_and_warm(bench)
    yield from held(bench)
    yield from growth(bench)

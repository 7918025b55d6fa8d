"""Runs commands and measures them: wall time, CPU time with children, peak memory. Knows nothing of their work."""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict


class Sample(NamedTuple):
    """One run of one command."""

    wall: float
    """Seconds on the clock."""
    cpu: float
    """Seconds of processor time, user and system, children included."""
    peak: int
    """Bytes of the largest single process."""
    code: int
    output: str


class Row(TypedDict):
    """One line of the table, as written to results.json."""

    group: str
    work: str
    contender: str
    median: float
    unit: str
    cpu: float | None
    """CPU seconds (same unit as median where that is a time), median."""
    ratio: float
    """This contender's median divided by ours."""
    cpu_ratio: float | None
    samples: list[float]
    best: NotRequired[float]
    """CPU of the best batch, where work is measured in batches."""


class Goal(TypedDict):
    """What is wanted of a measurement, and what it is."""

    what: str
    wanted: str
    measured: float
    unit: str
    is_met: bool


def run(command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | Path | None = None) -> Sample:
    """Run a command to its end. Its CPU time includes every process it waited for."""
    log = Path(os.environ.get("TMPDIR", "/tmp")) / f"ferrule-bench-{os.getpid()}.out"
    with log.open("w+b") as sink:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT, env=env, cwd=cwd)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)  # tells Popen that it is over
        sink.seek(0)
        output = sink.read().decode(errors="replace")
    log.unlink()
    scale = 1 if sys.platform == "darwin" else 1024
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale, process.returncode, output)


def interleaved(rounds: int, contenders: Mapping[str, Callable[[], Sample]]) -> dict[str, list[Sample]]:
    """Every contender once per round, in turn, so that a busy moment of the machine hurts all alike."""
    samples: dict[str, list[Sample]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            gc.collect()
            samples[name].append(contender())
    return samples


def rows(group: str, work: str, samples: Mapping[str, Sequence[Sample]], *, ours: str, unit: str = "s") -> list[Row]:
    """The table lines of one piece of work; ratios are to the contender named by `ours`."""
    scale = {"s": 1.0, "ms": 1e3}[unit]
    wall = {name: statistics.median(sample.wall for sample in taken) * scale for name, taken in samples.items()}
    cpu = {name: statistics.median(sample.cpu for sample in taken) * scale for name, taken in samples.items()}
    return [
        Row(
            group=group,
            work=work,
            contender=name,
            median=round(wall[name], 4),
            unit=unit,
            cpu=round(cpu[name], 4),
            ratio=round(wall[name] / wall[ours], 3),
            cpu_ratio=round(cpu[name] / cpu[ours], 3),
            samples=[round(sample.wall * scale, 4) for sample in taken],
        )
        for name, taken in samples.items()
    ]


def medians(
    group: str, work: str, contenders: Mapping[str, Sequence[float]], unit: str, *, is_cpu: bool = False
) -> list[Row]:
    """The table lines of one piece of work, from plain numbers; the ratio is to the first contender. `is_cpu`: it is processor
    time that was measured."""
    middle = {name: statistics.median(found) for name, found in contenders.items()}
    first = next(iter(middle.values()), 0.0)
    table = []
    for name, median in middle.items():
        ratio = round(median / first, 3) if first else 1.0
        table.append(
            Row(
                group=group,
                work=work,
                contender=name,
                median=round(median, 3),
                unit=unit,
                cpu=round(median, 3) if is_cpu else None,
                ratio=ratio,
                cpu_ratio=ratio if is_cpu else None,
                samples=[round(value, 3) for value in contenders[name]],
            )
        )
    return table


def show(table: Sequence[Row]) -> str:
    """The rows as an aligned table."""
    head = ("work", "contender", "median", "cpu", "best cpu", "ratio", "cpu ratio")
    lines = [head]
    last = ""
    for row in table:
        work = row["work"] if row["work"] != last else ""
        last = row["work"]
        cpu = "" if row["cpu"] is None else f"{row['cpu']:,.3f} {row['unit']}"
        cpu_ratio = "" if row["cpu_ratio"] is None else f"{row['cpu_ratio']:.2f}"
        best = f"{row['best']:,.3f} {row['unit']}" if "best" in row else ""
        median = f"{row['median']:,.3f} {row['unit']}"
        lines.append((work, row["contender"], median, cpu, best, f"{row['ratio']:.2f}", cpu_ratio))
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    pieces = []
    for line in lines:
        left = [line[column].ljust(widths[column]) for column in (0, 1)]
        right = [line[column].rjust(widths[column]) for column in (2, 3, 4, 5, 6)]
        pieces.append("  ".join(left + right).rstrip())
    pieces.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(pieces)


def show_goals(goals: Sequence[Goal]) -> str:
    """The goals as lines: missed ones say so."""
    width = max(len(goal["what"]) for goal in goals)
    return "\n".join(
        f"{'met   ' if goal['is_met'] else 'MISSED'}  {goal['what'].ljust(width)}  {goal['measured']:,.2f} {goal['unit']}"
        f" (wanted: {goal['wanted']})"
        for goal in goals
    )


def at_most(what: str, value: float | None, limit: float, unit: str) -> Goal:
    """A goal with an upper limit; what was not measured misses it."""
    value = float("nan") if value is None else round(value, 2)
    return Goal(what=what, wanted=f"at most {limit:g} {unit}", measured=value, unit=unit, is_met=value <= limit)


def at_least(what: str, value: float | None, limit: float, unit: str) -> Goal:
    """A goal with a lower limit."""
    value = float("nan") if value is None else round(value, 2)
    return Goal(what=what, wanted=f"at least {limit:g} {unit}", measured=value, unit=unit, is_met=value >= limit)


def machine() -> dict[str, str | int]:
    """What the numbers were measured on."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
    }


_VERSIONS = """
import json, sys, importlib.metadata as m
have = {d.name.lower().replace("_", "-"): d.version for d in m.distributions()}
print(json.dumps({name: have.get(name, "not installed") for name in sys.argv[1:]}))
"""


def versions(peers: str, names: Sequence[str]) -> dict[str, str]:
    """Versions of ours and of these packages in the peers' environment."""
    ours = {name: metadata.version(name) for name in ("ferrule", "msgspec", "pyyaml", "jsonschema-rs", "click")}
    found = subprocess.run([peers, "-c", _VERSIONS, *names], capture_output=True, text=True, check=True).stdout
    return {**ours, **{f"peer {name}": version for name, version in json.loads(found).items()}}


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()

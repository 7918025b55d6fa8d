"""`make bench`: runs the groups, prints a table and writes bench/results.json.

python -m bench.run [--only check] [--size 10000] [--rounds 3]
python -m bench.run --only call [--rounds 3] [--calls 2000] [--million 1000000]
python -m bench.run --only together [--rounds 3] [--parallel 1000] [--queued 10000] [--megabytes 1000]
python -m bench.run --only transports [--rounds 3] [--calls 2000]
python -m bench.run --only serve [--rounds 3] [--seconds 5] [--listed 10000]
python -m bench.run --only console [--rounds 3] [--seconds 5] [--listed 10000] [--invocations 100000]
python -m bench.run --only convert [--rounds 3] [--size 10000] [--operations 1000]
python -m bench.run --only stubs [--rounds 3] [--tools 1000]

A group that is not run keeps its last results, with the machine and the versions they were measured with.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import call, check, console, convert, serve, stubs, together, transports
from bench.measure import Goal, Row, machine, show, show_goals, versions

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"


class Group(NamedTuple):
    """One group of measurements."""

    run: Callable[[check.Bench], Iterator[Row]]
    packages: Sequence[str]
    """What it compares with, by the names of the packages."""
    sizes: Sequence[str]
    """The settings of a run that say how much work it was."""
    goals: Callable[[Sequence[Row]], Iterator[Goal]] = lambda rows: iter(())
    programs: Sequence[str] = ()
    """Debian packages, each named like the program it brings, without which most of it cannot be measured."""


GROUPS = {
    "check": Group(check.run_group, check.PACKAGES, ("size", "rounds")),
    "call": Group(call.run_group, call.PACKAGES, ("calls", "million", "rounds"), call.goals),
    "together": Group(
        together.run_group, together.PACKAGES, ("parallel", "queued", "megabytes", "rounds"), together.goals
    ),
    "transports": Group(transports.run_group, transports.PACKAGES, ("calls", "rounds"), transports.goals),
    "serve": Group(serve.run_group, serve.PACKAGES, ("seconds", "listed", "rounds"), serve.goals, serve.PROGRAMS),
    "console": Group(
        console.run_group, console.PACKAGES, ("seconds", "listed", "invocations", "rounds"), console.goals
    ),
    "convert": Group(convert.run_group, convert.PACKAGES, ("operations", "size", "rounds"), convert.goals),
    "stubs": Group(stubs.run_group, stubs.PACKAGES, ("tools", "rounds"), stubs.goals),
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(GROUPS), help="run one group")
    parser.add_argument(
        "--size", type=int, default=10_000, help="tools in the main measurements of 'check' and 'convert'"
    )
    parser.add_argument("--calls", type=int, default=2000, help="calls of a batch of 'call' and of 'transports'")
    parser.add_argument("--million", type=int, default=1_000_000, help="calls after which 'call' looks at memory again")
    parser.add_argument("--parallel", type=int, default=1000, help="calls side by side in 'together'")
    parser.add_argument("--queued", type=int, default=10_000, help="calls in the queue in 'together'")
    parser.add_argument("--megabytes", type=int, default=1000, help="how much 'together' streams")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="how long each server of 'serve' is kept busy, each time"
    )
    parser.add_argument("--listed", type=int, default=10_000, help="tools in the list of 'serve' and of 'console'")
    parser.add_argument("--invocations", type=int, default=100_000, help="invocations in the ledger of 'console'")
    parser.add_argument("--operations", type=int, default=1000, help="operations of the document of 'convert'")
    parser.add_argument("--tools", type=int, default=1000, help="tools that 'stubs' writes code for")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds; the median counts")
    parser.add_argument("--peers", default=str(HERE / "peers" / ".venv" / "bin" / "python"))
    parser.add_argument("--unproven", action="store_true", help="do not insist that every planted mistake is found")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the numbers are kept")
    options = vars(parser.parse_args())
    only, file = options.pop("only"), options.pop("results")
    refuse_missing_programs(name for name in GROUPS if only in {None, name})
    bench = check.Bench(**options)
    results = json.loads(file.read_text()) if file.exists() else {}
    for name, group in GROUPS.items():
        if only in {None, name}:
            results[name] = measured(group, bench)
            file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def refuse_missing_programs(names: Iterable[str]) -> None:
    """Exits with one line when a group lacks a program, before anything is measured or written."""
    for name in names:
        for program in GROUPS[name].programs:
            if shutil.which(program) is None:
                raise SystemExit(
                    f"the group '{name}' needs {program}, which is not installed: apt-get install {program}"
                )


def measured(group: Group, bench: check.Bench) -> dict[str, Any]:
    """The results of one group, printed on the way."""
    table: list[Row] = []
    for row in group.run(bench):
        table.append(row)
        print(f"  {row['work']}: {row['contender']} {row['median']} {row['unit']}", flush=True)
    goals = list(group.goals(table))
    print(f"\n{show(table)}\n")
    if goals:
        print(f"{show_goals(goals)}\n")
    return {
        "machine": machine(),
        "versions": versions(bench.peers, group.packages),
        "how": {name: getattr(bench, name) for name in group.sizes},
        "rows": table,
        "goals": goals,
    }


if __name__ == "__main__":
    main()

"""The group `transports`: a REST tool and a PostgreSQL tool, governed and recorded, beside the bare client and driver and others.

One HTTP server in a process of its own stands behind every REST contender; PostgreSQL is the machine's. Calls one after the
other are counted in CPU of the calling process, calls with 64 in flight in calls a second. None of the others decides or records.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.call import YARDSTICK, yardstick
from bench.check import WORK, Bench
from bench.measure import Goal, Row, Sample, at_least, at_most, medians, run
from bench.peers.transports_timing import IN_FLIGHT, Ways
from bench.transports_calls import ASYNCPG, BARE, POSTGRES, REST

HERE = Path(__file__).parent
FOLDER = WORK / "transports"
PEERS = ("httpx2", "fastmcp", "utcp")
USUAL = "httpx2 alone"
PACKAGES = ("fastmcp", "mcp", "httpx2", "utcp", "utcp-http")
DATABASE = "postgresql://postgres@127.0.0.1:5432/test"
REST_CPU = "a REST call, CPU of the calling process, one after the other"
REST_RATE = f"REST calls a second, {IN_FLIGHT} in flight"
SQL_CPU = "a PostgreSQL call, CPU of the calling process, one after the other"
SQL_RATE = f"PostgreSQL calls a second, {IN_FLIGHT} in flight"
TIMES = 5.0


def run_group(bench: Bench) -> Iterator[Row]:
    """All of it."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    paces = [yardstick()]
    with upstream(bench) as port:
        database = DATABASE if _listens(5432) else ""
        if not database:
            print("  NOT MEASURED: PostgreSQL: nobody listens on its port", flush=True)
        found = _ours(bench, "bench.transports_calls", str(FOLDER / "workspace"), str(port), "--database", database)
        rest: Ways = {**found["rest"], **_peers(bench, port)}
        sql: Ways = {**found["postgres"], **(_toolbox(bench) if database else {})}
    paces.append(yardstick())
    yield from _rows("the machine itself, before and after", {YARDSTICK: paces}, "µs")
    yield from _rows(REST_CPU, {name: ways["cpu"] for name, ways in rest.items()}, "µs", is_cpu=True)
    yield from _rows(REST_RATE, {name: ways["rate"] for name, ways in rest.items()}, "/s")
    sql_cpu = {name: ways["cpu"] for name, ways in sql.items() if name in (POSTGRES, ASYNCPG)}
    yield from _rows(SQL_CPU, sql_cpu, "µs", is_cpu=True)
    yield from _rows(SQL_RATE, {name: ways["rate"] for name, ways in sql.items()}, "/s")
    shutil.rmtree(FOLDER)


@contextmanager
def upstream(bench: Bench) -> Iterator[int]:
    """The system behind the REST tools."""
    command = [bench.python, "-m", "bench.upstream"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE.parent
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.communicate("")


def _ours(bench: Bench, module: str, *words: str) -> dict[str, Any]:
    sizes = ("--calls", str(bench.calls), "--rounds", str(bench.rounds))
    sample = run([bench.python, "-m", module, *words, *sizes], env=bench.env, cwd=HERE.parent)
    if sample.code:
        sys.exit(f"our own side failed in {module}:\n{sample.output}")
    return _last_line(sample)


def _last_line(sample: Sample) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sample.output.strip().splitlines()[-1])
    return found


def _peers(bench: Bench, port: int) -> Ways:
    """Those that can be run. Who cannot is named, never guessed at."""
    found: Ways = {}
    for peer in PEERS:
        script = HERE / "peers" / f"transports_{peer}.py"
        sizes = ["--calls", str(max(bench.calls // 4, 200)), "--rounds", str(bench.rounds)]
        sample = run([bench.peers, str(script), str(port), *sizes], cwd=FOLDER)
        if sample.code:
            why = (sample.output.strip().splitlines() or ["it ended without a word"])[-1]
            print(f"  NOT MEASURED: {peer}: {why}", flush=True)
            continue
        found.update(_last_line(sample))
    return found


def _toolbox(bench: Bench) -> Ways:
    """MCP Toolbox, where npm can bring it."""
    place = HERE / "peers" / "toolbox"
    program = place / "node_modules" / "@toolbox-sdk" / "server-linux-x64" / "bin" / "toolbox"
    if not program.exists() and shutil.which("npm"):
        place.mkdir(exist_ok=True)
        run(["npm", "install", "--silent", "--no-save", "--prefix", str(place), "@toolbox-sdk/server"], cwd=place)
    if not program.exists():
        print("  NOT MEASURED: MCP Toolbox: npm could not bring it", flush=True)
        return {}
    return _ours(bench, "bench.transports_toolbox", str(program), str(FOLDER), "--database", DATABASE)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


_rows = partial(medians, "transports")


def goals(rows: Sequence[Row]) -> Iterator[Goal]:
    """What we want of these numbers, and what they are."""
    found = {(row["work"], row["contender"]): row["median"] for row in rows}
    yield at_most("a governed REST call adds", _less(found, REST_CPU, REST, BARE), 150, "µs of CPU")
    for work, ours, bare in ((REST_RATE, REST, BARE), (SQL_RATE, POSTGRES, ASYNCPG)):
        for (where, contender), rate in found.items():
            if where == work and contender in (bare, USUAL):
                yield at_least(f"{work}: of {contender}", found[work, ours] / rate * 100, 60, "%")
            elif where == work and contender != ours:
                yield at_least(f"{work}: times {contender}", found[work, ours] / rate, TIMES, "times")


def _less(found: Mapping[tuple[str, str], float], work: str, ours: str, bare: str) -> float | None:
    if (work, ours) not in found or (work, bare) not in found:
        return None
    return found[work, ours] - found[work, bare]

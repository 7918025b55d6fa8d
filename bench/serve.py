"""The group `serve`: `add(a, b)` over MCP, served by us with policy, token and ledger, and by others without.

Over HTTP wrk keeps 32 and 128 connections busy; over standard streams a raw client keeps 32 calls in flight. Every contender is
a process of its own, started anew in each round, in turn; its processor time is read from /proc, children included.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from bench import serve_contextforge, serve_ours
from bench.call import YARDSTICK, yardstick
from bench.check import Bench
from bench.measure import Goal, Row, at_least, at_most, medians
from bench.serve_contenders import (
    FOLDER,
    HTTP,
    OURS,
    OURS_ASYNC,
    OURS_SESSION,
    SDK,
    SDK_MODERN,
    SDK_STDIO,
    STDIO,
    Contender,
    Piped,
    gateway,
    ours,
    peer,
    token,
)
from bench.serve_load import IN_FLIGHT, Load, NotMeasured, Pipe, Wire, free_port, loaded, until_it_listens

PACKAGES = ("fastmcp", "mcp", "arcade-mcp-server", "uvicorn", "uvloop", "httptools", "starlette")
PROGRAMS = ("wrk",)
CONNECTIONS = (32, 128)
FIRST_ANSWERS = 10
VERSION, SESSIONED = "2026-07-28", "2025-11-25"
_JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_META: dict[str, Any] = {
    f"io.modelcontextprotocol/{name}": value
    for name, value in (("protocolVersion", VERSION), ("clientCapabilities", {}))
}
_CALL = {"name": "add", "arguments": {"a": 1, "b": 2}}
_INITIALIZE = {"protocolVersion": SESSIONED, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}

STDIO_RATE = f"stdio: calls a second, {IN_FLIGHT} in flight"
STDIO_CPU = f"stdio: CPU of the server a call, {IN_FLIGHT} in flight"
FIRST = "stdio: first answer after the start of the process"

T = TypeVar("T")


def work(what: str, connections: int) -> str:
    """The name of a measurement over HTTP."""
    return f"HTTP, {connections} connections: {what}"


RATE, CPU, P50, P99 = "calls a second", "CPU of the server a call", "p50", "p99"


def run_group(bench: Bench) -> Iterator[Row]:
    """All of it."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    serve_ours.workspace(FOLDER / "one")
    paces = [yardstick()]
    missing: dict[str, str] = {}
    yield from over_http(bench, missing)
    yield from over_stdio(bench, missing)
    yield from first_answers(bench, missing)
    yield from listed(bench, missing)
    yield from scaled(bench, missing)
    paces.append(yardstick())
    yield from _rows("the machine itself, before and after", {YARDSTICK: paces}, "µs")
    for name, why in missing.items():
        print(f"  NOT MEASURED: {name}: {why}", flush=True)
    shutil.rmtree(FOLDER)


_rows = partial(medians, "serve")


def over_http(bench: Bench, missing: dict[str, str]) -> Iterator[Row]:
    """Calls of everybody, 32 and 128 at a time."""
    with serve_contextforge.upstream() as behind:
        contenders = {**HTTP, serve_contextforge.NAME: gateway(behind)}
        try:
            serve_contextforge.installed(bench.peers)
        except NotMeasured as why:
            missing[serve_contextforge.NAME] = str(why)
        taken = _rounds(bench.rounds, missing, {name: partial(_both, bench, one) for name, one in contenders.items()})
    for index, connections in enumerate(CONNECTIONS):
        loads = {name: [both[index] for both in found] for name, found in taken.items()}
        yield from _rows(work(RATE, connections), _part(loads, "rate"), "/s")
        yield from _rows(work(CPU, connections), _part(loads, "cpu"), "µs", is_cpu=True)
        yield from _rows(work(P50, connections), _part(loads, "p50"), "ms")
        yield from _rows(work(P99, connections), _part(loads, "p99"), "ms")


def _rounds(rounds: int, missing: dict[str, str], contenders: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """Every contender once a round. One that cannot be measured is named, never guessed at."""
    taken: dict[str, list[T]] = {}
    for _ in range(rounds):
        for name, measure in contenders.items():
            try:
                if name not in missing:
                    taken.setdefault(name, []).append(measure())
            except (NotMeasured, OSError, StopIteration) as why:
                missing[name] = str(why) or type(why).__name__
                taken.pop(name, None)
    return taken


def _part(loads: Mapping[str, Sequence[Load]], part: str) -> dict[str, list[float]]:
    return {name: [getattr(load, part) for load in found] for name, found in loads.items()}


def _both(bench: Bench, contender: Contender) -> list[Load]:
    with served(bench, contender) as (wire, pid):
        script = FOLDER / "load.lua"
        return [loaded(wire, script, pid, connections=count, seconds=bench.seconds) for count in CONNECTIONS]


@contextmanager
def served(bench: Bench, contender: Contender, method: str = "tools/call") -> Iterator[tuple[Wire, int]]:
    """Somebody who serves: a request that was answered well once, and the process. Raises NotMeasured."""
    port = free_port()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        contender.start(bench, port), stdin=quiet, stdout=quiet, stderr=quiet, cwd=FOLDER, env=bench.env
    )
    try:
        until_it_listens(port, process)
        wire = _wire(contender, port, method)
        said, _ = wire.ask()
        if "result" not in said or said["result"].get("isError"):
            raise NotMeasured(f"it answered {str(said)[:200]}")
        yield wire, process.pid
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wire(contender: Contender, port: int, method: str) -> Wire:
    params: dict[str, Any] = {**_CALL, "name": contender.tool} if method == "tools/call" else {}
    headers = dict(_JSON)
    if contender.token is not None:
        headers["Authorization"] = f"Bearer {contender.token(port)}"
    if contender.era == "modern":
        named = {"Mcp-Name": params["name"]} if "name" in params else {}
        headers |= {"MCP-Protocol-Version": VERSION, "Mcp-Method": method, **named}
        return Wire(port, headers, method, {**params, "_meta": _META}, contender.path)
    if contender.era == "session":
        _, found = Wire(port, headers, "initialize", _INITIALIZE).ask()
        if "mcp-session-id" not in found:
            raise NotMeasured("initialize began no session")
        headers |= {"Mcp-Session-Id": found["mcp-session-id"], "MCP-Protocol-Version": SESSIONED}
        Wire(port, headers, "notifications/initialized", {}).tell()
    headers["MCP-Protocol-Version"] = SESSIONED
    return Wire(port, headers, method, params, contender.path)


def over_stdio(bench: Bench, missing: dict[str, str]) -> Iterator[Row]:
    """Calls over standard streams."""
    names = {name: partial(_piped, bench, one) for name, one in STDIO.items()}
    gone: dict[str, str] = {}
    taken = _rounds(bench.rounds, gone, names)
    missing.update({f"{name}, stdio": why for name, why in gone.items()})
    yield from _rows(STDIO_RATE, _part(taken, "rate"), "/s")
    yield from _rows(STDIO_CPU, _part(taken, "cpu"), "µs", is_cpu=True)


def _piped(bench: Bench, contender: Piped) -> Load:
    pipe = Pipe(contender.start(bench), FOLDER)
    try:
        params: dict[str, Any] = {**_CALL, "name": contender.tool}
        if contender.era == "modern":
            params["_meta"] = _META
        else:
            pipe.ask({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _INITIALIZE})
            pipe.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return pipe.loaded(Wire(0, {}, "tools/call", params).around, bench.seconds)
    finally:
        pipe.close()


def first_answers(bench: Bench, missing: dict[str, str]) -> Iterator[Row]:
    """From the start of the process to the answer to `initialize`, or to `server/discover`."""
    names = {name: partial(_first, bench, one) for name, one in STDIO.items() if name != OURS_ASYNC}
    gone: dict[str, str] = {}
    taken = _rounds(FIRST_ANSWERS, gone, names)
    missing.update({f"{name}, first answer": why for name, why in gone.items()})
    yield from _rows(FIRST, taken, "ms")


def _first(bench: Bench, contender: Piped) -> float:
    pipe = Pipe(contender.start(bench), FOLDER)
    try:
        is_modern = contender.era == "modern"
        method, params = ("server/discover", {"_meta": _META}) if is_modern else ("initialize", _INITIALIZE)
        pipe.ask({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return (time.perf_counter() - pipe.began) * 1e3
    finally:
        pipe.close()


def listed(bench: Bench, missing: dict[str, str]) -> Iterator[Row]:
    """`tools/list` of many tools in one answer. Those who cannot hold so many in time list a tenth."""
    count, fewer = bench.listed, max(1, bench.listed // 10)
    serve_ours.workspace(FOLDER / "many", count)
    contenders = {
        f"ferrule, {count:,} tools": Contender(ours("many"), "modern", token("many")),
        f"SDK low-level server, {fewer:,} tools": Contender(peer("mcp", "http", str(fewer)), "modern"),
        f"FastMCP, {fewer:,} tools": Contender(peer("fastmcp", "stateless", str(fewer)), "modern"),
    }
    taken = _rounds(bench.rounds, missing, {name: partial(_list, bench, one) for name, one in contenders.items()})
    yield from _rows(
        "tools/list in one answer, 4 connections: CPU of the server", _part(taken, "cpu"), "µs", is_cpu=True
    )
    yield from _rows("tools/list in one answer, 4 connections: answers a second", _part(taken, "rate"), "/s")


def _list(bench: Bench, contender: Contender) -> Load:
    with served(bench, contender, "tools/list") as (wire, pid):
        return loaded(wire, FOLDER / "load.lua", pid, connections=4, seconds=bench.seconds)


def scaled(bench: Bench, missing: dict[str, str]) -> Iterator[Row]:
    """One process and two, on the cores there are; wrk has one of them."""
    contenders = {
        f"ferrule serve --processes {count}": Contender(ours("one", "--processes", str(count)), "modern", token("one"))
        for count in (1, 2)
    }
    taken = _rounds(bench.rounds, missing, {name: partial(_both, bench, one) for name, one in contenders.items()})
    for index, connections in enumerate(CONNECTIONS):
        loads = {name: [both[index] for both in found] for name, found in taken.items()}
        yield from _rows(f"processes, {connections} connections: calls a second", _part(loads, "rate"), "/s")


def goals(rows: Sequence[Row]) -> Iterator[Goal]:
    """What we want of these numbers, and what they are."""
    found = {(row["work"], row["contender"]): row["median"] for row in rows}
    few, many = CONNECTIONS
    best = max((found.get((work(RATE, few), name), 0.0) for name in (SDK, SDK_MODERN)), default=0.0)
    for us in (OURS, OURS_SESSION):
        yield at_least(
            f"{work(RATE, few)}: {us}: times the best SDK figure",
            _over(found.get((work(RATE, few), us)), best),
            7,
            "times",
        )
        yield at_most(f"{work(CPU, few)}: {us}", found.get((work(CPU, few), us)), 75, "µs")
        spread = _over(found.get((work(P99, many), us)), found.get((work(P50, many), us), 0.0))
        yield at_most(f"{work(P99, many)}: {us}: times p50", spread, 5, "times")
    for us in (OURS, OURS_SESSION):
        sdk = found.get((STDIO_RATE, SDK_STDIO), 0.0)
        yield at_least(f"{STDIO_RATE}: {us}: times the SDK", _over(found.get((STDIO_RATE, us)), sdk), 25, "times")
        yield at_most(f"{STDIO_CPU}: {us}", found.get((STDIO_CPU, us)), 35, "µs")
        yield at_most(f"{FIRST}: {us}", found.get((FIRST, us)), 250, "ms")


def _over(value: float | None, other: float) -> float | None:
    return value / other if value is not None and other else None

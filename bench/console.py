"""The group `console`: pages of a workspace with 10,000 tools and 100,000 invocations, and what live news cost.

The server is a process of its own. First byte and whole answer are what a client beside it waits, one request at a time; CPU is
of the server's process, from /proc. Complete is what Chromium needs until a page and every part it fetches stand there: on the
clock, and as work of the server and of the browser's thread for the page. While a page is looked at, calls are made at a steady
rate.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import ferrule
from bench.call import YARDSTICK, yardstick
from bench.check import WORK, Bench
from bench.console_browser import Completed, Watched, browser, calls, complete, watched
from bench.generate import write_workspace
from bench.measure import Goal, Row, at_most, medians
from bench.serve_load import NotMeasured
from ferrule.app.surface import SurfaceHandle

PACKAGES = ("playwright",)
FOLDER = WORK / "console"
PAGES = {
    "home": "/console/",
    "catalog": "/console/catalog",
    "catalog, searched": "/console/catalog?q=invoice",
    "a tool": "/console/catalog/{tool}",
    "try it": "/console/try/{tool}",
    "inbox": "/console/inbox",
    "invocations": "/console/invocations",
    "invocations, filtered": "/console/invocations?status=failed",
    "an invocation": "/console/invocations/{call}",
    "batches": "/console/batches",
    "policy": "/console/policy",
    "agents": "/console/agents",
    "audit": "/console/audit",
}
WATCHED = ("home", "invocations", "inbox")
RATE, WAITING, AT_ONCE = 200, 50, 500
FIRST, WHOLE, CPU, COMPLETE = "first byte", "whole answer", "CPU of the server a page", "complete in Chromium"
COUNTED = "what the last hour held is counted"
WORK_OF_BOTH = "complete in Chromium: work of server and page"
LONGEST, TASKS = f"{RATE} calls a second: longest task", f"{RATE} calls a second: tasks over 50 ms"
PAUSE, SHIFT = f"{RATE} calls a second: longest wait for news", f"{RATE} calls a second: layout shift"
_FUNCTIONS = '''
import ferrule


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True, inline=True)
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    if a < 0:
        raise ferrule.ToolFailed("only numbers above zero")
    return a + b


@ferrule.tool(destructive=True)
def wipe(a: int) -> int:
    """Wipe a number, after a person said so."""
    return a
'''
_POLICY = '[[rules]]\nid = "sums"\ndecision = "allow"\ntool = "add"\n\n[[rules]]\nid = "wipes"\ndecision = "ask"\ntool = "wipe"\n'
_LOOK_SECONDS, _IDLE_SHARE = 0.5, 0.02
_rows = partial(medians, "console")


class Times(NamedTuple):
    """One request of a page."""

    first: float
    """Milliseconds."""
    whole: float
    cpu: float


class Server(NamedTuple):
    """A real one."""

    url: str
    pid: int
    owner: str
    agent: str

    def cpu(self) -> float:
        """Milliseconds of processor time of all its threads, so far."""
        nanoseconds = 0
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            nanoseconds += int((task / "schedstat").read_text().split()[0])
        return nanoseconds / 1e6


def run_group(bench: Bench) -> Iterator[Row]:
    """All of it."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    paces = [yardstick()]
    _written(bench.listed)
    asyncio.run(_filled(bench.invocations))
    with _serving(bench) as server:
        client = Client(server)
        yield from _rows(COUNTED, {"after the first look": [_quiet(client, server)]}, "ms")
        addresses = client.addresses()
        yield from _answered(bench, client, addresses)
        try:
            with browser(server.url, server.owner) as page:
                yield from _shown(bench, server, page, addresses)
                yield from _live(bench, server, page, addresses)
        except NotMeasured as why:
            print(f"  NOT MEASURED: in a browser: {why}", flush=True)
    paces.append(yardstick())
    yield from _rows("the machine itself, before and after", {YARDSTICK: paces}, "µs")
    shutil.rmtree(FOLDER)


def _written(tools: int) -> None:
    write_workspace(FOLDER, "aml", tools, faulty_percent=0)
    (FOLDER / "functions.py").write_text(_FUNCTIONS)
    (FOLDER / "policy.toml").write_text(_POLICY)
    (FOLDER / "ferrule.toml").write_text('namespace = "bench"\n[functions]\nmodules = ["functions.py"]\n')


async def _filled(invocations: int) -> None:
    """Make calls that succeed, fail, and wait for a person."""
    async with ferrule.open(FOLDER) as app:
        handles = [app.surface(principal=name) for name in ("ann", "bob", "cleo")]
        for begin in range(0, invocations - WAITING, AT_ONCE):
            numbers = range(begin, min(begin + AT_ONCE, invocations - WAITING))
            await asyncio.gather(*(_called(handles[number % 3], number) for number in numbers))
        for number in range(WAITING):
            await handles[0].call("wipe", {"a": number})
        await app.store.flush()


async def _called(handle: SurfaceHandle, number: int) -> None:
    await handle.call("add", {"a": -1 if number % 20 == 0 else number, "b": 1})


@contextmanager
def _serving(bench: Bench) -> Iterator[Server]:
    words = [bench.python, "-m", "ferrule", "serve", "--workspace", str(FOLDER), "--port", "0", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        keys = FOLDER / ".ferrule" / "keys"
        owner, agent = ((keys / f"{name}.token").read_text().strip() for name in ("owner", "agent"))
        yield Server(told["url"], process.pid, owner, agent)
    finally:
        process.terminate()
        process.wait(60)


class Client:
    """Somebody signed in, over one connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        split = urlsplit(server.url)
        self._connection = http.client.HTTPConnection(split.hostname or "", split.port, timeout=120)
        self._cookie = ""
        form = urlencode({"token": server.owner})
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request("POST", "/console/login", form, headers)
        answer = self._connection.getresponse()
        answer.read()
        self._cookie = str(answer.headers["set-cookie"]).partition(";")[0]

    def get(self, address: str) -> tuple[int, bytes, float, float]:
        """Status, body, and milliseconds until the first and the last byte."""
        began = time.perf_counter()
        self._connection.request("GET", address, headers={"Cookie": self._cookie})
        answer = self._connection.getresponse()
        first = time.perf_counter()
        body = answer.read()
        return answer.status, body, 1e3 * (first - began), 1e3 * (time.perf_counter() - began)

    def addresses(self) -> dict[str, str]:
        """The pages that are there, with a tool and a call of this workspace."""
        tool = self._link("/console/catalog", r'"/console/catalog/([^"?#]+)"')
        call = self._link("/console/invocations", r'"/console/invocations/(inv_[^"?#]+)"')
        named = {name: address.format(tool=tool, call=call) for name, address in PAGES.items()}
        return {name: address for name, address in named.items() if self.get(address)[0] == 200}

    def _link(self, page: str, pattern: str) -> str:
        found = re.search(pattern, self.get(page)[1].decode())
        return found[1] if found else ""

    def times(self, address: str) -> Times:
        """One request, and the work of the server for it."""
        before = self._server.cpu()
        status, _, first, whole = self.get(address)
        assert status == 200, f"{address}: {status}"
        return Times(first, whole, self._server.cpu() - before)


def _quiet(client: Client, server: Server) -> float:
    """Let the server count what the last hour held, which it does beside its pages; gives the milliseconds until it is done."""
    began = time.perf_counter()
    client.get(PAGES["home"])
    while True:
        before, moment = server.cpu(), time.perf_counter()
        time.sleep(_LOOK_SECONDS)
        if server.cpu() - before < _IDLE_SHARE * 1e3 * (time.perf_counter() - moment):
            return 1e3 * (moment - began)


def _answered(bench: Bench, client: Client, addresses: Mapping[str, str]) -> Iterator[Row]:
    taken: dict[str, list[Times]] = {name: [] for name in addresses}
    for turn in range(10 * bench.rounds + 1):
        for name, address in addresses.items():
            times = client.times(address)
            if turn:  # the first finds nothing ready
                taken[name].append(times)
    yield from _rows(FIRST, {name: [one.first for one in found] for name, found in taken.items()}, "ms")
    yield from _rows(WHOLE, {name: [one.whole for one in found] for name, found in taken.items()}, "ms")
    cpu = {name: [one.cpu for one in found] for name, found in taken.items()}
    yield from _rows(CPU, cpu, "ms", is_cpu=True)


def _shown(bench: Bench, server: Server, page: Any, addresses: Mapping[str, str]) -> Iterator[Row]:
    taken: dict[str, list[Completed]] = {name: [] for name in addresses}
    for turn in range(2 * bench.rounds + 1):
        for name, address in addresses.items():
            before = server.cpu()
            wall, busy = complete(page, server.url + address)
            if turn:
                taken[name].append(Completed(wall, busy + server.cpu() - before))
    yield from _rows(COMPLETE, {name: [one.wall for one in found] for name, found in taken.items()}, "ms")
    work = {name: [one.busy for one in found] for name, found in taken.items()}
    yield from _rows(WORK_OF_BOTH, work, "ms", is_cpu=True)


def _live(bench: Bench, server: Server, page: Any, addresses: Mapping[str, str]) -> Iterator[Row]:
    seen: dict[str, Watched] = {}
    for name in (each for each in WATCHED if each in addresses):
        seen[name] = watched(page, server.url + addresses[name], partial(_traffic, bench, server, page))
    yield from _rows(LONGEST, {name: [one.longest_task] for name, one in seen.items()}, "ms")
    yield from _rows(TASKS, {name: [float(one.long_tasks)] for name, one in seen.items()}, "")
    yield from _rows(PAUSE, {name: [one.longest_pause] for name, one in seen.items()}, "ms")
    yield from _rows(SHIFT, {name: [one.shift] for name, one in seen.items()}, "")


def _traffic(bench: Bench, server: Server, page: Any) -> None:
    seconds = 2 * bench.seconds
    made = calls(server.url, server.agent, "add", RATE, seconds, pause=page.wait_for_timeout)
    assert made >= 0.9 * RATE * seconds, f"only {made} of {RATE * seconds:g} calls could be made"


def goals(table: Sequence[Row]) -> Iterator[Goal]:
    """What was wished for."""
    for row in table:
        what = f"{row['contender']}: {row['work']}"
        if row["work"] == FIRST:
            yield at_most(what, row["median"], 50, "ms")
        elif row["work"] == WORK_OF_BOTH:
            yield at_most(what, row["median"], 300, "ms")
        elif row["work"] == LONGEST:
            yield at_most(what, row["median"], 50, "ms")
        elif row["work"] == SHIFT:
            yield at_most(what, row["median"], 0.01, "")

"""A server at a steady rate, with clients of every kind that come and go: nothing is left of them when they have gone.

A few seconds; with FERRULE_SOAK ten minutes (or FERRULE_SOAK_SECONDS of them), and memory has to stay within 5 %.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

from tests import ROOT
from tests.servers.running import WAIT_SECONDS, Held, held, workspace
from tests.servers.soak.clients import Load
from tests.servers.soak.server import Watched, counts, watched

IS_LONG = bool(os.environ.get("FERRULE_SOAK"))
SECONDS = float(os.environ.get("FERRULE_SOAK_SECONDS", "600" if IS_LONG else "5"))
WARM_SECONDS = 120.0 if IS_LONG else 4.0
GROWTH = 1.05 if IS_LONG else 1.25
"""In a few seconds not everything is warm; what leaks with every request shows all the same."""
POOL = 1 if IS_LONG else 8
"""Pools of threads grow to their size when they are needed; in a few seconds that may be later."""
THREADS, PAUSE = (6, 0.03) if IS_LONG else (4, 0.05)
COME_AND_GO = ("connections", "requests", "sessions", "streams", "tasks", "conversations")
TOML = "[serve.mcp]\nwait_seconds = 0\n"


def at_rest(server: Watched, most: dict[str, int] | None = None) -> dict[str, int]:
    """What is there when everybody has gone: no more than there was, as soon as the last ones were noticed."""
    end = time.monotonic() + WAIT_SECONDS
    found = server.inside()
    while time.monotonic() < end:
        found = server.inside()
        is_empty = not found["connections"] and not found["sessions"] and not found["streams"]
        if is_empty and (most is None or all(found[name] <= most[name] for name in COME_AND_GO)):
            return found
        time.sleep(0.1)
    raise AssertionError(f"{found} is left, of {most}")


def warmed(server: Watched) -> dict[str, int]:
    """What is there when all is warm: what is remembered of runs fills up as they come, on a busy machine more slowly."""
    seeds = count(1000, THREADS)
    Load(server, next(seeds), THREADS, PAUSE).run(WARM_SECONDS)
    inside, remembered = at_rest(server), 0
    while IS_LONG and inside["surfaces"] > remembered * 1.01:
        remembered = inside["surfaces"]
        Load(server, next(seeds), THREADS, PAUSE).run(WARM_SECONDS)
        inside = at_rest(server)
    return inside


def demand_no_growth(before: Held, after: Held) -> None:
    assert after.files <= before.files + 2, (before, after)
    assert after.threads <= before.threads + POOL, (before, after)
    assert after.children == before.children, (before, after)
    assert after.kilobytes <= before.kilobytes * GROWTH, f"memory grew: {before} {after}"


def test_over_http_nothing_is_left_of_clients(tmp_path: Path) -> None:
    with watched(workspace(tmp_path, TOML)) as server:
        inside = warmed(server)
        before = server.held()
        load = Load(server, 2, THREADS, PAUSE)
        load.run(SECONDS)
        after_inside = at_rest(server, inside)
        after = server.held()
        print(f"{load.count} conversations; {before} {inside}; {after} {after_inside}")
        assert load.count > SECONDS
        demand_no_growth(before, after)
        if IS_LONG:
            assert after_inside["objects"] <= inside["objects"] * GROWTH, (inside, after_inside)
        assert server.stop() == 0
        assert not server.complaints()


class Piped:
    """A server over standard streams with a client that keeps asking."""

    def __init__(self, folder: Path) -> None:
        self.counts = folder / "counts.json"
        self.log = folder / "stdio.log"
        module = [sys.executable, "-m", "tests.servers.soak.watched", str(self.counts)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*module, "serve", "--stdio", "--workspace", str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
            )
        self._number = 0

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self.say({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        while True:
            said = json.loads(self.process.stdout.readline())
            if said.get("id") == self._number and "method" not in said:
                return said["result"]
            if said.get("method") == "elicitation/create":
                self.say({"jsonrpc": "2.0", "id": said["id"], "result": {"action": "decline"}})

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def work(self, seconds: float) -> int:
        """Everything in turn, at a steady rate."""
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            assert self.ask("tools/call", {"name": "add", "arguments": {"a": count, "b": 1}})["content"]
            if count % 10 == 0:
                assert self.ask("tools/list", {})["tools"]
                nap = {"name": "nap", "arguments": {"seconds": 0.01}, "_meta": {"progressToken": count}}
                assert self.ask("tools/call", nap)["content"]
                assert self.ask("tools/call", {"name": "ask", "arguments": {"what": "?"}})["content"]
                slow = {"jsonrpc": "2.0", "id": f"s{count}", "method": "tools/call"}
                self.say({**slow, "params": {"name": "nap", "arguments": {"seconds": 5}}})
                self.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": f"s{count}"}})
            count += 1
            time.sleep(0.005)
        return count


def test_over_a_pipe_nothing_is_left_of_requests(tmp_path: Path) -> None:
    piped = Piped(workspace(tmp_path, TOML))
    watchdog = threading.Timer(SECONDS + WARM_SECONDS + 60, piped.process.kill)
    watchdog.start()
    try:
        client = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "t", "version": "1"},
        }
        piped.ask("initialize", client)
        piped.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        piped.work(WARM_SECONDS / 2)
        idle = _quiet(piped, None)
        before = held(piped.process.pid)
        assert piped.work(SECONDS / 2) > SECONDS
        _quiet(piped, idle)
        demand_no_growth(before, held(piped.process.pid))
        assert piped.process.stdin is not None
        piped.process.stdin.close()
        assert piped.process.wait(WAIT_SECONDS) == 0
    finally:
        watchdog.cancel()
        watchdog.join()
        piped.process.kill()
        piped.process.wait()
        for stream in (piped.process.stdin, piped.process.stdout):
            if stream is not None:
                stream.close()
    assert not any(mark in piped.log.read_text() for mark in ("Traceback", "ERROR")), piped.log.read_text()


def _quiet(piped: Piped, most: dict[str, int] | None) -> dict[str, int]:
    """What is there when nothing is being answered any more."""
    end = time.monotonic() + WAIT_SECONDS
    found: dict[str, int] = {}
    last: dict[str, int] = {}
    while time.monotonic() < end:
        last, found = found, counts(piped.process.pid, piped.counts)
        if (found == last) if most is None else all(found[name] <= most[name] for name in COME_AND_GO):
            return found
        time.sleep(0.2)
    raise AssertionError(f"{found} is left, of {most}")

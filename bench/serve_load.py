"""Load for the group `serve`: wrk over HTTP, a raw client over standard streams, and what the server's processes took of the
processor meanwhile. Knows nothing of who serves."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

IN_FLIGHT = 32
_TICKS = os.sysconf("SC_CLK_TCK")
_START_SECONDS = 120.0
_SCRIPT = """
wrk.method = "POST"
{headers}
local count = 0
request = function()
   count = count + 1
   return wrk.format(nil, nil, nil, [==[{before}]==] .. count .. [==[{after}]==])
end
done = function(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format('\\n{{"requests": %d, "micros": %d, "p50": %d, "p99": %d, "bad": %d}}\\n', summary.requests,
      summary.duration, latency:percentile(50), latency:percentile(99),
      errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""


class NotMeasured(Exception):
    """Somebody who cannot be measured, and why."""


class Load(NamedTuple):
    """What a server did under load."""

    rate: float
    """Calls a second."""
    cpu: float
    """Microseconds of processor time of the server's processes, a call."""
    p50: float = 0.0
    """Milliseconds."""
    p99: float = 0.0


class Wire(NamedTuple):
    """A request over HTTP, without its id."""

    port: int
    headers: Mapping[str, str]
    method: str
    params: dict[str, Any]
    path: str = "/mcp"

    @property
    def around(self) -> tuple[str, str]:
        """Its body before and after the id."""
        rest = json.dumps({"method": self.method, "params": self.params}, separators=(",", ":"))
        return '{"jsonrpc":"2.0","id":', "," + rest[1:]

    def ask(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Send it once; gives the response and the headers of the answer."""
        before, after = self.around
        request = Request(f"http://127.0.0.1:{self.port}{self.path}", f"{before}1{after}".encode(), dict(self.headers))
        try:
            with urlopen(request, timeout=_START_SECONDS) as answer:
                text = answer.read().decode()
                found = {name.lower(): value for name, value in answer.headers.items()}
        except HTTPError as error:
            raise NotMeasured(f"HTTP {error.code}: {error.read()[:200]!r}") from None
        if found.get("content-type", "").startswith("text/event-stream"):
            text = next(line[5:] for line in reversed(text.splitlines()) if line.startswith("data:") and len(line) > 6)
        return (json.loads(text) if text else {}), found

    def tell(self) -> None:
        """Send it as a notification."""
        body = json.dumps({"jsonrpc": "2.0", "method": self.method}).encode()
        urlopen(Request(f"http://127.0.0.1:{self.port}{self.path}", body, dict(self.headers)), timeout=30).close()


def wrk(wire: Wire, script: Path, *, connections: int, seconds: float) -> dict[str, float]:
    """A run of wrk, with one thread: the machine's other cores are the server's."""
    before, after = wire.around
    headers = "\n".join(f'wrk.headers["{name}"] = [==[{value}]==]' for name, value in wire.headers.items())
    script.write_text(_SCRIPT.format(headers=headers, before=before, after=after))
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "30s", "-s", str(script)]
    ended = subprocess.run([*words, f"http://127.0.0.1:{wire.port}{wire.path}"], capture_output=True, text=True)
    try:
        found: dict[str, float] = json.loads(ended.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise NotMeasured(f"wrk said: {(ended.stdout + ended.stderr)[-300:]}") from None
    if found["bad"]:
        raise NotMeasured(f"{found['bad']:g} requests failed, {found['requests']:g} did not")
    return found


def loaded(wire: Wire, script: Path, pid: int, *, connections: int, seconds: float) -> Load:
    """A server under load over HTTP, after a moment of warming up. One that answers nobody in time is given longer, once."""
    wrk(wire, script, connections=connections, seconds=min(1.0, seconds))
    for patience in (1, 4):
        before = cpu_seconds(pid)
        found = wrk(wire, script, connections=connections, seconds=patience * seconds)
        taken, calls = cpu_seconds(pid) - before, found["requests"]
        if calls:
            return Load(calls / found["micros"] * 1e6, taken / calls * 1e6, found["p50"] / 1e3, found["p99"] / 1e3)
    raise NotMeasured(f"no request was answered in {patience * seconds:g} seconds")


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and of all its descendants, those that have ended included."""
    total = 0.0
    for one in [pid, *descendants(pid)]:
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / _TICKS
    return total


def descendants(pid: int) -> list[int]:
    """The processes below a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def free_port() -> int:
    """A port that nobody listens on, at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def until_it_listens(port: int, process: subprocess.Popen[Any]) -> None:
    """Wait until somebody can connect. Raises NotMeasured when the process ends before."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            raise NotMeasured(f"it ended with code {process.returncode} before it listened")
        time.sleep(0.05)
    raise NotMeasured("it never listened")


class Pipe:
    """A server over standard streams, and a client that never waits for one answer before it asks the next."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, bufsize=0
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._to, self._from = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._rest = b""

    def say(self, message: dict[str, Any]) -> None:
        """One line."""
        os.write(self._to, json.dumps(message).encode() + b"\n")

    def lines(self) -> list[bytes]:
        """The lines that have come, at least one. Raises NotMeasured at the end, or when nothing comes."""
        while True:
            if not select.select([self._from], [], [], 60)[0]:
                raise NotMeasured("it does not answer")
            data = os.read(self._from, 1 << 18)
            if not data:
                raise NotMeasured("it ended")
            *lines, self._rest = (self._rest + data).split(b"\n")
            if lines:
                return lines

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """One request and its response."""
        self.say(message)
        while True:
            for line in self.lines():
                said: dict[str, Any] = json.loads(line)
                if said.get("id") == message["id"]:
                    return said

    def loaded(self, around: tuple[str, str], seconds: float) -> Load:
        """Calls with so many in flight, for a while, after warming up."""
        before, after = (part.encode() for part in around)
        number = 1000
        number = self._keep(before, after, number, min(1.0, seconds))[0]
        cpu, clock = cpu_seconds(self.process.pid), time.perf_counter()
        _, calls = self._keep(before, after, number, seconds)
        taken = time.perf_counter() - clock
        return Load(calls / taken, (cpu_seconds(self.process.pid) - cpu) / calls * 1e6)

    def _keep(self, before: bytes, after: bytes, number: int, seconds: float) -> tuple[int, int]:
        """Keep so many in flight; gives the next free id, and how many were answered."""
        until = time.perf_counter() + seconds
        asked = number + IN_FLIGHT
        os.write(self._to, b"".join(b"%b%d%b\n" % (before, one, after) for one in range(number, asked)))
        open_calls, answered = IN_FLIGHT, 0
        while open_calls:
            lines = self.lines()
            if b'"error"' in lines[-1]:
                raise NotMeasured(f"a call failed: {lines[-1][:200]!r}")
            came = len(lines)
            answered += came
            open_calls -= came
            if time.perf_counter() < until:
                os.write(self._to, b"".join(b"%b%d%b\n" % (before, one, after) for one in range(asked, asked + came)))
                asked += came
                open_calls += came
        return asked, answered

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

"""Hooks and guardrails that mean no good: whatever they answer, the call is blocked with a clear word, soon, in little memory.

A real workspace with hooks as programs and addresses, and guardrails over both (AT-158, promise 10).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.opening import open_app
from ferrule.model.result import Result
from ferrule.model.story import Story
from ferrule.runtime.functions import tool

RAN: list[str] = []
DEADLINE = 0.6
SECRET = "a secret that signs questions"
DEEP = 100_000

PROGRAMS = {
    "floods": "while True: sys.stdout.write('x' * 1_000_000)",
    "floods its errors": "while True: sys.stderr.write('x' * 1_000_000)",
    "floods slowly": "while True: sys.stdout.write('x'); sys.stdout.flush(); time.sleep(0.01)",
    "says a hundred megabytes": "sys.stdout.write(json.dumps({'messages': ['x' * 100_000_000]}))",
    "nests": f"sys.stdout.write('[' * {DEEP})",
    "nests in a field": f"sys.stdout.write('{{\"updated_input\": {{\"city\": ' + '[' * {DEEP} + ']' * {DEEP} + '}}}}')",
    "nests context": f"sys.stdout.write('{{\"additional_context\": [{{\"a\": ' + '[' * {DEEP} + ']' * {DEEP} + '}}]}}')",
    "never reads": "time.sleep(60)",
    "closes its input": "sys.stdin.close(); os.close(1); time.sleep(60)",
    "leaves children": "os.fork() or time.sleep(60); sys.exit(0)",
    "ends by a signal": "os.kill(os.getpid(), 9)",
    "ends with a code": "print('{}'); sys.exit(7)",
    "tells a million steps": "sys.stdout.write('{\"progress\": [' + ','.join(['{}'] * 300_000) + ']}')",
    "says nothing": "pass",
    "says no JSON": "print('yes')",
    "says two answers": "print('{}{}')",
    "says no UTF-8": 'sys.stdout.buffer.write(b\'{"stop": "\\xff\\xfe"}\')',
}
ANSWERS: dict[str, Any] = {
    "a list": [], "a text": "allow", "a number": 1, "null": None, "true": True,
    "an unknown word": {"permission": "yes"}, "an unknown field": {"stopp": "x"}, "a stop that is a list": {"stop": ["x"]},
    "messages that are a text": {"messages": "x"}, "messages that are numbers": {"messages": [1]},
    "context that is an object": {"additional_context": {"type": "text"}}, "context that is texts": {"additional_context": ["x"]},
    "progress that is impossible": {"progress": [{"percent": 1e9}]}, "progress in words": {"progress": [{"percent": "x"}]},
    "an input that is a list": {"updated_input": [1]}, "an input that does not fit": {"updated_input": {"town": 1}},
    "a huge number": {"updated_input": {"city": 10**400}}, "an output too early": {"updated_output": "x"},
    "a code that is a number": {"stop": "x", "stop_code": 5},
}  # fmt: skip
ADDRESSES = ("redirect", "endless", "drip", "chunks", "length", "interim", "nothing", "gzip", "status", "close")


@tool(read_only=True)
async def look(city: str) -> str:
    """Looks."""
    RAN.append(city)
    return f"seen {city}"


class _Hostile(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        with suppress(OSError):
            getattr(self, f"_{self.path.strip('/')}")()
        self.close_connection = True

    def _redirect(self) -> None:
        self.wfile.write(b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\n{}")

    def _endless(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            self.wfile.write(b"x" * 65_536)

    def _drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.05)

    def _chunks(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            self.wfile.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")

    def _length(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}")

    def _interim(self) -> None:
        while True:
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _nothing(self) -> None:
        time.sleep(DEADLINE + 2)

    def _gzip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00")

    def _status(self) -> None:
        self.wfile.write(b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}")

    def _close(self) -> None:
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # so the parent names it
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked went away."""


@contextmanager
def hostile() -> Iterator[int]:
    server = _Server(("127.0.0.1", 0), _Hostile)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join(10)
        server.socket.close()


def asked(root: Path, settings: str, count: int = 1) -> list[Result]:
    """How calls end that a workspace's hooks look at; with the time and the memory that took in bounds."""
    (root / "ferrule.toml").write_text(f'[network]\nallow = ["127.0.0.1"]\n[policy]\nmode = "trusted"\n{settings}')
    RAN.clear()

    async def story() -> list[Result]:
        async with open_app(root, tools=[look], environment=os.environ | {"HOOK_SECRET": SECRET}) as app:
            tracemalloc.start()
            began = time.monotonic()
            try:
                results = [await app.surface(principal="ann").call("look", {"city": "Bern"}) for _ in range(count)]
                took, (_, most) = time.monotonic() - began, tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert took < count * (DEADLINE + 8), "nothing hangs"
            assert most < 64 * 1024**2, "nothing is held that was not asked for"
            for result in results:
                assert isinstance(result, Result)
                story = Story(await app.store.rows_of(result.invocation_id))
                assert story.hooks, "it is on record"
            return results  # type: ignore[return-value]  # looked at above

    return asyncio.run(asyncio.wait_for(story(), 60))


def check_blocked(result: Result) -> None:
    """It did not run, and the message says whose fault that is."""
    assert RAN == []
    assert result.error is not None
    assert result.error.error_class in ("hook_blocked", "schema_validation_failed", "invalid_arguments"), result.error
    assert "'guard'" in result.error.message or "guard" in result.error.message
    assert len(result.error.message) < 1000


def program(root: Path, text: str) -> str:
    file = root / "hook.py"
    file.write_text(f"import json, os, sys, time\n{text}\n")
    return json.dumps([sys.executable, "-S", "hook.py"])


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_program(tmp_path: Path, what: str) -> None:
    command = program(tmp_path, PROGRAMS[what])
    (result,) = asked(
        tmp_path,
        f'[[hooks]]\nid = "guard"\nevent = "pre_tool_use"\nkind = "command"\ncommand = {command}\n'
        f"timeout_seconds = {DEADLINE}\n",
    )
    check_blocked(result)


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_of_another_kind(tmp_path: Path, what: str) -> None:
    command = program(tmp_path, f"print({json.dumps(ANSWERS[what])!r})")
    (result,) = asked(
        tmp_path,
        f'[[hooks]]\nid = "guard"\nevent = "pre_tool_use"\nkind = "command"\ncommand = {command}\ntimeout_seconds = 5\n',
    )
    check_blocked(result)


@pytest.mark.parametrize("what", ADDRESSES)
def test_an_address(tmp_path: Path, what: str) -> None:
    with hostile() as port:
        (result,) = asked(
            tmp_path,
            f'[[hooks]]\nid = "guard"\nevent = "pre_tool_use"\nkind = "http"\nurl = "http://127.0.0.1:{port}/{what}"\n'
            f'secret_env = "HOOK_SECRET"\ntimeout_seconds = {DEADLINE}\n',
        )
    check_blocked(result)


@pytest.mark.parametrize("what", ["floods", "nests in a field", "never reads", "says no JSON", "tells a million steps"])
def test_a_guardrail_as_a_program(tmp_path: Path, what: str) -> None:
    command = program(tmp_path, PROGRAMS[what])
    (result,) = asked(
        tmp_path,
        f'[[guardrails]]\nid = "guard"\nat = ["tool_input"]\nkind = "command"\ncommand = {command}\n'
        f"timeout_seconds = {DEADLINE}\n",
    )
    check_blocked(result)


@pytest.mark.parametrize("what", ["endless", "redirect", "nothing"])
def test_a_guardrail_at_an_address(tmp_path: Path, what: str) -> None:
    with hostile() as port:
        (result,) = asked(
            tmp_path,
            f'[[guardrails]]\nid = "guard"\nat = ["tool_input"]\nkind = "http"\nurl = "http://127.0.0.1:{port}/{what}"\n'
            f'secret_env = "HOOK_SECRET"\ntimeout_seconds = {DEADLINE}\n',
        )
    check_blocked(result)


@pytest.mark.parametrize("what", ["floods", "nests", "never reads", "tells a million steps", "ends by a signal"])
def test_a_program_after_the_tool_spoils_nothing_but_says_so(tmp_path: Path, what: str) -> None:
    """AT-158: the tool did its work; what it gave is kept, and the result says that a hook failed."""
    command = program(tmp_path, PROGRAMS[what])
    (result,) = asked(
        tmp_path,
        f'[[hooks]]\nid = "guard"\nevent = "post_tool_use"\nkind = "command"\ncommand = {command}\n'
        f"timeout_seconds = {DEADLINE}\n",
    )
    assert RAN == ["Bern"]
    assert result.status == "partial_succeeded"
    assert result.error is not None and result.error.error_code == "post_hook_failed"
    assert result.content[0]["text"] == "seen Bern"

"""The API over real connections to a real server: bodies and none, streams, and ranges."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ferrule.servers.api.openapi import build_openapi
from tests.servers.local_server import WAIT_SECONDS, ServerProcess, running_process

_GZIP = {"Transfer_Encoding": "gzip, chunked"}
TOML = '[functions]\nmodules = ["tools.py"]\n[results]\nmax_inline_chars = 1000\n'
TOOLS = '''
import ferrule


@ferrule.tool(read_only=True)
def report(size: int) -> str:
    """Write a report."""
    return "0123456789" * (size // 10)


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"
'''


@contextmanager
def connected(server: ServerProcess, secret: str) -> Iterator[Any]:
    """A way to ask over one connection."""
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=WAIT_SECONDS)

    def ask(method: str, path: str, body: Any = None, **headers: str) -> http.client.HTTPResponse:
        said = {"Authorization": f"Bearer {secret}", **{name.replace("_", "-"): text for name, text in headers.items()}}
        if body is not None:
            said["Content-Type"] = "application/json"
        connection.request(method, path, None if body is None else json.dumps(body), said)
        return connection.getresponse()

    try:
        yield ask
    finally:
        connection.close()


def event(stream: http.client.HTTPResponse) -> dict[str, str]:
    """The next event of a stream."""
    found: dict[str, str] = {}
    while line := stream.readline().decode().rstrip("\n"):
        name, _, value = line.partition(": ")
        found[name] = value
    return found


def test_the_api_over_a_wire(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text(TOML)
    (tmp_path / "tools.py").write_text(TOOLS)
    with running_process(tmp_path) as server:
        agent, owner = server.token(tmp_path), server.token(tmp_path, "owner.token")
        with connected(server, agent) as ask:
            whole = ask("GET", "/v1/tools")
            body = whole.read()
            headed = ask("HEAD", "/v1/tools")
            assert (headed.status, headed.read(), headed.headers["content-length"]) == (200, b"", str(len(body)))
            same = ask("GET", "/v1/tools", If_None_Match=whole.headers["etag"])
            assert (same.status, same.read()) == (304, b"")
            state = json.loads(ask("POST", "/v1/calls", {"tool": "report", "arguments": {"size": 3_000_000}}).read())
            path = f"/v1/calls/{state['invocation_id']}/payloads/0"
            assert ask("GET", path).read() == b"0123456789" * 300_000
            part = ask("GET", path, Range="bytes=5-14")
            assert (part.status, part.read(), part.headers["content-length"]) == (206, b"5678901234", "10")
            lost = ask("HEAD", path)
            assert (lost.status, lost.read()) == (200, b"")
        with connected(server, agent) as ask, connected(server, owner) as approve:
            stream = ask("POST", "/v1/calls", {"tool": "pay", "arguments": {"amount": 5}}, Accept="text/event-stream")
            first = event(stream)
            assert first["event"] == "call"
            place = json.loads(first["data"])
            seen = event(stream)
            stream.close()
        with connected(server, agent) as ask, connected(server, owner) as approve:
            again = ask("GET", place["events"], Last_Event_ID=seen["id"])
            approved = approve("POST", f"/v1/approvals/{place['invocation_id']}/approve")
            assert (approved.status, json.loads(approved.read())["state"]) == (200, "approved")
            last = event(again)
            while last["event"] != "result":
                last = event(again)
            assert json.loads(last["data"])["result"]["content"][0]["text"] == "paid 5"
            assert again.read() == b""


def test_what_never_becomes_a_request_is_a_problem_that_the_document_knows(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    responses = build_openapi()["paths"]["/v1/tools"]["get"]["responses"]
    with running_process(tmp_path) as server:
        for status, query, headers in ((414, "a" * 33_000, {}), (431, "", {"X": "a" * 40_000}), (501, "", _GZIP)):
            with connected(server, server.token(tmp_path)) as ask:
                answer = ask("GET", f"/v1/tools?{query}", **headers)
                problem = json.loads(answer.read())
                assert (answer.status, problem["status"]) == (status, status)
                assert (answer.headers["Content-Type"], str(status) in responses) == ("application/problem+json", True)
                assert problem["request_id"] == answer.headers["X-Request-Id"]


def test_a_method_that_nobody_knows_is_not_allowed_where_there_is_something(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    with running_process(tmp_path) as server, connected(server, server.token(tmp_path)) as ask:
        for method in ("FOO", "get", "PROPFIND"):
            answer = ask(method, "/v1/tools")
            assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
            assert json.loads(answer.read())["code"] == "method_not_allowed"
            assert ask(method, "/v1/nothing").status == 404
            mcp = ask(method, "/mcp")
            assert (mcp.status, "POST" in mcp.headers["Allow"]) == (405, True)

"""Attacks on a served workspace by somebody who has a credential: to learn, to run or to break what is not theirs."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.model.approval import APPROVE, CALL, Identity
from ferrule.model.serving import JwtSettings, ServeSettings
from ferrule.servers.asgi import HttpAnswer, HttpRequest
from ferrule.servers.auth.callers import Caller
from ferrule.servers.binding import find_bind_problem
from ferrule.servers.mcp.transports.session_ids import FOLDER, SessionIds
from tests.contracts.transports.fake_upstream import aml
from tests.driven import driven
from tests.servers.api.api import api
from tests.servers.local_server import running_server


@driven
async def test_a_key_does_not_tell_that_a_hidden_tool_is_there(tmp_path: Path) -> None:
    """A key makes two calls one. For a tool that the caller may not know of it makes none of that, as for one that is not."""
    async with api(tmp_path) as here:
        for tool in ("secret_tool", "absent_tool"):
            first, second = [await here.call("ada", tool, {}, Idempotency_Key="one") for _ in range(2)]
            other = await here.call("ada", tool, {"x": 1}, Idempotency_Key="one")
            assert [reply.status for reply in (first, second, other)] == [404] * 3
            assert first.json()["invocation_id"] != second.json()["invocation_id"]
            together = {"calls": [{"tool": tool, "idempotency_key": "two"} for _ in range(2)]}
            batch = (await here.ask("ada", "POST", "/v1/batches", together)).json()
            assert len({call["invocation_id"] for call in batch["calls"]}) == 2


def test_ending_sessions_costs_the_same_however_many_were_ended(tmp_path: Path) -> None:
    """Whoever begins and ends sessions without end does not make every next one dearer, and leaves nothing behind for good."""
    now = time.time()
    ids = SessionIds(b"k" * 32, tmp_path, lambda: now)
    caller = Caller(Identity("ada", "token:1", frozenset({CALL})))
    folder = tmp_path / FOLDER

    def ended() -> str:
        session_id = ids.make(caller, "2025-11-25", frozenset(), "run")
        ids.end(session_id)
        return session_id

    with patch.object(ids, "_tidy") as tidied:
        for _ in range(20):
            ended()
    assert not tidied.called
    assert len(list(folder.iterdir())) == 20
    now += 25 * 3600
    ended()
    until = time.monotonic() + 20
    while len(left := list(folder.iterdir())) > 1 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(left) <= 1


@driven
async def test_an_approval_is_void_when_the_definition_changed_on_disk_meanwhile(tmp_path: Path) -> None:
    """What a person allowed is what was shown to them: not the same name and input sent to another address."""
    reached: list[str] = []

    async def here(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append((await reader.readuntil(b"\r\n")).decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(here, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = f"  type: rest-api\n  base_url: http://127.0.0.1:{port}\n  endpoint: GET /good\n  credentials: {{scheme: none}}\n"
    file = tmp_path / "look-up.tool.md"
    file.write_text(aml("look-up", transport))
    (tmp_path / "policy.toml").write_text('[[rules]]\nid = "ask"\ndecision = "ask"\ntool = "look-up"\n')
    toml = f'[network]\nallow = ["127.0.0.1:{port}"]\n'
    async with server, running_server(tmp_path, toml=toml, settings=ServeSettings(auth=True)) as stand:
        access = Access(tmp_path)
        owner = access.local_owner()
        caller, approver = [
            {"Authorization": f"Bearer {access.add(owner, name, [scope], (), KeyLimits())[1]}"}
            for name, scope in (("ada", CALL), ("amy", APPROVE))
        ]

        async def approved(change: str) -> Any:
            call = (await stand.ask("POST", "/v1/calls", {"tool": "look-up", "arguments": {}}, caller)).json()
            assert call["state"] == "awaiting_approval", call
            where = f"/v1/approvals/{call['invocation_id']}"
            seen = (await stand.ask("GET", where, b"", approver)).json()["seen"]
            if change:
                file.write_text(aml("look-up", transport.replace("/good", change)))
                assert await stand.app.rebuild()
            await stand.ask("POST", f"{where}/approve", {"seen": seen}, approver)
            return (await stand.ask("GET", f"/v1/calls/{call['invocation_id']}", b"", caller)).json()

        assert (await approved(""))["state"] == "succeeded"
        assert reached == ["GET /good HTTP/1.1\r\n"]
        assert (await approved("/evil"))["state"] != "succeeded"
        assert len(reached) == 1


@driven
async def test_nobody_without_a_credential_sends_large_bodies(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        large = {"token": "x", "value": "y" * 300_000}
        assert (await here.ask("", "POST", "/v1/answers", large)).status == 413
        assert (await here.ask("ada", "POST", "/v1/calls", {"tool": "add", "arguments": large})).status == 422


def test_a_token_is_for_an_address_that_no_request_can_choose() -> None:
    """Where any Host is taken and no address is said, a token for another server would count with that server's name in Host."""
    issuer = JwtSettings(issuer="https://login.example.com")
    for hosts in (("*",), ("*.example.com",)):
        assert "public_url" in (find_bind_problem(ServeSettings(hosts=hosts, jwt=issuer)) or "")
        assert find_bind_problem(ServeSettings(hosts=hosts, jwt=issuer, public_url="https://a.example.com")) is None
    assert find_bind_problem(ServeSettings(hosts=("a.example.com",), jwt=issuer)) is None


@driven
async def test_no_path_writes_a_line_of_its_own_into_the_log(tmp_path: Path) -> None:
    """Whoever reads the log is told what went wrong, and nothing that a caller wrote as if the server had."""
    said: list[str] = []

    class Reader(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    async def nothing() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    async def broken(*given: Any) -> Any:
        raise RuntimeError("oh")

    reader, log = Reader(), logging.getLogger("ferrule")
    log.addHandler(reader)
    try:
        async with api(tmp_path) as here:
            headers = [(b"host", b"localhost"), *((name.lower().encode(), value.encode()) for name, value in
                                                  here.headers("ada", {}).items())]  # fmt: skip
            with patch.object(here.stand.app.store, "rows_of", broken):
                scope = {"method": "GET", "path": "/v1/calls/a\nERROR all is lost", "headers": headers}
                answer = await here.stand.respond(HttpRequest(scope, nothing))
            assert isinstance(answer, HttpAnswer)
            assert answer.status == 500
            assert b"oh" not in answer.body
    finally:
        log.removeHandler(reader)
    assert said
    assert not [line for text in said for line in text.splitlines() if line.startswith("ERROR")]

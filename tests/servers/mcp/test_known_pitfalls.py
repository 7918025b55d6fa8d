"""What servers before this one got wrong, each as a question to ours (the traps of MCP's requirements, by number)."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from ferrule.access.keys import Access
from ferrule.model.approval import CALL
from ferrule.model.serving import McpSettings, ServeSettings
from tests.servers.local_server import InProcessServer, running_process, running_server
from tests.servers.mcp.direct_client import in_loop
from tests.servers.mcp.modern_client import ModernClient, make_body, make_headers, make_meta
from tests.servers.mcp.sample_workspace import EVERYTHING, FORM, open_wires, read_last, with_sample_server
from tests.servers.mcp.session_client import begin_session, make_message, read_data
from tests.servers.running import running, workspace

NAMED = {"name": {"action": "accept", "content": {"name": "Ada"}}}


@with_sample_server
async def test_a_session_that_is_gone_is_plainly_404(stand: InProcessServer) -> None:
    """Trap 1 (MCP-75, MCP-76): 404 for one that is unknown or over, 400 for none at all, and for nothing else."""
    talk = await begin_session(stand)
    assert (await talk.post(make_message("no/such", 1))).status == 200
    await stand.ask("DELETE", "/mcp", b"", talk.headers)
    gone = await talk.post(make_message("tools/list", 1))
    assert (gone.status, gone.headers["content-type"]) == (404, "application/json")
    talk.id = ""
    assert (await talk.post(make_message("tools/list", 1))).status == 400


@with_sample_server
async def test_a_notification_is_202_and_nothing(stand: InProcessServer) -> None:
    """Trap 2 (MCP-43)."""
    talk = await begin_session(stand)
    for reply in (
        await talk.post(make_message("notifications/initialized")),
        await talk.post(make_message("notifications/no/such", params={"x": 1})),
        await talk.post(make_message(id=99, result={})),
        await stand.ask("POST", "/mcp", make_message("notifications/x"), make_headers("notifications/x")),
    ):
        assert (reply.status, reply.body, reply.headers.get("content-type")) == (202, b"", None)


@with_sample_server
async def test_an_address_that_no_header_holds_is_wrapped(stand: InProcessServer) -> None:
    """Trap 3 (MCP-60): the header is decoded before it is compared."""
    for name in ("grüße", "日本"):
        uri = f"docs://page/{name}"
        sent = make_headers("resources/read", f"=?base64?{b64encode(uri.encode()).decode()}?=")
        reply = await stand.ask("POST", "/mcp", make_body("resources/read", {"uri": uri, "_meta": make_meta()}), sent)
        assert reply.json()["result"]["contents"][0]["text"] == name
    escaped = f"docs://page/{quote('日本')}"
    reply = await ModernClient(stand).ask("resources/read", uri=escaped)
    assert reply.json()["result"]["contents"][0]["text"] == "日本"


@with_sample_server
async def test_a_failure_shows_itself_and_nothing_beside(stand: InProcessServer) -> None:
    """Traps 4 and 5 (MCP-149 to MCP-152): no structured content on errors; a wrong argument is for the model, an unknown tool is
    not."""
    for revision, wire in (await open_wires(stand)).items():
        for params in ({"name": "breaks"}, {"name": "add", "arguments": {"a": "x", "b": 1}}):
            _, response = await wire.ask("tools/call", params, {})
            assert response["result"]["isError"] is True, revision
            assert "structuredContent" not in response["result"]
        assert "'a'" in response["result"]["content"][0]["text"]
        _, response = await wire.ask("tools/call", {"name": "nobody"}, {})
        assert response["error"]["code"] == -32602


@with_sample_server
async def test_a_session_is_asked_where_it_listens(stand: InProcessServer) -> None:
    """Traps 6 and 7 (MCP-83, MCP-208): on the stream of its request, with no other stream open; and who takes no stream is told
    so at once."""
    talk = await begin_session(stand, capabilities=FORM)
    opened = talk.start("tools/call", name="who")
    assert (await opened.wait_for_status(), opened.headers["content-type"]) == (200, "text/event-stream")
    asked = await read_data(opened)
    assert asked["method"] == "elicitation/create"
    await talk.answer(asked, NAMED["name"])
    assert "Ada" in (await read_data(opened))["result"]["content"][0]["text"]
    await opened.leave()
    deaf = await talk.post(make_message("tools/call", 9, params={"name": "who"}), Accept="application/json")
    assert read_last(deaf)["result"]["isError"] is True


@in_loop
async def test_nothing_is_advertised_that_is_not_served(tmp_path: Path) -> None:
    """Traps 11, 12 and 26 (MCP-82, MCP-113): changes that nobody tells are not announced; their streams do not exist."""
    settings = ServeSettings(auth=False, mcp=McpSettings(changes=False))
    async with running_server(tmp_path, tools=EVERYTHING, settings=settings) as stand:
        client = ModernClient(stand)
        declared = (await client.ask("server/discover")).json()["result"]["capabilities"]
        assert "listChanged" not in json.dumps(declared) and "subscribe" not in json.dumps(declared)
        refused = await client.ask("subscriptions/listen", notifications={"toolsListChanged": True})
        assert (refused.status, refused.json()["error"]["code"]) == (404, -32601)
        assert await (await begin_session(stand)).listen().wait_for_status() == 405


@in_loop
async def test_hosts_can_be_added(tmp_path: Path) -> None:
    """Trap 13 (MCP-45)."""
    settings = ServeSettings(auth=False, hosts=("tools.example.com",))
    async with running_server(tmp_path, tools=EVERYTHING, settings=settings) as stand:
        asked = make_body("tools/list", {"_meta": make_meta()})
        for host, status in (("tools.example.com", 200), ("evil.example.com", 421), ("localhost:1", 200)):
            assert (await stand.ask("POST", "/mcp", asked, make_headers("tools/list", Host=host))).status == status


@in_loop
async def test_nothing_of_somebody_can_be_used_by_another(tmp_path: Path) -> None:
    """Traps 14 and 18 (MCP-77, MCP-224, MCP-285): sessions and states, not even with a weaker key of the same person."""
    async with running_server(tmp_path, tools=EVERYTHING, auth=True) as stand:
        access = Access(tmp_path)
        owner = access.local_owner()
        ada, bob = (access.add(owner, name, [CALL])[1] for name in ("ada", "bob"))
        talk = await begin_session(stand, token=ada)
        talk.token = bob
        stolen = await talk.post(make_message("tools/list", 1))
        talk.id = "nobody"
        assert (stolen.status, stolen.body) == (404, (await talk.post(make_message("tools/list", 1))).body)
        asked = (await ModernClient(stand, ada).call("who", capabilities=FORM))["result"]
        retry = {"inputResponses": NAMED, "requestState": asked["requestState"]}
        refused = [
            await ModernClient(stand, bob).call("who", capabilities=FORM, **retry),
            await ModernClient(stand, ada).call("add", {"a": 1, "b": 1}, FORM, **retry),
            await ModernClient(stand, ada).call(
                "who", capabilities=FORM, **{**retry, "requestState": retry["requestState"] + "x"}
            ),
        ]
        assert {(each["error"]["code"], each["error"]["message"]) for each in refused} == {
            (-32602, refused[0]["error"]["message"])
        }
        done = (await ModernClient(stand, ada).call("who", capabilities=FORM, **retry))["result"]
        assert "Ada" in done["content"][0]["text"], "forgers lock nobody out"
        assert (await ModernClient(stand, ada).call("who", capabilities=FORM, **retry))["error"]["code"] == -32602


@with_sample_server
async def test_a_modern_request_has_a_modern_answer(stand: InProcessServer) -> None:
    """Traps 16, 19 and 20 (MCP-5, MCP-26, MCP-242): each era its own shape, on one endpoint; no answer in between."""
    client, talk = ModernClient(stand), await begin_session(stand)
    assert (await client.ask("tools/list")).json()["result"]["resultType"] == "complete"
    assert "resultType" not in (await talk.ask("tools/list"))["result"]
    hinted = await client.ask("tools/call", name="add", arguments={"a": 1, "b": 1}, task={"ttl": 5})
    assert hinted.json()["result"]["resultType"] == "complete"
    unserved = {**make_meta(), "io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    sent = make_headers("tools/list", MCP_Protocol_Version="2027-01-01")
    assert (await stand.ask("POST", "/mcp", make_body("tools/list", {"_meta": unserved}), sent)).status == 400


@with_sample_server
async def test_no_silence_and_no_null(stand: InProcessServer) -> None:
    """Traps 24, 27 and 28 (MCP-18, MCP-24, MCP-49): an error for what is misspelled, without `id: null`, as JSON."""
    talk = await begin_session(stand)
    said: Any
    for said in (
        {"jsonrpc": "2.0", "id": 1, "methodX": "ping"},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        [],
        5,
    ):
        for reply in (await talk.post(said), await stand.ask("POST", "/mcp", said, make_headers("ping"))):
            assert (reply.status, reply.json()["error"]["code"]) == (400, -32600)
            assert reply.headers["content-type"] == "application/json"
            assert b"null" not in reply.body
    streamed = await ModernClient(stand).ask("tools/call", {}, {"progressToken": 1}, name="talks")
    assert streamed.headers["content-type"] == "text/event-stream"
    assert all(json.loads(event["data"]) for event in streamed.events())
    assert all(line[:6] in ("event:", "data: ") for line in streamed.body.decode().split("\n") if line)


@pytest.fixture
def real(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A real server: its address and a token."""
    (tmp_path / "ferrule.toml").write_text("")
    with running_process(tmp_path) as server:
        yield server.url, server.token(tmp_path)


def test_clients_that_leave_in_the_middle_leave_no_trace(tmp_path: Path) -> None:
    """Traps 9 and 10 (MCP-48): no error is logged, and nothing spins; the server answers the next as ever."""
    with running(workspace(tmp_path)) as server:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port)) as half:
                half.sendall(
                    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\nContent-Type: application/json\r\n"
                    b"Content-Length: 5000\r\n\r\n{" % server.token().encode()
                )
        stat = Path(f"/proc/{server.pid}/stat")
        before = sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))
        time.sleep(0.5)
        spent = sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])) - before
        assert spent < 25, "half a second of nothing costs nothing"
        assert server.complaints() == ""


def test_several_clients_with_the_same_ids_at_once(real: tuple[str, str]) -> None:
    """MCP-17, MCP-53, MCP-1: one connection each, eras mixed, every answer to its own question."""
    url, token = real
    wrong: list[Any] = []

    def ask(number: int) -> None:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        try:
            for _ in range(5):
                said = json.dumps(make_body("server/discover", {"_meta": make_meta()}, 1))
                sent = {
                    **make_headers("server/discover"),
                    "Authorization": f"Bearer {token}",
                    "Content-Type": "application/json",
                }
                connection.request("POST", "/mcp", said, sent)
                answered = connection.getresponse()
                response = json.loads(answered.read())
                if (answered.status, response.get("id")) != (200, 1) or "result" not in response:
                    wrong.append((number, answered.status, response))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []

"""Section 10 of MCP's requirements, row by row and on each wire: code, status, data and id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.servers.mcp.methods.table import METHODS
from tests.servers.local_server import InProcessServer
from tests.servers.mcp.modern_client import ModernClient, make_body, make_headers, make_meta
from tests.servers.mcp.sample_workspace import TASKS, open_wires, with_sample_server
from tests.servers.mcp.session_client import begin_session
from tests.servers.mcp.stdio_client import META, running_stdio_server, write_workspace

MODERN = "2026-07-28"
SERVED = (-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022)
"""Every code of the reserved ranges that a modern client may meet (MCP-125, MCP-126)."""
ROWS: tuple[tuple[str, dict[str, Any], tuple[int, int], int | None], ...] = (
    ("no/such", {}, (404, -32601), -32601),
    ("tools/call", {"name": "nobody"}, (200, -32602), -32602),
    ("tools/call", {}, (200, -32602), -32602),
    ("tools/call", {"name": "add", "arguments": [1]}, (200, -32602), -32602),
    ("prompts/get", {"name": "nobody"}, (200, -32602), -32602),
    ("prompts/get", {"name": "hello"}, (200, -32602), -32602),
    ("tools/list", {"cursor": "forged"}, (200, -32602), -32602),
    ("resources/read", {"uri": "docs://nowhere"}, (200, -32602), -32002),
    ("tools/call", {"name": "who", "requestState": "forged"}, (200, -32602), None),
    ("tools/call", {"name": "who"}, (400, -32021), None),
    ("tools/call", {"name": "job"}, (400, -32021), None),
    ("ping", {}, (404, -32601), None),
    ("server/discover", {"cursor": 1}, (200, 0), -32601),
)
"""Method and parameters; status and code in the modern revision; the code in a session, always with 200. 0 and None: no error."""


@with_sample_server
async def test_every_row_on_every_revision(stand: InProcessServer) -> None:
    """MCP-20, MCP-115 to MCP-126: MCP-117, MCP-118, MCP-121, MCP-123."""
    for revision, wire in (await open_wires(stand)).items():
        for method, params, modern, code in ROWS:
            status, response = await wire.ask(method, params, {})
            expected = modern if revision == MODERN else (200, code or 0)
            error = response.get("error", {"code": 0, "message": ""})
            assert (status, error["code"]) == expected, (revision, method, params, response)
            assert response["id"] == 1, (revision, method)
            assert type(error["code"]) is int and type(error["message"]) is str
            if error["code"] in (-32002, -32602) and "uri" in params:
                assert error["data"]["uri"] == params["uri"]


@pytest.mark.parametrize("said", [b"{nope", b'"\xff"', b"", b"["], ids=range(4))
def test_what_is_no_json(tmp_path: Path, said: bytes) -> None:
    """MCP-15, MCP-18, MCP-115: 400 in both eras, and no id at all."""

    @with_sample_server
    async def test(stand: InProcessServer) -> None:
        talk = await begin_session(stand)
        for reply in (
            await stand.ask("POST", "/mcp", said or b" ", make_headers("tools/list")),
            await talk.post(said or b" "),
        ):
            answered = reply.json()
            assert (reply.status, answered["error"]["code"]) == (400, -32700)
            assert "id" not in answered

    test(tmp_path)


@with_sample_server
async def test_the_codes_of_the_modern_revision_alone(stand: InProcessServer) -> None:
    """MCP-116, MCP-118, MCP-120, MCP-122."""
    client = ModernClient(stand)
    asked = make_body("tools/list", {"_meta": make_meta()})
    for said, sent, code in (
        ([asked], make_headers("tools/list"), -32600),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, make_headers("tools/list"), -32600),
        ({**asked, "id": None}, make_headers("tools/list"), -32600),
        (make_body("tools/list", {}), make_headers("tools/list"), -32602),
        (asked, make_headers("tools/call"), -32020),
        (asked, make_headers("tools/list", MCP_Protocol_Version="v9"), -32020),
    ):
        reply = await stand.ask("POST", "/mcp", said, sent)
        assert (reply.status, reply.json()["error"]["code"]) == (400, code), said
        assert reply.headers["content-type"] == "application/json"
    versioned = {**make_meta(), "io.modelcontextprotocol/protocolVersion": "v9"}
    sent = make_headers("tools/list", MCP_Protocol_Version="v9")
    reply = await stand.ask("POST", "/mcp", make_body("tools/list", {"_meta": versioned}, "x"), sent)
    assert (reply.status, reply.json()["id"], reply.json()["error"]["code"]) == (400, "x", -32022)
    discovered = (await client.ask("server/discover")).json()["result"]["supportedVersions"]
    assert reply.json()["error"]["data"] == {"supported": discovered, "requested": "v9"}


@with_sample_server
async def test_what_nobody_foresaw_is_told_without_its_inside(stand: InProcessServer) -> None:
    """MCP-119, MCP-289: of a tool as a result, of a prompt or resource as -32603, and never with words of ours."""
    for revision, wire in (await open_wires(stand)).items():
        status, response = await wire.ask("tools/call", {"name": "breaks"}, {})
        assert (status, response["result"]["isError"]) == (200, True), revision
        assert "secret" not in json.dumps(response) and "hunter2" not in json.dumps(response)
    before = METHODS["tools/list"]

    async def broken(*_: Any) -> Any:
        raise RuntimeError("at /srv/secret/place")

    METHODS["tools/list"] = before._replace(handle=broken)
    try:
        reply = await ModernClient(stand).ask("tools/list")
    finally:
        METHODS["tools/list"] = before
    assert (reply.status, reply.json()["error"]["code"]) == (200, -32603)
    assert b"secret" not in reply.body


def test_the_same_codes_over_standard_streams(tmp_path: Path) -> None:
    """MCP-15, MCP-24, MCP-34, MCP-116 to MCP-122, MCP-123, MCP-124: on one pipe, in both eras, and nothing that asks."""
    modern: tuple[tuple[str, dict[str, Any], int], ...] = (
        ("no/such", {}, -32601),
        ("initialize", {}, -32601),
        ("tools/call", {"name": "nobody"}, -32602),
        ("tools/list", {"cursor": "x"}, -32602),
        ("tools/call", {"name": "who"}, -32021),
        ("tasks/get", {"taskId": "x"}, -32021),
        ("tools/call", {"name": "who", "requestState": "forged"}, -32602),
    )
    with running_stdio_server(write_workspace(tmp_path)) as client:
        for method, params, code in modern:
            answered = client.ask(method, **params, _meta=META)
            assert answered["error"]["code"] == code, (method, answered)
        version = {**META, "io.modelcontextprotocol/protocolVersion": "v9"}
        assert client.ask("tools/list", _meta=version)["error"]["code"] == -32022
        assert client.ask("tasks/get", taskId="x", _meta=_declaring(TASKS))["error"]["code"] == -32602
        for raw in (b"[]", b"5", b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}'):
            client.write(raw + b"\n")
            answered = client.read_message()
            assert (answered["error"]["code"], "id" in answered) == (-32600, False)
        client.begin()
        assert client.ask("resources/read", uri="docs://nowhere")["error"]["code"] in (-32002, -32601)
        assert client.ask("tools/call", name="nobody")["error"]["code"] == -32602
        assert client.ask("tasks/get", taskId="x")["error"]["code"] == -32601
        client.close()
        said = [json.loads(line) for line in client.lines]
    codes = {each["error"]["code"] for each in said if "error" in each}
    assert codes <= {*SERVED, -32002} and -32042 not in codes
    assert not [each for each in said if "method" in each and "id" in each], "nothing is asked of a client"


def _declaring(capabilities: dict[str, Any]) -> dict[str, Any]:
    return {**META, "io.modelcontextprotocol/clientCapabilities": capabilities}

"""Calls: which tool is meant, who may know of it, how often, in which run, and what a caller is told who has to wait."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

import ferrule
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.serving import LimitSettings, McpSettings, ServeSettings
from tests.servers.local_server import WAIT_SECONDS, running_server
from tests.servers.mcp.direct_client import REVISIONS, RpcFailure, connected_client, in_loop
from tests.servers.mcp.modern_client import ModernClient, make_body, make_headers, make_meta, with_server

COUNT = {"calls": 0}


@ferrule.tool(read_only=True, inline=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@ferrule.tool(read_only=True)
def hidden() -> str:
    """Not for everybody."""
    return "secret"


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@ferrule.tool
def act() -> int:
    """Count a call."""
    COUNT["calls"] += 1
    return COUNT["calls"]


ALLOW = '[[rules]]\nid = "go"\ndecision = "allow"\ntool = ["act", "pay"]\n'
DENY = '[[rules]]\nid = "no"\ndecision = "deny"\ntool = "hidden"\n'


@in_loop
async def test_a_hidden_tool_is_answered_exactly_like_one_that_does_not_exist(tmp_path: Path) -> None:
    """MCP-150, MCP-152, MCP-285: in every revision -32602 in the same words; nothing tells them apart."""
    (tmp_path / "policy.toml").write_text(DENY)
    async with connected_client(tmp_path, tools=[add, hidden]) as client:
        for revision in REVISIONS:
            one = client.with_revision(revision)
            assert [tool["name"] for tool in await one.list_all("tools/list", "tools")] == ["add"]
            said = []
            for name in ("hidden", "nowhere"):
                with pytest.raises(RpcFailure) as failed:
                    await one.ask("tools/call", name=name, arguments={})
                assert (failed.value.code, failed.value.data) == (-32602, None)
                said.append(str(failed.value).replace(name, "…"))
            assert said[0] == said[1]


@in_loop
async def test_a_tool_that_was_hidden_meanwhile_is_unknown_from_then_on(tmp_path: Path) -> None:
    """MCP-128, MCP-150."""
    async with connected_client(tmp_path, tools=[add]) as client:
        assert (await client.ask("tools/call", name="add", arguments={"a": 1, "b": 2}))["structuredContent"] == 3
        entry = (await client.make_exchange()).surface.surface.find("add")
        assert entry is not None
        await client.server.app.disable(entry.tool.tool_id, by="owner")
        with pytest.raises(RpcFailure) as failed:
            await client.ask("tools/call", name="add", arguments={"a": 1, "b": 2})
        assert failed.value.code == -32602
        await client.server.app.enable(entry.tool.tool_id, by="owner")
        assert (await client.ask("tools/call", name="add", arguments={"a": 1, "b": 2}))["structuredContent"] == 3


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, -32602),
        ({"name": 5}, -32602),
        ({"name": ""}, -32602),
        ({"name": None}, -32602),
        ({"name": "x" * 5000}, -32602),
    ],
    ids=range(5),
)
@with_server(add)
async def test_a_call_names_its_tool(client: ModernClient, params: dict[str, Any], code: int) -> None:
    """MCP-140, MCP-150."""
    name = params.get("name")
    message = make_body("tools/call", {**params, "_meta": make_meta()})
    reply = await client.stand.ask(
        "POST", "/mcp", message, make_headers("tools/call", name if isinstance(name, str) else None)
    )
    assert (reply.status, reply.json()["error"]["code"]) == (200, code)
    assert len(reply.body) < 1000


@pytest.mark.parametrize("arguments", [[], "text", 5, True], ids=range(4))
@with_server(add)
async def test_arguments_are_an_object(client: ModernClient, arguments: Any) -> None:
    """MCP-140, MCP-150: a request that is written in another way is refused before anything runs."""
    reply = await client.ask("tools/call", name="add", arguments=arguments)
    assert (reply.status, reply.json()["error"]["code"]) == (200, -32602)


@with_server(add)
async def test_arguments_may_be_left_out(client: ModernClient) -> None:
    """MCP-140."""
    for left_out in ({}, {"arguments": None}):
        result = (await client.ask("tools/call", name="add", **left_out)).json()["result"]
        assert result["isError"] is True
        assert "'a' is missing" in result["content"][0]["text"]


# Runs, keys, limits


OK = '{"ok":"yes"}'
ONCE = """---
spec_version: "1.2"
tool_id: once
version: "1.0.0"
status: active
meta: {name: Once, description: May be called once in a run., owner: desk}
type: function
max_calls_per_run: 1
interface:
  input: {type: object, properties: {}, additionalProperties: false}
  output: {type: object}
use_guidance: {use_when: [once], avoid_when: [twice], side_effects: [none]}
---
"""


@in_loop
async def test_calls_are_counted_by_the_run_that_a_client_names(tmp_path: Path) -> None:
    """`max_calls_per_run` holds for what the caller calls a run; another run counts anew, and what is no text is none."""
    (tmp_path / "once.tool.md").write_text(ONCE)

    @ferrule.tool("once")
    def once() -> dict[str, str]:
        return {"ok": "yes"}

    async with running_server(tmp_path, tools=[once]) as stand:
        client = ModernClient(stand)

        async def call(run: Any) -> Any:
            result = (await client.call("once", {}, said={"dev.ferrule/run": run}))["result"]
            return result.get("_meta", {}).get("dev.ferrule/error", {}).get("code", result["content"][0]["text"])

        assert [await call("a"), await call("a"), await call("b")] == [OK, "call_limit_reached", OK]
        assert [await call(5), await call(None)] == [OK, "call_limit_reached"]  # both of no run


@in_loop
async def test_calls_with_one_key_are_one_call(tmp_path: Path) -> None:
    """`dev.ferrule/idempotency-key`: whoever repeats a call after a lost answer gets that answer."""
    (tmp_path / "policy.toml").write_text(ALLOW)
    COUNT["calls"] = 0
    async with running_server(tmp_path, tools=[act]) as stand:
        client = ModernClient(stand)
        said = {"dev.ferrule/idempotency-key": "order-7"}
        first, again = [(await client.call("act", {}, said=said))["result"] for _ in range(2)]
        assert first["structuredContent"] == again["structuredContent"] == 1
        assert first["_meta"]["dev.ferrule/invocation"] == again["_meta"]["dev.ferrule/invocation"]
        other = (await client.call("act", {}, said={"dev.ferrule/idempotency-key": "order-8"}))["result"]
        assert other["structuredContent"] == 2


@with_server(add, settings=ServeSettings(auth=False, limits=LimitSettings(calls_per_minute=3)))
async def test_who_calls_too_often_is_told_to_wait(client: ModernClient) -> None:
    """MCP-157, MCP-290: status 429 with `Retry-After`, and an error that clients can read."""
    replies = [await client.ask("tools/call", name="add", arguments={"a": 1, "b": 1}) for _ in range(5)]
    assert [reply.status for reply in replies] == [200, 200, 200, 429, 429]
    refused = replies[-1]
    assert int(refused.headers["retry-after"]) >= 1
    assert (refused.json()["id"], refused.json()["error"]["code"]) == (1, 429)


# Headers of parameters


@ferrule.tool(read_only=True)
def where(
    region: Annotated[str | None, msgspec.Meta(extra_json_schema={"type": "string", "x-mcp-header": "Region"})] = None,
) -> str:
    """Say where."""
    return f"in {region}"


@pytest.mark.parametrize(
    ("value", "header", "status"),
    [
        ("eu", "eu", 200),
        ("eu", None, 400),
        ("eu", "us", 400),
        (None, None, 200),
        (None, "eu", 400),
        ("Hello", "=?base64?SGVsbG8=?=", 200),
    ],
    ids=range(6),
)
@with_server(where)
async def test_annotated_parameters_are_compared_with_their_headers(
    client: ModernClient, value: str | None, header: str | None, status: int
) -> None:
    """MCP-63: before the tool is run."""
    arguments = {} if value is None else {"region": value}
    message = make_body("tools/call", {"name": "where", "arguments": arguments, "_meta": make_meta()})
    said = make_headers("tools/call", "where") | ({"Mcp-Param-Region": header} if header is not None else {})
    reply = await client.stand.ask("POST", "/mcp", message, said)
    assert reply.status == status
    assert status == 200 or reply.json()["error"]["code"] == -32020
    if status == 200:
        assert reply.json()["result"]["content"][0]["text"] == f"in {value}"


# Waiting for a person


@with_server(pay, settings=ServeSettings(auth=False, mcp=McpSettings(wait_seconds=25)))
async def test_an_approval_that_comes_in_time_is_waited_for(client: ModernClient) -> None:
    """The call's own answer is its result."""
    calling = asyncio.create_task(client.call("pay", {"amount": 7}))
    inbox = client.stand.app.inbox(Identity("owner", "console", frozenset({APPROVE})))
    while not (waiting := await inbox.pending()):
        await asyncio.sleep(0.02)
    await inbox.approve(waiting[0].request.invocation_id)
    result = (await asyncio.wait_for(calling, WAIT_SECONDS))["result"]
    assert result["content"][0]["text"] == "paid 7"

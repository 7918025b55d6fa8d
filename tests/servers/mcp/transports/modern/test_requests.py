"""The revision without sessions over HTTP: checks in order, one answer for each request, streams, and clients that go away."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ferrule
from ferrule.model.serving import LimitSettings, McpSettings, ServeSettings
from ferrule.servers.mcp.transports import http_back
from tests.servers.local_server import WAIT_SECONDS, Reply, running_server
from tests.servers.mcp.modern_client import (
    KEY,
    LOG_LEVEL,
    VERSION,
    ModernClient,
    make_body,
    make_headers,
    make_meta,
    read_messages,
    with_server,
)

EVENTS: dict[str, asyncio.Event] = {}


@ferrule.tool(read_only=True, inline=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@ferrule.tool(read_only=True)
async def wait_for_it(context: ferrule.Context) -> str:
    """Wait until told."""
    EVENTS["begun"].set()
    try:
        await EVENTS["go"].wait()
    except asyncio.CancelledError:
        EVENTS["cancelled"].set()
        raise
    return "went"


@ferrule.tool(read_only=True)
async def count(context: ferrule.Context, to: int = 3) -> str:
    """Count, and say so."""
    for number in range(to):
        context.progress(f"at {number}", percent=100 * number / to)
        context.log("info", {"at": number}, "counter")
        context.log("debug", "more than you want")
    await asyncio.sleep(0)
    return "counted"


def stood(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Runs a test with a client of these tools."""

    @functools.wraps(test)
    async def ready(client: ModernClient, **others: Any) -> None:
        for name in ("begun", "go", "cancelled"):
            EVENTS[name] = asyncio.Event()
        await test(client, **others)

    return with_server(add, wait_for_it, count)(ready)


def broken_meta(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**make_meta(), **changes}.items() if value is not None}


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"_meta": None},
        {"_meta": 5},
        {"_meta": []},
        {"_meta": broken_meta(**{f"{KEY}protocolVersion": None})},
        {"_meta": broken_meta(**{f"{KEY}clientCapabilities": None})},
        {"_meta": broken_meta(**{f"{KEY}protocolVersion": 20260728})},
        {"_meta": broken_meta(**{f"{KEY}clientCapabilities": []})},
        {"_meta": broken_meta(**{f"{KEY}clientCapabilities": "all"})},
        [],
    ],
    ids=range(11),
)
@stood
async def test_every_request_says_what_its_client_is(client: ModernClient, params: Any) -> None:
    """MCP-99, MCP-101: -32602 with status 400, and its id."""
    stand = client.stand
    message = make_body("server/discover", params, "d1")
    if params is None:
        del message["params"]
    reply = await stand.ask("POST", "/mcp", message, make_headers("server/discover"))
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (400, -32602, "d1")


@stood
async def test_who_the_client_is_may_stay_unsaid_and_changes_nothing(client: ModernClient) -> None:
    """MCP-100, MCP-108."""
    plain = (await client.ask("tools/list")).json()["result"]
    named = (await client.ask("tools/list", None, {f"{KEY}clientInfo": {"name": "admin", "version": "9"}})).json()[
        "result"
    ]
    assert plain == named


@stood
async def test_headers_and_body_are_compared_before_the_version_is_judged(client: ModernClient) -> None:
    """MCP-55."""
    stand = client.stand
    message = make_body("tools/list", {"_meta": {**make_meta(), f"{KEY}protocolVersion": "v999.0.0"}})
    reply = await stand.ask("POST", "/mcp", message, make_headers("tools/list"))
    assert (reply.status, reply.json()["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({}, 200, None),
        ({"Mcp-Method": "tools/list"}, 400, -32020),
        ({"Mcp-Method": "TOOLS/CALL"}, 400, -32020),
        ({"Mcp-Name": "subtract"}, 400, -32020),
        ({"Mcp-Name": "  add "}, 200, None),
        ({"Mcp-Name": "=?base64?YWRk?="}, 200, None),
        ({"Mcp-Name": "=?base64?YWR?="}, 400, -32020),
        ({"MCP-METHOD": "tools/call", "Mcp-Method": None}, 200, None),
        ({"Mcp-Method": None}, 400, -32020),
        ({"Mcp-Name": None}, 400, -32020),
        ({"Mcp-Session-Id": "abc", "Last-Event-ID": "5"}, 200, None),
    ],
    ids=range(11),
)
@stood
async def test_a_call_is_what_its_headers_say(
    client: ModernClient, changes: dict[str, str | None], status: int, code: Any
) -> None:
    """MCP-56 to MCP-60, MCP-67: and a refusal is JSON, never a stream (trap 28)."""
    stand = client.stand
    given = {
        name: value for name, value in {**make_headers("tools/call", "add"), **changes}.items() if value is not None
    }
    message = make_body(
        "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": make_meta(progressToken="t")}
    )
    reply = await stand.ask("POST", "/mcp", message, given)
    assert (reply.status, reply.json().get("error", {}).get("code")) == (status, code)
    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/result",
        "unknown/x",
        "",
    ],
)
@stood
async def test_what_is_gone_or_never_was_is_no_method(client: ModernClient, method: str) -> None:
    """MCP-65, MCP-188, MCP-298: 404, also where a stream was asked for (MCP-54)."""
    stand = client.stand
    message = make_body(method, {"_meta": make_meta(progressToken=5)}, 77)
    reply = await stand.ask("POST", "/mcp", message, make_headers(method))
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (404, -32601, 77)
    assert reply.headers["content-type"] == "application/json"


@stood
async def test_notifications_are_taken_and_responses_refused(client: ModernClient) -> None:
    """MCP-23, MCP-43, MCP-66: 202 and nothing in it."""
    stand = client.stand
    note = {"jsonrpc": "2.0", "method": "notifications/whatever"}
    reply = await stand.ask("POST", "/mcp", note, {"MCP-Protocol-Version": VERSION})
    assert (reply.status, reply.body) == (202, b"")
    assert (await stand.ask("POST", "/mcp", note, {"MCP-Protocol-Version": "v0"})).status == 400
    answer = await stand.ask(
        "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "result": {}}, {"MCP-Protocol-Version": VERSION}
    )
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32600)


@stood
async def test_a_batch_is_no_message(client: ModernClient) -> None:
    """MCP-22."""
    stand = client.stand
    reply = await stand.ask(
        "POST", "/mcp", [make_body("tools/list", {"_meta": make_meta()})], make_headers("tools/list")
    )
    assert (reply.status, reply.json()["error"]["code"]) == (400, -32600)


@stood
async def test_a_name_said_twice_is_refused(client: ModernClient) -> None:
    """What one reader takes for the tool's name another must not take for another's."""
    stand = client.stand
    text = json.dumps(make_body("tools/call", {"name": "add", "arguments": {}, "_meta": make_meta()}))
    for doubled in ('"name": "count", "name": "add"', '"\\u006eame": "count", "name": "add"'):
        reply = await stand.ask(
            "POST", "/mcp", text.replace('"name": "add"', doubled).encode(), make_headers("tools/call", "add")
        )
        assert (reply.status, reply.json()["error"]["code"]) == (400, -32600)


@stood
async def test_what_a_client_is_is_said_once(client: ModernClient) -> None:
    """Capabilities said twice are refused, by the short way in as by the long one."""
    twice = f'"{KEY}clientCapabilities": {{"sampling": {{}}}}, "{KEY}clientCapabilities": {{}}'
    for more in ({}, {"x": 1}):
        text = json.dumps(
            make_body("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, **more, "_meta": make_meta()})
        )
        doubled = text.replace(f'"{KEY}clientCapabilities": {{}}', twice).encode()
        reply = await client.stand.ask("POST", "/mcp", doubled, make_headers("tools/call", "add"))
        assert (reply.status, reply.json()["error"]["code"]) == (400, -32600)


@stood
async def test_unknown_members_are_ignored(client: ModernClient) -> None:
    """MCP-25: extensions, old hints, traces, and values in them that make no sense."""
    odd = {"progressToken": {"not": "one"}, "traceparent": "junk", "tracestate": 5, "baggage": [], "x.y/z": None}
    response = await client.call("add", {"a": 1, "b": 2}, said=odd, task={"ttl": 5}, more=[1])
    assert response["result"]["structuredContent"] == 3


@stood
async def test_a_trace_is_on_record(client: ModernClient) -> None:
    """MCP-104."""
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    response = await client.call("add", {"a": 1, "b": 2}, said={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
    call = response["result"]["_meta"]["dev.ferrule/invocation"]
    await client.stand.app.store.flush()
    rows = await client.stand.app.store.rows_of(call)
    assert rows[-1].segment().notes["trace_id"] == trace


@stood
async def test_nothing_is_remembered_from_another_request(client: ModernClient) -> None:
    """MCP-27: two callers may use one id at the same time (MCP-17)."""
    replies = await asyncio.gather(*(client.call("add", {"a": number, "b": 0}) for number in range(20)))
    assert [reply["result"]["structuredContent"] for reply in replies] == list(range(20))


# Progress and logs


@stood
async def test_progress_and_logs_come_on_the_stream_before_the_result(client: ModernClient) -> None:
    """MCP-49, MCP-50, MCP-52, MCP-69, MCP-70, MCP-169, MCP-170, MCP-181, MCP-183: only at or above the level asked for."""
    reply = await client.ask("tools/call", None, {"progressToken": "t-1", LOG_LEVEL: "info"}, name="count")
    assert reply.headers["content-type"] == "text/event-stream"
    assert (reply.headers["cache-control"], reply.headers["x-accel-buffering"]) == ("no-cache", "no")
    assert all(event.keys() == {"event", "data"} for event in reply.events())
    said = read_messages(reply)
    assert said[-1]["result"]["content"][0]["text"] == "counted"
    progress = [each["params"] for each in said[:-1] if each["method"] == "notifications/progress"]
    assert {each["progressToken"] for each in progress} == {"t-1"}
    values = [each["progress"] for each in progress]
    assert values == sorted(set(values))
    assert {each["total"] for each in progress} == {100}
    logs = [each["params"] for each in said[:-1] if each["method"] == "notifications/message"]
    assert logs == [{"level": "info", "data": {"at": number}, "logger": "counter"} for number in range(3)]


@pytest.mark.parametrize("token", ["text", 7, 0, ""])
@stood
async def test_a_token_comes_back_with_its_type(client: ModernClient, token: Any) -> None:
    """MCP-103."""
    said = read_messages(await client.ask("tools/call", None, {"progressToken": token}, name="count"))
    assert [each["params"]["progressToken"] for each in said[:-1]] == [token] * 3
    assert all(type(each["params"]["progressToken"]) is type(token) for each in said[:-1])


@stood
async def test_who_asks_for_nothing_is_told_nothing(client: ModernClient) -> None:
    """MCP-169, MCP-183."""
    reply = await client.ask("tools/call", name="count")
    assert reply.headers["content-type"] == "application/json"


@stood
async def test_progress_that_comes_too_fast_is_thinned_out_and_the_last_is_told(client: ModernClient) -> None:
    """MCP-171, MCP-186."""
    asked = {"progressToken": 1, LOG_LEVEL: "debug"}
    said = read_messages(await client.ask("tools/call", None, asked, name="count", arguments={"to": 3000}))
    progress = [each["params"] for each in said[:-1] if each["method"] == "notifications/progress"]
    assert len(progress) < 200
    assert progress[-1]["message"] == "at 2999"
    logs = [each["params"] for each in said[:-1] if each["method"] == "notifications/message"]
    assert len(logs) < 1000
    assert "left out" in logs[-1]["data"]


@stood
async def test_an_unknown_log_level_is_refused(client: ModernClient) -> None:
    """MCP-184."""
    reply = await client.ask("tools/call", None, {LOG_LEVEL: "loud"}, name="count")
    assert (reply.status, reply.json()["error"]["code"]) == (200, -32602)


@stood
async def test_a_client_that_takes_no_stream_gets_its_result_alone(client: ModernClient) -> None:
    """MCP-40."""
    stand = client.stand
    message = make_body("tools/call", {"name": "count", "_meta": make_meta(progressToken=1)})
    reply = await stand.ask(
        "POST", "/mcp", message, make_headers("tools/call", "count") | {"Accept": "application/json"}
    )
    assert reply.json()["result"]["content"][0]["text"] == "counted"


# Time


@stood
async def test_a_client_that_goes_away_cancels_what_it_asked_for(client: ModernClient) -> None:
    """MCP-71, MCP-174: an answer that is JSON, too."""
    opened = client.open("tools/call", name="wait_for_it")
    await asyncio.wait_for(EVENTS["begun"].wait(), WAIT_SECONDS)
    await opened.leave()
    await asyncio.wait_for(EVENTS["cancelled"].wait(), WAIT_SECONDS)
    assert opened.task.done()
    assert opened.task.exception() is None


@stood
async def test_a_client_that_leaves_its_stream_cancels(client: ModernClient) -> None:
    """MCP-71."""
    opened = client.open("tools/call", {"progressToken": 1}, name="wait_for_it")
    await asyncio.wait_for(EVENTS["begun"].wait(), WAIT_SECONDS)
    await opened.leave()
    await asyncio.wait_for(EVENTS["cancelled"].wait(), WAIT_SECONDS)


@stood
async def test_a_posted_cancellation_stops_nobody(client: ModernClient) -> None:
    """MCP-66, MCP-174: ids are chosen by clients, so anybody could name this one."""
    opened = client.open("tools/call", name="wait_for_it")
    await asyncio.wait_for(EVENTS["begun"].wait(), WAIT_SECONDS)
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert (await client.stand.ask("POST", "/mcp", note, {"MCP-Protocol-Version": VERSION})).status == 202
    EVENTS["go"].set()
    assert await opened.wait_for_status() == 200
    assert not EVENTS["cancelled"].is_set()
    await opened.task


@stood
async def test_a_quiet_stream_shows_that_it_lives(client: ModernClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """MCP-51, MCP-54: after a while the answer becomes a stream, with comments until there is something to say."""
    monkeypatch.setattr(http_back, "KEEP_ALIVE_SECONDS", 0.05)
    opened = client.open("tools/call", name="wait_for_it")
    assert await opened.wait_for_status() == 200
    assert opened.headers["content-type"] == "text/event-stream"
    assert await opened.read_part() == b": keep-alive\n\n"
    EVENTS["go"].set()
    event = await opened.read_event()
    assert event is not None
    assert json.loads(event["data"])["result"]["content"][0]["text"] == "went"
    assert await opened.read_event() is None
    await opened.task


@stood
async def test_a_server_that_says_no_more_body_at_once_is_not_asked_in_a_loop(client: ModernClient) -> None:
    """Trap 9."""
    stand = client.stand
    message = json.dumps(make_body("tools/call", {"name": "wait_for_it", "_meta": make_meta()})).encode()
    given = {**make_headers("tools/call", "wait_for_it"), "Host": "localhost:8787", "Content-Type": "application/json"}
    scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "client": ("127.0.0.1", 1),
             "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()]}  # fmt: skip
    asked = 0
    sent: list[Any] = []

    async def receive() -> Any:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": message if asked == 1 else b"", "more_body": False}

    async def send(part: Any) -> None:
        sent.append(part)

    answering = asyncio.create_task(stand.root(scope, receive, send))
    await asyncio.wait_for(EVENTS["begun"].wait(), WAIT_SECONDS)
    await asyncio.sleep(0.3)
    EVENTS["go"].set()
    await asyncio.wait_for(answering, WAIT_SECONDS)
    assert (sent[0]["status"], asked < 30) == (200, True)


@with_server(
    wait_for_it,
    settings=ServeSettings(auth=False, limits=LimitSettings(request_seconds=0.1), mcp=McpSettings(wait_seconds=0)),
)
async def test_nobody_waits_longer_than_a_request_may_take(client: ModernClient) -> None:
    """MCP-180: the call goes on, and its result can be had later."""
    for name in ("begun", "go", "cancelled"):
        EVENTS[name] = asyncio.Event()
    result = (await client.call("wait_for_it"))["result"]
    call = result["_meta"]["dev.ferrule/invocation"]
    assert result["isError"] is True
    assert call in result["content"][0]["text"]
    EVENTS["go"].set()
    later = (await client.call("ferrule_result", {"invocation_id": call, "wait_seconds": 20}))["result"]
    assert later["content"][0]["text"] == "went"


# Hostile bodies


_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
    max_leaves=8,
)
_members = st.dictionaries(
    st.sampled_from(["name", "arguments", "_meta", "inputResponses", "requestState", "uri", "cursor", "x"]), _value
)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_any_request_gets_a_proper_answer(
    tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    """MCP-12, MCP-289: a result or an error of JSON-RPC, and never a trace of ours."""
    methods = st.sampled_from(["tools/call", "tools/list", "server/discover", "nothing"]) | st.text(max_size=10)
    cases = [(data.draw(methods), data.draw(_value), data.draw(_members), data.draw(st.booleans())) for _ in range(20)]

    async def ask_all() -> None:
        async with running_server(tmp_path_factory.mktemp("hostile"), tools=[add, count]) as stand:
            for method, request_id, params, with_meta in cases:
                whole = {**params, "_meta": make_meta({"elicitation": {}})} if with_meta else params
                text = json.dumps(make_body(method, whole, request_id)).encode("utf-8", "surrogatepass")
                name = params.get("name")
                said = make_headers(method, name if isinstance(name, str) else None)
                said = {key: value for key, value in said.items() if value.isascii() and value.isprintable()}
                is_proper(await stand.ask("POST", "/mcp", text, said))

    asyncio.run(ask_all())
    assert not [record for record in caplog.records if record.exc_info]


def is_proper(reply: Reply) -> None:
    answer = read_messages(reply)[-1]
    assert reply.status in (200, 400, 404)
    assert answer["jsonrpc"] == "2.0"
    assert ("result" in answer) != ("error" in answer)
    assert reply.status == 200 or "error" in answer
    if "error" in answer:
        assert isinstance(answer["error"]["code"], int)
        assert "Traceback" not in answer["error"]["message"]
        assert answer["error"]["code"] != -32603

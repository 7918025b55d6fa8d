"""A member that is said twice is refused, wherever it stands: readers would not agree on which of the two counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.servers.mcp.transports.sessions import read_cancelled_id
from ferrule.servers.mcp.wire.messages import RpcError, read_message, refuse_doubled_params
from tests.driven import driven
from tests.servers.local_server import running_server
from tests.servers.mcp.modern_client import KEY, ModernClient, make_headers, make_meta
from tests.servers.mcp.session_client import (
    REVISIONS,
    SessionClient,
    add,
    begin_session,
    read_data,
    running_session_server,
)
from tests.servers.mcp.stdio_client import running_stdio_server, write_workspace

CLIENT = '"clientInfo":{"name":"t","version":"1"}'
TWICE = {
    "name": '"method":"tools/call","params":{"name":"held","name":"add","arguments":{"a":1,"b":2}}',
    "arguments": '"method":"tools/call","params":{"name":"add","arguments":{"a":1},"arguments":{"a":1,"b":2}}',
    "_meta": '"method":"tools/call","params":{"name":"add","_meta":{"x":1},"_meta":{},"arguments":{"a":1,"b":2}}',
    "progressToken": '"method":"tools/call","params":{"name":"add","_meta":{"progressToken":1,"progressToken":2}}',
    "n\\u0061me": '"method":"tools/call","params":{"n\\u0061me":"held","name":"add","arguments":{"a":1,"b":2}}',
    "uri": '"method":"resources/read","params":{"uri":"a://b","uri":"c://d"}',
    "level": '"method":"logging/setLevel","params":{"level":"info","level":"debug"}',
    "big": '"method":"ping","params":{"x":%b,"big":1,"big":2}'.replace("%b", "9" * 5000),
    "protocolVersion": '"method":"initialize","params":{"protocolVersion":"2025-03-26","protocolVersion":"2025-11-25",'
    f'"capabilities":{{}},{CLIENT}}}',
    "capabilities": '"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},'
    f'"capabilities":{{}},{CLIENT}}}',
}


def write_message(rest: str, number: int = 5) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,%b}' % (number, rest.encode())


def refusal(name: str, number: int = 5) -> dict[str, Any]:
    """What is answered."""
    told = json.loads(f'"{name}"')
    return {"jsonrpc": "2.0", "id": number, "error": {"code": -32600, "message": f"{told!r} is said twice"}}


@driven
async def test_twice_in_a_session_over_http(tmp_path: Path) -> None:
    async with running_session_server(tmp_path) as stand:
        for revision in REVISIONS:
            talk = await begin_session(stand, revision)
            for name, rest in TWICE.items():
                reply = await talk.post(write_message(rest))
                assert (reply.status, reply.json()) == (200, refusal(name)), name
            inside = await talk.post(
                write_message('"method":"tools/call","params":{"name":"add","arguments":{"a":1,"a":5,"b":2}}')
            )
            assert inside.json()["result"]["isError"]
            assert "3" in (await talk.call("add", a=1, b=2))["content"][0]["text"]


def test_twice_in_a_session_over_a_pipe(tmp_path: Path) -> None:
    with running_stdio_server(write_workspace(tmp_path)) as client:
        client.begin()
        for name, rest in TWICE.items():
            client.write(write_message(rest) + b"\n")
            assert client.read_message() == refusal(name), name
        assert client.call("add", a=1, b=2)["structuredContent"] == {"result": 3}


@driven
async def test_twice_in_one_of_several_messages(tmp_path: Path) -> None:
    """MCP-21: the others are answered."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand, "2025-03-26")
        fine = write_message('"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}', 1)
        answers = (await talk.post(b"[%b,%b]" % (fine, write_message(TWICE["name"], 2)))).json()
        by_id = {answer["id"]: answer for answer in answers}
        assert by_id[1]["result"]["content"][0]["text"] == "3"
        assert by_id[2] == refusal("name", 2)


@driven
async def test_twice_in_the_revision_without_sessions(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=(add,)) as stand:
        rest = f'"arguments":{{"a":1,"b":2}},"_meta":{json.dumps(make_meta())}'
        for name, more in (
            ("requestState", '"requestState":"a","requestState":"b"'),
            ("action", '"inputResponses":{"x":{"action":"decline","action":"accept"}}'),
            ("inputResponses", '"inputResponses":{},"inputResponses":{}'),
            ("arguments", '"arguments":{"a":1}'),
            ("_meta", '"_meta":{}'),
        ):
            sent = write_message(f'"method":"tools/call","params":{{"name":"add",{more},{rest}}}')
            reply = await stand.ask("POST", "/mcp", sent, make_headers("tools/call", "add"))
            assert (reply.status, reply.json()) == (400, refusal(name)), name
        assert (await ModernClient(stand).call("add", {"a": 1, "b": 2}))["result"]["structuredContent"] == 3


@driven
async def test_an_answer_of_a_client_that_says_something_twice_is_none(tmp_path: Path) -> None:
    """What a person declined must not be accepted by another reading."""
    async with running_session_server(tmp_path) as stand:
        talk: SessionClient = await begin_session(stand, capabilities={"elicitation": {}})
        opened = talk.start("tools/call", name="who", arguments={})
        assert await opened.wait_for_status() == 200
        asked = await read_data(opened)
        both = b'{"action":"decline","action":"accept","content":{"name":"Ada"}}'
        reply = await talk.post(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (asked["id"], both))
        assert reply.status == 202
        assert "hello" not in json.dumps(await read_data(opened))


def test_a_cancellation_of_two_requests_is_of_none() -> None:
    """MCP-173: what is malformed is ignored."""
    told = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1%s}}'
    assert read_cancelled_id(read_message((told % "").encode())) == 1
    assert read_cancelled_id(read_message((told % ',"requestId":2').encode())) is None


@pytest.mark.parametrize(
    "params",
    [
        '{"name":"a","name":"b"}',
        '{"name":"a","arguments":{},"arguments":{}}',
        '{"arguments":{"a":1},"arguments":{"b":2}}',
        '{"arguments":{"a":"1"},"arguments":{}}',
        '{"name":"a","requestState":1,"requestState":2}',
        '{"name":"a","_meta":{},"_meta":{}}',
    ],
)
def test_parameters_that_say_something_twice_are_refused_however_they_are_written(params: str) -> None:
    modern = json.dumps({f"{KEY}protocolVersion": "2026-07-28", f"{KEY}clientCapabilities": {}})
    for text in (params, params.replace(":", " : "), params.replace("{", f'{{"_meta":{modern},', 1)):
        with pytest.raises(RpcError):
            refuse_doubled_params(read_message(write_message(f'"method":"tools/call","params":{text}')))
    refuse_doubled_params(
        read_message(write_message('"method":"tools/call","params":{"name":"a","arguments":{"b":1}}'))
    )


_names = st.sampled_from(["a", "name", "arguments", "params", "{}", ""])
_inside = st.recursive(
    st.integers() | _names,
    lambda inside: st.lists(inside, max_size=2) | st.lists(st.tuples(_names, inside), max_size=3).map(tuple),
    max_leaves=8,
)


def _text(value: Any, space: str) -> str:
    """JSON of pairs, which may have a name twice."""
    if isinstance(value, tuple):
        pairs = (f"{json.dumps(name)}{space}:{space}{_text(each, space)}" for name, each in value)
        return "{" + f",{space}".join(pairs) + "}"
    return "[" + ",".join(_text(each, space) for each in value) + "]" if isinstance(value, list) else json.dumps(value)


def _doubles(value: Any, *, is_call: bool = False) -> bool:
    """True when something is said twice, except within the arguments of a call: the last ones, which count."""
    if isinstance(value, list):
        return any(map(_doubles, value))
    if not isinstance(value, tuple):
        return False
    names = [name for name, _ in value]
    return len(set(names)) < len(names) or any(
        _doubles(each) for name, each in value if not (is_call and name == "arguments")
    )


@given(st.lists(st.tuples(_names, _inside), max_size=4).map(tuple), st.booleans(), st.sampled_from(["", " "]))
def test_every_double_is_found_and_nothing_else(params: Any, is_call: bool, space: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":1,"method":"{"tools/call" if is_call else "x"}","params":{_text(params, space)}}}'
    try:
        refuse_doubled_params(read_message(body.encode()))
        found = False
    except RpcError:
        found = True
    assert found == _doubles(params, is_call=is_call)

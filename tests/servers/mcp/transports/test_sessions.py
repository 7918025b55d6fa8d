"""Sessions over HTTP: whose they are, how long they live, and how their answers travel."""

from __future__ import annotations

import asyncio
import json
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from ferrule.access.keys import Access
from ferrule.model.serving import LimitSettings
from ferrule.servers.mcp.methods.changes import get_hub
from ferrule.servers.mcp.server import RpcAnswer
from ferrule.servers.mcp.transports.http import McpEndpoint
from ferrule.servers.mcp.transports.session_http import SessionEndpoint
from ferrule.servers.mcp.transports.sessions import OpenRequests
from tests.driven import driven
from tests.servers.local_server import InProcessServer
from tests.servers.mcp.session_client import (
    ALL,
    BOTH,
    REVISIONS,
    SessionClient,
    begin_session,
    gate,
    make_initialize,
    make_message,
    read_data,
    read_rest,
    running_session_server,
)

WAIT_SECONDS = 20.0


def endpoint(stand: InProcessServer) -> SessionEndpoint:
    """The sessions of a stand, from inside."""
    found = stand.root._exact["/mcp"]
    assert isinstance(found, McpEndpoint)
    assert found.sessions is not None
    return found.sessions


@driven
async def test_a_request_whose_tool_cancels_its_own_task_is_answered_and_one_that_the_client_cancels_is_not() -> None:
    async def cancel_itself() -> RpcAnswer:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        raise AssertionError("it was not cancelled")

    async def wait() -> RpcAnswer:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    underway, told = OpenRequests(), dict[int, bytes]()
    tasks = [
        underway.start(1, cancel_itself(), copy_context(), lambda text: told.update({1: text})),
        underway.start(2, wait(), copy_context(), lambda text: told.update({2: text})),
    ]
    underway.cancel(2)
    await asyncio.wait(tasks, timeout=WAIT_SECONDS)
    await asyncio.sleep(0)
    assert json.loads(told[1])["error"]["message"] == "the request was cancelled before it was answered"
    assert told[2] == b"" and not underway


async def soon(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), WAIT_SECONDS)


@pytest.mark.parametrize("revision", REVISIONS)
@driven
async def test_a_session_from_beginning_to_end(tmp_path: Path, revision: str) -> None:
    """MCP-72, MCP-78, MCP-80, MCP-90: initialize, initialized, work, DELETE, and 404 from then on."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand, revision)
        assert talk.revision == revision
        assert all(0x21 <= ord(sign) <= 0x7E for sign in talk.id)
        assert len(talk.id) >= 32
        said = "5" if revision == "2025-03-26" else '{"result":5}'
        assert (await talk.call("add", a=2, b=3))["content"] == [{"type": "text", "text": said}]
        assert (await talk.ask("ping"))["result"] == {}
        ended = await stand.ask("DELETE", "/mcp", b"", talk.headers)
        assert (ended.status, ended.body) == (200, b"")
        for method in ("POST", "GET", "DELETE"):
            again = await stand.ask(method, "/mcp", make_message("ping", 9) if method == "POST" else b"", talk.headers)
            assert again.status == 404, method


@driven
async def test_ids_are_random(tmp_path: Path) -> None:
    """MCP-284: nobody guesses one."""
    async with running_session_server(tmp_path) as stand:
        ids = {(await begin_session(stand)).id for _ in range(20)}
        assert len(ids) == 20


@driven
async def test_without_a_session_nothing_but_initialize_is_answered(tmp_path: Path) -> None:
    """MCP-74, MCP-75: no id is 400, an unknown one 404; on every method."""
    async with running_session_server(tmp_path) as stand:
        for method in ("POST", "GET", "DELETE"):
            body: Any = make_message("tools/list", 1) if method == "POST" else b""
            accept = {"Accept": BOTH, "MCP-Protocol-Version": "2025-11-25"}
            assert (await stand.ask(method, "/mcp", body, accept)).status == 400
            unknown = {**accept, "Mcp-Session-Id": "nobody-knows-this"}
            assert (await stand.ask(method, "/mcp", body, unknown)).status == 404


@driven
async def test_a_session_is_its_callers_alone(tmp_path: Path) -> None:
    """MCP-77, MCP-284: another credential meets a session that does not exist, also one of the same person."""
    async with running_session_server(tmp_path, auth=True) as stand:
        access = Access(tmp_path)
        owner = access.local_owner()
        _, ann = access.add(owner, "ann", ["call"])
        _, ann_again = access.add(owner, "ann", ["call"])
        _, ben = access.add(owner, "ben", ["call"])
        talk = await begin_session(stand, token=ann)
        running = talk.start("tools/call", request_id=5, name="held", arguments={})
        await soon(gate().entered)
        for token in (ben, ann_again):
            other = SessionClient(stand, talk.id, talk.revision, token)
            unknown = SessionClient(stand, "x" * len(talk.id), talk.revision, token)
            for said in (make_message("ping", 1), make_message("notifications/cancelled", params={"requestId": 5})):
                theirs, nobodys = await other.post(said), await unknown.post(said)
                assert theirs.status == 404
                assert theirs == nobodys
            assert await other.listen().wait_for_status() == 404
            assert (await stand.ask("DELETE", "/mcp", b"", other.headers)).status == 404
        assert not gate().cancelled.is_set()
        gate().opened.set()
        assert await running.wait_for_status() == 200
        await read_rest(running)


@driven
async def test_a_caller_cancels_only_in_the_same_session(tmp_path: Path) -> None:
    """MCP-173, MCP-176: a cancelled request gets no response, and the same id of another session goes on."""
    async with running_session_server(tmp_path) as stand:
        first, second = await begin_session(stand), await begin_session(stand)
        running = first.start("tools/call", request_id=7, name="held", arguments={})
        await soon(gate().entered)
        nothing: tuple[Any, ...] = ("7", 8, None, {"a": 7}, [7], True, 7.0)
        for request_id in (7, *nothing):
            await second.tell("notifications/cancelled", requestId=request_id)
        for request_id in nothing:
            await first.tell("notifications/cancelled", requestId=request_id)
        await first.post(make_message("notifications/cancelled", params=[7]))
        assert not gate().cancelled.is_set()
        await first.tell("notifications/cancelled", requestId=7, reason="not needed")
        await soon(gate().cancelled)
        assert await running.wait_for_status() == 200
        assert await read_rest(running) == []
        assert (await first.ask("ping"))["result"] == {}


@driven
async def test_the_handshake_cannot_be_cancelled(tmp_path: Path) -> None:
    """MCP-94."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        await talk.tell("notifications/cancelled", requestId=0)
        assert (await talk.ask("ping"))["result"] == {}


@driven
async def test_a_client_that_names_streams_first_gets_one(tmp_path: Path) -> None:
    """MCP-42: both forms are right, so it may choose."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        reply = await talk.post(make_message("tools/list", 5), Accept="text/event-stream, application/json")
        assert reply.headers["content-type"] == "text/event-stream"
        [event] = reply.events()
        assert json.loads(event["data"])["id"] == 5
        reply = await talk.post(make_message("tools/list", 6), Accept=BOTH)
        assert reply.json()["id"] == 6


@driven
async def test_what_is_told_meanwhile_makes_the_answer_a_stream(tmp_path: Path) -> None:
    """MCP-42, MCP-83, MCP-88, MCP-169: progress travels on the request's own stream, which ends with the response."""
    async with running_session_server(tmp_path) as stand:
        for revision in REVISIONS:
            talk = await begin_session(stand, revision)
            opened = talk.start("tools/call", name="steps", arguments={}, _meta={"progressToken": 4})
            assert await opened.wait_for_status() == 200
            assert opened.headers["content-type"] == "text/event-stream"
            assert opened.headers["cache-control"] == "no-cache"
            events = await read_rest(opened)
            is_primed = events[0]["data"] == ""
            assert is_primed == (revision == "2025-11-25")
            messages = [json.loads(event["data"]) for event in events if event["data"]]
            told = [each["params"] for each in messages if each.get("method") == "notifications/progress"]
            assert [each["progress"] for each in told][-1] == 100
            assert all(each["progressToken"] == 4 for each in told)
            assert messages[-1]["result"]["content"][0]["text"] == "all steps"
            assert sum("result" in each for each in messages) == 1
            assert len({event["id"] for event in events}) == len(events)
            assert "notifications/message" not in {each.get("method") for each in messages}


@driven
async def test_log_messages_follow_the_level_of_the_session(tmp_path: Path) -> None:
    """MCP-181, MCP-182: nothing before a level was set; from then on what is at or above it, in that session only."""
    async with running_session_server(tmp_path) as stand:
        loud, quiet = await begin_session(stand), await begin_session(stand)
        assert (await loud.ask("logging/setLevel", level="info"))["result"] == {}
        opened = loud.start("tools/call", name="steps", arguments={})
        messages = [json.loads(event["data"]) for event in await _events(opened) if event["data"]]
        logs = [each["params"] for each in messages if each.get("method") == "notifications/message"]
        assert logs == [{"level": "info", "data": {"step": number}, "logger": "steps"} for number in range(3)]
        assert (await quiet.call("steps"))["content"][0]["text"] == "all steps"
        bad = await loud.ask("logging/setLevel", level="loud")
        assert bad["error"]["code"] == -32602


async def _events(opened: Any) -> list[dict[str, str]]:
    assert await opened.wait_for_status() == 200
    return await read_rest(opened)


@driven
async def test_a_tool_asks_the_client_on_the_stream_of_its_call(tmp_path: Path) -> None:
    """MCP-83, MCP-208, MCP-211: no GET stream is needed, and each kind of answer reaches the tool."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand, capabilities=ALL)
        answers = (
            ({"action": "accept", "content": {"name": "Ann"}}, "hello Ann"),
            ({"action": "decline"}, "no name: decline"),
            ({"action": "cancel"}, "no name: cancel"),
        )
        for given, expected in answers:
            opened = talk.start("tools/call", name="who", arguments={})
            assert await opened.wait_for_status() == 200
            asked = await read_data(opened)
            assert asked["method"] == "elicitation/create"
            assert asked["params"]["message"] == "Your name?"
            await talk.answer(asked, given)
            assert (await read_data(opened))["result"]["content"][0]["text"] == expected
            assert await opened.read_event() is None


@driven
async def test_answers_find_their_questions(tmp_path: Path) -> None:
    """MCP-84: several questions at once; answers to nothing, twice, or by another session change nothing."""
    async with running_session_server(tmp_path) as stand:
        talk, other = await begin_session(stand, capabilities=ALL), await begin_session(stand, capabilities=ALL)
        opened = talk.start("tools/call", name="places", arguments={})
        assert await opened.wait_for_status() == 200
        word = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}
        await talk.answer({"id": 999}, {})
        await talk.answer({"id": "1"}, {})
        for _ in range(2):
            asked = await read_data(opened)
            await other.answer(asked, {"roots": [], **word})
            given = {"roots": [{"uri": "file:///a"}]} if asked["method"] == "roots/list" else word
            await talk.answer(asked, given)
            await talk.answer(asked, {})
        assert (await read_data(opened))["result"]["content"][0]["text"] == "1 roots, yes"


@pytest.mark.parametrize("revision", REVISIONS)
@driven
async def test_a_client_is_asked_only_for_what_it_declared(tmp_path: Path, revision: str) -> None:
    """MCP-95, MCP-207: the tool fails cleanly, and nothing hangs. 2025-03-26 has no elicitation, whatever is declared."""
    async with running_session_server(tmp_path) as stand:
        declared = ALL if revision == "2025-03-26" else {"sampling": {}}
        talk = await begin_session(stand, revision, capabilities=declared)
        reply = await talk.post(make_message("tools/call", 1, params={"name": "who"}))
        assert reply.status == 200
        text = reply.body.decode()
        assert "elicitation/create" not in text.partition('"isError":true')[2] or '"method"' not in text
        assert '"isError":true' in text


@driven
async def test_a_client_that_does_not_answer_is_told_so(tmp_path: Path) -> None:
    """MCP-180, MCP-215: after a while the question is taken back, and the call ends."""
    limits = LimitSettings(request_seconds=0.2)
    async with running_session_server(tmp_path, limits=limits) as stand:
        talk = await begin_session(stand, capabilities=ALL)
        opened = talk.start("tools/call", name="who", arguments={})
        assert await opened.wait_for_status() == 200
        asked = await read_data(opened)
        taken_back = await read_data(opened)
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == asked["id"]
        ended = await read_data(opened)
        assert "error" in ended or ended["result"]["isError"]
        await talk.answer(asked, {"action": "accept", "content": {"name": "late"}})


@driven
async def test_a_cancelled_call_takes_its_question_back(tmp_path: Path) -> None:
    """MCP-177."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand, capabilities=ALL)
        opened = talk.start("tools/call", request_id="c", name="who", arguments={})
        assert await opened.wait_for_status() == 200
        asked = await read_data(opened)
        await talk.tell("notifications/cancelled", requestId="c")
        taken_back = await read_data(opened)
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == asked["id"]
        assert await read_data(opened) is None


@driven
async def test_a_lost_connection_is_no_cancellation(tmp_path: Path) -> None:
    """MCP-85, MCP-87, MCP-175: the call goes on, and its result waits for whoever comes back with the last event."""
    async with running_session_server(tmp_path, poll_after_seconds=0) as stand:
        talk = await begin_session(stand, capabilities=ALL)
        other = talk.start("tools/call", name="steps", arguments={}, _meta={"progressToken": "other"})
        opened = talk.start("tools/call", name="who", arguments={}, _meta={"progressToken": "mine"})
        assert await opened.wait_for_status() == 200
        first = await opened.read_event()
        assert first is not None
        asked = await read_data(opened)
        await opened.leave()
        await talk.answer(asked, {"action": "accept", "content": {"name": "Ann"}})
        await _events(other)
        again = talk.listen(first["id"])
        assert await again.wait_for_status() == 200
        events = await read_rest(again)
        messages = [json.loads(event["data"]) for event in events]
        assert messages[0] == asked
        assert messages[-1]["result"]["content"][0]["text"] == "hello Ann"
        assert {event["id"].partition("-")[0] for event in events} == {first["id"].partition("-")[0]}
        last = talk.listen(events[-1]["id"])
        assert await last.wait_for_status() == 200
        assert await read_rest(last) == []


@driven
async def test_a_call_that_takes_long_becomes_a_stream_that_can_be_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MCP-51, MCP-85: nothing was told, and still the client can come back for the result."""
    monkeypatch.setattr("ferrule.servers.mcp.transports.session_post._STREAMS_AFTER_SECONDS", 0.05)
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        opened = talk.start("tools/call", name="held", arguments={"label": "x"})
        assert await opened.wait_for_status() == 200
        primed = await opened.read_event()
        assert primed is not None
        assert primed["data"] == ""
        await opened.leave()
        gate().opened.set()
        again = talk.listen(primed["id"])
        assert await again.wait_for_status() == 200
        assert (await read_data(again))["result"]["content"][0]["text"] == "done x"
        assert gate().count == 1


@driven
async def test_a_server_may_have_its_client_come_back(tmp_path: Path) -> None:
    """MCP-88, MCP-89: the connection ends, the stream does not; `retry` says when to come back. Only from 2025-11-25 on."""
    async with running_session_server(tmp_path, poll_after_seconds=0.1) as stand:
        talk, older = await begin_session(stand), await begin_session(stand, "2025-06-18")
        opened = talk.start("tools/call", name="held", arguments={})
        staying = older.start("tools/call", name="held", arguments={})
        events = await _events(opened)
        assert [event["data"] for event in events] == [""]
        assert int(events[0]["retry"]) > 0
        assert await staying.wait_for_status() == 200
        again = talk.listen(events[0]["id"])
        assert await again.wait_for_status() == 200
        gate().opened.set()
        assert (await read_data(again))["result"]["content"][0]["text"] == "done "
        assert [json.loads(event["data"])["result"]["content"][0]["text"] for event in await read_rest(staying)] == [
            "done "
        ]


@driven
async def test_an_event_of_another_session_is_not_given(tmp_path: Path) -> None:
    """MCP-87, MCP-285: an id is no authorization."""
    async with running_session_server(tmp_path) as stand:
        first, second = await begin_session(stand), await begin_session(stand)
        events = await _events(first.start("tools/call", name="steps", arguments={}, _meta={"progressToken": 1}))
        for event_id in (events[0]["id"], "99-1", "nonsense", "0-1"):
            opened = second.listen(event_id)
            assert await opened.wait_for_status() == 400
        assert await first.listen(events[0]["id"]).wait_for_status() == 200


@driven
async def test_a_session_has_one_stream_of_its_own(tmp_path: Path) -> None:
    """MCP-81: a second one is refused, until the first is closed."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        first = talk.listen()
        assert await first.wait_for_status() == 200
        assert first.headers["content-type"] == "text/event-stream"
        assert await talk.listen().wait_for_status() == 409
        await first.leave()
        second = talk.listen()
        assert await second.wait_for_status() == 200
        await second.leave()


@driven
async def test_where_nothing_is_ever_told_there_is_no_stream(tmp_path: Path) -> None:
    """MCP-82: 405, so that nobody comes back for ever."""
    async with running_session_server(tmp_path, changes=False) as stand:
        talk = await begin_session(stand)
        opened = talk.listen()
        assert await opened.wait_for_status() == 405
        assert "GET" not in opened.headers["allow"]


@driven
async def test_ending_a_session_ends_what_goes_on_in_it(tmp_path: Path) -> None:
    """MCP-80: running requests are cancelled, streams closed."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        own = talk.listen()
        assert await own.wait_for_status() == 200
        running = talk.start("tools/call", name="held", arguments={})
        await soon(gate().entered)
        assert (await stand.ask("DELETE", "/mcp", b"", talk.headers)).status == 200
        await soon(gate().cancelled)
        assert await read_rest(own) == []
        assert await running.wait_for_status() == 200
        assert await read_rest(running) == []


@driven
async def test_errors_of_a_session_travel_with_200(tmp_path: Path) -> None:
    """MCP-76, MCP-117: 404 means that the session is gone, and nothing else."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        assert (await talk.ask("no/such"))["error"]["code"] == -32601
        assert (await talk.ask("tools/call", name="no-such-tool"))["error"]["code"] == -32602
        assert (await talk.ask("server/discover"))["error"]["code"] == -32601
        assert (await talk.ask("tools/call", name="add", arguments={"a": "x"}))["result"]["isError"]


@driven
async def test_what_is_no_message_is_refused(tmp_path: Path) -> None:
    """MCP-18, MCP-22, MCP-24, MCP-115, MCP-116: 400 with an error that names the id where it could be read."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        for said, code, request_id in (
            (b"{", -32700, None),
            (b"\xff\xfe", -32700, None),
            (b"[]", -32600, None),
            (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
            (b'"text"', -32600, None),
            (b'{"jsonrpc":"2.0","id":1,"methodX":"a"}', -32600, 1),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
            (b'{"jsonrpc":"1.0","id":"x","method":"ping"}', -32600, "x"),
        ):
            reply = await talk.post(said)
            assert reply.status == 400, said
            assert reply.json()["error"]["code"] == code, said
            assert reply.json().get("id", None) == request_id
            assert "id" in reply.json() or request_id is None
        assert (await talk.ask("ping"))["result"] == {}


@driven
async def test_ids_are_given_back_with_their_type(tmp_path: Path) -> None:
    """MCP-16."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        for request_id in (1, "1", -5, 2**53, "", "ü"):
            assert (await talk.post(make_message(id=request_id, method="ping"))).json()["id"] == request_id


@driven
async def test_an_id_in_use_cannot_be_used_again(tmp_path: Path) -> None:
    """MCP-17: two requests that cannot be told apart are not answered."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        running = talk.start("tools/call", request_id=1, name="held", arguments={})
        await soon(gate().entered)
        again = await talk.post(make_message("ping", 1))
        assert (again.status, again.json()["error"]["code"]) == (400, -32600)
        assert (await talk.post(make_message("ping", "1"))).status == 200
        gate().opened.set()
        assert await running.wait_for_status() == 200
        await read_rest(running)


@driven
async def test_requests_of_one_session_run_side_by_side(tmp_path: Path) -> None:
    """MCP-53: each answer goes to the request it is for."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        slow = talk.start("tools/call", name="held", arguments={})
        await soon(gate().entered)
        sums = await asyncio.gather(*(talk.call("add", a=number, b=number) for number in range(20)))
        assert [each["structuredContent"]["result"] for each in sums] == [2 * number for number in range(20)]
        gate().opened.set()
        assert await slow.wait_for_status() == 200
        await read_rest(slow)


@driven
async def test_several_messages_in_one_body_are_for_the_oldest_revision(tmp_path: Path) -> None:
    """MCP-21, MCP-22: one response for each request; notifications and responses alone are 202."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand, "2025-03-26", capabilities=ALL)
        call = {"name": "add", "arguments": {"a": 1, "b": 1}}
        both = [make_message("ping", 1), make_message("notifications/x"), make_message("tools/call", "b", params=call)]
        reply = await talk.post(both)
        assert reply.status == 200
        assert [each["id"] for each in reply.json()] == [1, "b"]
        quiet = await talk.post([make_message("notifications/x"), make_message(id=5, result={})])
        assert (quiet.status, quiet.body) == (202, b"")
        assert (await talk.post([])).status == 400
        assert (await talk.post([make_initialize("2025-03-26")])).status == 400
        assert (await talk.post([make_message("ping", 1), make_message("ping", 1)])).status == 400
        assert (await talk.post([make_message("ping", 1), 5])).status == 400
        assert (await talk.post([make_message("ping", number) for number in range(1000)])).status == 400
        steps = make_message("tools/call", 2, params={"name": "steps", "_meta": {"progressToken": 1}})
        opened = talk.open([make_message("ping", 1), steps])
        answered = [json.loads(event["data"]) for event in await _events(opened)]
        assert sorted(each["id"] for each in answered if "result" in each) == [1, 2]
        for revision in REVISIONS[:2]:
            newer = await begin_session(stand, revision)
            refused = await newer.post(both)
            assert (refused.status, refused.json()["error"]["code"]) == (400, -32600)


@driven
async def test_the_revision_is_that_of_the_session(tmp_path: Path) -> None:
    """MCP-7, MCP-8: without a header the one that was agreed on; one that is not served is refused."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand, "2025-06-18")
        headers = {"Accept": BOTH, "Mcp-Session-Id": talk.id}
        listed = await stand.ask("POST", "/mcp", make_message("tools/list", 1), headers)
        assert "title" in listed.json()["result"]["tools"][0] or "outputSchema" in listed.body.decode()
        odd = {**headers, "MCP-Protocol-Version": "1999-01-01"}
        assert (await stand.ask("POST", "/mcp", make_message("ping", 1), odd)).status == 400


@driven
async def test_an_idle_session_is_forgotten(tmp_path: Path) -> None:
    """MCP-91: 404 after a while, and nothing is kept; one that is in use stays."""
    async with running_session_server(tmp_path, session_seconds=100) as stand:
        store, now = endpoint(stand).store, 0.0
        store._clock = store._ids._clock = lambda: now
        idle, busy = await begin_session(stand), await begin_session(stand)
        own = busy.listen()
        assert await own.wait_for_status() == 200
        now = 99.0
        assert (await idle.ask("ping"))["result"] == {}
        now = 198.0
        store.sweep()
        assert len(store) == 2
        now = 400.0
        store.sweep()
        assert len(store) == 1
        assert (await idle.post(make_message("ping", 1))).status == 404
        assert (await busy.ask("ping"))["result"] == {}
        await own.leave()
        now = 700.0
        assert (await busy.post(make_message("ping", 1))).status == 404
        assert len(store) == 0


@driven
async def test_sessions_of_one_caller_are_bounded(tmp_path: Path) -> None:
    """MCP-91, MCP-290: the longest idle one makes room; when all are in use, no more are begun. Others do not notice."""
    async with running_session_server(tmp_path, auth=True, limits=LimitSettings(sessions=3)) as stand:
        access = Access(tmp_path)
        owner = access.local_owner()
        _, ann = access.add(owner, "ann", ["call"])
        _, ben = access.add(owner, "ben", ["call"])
        others = await begin_session(stand, token=ben)
        talks = [await begin_session(stand, token=ann) for _ in range(4)]
        assert (await talks[0].post(make_message("ping", 1))).status == 404
        streams = [talk.listen() for talk in talks[1:]]
        for stream in streams:
            assert await stream.wait_for_status() == 200
        headers = {"Accept": BOTH, "Authorization": f"Bearer {ann}"}
        refused = await stand.ask("POST", "/mcp", make_initialize(), headers)
        assert refused.status == 429
        assert int(refused.headers["retry-after"]) > 0
        await streams[1].leave()
        await begin_session(stand, token=ann)
        assert (await talks[2].post(make_message("ping", 1))).status == 404
        assert (await others.ask("ping"))["result"] == {}
        for stream in streams:
            await stream.leave()


@driven
async def test_a_client_that_takes_one_form_gets_it(tmp_path: Path) -> None:
    """MCP-40: JSON only: nothing is told meanwhile, and nobody is asked; events only: the response is an event."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand, capabilities=ALL)
        steps = make_message("tools/call", 1, params={"name": "steps", "_meta": {"progressToken": 1}})
        reply = await talk.post(steps, Accept="application/json")
        assert reply.headers["content-type"] == "application/json"
        assert reply.json()["result"]["content"][0]["text"] == "all steps"
        asks = await talk.post(make_message("tools/call", 2, params={"name": "who"}), Accept="application/json")
        assert asks.headers["content-type"] == "application/json"
        assert "error" in asks.json() or asks.json()["result"]["isError"]
        events = await talk.post(make_message("ping", 3), Accept="text/event-stream")
        assert events.headers["content-type"] == "text/event-stream"
        assert [json.loads(event["data"]) for event in events.events()] == [make_message(id=3, result={})]


@driven
async def test_stopping_lets_calls_end_and_streams_close(tmp_path: Path) -> None:
    """A graceful stop: own streams end at once, calls in flight get their time."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        own = talk.listen()
        assert await own.wait_for_status() == 200
        running = talk.start("tools/call", name="held", arguments={})
        await soon(gate().entered)
        await stand.edge.end_streams()
        assert await read_rest(own) == []
        gate().opened.set()
        assert await running.wait_for_status() == 200
        text = b"".join([part async for part in _parts(running)])
        assert b"done" in text
        forgotten = talk.start("tools/call", name="held", arguments={})
        gate().opened.clear()
        await asyncio.wait_for(stand.edge.aclose(), WAIT_SECONDS)
        assert await forgotten.wait_for_status() in (200, 404)


async def _parts(opened: Any) -> Any:
    while (part := await opened.read_part()) is not None:
        yield part


@driven
async def test_changes_are_told_on_the_sessions_own_stream(tmp_path: Path) -> None:
    """MCP-81, MCP-153, MCP-240: without asking for it; what nobody heard waits, once, for whoever comes back."""
    async with running_session_server(tmp_path) as stand:
        talk, deaf = await begin_session(stand), await begin_session(stand)
        hub = get_hub(endpoint(stand).server)
        own = talk.listen()
        assert await own.wait_for_status() == 200
        running = talk.start("tools/call", name="held", arguments={})
        await soon(gate().entered)
        hub.announce("tools")
        assert (await read_data(own))["method"] == "notifications/tools/list_changed"
        await own.leave()
        for _ in range(5):
            hub.announce("tools")
        again = talk.listen()
        assert await again.wait_for_status() == 200
        event = await again.read_event()
        assert event is not None
        assert json.loads(event["data"])["method"] == "notifications/tools/list_changed"
        hub.announce("resources")
        assert (await read_data(again))["method"] == "notifications/resources/list_changed"
        await again.leave()
        replayed = talk.listen(event["id"])
        assert await replayed.wait_for_status() == 200
        assert (await read_data(replayed))["method"] == "notifications/resources/list_changed"
        await replayed.leave()
        gate().opened.set()
        assert await running.wait_for_status() == 200
        assert b"list_changed" not in b"".join([part async for part in _parts(running)])
        assert hub.count == 1
        await stand.ask("DELETE", "/mcp", b"", talk.headers)
        await stand.ask("DELETE", "/mcp", b"", deaf.headers)
        while hub.count:
            await asyncio.sleep(0.01)


@driven
async def test_streams_of_one_caller_are_bounded(tmp_path: Path) -> None:
    """MCP-290: and a place is free again when a stream ends."""
    async with running_session_server(tmp_path, limits=LimitSettings(streams=2)) as stand:
        talks = [await begin_session(stand) for _ in range(3)]
        opened = [talk.listen() for talk in talks]
        assert [await each.wait_for_status() for each in opened] == [200, 200, 429]
        await opened[0].leave()
        again = talks[2].listen()
        assert await again.wait_for_status() == 200
        for each in (opened[1], again):
            await each.leave()


@driven
async def test_calls_wait_in_line(tmp_path: Path) -> None:
    """MCP-290: more calls at once than a principal may make wait for their turn, or are refused with words; none is lost."""
    async with running_session_server(tmp_path, limits=LimitSettings(calls_at_once=1, calls_waiting=2)) as stand:
        talk = await begin_session(stand)
        first = talk.start("tools/call", name="held", arguments={})
        await soon(gate().entered)
        waiting = [asyncio.ensure_future(talk.call("add", a=number, b=0)) for number in range(2)]
        await asyncio.sleep(0.05)
        refused = await talk.post(
            make_message("tools/call", "x", params={"name": "add", "arguments": {"a": 1, "b": 1}})
        )
        assert (refused.status, refused.json()["error"]["code"]) == (200, 429)
        gate().opened.set()
        assert await first.wait_for_status() == 200
        await read_rest(first)
        assert [each["structuredContent"]["result"] for each in await asyncio.gather(*waiting)] == [0, 1]

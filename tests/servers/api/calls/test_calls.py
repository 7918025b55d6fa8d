"""Calls over HTTP: at once, later, refused, repeated, cancelled, and asked back."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import NOBODY, Api, api, gates


async def ended(here: Api, who: str, call: str) -> dict[str, object]:
    reply = await here.ask(who, "GET", f"/v1/calls/{call}", Prefer="wait=20")
    found: dict[str, object] = reply.json()
    assert found["is_pending"] is False
    return found


@driven
async def test_a_call_gives_its_result(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        reply = await here.call("ada", "add", {"a": 1, "b": 2})
        state = reply.json()
        assert (reply.status, state["state"]) == (200, "succeeded")
        assert state["result"]["structured_content"] == {"sum": 3}
        assert reply.headers["content-location"] == f"/v1/calls/{state['invocation_id']}"
        again = await here.ask("ada", "GET", reply.headers["content-location"])
        assert again.json() == state
        unchanged = await here.ask("ada", "GET", reply.headers["content-location"], If_None_Match=again.headers["etag"])
        assert unchanged.status == 304


@driven
async def test_a_call_that_is_not_waited_for_can_be_asked_about(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        reply = await here.call("ada", "steps", {"gate": "one"}, Prefer="respond-async")
        assert reply.status == 202
        assert reply.headers["preference-applied"] == "respond-async"
        place = reply.headers["location"]
        waiting = await here.ask("ada", "GET", place)
        assert waiting.json()["is_pending"] is True
        assert "etag" not in waiting.headers
        gates["one"].set()
        state = await ended(here, "ada", place.rpartition("/")[2])
        assert state["state"] == "succeeded"


@driven
async def test_a_client_waits_as_long_as_it_likes(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        reply = await here.call("ada", "steps", {"gate": "one"}, Prefer="respond-async, wait=0")
        assert reply.status == 202
        gates["one"].set()
        quick = await here.call("ada", "add", {"a": 1, "b": 2}, Prefer="wait=20")
        assert quick.status == 200
        await ended(here, "ada", reply.json()["invocation_id"])


@driven
async def test_one_key_is_one_call(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        first = await here.call("ada", "pay", {"amount": 1}, Idempotency_Key="k-1")
        again = await here.call("ada", "pay", {"amount": 1}, Idempotency_Key="k-1")
        later = await here.call("ada", "pay", {"amount": 1}, Idempotency_Key="k-1", Prefer="respond-async")
        assert "idempotency-replayed" not in first.headers
        assert again.headers["idempotency-replayed"] == later.headers["idempotency-replayed"] == "true"
        calls = {reply.json()["invocation_id"] for reply in (first, again, later)}
        assert len(calls) == 1
        assert later.headers["location"].endswith(calls.pop())
        other = await here.call("ada", "pay", {"amount": 2}, Idempotency_Key="k-1")
        assert (other.status, other.json()["code"]) == (409, "idempotency_conflict")
        assert "idempotency-replayed" not in other.headers
        for tool, arguments in (("add", {"a": 1, "b": 1}), ("fail", {})):
            told = [await here.call("ada", tool, arguments, Idempotency_Key="k-2") for _ in range(2)]
            assert told[0].body == told[1].body
            assert [reply.headers.get("idempotency-replayed") for reply in told] == [None, "true"]
        assert (await here.call("bob", "pay", {"amount": 2}, Idempotency_Key="k-1")).status == 202


@driven
async def test_a_call_can_be_cancelled_by_whom_it_is_of(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        running = (await here.call("ada", "steps", {"gate": "one"}, Prefer="respond-async")).json()["invocation_id"]
        waiting = await here.called("ada", "pay", {"amount": 1})
        for call in (running, waiting):
            path = f"/v1/calls/{call}/cancel"
            assert (await here.ask("bob", "POST", path)).status == 404
            reply = await here.ask("ada", "POST", path, {"reason": "no more"})
            assert reply.status in (200, 202)
            assert (await ended(here, "ada", call))["state"] == "canceled"
        assert (await here.ask("ada", "POST", f"/v1/calls/{waiting}/cancel")).json()["outcome"] == "cancel_failed"


@driven
async def test_a_tool_asks_its_caller_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        body = {"tool": "greet", "client": ["elicitation"]}
        reply = await here.ask("ada", "POST", "/v1/calls", body)
        state = reply.json()
        assert (reply.status, state["state"]) == (202, "needs_input")
        assert state["client_requests"]["who"]["method"] == "elicitation/create"
        path = f"/v1/calls/{state['invocation_id']}/answers"
        answer = {"answers": {"who": {"action": "accept", "content": {"name": "Ada"}}}}
        assert (await here.ask("bob", "POST", path, answer)).status == 404
        done = await here.ask("ada", "POST", path, answer)
        assert (done.status, done.json()["result"]["content"][0]["text"]) == (200, "Hello, Ada!")
        again = await here.ask("ada", "POST", path, answer)
        assert again.json() == done.json(), "an answer that was lost on its way back can be sent again"


@driven
async def test_an_answer_nobody_asked_for_is_refused(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 1})
        path, answer = f"/v1/calls/{call}/answers", {"answers": {"who": {"action": "accept"}}}
        reply = await here.ask("ada", "POST", path, answer)
        assert (reply.status, reply.json()["code"]) == (409, "not_asked")
        later = await here.ask("ada", "POST", path, answer, Prefer="respond-async")
        assert (later.status, later.json()["code"]) == (409, "not_asked"), "not told as taken before anybody knows"
        assert (await here.ask("ada", "GET", f"/v1/calls/{call}")).json()["state"] == "awaiting_approval"


@driven
async def test_limits_of_a_run_count_by_its_header(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        await here.call("ada", "add", {"a": 1, "b": 2}, Ferrule_Run="monday")
        await here.call("ada", "add", {"a": 1, "b": 2}, Ferrule_Run="tuesday")
        found = (await here.ask("ada", "GET", "/v1/invocations?run=monday")).json()["items"]
        assert [call["run_id"].partition("~")[0] for call in found] == ["monday"]


@driven
async def test_a_timeout_is_how_a_call_ended(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        body = {"tool": "steps", "arguments": {"gate": "one"}, "timeout_seconds": 0.05}
        reply = await here.ask("ada", "POST", "/v1/calls", body)
        assert (reply.status, reply.json()["state"]) == (200, "timed_out")


@driven
async def test_a_call_that_nobody_made_is_not_found(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for path in (f"/v1/calls/{NOBODY}", f"/v1/calls/{NOBODY}/events", "/v1/calls/%00", "/v1/calls/inv_../payloads"):
            assert (await here.ask("ada", "GET", path)).status == 404

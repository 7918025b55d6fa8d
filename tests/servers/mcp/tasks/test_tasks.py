"""The Tasks extension: calls in the ledger that a client comes back for (MCP-241 to MCP-260)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import msgspec
import pytest

import ferrule
from ferrule.app.custody.check import verify_ledger
from ferrule.app.ledger_file import LEDGER_PUBLIC
from ferrule.contracts.executor import Context, Output
from ferrule.definitions.compiler.seal import read_trusted_keys
from ferrule.errors import BindingError
from ferrule.model.approval import APPROVE, CALL, Identity
from ferrule.model.lifecycle import PHASES
from ferrule.model.result import Pending
from ferrule.model.serving import LimitSettings, McpSettings, ServeSettings
from ferrule.model.story import Story
from ferrule.runtime.pipeline.live import Cancel
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.tasks.inputs import find_questions, store_answers
from ferrule.servers.mcp.tasks.state import filter_own_tasks, follow_tasks
from ferrule.servers.mcp.tasks.tasks import make_task_ref, open_task_ref
from ferrule.servers.mcp.wire.messages import TASKS
from tests.servers.local_server import running_process, running_server
from tests.servers.mcp.direct_client import WAIT_SECONDS, McpClient, RpcFailure, connected_client
from tests.servers.mcp.methods.test_tools_call import ONCE
from tests.servers.mcp.modern_client import make_body, make_headers, make_meta
from tests.servers.mcp.published_schemas import check_against_schema

KNOWS = frozenset({TASKS, "elicitation"})
FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
YES = {"action": "accept", "content": {"ok": True}}
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tasks/get", {}),
    ("tasks/update", {"inputResponses": {}}),
    ("tasks/cancel", {}),
)
GATES: dict[str, asyncio.Event] = {}
STARTED: list[str] = []
WRITES = '[[rules]]\nid = "w"\ndecision = "allow"\ntool = "write"\nreason = "harmless"\n'


def gate(name: str) -> asyncio.Event:
    return GATES.setdefault(name, asyncio.Event())


def text(said: str) -> Output:
    return Output(content=({"type": "text", "text": said},))


def form(message: str) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": FORM}}


@ferrule.tool(read_only=True, concurrency_safe=True)
async def wait(until: str, context: Context) -> Any:
    """Waits until somebody opens a gate."""
    context.progress("waiting", percent=10)
    await gate(until).wait()
    return text(f"{until} is open")


@ferrule.tool(read_only=True)
async def quick(context: Context) -> Any:
    """Says how far it is, and ends."""
    context.progress("half", percent=50)
    return text("done")


@ferrule.tool(read_only=True, task="required")
async def fail() -> Any:
    """Fails."""
    raise ferrule.ToolFailed("it went wrong")


@ferrule.tool(read_only=True, task="never")
async def patient(until: str) -> Any:
    """Is always waited for."""
    await gate(until).wait()
    return text("patient")


@ferrule.tool(read_only=True, task="required")
async def wants_roots(context: Context) -> Any:
    """Asks for what its client has not."""
    return context.ask_client({"roots": {"method": "roots/list", "params": {}}})


@wants_roots.resume
async def _roots(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    return text("roots")


@ferrule.tool(read_only=True, task="required")
async def two_rounds(context: Context) -> Any:
    """Asks for two things, then for one of them again."""
    return context.ask_client({"first": form("First?"), "second": form("Second?")}, state=b"1")


@two_rounds.resume
async def _rounds(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    if state == b"1":
        return context.ask_client({"first": form("First again?")}, state=json.dumps(sorted(answer)).encode())
    return text(f"{state.decode()} then {sorted(answer)}")


@ferrule.tool
async def act(what: str) -> Any:
    """Does something, after somebody allowed it."""
    return text(f"did {what}")


@ferrule.tool(read_only=True)
async def ask_then_wait(until: str, context: Context) -> Any:
    """Asks, then takes its time."""
    return context.ask_client({"ok": form("May I?")}, state=until.encode())


@ask_then_wait.resume
async def _then_wait(state: bytes, answer: dict[str, Any], context: Context) -> Any:
    await gate(state.decode()).wait()
    return text("asked, waited")


@ferrule.tool(read_only=True)
async def alone(until: str) -> Any:
    """Waits until somebody opens a gate, and nothing beside it."""
    STARTED.append(until)
    await gate(until).wait()
    return text(f"{until} is open")


@ferrule.tool(task="required")
async def write(what: str) -> Any:
    """Writes."""
    STARTED.append(what)
    return text(f"wrote {what}")


TOOLS = [wait, quick, fail, patient, wants_roots, two_rounds, act, ask_then_wait, alone, write]
Play = Callable[[McpClient], Awaitable[None]]


@asynccontextmanager
async def open_client(folder: Path, after: float = 0.05, **settings: Any) -> AsyncIterator[McpClient]:
    GATES.clear()
    STARTED.clear()
    async with connected_client(
        folder, tools=TOOLS, toml='namespace = "t"\n', task_after_seconds=after, **settings
    ) as client:
        client.features = KNOWS
        yield client


def play(folder: Path, story: Play, **settings: Any) -> None:
    async def main() -> None:
        async with open_client(folder, **settings) as client:
            await story(client)

    asyncio.run(asyncio.wait_for(main(), 3 * WAIT_SECONDS))


async def call(client: McpClient, name: str, **arguments: Any) -> Any:
    return await client.ask("tools/call", name=name, arguments=arguments)


async def call_telling(client: McpClient, name: str, **arguments: Any) -> Any:
    """A call with a token for progress, and what is left of the tasks of 2025."""
    exchange = await client.make_exchange()
    exchange.meta.progress_token = "p"
    params = {"name": name, "arguments": arguments, "task": {"ttl": 5}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.loads((await client.answer(exchange, asked)).text)["result"]


def check_task(task: dict[str, Any]) -> None:
    """It is what the extension's own schema says."""
    check_against_schema(
        "tasks-extension", "CreateTaskResult" if task["resultType"] == "task" else "GetTaskResult", task
    )


async def settled(client: McpClient, task_id: str, *statuses: str) -> dict[str, Any]:
    """The task, as soon as it is in one of these states, or over."""
    wanted = statuses or ("completed", "failed", "cancelled")
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            task: dict[str, Any] = await client.ask("tasks/get", taskId=task_id)
            check_task(task)
            if task["status"] in wanted:
                return task
            await asyncio.sleep(0.02)


def test_a_call_that_takes_long_becomes_a_task_with_the_result_of_the_call(tmp_path: Path) -> None:
    """MCP-244, MCP-246, MCP-172: flat handle; the result is what the call would have given; no progress of a task."""

    async def story(client: McpClient) -> None:
        handle = await call_telling(client, "wait", until="a")
        check_task(handle)
        assert handle["resultType"] == "task"
        assert handle["status"] == "working"
        assert not {"task", "result", "error", "inputRequests", "requestState", "ttl", "pollInterval"} & handle.keys()
        assert handle["ttlMs"] == 24 * 3600 * 1000
        assert handle["pollIntervalMs"] > 0
        assert handle["createdAt"].endswith("Z")
        working = await client.ask("tasks/get", taskId=handle["taskId"])
        assert (working["resultType"], working["status"]) == ("complete", "working")
        gate("a").set()
        done = await settled(client, handle["taskId"])
        assert done["result"]["content"] == [{"type": "text", "text": "a is open"}]
        assert "requestState" not in done
        assert client.back.messages.empty()

    play(tmp_path, story)


def test_what_ends_in_time_is_answered_at_once_with_its_progress(tmp_path: Path) -> None:
    """MCP-242: the server alone decides; a leftover `task` parameter changes nothing (MCP-25)."""

    async def story(client: McpClient) -> None:
        result = await call_telling(client, "quick")
        assert (result["resultType"], result["content"][0]["text"]) == ("complete", "done")
        told = await client.back.next()
        assert (told["method"], told["params"]["progress"]) == ("notifications/progress", 50)

    play(tmp_path, story, after=20.0)


def test_only_who_declares_the_extension_gets_tasks(tmp_path: Path) -> None:
    """MCP-241, MCP-243, MCP-253: no task, and no look at any id, for a request that does not declare it."""

    async def story(client: McpClient) -> None:
        handle = await call(client, "wait", until="a")
        client.features = frozenset()
        for method, more in METHODS:
            for task_id in (handle["taskId"], "nothing"):
                with pytest.raises(RpcFailure) as refused:
                    await client.ask(method, taskId=task_id, **more)
                assert refused.value.code == -32021
                assert refused.value.data == {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        gate("a").set()
        gate("b").set()
        sync = await call(client, "wait", until="b")
        assert sync["resultType"] == "complete"
        with pytest.raises(RpcFailure) as refused:
            await call(client, "fail")
        assert refused.value.code == -32021

    play(tmp_path, story)


def test_a_session_has_no_tasks_and_waits_for_a_tool_that_demands_one(tmp_path: Path) -> None:
    """MCP-261."""

    async def story(client: McpClient) -> None:
        old = client.with_revision("2025-11-25")
        result = await call(old, "fail")
        assert result["isError"] is True
        with pytest.raises(RpcFailure) as refused:
            await old.ask("tasks/get", taskId="x")
        assert refused.value.code == -32601

    play(tmp_path, story)


def test_a_tool_that_is_always_waited_for_is_no_task(tmp_path: Path) -> None:
    async def story(client: McpClient) -> None:
        waiting = asyncio.create_task(call(client, "patient", until="a"))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        gate("a").set()
        assert (await waiting)["content"][0]["text"] == "patient"

    play(tmp_path, story, after=0.01)


def test_a_tools_failure_is_a_completed_task_and_a_protocol_error_a_failed_one(tmp_path: Path) -> None:
    """MCP-247."""

    async def story(client: McpClient) -> None:
        failing = await settled(client, (await call(client, "fail"))["taskId"])
        assert failing["status"] == "completed"
        assert failing["result"]["isError"] is True
        assert failing["result"]["content"][0]["text"].startswith("it went wrong")
        refused = await settled(client, (await call(client, "wants_roots"))["taskId"])
        assert refused["status"] == "failed"
        assert refused["error"]["code"] == -32021
        assert "result" not in refused

    play(tmp_path, story)


def test_a_task_is_its_callers_own(tmp_path: Path) -> None:
    """MCP-259, MCP-252: somebody else, another tenant, a changed id and an invented one all hear the same."""

    async def story(client: McpClient) -> None:
        task_id = (await call(client, "wait", until="a"))["taskId"]
        others = [client.with_principal("mallory"), client.with_principal("local", "elsewhere")]
        forged = task_id[:-2] + ("A" if task_id[-2] != "A" else "B") + task_id[-1]
        attempts = [(other, task_id) for other in others]
        attempts += [(client, forged), (client, ""), (client, "é"), (client, task_id + "="), (client, "A" * 44)]
        for who, asked in attempts:
            who.features = KNOWS
            for method, more in METHODS:
                with pytest.raises(RpcFailure) as refused:
                    await who.ask(method, taskId=asked, **more)
                assert (refused.value.code, str(refused.value)) == (-32602, "there is no such task")
        assert (await client.ask("tasks/get", taskId=task_id))["status"] == "working"

    play(tmp_path, story)


def test_an_id_counts_for_its_time_and_no_longer() -> None:
    """MCP-256."""
    caller = Caller(Identity("ann", "here", frozenset({CALL})))
    made = 1_794_000_000_000_000
    ref = make_task_ref(b"k" * 32, caller, "inv_%014x%010x" % (made, 7), 5000)  # noqa: UP031
    assert ref.created_at == made
    assert open_task_ref(b"k" * 32, caller, ref.task_id, made + 5_000_000) == ref
    assert open_task_ref(b"k" * 32, caller, ref.task_id, made + 5_000_001) is None
    assert open_task_ref(b"x" * 32, caller, ref.task_id, made) is None
    assert len({make_task_ref(b"k" * 32, caller, f"inv_{n:024x}", 1).task_id for n in range(500)}) == 500


def test_a_task_too_old_to_be_asked_about_is_unknown(tmp_path: Path) -> None:
    async def story(client: McpClient) -> None:
        task_id = (await call(client, "fail"))["taskId"]
        await asyncio.sleep(0.06)
        with pytest.raises(RpcFailure) as refused:
            await client.ask("tasks/get", taskId=task_id)
        assert refused.value.code == -32602

    play(tmp_path, story, task_ttl_ms=50)


def test_answers_may_come_one_by_one_and_no_key_is_used_twice(tmp_path: Path) -> None:
    """MCP-249, MCP-250."""

    async def story(client: McpClient) -> None:
        task_id = (await call(client, "two_rounds"))["taskId"]
        task = await settled(client, task_id, "input_required")
        assert task["inputRequests"].keys() == {"first", "second"}
        assert task["inputRequests"]["first"]["method"] == "elicitation/create"
        ignored = await client.ask("tasks/update", taskId=task_id, inputResponses={"unknown": 5, "Second": None})
        assert ignored.keys() == {"resultType", "_meta"}
        with pytest.raises(RpcFailure) as refused:
            await client.ask("tasks/update", taskId=task_id, inputResponses={"first": {"action": "accept"}})
        assert refused.value.code == -32602
        await client.ask("tasks/update", taskId=task_id, inputResponses={"second": YES})
        task = await client.ask("tasks/get", taskId=task_id)
        assert (task["status"], list(task["inputRequests"])) == ("input_required", ["first"])
        # What is answered stays answered, whatever comes after it.
        await client.ask("tasks/update", taskId=task_id, inputResponses={"second": "rubbish"})
        await client.ask("tasks/update", taskId=task_id, inputResponses={"first": YES})
        async with asyncio.timeout(WAIT_SECONDS):
            while (task := await settled(client, task_id, "input_required"))["inputRequests"].keys() & {
                "first",
                "second",
            }:
                await asyncio.sleep(0.02)
        (key,) = task["inputRequests"]
        assert task["inputRequests"][key]["params"]["message"] == "First again?"
        await client.ask("tasks/update", taskId=task_id, inputResponses={"first": YES})  # superseded
        assert (await client.ask("tasks/get", taskId=task_id))["status"] == "input_required"
        await client.ask("tasks/update", taskId=task_id, inputResponses={key: YES})
        done = await settled(client, task_id)
        assert done["result"]["content"][0]["text"] == '["first", "second"] then [\'first\']'

    play(tmp_path, story)


def test_two_updates_at_the_same_time_are_one_answer(tmp_path: Path) -> None:
    async def story(client: McpClient) -> None:
        task_id = (await call(client, "two_rounds"))["taskId"]
        await settled(client, task_id, "input_required")
        await asyncio.gather(
            *(client.ask("tasks/update", taskId=task_id, inputResponses={key: YES}) for key in ("first", "second"))
        )
        async with asyncio.timeout(WAIT_SECONDS):
            while list((await settled(client, task_id, "input_required"))["inputRequests"]) != ["first.2"]:
                await asyncio.sleep(0.02)

    play(tmp_path, story)


def test_a_partial_answer_outlives_the_process(tmp_path: Path) -> None:
    """Nothing of a task is kept in memory: another process goes on with it."""

    async def main() -> None:
        async with open_client(tmp_path) as client:
            task_id = (await call(client, "two_rounds"))["taskId"]
            await settled(client, task_id, "input_required")
            await client.ask("tasks/update", taskId=task_id, inputResponses={"first": YES})
        async with open_client(tmp_path) as client:
            task = await client.ask("tasks/get", taskId=task_id)
            assert (task["status"], list(task["inputRequests"])) == ("input_required", ["second"])
            await client.ask("tasks/update", taskId=task_id, inputResponses={"second": YES})
            async with asyncio.timeout(WAIT_SECONDS):
                while list((await settled(client, task_id, "input_required"))["inputRequests"]) != ["first.2"]:
                    await asyncio.sleep(0.02)

    asyncio.run(main())


def test_a_task_that_has_all_its_answers_goes_on_whoever_died_meanwhile(tmp_path: Path) -> None:
    """The last answer was written down, and the process died before the tool was given it."""

    async def story(client: McpClient) -> None:
        task_id = (await call(client, "two_rounds"))["taskId"]
        await settled(client, task_id, "input_required")
        services = client.server.app.services
        (invocation,) = [one.call for one in await services.store.open_calls("needs_input")]
        rows = await services.store.rows_of(invocation)
        asked = find_questions(rows)
        assert asked is not None
        assert await store_answers(services, invocation, rows, asked, {"first": YES, "second": YES})
        async with asyncio.timeout(WAIT_SECONDS):
            while list((await settled(client, task_id, "input_required"))["inputRequests"]) != ["first.2"]:
                await asyncio.sleep(0.02)

    play(tmp_path, story)


def test_the_ledger_does_not_tell_what_was_answered(tmp_path: Path) -> None:
    """A partial answer is sealed: it may be anything."""

    async def story(client: McpClient) -> None:
        task_id = (await call(client, "two_rounds"))["taskId"]
        await settled(client, task_id, "input_required")
        secret = {"action": "decline", "_meta": {"note": "swordfish-in-a-note"}}
        await client.ask("tasks/update", taskId=task_id, inputResponses={"first": secret})
        await client.server.app.store.flush()
        for file in tmp_path.rglob("*"):
            if file.is_file():
                assert b"swordfish-in-a-note" not in file.read_bytes(), file

    play(tmp_path, story)


def test_every_process_of_the_workspace_knows_the_task(tmp_path: Path) -> None:
    """MCP-245: the handle comes after the ledger has the call."""

    async def main() -> None:
        async with open_client(tmp_path) as client:
            task_id = (await call(client, "wait", until="a"))["taskId"]
            async with connected_client(tmp_path, tools=TOOLS) as other:
                other.features = KNOWS
                assert (await other.ask("tasks/get", taskId=task_id))["status"] == "working"
                gate("a").set()
                done = await settled(other, task_id)
                assert done["result"]["content"][0]["text"] == "a is open"

    asyncio.run(main())


def test_a_task_is_canceled_and_canceling_again_changes_nothing(tmp_path: Path) -> None:
    """MCP-251, MCP-248: the acknowledgement says nothing of the task."""

    async def story(client: McpClient) -> None:
        for name, arguments, states in (
            ("wait", {"until": "never"}, ("working",)),
            ("two_rounds", {}, ("input_required",)),
            ("act", {"what": "x"}, ("working",)),
        ):
            task_id = (await call(client, name, **arguments))["taskId"]
            await settled(client, task_id, *states)
            for _ in range(2):
                acknowledged = await client.ask("tasks/cancel", taskId=task_id)
                assert acknowledged.keys() == {"resultType", "_meta"}
                ended = await settled(client, task_id)
                assert ended["status"] == "cancelled", name
                assert not {"result", "error", "inputRequests"} & ended.keys()

    play(tmp_path, story)


def test_a_task_that_waits_for_a_person_ends_when_they_answer(tmp_path: Path) -> None:
    async def story(client: McpClient) -> None:
        app = client.server.app
        inbox = app.inbox(Identity("ann", "desk", frozenset({APPROVE})))
        for is_yes in (True, False):
            task_id = (await call(client, "act", what="it"))["taskId"]
            task = await client.ask("tasks/get", taskId=task_id)
            assert task["status"] == "working"
            assert "approv" in task["statusMessage"]
            (waiting,) = await inbox.pending()
            if is_yes:
                await inbox.approve(waiting.request.invocation_id)
            else:
                await inbox.reject(waiting.request.invocation_id, reason="not today")
            done = await settled(client, task_id)
            assert done["status"] == "completed"
            said = done["result"]["content"][0]["text"]
            assert (said == "did it") if is_yes else ("not today" in said)

    play(tmp_path, story)


def test_rounds_of_questions_come_before_the_task(tmp_path: Path) -> None:
    """MCP-230: the first answer asks, the second is the handle."""

    async def story(client: McpClient) -> None:
        arguments = {"until": "a"}
        asked = await client.ask("tools/call", name="ask_then_wait", arguments=arguments)
        assert asked["resultType"] == "input_required"
        assert "taskId" not in asked
        handle = await client.ask(
            "tools/call", name="ask_then_wait", arguments=arguments, inputResponses={"ok": YES},
            requestState=asked["requestState"],
        )  # fmt: skip
        assert handle["resultType"] == "task"
        assert not {"requestState", "inputRequests"} & handle.keys()
        gate("a").set()
        done = await settled(client, handle["taskId"])
        assert done["result"]["content"][0]["text"] == "asked, waited"

    play(tmp_path, story)


def test_a_client_that_leaves_before_it_has_a_handle_cancels_the_call(tmp_path: Path) -> None:
    """MCP-71, MCP-179: then, and not later."""

    async def story(client: McpClient) -> None:
        asking = asyncio.create_task(call(client, "wait", until="never"))
        live = client.server.app.services.live.calls
        async with asyncio.timeout(WAIT_SECONDS):
            while not any(one.stage == "running" for one in live.values()):
                await asyncio.sleep(0.01)
        (invocation,) = live
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        async with asyncio.timeout(WAIT_SECONDS):
            while (ended := await client.server.app.result(invocation)) is None or ended.is_pending:
                await asyncio.sleep(0.01)
        assert ended.status == "canceled"

    play(tmp_path, story, after=30.0)


def test_nobody_has_more_running_tasks_than_calls_at_once(tmp_path: Path) -> None:
    """MCP-290: what is beyond is waited for, and others are not concerned."""

    async def story(client: McpClient) -> None:
        limits = LimitSettings(calls_at_once=2)
        client.server.edge.settings = msgspec.structs.replace(client.server.edge.settings, limits=limits)
        handles = [await call(client, "wait", until="a") for _ in range(2)]
        third = asyncio.create_task(call(client, "wait", until="b"))
        other = client.with_principal("ann")
        other.features = KNOWS
        assert (await call(other, "wait", until="a"))["resultType"] == "task"
        assert not third.done()
        gate("b").set()
        assert (await asyncio.wait_for(third, WAIT_SECONDS))["resultType"] == "complete"
        gate("a").set()
        for one in handles:
            await settled(client, one["taskId"])
        async with asyncio.timeout(WAIT_SECONDS):
            while client.server.kept["tasks that run"]:
                await asyncio.sleep(0.01)

    play(tmp_path, story)


def test_whoever_listens_hears_what_becomes_of_a_task(tmp_path: Path) -> None:
    """MCP-257: each piece of news is the whole task, as `tasks/get` shows it."""

    async def story(client: McpClient) -> None:
        task_id = (await call(client, "wait", until="a"))["taskId"]
        exchange = await client.make_exchange()
        assert await filter_own_tasks(exchange, [task_id, "made up", task_id]) == [task_id]
        heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        following = asyncio.create_task(follow_tasks(exchange, [task_id], lambda name, task: heard.put_nowait(task)))
        assert (await asyncio.wait_for(heard.get(), WAIT_SECONDS))["status"] == "working"
        gate("a").set()
        last = await asyncio.wait_for(heard.get(), WAIT_SECONDS)
        while last["status"] == "working":
            last = await asyncio.wait_for(heard.get(), WAIT_SECONDS)
        shown = await client.ask("tasks/get", taskId=task_id)
        assert {**last, "resultType": "complete", "_meta": shown["_meta"]} == shown
        await asyncio.wait_for(following, WAIT_SECONDS)
        mallory = client.with_principal("mallory")
        assert await filter_own_tasks(await mallory.make_exchange(), [task_id]) == []

    play(tmp_path, story)


@pytest.mark.parametrize("name", ["alone", "write"])
def test_a_call_that_waits_for_its_turn_is_a_task_already(tmp_path: Path, name: str) -> None:
    """MCP-244, MCP-245, AT-161: its client is not kept, every process knows of it, and it runs once, when its turn comes."""
    (tmp_path / "policy.toml").write_text(WRITES)
    arguments = {"until": "b"} if name == "alone" else {"what": "b"}

    async def story(client: McpClient) -> None:
        first = await call(client, "alone", until="a")
        handle = await call(client, name, **arguments)
        check_task(handle)
        assert (handle["resultType"], STARTED) == ("task", ["a"])
        call_id = _invocation(client, handle)
        async with ferrule.open(tmp_path, tools=TOOLS, tends=False) as elsewhere:
            seen = await elsewhere.result(call_id)
            assert isinstance(seen, Pending)
            assert (seen.state, seen.message) == ("queued", "it waits for its turn")
        working = await client.ask("tasks/get", taskId=handle["taskId"])
        assert (working["status"], working["statusMessage"]) == ("working", "it waits for its turn")
        gate("a").set()
        gate("b").set()
        done = await settled(client, handle["taskId"])
        assert done["result"]["content"][0]["text"] in ("b is open", "wrote b")
        await settled(client, first["taskId"])
        rows = await client.server.app.store.rows_of(call_id)
        assert [(row.kind, row.outcome) for row in rows] == [
            ("started", "queued"), ("started", "running"), ("ended", "succeeded")
        ]  # fmt: skip
        told = Story(rows, await client.server.app.store.news_of(call_id))
        assert [run.phase for run in told.phases if run.is_run] == list(PHASES)
        assert STARTED == ["a", "b"]

    play(tmp_path, story)
    _verified(tmp_path)


def test_a_task_that_waits_for_its_turn_can_be_canceled_from_elsewhere(tmp_path: Path) -> None:
    """MCP-251: nothing ran."""

    async def story(client: McpClient) -> None:
        first = await call(client, "alone", until="a")
        here, there = [await call(client, "alone", until=name) for name in ("b", "c")]
        await client.ask("tasks/cancel", taskId=here["taskId"])
        async with ferrule.open(tmp_path, tools=TOOLS, tends=False) as elsewhere:
            await elsewhere.cancel(_invocation(client, there), by="ada", within=WAIT_SECONDS)
        for handle in (here, there):
            assert (await settled(client, handle["taskId"]))["status"] == "cancelled"
        gate("a").set()
        await settled(client, first["taskId"])
        assert STARTED == ["a"]

    play(tmp_path, story)
    _verified(tmp_path)


@pytest.mark.parametrize("end", ["its turn", "a cancellation"])
def test_what_ends_the_wait_while_its_row_is_on_the_way_comes_after_that(tmp_path: Path, end: str) -> None:
    """MCP-245: rows come in order, whatever is quicker."""

    async def story(client: McpClient) -> None:
        first = await call(client, "alone", until="a")
        store = client.server.app.store
        commit, held = store.commit, asyncio.Event()

        async def late(entry: Any, *rest: Any) -> Any:
            if entry.outcome == "queued":
                held.set()
                await asyncio.sleep(0.3)
            return await commit(entry, *rest)

        store.commit = late  # type: ignore[method-assign, assignment]
        asked = asyncio.create_task(call(client, "alone", until="b"))
        await held.wait()
        if end == "its turn":
            gate("a").set()
            gate("b").set()
        else:
            live = next(live for live in client.server.app.services.live.calls.values() if live.stage == "queued")
            live.ask_to_stop(Cancel(by="ada"))
        answer = await asked
        if answer["resultType"] == "task":
            task = await settled(client, answer["taskId"])
            assert task["status"] == ("completed" if end == "its turn" else "cancelled")
        gate("a").set()
        await settled(client, first["taskId"])
        assert (["a", "b"] if end == "its turn" else ["a"]) == STARTED

    play(tmp_path, story)
    _verified(tmp_path)


def test_a_call_that_waits_for_its_turn_is_counted_in_its_run_all_the_same(tmp_path: Path) -> None:
    """AML-102: a row before its turn is no way around the limit of a run."""
    (tmp_path / "policy.toml").write_text(WRITES.replace("write", "once"))
    (tmp_path / "once.tool.md").write_text(ONCE)

    @ferrule.tool("once")
    async def once() -> dict[str, str]:
        return {"ok": "yes"}

    async def main() -> None:
        GATES.clear()
        async with connected_client(tmp_path, tools=[alone, once], task_after_seconds=0.05) as client:
            client.features = KNOWS
            await call(client, "alone", until="a")
            handles = [await call(client, "once") for _ in range(2)]
            gate("a").set()
            told = [(await settled(client, handle["taskId"]))["result"] for handle in handles]
            assert [one.get("isError", False) for one in told] == [False, True]
            assert "may be called at most 1 times in one run" in told[1]["content"][0]["text"]

    asyncio.run(main())


def test_a_key_is_not_taken_before_the_turn_of_its_call_comes(tmp_path: Path) -> None:
    """Nothing is on record of a call with a key until it runs: had its process died, the key would be used up for nothing."""
    (tmp_path / "policy.toml").write_text(WRITES)

    async def keyed(client: McpClient) -> Any:
        exchange = await client.make_exchange()
        exchange.meta.idempotency_key = "k"
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                 "params": {"name": "write", "arguments": {"what": "b"}}}  # fmt: skip
        return json.loads((await client.answer(exchange, asked)).text)["result"]

    async def story(client: McpClient) -> None:
        await call(client, "alone", until="a")
        asked = [asyncio.create_task(keyed(client)) for _ in range(2)]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in asked)
        assert not await client.server.app.store.open_calls("queued")
        gate("a").set()
        for told in await asyncio.wait_for(asyncio.gather(*asked), WAIT_SECONDS):
            ended = (await settled(client, told["taskId"]))["result"] if "taskId" in told else told
            assert ended["content"][0]["text"] == "wrote b"
        assert STARTED == ["a", "b"]

    play(tmp_path, story)
    _verified(tmp_path)


def _invocation(client: McpClient, handle: dict[str, Any]) -> str:
    services = client.server.app.services
    ref = open_task_ref(services.sealing.secret, client.caller, handle["taskId"], services.wall())
    assert ref is not None
    return ref.invocation_id


def _verified(folder: Path) -> None:
    verdict = verify_ledger(folder / ".ferrule" / "ledger.db", read_trusted_keys(folder / LEDGER_PUBLIC))
    assert not verdict.findings


def over_http(url: str, method: str, params: dict[str, Any], capabilities: dict[str, Any]) -> Any:
    """The result of one request to a real server."""
    whole = make_body(method, {**params, "_meta": make_meta(capabilities)})
    named = make_headers(method, params.get("name") or params.get("taskId"))
    request = Request(f"{url}/mcp", json.dumps(whole).encode(), {**named, "Content-Type": "application/json"})
    with urlopen(request, timeout=WAIT_SECONDS) as response:
        return json.loads(response.read())["result"]


DEFINITION = {
    "schema_version": "0.2.0",
    "tool_id": "report",
    "namespace": "t",
    "name": "report",
    "description": "Writes a report.",
    "lifecycle": "available",
    "tool_kind": "function",
    "input_contract": {"model_input_schema": {"type": "object", "properties": {}}},
    "execution_profile": {"execution_kind": "embedded_runtime", "task": "required"},
}


@ferrule.tool("report")
async def report() -> str:
    """Its definition says what it is."""
    return "written"


def test_a_definition_may_demand_tasks_too(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "tools").mkdir()
        (tmp_path / "tools/report.json").write_text(json.dumps(DEFINITION))
        rule = '[[rules]]\nid = "r"\ndecision = "allow"\ntool = "report"\nreason = "harmless"\n'
        (tmp_path / "policy.toml").write_text(rule)
        async with connected_client(tmp_path, tools=[report]) as client:
            with pytest.raises(RpcFailure) as refused:
                await call(client, "report")
            assert refused.value.code == -32021
            client.features = KNOWS
            done = await settled(client, (await call(client, "report"))["taskId"])
            assert done["result"]["content"][0]["text"] == "written"

    asyncio.run(main())


def test_what_is_no_use_of_tasks_is_a_mistake_of_the_author() -> None:
    with pytest.raises(BindingError, match="'always' is not a use of tasks; choose one of auto, required, never"):
        ferrule.tool(task="always")(report)  # type: ignore[call-overload]


@ferrule.tool(read_only=True)
async def wordy(context: Context) -> str:
    """Says what it does, and not how far it is."""
    context.progress("looking")
    context.progress("still looking")
    return "found"


def test_progress_without_numbers_is_counted(tmp_path: Path) -> None:
    """MCP-170: it grows all the same."""

    async def main() -> None:
        async with connected_client(tmp_path, tools=[wordy]) as client:
            assert (await call_telling(client, "wordy"))["content"][0]["text"] == "found"
            told = [(await client.back.next())["params"] for _ in range(2)]
            assert [(one["progress"], one["message"]) for one in told] == [(1, "looking"), (2, "still looking")]

    asyncio.run(main())


@ferrule.tool(read_only=True)
async def parts(context: Context) -> str:
    """Counts, and gives parts of its result in between."""
    context.progress("half", percent=50)
    context.partial("the first part")
    context.progress("all", percent=100)
    context.partial("the last part")
    return "whole"


def test_a_part_of_the_result_is_no_step_further(tmp_path: Path) -> None:
    """MCP-170: it grows, and never beyond its total by a whole step."""

    async def main() -> None:
        async with connected_client(tmp_path, tools=[parts]) as client:
            assert (await call_telling(client, "parts"))["content"][0]["text"] == "whole"
            told = [(await client.back.next())["params"] for _ in range(4)]
            assert [round(one["progress"], 6) for one in told] == [50, 50, 100, 100]
            assert [one["progress"] for one in told] == sorted({one["progress"] for one in told})
            assert {one["total"] for one in told} == {100}

    asyncio.run(main())


def test_without_its_header_a_task_is_asked_about_only_where_that_is_allowed(tmp_path: Path) -> None:
    """MCP-58, MCP-255: some clients do not send it; what is sent has to agree in any case."""

    async def main() -> None:
        for is_demanded in (True, False):
            settings = ServeSettings(auth=False, mcp=McpSettings(task_names=is_demanded))
            folder = tmp_path / str(is_demanded)
            folder.mkdir()
            async with running_server(folder, tools=[fail], settings=settings) as stand:
                asked = make_body("tasks/get", {"taskId": "x", "_meta": make_meta({"extensions": {TASKS: {}}})})
                without = await stand.ask("POST", "/mcp", asked, make_headers("tasks/get"))
                assert without.json()["error"]["code"] == (-32020 if is_demanded else -32602)
                wrong = await stand.ask("POST", "/mcp", asked, make_headers("tasks/get", "y"))
                assert (wrong.status, wrong.json()["error"]["code"]) == (400, -32020)

    asyncio.run(main())


SLEEPER = '''
import asyncio
import ferrule

@ferrule.tool(read_only=True)
async def sleeper() -> str:
    """Sleeps for long."""
    await asyncio.sleep(600)
    return "awake"
'''


def test_a_task_survives_the_death_of_its_process(tmp_path: Path) -> None:
    """MCP-245: kill -9 after the handle; the next process knows the task, and what became of it."""
    (tmp_path / "ferrule.toml").write_text('[functions]\nmodules = ["f.py"]\n[serve.mcp]\ntask_after_seconds = 0.05\n')
    (tmp_path / "f.py").write_text(SLEEPER)
    capabilities: dict[str, Any] = {"extensions": {TASKS: {}}}
    with running_process(tmp_path, "--no-auth") as first:
        handle, waits = (
            over_http(first.url, "tools/call", {"name": "sleeper", "arguments": {}}, capabilities) for _ in range(2)
        )
        assert handle["resultType"] == waits["resultType"] == "task"
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait(WAIT_SECONDS)
    with running_process(tmp_path, "--no-auth") as second:
        task = over_http(second.url, "tasks/get", {"taskId": handle["taskId"]}, capabilities)
        assert task["status"] == "completed"
        assert task["result"]["isError"] is True
        text = task["result"]["content"][0]["text"]
        assert "interrupted" in text and text.endswith("The same call can be made again.")
        task = over_http(second.url, "tasks/get", {"taskId": waits["taskId"]}, capabilities)
        text = task["result"]["content"][0]["text"]
        assert "its turn had not come, so nothing ran" in text and text.endswith("The same call can be made again.")

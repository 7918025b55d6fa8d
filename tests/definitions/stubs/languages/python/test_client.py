"""Client stubs against a running Ferrule."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time
import urllib.request
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from ferrule.access.keys import KEYS_FOLDER, OWNER_FILE
from ferrule.definitions.stubs.languages.python.support import errors
from tests.cli.run import ferrule
from tests.definitions.stubs.languages.live import Live, write_workspace
from tests.definitions.stubs.languages.python.workbench import checked_by_mypy, ran, ruff_objects
from tests.servers.stand import served

_GIVES = {
    "Nothing": {"type": ["object", "null"]},
    "Text": {"type": "string"},
    "Number": {"type": "integer"},
    "Either": {"type": ["string", "integer"]},
    "Untold": None,
}
"""Tools that give back the text, or the value, that they are given."""
_TOOLS = [
    {
        "id": f"Live.Give{name}@1.0.0",
        "name": f"Live_Give{name}",
        "description": "Gives back what it is given.",
        "version": "1.0.0",
        "input_schema": {
            "parameters": {
                "type": "object",
                "properties": {"value": {"description": "Any value."}},
                "required": ["value"],
            }
        },
        "output_schema": schema,
        "requirements": {},
    }
    for name, schema in _GIVES.items()
]
_FUNCTIONS = "".join(
    f"""

@ferrule.tool("Live.Give{name}")
def give_{name.lower()}(value: Any) -> Any:
    return value
"""
    for name in _GIVES
)


class Stubs:
    """The generated client of the running server."""

    def __init__(self, server: Live, folder: Path) -> None:
        done = ferrule("gen", "python", "--kind", "client", "--out", str(folder), folder=server.folder)
        assert done.code == 0, done.err
        self.server = server
        self.folder = folder
        self.package: Any = importlib.import_module("client")

    def client(self, **options: Any) -> Any:
        """One that calls the server."""
        return self.package.Client(self.server.url, options.pop("token", self.server.token))

    def module(self, tool: str) -> Any:
        """The types of a tool."""
        return importlib.import_module(f"client.live_{tool.lower()}")

    def made(self, tool: str, **members: Any) -> Any:
        """An input."""
        return getattr(self.module(tool), f"Live{tool.replace('_', '')}Input")(**members)

    def allow(self, invocation_id: str) -> None:
        """What a person does."""
        token = (self.server.folder / KEYS_FOLDER / OWNER_FILE).read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        url = f"{self.server.url}/v1/approvals/{invocation_id}/approve"
        with urllib.request.urlopen(urllib.request.Request(url, b"{}", headers), timeout=30):
            pass


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stubs]:
    folder, workspace = tmp_path_factory.mktemp("client_stubs"), tmp_path_factory.mktemp("live") / "workspace"
    write_workspace(workspace)
    with (workspace / "functions.py").open("a") as file:
        file.write(_FUNCTIONS)
    (workspace / "tools" / "given.json").write_text(json.dumps({"tools": _TOOLS}))
    with served(workspace) as server:
        sys.path.insert(0, str(folder))
        try:
            yield Stubs(Live(server.url, server.token(workspace), workspace), folder)
        finally:
            sys.path.remove(str(folder))
            for name in [each for each in sys.modules if each.split(".")[0] == "client"]:
                del sys.modules[name]


def _error(stubs: Stubs, work: Coroutine[Any, Any, Any], kind: str) -> Any:
    with pytest.raises(getattr(stubs.package, kind)) as caught:
        asyncio.run(work)
    assert isinstance(caught.value, stubs.package.CallError)
    return caught.value


def test_a_result_has_the_tools_type(stubs: Stubs) -> None:
    made = asyncio.run(stubs.client().live_greet(stubs.made("Greet", name="Ada", times=2, mood="glad")))
    assert (made.words, made.mood, type(made).__name__) == (["hello Ada", "hello Ada"], "glad", "LiveGreetOutput")
    assert asyncio.run(stubs.client().live_echo(stubs.made("Echo", value=[1, None]))) == {"value": [1, None]}


def test_a_denial_has_a_type_of_its_own(stubs: Stubs) -> None:
    error = _error(stubs, stubs.client().live_forbidden(stubs.made("Forbidden", meant=True)), "PermissionDeniedError")
    assert (error.error_class, error.code) == ("permission_denied", "permission_denied")
    assert error.invocation_id.startswith("inv_")
    assert "nobody may" in error.message
    assert error.recoverability == "change_arguments_or_policy"


def test_failures_tell_their_class_and_when_to_come_back(stubs: Stubs) -> None:
    busy = _error(stubs, stubs.client().live_busy(stubs.made("Busy")), "RateLimitedError")
    assert busy.retry_after_seconds == 1.5
    broken = _error(stubs, stubs.client().live_break(stubs.made("Break", why="because")), "ExecutionFailedError")
    assert broken.message == "because"
    odd = _error(stubs, stubs.client().live_odd(stubs.made("Odd")), "CallError")
    assert odd.error_class


def test_a_call_that_waits_for_a_person_is_told_apart(stubs: Stubs) -> None:
    waiting = _error(stubs, stubs.client().live_ask_first(stubs.made("Ask_First")), "PendingError")
    assert (waiting.awaits_approval, waiting.state) == (True, "awaiting_approval")
    again = _error(stubs, stubs.client().calls.result(waiting.invocation_id), "PendingError")
    assert again.invocation_id == waiting.invocation_id
    assert asyncio.run(stubs.client().calls.cancel(waiting.invocation_id))


def test_a_call_may_wait_until_a_person_has_allowed_it(stubs: Stubs) -> None:
    told: list[Any] = []
    allowing: list[asyncio.Future[None]] = []

    def hear(progress: Any) -> None:
        told.append(progress)
        if progress.details["status"] == "waiting_for_permission":
            identity = progress.details["invocation_id"]
            allowing.append(asyncio.get_running_loop().run_in_executor(None, stubs.allow, identity))

    async def work() -> Any:
        given = stubs.made("Ask_First")
        result = await stubs.client().live_ask_first(given, wait_seconds=20, on_progress=hear)
        await asyncio.gather(*allowing)
        return result

    assert asyncio.run(work()) == {"asked": True}
    assert "waiting_for_permission" in [each.details["status"] for each in told]


def test_waiting_for_a_person_ends_and_the_call_goes_on_waiting(stubs: Stubs) -> None:
    waiting = _error(stubs, stubs.client().live_ask_first(stubs.made("Ask_First"), wait_seconds=0.3), "PendingError")
    assert (waiting.awaits_approval, waiting.expires_at[:2]) == (True, "20")

    async def later() -> Any:
        asked = asyncio.create_task(stubs.client().calls.result(waiting.invocation_id, wait_seconds=20))
        await asyncio.to_thread(stubs.allow, waiting.invocation_id)
        return await asked

    assert asyncio.run(later()) == {"asked": True}


def test_an_earlier_result_can_be_had_with_its_type(stubs: Stubs) -> None:
    seen: list[str] = []
    work = stubs.client().live_count(
        stubs.made("Count", steps=1, seconds=0.0), on_progress=lambda each: seen.append(each.details["invocation_id"])
    )
    assert asyncio.run(work).counted == 1
    output = stubs.module("Count").OUTPUT
    read = asyncio.run(stubs.client().calls.typed_result(seen[0], output))
    assert type(read).__name__ == "LiveCountOutput"
    with stubs.package.SyncClient(stubs.server.url, stubs.server.token) as client:
        assert client.calls.typed_result(seen[0], output) == read
        assert client.calls.result(seen[0], wait_seconds=1) == {"counted": 1}
        assert client.calls.call("Live_Echo", {"value": 2}) == {"value": 2}
        echo = stubs.module("Count").OUTPUT
        assert client.calls.typed("Live_Count", {"steps": 2, "seconds": 0}, echo).counted == 2


@pytest.mark.parametrize(
    ("tool", "value"),
    [
        ("Nothing", None),
        ("Nothing", {}),
        ("Text", "7"),
        ("Text", '{"a": 1}'),
        ("Text", ""),
        ("Number", 7),
        ("Either", "7"),
        ("Either", 7),
        ("Untold", "7"),
        ("Untold", "[1]"),
        ("Untold", 7),
        ("Untold", None),
        ("Untold", False),
        ("Untold", [1, "a"]),
    ],
)
def test_a_result_is_the_value_that_the_tool_gave(stubs: Stubs, tool: str, value: Any) -> None:
    call = getattr(stubs.client(), f"live_give_{tool.lower()}")
    read = asyncio.run(call(stubs.made(f"Give_{tool}", value=value)))
    assert (read, type(read)) == (value, type(value))


def test_errors_tell_what_may_be_done_again(stubs: Stubs) -> None:
    wrong = _error(stubs, stubs.client().live_greet(stubs.made("Greet", name=5)), "SchemaValidationFailedError")
    assert (wrong.is_retry_safe, wrong.is_retryable) == (True, False)
    unknown = _error(stubs, stubs.client().calls.call("Live_Missing", {}), "CallError")
    assert not unknown.is_retryable
    assert errors.RateLimitedError(
        "x", details={"retry": {"retry_safe": True}, "recoverability": "retry_later"}
    ).is_retryable
    assert not errors.ExecutionFailedError("x", details={"recoverability": "retry"}).is_retryable


def test_progress_is_told_as_it_comes(stubs: Stubs) -> None:
    told: list[Any] = []
    work = stubs.client().live_count(stubs.made("Count", steps=3, seconds=0.05), on_progress=told.append)
    assert asyncio.run(work).counted == 3
    assert [(each.message, each.current_step, each.total_steps) for each in told][-1] == ("step 3", "3", 3)
    assert told[-1].percent == 100


@pytest.mark.parametrize("is_known", [True, False])
def test_a_canceled_task_cancels_the_call_at_the_server(stubs: Stubs, is_known: bool) -> None:
    told: list[Any] = []

    async def work() -> Any:
        client = stubs.client()
        given = stubs.made("Count", steps=100, seconds=60)
        begun = asyncio.Event()

        def hear(progress: Any) -> None:
            told.append(progress)
            begun.set()

        task = asyncio.create_task(client.live_count(given, on_progress=hear, run_id=f"run-{is_known}"))
        await (begun.wait() if is_known else asyncio.sleep(0))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if is_known:
            await client.calls.result(told[0].details["invocation_id"])

    began = time.monotonic()
    if is_known:
        _error(stubs, work(), "CanceledError")
    else:
        asyncio.run(work())
    assert time.monotonic() - began < 20


def test_patience_ends_and_cancels(stubs: Stubs) -> None:
    given = stubs.made("Count", steps=100, seconds=60)
    error = _error(stubs, stubs.client().live_count(given, timeout_seconds=0.3), "CallTimeoutError")
    assert error.invocation_id.startswith("inv_")
    _error(stubs, stubs.client().calls.result(error.invocation_id), "CanceledError")


def test_one_key_is_one_call(stubs: Stubs) -> None:
    given = stubs.made("Greet", name="Bob")
    first = asyncio.run(stubs.client().live_greet(given, idempotency_key="bob-1"))
    again = asyncio.run(stubs.client().live_greet(given, idempotency_key="bob-1"))
    assert first.call == again.call
    other = stubs.client().live_greet(stubs.made("Greet", name="Eve"), idempotency_key="bob-1")
    assert _error(stubs, other, "InvalidArgumentsError").code == "idempotency_conflict"


def test_what_never_was_a_call_has_errors_too(stubs: Stubs) -> None:
    refused = _error(stubs, stubs.client(token="wrong").live_busy(stubs.made("Busy")), "RequestRefusedError")
    assert refused.status == 401
    away = stubs.package.Client("http://127.0.0.1:1")
    _error(stubs, away.live_busy(stubs.made("Busy")), "TransportError")
    _error(stubs, stubs.package.Client("ftp://x").live_busy(stubs.made("Busy")), "TransportError")
    wrong = stubs.client().live_greet(stubs.made("Greet", name=5))
    assert _error(stubs, wrong, "SchemaValidationFailedError").invocation_id
    with pytest.raises(ValueError, match="plain ASCII"):
        asyncio.run(stubs.client().live_busy(stubs.made("Busy"), idempotency_key="a\r\nb"))


def test_the_address_and_the_token_may_come_from_the_environment(stubs: Stubs, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="FERRULE_URL"):
        stubs.package.Client()
    for name, value in stubs.server.env.items():
        monkeypatch.setenv(name, value)
    with stubs.package.SyncClient() as client:
        assert client.live_echo(stubs.made("Echo", value=1)) == {"value": 1}


def test_a_client_without_asyncio_says_where_it_cannot_be_used(stubs: Stubs) -> None:
    client = stubs.package.SyncClient(stubs.server.url, stubs.server.token)

    async def within() -> None:
        with pytest.raises(RuntimeError, match="in a thread"):
            client.live_echo(stubs.made("Echo", value=1))
        assert await asyncio.to_thread(client.live_echo, stubs.made("Echo", value=1)) == {"value": 1}

    asyncio.run(within())
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="this client is closed"):
        client.live_echo(stubs.made("Echo", value=1))


_LEFT_OPEN = """
import asyncio, gc, sys
from client import PendingError, SyncClient
from client.live_ask_first import LiveAskFirstInput
from client.live_echo import LiveEchoInput

client = SyncClient()
print(client.live_echo(LiveEchoInput(value=1)))
try:
    client.live_ask_first(LiveAskFirstInput())
except PendingError:
    print("pending")
gc.collect()
if sys.argv[1] == "loop":
    async def forget() -> None:
        global client
        del client
        gc.collect()
    asyncio.run(forget())
"""


@pytest.mark.parametrize("way", ["exit", "loop"])
def test_a_client_that_nobody_closes_goes_without_a_word(stubs: Stubs, way: str) -> None:
    command = (sys.executable, "-X", "dev", "-W", "error", "-c", _LEFT_OPEN, way)
    code, said = ran(*command, cwd=stubs.folder, env={**os.environ, **stubs.server.env})
    assert (code, said) == (0, "{'value': 1}\npending\n")


def test_clients_are_typed_and_formatted(stubs: Stubs) -> None:
    assert ruff_objects(stubs.folder) == ""
    assert checked_by_mypy(stubs.folder, "client") == (0, "")

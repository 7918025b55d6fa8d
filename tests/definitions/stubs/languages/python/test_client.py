"""Client stubs against a running Ferrule."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
import urllib.request
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

import ferrule as ferrule_package
from ferrule.access.keys import KEYS_FOLDER, OWNER_FILE
from ferrule.adapters import call_errors
from ferrule.adapters.callers import Caller, HttpCaller, SurfaceCaller
from tests.cli.run import ferrule
from tests.definitions.stubs.languages.live import Live, write_workspace
from tests.definitions.stubs.languages.python.stub_modules import checked_by_mypy, ruff_objects
from tests.servers.local_server import running_process

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

    async def call(self, tool: str, given: Any = None, **options: Any) -> Any:
        """What a generated function gives."""
        async with self.caller(options.pop("token", self.server.token)) as caller:
            made = self.made(tool) if given is None else given
            return await getattr(self.module(tool), f"live_{tool.lower()}")(caller, made, **options)

    def caller(self, token: str = "") -> HttpCaller:
        """What calls the server."""
        return HttpCaller(self.server.url, token or self.server.token)

    async def result(self, invocation_id: str, gives: Any = Any, **options: Any) -> Any:
        """What an earlier call gave."""
        async with self.caller() as caller:
            return await caller.result(invocation_id, gives, **options)

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
    with running_process(workspace) as server:
        sys.path.insert(0, str(folder))
        try:
            yield Stubs(Live(server.url, server.token(workspace), workspace), folder)
        finally:
            sys.path.remove(str(folder))
            for name in [each for each in sys.modules if each.split(".")[0] == "client"]:
                del sys.modules[name]


def _error(stubs: Stubs, work: Coroutine[Any, Any, Any], kind: str) -> Any:
    with pytest.raises(getattr(call_errors, kind)) as caught:
        asyncio.run(work)
    assert isinstance(caught.value, call_errors.CallError)
    return caught.value


def test_a_result_has_the_tools_type(stubs: Stubs) -> None:
    made = asyncio.run(stubs.call("Greet", stubs.made("Greet", name="Ada", times=2, mood="glad")))
    assert (made.words, made.mood, type(made).__name__) == (["hello Ada", "hello Ada"], "glad", "LiveGreetOutput")
    assert asyncio.run(stubs.call("Echo", stubs.made("Echo", value=[1, None]))) == {"value": [1, None]}


def test_a_denial_has_a_type_of_its_own(stubs: Stubs) -> None:
    error = _error(stubs, stubs.call("Forbidden", stubs.made("Forbidden", meant=True)), "PermissionDeniedError")
    assert (error.error_class, error.code) == ("permission_denied", "permission_denied")
    assert error.invocation_id.startswith("inv_")
    assert "nobody may" in error.message
    assert error.recoverability == "change_arguments_or_policy"


def test_failures_tell_their_class_and_when_to_come_back(stubs: Stubs) -> None:
    busy = _error(stubs, stubs.call("Busy", stubs.made("Busy")), "RateLimitedError")
    assert busy.retry_after_seconds == 1.5
    broken = _error(stubs, stubs.call("Break", stubs.made("Break", why="because")), "ExecutionFailedError")
    assert broken.message == "because"
    odd = _error(stubs, stubs.call("Odd", stubs.made("Odd")), "CallError")
    assert odd.error_class


def test_a_call_that_waits_for_a_person_is_told_apart(stubs: Stubs) -> None:
    waiting = _error(stubs, stubs.call("Ask_First"), "PendingError")
    assert (waiting.awaits_approval, waiting.state) == (True, "awaiting_approval")
    again = _error(stubs, stubs.result(waiting.invocation_id), "PendingError")
    assert again.invocation_id == waiting.invocation_id

    async def cancel() -> bool:
        async with stubs.caller() as caller:
            return await caller.cancel(waiting.invocation_id)

    assert asyncio.run(cancel())


def test_a_call_may_wait_until_a_person_has_allowed_it(stubs: Stubs) -> None:
    told: list[Any] = []
    allowing: list[asyncio.Future[None]] = []

    def hear(progress: Any) -> None:
        told.append(progress)
        if progress.details["status"] == "waiting_for_permission":
            identity = progress.details["invocation_id"]
            allowing.append(asyncio.get_running_loop().run_in_executor(None, stubs.allow, identity))

    async def work() -> Any:
        result = await stubs.call("Ask_First", wait_seconds=20, on_progress=hear)
        await asyncio.gather(*allowing)
        return result

    assert asyncio.run(work()) == {"asked": True}
    assert "waiting_for_permission" in [each.details["status"] for each in told]


def test_waiting_for_a_person_ends_and_the_call_goes_on_waiting(stubs: Stubs) -> None:
    waiting = _error(stubs, stubs.call("Ask_First", wait_seconds=0.3), "PendingError")
    assert (waiting.awaits_approval, waiting.expires_at[:2]) == (True, "20")

    async def later() -> Any:
        asked = asyncio.create_task(stubs.result(waiting.invocation_id, wait_seconds=20))
        await asyncio.to_thread(stubs.allow, waiting.invocation_id)
        return await asked

    assert asyncio.run(later()) == {"asked": True}


def test_an_earlier_result_can_be_had_with_its_type(stubs: Stubs) -> None:
    seen: list[str] = []
    hear = lambda each: seen.append(each.details["invocation_id"])  # noqa: E731
    assert asyncio.run(stubs.call("Count", stubs.made("Count", steps=1, seconds=0.0), on_progress=hear)).counted == 1
    output = stubs.module("Count").LiveCountOutput
    assert asyncio.run(stubs.result(seen[0], output)) == output(counted=1)
    assert asyncio.run(stubs.result(seen[0])) == {"counted": 1}


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
    read = asyncio.run(stubs.call(f"Give_{tool}", stubs.made(f"Give_{tool}", value=value)))
    assert (read, type(read)) == (value, type(value))


def test_errors_tell_what_may_be_done_again(stubs: Stubs) -> None:
    wrong = _error(stubs, stubs.call("Greet", stubs.made("Greet", name=5)), "SchemaValidationFailedError")
    assert (wrong.is_retry_safe, wrong.is_retryable) == (True, False)
    limited = {"retry": {"retry_safe": True}, "recoverability": "retry_later"}
    assert call_errors.RateLimitedError("x", details=limited).is_retryable
    assert not call_errors.ExecutionFailedError("x", details={"recoverability": "retry"}).is_retryable


def test_progress_is_told_as_it_comes(stubs: Stubs) -> None:
    told: list[Any] = []
    given = stubs.made("Count", steps=3, seconds=0.05)
    assert asyncio.run(stubs.call("Count", given, on_progress=told.append)).counted == 3
    assert [(each.message, each.current_step, each.total_steps) for each in told][-1] == ("step 3", "3", 3)
    assert told[-1].percent == 100


@pytest.mark.parametrize("is_known", [True, False])
def test_a_canceled_task_cancels_the_call_at_the_server(stubs: Stubs, is_known: bool) -> None:
    told: list[Any] = []

    async def work() -> Any:
        given = stubs.made("Count", steps=100, seconds=60)
        begun = asyncio.Event()

        def hear(progress: Any) -> None:
            told.append(progress)
            begun.set()

        task = asyncio.create_task(stubs.call("Count", given, on_progress=hear))
        await (begun.wait() if is_known else asyncio.sleep(0))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if is_known:
            await stubs.result(told[0].details["invocation_id"])

    began = time.monotonic()
    if is_known:
        _error(stubs, work(), "CanceledError")
    else:
        asyncio.run(work())
    assert time.monotonic() - began < 20


def test_patience_ends_and_cancels(stubs: Stubs) -> None:
    given = stubs.made("Count", steps=100, seconds=60)
    error = _error(stubs, stubs.call("Count", given, timeout_seconds=0.3), "CallTimeoutError")
    assert error.invocation_id.startswith("inv_")
    _error(stubs, stubs.result(error.invocation_id), "CanceledError")


def test_one_key_is_one_call(stubs: Stubs) -> None:
    given = stubs.made("Greet", name="Bob")
    first = asyncio.run(stubs.call("Greet", given, idempotency_key="bob-1"))
    again = asyncio.run(stubs.call("Greet", given, idempotency_key="bob-1"))
    assert first.call == again.call
    other = stubs.call("Greet", stubs.made("Greet", name="Eve"), idempotency_key="bob-1")
    assert _error(stubs, other, "InvalidArgumentsError").code == "idempotency_conflict"


def test_what_never_was_a_call_has_errors_too(stubs: Stubs) -> None:
    assert _error(stubs, stubs.call("Busy", token="wrong"), "RequestRefusedError").status == 401

    async def elsewhere() -> None:
        async with HttpCaller("http://127.0.0.1:1") as caller:
            await caller.call("Live_Busy", {})

    _error(stubs, elsewhere(), "TransportError")
    with pytest.raises(ValueError, match="no address of a server"):
        HttpCaller("ftp://x")
    with pytest.raises(ValueError, match="unencrypted; use https"):
        HttpCaller("http://tools.example.com", token="t")
    assert HttpCaller("http://tools.example.com", token="t", allows_plain_http=True)
    with pytest.raises(ValueError, match="header"):
        asyncio.run(stubs.call("Busy", idempotency_key="a\r\nb"))


def test_the_address_and_the_token_may_come_from_the_environment(stubs: Stubs, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="FERRULE_URL"):
        HttpCaller()
    for name, value in stubs.server.env.items():
        monkeypatch.setenv(name, value)

    async def work() -> Any:
        async with HttpCaller(run_id="run-1") as caller:
            return await stubs.module("Echo").live_echo(caller, stubs.made("Echo", value=1))

    assert asyncio.run(work()) == {"value": 1}


def test_a_surface_of_this_process_is_called_in_the_same_way(tmp_path: Path, stubs: Stubs) -> None:
    write_workspace(tmp_path / "own")
    told: list[Any] = []

    async def work() -> None:
        async with ferrule_package.open(tmp_path / "own") as app:
            caller: Caller = SurfaceCaller(app, app.surface(principal="ann"))
            call = stubs.module("Greet").live_greet
            assert (await call(caller, stubs.made("Greet", name="Ada"))).words == ["hello Ada"]
            counted = stubs.made("Count", steps=2, seconds=0.02)
            await stubs.module("Count").live_count(caller, counted, on_progress=told.append)
            with pytest.raises(call_errors.PermissionDeniedError):
                await stubs.module("Forbidden").live_forbidden(caller, stubs.made("Forbidden", meant=True))
            with pytest.raises(call_errors.PendingError) as waiting:
                await stubs.module("Ask_First").live_ask_first(caller, stubs.made("Ask_First"))
            with pytest.raises(call_errors.PendingError):
                await caller.result(waiting.value.invocation_id)

    asyncio.run(work())
    assert told[-1].message == "step 2"


def test_clients_are_typed_and_formatted(stubs: Stubs) -> None:
    assert ruff_objects(stubs.folder) == ""
    assert checked_by_mypy(stubs.folder, "client") == (0, "")

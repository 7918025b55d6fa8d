"""Client stubs against a running Ferrule."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from ferrule.languages.python.client import error_names
from ferrule.languages.python.support import errors
from ferrule.model.failure import ERROR_CLASSES
from tests.cli.run import ferrule
from tests.languages.live import Live, live
from tests.languages.python.workbench import checked_by_mypy, ruff_objects


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

    def made(self, tool: str, **members: Any) -> Any:
        """An input."""
        module = importlib.import_module(f"client.live_{tool.lower()}")
        return getattr(module, f"Live{tool.replace('_', '')}Input")(**members)


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stubs]:
    folder = tmp_path_factory.mktemp("client_stubs")
    with live(tmp_path_factory.mktemp("live") / "workspace") as server:
        sys.path.insert(0, str(folder))
        try:
            yield Stubs(server, folder)
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


def test_clients_are_typed_and_formatted(stubs: Stubs) -> None:
    assert ruff_objects(stubs.folder) == ""
    assert checked_by_mypy(stubs.folder, "client") == (0, "")


def test_there_is_an_error_for_each_class() -> None:
    assert set(errors.BY_CLASS) == set(ERROR_CLASSES)
    assert all(hasattr(errors, name) for name in error_names())

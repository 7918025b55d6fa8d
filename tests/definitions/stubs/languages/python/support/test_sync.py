"""Calls for programs that know no asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.definitions.stubs.languages.python.support.sync import Blocking, SyncCaller


async def given(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


class Calls:
    """Notes what it is asked, and gives it back."""

    def __getattr__(self, name: str) -> Any:
        return lambda *positional, **named: given((name, positional, named))


def test_work_is_run_to_its_end_and_one_loop_serves_all() -> None:
    blocking = Blocking()

    async def loop() -> int:
        return id(asyncio.get_running_loop())

    assert blocking.run(given(3)) == 3
    assert blocking.run(loop()) == blocking.run(loop())
    blocking.close()


def test_within_a_running_loop_it_says_what_to_do_instead() -> None:
    blocking = Blocking()

    async def within() -> None:
        with pytest.raises(RuntimeError, match=r"asyncio\.to_thread"):
            blocking.run(given(1))
        assert await asyncio.to_thread(blocking.run, given(2)) == 2

    asyncio.run(within())
    blocking.close()


def test_a_closed_client_runs_nothing_more() -> None:
    blocking = Blocking()
    blocking.close()
    blocking.close()
    with pytest.raises(RuntimeError, match="this client is closed"):
        blocking.run(given(1))


def test_an_error_of_the_work_comes_through() -> None:
    async def fails() -> None:
        raise KeyError("x")

    blocking = Blocking()
    with pytest.raises(KeyError):
        blocking.run(fails())
    blocking.close()


def test_each_call_is_that_of_the_asynchronous_caller() -> None:
    blocking = Blocking()
    caller: Any = SyncCaller(Calls(), blocking)  # type: ignore[arg-type]  # plays a caller
    output: Any = object()
    assert caller.call("t", 1, run_id="r") == ("call", ("t", 1), {"run_id": "r"})
    assert caller.typed("t", 1, output, run_id="r") == ("typed", ("t", 1, output), {"run_id": "r"})
    assert caller.result("i", wait_seconds=2) == ("result", ("i",), {"wait_seconds": 2})
    assert caller.typed_result("i", output) == ("typed_result", ("i", output), {"wait_seconds": 0.0})
    assert caller.cancel("i", "why") == ("cancel", ("i", "why"), {})
    blocking.close()

"""ConnectionPool to MCP servers: made when first needed, shared by calls, made anew when they broke, given up in time."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.executors.mcp.pool import ConnectionPool
from tests.runtime.executors.mcp.imported_apps import ended, far_app, odd, play, program, value_of
from tests.runtime.executors.mcp.servers import Notes, is_gone


def test_a_hundred_calls_are_made_by_one_program(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(odd(tmp_path)) as app:
            surface = app.surface()
            results = await asyncio.gather(*(surface.call("pid", {}) for _ in range(50)))
            results += [await surface.call("pid", {}) for _ in range(50)]
            pids = {value_of(result)["pid"] for result in results}
            assert len(pids) == 1
        assert await is_gone(pids.pop())

    play(story)


def test_a_program_that_was_killed_between_calls_is_started_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(odd(tmp_path)) as app:
            first = value_of(await ended(app, "pid"))["pid"]
            os.kill(first, signal.SIGKILL)
            assert await is_gone(first)
            second = value_of(await ended(app, "pid"))["pid"]
            assert second != first
        assert await is_gone(second)

    play(story)


def test_a_server_that_never_answers_is_told_to_stop(tmp_path: Path) -> None:
    async def story() -> None:
        notes = Notes(tmp_path)
        async with far_app(program(tmp_path, "odd", "2025-11-25"), timeout_seconds=0.3) as app:
            result = await ended(app, "silent")
            assert result.error is not None
            assert result.error.error_class == "timeout"
            assert await notes.reaches("cancelled", 1)

    play(story)


class Line:
    """A connection that is opened when a test says so."""

    upstream = SimpleNamespace(label="far")

    def __init__(self, *, waits: bool = False, fails: bool = False) -> None:
        self.calls, self.opened, self.is_closed = 0, 0, False
        self.fails = fails
        self.may_open = asyncio.Event()
        if not waits:
            self.may_open.set()

    async def open(self) -> None:
        self.opened += 1
        await self.may_open.wait()
        if self.fails:
            raise ExecutionFailed("dependency_unavailable", "nobody there")

    async def aclose(self) -> None:
        self.is_closed = True


async def used(pool: ConnectionPool, key: str, line: Line, seconds: float = 5.0) -> Any:
    """What a call is given, which would make this line."""
    async with pool.using((key,), lambda: line, seconds) as given:  # type: ignore[arg-type, return-value]  # plays one
        assert given.calls > 0
        return given


def test_calls_that_come_while_it_is_opened_wait_for_the_same_one() -> None:
    async def story() -> None:
        pool, line, other = ConnectionPool(), Line(waits=True), Line()
        calls = [asyncio.ensure_future(used(pool, "a", each)) for each in (line, other, other)]
        await asyncio.sleep(0)
        calls[0].cancel()  # whoever came first may go: the others still get it
        line.may_open.set()
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert found[1:] == [line, line] and (line.opened, other.opened, line.calls) == (1, 0, 0)
        await pool.aclose()
        assert line.is_closed

    play(story)


def test_one_that_broke_or_was_dropped_is_replaced() -> None:
    async def story() -> None:
        pool, first, second, third = ConnectionPool(), Line(), Line(), Line()
        assert await used(pool, "a", first) is first
        first.is_closed = True
        assert await used(pool, "a", second) is second
        pool.drop(("a",), first)  # an old one takes nothing from the new one
        assert await used(pool, "a", third) is second
        pool.drop(("a",), second)
        assert await used(pool, "a", third) is third
        await pool.aclose()
        assert second.is_closed and third.is_closed

    play(story)


def test_one_that_cannot_be_opened_is_closed_and_tried_anew() -> None:
    async def story() -> None:
        pool, failing, silent, good = ConnectionPool(), Line(fails=True), Line(waits=True), Line()
        with pytest.raises(ExecutionFailed, match="nobody there"):
            await used(pool, "a", failing)
        with pytest.raises(ExecutionFailed, match=r"'far' did not answer within 0\.01 seconds") as failed:
            await used(pool, "a", silent, seconds=0.01)
        assert failed.value.code == "no_handshake"
        assert await used(pool, "a", good) is good
        await pool.aclose()
        assert failing.is_closed and silent.is_closed

    play(story)


def test_of_too_many_the_longest_unused_makes_way() -> None:
    async def story() -> None:
        pool, lines = ConnectionPool(), [Line() for _ in range(65)]
        async with pool.using((0,), lambda: lines[0], 5.0):  # type: ignore[arg-type, return-value]
            for number, line in enumerate(lines[1:], start=1):
                await used(pool, str(number), line)
            await asyncio.sleep(0)
            assert [number for number, line in enumerate(lines) if line.is_closed] == [1]
        await pool.aclose()

    play(story)


def test_one_more_than_there_is_room_for_is_not_closed_while_it_is_used() -> None:
    async def story() -> None:
        pool, lines = ConnectionPool(), [Line() for _ in range(65)]
        async with AsyncExitStack() as held:
            for number, line in enumerate(lines):
                await held.enter_async_context(pool.using((number,), lambda line=line: line, 5.0))  # type: ignore[misc]
            await asyncio.sleep(0)
            assert not any(line.is_closed for line in lines)
        await pool.aclose()

    play(story)


def test_a_pool_that_is_closed_opens_nothing() -> None:
    async def story() -> None:
        pool, line = ConnectionPool(), Line()
        await pool.aclose()
        with pytest.raises(ExecutionFailed) as failed:
            await used(pool, "a", line)
        assert (failed.value.error_class, line.opened) == ("canceled", 0)

    play(story)

"""What the servers of one process remember of their callers, and what they let go of."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import ferrule
from ferrule.infra.tasks import resolve
from ferrule.model.approval import CALL, Identity
from ferrule.model.result import Result
from ferrule.servers import edge as edge_module
from ferrule.servers.auth.callers import Caller
from tests.servers.local_server import InProcessServer, running_server

CALLER = Caller(Identity("ada", "token:1", frozenset({CALL})))


@ferrule.tool(read_only=True, inline=True)
def look(n: int) -> int:
    """Looks."""
    return n


def play(story: Callable[[InProcessServer], Awaitable[None]], folder: Path) -> None:
    async def main() -> None:
        async with running_server(folder, tools=[look]) as stand:
            await story(stand)

    asyncio.run(main())


def test_surfaces_of_runs_do_not_push_out_those_of_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_module, "_SURFACES_KEPT", 3)
    monkeypatch.setattr(edge_module, "_FEWEST_KEPT", 1)

    async def story(stand: InProcessServer) -> None:
        own = await resolve(stand.edge.surface(CALLER))
        first = await resolve(stand.edge.surface(CALLER, "run 0"))
        for number in range(1, 10):
            last = await resolve(stand.edge.surface(CALLER, f"run {number}"))
        assert await resolve(stand.edge.surface(CALLER)) is own
        assert len(stand.edge._runs) == 3
        assert stand.edge.surface(CALLER, "run 9") is last
        assert await resolve(stand.edge.surface(CALLER, "run 0")) is not first

    play(story, tmp_path)


def test_surfaces_with_many_tools_are_remembered_for_fewer_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_module, "_ENTRIES_KEPT", 20)
    monkeypatch.setattr(edge_module, "_FEWEST_KEPT", 2)

    async def story(stand: InProcessServer) -> None:
        tools = len((await resolve(stand.edge.surface(CALLER))).surface.entries)
        for number in range(30):
            await resolve(stand.edge.surface(CALLER, f"run {number}"))
        assert len(stand.edge._runs) == max(2, 20 // (1 + tools))

    play(story, tmp_path)


def test_a_surface_that_nobody_uses_goes_without_a_look_for_garbage(tmp_path: Path) -> None:
    """Its memory is mostly of a kind that the collector does not count: waiting for it would be waiting for long."""

    async def story(stand: InProcessServer) -> None:
        gc.collect()
        gc.disable()
        try:
            handle = await resolve(stand.edge.surface(CALLER, "run"))
            await handle.call("look", {"n": 1})
            seen = weakref.ref(handle)
            stand.edge.forget(CALLER, "run")
            del handle
            await asyncio.sleep(0)
            assert seen() is None
        finally:
            gc.enable()

    play(story, tmp_path)


def test_a_call_that_outlives_its_surface_still_sees_one(tmp_path: Path) -> None:
    async def story(stand: InProcessServer) -> None:
        handle = await resolve(stand.edge.surface(CALLER, "run"))
        session = handle.session
        assert session.handle is handle
        stand.edge.forget(CALLER, "run")
        del handle
        assert session.handle.session is session
        result = await session.handle.call("look", {"n": 2})
        assert isinstance(result, Result) and result.structured_content == 2

    play(story, tmp_path)

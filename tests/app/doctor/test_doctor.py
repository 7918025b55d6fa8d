"""The doctor looks at tools side by side, within their time, and calls none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ferrule.app.doctor.doctor import Doctor, Examination
from ferrule.contracts.executor import Context, ExecutionFailed, Output, Support
from ferrule.model.tool import Tool, raw
from ferrule.runtime.executors.shell import ShellExecutor
from ferrule.testing import memory_app
from tests.runtime.executors.oxp.upstream import ECHO, using
from tests.spec.running_app import make_tool


class Probing:
    """An executor whose probes a test writes; its tools must not be called."""

    support = Support()

    def __init__(self, probe: Callable[[str, Context], Any], upstream: Callable[[str], str] = lambda name: "") -> None:
        self.probed: list[str] = []
        self.most = self.now = 0
        self._probe = probe
        self._upstream = upstream

    def can_run(self, tool: Tool) -> bool:
        return True

    def prepare(self, tool: Tool) -> Any:
        return _Run(self, tool.name, self._upstream(tool.name))

    async def aclose(self) -> None:
        pass

    async def look(self, name: str, context: Context) -> str:
        self.probed.append(name)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            said: str = await self._probe(name, context)
            return said
        finally:
            self.now -= 1


class _Run:
    def __init__(self, executor: Probing, name: str, upstream: str) -> None:
        self._executor = executor
        self._name = name
        self.upstream = upstream

    def __call__(self, arguments: dict[str, Any], context: Context) -> Output:
        raise AssertionError("a doctor calls no tool")

    async def probe(self, context: Context) -> str:
        return await self._executor.look(self._name, context)


def _tools(count: int, **facts: Any) -> list[Tool]:
    names = [f"t{number}" for number in range(count)]
    return [
        Tool(tool_id=name, namespace="test", name=name, description="x", lifecycle="available", tool_kind="function",
             dialect="agent_tool", **facts)
        for name in names
    ]  # fmt: skip


def _examined(probing: Probing, tools: list[Tool], seconds: float = 5.0, **more: Any) -> dict[str, Examination]:
    async def story() -> list[Examination]:
        async with memory_app(tools=tools, executors=[probing]) as app:
            doctor = Doctor(app, principal="alice", seconds=seconds, **more)
            found = await doctor.examine(app.catalog.list_preferred())
            assert [one async for one in _calls(app)] == [], "nothing is recorded"
            return found

    return {found.name: found for found in asyncio.run(story())}


async def _calls(app: Any) -> Any:
    for row in await app.store.rows_before(None, 100):
        if row.call:
            yield row


def test_what_does_not_answer_is_waited_for_once_by_all_tools_behind_it() -> None:
    async def probe(name: str, context: Context) -> str:
        raise ExecutionFailed("dependency_unavailable", f"tool {name!r}: nobody listens")

    probing = Probing(probe, upstream=lambda name: "db" if name != "t3" else "other")
    found = _examined(probing, _tools(6))
    assert sorted(probing.probed) == ["t0", "t3"]
    assert all(one.health == "broken" and f"'{name}': nobody listens" in one.told for name, one in found.items())


def test_tools_behind_something_that_answers_are_each_tried() -> None:
    async def probe(name: str, context: Context) -> str:
        if name == "t2":
            raise ExecutionFailed("setup_required", "there is no such table")
        return "connected"

    probing = Probing(probe, upstream=lambda name: "db")
    found = _examined(probing, _tools(5))
    assert len(probing.probed) == 5
    assert [one.health for one in found.values()] == ["works", "works", "broken", "works", "works"]


def test_a_tool_that_hangs_costs_its_own_time_only() -> None:
    async def probe(name: str, context: Context) -> str:
        assert context.deadline is not None and context.principal == "alice"
        if name == "t1":
            await asyncio.sleep(3600)
        return "fine"

    found = _examined(Probing(probe), _tools(3), seconds=0.1)
    assert [one.health for one in found.values()] == ["works", "broken", "works"]
    assert "within 0.1 seconds" in found["t1"].told


def test_only_so_many_are_looked_at_together() -> None:
    async def probe(name: str, context: Context) -> str:
        await asyncio.sleep(0.01)
        return "fine"

    probing = Probing(probe)
    found = _examined(probing, _tools(40))
    assert len(found) == 40 and 1 < probing.most <= 8


def test_a_part_that_is_broken_itself_does_not_hide_the_others() -> None:
    async def probe(name: str, context: Context) -> str:
        if name == "t0":
            raise ZeroDivisionError("hunter2 is the password")
        return "fine"

    found = _examined(Probing(probe), _tools(2))
    assert found["t0"].health == "broken" and "ZeroDivisionError" in found["t0"].told
    assert "hunter2" not in found["t0"].told and found["t1"].health == "works"


def test_what_is_told_is_one_line_without_secrets() -> None:
    async def probe(name: str, context: Context) -> str:
        return "connected\nas hunter2-the-secret\x1b[31m"

    async def story() -> Examination:
        async with memory_app(tools=_tools(1), executors=[Probing(probe)]) as app:
            assert app.services.redactor is not None
            app.services.redactor.add("PASSWORD", "hunter2-the-secret")
            (found,) = await Doctor(app, principal="a", seconds=5).examine(app.catalog.list_preferred())
            return found

    told = asyncio.run(story()).told
    assert "hunter2" not in told and "\n" not in told


def test_tools_that_are_off_are_not_tried() -> None:
    async def probe(name: str, context: Context) -> str:
        return "fine"

    probing = Probing(probe)
    disabled = msgspec.structs.replace(_tools(2)[1], lifecycle="disabled")
    found = _examined(probing, [_tools(1)[0], disabled], off=["t0"])
    assert [one.health for one in found.values()] == ["off", "off"] and probing.probed == []
    assert "ferrule enable t0" in found["t0"].told


def test_a_program_that_is_not_there_is_told_and_none_is_run(tmp_path: Path) -> None:
    async def looked_at(*argv: str) -> Examination:
        mapping = {"source": "cli", "argv": list(argv)}
        tool = make_tool("tool", {"type": "object"}, tool_kind="shell_command", external_mappings=[mapping])
        async with memory_app(tools=[tool], executors=[ShellExecutor(tmp_path, sandbox="off")]) as app:
            (found,) = await Doctor(app, principal="a", seconds=5).examine(app.catalog.list_preferred())
            return found

    missing = asyncio.run(looked_at("no-such-program-anywhere"))
    assert missing.health == "broken" and "no-such-program-anywhere" in missing.told
    there = asyncio.run(looked_at("touch", "made-by-touch"))
    assert (there.kind, there.health) == ("shell", "works"), there
    assert list(tmp_path.iterdir()) == []


def test_what_an_imported_oxp_tool_requires_is_told_by_name_and_with_the_place_for_it() -> None:
    required = {"secrets": [{"id": "POST_KEY"}], "authorization": [{"id": "google"}]}

    async def story() -> list[Examination]:
        async with using("http://127.0.0.1:1", {**ECHO, "requirements": required}) as app:
            return await Doctor(app, principal="alice", seconds=5.0).examine(app.catalog.list_preferred())

    (one,) = asyncio.run(story())
    assert one.told == (
        "it needs 'POST_KEY', 'google', which is not set; say where secrets are in [secrets.bindings] and set them"
        " there, and who gives tokens in [oauth.ID]; callers over OXP may bring both"
    )


def test_an_oxp_server_that_refuses_our_credential_is_told_in_its_own_words_alone() -> None:
    async def probe(name: str, context: Context) -> str:
        raise ExecutionFailed("credential_missing", "the OXP server 'far' does not accept the credentials")

    tool = msgspec.structs.replace(make_tool("post"), dialect="oxp_server", credentials=raw({"user_id": True}))
    (one,) = _examined(Probing(probe), [tool]).values()
    assert one.told == "the OXP server 'far' does not accept the credentials"

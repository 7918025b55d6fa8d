"""Functions in processes of their own: which can be found there, and that they end for real with everything they started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from ferrule.errors import BindingError
from ferrule.model.result import Result
from ferrule.runtime.functions import Binding, tool
from tests import ROOT
from tests.driven import driven
from tests.runtime.functions import apart
from tests.runtime.functions.processes import apart_app, given, is_alive


async def _started(mark: Path) -> list[int]:
    while not (mark.exists() and len(mark.read_text(encoding="utf-8").split()) == 2):
        await asyncio.sleep(0.01)
    return [int(pid) for pid in mark.read_text(encoding="utf-8").split()]


@driven
async def test_a_canceled_function_is_killed_with_everything_it_started(tmp_path: Path) -> None:
    async with apart_app() as app:
        calling = asyncio.ensure_future(app.surface().call("apart.hang", {"mark": str(tmp_path / "mark")}))
        pids = await _started(tmp_path / "mark")
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        assert not any(map(is_alive, pids))


@driven
async def test_a_function_over_its_time_is_killed(tmp_path: Path) -> None:
    async with apart_app() as app:
        await given(app, "whoami")  # so that a process is there, and the time is the function's alone
        result = await app.surface().call("apart.hang", {"mark": str(tmp_path / "mark")}, timeout_seconds=1.5)
        assert isinstance(result, Result) and result.status == "timed_out"
        pids = await _started(tmp_path / "mark")
        while any(map(is_alive, pids)):
            await asyncio.sleep(0.01)


@driven
async def test_settings_can_put_any_function_apart() -> None:
    made = Binding(apart.plain)
    async with apart_app(made.within("apart"), isolate=("apart.plain",)) as app:
        name = next(iter(app.surface().surface.entries))
        result = await app.surface().call(name, {"number": 4})
        assert isinstance(result, Result) and isinstance(result.structured_content, dict)
        assert result.structured_content["twice"] == 8
        assert result.structured_content["pid"] != os.getpid()


def test_what_another_process_could_not_find_is_refused_when_the_app_is_opened() -> None:
    @tool(isolation="process")
    def nested() -> str:
        """Nobody finds it."""
        return ""

    for made, words in (
        (nested, "top of a module"),
        (Binding(apart.plain, isolation="process", inline=True), "inline"),
        (Binding(apart.plain, isolation="process", resume=lambda state, answer: None), "waiting"),
    ):
        with pytest.raises(BindingError, match=words):
            asyncio.run(_opened(made))


def test_a_name_in_isolate_that_nobody_has_is_refused() -> None:
    with pytest.raises(BindingError, match="isolate"):
        asyncio.run(_opened(apart, isolate=("apart.whoamI",)))


async def _opened(*tools: Any, **functions: Any) -> None:
    async with apart_app(*tools, **functions):
        pass


_PARENT = """
import asyncio, sys
from ferrule.testing import memory_app
from tests.runtime.functions import apart

async def main():
    async with memory_app(tools=(apart,), policy='mode = "trusted"') as app:
        await app.surface().call("apart.hang", {"mark": sys.argv[1]})

asyncio.run(main())
"""


@driven
async def test_a_child_ends_with_the_process_it_works_for_however_that_ends(tmp_path: Path) -> None:
    root = ROOT
    env = {**os.environ, "PYTHONPATH": str(root)}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PARENT, str(tmp_path / "mark"), env=env, cwd=root
    )
    child, grandchild = await _started(tmp_path / "mark")
    try:
        parent.kill()
        await parent.wait()
        while is_alive(child):
            await asyncio.sleep(0.01)
    finally:
        os.kill(grandchild, signal.SIGKILL)  # what a function starts and leaves is its own affair then

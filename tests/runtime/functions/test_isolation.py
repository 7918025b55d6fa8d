"""Functions in processes of their own: nothing of ours is in them, they end for real, and their death is one call's failure."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.app import App
from ferrule.errors import BindingError
from ferrule.model.persistence import RedactionSettings
from ferrule.model.result import Result
from ferrule.runtime.functions import Binding, tool
from ferrule.runtime.pipeline.redaction import guard_logs
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.settings import FunctionSettings, Settings
from ferrule.testing import memory_app
from tests import ROOT
from tests.driven import driven
from tests.runtime.functions import apart

HUSHED = {"API_SECRET": "hush-hush-7"}
TRUSTED = 'mode = "trusted"'


def _app(*tools: Any, environment: dict[str, str] | None = None, **functions: Any) -> Any:
    settings = Settings(functions=FunctionSettings(**functions))
    env = {"PATH": os.environ["PATH"], **(environment or {})}
    return memory_app(tools=tools or (apart,), policy=TRUSTED, settings=settings, environment=env)


async def _call(app: App, name: str, **arguments: Any) -> Result:
    result = await app.surface(principal="ann").call(f"apart.{name}", arguments)
    assert isinstance(result, Result), result
    return result


async def _given(app: App, name: str, **arguments: Any) -> Any:
    result = await _call(app, name, **arguments)
    assert result.error is None, result.error
    return result.structured_content


@driven
async def test_a_function_runs_in_another_process_which_is_used_again() -> None:
    apart.SECRET_HERE.append("known here")
    async with _app() as app:
        first, second = await _given(app, "whoami"), await _given(app, "whoami")
        assert first["pid"] == second["pid"] != os.getpid()
        assert (first["parent"], first["known"]) == (os.getpid(), 0)
    assert not _is_alive(first["pid"])


@driven
async def test_it_sees_no_environment_but_what_it_declares_and_no_open_files() -> None:
    async with _app(environment={"DECLARED": "yes", "API_KEY": "no"}) as app:
        found = await _given(app, "seen")
        assert "DECLARED" in found["env"] and "PATH" in found["env"]
        assert "API_KEY" not in found["env"]
        assert len(found["fds"]) <= 7  # its own three, the two ends of our talk, /dev/null, and the listing itself


@driven
async def test_typed_arguments_are_read_there_and_what_is_printed_is_no_answer() -> None:
    async with _app() as app:
        given = await _given(app, "order", item={"name": "pen", "count": 2})
        assert given == {"name": "pen", "count": 2, "when": 1}


@driven
async def test_an_async_function_tells_its_progress_and_gives_an_output() -> None:
    async with _app() as app:
        handle = app.surface(principal="ann")
        result = await handle.call("apart.later", {"text": "hush-hush-9 and more"})
        assert isinstance(result, Result) and isinstance(result.structured_content, dict)
        assert result.structured_content["for"] == "ann"
        assert "hush-hush-9" not in str(result.structured_content)
        said = [fact for row in await app.store.news_of(result.invocation_id) for fact in row.news().happened]
        rows = await app.store.rows_of(result.invocation_id)
        said += [fact for row in rows for fact in row.segment().notes.get("happened", ())]
        assert any(fact["data"].get("percent") == 50 for fact in said)


@pytest.mark.parametrize(
    ("how", "error_class", "code", "ref"),
    [
        ("exit", "execution_failed", "process_died", "exit_code:3"),
        ("segfault", "execution_failed", "process_died", "signal:11"),
        ("raise", "rate_limited", "busy", None),
        ("value", "execution_failed", "execution_failed", "python:ValueError"),
        ("system", "execution_failed", "execution_failed", "python:SystemExit"),
    ],
)
@driven
async def test_however_a_function_ends_only_its_own_call_fails(
    how: str, error_class: str, code: str, ref: str | None
) -> None:
    async with _app() as app:
        result = await _call(app, "crash", how=how)
        assert result.error is not None
        found = (result.error.error_class, result.error.error_code, result.error.native_error_ref)
        assert found == (error_class, code, ref)
        assert "secret-text" not in result.error.message
        assert (await _given(app, "whoami"))["parent"] == os.getpid()


@pytest.mark.parametrize("how", ["raise", "log"])
@driven
async def test_a_text_that_is_not_unicode_is_logged_without_the_secret_beside_it(
    how: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    release = guard_logs(KnownSecrets(RedactionSettings(secrets_env=tuple(HUSHED)), HUSHED))
    try:
        async with _app(environment=HUSHED) as app:
            await _call(app, "tells", how=how)
    finally:
        release()
    assert "[REDACTED] is not in caf\\udce9" in caplog.text
    assert "hush-hush-7" not in caplog.text + capfd.readouterr().err


@driven
async def test_a_text_that_is_not_unicode_is_one_calls_failure() -> None:
    async with _app(environment=HUSHED) as app:
        failed, given = await _call(app, "tells", how="failed"), await _call(app, "tells", how="give")
        assert failed.error is not None and failed.error.message == "nothing is in caf\\udce9"
        assert given.error is not None and given.error.error_code == "result_mapping_failed"


async def _started(mark: Path) -> list[int]:
    while not (mark.exists() and len(mark.read_text(encoding="utf-8").split()) == 2):
        await asyncio.sleep(0.01)
    return [int(pid) for pid in mark.read_text(encoding="utf-8").split()]


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@driven
async def test_a_canceled_function_is_killed_with_everything_it_started(tmp_path: Path) -> None:
    async with _app() as app:
        calling = asyncio.ensure_future(app.surface().call("apart.hang", {"mark": str(tmp_path / "mark")}))
        pids = await _started(tmp_path / "mark")
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        assert not any(map(_is_alive, pids))


@driven
async def test_a_function_over_its_time_is_killed(tmp_path: Path) -> None:
    async with _app() as app:
        await _given(app, "whoami")  # so that a process is there, and the time is the function's alone
        result = await app.surface().call("apart.hang", {"mark": str(tmp_path / "mark")}, timeout_seconds=1.5)
        assert isinstance(result, Result) and result.status == "timed_out"
        pids = await _started(tmp_path / "mark")
        while any(map(_is_alive, pids)):
            await asyncio.sleep(0.01)


@driven
async def test_there_are_never_more_processes_than_the_settings_say() -> None:
    async with _app(processes=2) as app:
        given = await asyncio.gather(*(_given(app, "whoami") for _ in range(12)))
        assert len({found["pid"] for found in given}) <= 2
        await _given(app, "seen")
        assert len(app.executor_of(_tool(app, "apart.seen"))._children._all) <= 2


def _tool(app: App, tool_id: str) -> Any:
    return app.catalog.versions(tool_id)[0].tool


@driven
async def test_settings_can_put_any_function_apart() -> None:
    made = Binding(apart.plain)
    async with _app(made.within("apart"), isolate=("apart.plain",)) as app:
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
    async with _app(*tools, **functions):
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
        while _is_alive(child):
            await asyncio.sleep(0.01)
    finally:
        os.kill(grandchild, signal.SIGKILL)  # what a function starts and leaves is its own affair then

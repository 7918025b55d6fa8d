"""The thirteen phases: their order, what stops a call in each, and what is left of it: AT-104 to AT-119."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import pytest
from msgspec import UNSET

from ferrule.contracts.executor import Context, ExecutionFailed, Output
from ferrule.contracts.hook import HookOutput
from ferrule.model.lifecycle import PHASES, TERMINAL
from ferrule.model.result import Result
from ferrule.runtime.functions import tool
from ferrule.runtime.pipeline.phases import emit_terminal
from tests.runtime.pipeline.replaced_phase import replace_phase
from tests.runtime.surface.surfaces import FakeReadiness
from tests.spec.running_app import (
    BERN,
    TRUSTED,
    FunctionHook,
    RunningApp,
    assert_required,
    make_tool,
    run_async,
    running_app,
)

DENY = TRUSTED + '[[rules]]\nid = "never"\ndecision = "deny"\ntool = "*"\nwhen = { city = "Bern" }\n'
SWITCHED_OFF = 'mode = "locked"\n'
CLOSE = ["persist_result", "emit_terminal"]
FAILURE_CLOSE = ["post_hooks", *CLOSE]


def raising(told: Any) -> Any:
    raise RuntimeError("a secret of the hook")


@tool(name="search")
def checked(city: str) -> str:
    """Searches."""
    return city


@checked.check
def no_bern(city: str) -> str | None:
    return "Bern cannot be searched" if city == "Bern" else None


@tool(name="search")
def crashing(city: str) -> str:
    """Searches."""
    raise RuntimeError("a secret of the tool")


class Stopped(NamedTuple):
    """A failure of one phase: how it comes about, and how the call ends."""

    parts: dict[str, Any]
    phase: str
    outcome: tuple[str, str, str, str]
    """Error class, error code, result status, last state."""
    arguments: Any = BERN
    name: str = "search"


STOPS: dict[str, Stopped] = {
    "no such tool": Stopped({}, "resolve_tool", ("unknown_tool", "tool_not_found", "failed", "failed"), name="nothing"),
    "blocked by policy": Stopped(
        {"policy": SWITCHED_OFF}, "resolve_tool", ("policy_blocked", "policy_blocked", "denied", "blocked")
    ),
    "not set up": Stopped(
        {"tools": (make_tool(lifecycle="requires_setup"),), "readiness": FakeReadiness(is_set_up=False)},
        "resolve_tool",
        ("setup_required", "setup_required", "failed", "blocked"),
    ),
    "wrong arguments": Stopped(
        {},
        "parse_schema",
        ("schema_validation_failed", "schema_validation_failed", "failed", "schema_parse_failed"),
        {"city": 1},
    ),
    "not loaded": Stopped(
        {"tools": (make_tool(lifecycle="deferred"),)},
        "check_schema_loaded",
        ("schema_not_loaded", "schema_not_loaded", "failed", "schema_parse_failed"),
    ),
    "bad values": Stopped(
        {"tools": (checked,), "default": UNSET},
        "validate_values",
        ("invalid_arguments", "invalid_arguments", "failed", "validation_failed"),
    ),
    "stopped by a hook": Stopped(
        {"hooks": (FunctionHook(lambda told: HookOutput(stop="not today")),)},
        "pre_hooks",
        ("hook_blocked", "hook_blocked", "denied", "blocked"),
    ),
    "a broken hook": Stopped(
        {"hooks": (FunctionHook(raising),)}, "pre_hooks", ("hook_blocked", "hook_failed", "failed", "blocked")
    ),
    "denied": Stopped({"policy": DENY}, "permission", ("permission_denied", "permission_denied", "denied", "denied")),
    "failed": Stopped(
        {"default": ExecutionFailed("execution_failed", "the printer is out of paper")},
        "execute",
        ("execution_failed", "execution_failed", "failed", "failed"),
    ),
    "timed out": Stopped(
        {"default": ExecutionFailed("timeout", "too slow")}, "execute", ("timeout", "timeout", "timed_out", "timed_out")
    ),
    "a broken executor": Stopped(
        {"default": RuntimeError("a secret of the executor")},
        "execute",
        ("execution_failed", "internal_error", "failed", "failed"),
    ),
    "a broken function": Stopped(
        {"tools": (crashing,), "default": UNSET},
        "execute",
        ("execution_failed", "execution_failed", "failed", "failed"),
    ),
    "not what its schema says": Stopped(
        {"tools": (make_tool(output_schema={"type": "object"}),)},
        "map_result",
        ("execution_failed", "result_mapping_failed", "failed", "failed"),
    ),
    "a broken post hook": Stopped(
        {"hooks": (FunctionHook(raising, "post_tool_use"),)},
        "post_hooks",
        ("partial_failure", "post_hook_failed", "partial_succeeded", "succeeded"),
    ),
}


def app_of(stopped: Stopped) -> AbstractAsyncContextManager[RunningApp]:
    parts = dict(stopped.parts)
    return running_app(*parts.pop("tools", ()), **parts)


def expected_trace(phase: str) -> list[str]:
    opened = list(PHASES[: PHASES.index(phase) + 1])
    if phase in ("map_result", "post_hooks"):
        return list(PHASES)
    return opened + (FAILURE_CLOSE if phase == "execute" else CLOSE)


@run_async
async def test_at_104_a_success_takes_all_phases_in_order() -> None:
    """AT-104"""
    async with running_app() as on:
        assert await on.read_phases(await on.call()) == list(PHASES)


@pytest.mark.parametrize("case", STOPS)
@run_async
async def test_at_104_a_failure_jumps_to_the_closing_phases(case: str) -> None:
    """AT-104, AT-105: the phases up to the failure, then the closing ones; failure hooks only once it has run."""
    stopped = STOPS[case]
    async with app_of(stopped) as on:
        result = await on.call(stopped.name, stopped.arguments)
        assert await on.read_phases(result) == expected_trace(stopped.phase)


@pytest.mark.parametrize("case", STOPS)
@run_async
async def test_at_105_a_failure_gives_one_terminal_result(case: str) -> None:
    """AT-105, AT-113, AT-214, AT-219: the right class, code, status and state, on record, with the caller's own id."""
    stopped = STOPS[case]
    async with app_of(stopped) as on:
        result = await on.call(stopped.name, stopped.arguments, native_call_id="toolu_1")
        record = await on.read_record(result)
        assert result.error is not None
        assert result.is_error
        found = (result.error.error_class, result.error.error_code, result.status, record["status"])
        assert found == stopped.outcome
        assert "secret" not in repr(result)
        assert result.native_call_id == record["native_call_id"] == "toolu_1"
        assert_required("invocation", record)
        assert len([move for move in record["status_transitions"] if move["to"] in TERMINAL]) == 1
        assert await on.app.result(result.invocation_id) == result


def broken(monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    """Put a mistake of ours in the place of one phase."""

    def crash(call: Any, services: Any) -> None:
        raise RuntimeError("a secret of ours")

    replace_phase(monkeypatch, phase, crash)


@pytest.mark.parametrize("phase", PHASES[:12])
def test_at_105_a_mistake_of_ours_is_an_ordinary_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, phase: str
) -> None:
    """AT-105, AT-245: a crash in any phase gives one recorded result; the log has the details, the caller has none."""
    broken(monkeypatch, phase)
    outcome = asyncio.run(_crashed(phase))
    assert "a secret of ours" in caplog.text
    assert outcome.is_error
    assert "secret" not in repr(outcome)


async def _crashed(phase: str) -> Any:
    async with running_app() as on:
        result = await on.call()
        record = await on.read_record(result)
        error = result.error
        assert error is not None
        assert error.error_class == "execution_failed"
        assert error.error_code == ("result_mapping_failed" if phase == "map_result" else "internal_error")
        assert phase in error.message
        assert record["status"] == "failed"
        assert on.has_run is (PHASES.index(phase) > PHASES.index("execute"))
        assert len(await on.app.store.open_calls()) == 0
        told_again = await on.app.result(result.invocation_id)
        assert isinstance(told_again, Result)
        assert (told_again.status, told_again.error) == (result.status, result.error)
        return result


def test_at_105_an_ending_that_cannot_be_written_is_no_success(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """AT-105, AT-178: a mistake of ours in the thirteenth phase: one error result, and the ledger still has the call open."""

    async def main() -> None:
        async with running_app() as on:
            result = await on.call()
            assert result.error is not None
            assert result.error.error_code == "internal_error"
            assert "emit_terminal" in result.error.message
            assert [waiting.state for waiting in await on.app.store.open_calls()] == ["running"]

    def crash(call: Any, services: Any) -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(emit_terminal, "build_last_row", crash)
    asyncio.run(main())
    assert "a secret of ours" in caplog.text


@run_async
async def test_at_106_names_lead_through_the_surface_and_aliases_come_second() -> None:
    """AT-106, AT-5, AT-64: an alias reaches its tool, a name beats an alias, the catalog alone reaches nothing."""
    first, second = make_tool("search", aliases=("find", "look")), make_tool("look")
    async with running_app(first, second) as on:
        assert (await on.read_record(await on.call("find")))["tool_id"] == "shop.search"
        assert (await on.read_record(await on.call("look")))["tool_id"] == "shop.look"


@run_async
async def test_at_107_four_ways_of_not_being_there() -> None:
    """AT-107, AT-64: nonexistent, not surfaced, blocked, deferred and unloaded are told apart."""
    tools = (
        make_tool("here"),
        make_tool("off", lifecycle="disabled"),
        make_tool("later", lifecycle="deferred"),
        make_tool("elsewhere"),
    )
    async with running_app(*tools) as on:
        surface = on.surface.surface
        without = {name: ids for name, ids in surface.names.items() if "elsewhere" not in name}
        entries = {key: entry for key, entry in surface.entries.items() if key != "shop.elsewhere"}
        narrow = type(surface)(**{**_fields(surface), "names": without, "entries": entries})
        on.surface.session = on.app.sessions.derive(narrow, on.surface.session)
        pairs = []
        for name in ("nothing", "elsewhere", "off", "later"):
            error = (await on.call(name)).error
            assert error is not None
            pairs.append((error.error_class, error.error_code))
        assert pairs == [
            ("unknown_tool", "tool_not_found"),
            ("unknown_tool", "tool_not_surfaced"),
            ("capability_gap", "feature_disabled"),
            ("schema_not_loaded", "schema_not_loaded"),
        ]
        assert not on.has_run


def _fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


@run_async
async def test_at_109_nothing_sees_arguments_that_do_not_fit() -> None:
    """AT-109, AT-38: no check, hook, permission or tool is asked about them."""
    hook = FunctionHook(lambda told: None)
    async with running_app(make_tool(), hooks=(hook,), policy=DENY) as on:
        result = await on.call("search", {"city": ["Bern"]})
        assert result.error is not None
        assert result.error.error_class == "schema_validation_failed"
        assert not hook.seen
        assert not await on.read_decisions(result)
        assert not on.has_run


@pytest.mark.parametrize("arguments", [BERN, {"city": 3}, {}])
@run_async
async def test_at_110_nothing_runs_unless_its_schema_was_loaded(arguments: Any) -> None:
    """AT-110, AT-189: schema_not_loaded wins whatever the arguments, and says how to find the tool."""
    async with running_app(make_tool(lifecycle="deferred")) as on:
        error = (await on.call("search", arguments)).error
        assert error is not None
        assert error.error_class == "schema_not_loaded"
        assert error.retry.discovery_required
        assert "search_tools" in error.message
        assert "'search'" in error.message or "select:search" in error.message
        assert not on.has_run


@run_async
async def test_at_111_values_are_checked_before_hooks_and_permission() -> None:
    """AT-111, AT-38: an unsafe value goes no further."""
    hook = FunctionHook(lambda told: None)
    async with running_app(checked, default=UNSET, hooks=(hook,), policy=DENY) as on:
        result = await on.call()
        assert result.error is not None
        assert result.error.error_class == "invalid_arguments"
        assert "Bern cannot be searched" in result.error.message
        assert not hook.seen
        assert not await on.read_decisions(result)


@run_async
async def test_at_112_everything_hooks_say_is_collected_in_order() -> None:
    """AT-112: messages, context, updated input and permission of three hooks."""
    hooks = (
        FunctionHook(lambda told: HookOutput(messages=("looking",)), name="first"),
        FunctionHook(lambda told: HookOutput(updated_input={"city": "Basel"}), name="second"),
        FunctionHook(
            lambda told: HookOutput(additional_context=({"type": "text", "text": "note"},), permission="allow"),
            name="third",
        ),
    )
    async with running_app(hooks=hooks) as on:
        result = await on.call()
        runs = (await on.read_story(result)).hooks
        assert [run.hook_id for run in runs] == ["first", "second", "third"]
        said = [repr(run.outputs) for run in runs]
        assert "looking" in said[0]
        assert "updated_input" in said[1]
        assert "note" in said[2]
        assert "permission" in said[2]


@run_async
async def test_at_113_a_refusal_is_an_ordinary_result() -> None:
    """AT-113: denied and rejected calls have a result that a conversation can hold, with the native call id."""
    async with running_app(policy=DENY) as on:
        denied = await on.call(native_call_id="toolu_2")
        assert denied.to_record()["native_call_id"] == "toolu_2"
        assert denied.text
    async with running_app(policy="") as on:
        await on.park(native_call_id="toolu_3")
        rejected = await on.answer("too dear")
        assert (rejected.status, rejected.native_call_id) == ("rejected", "toolu_3")
        assert rejected.text


@run_async
async def test_at_114_the_executor_gets_six_things_in_one_object() -> None:
    """AT-114: progress, abort signal, timeout, credentials, sandbox, native ids."""
    seen: list[Context] = []

    class Looking:
        support = None

        def can_run(self, tool: Any) -> bool:
            return True

        def prepare(self, tool: Any) -> Any:
            return lambda arguments, context: seen.append(context)

        async def aclose(self) -> None: ...

    async with running_app(executors=(Looking(),)) as on:
        result = await on.call(native_call_id="toolu_4", timeout_seconds=5)
    [context] = seen
    assert context.invocation_id == result.invocation_id
    assert callable(context.progress)
    assert context.aborted is False
    assert context.deadline is not None
    assert context.credentials == {}
    assert context.sandbox is None
    assert context.native_call_id == "toolu_4"


def test_at_115_a_result_is_mapped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """AT-115: also when the call waited, and when its result is read again."""
    mapped: list[str] = []

    def counting(call: Any, services: Any) -> Any:
        mapped.append(call.invocation_id)
        return original(call, services)

    async def main() -> None:
        async with running_app(policy="") as on:
            await on.park()
            result = await on.answer()
            assert await on.app.result(result.invocation_id) == result
            await on.read_record(result)
            assert mapped == [result.invocation_id]

    original = replace_phase(monkeypatch, "map_result", counting)
    asyncio.run(main())


@run_async
async def test_at_117_failure_hooks_run_on_failure_instead() -> None:
    """AT-117"""
    hooks = [FunctionHook(lambda told: None, event) for event in ("post_tool_use", "post_tool_use_failure")]
    async with running_app(
        hooks=hooks, script={"shop.search": [ExecutionFailed("execution_failed", "no"), "done"]}
    ) as on:
        await on.call()
        assert [len(hook.seen) for hook in hooks] == [0, 1]
        await on.call()
        assert [len(hook.seen) for hook in hooks] == [1, 1]


@run_async
async def test_at_119_references_are_there_before_the_result_is_told() -> None:
    """AT-119: what the tool linked is on the emitted result."""
    output = Output("done", artifact_refs=({"artifact_id": "a1"},), resource_refs=({"uri": "file:///r"},))
    async with running_app(default=output) as on:
        result = await on.call()
        assert result.artifact_refs[0]["artifact_id"] == "a1"
        assert result.resource_refs[0]["uri"] == "file:///r"
        assert await on.app.result(result.invocation_id) == result

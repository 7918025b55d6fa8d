"""The result envelope and every way a call can fail: AT-205 to AT-222 and AT-238 to AT-246."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from ferrule.contracts.executor import EMPTY, ExecutionFailed, Output
from ferrule.contracts.hook import HookOutput
from ferrule.model.failure import ERROR_CLASSES, MEANINGS, ErrorClass, ResultStatus
from ferrule.model.result import Result
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.runtime.functions import ToolFailed, tool
from tests.runtime.surface.surfaces import FakeReadiness
from tests.spec.gated_runs import GatedRuns, list_calls_in_flight, wait_until
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
from tests.spec.test_dialect_calls import shop

DENY = TRUSTED + '[[rules]]\ndecision = "deny"\ntool = "search"\nwhen = { city = "Bern" }\n'
BLOCK = 'mode = "locked"\n'
CONTENT_CLASSES = (
    "text", "structured_content", "image", "audio", "video", "file", "resource_link", "embedded_resource", "log", "diff",
    "artifact_ref", "persisted_output_ref", "handoff_ref",
)  # fmt: skip


@run_async
async def test_at_213_refusals_have_results() -> None:
    """AT-213, AT-214: denied, rejected, schema failure, missing tool: an error, a class, the caller's id."""
    results: list[Result] = []
    async with running_app(policy=DENY) as on:
        results.append(await on.call(native_call_id="n1"))
        results.append(await on.call("search", {}, native_call_id="n1"))
        results.append(await on.call("nothing", native_call_id="n1"))
    async with running_app(policy="") as on:
        await on.park(native_call_id="n1")
        results.append(await on.answer(False))
    for result in results:
        record = result.to_record()
        assert_required("result", record)
        assert record["is_error"] is True
        assert record["error"]["error_class"] in ERROR_CLASSES
        assert record["native_call_id"] == "n1"
        assert record["content"][0]["text"]


@given(st.sampled_from([*ERROR_CLASSES, None]))
def test_at_215_an_error_is_an_error(kind: ErrorClass | None) -> None:
    """AT-215: `is_error` exactly when there is an `error`."""

    async def main() -> None:
        async with running_app(default="done" if kind is None else ExecutionFailed(kind, "no")) as on:
            record = (await on.call()).to_record()
            assert record["is_error"] is ("error" in record) is (kind is not None)
            assert record["status"] in get_args(ResultStatus)

    asyncio.run(main())


@pytest.mark.parametrize("kind", CONTENT_CLASSES)
@run_async
async def test_at_216_every_class_of_content_is_carried(kind: str) -> None:
    """AT-216, AT-222: through the call, and from the ledger again."""
    block = {"type": kind, "text": "t", "uri": "x:1", "data": {"nested": [1, None]}}
    async with running_app(default=Output({"a": 1}, content=(block,))) as on:
        result = await on.call()
        assert result.content == (block,)
        assert await on.app.result(result.invocation_id) == result


VALUES = [0, False, "", [], {}, "text", ["a", {"b": None}], {"ü": "ß"}, 1.5, -(2**63), {"deep": [[[1]]]}]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@run_async
async def test_at_220_structured_output_is_kept_as_json(value: Any) -> None:
    """AT-220: equal to what the tool gave, at once and later; a text form beside it."""
    async with running_app(default=value) as on:
        result = await on.call()
        stored = await on.app.result(result.invocation_id)
        assert isinstance(stored, Result)
        for each in (result, stored):
            assert each.value == value
            assert type(each.value) is type(value)
            assert each.content[0]["type"] == "text"


@pytest.mark.parametrize("value", [None, EMPTY])
@run_async
async def test_at_230_nothing_is_said_to_be_nothing(value: Any) -> None:
    """AT-230: an empty success is marked, and differs from a text that is empty."""
    async with running_app(default=Output(value)) as on:
        result = await on.call()
        assert result.status == "succeeded"
        assert result.content[0]["empty"] is True


@pytest.mark.parametrize(
    "value", [object(), {"a": {1, 2}.__iter__()}, {("a", "b"): 1}], ids=["object", "iterator", "key"]
)
@run_async
async def test_at_105_output_that_is_no_json_is_a_failure_of_mapping(value: Any) -> None:
    """AT-105, AT-87: told and recorded; the call has run."""
    async with running_app(default=Output(value)) as on:
        result = await on.call()
        assert result.error is not None
        assert result.error.error_code == "result_mapping_failed"
        assert (await on.read_record(result))["status"] == "failed"
        assert result.error.retry.retry_safe is False


# Errors


def own(kind: ErrorClass) -> dict[str, Any]:
    return {"default": ExecutionFailed(kind, "it went wrong")}


REACHED: dict[ErrorClass, dict[str, Any]] = {
    "unknown_tool": {"name": "nothing"},
    "schema_not_loaded": {"tools": (make_tool(lifecycle="deferred"),)},
    "schema_validation_failed": {"arguments": {}},
    "invalid_arguments": {**own("invalid_arguments")},
    "setup_required": {"tools": (make_tool(lifecycle="requires_setup"),), "readiness": FakeReadiness(is_set_up=False)},
    "credential_missing": {
        "tools": (make_tool(interface={"required_credentials": ["KEY"]}),), "readiness": FakeReadiness(missing=["KEY"]),
    },
    "capability_gap": {"default": UNSET},
    "sandbox_violation": own("sandbox_violation"),
    "hook_blocked": {"hooks": (FunctionHook(lambda told: HookOutput(stop="no")),)},
    "permission_denied": {"policy": DENY},
    "approval_rejected": {"policy": ""},
    "policy_blocked": {"policy": BLOCK},
    "canceled": own("canceled"),
    "sibling_canceled": own("sibling_canceled"),
    "streaming_fallback_discarded": own("streaming_fallback_discarded"),
    "timeout": own("timeout"),
    "rate_limited": own("rate_limited"),
    "dependency_unavailable": own("dependency_unavailable"),
    "execution_failed": own("execution_failed"),
    "partial_failure": own("partial_failure"),
    "result_too_large": own("result_too_large"),
    "result_redacted": own("result_redacted"),
}  # fmt: skip


@run_async
async def test_at_239_what_the_runtime_itself_causes() -> None:
    """AT-239: ten classes that no tool gives: by limits, siblings, discarded turns, sizes and redaction, each by its cause."""
    bench = GatedRuns("wait")
    safe: dict[str, Any] = {"is_read_only": True, "is_concurrency_safe": True}
    tools = (
        make_tool("look", **safe),
        make_tool("act"),
        make_tool("withheld", output_contract={"persistence_policy": {"strategy": "redact"}}),
        make_tool(
            "large", output_contract={"persistence_policy": {"strategy": "drop_with_reason"}, "max_inline_chars": 3}
        ),
    )
    found: dict[str, str] = {}
    async with running_app(*tools, default=bench.work, scheduler=SchedulerPolicy(max_queued=1)) as on:
        for name in ("withheld", "large"):
            found[name] = class_of(await on.call(name))
        found["late"] = class_of(await on.call("look", {"city": "wait"}, timeout_seconds=0.02))
        waiting = {"city": "wait"}
        first = asyncio.create_task(on.surface.call("act", waiting))
        await wait_until(lambda: bench.seen.count("+wait") == 2)
        second = asyncio.create_task(on.surface.call("act", waiting))
        await wait_until(lambda: len(list_calls_in_flight(on.app)) == 2)
        found["full"] = class_of(await on.call("act", waiting))
        await on.surface.cancel(list_calls_in_flight(on.app)[1])
        found["canceled"] = class_of(await second)
        on.surface.discard(list_calls_in_flight(on.app))
        found["discarded"] = class_of(await first)
        calls = [("look", {}), ("look", waiting)]
        batch = await on.surface.call_many(calls, sibling_failure_policy="cancel_siblings")
        found["sibling"] = class_of(batch[1])
    hook = FunctionHook(raising, "post_tool_use")
    async with running_app(hooks=(hook,)) as on:
        found["after"] = class_of(await on.call())
    assert found == {
        "withheld": "result_redacted", "large": "result_too_large", "late": "timeout", "full": "rate_limited",
        "canceled": "canceled", "discarded": "streaming_fallback_discarded", "sibling": "sibling_canceled",
        "after": "partial_failure",
    }  # fmt: skip


def raising(told: Any) -> Any:
    raise RuntimeError("broken")


def class_of(outcome: Any) -> str:
    assert isinstance(outcome, Result)
    assert outcome.error is not None
    return outcome.error.error_class


@pytest.mark.parametrize("kind", ERROR_CLASSES)
@run_async
async def test_at_239_every_class_is_reached(kind: ErrorClass) -> None:
    """AT-239, AT-238, AT-245, AT-246: by what causes it, else by an executor; eight fields, a message for people."""
    parts = dict(REACHED[kind])
    name, arguments = parts.pop("name", "search"), parts.pop("arguments", BERN)
    async with running_app(*parts.pop("tools", ()), **parts) as on:
        outcome = await on.surface.call(name, arguments)
        result = outcome if isinstance(outcome, Result) else await on.answer(False)
        assert result.error is not None
        error = result.to_record()["error"]
        assert error["error_class"] == kind
        assert {
            "error_code", "error_class", "message", "recoverability", "retry_after", "native_error_ref", "policy_refs",
            "evidence_refs",
        } <= set(error)  # fmt: skip
        assert error["message"]
        assert "Traceback" not in error["message"]
        has_run = (await on.read_record(result)).get("started_at") is not None
        wanted = MEANINGS[kind].late if has_run else MEANINGS[kind].early
        assert (await on.read_record(result))["status"] == wanted


async def outcome_of(**parts: Any) -> tuple[str, str]:
    name, arguments = parts.pop("name", "search"), parts.pop("arguments", BERN)
    async with running_app(*parts.pop("tools", ()), **parts) as on:
        outcome = await on.surface.call(name, arguments)
        result = outcome if isinstance(outcome, Result) else await on.answer(False)
        assert result.error is not None
        return result.error.error_class, result.error.error_code


@tool(name="search")
def checked(city: str) -> str:
    """Searches."""
    return city


@checked.check
def never(city: str) -> str:
    return "no city is good enough"


@run_async
async def test_at_240_fifteen_situations_stay_apart() -> None:
    """AT-240: each has a pair of class and code of its own."""
    tools = (make_tool(), make_tool("off", lifecycle="disabled"))
    situations: dict[str, dict[str, Any]] = {
        "nonexistent": {"name": "nothing"},
        "not surfaced": {"name": "secret", "definitions": shop(), "caller": {"agent": "desk"}},
        "deferred and unloaded": REACHED["schema_not_loaded"],
        "schema failure": REACHED["schema_validation_failed"],
        "value failure": {"tools": (checked,), "default": UNSET},
        "stopped by a hook": REACHED["hook_blocked"],
        "failure of a hook": {"hooks": (FunctionHook(raising),)},
        "policy block": REACHED["policy_blocked"],
        "rule denial": REACHED["permission_denied"],
        "human rejection": REACHED["approval_rejected"],
        "credentials": REACHED["credential_missing"],
        "setup": REACHED["setup_required"],
        "sandbox": REACHED["sandbox_violation"],
        "failure inside the tool": REACHED["execution_failed"],
        "dependency": REACHED["dependency_unavailable"],
        "sibling": REACHED["sibling_canceled"],
        "size": REACHED["result_too_large"],
        "redaction": REACHED["result_redacted"],
        "timeout": REACHED["timeout"],
        "cancel": REACHED["canceled"],
        "held back": {"tools": tools, "name": "off"},
    }
    found = {name: await outcome_of(**dict(parts)) for name, parts in situations.items()}
    assert len(set(found.values())) == len(situations) >= 15, found


@run_async
async def test_at_241_retry_guidance_reaches_the_caller() -> None:
    """AT-241, AT-244: how long to wait and the native error are on the result."""
    failing = ExecutionFailed("rate_limited", "slow down", retry_after=7.5, native_error_ref="http:429")
    async with running_app(make_tool(is_read_only=True), default=failing, policy=TRUSTED) as on:
        error = (await on.call()).to_record()["error"]
        assert error["retry_after"] == error["retry"]["retry_after"] == 7.5
        assert error["recoverability"] == "retry_later"
        assert error["retry"]["retry_safe"] is True
        assert error["native_error_ref"] == "http:429"


@pytest.mark.parametrize(
    ("says", "is_safe"), [({}, False), ({"is_read_only": True}, True), ({"idempotent": True}, True)]
)
@pytest.mark.parametrize("kind", ["timeout", "canceled", "execution_failed"])
@run_async
async def test_at_242_a_write_that_may_have_happened_is_not_safe(kind: ErrorClass, says: Any, is_safe: bool) -> None:
    """AT-242: unless the tool only reads, or says that it is idempotent."""
    async with running_app(make_tool(**says), default=ExecutionFailed(kind, "no")) as on:
        error = (await on.call()).error
        assert error is not None
        assert error.retry.retry_safe is is_safe


DOWN = ExecutionFailed("dependency_unavailable", "down", native_error_ref="http:503")
RETRIED: dict[str, Any] = {"execution_profile": {"supports_retries": True}}


def hurried(on: RunningApp) -> None:
    """No waiting between attempts."""
    on.app.services = replace(on.app.services, chance=lambda: 0.0)


@pytest.mark.parametrize(
    ("says", "options", "attempts"),
    [
        ({}, {}, 1),
        ({"is_read_only": True}, {}, 1),
        ({**RETRIED, "is_read_only": True}, {}, 3),
        ({**RETRIED, "idempotent": True}, {}, 3),
        (RETRIED, {}, 1),
        (RETRIED, {"idempotency_key": "k1"}, 3),
        ({"execution_profile": {"supports_retries": False}, "is_read_only": True}, {}, 1),
    ],
)
@run_async
async def test_at_243_what_may_be_tried_again_is(says: Any, options: Any, attempts: int) -> None:
    """AT-243, AML-107: only where the profile supports it and nothing can happen twice; each attempt is on record, and told
    at the full level."""
    async with running_app(make_tool(**says), default=DOWN) as on:
        hurried(on)
        result = await on.call(**options)
        assert result.error is not None
        assert result.error.error_class == "dependency_unavailable"
        assert len(on.executor.ran) == attempts
        assert len({ran.invocation_id for ran in on.executor.ran}) == 1
        made_before = (await on.read_story(result)).attempts
        assert [each.number for each in made_before] == list(range(1, attempts))
        assert all(each.error_class == "dependency_unavailable" for each in made_before)
        for level, is_told in (("standard", False), ("full", True)):
            told = repr([event.data for event in await on.read_events(result, level)])
            assert ("http:503" in told and "attempts" in told) is (is_told and attempts > 1)


@run_async
async def test_at_243_an_attempt_that_succeeds_is_the_result() -> None:
    """AT-243: with the arguments of the first, each time a copy of its own."""
    seen: list[dict[str, Any]] = []

    def flaky(arguments: dict[str, Any]) -> Any:
        seen.append(dict(arguments))
        arguments.clear()
        return "done" if len(seen) == 2 else DOWN

    async with running_app(make_tool(**RETRIED, is_read_only=True), default=flaky) as on:
        hurried(on)
        result = await on.call()
        assert (result.status, result.text) == ("succeeded", "done")
        assert seen == [BERN, BERN]


@tool(name="leaky", read_only=True)
def leaky(how: str) -> str:
    """Fails."""
    if how == "told":
        raise ToolFailed("the shop is closed", error_class="dependency_unavailable", code="closed")
    raise ValueError("password=hunter2")


@run_async
async def test_at_245_messages_hold_no_secret_and_no_stack_trace() -> None:
    """AT-245: of an exception the caller learns the type alone; what the author says, it is told."""
    async with running_app(leaky, default=UNSET) as on:
        surprising, told = await on.call("leaky", {"how": "bug"}), await on.call("leaky", {"how": "told"})
        assert "hunter2" not in repr(surprising)
        assert "Traceback" not in repr(surprising)
        assert told.error is not None
        assert (told.error.error_class, told.error.error_code) == ("dependency_unavailable", "closed")
        assert told.error.message == "the shop is closed"


# Timeouts and cancellation


@pytest.mark.parametrize(
    ("interface", "profile", "caller"),
    [(20, 60_000, 60.0), (60_000, 20, 60.0), (60_000, 60_000, 0.02)],
)
@run_async
async def test_at_210_the_smallest_timeout_applies(interface: int, profile: int, caller: float) -> None:
    """AT-210: of interface, execution profile and caller; the executor is stopped; class timeout."""
    stopped = asyncio.Event()

    async def slow(arguments: Any) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    said: dict[str, Any] = {"interface": {"timeout_ms": interface}, "execution_profile": {"timeout_ms": profile}}
    async with running_app(make_tool(**said), default=slow) as on:
        result = await on.call(timeout_seconds=caller)
        assert result.error is not None
        assert (result.status, result.error.error_class) == ("timed_out", "timeout")
        assert (await on.read_record(result))["status"] == "timed_out"
        assert stopped.is_set()


@run_async
async def test_at_178_a_canceled_call_ends_once() -> None:
    """AT-178, AT-208: whoever waited went away: the call is closed with an abort reason; one end, no open call."""
    begun = asyncio.Event()

    async def slow(arguments: Any) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with running_app(default=slow) as on:
        calling = asyncio.create_task(on.surface.call("search", BERN))
        await begun.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        [row] = await on.app.store.rows_before(None, 1, kinds=("call", "ended"))
        record = await on.read_record(row.call)
        result = await on.app.result(row.call)
        assert isinstance(result, Result)
        assert (record["status"], result.status, result.abort_reason) == ("canceled", "canceled", "user_interruption")
        assert not await on.app.store.open_calls()


@pytest.mark.parametrize("delay", range(12))
@run_async
async def test_at_178_a_race_of_cancel_and_finish_has_one_end(delay: int) -> None:
    """AT-178: wherever the cancellation strikes, there is one terminal state, one result, and it stays."""

    async def quick(arguments: Any) -> str:
        for _ in range(4):
            await asyncio.sleep(0)
        return "done"

    async with running_app(default=quick) as on:
        calling = asyncio.create_task(on.surface.call("search", BERN))
        for _ in range(delay):
            await asyncio.sleep(0)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        rows = await on.app.store.rows_before(None, 10, kinds=("call", "ended"))
        assert len(rows) <= 1
        assert not await on.app.store.open_calls()
        for row in rows:
            assert msgspec.msgpack.decode(msgspec.msgpack.encode(row.outcome)) in ("canceled", "succeeded")

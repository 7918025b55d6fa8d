"""What a hook may answer, and what becomes of a call whose hook crashes, is late or talks nonsense."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.contracts.hook import HOOK_EVENTS, HookEvent, HookFailed, HookInput, HookOutput
from ferrule.runtime.pipeline.hooks.answers import check_answer
from ferrule.testing import memory_app
from tests.runtime.pipeline.hooks.hooked import (
    NOTED,
    RAN,
    BareHook,
    call_with_hooks,
    hook,
    look,
    never_answer,
    run_story,
)


def raising(error: BaseException) -> Any:
    def run(told: HookInput) -> HookOutput:
        raise error

    return run


async def stubborn(told: HookInput) -> HookOutput:
    """Does not let itself be cancelled."""
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        try:
            await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            continue
    return HookOutput()


NONSENSE = [
    {"permission": "allow"},
    "allow",
    7,
    True,
    HookInput,
    HookOutput(permission="maybe"),  # type: ignore[arg-type]
    HookOutput(permission=["deny"]),  # type: ignore[arg-type]
    HookOutput(updated_input=["a"]),  # type: ignore[arg-type]
    HookOutput(updated_input="a"),  # type: ignore[arg-type]
    HookOutput(updated_input={"a": object()}),
    HookOutput(updated_input={"a": 1j}),
    HookOutput(stop=7),  # type: ignore[arg-type]
    HookOutput(stop_code=7),  # type: ignore[arg-type]
    HookOutput(messages="hello"),  # type: ignore[arg-type]
    HookOutput(messages=(1,)),  # type: ignore[arg-type]
    HookOutput(messages=("\ud800",)),
    HookOutput(additional_context=({"a": object()},)),
    HookOutput(additional_context=({"a": 2**70},)),
    HookOutput(additional_context=("text",)),  # type: ignore[arg-type]
    HookOutput(additional_context={"type": "text"}),  # type: ignore[arg-type]
    HookOutput(progress=(7,)),  # type: ignore[arg-type]
    HookOutput(outcome="bad"),  # type: ignore[arg-type]
    HookOutput(permission_reason=7),  # type: ignore[arg-type]
    HookOutput(updated_output=1),
]


@pytest.mark.parametrize("said", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_blocks_a_call_before_it_runs(said: Any) -> None:
    """AT-158: hook_blocked, hook_failed, and the message names the hook."""
    result = call_with_hooks(BareHook(lambda told: said))
    assert result.error is not None
    assert (result.error.error_class, result.error.error_code) == ("hook_blocked", "hook_failed")
    assert (result.status, NOTED[0].status) == ("failed", "blocked")
    assert "'bare'" in result.error.message
    assert not RAN


@pytest.mark.parametrize("said", NONSENSE[:-1], ids=range(len(NONSENSE) - 1))
def test_nonsense_after_a_call_keeps_the_output(said: Any) -> None:
    """AT-158: partial_failure, post_hook_failed."""
    result = call_with_hooks(BareHook(lambda told: said, "post_tool_use"))
    assert result.error is not None
    assert (result.error.error_class, result.error.error_code) == ("partial_failure", "post_hook_failed")
    assert (result.status, NOTED[0].status) == ("partial_succeeded", "succeeded")
    assert result.text == "seen Bern"


@pytest.mark.parametrize(
    "run",
    [
        raising(RuntimeError("s3cret")),
        raising(SystemExit("s3cret")),
        raising(asyncio.CancelledError("s3cret")),
        raising(RecursionError("s3cret")),
        raising(KeyError("s3cret")),
    ],
)
@pytest.mark.parametrize("is_awaited", [False, True])
def test_a_crash_is_told_by_its_kind_and_never_by_its_words(run: Any, is_awaited: bool) -> None:
    """AT-158"""

    async def later(told: HookInput) -> HookOutput:
        await asyncio.sleep(0)
        given: HookOutput = run(told)
        return given

    result = call_with_hooks(hook(later if is_awaited else run))
    assert result.error is not None and result.error.error_code == "hook_failed"
    assert "'guard'" in result.error.message and "s3cret" not in repr(result) + repr(NOTED)
    assert NOTED[0].hooks[0].outputs[0]["failed"] in result.error.message
    assert not RAN


@pytest.mark.parametrize("run", [never_answer, stubborn])
def test_a_late_hook_blocks_and_holds_up_nothing(run: Any) -> None:
    """AT-158: also one that does not let itself be cancelled."""
    began = time.monotonic()
    result = call_with_hooks(hook(run, timeout_seconds=0.05))
    assert result.error is not None and result.error.error_code == "hook_failed"
    assert "within 0.05 s" in result.error.message
    assert time.monotonic() - began < 5
    assert not RAN


def test_a_late_hook_after_the_tool_keeps_the_output() -> None:
    """AT-158"""
    result = call_with_hooks(hook(never_answer, "post_tool_use", timeout_seconds=0.05))
    assert (result.status, result.text) == ("partial_succeeded", "seen Bern")


def test_a_hook_that_cannot_say_whether_it_matches_has_failed() -> None:
    """AT-158, AT-147"""
    broken = hook(HookOutput())
    broken.matches = raising(ValueError("s3cret"))  # type: ignore[method-assign]
    broken.matches = lambda tool_id, tool_name: 1 / 0 > 0  # type: ignore[method-assign]
    result = call_with_hooks(broken)
    assert result.error is not None and "ZeroDivisionError" in result.error.message
    assert not RAN


def test_a_caller_who_goes_away_takes_the_hook_along() -> None:
    """The hook is cancelled, the call ends as canceled, and the cancellation arrives."""

    async def story() -> None:
        state: list[str] = []

        async def waiting(told: HookInput) -> HookOutput:
            state.append("asked")
            try:
                await asyncio.sleep(600)
            finally:
                state.append("ended")
            return HookOutput()

        async with memory_app(tools=[look], hooks=[hook(waiting, timeout_seconds=600)]) as app:
            calling = asyncio.create_task(app.surface().call("look"))
            while not state:
                await asyncio.sleep(0.001)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            assert state == ["asked", "ended"]
        assert not RAN

    run_story(story)


def test_what_a_hook_keeps_hold_of_is_not_what_is_used() -> None:
    """AT-149: an answer that is changed after it was given changes nothing."""
    block = {"type": "text", "text": "by the way"}
    said = HookOutput(additional_context=(block,))
    own = check_answer(said, "pre_tool_use")
    block["text"] = "something else"
    assert own.additional_context == ({"type": "text", "text": "by the way"},)


_any = st.recursive(
    st.sampled_from([None, True, object(), 0, 10**30, float("nan")]) | st.text(max_size=4) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)


@settings(
    suppress_health_check=[HealthCheck.too_slow]
)  # eight fields of anything are much to make up on a busy machine
@given(
    event=st.sampled_from(HOOK_EVENTS),
    fields=st.fixed_dictionaries({}, optional=dict.fromkeys(HookOutput.__struct_fields__, _any)),
)
def test_any_answer_is_taken_whole_or_refused(event: HookEvent, fields: dict[str, Any]) -> None:
    """AT-158: what is taken can be kept; everything else is HookFailed and nothing else."""
    try:
        taken = check_answer(HookOutput(**fields), event)
    except HookFailed:
        return
    kept = [getattr(taken, name) for name in taken.__struct_fields__ if name != "updated_output"]
    msgspec.msgpack.encode(kept)
    assert taken.permission in (None, "allow", "ask", "deny")
    assert taken.updated_input is None or event == "pre_tool_use"

"""A guardrail at each point, of each type, with each way to act, asked over HTTP and as a program: AML-106."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ferrule.contracts.hook import HookOutput
from ferrule.errors import SettingsError
from ferrule.runtime.hooks.guardrail_records import ON_FAIL
from tests.runtime.hooks.guarding import (
    build_input,
    build_output_input,
    guardrail_over_http,
    hooks_of,
    output,
    program,
    settings,
)
from tests.spec.running_app import run_async

BAD = b'{"score": 8.5, "reason": "smells of injection"}'
GOOD = b'{"score": 6.9}'
ERRORS: tuple[bytes, ...] = (
    b"", b"no", b"null", b"7", b"[]", b"{}", b'{"score": "9"}', b'{"score": true}', b'{"score": 11}', b'{"score": -1}',
    b'{"score": null}', b'{"score": 1e999}', b'{"score": NaN}', b'{"score": 1, "verdict": "ok"}', b'{"score": 1, "reason": 3}',
    b'{"score": 1} {"score": 9}', b"\xff\xfe", b'{"input": {}, "changed": false}', b"[" * 100_000,
)  # fmt: skip


def event_of(point: str) -> str:
    return "pre_tool_use" if point == "tool_input" else "post_tool_use"


@run_async
async def test_a_provider_is_told_what_it_judges_and_nothing_else() -> None:
    """AML-106: the model's arguments, or the result."""
    with guardrail_over_http(GOOD) as (hook, server):
        await output(hook, build_input({"city": "Bern"}, agent=None, run_id="run_7"))
    assert msgspec.json.decode(server.asked[0].body) == {
        "guardrail_id": "watch", "point": "tool_input", "tool_id": "shop.search", "agent": None, "run_id": "run_7",
        "input": {"city": "Bern"},
    }  # fmt: skip
    with guardrail_over_http(GOOD, at=["tool_output"]) as (hook, server):
        assert hook.event == "post_tool_use"
        await output(hook, build_output_input({"temperature": 21}))
        await output(hook, build_output_input("plain"))
    seen = [msgspec.json.decode(question.body) for question in server.asked]
    assert [question["output"] for question in seen] == [{"temperature": 21}, "plain"]
    assert all("input" not in question for question in seen)


@pytest.mark.parametrize("point", ["tool_input", "tool_output"])
@pytest.mark.parametrize("on_fail", [None, *ON_FAIL["score"]])
@run_async
async def test_a_score_from_the_threshold_on_fires(point: str, on_fail: str | None) -> None:
    """AML-106: block, warn, log, escalate."""
    call = build_input() if point == "tool_input" else build_output_input("something")
    with guardrail_over_http(GOOD, at=[point], on_fail=on_fail) as (hook, _):
        assert hook.event == event_of(point)
        quiet = await output(hook, call)
        assert msgspec.structs.replace(quiet, outcome=None) == HookOutput()
        assert quiet.outcome is not None and quiet.outcome["score"] == 6.9 and quiet.outcome["action"] == "pass"
    with guardrail_over_http(BAD, at=[point], on_fail=on_fail) as (hook, _):
        said = await output(hook, call)
    assert said.outcome == {
        "type": "guardrail", "guardrail": "watch", "point": point, "severity_threshold": 7.0, "score": 8.5,
        "action": on_fail or "block",
    }  # fmt: skip
    assert "watch" in said.messages[0] and "smells of injection" in said.messages[0]
    assert (said.stop is not None) == (on_fail in (None, "block") or (on_fail, point) == ("escalate", "tool_output"))
    assert said.permission == ("ask" if (on_fail, point) == ("escalate", "tool_input") else None)
    assert bool(said.additional_context) == (on_fail == "warn")
    codes = {None: "guardrail_blocked", "block": "guardrail_blocked", "escalate": "guardrail_escalated"}
    assert said.stop_code == (codes[on_fail] if said.stop is not None else None)
    assert said.updated_input is None and said.updated_output is msgspec.UNSET


@pytest.mark.parametrize("score, threshold, fires", [(7, 7, True), (6.999, 7, False), (0, 0, True), (10, 10, True)])
@run_async
async def test_the_threshold_itself_fires(score: float, threshold: float, fires: bool) -> None:
    """AML-106"""
    with guardrail_over_http(msgspec.json.encode({"score": score}), severity_threshold=threshold) as (hook, _):
        assert ((await output(hook)).stop is not None) == fires


@pytest.mark.parametrize("point", ["tool_input", "tool_output"])
@pytest.mark.parametrize("on_fail", [None, *ON_FAIL["transform"]])
@run_async
async def test_a_transform_is_applied_or_rejected(point: str, on_fail: str | None) -> None:
    """AML-106: apply, reject."""
    key = "input" if point == "tool_input" else "output"
    old = {"city": "Bern"}
    call = build_input(old) if point == "tool_input" else build_output_input(old)
    for same in ({"changed": False}, {key: old}, {key: old, "changed": False}):
        with guardrail_over_http(msgspec.json.encode(same), at=[point], type="transform", on_fail=on_fail) as (hook, _):
            said = await output(hook, call)
            assert (said.stop, said.updated_input, said.updated_output) == (None, None, msgspec.UNSET)
    new = msgspec.json.encode({key: {"city": "B."}, "changed": True, "reason": "names a place"})
    with guardrail_over_http(new, at=[point], type="transform", on_fail=on_fail) as (hook, _):
        said = await output(hook, call)
    if on_fail == "apply":
        assert said.stop is None
        assert (said.updated_input if point == "tool_input" else said.updated_output) == {"city": "B."}
    else:
        assert said.stop is not None and "names a place" in said.stop and "B." not in said.stop
        assert (said.updated_input, said.updated_output) == (None, msgspec.UNSET)


@run_async
async def test_a_text_stands_for_an_output() -> None:
    """AML-106"""
    with guardrail_over_http(b'{"text": "[gone]"}', at=["tool_output"], type="transform", on_fail="apply") as (hook, _):
        assert (await output(hook, build_output_input("a secret"))).updated_output == "[gone]"
        assert (await output(hook, build_output_input("[gone]"))).updated_output is msgspec.UNSET


@pytest.mark.parametrize("kind", ["annotate", "enrich"])
@pytest.mark.parametrize("point", ["tool_input", "tool_output"])
@run_async
async def test_what_is_added_stands_beside_the_output(kind: str, point: str) -> None:
    """AML-106: annotate and enrich change nothing."""
    call = build_input() if point == "tool_input" else build_output_input("it")
    for answer, text in (
        ({"annotations": "checked"}, "checked"),
        ({"context": {"source": "wiki"}}, '{"source":"wiki"}'),
    ):
        with guardrail_over_http(msgspec.json.encode(answer), at=[point], type=kind) as (hook, _):
            said = await output(hook, call)
        assert said.additional_context == ({"type": "text", "text": text},)
        assert (said.stop, said.updated_input, said.updated_output) == (None, None, msgspec.UNSET)
    with guardrail_over_http(b'{"annotations": []}', at=[point], type=kind) as (hook, _):
        assert not (await output(hook, call)).additional_context


@pytest.mark.parametrize("severity, is_closed", [(10, True), (7, True), (6.5, False), (0, False)])
@pytest.mark.parametrize("kind, on_fail", [(kind, word) for kind, words in ON_FAIL.items() for word in words])
@pytest.mark.parametrize("point", ["tool_input", "tool_output"])
@run_async
async def test_a_provider_error_counts_as_its_severity(
    point: str, kind: str, on_fail: str, severity: float, is_closed: bool
) -> None:
    """AML-106: 10 fails closed, 0 fails open."""
    call = build_input() if point == "tool_input" else build_output_input("it")
    with guardrail_over_http(b"{}", 503, at=[point], type=kind, on_fail=on_fail, error_severity=severity) as (hook, _):
        said = await output(hook, call)
    assert said.outcome is not None and said.outcome["score"] == severity and "503" in said.outcome["error"]
    lenient = {"warn", "log", "skip"} | ({"escalate"} if point == "tool_input" else set())
    assert (said.stop is not None) == (is_closed and on_fail not in lenient)
    assert (said.permission == "ask") == (is_closed and (on_fail, point) == ("escalate", "tool_input"))
    assert bool(said.additional_context) == (is_closed and on_fail == "warn")
    assert (said.updated_input, said.updated_output) == (None, msgspec.UNSET)


@pytest.mark.parametrize("answer", ERRORS, ids=range(len(ERRORS)))
@run_async
async def test_anything_but_a_score_is_a_provider_error(answer: bytes) -> None:
    """AML-106"""
    with guardrail_over_http(answer) as (hook, _):
        said = await output(hook)
    assert said.stop is not None and "could not judge" in said.stop


@pytest.mark.parametrize("kind", list(ON_FAIL))
@pytest.mark.parametrize("answer", (
    *ERRORS[:6],
    b'{"output": {}, "changed": true}', b'{"text": "x"}', b'{"input": [], "changed": true}', b'{"changed": true}',
    b'{"input": {"a": 1}, "changed": false}', b'{"input": {}, "text": ""}', b'{"annotations": 1, "context": 2}',
    b'{"annotations": "' + b"x" * 70_000 + b'"}', b'{"input": {}, "changed": 1}',
))  # fmt: skip
@run_async
async def test_an_answer_of_another_type_is_a_provider_error(answer: bytes, kind: str) -> None:
    """AML-106"""
    with guardrail_over_http(answer, type=kind) as (hook, _):
        said = await output(hook)
    assert said.stop is not None and said.outcome is not None and "error" in said.outcome


def test_programs_judge_at_each_point(tmp_path: Path) -> None:
    """AML-106: real processes; one that fails, is late or writes nonsense is a provider error."""
    text = 'say({"score": 9 if "drop" in json.dumps(told) else 1, "reason": told["point"]})'

    async def run() -> None:
        command = program(tmp_path, text)
        hooks = hooks_of(settings(at=["tool_input", "tool_output"], kind="command", command=command))
        before, after = hooks
        assert (before.event, after.event) == ("pre_tool_use", "post_tool_use")
        assert (await output(before, build_input({"q": "drop table"}))).stop is not None
        assert (await output(before, build_input({"q": "select"}))).stop is None
        assert "tool_output" in ((await output(after, build_output_input("drop table"))).stop or "")
        assert (await output(after, build_output_input("fine"))).stop is None

    asyncio.run(run())


@pytest.mark.parametrize("text", ["sys.exit(3)", "time.sleep(60)", "print('ok')", "say({'score': 99})"])
def test_a_program_that_fails_blocks(tmp_path: Path, text: str) -> None:
    """AML-106: fail closed is the default, and nothing hangs."""

    async def run() -> None:
        command = program(tmp_path, text)
        (hook,) = hooks_of(settings(kind="command", command=command, timeout_seconds=0.2 if "sleep" in text else 10))
        started = time.monotonic()
        said = await output(hook)
        assert said.stop is not None and said.stop_code == "guardrail_blocked"
        assert time.monotonic() - started < 8

    asyncio.run(run())


def test_a_function_judges(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text(
        "def plain(told):\n    return {'score': len(told['input']['city'])}\n"
        "async def waiting(told):\n    return plain(told)\n"
        "def broken(told):\n    raise ValueError('a secret')\n"
    )

    async def run() -> None:
        for name in ("plain", "waiting"):
            (hook,) = hooks_of(settings(kind="function", function=f"checks.py:{name}"), root=tmp_path)
            assert (await output(hook, build_input({"city": "Bern"}))).stop is None
            assert (await output(hook, build_input({"city": "Bern and Basel"}))).stop is not None
            await hook.aclose()  # type: ignore[attr-defined]  # of guardrails
        (hook,) = hooks_of(settings(kind="function", function="checks.py:broken"), root=tmp_path)
        said = await output(hook)
        assert said.stop is not None and "ValueError" in said.stop and "a secret" not in said.stop

    asyncio.run(run())


def test_a_secret_that_is_not_set_fails_as_set_up(tmp_path: Path) -> None:
    """Whoever opens the workspace without it learns what to set, at the first call."""

    async def run() -> None:
        said = settings(kind="http", url="https://guard.example/", secret_env="NOT_SET")
        (hook,) = hooks_of(said)
        blocked = await output(hook)
        assert blocked.stop is not None and "NOT_SET" in blocked.stop
        (hook,) = hooks_of(msgspec.structs.replace(said, error_severity=0.0))
        assert (await output(hook)).stop is None

    asyncio.run(run())


@pytest.mark.parametrize("said, what", [
    ({"kind": "command"}, "command"),
    ({"kind": "http", "command": ["x"]}, "command"),
    ({"kind": "command", "command": ["x"], "url": "https://a.example/"}, "leave out url"),
    ({"kind": "command", "command": ["x"], "on_fail": "apply"}, "block or escalate or warn or log"),
    ({"kind": "command", "command": ["x"], "type": "transform", "on_fail": "block"}, "reject or apply"),
    ({"kind": "command", "command": ["x"], "at": []}, "has no point"),
    ({"kind": "command", "command": ["x"], "tools": []}, "no tool"),
    ({"kind": "command", "command": ["x"], "id": " "}, "no name"),
    ({"kind": "function", "function": "nowhere"}, "module:name"),
    ({"kind": "function", "function": "no_such_module:f"}, "no_such_module"),
    ({"kind": "function", "function": "msgspec:nothing"}, "no function"),
    ({"kind": "http", "url": "http://elsewhere.example/", "secret_env": "GUARD_SECRET"}, "https"),
])  # fmt: skip
def test_settings_that_protect_nobody_are_refused(said: dict[str, Any], what: str) -> None:
    with pytest.raises(SettingsError, match=what):
        hooks_of(settings(**said))


def test_two_guardrails_of_one_name_at_one_point_are_refused() -> None:
    one = settings(kind="command", command=["x"])
    with pytest.raises(SettingsError, match="two guardrails"):
        hooks_of(one, one)
    assert len(hooks_of(one, msgspec.structs.replace(one, at=("tool_output",)))) == 2


def test_tools_are_matched_by_id_or_name() -> None:
    """AT-147"""
    (hook,) = hooks_of(settings(kind="command", command=["x"], tools=["shop.*", "pay"]))
    assert hook.matches("shop.search", "search") and hook.matches("bank.pay", "pay")
    assert not hook.matches("bank.search", "search") and not hook.matches("xshop.a", "a")

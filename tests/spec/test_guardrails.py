"""Guardrails of a workspace on disk, with a fake provider at each point: AML-104, AML-106, AML-107."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ferrule
from ferrule.app.app import App
from ferrule.ledger.history.expand import expand_row
from ferrule.model.result import Pending, Result
from tests.spec.running_app import RecordingExecutor, run_async
from tests.spec.test_dialect_calls import CITY, shop

PROVIDER = """
import json, pathlib
def judge(told):
    here = pathlib.Path(__file__).parent
    with open(here / "asked.jsonl", "a") as asked:
        asked.write(json.dumps(told) + "\\n")
    return json.loads((here / "answer.json").read_text())
"""
SETTINGS = """
[[guardrails]]
id = "watch"
at = ["{point}"]
kind = "function"
function = "judge.py:judge"
{more}
"""
BLOCKS_RUN = "guardrails: {tool_input: [{ref: watch}], tool_calls: {block_tools_on_input_fail: true}}"


class Desk:
    """An agent's surface, what its tools were given, and what the provider was asked."""

    def __init__(self, root: Path, app: App, executor: RecordingExecutor) -> None:
        self.root, self.app, self.executor = root, app, executor
        self.surface = app.surface(agent="desk", principal="ada", run_id="run-1")

    def answer(self, said: Any) -> None:
        """What the provider says from now on."""
        (self.root / "answer.json").write_text(msgspec.json.encode(said).decode(), encoding="utf-8")

    @property
    def asked(self) -> list[dict[str, Any]]:
        """What it was asked."""
        lines = (self.root / "asked.jsonl").read_text(encoding="utf-8").splitlines()
        return [msgspec.json.decode(line) for line in lines]

    async def call(self, name: str = "look", **options: Any) -> Result:
        """A call that ends at once."""
        outcome = await (options.get("surface") or self.surface).call(name, CITY)
        assert isinstance(outcome, Result), outcome
        return outcome

    async def events(self, of: Result, level: Any) -> str:
        """All that is told about a call, as text."""
        await self.app.store.flush()
        rows = await self.app.store.rows_of(of.invocation_id)
        told = [event.to_record() for row in rows for event in expand_row(row, source="test", level=level)]
        return msgspec.json.encode(told).decode()


@asynccontextmanager
async def desk(
    root: Path, answer: Any, *, point: str = "tool_input", agent: str = "", gives: Any = None, **more: Any
) -> AsyncIterator[Desk]:
    """A workspace with one guardrail."""
    said = "\n".join(f"{name} = {msgspec.json.encode(value).decode()}" for name, value in more.items())
    files = {
        **shop(more=agent or f"guardrails: {{{point}: [{{ref: watch}}]}}"),
        "ferrule.toml": 'namespace = "shop"\n' + SETTINGS.format(point=point, more=said),
        "policy.toml": 'mode = "trusted"\n',
        "judge.py": PROVIDER,
        "asked.jsonl": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    executor = RecordingExecutor(default={"found": "Aare"} if gives is None else gives)
    async with ferrule.open(root, executors=[executor], tends=False) as app:
        on = Desk(root, app, executor)
        on.answer(answer)
        yield on


@run_async
async def _aml_104(root: Path) -> None:
    async with desk(root, {"score": 9}, agent=BLOCKS_RUN) as on:
        fired = await on.call()
        assert fired.error is not None
        assert (fired.error.error_class, fired.error.error_code) == ("hook_blocked", "guardrail_blocked")
        on.answer({"score": 0})
        for name in ("look", "pay"):
            again = await on.call(name)
            assert again.error is not None
            assert again.error.error_code == "guardrail_fired"
        other = on.app.surface(agent="desk", principal="ada", run_id="run-2")
        assert not (await on.call(surface=other)).is_error
        assert len(on.executor.ran) == 1


def test_aml_104_a_run_whose_input_guardrail_fired_calls_nothing_more(tmp_path: Path) -> None:
    """AML-104: every tool of that run is blocked; another run is not."""
    _aml_104(tmp_path)


def test_aml_104_the_agents_own_runtime_may_report_it(tmp_path: Path) -> None:
    """AML-104: the input of the agent is guarded where the agent runs; what fired there blocks its tools here."""

    @run_async
    async def story() -> None:
        async with desk(tmp_path, {"score": 0}, agent=BLOCKS_RUN) as on:
            assert not (await on.call()).is_error
            on.surface.guardrail_fired("input-scan", "an injection")
            blocked = await on.call("pay")
            assert blocked.error is not None
            assert blocked.error.error_code == "guardrail_fired"

    story()


ON_FAIL = {
    ("tool_input", "block"): ("denied", False),
    ("tool_input", "escalate"): ("parked", False),
    ("tool_input", "warn"): ("succeeded", True),
    ("tool_input", "log"): ("succeeded", True),
    ("tool_output", "block"): ("failed", True),
    ("tool_output", "escalate"): ("failed", True),
    ("tool_output", "warn"): ("succeeded", True),
    ("tool_output", "log"): ("succeeded", True),
}


@pytest.mark.parametrize(("point", "on_fail"), ON_FAIL)
def test_aml_106_a_score_at_each_point(tmp_path: Path, point: str, on_fail: str) -> None:
    """AML-106: arguments before they are dispatched, results before the model sees them; four things a high score does."""
    status, has_run = ON_FAIL[point, on_fail]

    @run_async
    async def story() -> None:
        async with desk(tmp_path, {"score": 7}, point=point, on_fail=on_fail, severity_threshold=7) as on:
            outcome = await on.surface.call("look", CITY)
            assert ("parked" if isinstance(outcome, Pending) else outcome.status) == status
            assert bool(on.executor.ran) is has_run
            if point == "tool_output" and status == "failed":
                assert "Aare" not in outcome.text  # type: ignore[union-attr]
            asked = on.asked[0]
            assert asked["point"] == point
            assert asked["agent"] == "desk"
            assert (asked.get("input") == CITY) is (point == "tool_input")
            assert (asked.get("output") == {"found": "Aare"}) is (point == "tool_output")
            on.answer({"score": 6.9})
            other = on.app.surface(agent="desk", principal="ada", run_id="run-2")
            assert (await on.call(surface=other)).value == {"found": "Aare"}

    story()


@pytest.mark.parametrize(("on_fail", "status"), [("apply", "succeeded"), ("reject", "denied")])
def test_aml_106_a_transform_of_the_input(tmp_path: Path, on_fail: str, status: str) -> None:
    """AML-106: the tool gets what it was changed into, or nothing runs."""

    @run_async
    async def story() -> None:
        changed = {"input": {"city": "Basel"}}
        async with desk(tmp_path, changed, type="transform", on_fail=on_fail) as on:
            assert (await on.call()).status == status
            assert [ran.arguments for ran in on.executor.ran] == ([{"city": "Basel"}] if on_fail == "apply" else [])

    story()


@pytest.mark.parametrize("on_fail", ["apply", "reject"])
def test_aml_106_a_transform_of_the_output(tmp_path: Path, on_fail: str) -> None:
    """AML-106: the model sees what it was changed into, or nothing of it."""

    @run_async
    async def story() -> None:
        changed = {"output": {"found": "a river"}}
        async with desk(tmp_path, changed, point="tool_output", type="transform", on_fail=on_fail) as on:
            result = await on.call()
            assert ("a river" in result.text) is (on_fail == "apply")
            assert result.is_error is (on_fail == "reject")
            assert "Aare" not in result.text

    story()


@pytest.mark.parametrize(
    ("kind", "answer"), [("annotate", {"annotations": {"pii": False}}), ("enrich", {"context": "a river"})]
)
def test_aml_106_what_is_added_stands_beside_the_output(tmp_path: Path, kind: str, answer: Any) -> None:
    """AML-106: with its origin; where the provider cannot be asked it is skipped, or the call ends."""

    @run_async
    async def story() -> None:
        async with desk(tmp_path / "well", answer, point="tool_output", type=kind) as on:
            result = await on.call()
            assert result.structured_content == {"found": "Aare"}
            assert len(result.additional_context) == 1
        for on_fail, is_closed in (("skip", False), ("fail_closed", True)):
            async with desk(tmp_path / on_fail, ["no answer"], point="tool_output", type=kind, on_fail=on_fail) as on:
                assert (await on.call()).is_error is is_closed

    story()


@pytest.mark.parametrize(("severity", "is_closed"), [(10, True), (0, False)])
def test_aml_106_a_provider_that_fails_counts_as_a_severity(tmp_path: Path, severity: int, is_closed: bool) -> None:
    """AML-106: 10 fails closed, 0 fails open."""

    @run_async
    async def story() -> None:
        async with desk(tmp_path, "this is no score", error_severity=severity) as on:
            assert (await on.call()).is_error is is_closed
            assert bool(on.executor.ran) is not is_closed

    story()


def test_aml_107_guardrails_and_retries_are_told_at_the_full_level(tmp_path: Path) -> None:
    """AML-107: with arguments and results; the standard level has neither, none has nothing."""

    @run_async
    async def story() -> None:
        async with desk(tmp_path, {"score": 3}, severity_threshold=7) as on:
            result = await on.call()
            none, standard, full = [await on.events(result, level) for level in ("none", "standard", "full")]
            assert none == "[]"
            assert "look" in standard
            for word in ("Bern", "Aare", '"score"'):
                assert word not in standard
                assert word in full

    story()

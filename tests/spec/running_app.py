"""An app in memory with one caller and an executor that records: the base of the tests of the standards' ids."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ParamSpec

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.surface import Readiness
from ferrule.ledger.audit.records import make_invocation_record
from ferrule.ledger.history.expand import expand_row
from ferrule.model.event import Event
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from ferrule.model.tool import FACT_NAMES, SafetyFacts, Tool, raw
from ferrule.testing import ScriptedApprover, ScriptedExecutor, memory_app

P = ParamSpec("P")
TRUSTED = 'mode = "trusted"\n'
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
BERN = {"city": "Bern"}

REQUIRED = {
    "invocation": ("schema_version", "invocation_id", "tool_id", "status", "created_at"),
    "result": ("schema_version", "result_id", "invocation_id", "status", "created_at"),
    "decision": ("schema_version", "decision_id", "invocation_id", "behavior", "decided_at"),
    "event": ("schema_version", "event_id", "event_type", "source", "time"),
    "surface": ("schema_version", "surface_id", "scope"),
    "deferred": ("tool_id", "name", "loading_state"),
    "progress": ("schema_version", "progress_id", "invocation_id", "status", "timestamp"),
    "hook": ("schema_version", "hook_id", "hook_event"),
    "persistence": ("schema_version", "decision_id", "invocation_id", "strategy", "created_at"),
}
"""The required fields of the standard's records."""


def run_async(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Wraps an async test as a plain one with a time limit."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            await asyncio.wait_for(test(*args, **kwargs), 20)

        asyncio.run(bounded())

    return run


def make_tool(name: str = "search", schema: Mapping[str, Any] = CITY, **said: Any) -> Tool:
    """Makes a tool as compiled from an Agent Tool declaration. `said`: fields of `Tool`, safety facts, or parts of the payload
    (`interface`, `input_contract`, `output_contract`, `permission_profile`, …)."""
    stated = {fact: said.pop(fact) for fact in FACT_NAMES if fact in said}
    fields = {field: said.pop(field) for field in Tool.__struct_fields__ if field in said}
    if "output_schema" in fields:
        fields["output_schema"] = raw(fields["output_schema"])
    runtime = said.get("input_contract", {}).get("runtime_input_schema")
    contract = {"model_input_schema": schema, **said.pop("input_contract", {})}
    payload = {"input_contract": contract, "tool_interface": said.pop("interface", {}), **said}
    usual: dict[str, Any] = {
        "tool_id": f"shop.{name}",
        "namespace": "shop",
        "name": name,
        "description": f"Does {name}.",
        "lifecycle": "available",
        "tool_kind": "function",
        "dialect": "agent_tool",
        "version": "1.0.0",
        "input_schema": raw(schema),
        "runtime_input_schema": raw(runtime) if runtime is not None else None,
        "facts": SafetyFacts(**stated),
        "inferred_facts": tuple(fact for fact in FACT_NAMES if fact not in stated),
        "payload": raw(payload),
    }
    return Tool(**(usual | fields))


class RecordingExecutor(ScriptedExecutor):
    """Runs everything but Ferrule's own tools and Python functions."""

    def can_run(self, tool: Tool) -> bool:
        return tool.dialect not in ("ferrule", "python") and super().can_run(tool)


class RunningApp:
    """A caller's surface, the app and executor behind it, and the records its calls leave in the ledger."""

    def __init__(self, app: App, executor: ScriptedExecutor, surface: SurfaceHandle) -> None:
        self.app = app
        self.executor = executor
        self.surface = surface

    @property
    def has_run(self) -> bool:
        """True once any tool was run."""
        return bool(self.executor.ran)

    async def call(self, name: str = "search", arguments: Any = BERN, **options: Any) -> Result:
        """Makes a call that ends at once."""
        outcome = await self.surface.call(name, arguments, **options)
        assert isinstance(outcome, Result), outcome
        return outcome

    async def park(self, name: str = "search", arguments: Any = BERN, **options: Any) -> Pending:
        """Makes a call that parks."""
        outcome = await self.surface.call(name, arguments, **options)
        assert isinstance(outcome, Pending), outcome
        return outcome

    async def answer(self, verdict: Any = True, **who: Any) -> Result:
        """Answers the one parked call as a person and returns its result."""
        outcomes = await ScriptedApprover(self.app, verdict, **who).work()
        assert len(outcomes) == 1, outcomes
        assert isinstance(outcomes[0], Result), outcomes
        return outcomes[0]

    async def read_record(self, of: Result | Pending | str) -> dict[str, Any]:
        """Reads the invocation record."""
        return make_invocation_record(Story(await self.app.store.rows_of(_id(of))))

    async def read_full_record(self, of: Result | Pending | str) -> dict[str, Any]:
        """Reads the invocation record with progress messages and cancellation requests."""
        await self.app.store.flush()
        rows, news = await self.app.store.rows_of(_id(of)), await self.app.store.news_of(_id(of))
        return make_invocation_record(Story(rows, news))

    async def read_story(self, of: Result | Pending | str) -> Story:
        """Reads everything the ledger knows about a call."""
        return Story(await self.app.store.rows_of(_id(of)))

    async def read_decisions(self, of: Result | Pending | str) -> list[dict[str, Any]]:
        """Reads the records of its decisions."""
        story = await self.read_story(of)
        return [each.to_record(story.invocation_id, number) for number, each in enumerate(story.decisions)]

    async def read_states(self, of: Result | Pending | str) -> list[str]:
        """Reads the states it went through."""
        return [move["to"] for move in (await self.read_record(of))["status_transitions"]]

    async def read_phases(self, of: Result | Pending | str) -> list[str]:
        """Reads the phases that ran, in order."""
        return [run.phase for run in (await self.read_story(of)).phases if run.is_run]

    async def read_events(self, of: Result | Pending | None = None, level: Any = "standard") -> list[Event]:
        """Reads the events of a call, or all events."""
        await self.app.store.flush()
        rows = await self.app.store.rows_of(_id(of)) if of is not None else await self.app.store.rows_after(0, 10_000)
        return [event for row in rows for event in expand_row(row, source="test", level=level)]


def _id(of: Result | Pending | str) -> str:
    return of if isinstance(of, str) else of.invocation_id


@asynccontextmanager
async def running_app(
    *tools: Any,
    script: Mapping[str, Any] | None = None,
    default: Any = "done",
    policy: str = TRUSTED,
    caller: Mapping[str, Any] | None = None,
    executors: Sequence[Any] = (),
    readiness: Readiness | None = None,
    **parts: Any,
) -> AsyncIterator[RunningApp]:
    """Runs an app with these tools. `script` and `default`: the executor's answers. `caller`: the surface's context.
    `readiness`: replaces the readiness of the app's executors."""
    executor = RecordingExecutor(script, default)
    given: Any = {"tools": tools or (make_tool(),), "executors": (*executors, executor), "policy": policy, **parts}
    async with memory_app(**given) as app:
        if readiness is not None:
            app._parts.readiness = readiness
        yield RunningApp(app, executor, app.surface(**({"principal": "ada"} | dict(caller or {}))))


class FunctionHook:
    """A hook by a function; `event` and `tool` say when it runs."""

    __test__ = False

    def __init__(
        self, run: Callable[..., Any], event: Any = "pre_tool_use", name: str = "hook", tool: str = ""
    ) -> None:
        self.hook_id = name
        self.event = event
        self.seen: list[Any] = []
        self._run = run
        self._tool = tool

    def matches(self, tool_id: str, tool_name: str) -> bool:
        return not self._tool or self._tool == tool_name

    def run(self, told: Any) -> Any:
        self.seen.append(told)
        return self._run(told)


def assert_required(kind: str, record: Mapping[str, Any]) -> None:
    """Asserts that every required field is a non-empty text."""
    for field in REQUIRED[kind]:
        assert isinstance(record.get(field), str), f"{kind} record without {field}: {record}"
        assert record[field], f"{kind} record with an empty {field}"
    if "schema_version" in record:
        assert record["schema_version"] == "0.2.0"

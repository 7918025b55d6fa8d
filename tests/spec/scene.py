"""One app in memory, one caller, one executor that remembers: what the tests of the standards' ids are played with."""

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


def played(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """An async test as a plain one, with an end."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            await asyncio.wait_for(test(*args, **kwargs), 20)

        asyncio.run(bounded())

    return run


def made(name: str = "search", schema: Mapping[str, Any] = CITY, **said: Any) -> Tool:
    """A tool as an Agent Tool declaration compiles to. `said`: fields of `Tool`, safety facts, or parts of the payload
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


class Spy(ScriptedExecutor):
    """Runs everything but Ferrule's own tools and Python functions."""

    def can_run(self, tool: Tool) -> bool:
        return tool.dialect not in ("ferrule", "python") and super().can_run(tool)


class Scene:
    """A caller's surface, what stands behind it, and what its calls leave in the ledger."""

    def __init__(self, app: App, executor: ScriptedExecutor, surface: SurfaceHandle) -> None:
        self.app = app
        self.executor = executor
        self.surface = surface

    @property
    def has_run(self) -> bool:
        """True once any tool was run."""
        return bool(self.executor.ran)

    async def call(self, name: str = "search", arguments: Any = BERN, **options: Any) -> Result:
        """A call that ends at once."""
        outcome = await self.surface.call(name, arguments, **options)
        assert isinstance(outcome, Result), outcome
        return outcome

    async def parked(self, name: str = "search", arguments: Any = BERN, **options: Any) -> Pending:
        """A call that waits."""
        outcome = await self.surface.call(name, arguments, **options)
        assert isinstance(outcome, Pending), outcome
        return outcome

    async def answered(self, verdict: Any = True, **who: Any) -> Result:
        """What became of the one waiting call once a person answered."""
        outcomes = await ScriptedApprover(self.app, verdict, **who).work()
        assert len(outcomes) == 1, outcomes
        assert isinstance(outcomes[0], Result), outcomes
        return outcomes[0]

    async def record(self, of: Result | Pending | str) -> dict[str, Any]:
        """The invocation record."""
        return make_invocation_record(Story(await self.app.store.rows_of(_id(of))))

    async def whole(self, of: Result | Pending | str) -> dict[str, Any]:
        """The invocation record with what the call said while it ran, and what became of requests to stop it."""
        await self.app.store.flush()
        rows, news = await self.app.store.rows_of(_id(of)), await self.app.store.news_of(_id(of))
        return make_invocation_record(Story(rows, news))

    async def story(self, of: Result | Pending | str) -> Story:
        """Everything the ledger knows about a call."""
        return Story(await self.app.store.rows_of(_id(of)))

    async def decisions(self, of: Result | Pending | str) -> list[dict[str, Any]]:
        """The records of its decisions."""
        story = await self.story(of)
        return [each.to_record(story.invocation_id, number) for number, each in enumerate(story.decisions)]

    async def states(self, of: Result | Pending | str) -> list[str]:
        """The states it went through."""
        return [move["to"] for move in (await self.record(of))["status_transitions"]]

    async def trace(self, of: Result | Pending | str) -> list[str]:
        """The phases that ran, in order."""
        return [run.phase for run in (await self.story(of)).phases if run.is_run]

    async def events(self, of: Result | Pending | None = None, level: Any = "standard") -> list[Event]:
        """The events of a call, or of everything."""
        await self.app.store.flush()
        rows = await self.app.store.rows_of(_id(of)) if of is not None else await self.app.store.rows_after(0, 10_000)
        return [event for row in rows for event in expand_row(row, source="test", level=level)]


def _id(of: Result | Pending | str) -> str:
    return of if isinstance(of, str) else of.invocation_id


@asynccontextmanager
async def scene(
    *tools: Any,
    script: Mapping[str, Any] | None = None,
    default: Any = "done",
    policy: str = TRUSTED,
    caller: Mapping[str, Any] | None = None,
    executors: Sequence[Any] = (),
    readiness: Readiness | None = None,
    **parts: Any,
) -> AsyncIterator[Scene]:
    """An app with these tools. `script` and `default`: what the executor does. `caller`: the surface's context.
    `readiness`: what this process has, where it is not simply what its executors can run."""
    executor = Spy(script, default)
    given: Any = {"tools": tools or (made(),), "executors": (*executors, executor), "policy": policy, **parts}
    async with memory_app(**given) as app:
        if readiness is not None:
            app._parts.readiness = readiness
        yield Scene(app, executor, app.surface(**({"principal": "ada"} | dict(caller or {}))))


class TestHook:
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


def has_required(kind: str, record: Mapping[str, Any]) -> None:
    """Every required field is there, as a text that says something."""
    for field in REQUIRED[kind]:
        assert isinstance(record.get(field), str), f"{kind} record without {field}: {record}"
        assert record[field], f"{kind} record with an empty {field}"
    if "schema_version" in record:
        assert record["schema_version"] == "0.2.0"

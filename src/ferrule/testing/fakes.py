"""Fakes that a test drives: a clock it moves, an executor that follows a script, a sink that keeps what it gets.

`testing/app` puts them into an app in memory; `ferrule.testing` offers them by name. Each fulfils the contract of the part
that it stands for, and does not know the test.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Run, Support, Waiting
from ferrule.infra.clock import Clock
from ferrule.model.event import Event
from ferrule.model.timestamps import MICROSECONDS, parse_iso
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject


class FakeClock(Clock):
    """A clock that a test moves. Each reading takes a microsecond, so that later events have later times."""

    def __init__(self, start: str = "2026-01-31T12:00:00Z") -> None:
        self._wall = parse_iso(start)
        self._tick = 0

    def now(self) -> int:
        """Returns microseconds since 1970."""
        self._wall += 1
        return self._wall

    def tick(self) -> int:
        """Returns nanoseconds that never go back."""
        self._tick += 1000
        return self._tick

    def advance(self, seconds: float) -> None:
        """Lets time pass."""
        self._wall += round(seconds * MICROSECONDS)
        self._tick += round(seconds * 1_000_000_000)

    def jump(self, seconds: float) -> None:
        """Sets the wall clock forward, or back with a negative number, as an administrator might."""
        self._wall += round(seconds * MICROSECONDS)


class RecordingSink:
    """Keeps every event. Set `failing` to test a broken sink."""

    name = "recording"

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.failing = False

    @property
    def types(self) -> list[str]:
        """The types of the events, in order."""
        return [event.event_type for event in self.events]

    async def cursor(self) -> int | None:
        """Returns the last row it has; 0, so everything from the first row on, when it has none."""
        return self.events[-1].seq if self.events else 0

    async def write(self, events: Sequence[Event]) -> None:
        """Keeps a batch."""
        if self.failing:
            raise ConnectionError("the recording sink was told to fail")
        self.events += events

    async def aclose(self) -> None:
        """Nothing to let go of."""


class ScriptedRun(NamedTuple):
    """One run of a tool."""

    tool_id: str
    arguments: dict[str, Any]
    invocation_id: str


class ScriptedExecutor:
    """Runs any tool by a script: per tool id, one step or a list of steps; the last step repeats.

    A step is a value to give, an `Output`, a `Waiting`, an exception to raise, or a function of the arguments (sync or
    async) that gives one of these. Tools without a script give `default`; without a default they cannot run.
    """

    support = Support(cancel=True, resume=True, retries=True)

    def __init__(self, script: Mapping[str, Any] | None = None, default: Any = msgspec.UNSET) -> None:
        self._script = {
            tool: list(steps) if isinstance(steps, list) else [steps] for tool, steps in (script or {}).items()
        }
        self._default = default
        self.ran: list[ScriptedRun] = []
        """Every run, in order."""
        self.answers: list[Any] = []
        """What waiting runs received."""

    def can_run(self, tool: Tool) -> bool:
        """True for tools with a script, and for all when there is a default."""
        return tool.tool_id in self._script or self._default is not msgspec.UNSET

    def prepare(self, tool: Tool) -> Run:
        """Returns the tool's runner."""
        return _ScriptedRunner(self, tool.tool_id)

    def next_step(self, tool_id: str) -> Any:
        """Returns the next step of a tool's script."""
        steps = self._script.get(tool_id)
        if not steps:
            return self._default
        return steps.pop(0) if len(steps) > 1 else steps[0]

    async def aclose(self) -> None:
        """Nothing to let go of."""


class _ScriptedRunner:
    def __init__(self, executor: ScriptedExecutor, tool_id: str) -> None:
        self._executor = executor
        self._tool_id = tool_id

    def __call__(self, arguments: JsonObject, context: Context) -> Any:
        self._executor.ran.append(ScriptedRun(self._tool_id, copy.deepcopy(arguments), context.invocation_id))
        step = self._executor.next_step(self._tool_id)
        return _play_step(step(arguments) if callable(step) else step)

    async def resume(self, state: bytes, answer: object, context: Context) -> Output | Waiting:
        """Returns the answer."""
        self._executor.answers.append(answer)
        return Output({"state": state.decode(), "answer": answer})


def _play_step(given: object) -> Any:
    if asyncio.iscoroutine(given):
        return _await_step(given)
    if isinstance(given, BaseException):
        raise given
    return given


async def _await_step(given: Any) -> Any:
    return _play_step(await given)


def failure(error_class: Any, message: str = "it failed", **details: Any) -> ExecutionFailed:
    """Returns a step that fails with an error class of the standard."""
    return ExecutionFailed(error_class, message, **details)

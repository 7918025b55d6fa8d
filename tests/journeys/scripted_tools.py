"""Tools with parts to play: how long, how they end, whether they listen, what they call in turn; and what was seen of them.

`SPANS` tell when each run began and ended, as numbers that count everything that happened, so that overlaps are exact.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Run, Support
from ferrule.contracts.policy import Classification
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.model.tool import Tool
from tests.spec.running_app import make_tool

_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "key": {"type": "string"}}, "required": ["n"]}
_QUIET: dict[str, Any] = {"is_destructive": False, "is_open_world": False}


def _tool(name: str, *, safe: Any, reads: bool = False, **more: Any) -> Tool:
    return make_tool(name, _SCHEMA, is_concurrency_safe=safe, is_read_only=reads, **_QUIET, **more)


TOOLS = (
    _tool("look", safe=True, reads=True),
    _tool("peek", safe=False, reads=True),
    _tool("write", safe=True),
    _tool("act", safe=False),
    _tool("order", safe=True, interface={"resource_locks": [{"key": "order:{key}"}]}),
    _tool("share", safe=True, interface={"resource_locks": [{"key": "order:{key}", "mode": "shared"}]}),
    _tool("maybe", safe="classifier:calm", classifier_input="input.key"),
    _tool("stop", safe=True, interrupt_behavior="cancel"),
    _tool("glance", safe=True, reads=True),
    _tool("glimpse", safe=False, reads=True),
)
QUIET = frozenset({"shop.glance", "shop.glimpse"})
"""Tools that look at no context: they take the short ways through the pipeline."""
NAMES = tuple(tool.name for tool in TOOLS)


class Calm:
    """A classifier: what has the key `a` may overlap."""

    name = "calm"

    def classify(self, entry: Any, subject: Any) -> Classification:
        return Classification("allow" if subject == "a" else "deny", 1.0, "by its key")


class Part(msgspec.Struct, frozen=True):
    """What one call's tool does."""

    tool: str
    seconds: float = 0.0
    key: str = ""
    ending: str = "gives"
    """`gives`, `fails`, or `breaks` (an error nobody planned)."""
    is_deaf: bool = False
    """True: does not hear that it should stop."""
    at_once: bool = False
    """True: gives its answer without waiting for anything."""
    says: int = 0
    leaves: bool = False
    """True: goes on in the background."""
    keeps: bool = False
    """True: changes the context."""
    inside: tuple[Part, ...] = ()
    """Calls that it makes, one after the other, or all at once."""
    is_gathering: bool = False
    timeout: float | None = None


class Span(msgspec.Struct):
    """One run of a tool."""

    number: int
    part: Part
    parent: int | None
    begin: int
    end: int | None = None
    call: str = ""
    """Filled from the ledger when all is over."""


class Seen(NamedTuple):
    """Two runs at the same time."""

    one: Span
    other: Span


class ScriptedTools:
    """The executor. Calls are told apart by their argument `n`."""

    support = Support(cancel=True, progress=True, background=True, context_modifiers=True)

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}
        self.parents: dict[int, int] = {}
        self.spans: dict[int, Span] = {}
        self._count = 0

    def can_run(self, tool: Tool) -> bool:
        """True for all of ours."""
        return tool.namespace == "shop"

    def prepare(self, tool: Tool) -> Run:
        """The runner of one tool."""

        return _Runner(self, wants_context=tool.tool_id not in QUIET)

    def run(self, number: int, context: Context) -> Any:
        """Play a part."""
        return self._at_once(number, context) if self.parts[number].at_once else self._played(number, context)

    async def aclose(self) -> None:
        """Nothing to let go of."""

    def cast(self, part: Part, parent: int | None = None) -> tuple[str, dict[str, Any]]:
        """A call for a part: its tool and its arguments."""
        number = len(self.parts)
        self.parts[number] = part
        if parent is not None:
            self.parents[number] = parent
        return part.tool, {"n": number, "key": part.key}

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _enters(self, number: int, context: Context) -> Span:
        span = Span(number, self.parts[number], self.parents.get(number), self._next())
        assert number not in self.spans, f"call {number} ran twice"
        self.spans[number] = span
        return span

    def _at_once(self, number: int, context: Context) -> Any:
        span = self._enters(number, context)
        try:
            return self._ended(number, context)
        finally:
            span.end = self._next()

    async def _played(self, number: int, context: Context) -> Any:
        part, span = self.parts[number], self._enters(number, context)
        until = asyncio.get_running_loop().time() + part.seconds
        try:
            if part.leaves:
                context.to_background("", "goes on")
            await self._calls(number, context)
            while True:
                try:
                    await asyncio.sleep(until - asyncio.get_running_loop().time())
                    return self._ended(number, context)
                except asyncio.CancelledError:
                    if not part.is_deaf:
                        raise
        finally:
            span.end = self._next()

    async def _calls(self, number: int, context: Context) -> None:
        part = self.parts[number]
        calls = [self.cast(each, number) for each in part.inside if context.session is not None]
        limits = [{"timeout_seconds": self.parts[call[1]["n"]].timeout} for call in calls]
        given = [context.session.call(*call, **limit) for call, limit in zip(calls, limits, strict=True)]
        if part.is_gathering:
            await asyncio.gather(*given)
            return
        try:
            while given:
                await given.pop(0)
        finally:
            for each in given:
                each.close()

    def _ended(self, number: int, context: Context) -> Any:
        part = self.parts[number]
        for count in range(part.says):
            context.progress(f"{count}")
        if part.ending == "fails":
            raise ExecutionFailed("execution_failed", "no")
        if part.ending == "breaks":
            raise LookupError("nobody planned this")
        modifiers: Any = ({"set": {"last": number, f"by {part.tool}": number}},) if part.keeps else ()
        return Output({"n": number}, context_modifiers=modifiers)

    # What must not be

    def overlapping(self) -> Iterator[Seen]:
        """Runs that were there at the same time and are not inside of one another."""
        spans = sorted(self.spans.values(), key=lambda span: span.begin)
        for place, one in enumerate(spans):
            for other in spans[place + 1 :]:
                if (one.end is None or other.begin < one.end) and not self._are_related(one, other):
                    yield Seen(one, other)

    def _are_related(self, one: Span, other: Span) -> bool:
        return one.number in self.above(other.number) or other.number in self.above(one.number)

    def above(self, number: int) -> list[int]:
        """The calls that a call is part of."""
        found: list[int] = []
        while number in self.parents:
            number = self.parents[number]
            found.append(number)
        return found

    def forbidden(self, seen: Seen, policy: SchedulerPolicy) -> str:
        """Why two runs must not overlap; empty when they may."""
        one, other = seen
        if one.parent == other.parent and (is_alone(one.part, policy) or is_alone(other.part, policy)):
            return "one of them runs alone"
        if one.part.tool in _LOCKING and other.part.tool in _LOCKING and one.part.key == other.part.key:
            held = {number for number in set(self.above(one.number)) & set(self.above(other.number))
                    if self.parts[number].tool in _LOCKING and self.parts[number].key == one.part.key}  # fmt: skip
            if not held and "order" in (one.part.tool, other.part.tool):
                return "they share a lock"
        return ""


class _Runner:
    def __init__(self, troupe: ScriptedTools, *, wants_context: bool) -> None:
        self._troupe = troupe
        self.wants_context = wants_context

    def __call__(self, arguments: dict[str, Any], context: Context) -> Any:
        return self._troupe.run(arguments["n"], context)


_LOCKING = frozenset({"order", "share"})


def is_alone(part: Part, policy: SchedulerPolicy) -> bool:
    """True when a part may not overlap with its siblings."""
    reads = part.tool in ("look", "peek", "glance", "glimpse")
    is_safe = part.tool not in ("peek", "act", "glimpse") and not (part.tool == "maybe" and part.key != "a")
    return (
        not is_safe
        or policy.ordering_policy == "serial"
        or ("read_only" if reads else "write") not in policy.parallel_classes
    )

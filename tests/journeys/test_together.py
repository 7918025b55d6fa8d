"""Random plays over calls that run together: batches, single calls, calls inside of calls, requests to stop at any moment.

Time is the loop's own, so equal plays take equal courses, and a play in which somebody waits for ever is told at once.
FERRULE_SOAK=N plays N of them.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.model.journal import LAST_KINDS, StoredEntry
from ferrule.model.result import Pending, Result
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.testing import memory_app
from tests.journeys.promises import check_lives
from tests.journeys.scripted_tools import NAMES, TOOLS, Calm, Part, ScriptedTools
from tests.journeys.virtual_time import LoopClock, VirtualLoop, in_virtual_time
from tests.spec.running_app import TRUSTED

_SOAK = int(os.environ.get("FERRULE_SOAK", "0"))
logging.getLogger("ferrule.pipeline").addFilter(lambda record: "nobody planned this" not in str(record.exc_info))
_STOPPED = {"canceled", "synthetic_error", "discarded", "timed_out"}


class Act(msgspec.Struct, frozen=True):
    """Something that is done at some time."""

    at: float
    does: str
    """`call`, `batch`, `stream`, `cancel`, `discard`, `interrupt` or `leave`."""
    parts: tuple[Part, ...] = ()
    needs: tuple[tuple[int, ...], ...] = ()
    policy: dict[str, Any] = {}
    pick: int = 0


class Play(msgspec.Struct, frozen=True):
    """All of it."""

    policy: SchedulerPolicy
    acts: tuple[Act, ...]


_SECONDS = st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0])
_FLAG = st.sampled_from([False, False, False, True])


def _parts(inside: Any) -> Any:
    return st.builds(
        Part,
        tool=st.sampled_from(NAMES),
        seconds=_SECONDS,
        key=st.sampled_from("ab"),
        ending=st.sampled_from(["gives", "gives", "gives", "fails", "breaks"]),
        is_deaf=_FLAG,
        at_once=_FLAG,
        says=st.sampled_from([0, 0, 2]),
        leaves=_FLAG,
        keeps=_FLAG,
        inside=inside,
        is_gathering=st.booleans(),
        timeout=st.sampled_from([None, None, None, 1.5]),
    )


_NESTED = _parts(st.just(()))
_PART = _parts(st.lists(_NESTED, max_size=2).map(tuple))
_BATCH_POLICY = st.fixed_dictionaries(
    {},
    optional={
        "sibling_failure_policy": st.sampled_from(["ignore", "cancel_siblings", "cancel_dependent"]),
        "context_modifier_policy": st.sampled_from(["allow_serial_only", "defer_until_batch_complete", "forbid"]),
        "ordering_policy": st.sampled_from(["preserve_terminal_order", "allow_unordered", "serial"]),
        "yield_policy": st.sampled_from(["progress_immediate_results_ordered", "all_ordered", "unordered_streaming"]),
        "max_parallel": st.integers(1, 3),
    },
)


@st.composite
def _batches(draw: Any) -> Act:
    parts = draw(st.lists(_PART, min_size=1, max_size=5).map(tuple))
    needs = tuple(
        tuple(draw(st.sets(st.integers(0, number - 1), max_size=2))) if number and draw(_FLAG) else ()
        for number in range(len(parts))
    )
    return Act(draw(_SECONDS), draw(st.sampled_from(["batch", "stream"])), parts, needs, draw(_BATCH_POLICY))


_ACTS = st.one_of(
    _batches(),
    st.builds(Act, at=_SECONDS, does=st.just("call"), parts=st.tuples(_PART)),
    st.builds(
        Act,
        at=st.sampled_from([0.0, 0.5, 1.0, 1.2, 2.5]),
        does=st.sampled_from(["cancel", "cancel", "discard", "interrupt", "leave"]),
        pick=st.integers(0, 9),
    ),
)
_POLICIES = st.builds(
    SchedulerPolicy,
    max_parallel=st.sampled_from([1, 2, 3, 32]),
    max_parallel_per_tool=st.sampled_from([None, None, 1]),
    parallel_classes=st.sampled_from([("read_only", "write"), ("read_only",), ("read_only", "write")]),
    context_modifier_policy=st.sampled_from(["allow_serial_only", "defer_until_batch_complete", "forbid"]),
    interrupt_behavior=st.sampled_from([None, None, "cancel"]),
)
_PLAYS = st.builds(Play, policy=_POLICIES, acts=st.lists(_ACTS, min_size=1, max_size=6).map(tuple))


class Course(msgspec.Struct):
    """What came of a play."""

    results: dict[int, list[Any]] = {}
    """By act: outcomes in the order they were told, or None when the caller left."""
    rows: list[StoredEntry] = []
    context: dict[str, Any] = {}
    scripted: Any = None


class Stage:
    """One app, one surface, and whoever is on it."""

    def __init__(self, app: App, surface: SurfaceHandle, scripted: ScriptedTools) -> None:
        self.app, self.surface, self.scripted = app, surface, scripted
        self.tasks: list[asyncio.Task[Any]] = []
        self.course = Course({}, [], {}, scripted)

    def begin(self, act: Act) -> None:
        """Do an act."""
        match act.does:
            case "call" | "batch" | "stream":
                number = len(self.tasks)
                self.tasks.append(asyncio.ensure_future(self._played(number, act)))
            case "leave" if self.tasks:
                self.tasks[act.pick % len(self.tasks)].cancel()
            case "interrupt":
                self.surface.interrupt("somebody spoke")
            case "cancel" | "discard":
                self._stop(act)

    def _stop(self, act: Act) -> None:
        """Whatever is in flight; without anything, what has ended."""
        store: Any = self.app.store
        known = sorted(self.app.services.live.calls) or [row.call for row in store.ledger.rows if row.call]
        if known and act.does == "cancel":
            self.tasks.append(asyncio.ensure_future(self.surface.cancel(known[act.pick % len(known)], within=0)))
        elif known:
            self.surface.discard([known[act.pick % len(known)]])

    async def _played(self, number: int, act: Act) -> None:
        calls = [self.scripted.cast(part) for part in act.parts]
        if act.does == "call":
            outcome = await self.surface.call(*calls[0], timeout_seconds=act.parts[0].timeout)
            self.course.results[number] = [outcome]
            return
        asked = [
            {"name": name, "arguments": arguments, "depends_on": needs, "timeout_seconds": part.timeout}
            for (name, arguments), needs, part in zip(calls, act.needs, act.parts, strict=True)
        ]
        running = await self.surface.begin_many(asked, **act.policy)
        if act.does == "batch":
            batch = await running.wait()
            assert [each.invocation_id for each in batch] == list(running.invocation_ids)
            self.course.results[number] = list(batch)
        else:
            self.course.results[number] = await _streamed(running, SchedulerPolicy(**act.policy))


async def _streamed(running: Any, policy: SchedulerPolicy) -> list[Any]:
    """The results as they were told: in call order where the policy does not say otherwise, progress before its result."""
    told: list[Any] = []
    indexes: list[int] = []
    said: dict[int, int] = {}
    async for update in running.updates():
        assert update.index not in indexes, "something was told after the result"
        if update.result is not None:
            indexes.append(update.index)
            told.append(update.result)
        else:
            assert update.progress.sequence == said.get(update.index, 0) + 1
            said[update.index] = update.progress.sequence
    assert policy.is_unordered or indexes == sorted(indexes)
    assert sorted(indexes) == list(range(len(running.invocation_ids)))
    return told


def play(given: Play) -> Course:
    """Play it to its end."""
    loop = VirtualLoop()
    return in_virtual_time(_play(given, loop), loop)


async def _play(given: Play, loop: VirtualLoop) -> Course:
    scripted = ScriptedTools()
    async with memory_app(
        tools=TOOLS,
        executors=[scripted],
        policy=TRUSTED,
        classifiers=[Calm()],
        scheduler=given.policy,
        clock=LoopClock(loop),
    ) as app:
        stage = Stage(app, app.surface(run_id="the-run"), scripted)
        for act in sorted(given.acts, key=lambda act: act.at):
            await asyncio.sleep(act.at - loop.time())
            stage.begin(act)
        await asyncio.gather(*stage.tasks, return_exceptions=True)
        for task in stage.tasks:
            assert task.cancelled() or task.exception() is None, task.exception()
        while app.services.live.calls or app.services.live._spawned:
            await asyncio.sleep(0.1)
            assert loop.time() < 1000, f"{app.services.live.calls} never ends"
        assert not app.services.scheduler.describe()["lanes"], "somebody is still in a lane"
        await app.store.flush()
        course = stage.course
        course.rows = await app.store.rows_after(0, 100_000)
        course.context = stage.surface.context
        return course


@pytest.mark.hypothesis
@settings(max_examples=max(60, _SOAK), deadline=None, suppress_health_check=list(HealthCheck))
@given(given=_PLAYS)
def test_calls_together_keep_every_promise(given: Play) -> None:
    """AT-160 to AT-168, AT-170 to AT-175, AT-177, AT-178, AT-208: whatever is called together and stopped."""
    course = play(given)
    _check(given, course)
    again = play(given)
    assert _history(again.rows) == _history(course.rows), "the same play took another course"
    assert again.context == course.context


def _check(given: Play, course: Course) -> None:
    calls = check_lives(course.rows)
    ends = {call: rows[-1] for call, rows in calls.items()}
    scripted: ScriptedTools = course.scripted
    for call, rows in calls.items():
        inputs = rows[0].inputs()
        assert inputs is not None and inputs.model_input is not None
        span = scripted.spans.get(msgspec.json.decode(inputs.model_input)["n"])
        if span is not None:
            span.call = call
    for call, row in ends.items():
        assert row.kind in LAST_KINDS, f"{call} never ended: {row.outcome}"
    made = {number for number in scripted.parts if number not in scripted.parents} | {
        span.number for span in scripted.spans.values()
    }
    assert len(ends) >= len(made)
    for outcomes in course.results.values():
        for outcome in outcomes:
            _one_end(outcome, ends)
    late = {call for call, row in ends.items() if row.segment().status in ("timed_out", "discarded")}
    overlapping = [seen for seen in scripted.overlapping() if not {seen.one.call, seen.other.call} & late]
    for seen in overlapping:
        why = scripted.forbidden(seen, given.policy)
        assert not why, f"{seen} overlap, although {why}"
    _no_more_than(given.policy.max_parallel, course, late)
    _context_did_not_race(course, ends, overlapping)


def _one_end(outcome: Any, ends: dict[str, StoredEntry]) -> None:
    """What was told is on record, and tells why it was stopped where it was."""
    if isinstance(outcome, Pending):
        assert outcome.invocation_id in ends
        return
    assert isinstance(outcome, Result)
    assert ends[outcome.invocation_id].segment().status == outcome.status
    assert (outcome.abort_reason is not None) == (outcome.status in _STOPPED) == outcome.synthetic, outcome


def _no_more_than(most: int, course: Course, late: set[str]) -> None:
    moments = []
    for span in course.scripted.spans.values():
        if span.parent is None and span.call not in late:
            moments += [(span.begin, 1), (span.end, -1)]
    running = 0
    for _, step in sorted(moments):
        running += step
        assert running <= most, f"{running} ran at once"


def _context_did_not_race(course: Course, ends: dict[str, StoredEntry], overlapping: Sequence[Any]) -> None:
    """No two calls whose changes were applied at once ran beside each other."""
    applied = {
        call
        for call, row in ends.items()
        if row.segment().notes.get("context_modifiers", {}).get("outcome") == "applied"
    }
    for seen in overlapping:
        assert not {seen.one.call, seen.other.call} <= applied, f"{seen} raced for the context"


def _history(rows: Sequence[StoredEntry]) -> list[Any]:
    """Everything that happened, in order, without ids and digests."""
    ids: dict[str, str] = {}
    for row in rows:
        if row.call:
            ids.setdefault(row.call, f"call {len(ids)}")
    found = []
    for row in rows:
        if not row.call:
            continue
        told: Any
        if row.kind == "news":
            told = [(each["at"], each["event"], _named(each["data"], ids)) for each in row.news().happened]
        else:
            segment = row.segment()
            notes = {key: value for key, value in segment.notes.items() if key != "batch"}
            told = (segment.states, segment.phases, segment.status, _named(notes, ids))
        found.append((row.kind, ids[row.call], row.at, row.tool, row.outcome, told))
    return found


def _named(data: dict[str, Any], ids: dict[str, str]) -> str:
    text = msgspec.json.encode({key: value for key, value in data.items() if key != "progress_id"}).decode()
    for call, name in ids.items():
        text = text.replace(call, name)
    return text

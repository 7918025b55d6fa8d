"""Whatever is entered, announced, nested, slipped in, held and left, in any order: exclusion, order, limits, progress."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ferrule.model.scheduling import Claim, SchedulerPolicy
from ferrule.runtime.scheduler.scheduler import Deadlock, Lane, LanePlace, QueueFull, Scheduler

KEYS = ("a", "b", "c")
LANES = ("one", "two", "three")
CLASSES = ("read_only", "write", "destructive", "open_world")

few = st.none() | st.integers(1, 3)
policies = st.builds(
    SchedulerPolicy,
    max_parallel=st.integers(1, 4),
    max_parallel_per_tool=few,
    max_parallel_per_principal=few,
    max_queued=st.sampled_from([1, 3, 100_000, 100_000, 100_000]),
    ordering_policy=st.sampled_from(["preserve_terminal_order", "preserve_terminal_order", "serial"]),
    parallel_classes=st.sampled_from([CLASSES, CLASSES, CLASSES, ("read_only",), ("read_only", "write")]),
)
claims = st.builds(
    Claim,
    tool_id=st.sampled_from(["t", "u"]),
    principal=st.sampled_from(["ann", "bob"]),
    is_concurrency_safe=st.sampled_from([True, True, True, False]),
    is_read_only=st.booleans(),
    is_destructive=st.booleans(),
    is_open_world=st.booleans(),
    requires_exclusive_context=st.sampled_from([False, False, False, True]),
    locks=st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), max_size=3).map(tuple),
    priority=st.integers(-2, 2),
)
locked = st.builds(
    Claim,
    tool_id=st.just("t"),
    principal=st.just("ann"),
    is_concurrency_safe=st.just(True),
    locks=st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=1, max_size=2).map(tuple),
)
"""Calls that only locks can hold up."""
numbers = st.integers(0, 1000)


def wanted(place: LanePlace) -> dict[str, bool]:
    """The locks of a place, exclusive where both were asked for."""
    modes: dict[str, bool] = {}
    for key, shared in place.claim.locks if place.claim is not None else ():
        modes[key] = modes.get(key, True) and shared
    return modes


def conflict(one: LanePlace, other: LanePlace) -> bool:
    """True when two calls may not hold their locks at the same time."""
    mine, theirs = wanted(one), wanted(other)
    return any(key in theirs and not (shared and theirs[key]) for key, shared in mine.items())


def is_alone(claim: Claim, policy: SchedulerPolicy) -> bool:
    """Whether a call may overlap with others of its lane, read off the rules once more."""
    kinds = {"read_only" if claim.is_read_only else "write"}
    kinds |= {"destructive"} if claim.is_destructive else set()
    kinds |= {"open_world"} if claim.is_open_world else set()
    is_free = claim.is_concurrency_safe and not claim.requires_exclusive_context
    return not is_free or policy.ordering_policy == "serial" or not kinds <= set(policy.parallel_classes)


def is_part_of(place: LanePlace, other: LanePlace) -> bool:
    return other in place.iter_ancestors()


def awaits(place: LanePlace, other: LanePlace) -> bool:
    """True when a call ends only after another, which it made; or which one made that it still waits for."""
    for above in other.iter_ancestors():
        if above is place:
            return True
        if above.state == "gone":
            return False
    return False


class Crowd(RuleBasedStateMachine):
    """Calls of three lanes, in any order of events; what must always hold is looked at after each."""

    @initialize(policy=policies)
    def start(self, policy: SchedulerPolicy) -> None:
        self.policy = policy
        self.scheduler = Scheduler(policy)
        self.lanes = [self.scheduler.get_lane(name) for name in LANES]
        self.places: list[LanePlace] = []
        self.slipped = dict.fromkeys(LANES, 0)
        self.alone: set[str] = set()
        """Lanes that one has slipped into alone."""
        self.barriers: list[tuple[set[LanePlace], Lane, bool]] = []
        """Who was there when a lane was held, and whether some had slipped in."""

    def alive(self, *states: str) -> list[LanePlace]:
        return [place for place in self.places if place.state in (states or ("announced", "waiting", "running"))]

    def picked(self, number: int, *states: str) -> LanePlace | None:
        among = self.alive(*states)
        return among[number % len(among)] if among else None

    @rule(lane=numbers, parent=numbers, is_nested=st.booleans())
    def announce(self, lane: int, parent: int, is_nested: bool) -> None:
        above = self.picked(parent, "running") if is_nested else None
        self.places.append(self.lanes[lane % 3].announce(parent=above))

    @rule(lane=numbers, claim=claims, parent=numbers, is_nested=st.sampled_from([False, False, True]))
    def enter(self, lane: int, claim: Claim, parent: int, is_nested: bool) -> None:
        above = self.picked(parent, "running") if is_nested else None
        self.try_to_enter(claim, None, self.lanes[lane % 3], above)

    @rule(claim=claims, number=numbers)
    def enter_announced(self, claim: Claim, number: int) -> None:
        place = self.picked(number, "announced")
        if place is not None:
            self.try_to_enter(claim, place, place.lane, None)

    def try_to_enter(self, claim: Claim, place: LanePlace | None, lane: Lane, parent: LanePlace | None) -> None:
        inner = parent.inner if parent is not None else lane
        others = [each for each in self.alive("waiting", "announced") if each is not place]
        count = sum(each.lane is inner for each in others)
        try:
            entered = lane.enter(claim, place, parent=parent)
        except QueueFull:
            assert self.policy.max_queued < 100
            assert count >= self.policy.max_queued
        except Deadlock:
            above = parent or (place.parent if place is not None else None)
            assert above is not None
            assert not self.could_run(claim, above), "a deadlock was told where there is none"
        else:
            if place is None:
                self.places.append(entered)
            assert entered.claim is claim
        assert place is None or place.state != "announced"

    def could_run(self, claim: Claim, parent: LanePlace) -> bool:
        """Whether a nested call would come to its turn, if every call ended once the calls it made have ended."""
        new = LanePlace(parent.lane, parent)
        new.claim = claim
        left = [*self.alive("running"), *(place for place in self.alive("waiting") if place.parent), new]
        while True:
            ended = [
                place
                for place in left
                if not any(awaits(place, other) for other in left)
                and not (
                    place.state != "running"
                    and any(
                        other.state == "running" and conflict(place, other) and not is_part_of(place, other)
                        for other in left
                    )
                )
            ]
            if new in ended:
                return True
            if not ended:
                return False
            left = [place for place in left if place not in ended]

    @rule(number=numbers)
    def leave(self, number: int) -> None:
        place = self.picked(number)
        if place is not None:
            place.lane.leave(place)
            assert place.state == "gone"
            place.lane.leave(place)

    @rule(number=numbers)
    def end(self, number: int) -> None:
        place = self.picked(number, "running")
        if place is not None:
            self.lanes[0].leave(place)

    @rule(lane=numbers)
    def slip(self, lane: int) -> None:
        chosen = self.lanes[lane % 3]
        if chosen.slip_in():
            self.slipped[chosen.key] += 1
            assert not is_alone(Claim("t", "ann", is_concurrency_safe=True, is_read_only=True), self.policy)

    @rule(lane=numbers)
    def slip_alone(self, lane: int) -> None:
        chosen = self.lanes[lane % 3]
        is_empty = not self.slipped[chosen.key] and not any(place.lane is chosen for place in self.alive())
        if chosen.slip_in_alone():
            assert is_empty
            self.slipped[chosen.key] = 1
            self.alone.add(chosen.key)

    @precondition(lambda self: any(self.slipped.values()))
    @rule(lane=numbers, settles=st.booleans())
    def slip_out(self, lane: int, settles: bool) -> None:
        names = [name for name, count in self.slipped.items() if count]
        chosen = self.scheduler.get_lane(names[lane % len(names)])
        self.slipped[chosen.key] -= 1
        if settles:
            is_safe = chosen.key not in self.alone
            place = chosen.settle(Claim("t", "ann", is_safe, True, False, False))
            # It was there before all that wait: nothing slips past those.
            self.places.insert(0, place)
            for present, on, _ in self.barriers:
                if on is chosen:
                    present.add(place)
        else:
            chosen.slip_out()
        self.alone.discard(chosen.key)

    @rule(lane=numbers)
    def hold(self, lane: int) -> None:
        chosen = self.lanes[lane % 3]
        present = {place for place in self.alive() if place.lane is chosen}
        self.barriers.append((present, chosen, self.slipped[chosen.key] > 0))
        chosen.add_barrier()

    def groups(self) -> Iterator[tuple[Lane, list[LanePlace]]]:
        by_lane: dict[int, tuple[Lane, list[LanePlace]]] = {}
        for place in self.alive():
            by_lane.setdefault(id(place.lane), (place.lane, []))[1].append(place)
        yield from by_lane.values()

    @invariant()
    def order_is_kept(self) -> None:
        for lane, places in self.groups():
            slipped = self.slipped[lane.key] if lane.parent is None else 0
            for at, place in enumerate(places):
                if place.state != "running":
                    continue
                assert place.claim is not None
                alone = is_alone(place.claim, self.policy)
                assert not (alone and slipped)
                assert not (lane.parent is None and lane.key in self.alone)
                for earlier in places[:at]:
                    assert earlier.state != "announced" and earlier.claim is not None
                    assert not alone, "an exclusive call runs beside an earlier one"
                    assert not is_alone(earlier.claim, self.policy), "an exclusive call was overtaken"
                    if lane.parent is None and earlier.state == "waiting":
                        assert not conflict(place, earlier), "an earlier call that wants the same lock was overtaken"

    @invariant()
    def locks_are_held_by_those_that_may(self) -> None:
        running = self.alive("running")
        for at, one in enumerate(running):
            for other in running[:at]:
                assert not conflict(one, other) or is_part_of(one, other) or is_part_of(other, one)

    @invariant()
    def limits_are_kept(self) -> None:
        tops = [place for place in self.alive("running") if place.parent is None]
        for lane, places in self.groups():
            count = sum(place.state == "running" for place in places)
            assert count + (self.slipped[lane.key] if lane.parent is None else 0) <= self.policy.max_parallel
        for name, most in (
            ("tool_id", self.policy.max_parallel_per_tool),
            ("principal", self.policy.max_parallel_per_principal),
        ):
            values = [getattr(place.claim, name) for place in tops]
            assert most is None or all(values.count(value) <= most for value in values)

    @invariant()
    def barriers_hold(self) -> None:
        self.barriers = [
            (present, lane, had_slipped and self.slipped[lane.key] > 0)
            for present, lane, had_slipped in self.barriers
            if any(place.state != "gone" for place in present) or (had_slipped and self.slipped[lane.key])
        ]
        for present, lane, _ in self.barriers:
            later = [place for place in self.alive("running") if place.lane is lane and place not in present]
            assert not later, "a call went past the others it had to wait for"

    @invariant()
    def nobody_waits_for_nothing(self) -> None:
        running = self.alive("running")
        held = [key for place in running for key in wanted(place)]
        for lane, places in self.groups():
            for at, place in enumerate(places):
                if place.state != "waiting" or wanted(place) or lane.parent is not None:
                    continue
                assert place.claim is not None
                is_held_back = any(
                    earlier.claim is None or is_alone(earlier.claim, self.policy) or is_alone(place.claim, self.policy)
                    for earlier in places[:at]
                )
                is_held = any(on is lane and place not in present for present, on, _ in self.barriers)
                has_slipped = self.slipped[lane.key] and (is_alone(place.claim, self.policy) or lane._pending)
                is_limited = any(limit.running >= limit.most for limit in place.limits)
                assert is_held_back or is_held or has_slipped or is_limited
        for place in self.alive("waiting"):
            is_free = all(key not in held for key in wanted(place))
            if place.parent is not None and place.limits[0].running < place.limits[0].most and is_free:
                siblings = [each for each in self.alive() if each.lane is place.lane and each is not place]
                assert siblings, "a nested call waits though nothing is in its way"

    def teardown(self) -> None:
        """Everybody comes to their turn, if calls end after those they made."""
        if not hasattr(self, "scheduler"):
            return
        for lane in self.lanes:
            for _ in range(self.slipped[lane.key]):
                lane.slip_out()
        for place in self.alive("announced"):
            place.lane.leave(place)
        while self.alive():
            alive = self.alive()
            leaves = [p for p in alive if p.state == "running" and not any(awaits(p, other) for other in alive)]
            assert leaves, "everybody waits for one another"
            leaves[len(alive) % len(leaves)].lane.leave(leaves[len(alive) % len(leaves)])
        assert all(lane.is_idle for lane in self.lanes)
        assert self.scheduler.describe() == {
            "lanes": {}, "running": 0, "waiting": 0, "announced": 0, "locks": {}, "limits": {},
        }  # fmt: skip


class Family(Crowd):
    """Calls with locks that call one another, and little else in their way."""

    @initialize(policy=st.builds(SchedulerPolicy, max_parallel=st.integers(1, 4)))
    def start(self, policy: SchedulerPolicy) -> None:
        super().start(policy)

    @rule(lane=numbers, claim=locked)
    def call(self, lane: int, claim: Claim) -> None:
        self.try_to_enter(claim, None, self.lanes[lane % 3], None)

    @rule(claim=locked, parent=numbers)
    def nest(self, claim: Claim, parent: int) -> None:
        above = self.picked(parent, "running")
        if above is not None:
            self.try_to_enter(claim, None, self.lanes[0], above)


class Rush(Crowd):
    """Calls that only limits can hold up, of several tools, principals and priorities."""

    @initialize(
        policy=st.builds(
            SchedulerPolicy,
            max_parallel=st.integers(1, 3),
            max_parallel_per_tool=st.integers(1, 2),
            max_parallel_per_principal=st.none() | st.integers(1, 2),
        )
    )
    def start(self, policy: SchedulerPolicy) -> None:
        super().start(policy)

    @rule(lane=numbers, tool=st.sampled_from("tu"), principal=st.sampled_from("ab"), priority=st.integers(0, 2))
    def call(self, lane: int, tool: str, principal: str, priority: int) -> None:
        claim = Claim(tool, principal, is_concurrency_safe=True, priority=priority)
        self.try_to_enter(claim, None, self.lanes[lane % 3], None)

    @rule(lane=numbers, count=st.integers(1, 5))
    def calls(self, lane: int, count: int) -> None:
        for _ in range(count):
            self.call(lane, "t", "a", 0)


TestCrowd = Crowd.TestCase
TestCrowd.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestFamily = Family.TestCase
TestFamily.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestRush = Rush.TestCase
TestRush.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)

moves = st.lists(st.tuples(st.sampled_from(["enter", "announce", "leave", "nest"]), claims, numbers), max_size=40)


def played(policy: SchedulerPolicy, steps: list[tuple[str, Claim, int]]) -> list[Any]:
    """The states of all places after each step."""
    scheduler = Scheduler(policy)
    lanes = [scheduler.get_lane(name) for name in LANES]
    places: list[LanePlace] = []
    history: list[Any] = []
    for what, claim, number in steps:
        lane = lanes[number % 3]
        try:
            if what == "announce":
                places.append(lane.announce())
            elif what == "enter" or not places:
                places.append(lane.enter(claim))
            elif what == "nest":
                places.append(lane.enter(claim, parent=places[number % len(places)]))
            else:
                lane.leave(places[number % len(places)])
        except (Deadlock, QueueFull) as refused:
            history.append(type(refused).__name__)
        history.append([place.state for place in places])
    return [history, scheduler.describe()]


@given(policies, moves)
def test_equal_events_give_equal_histories(policy: SchedulerPolicy, steps: list[tuple[str, Claim, int]]) -> None:
    assert played(policy, steps) == played(policy, steps)
